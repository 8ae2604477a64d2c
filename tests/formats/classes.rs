//! Classes and instances in Hugin NET.

use super::{assert_close, parents, read, refused, values, warnings};

const FIXTURE: &str = include_str!("../fixtures/classes.net");

#[test]
fn instances_become_separate_nodes_but_bound_inputs_do_not() {
    let read = read("no extension", FIXTURE);
    let network = &read.network;
    let names: Vec<_> = network.variables().iter().map(|variable| variable.name()).collect();
    assert_eq!(names, ["sold", "Ann.mother", "Ann.foal", "Bess.foal"]);
    assert_eq!(network.name(), "Stud");
    assert_eq!(parents(network, "Ann.foal"), ["Ann.mother"]);
    assert_eq!(parents(network, "Bess.foal"), ["Ann.foal"]);
    assert_eq!(parents(network, "sold"), ["Bess.foal", "Ann.foal"]);
    assert_close(values(network, "Ann.mother"), &[0.25, 0.75]);
    assert_close(values(network, "Bess.foal"), &[0.5, 0.5, 0.125, 0.875]);
    // One expression for each state of Ann's foal; the first depends on Bess's foal.
    assert_close(values(network, "sold"), &[1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(warnings(&read), [""; 0]);
    let foal = network.find("Bess.foal").unwrap();
    let note = network.annotations().of(foal);
    assert_eq!(note.title.as_deref(), Some("the foal"));
    assert_eq!(note.position, None, "each class has its own coordinates");
}

/// Computes P(Bess.foal = ill) from the tables and by hand: a quarter of the mothers are ill, so
/// 7/32 of Ann's foals are ill.
#[test]
fn the_tables_of_the_unfolded_network_give_the_prior_computed_by_hand() {
    let network = read("t.net", FIXTURE).network;
    let first = 0.25 * 0.5 + 0.75 * 0.125;
    assert_eq!(first, 7.0 / 32.0);
    let second = first * 0.5 + (1.0 - first) * 0.125;
    let foal = values(&network, "Bess.foal");
    let mother = values(&network, "Ann.mother");
    let ann_is_ill =
        mother[0] * values(&network, "Ann.foal")[0] + mother[1] * values(&network, "Ann.foal")[2];
    assert_close(&[ann_is_ill * foal[0] + (1.0 - ann_is_ill) * foal[2]], &[second]);
}

#[test]
fn classes_may_contain_instances_and_export_their_nodes() {
    let text = "class One { inputs = (x); outputs = (y); node x { states = (\"f\" \"t\"); }\n\
        node y { states = (\"f\" \"t\"); } potential (x) { data = (1 3); }\n\
        potential (y | x) { data = (1 0 1 1); } }\n\
        class Two { inputs = (in); outputs = (out); node in { states = (\"f\" \"t\"); }\n\
        potential (in) { data = (1 1); }\n\
        instance a : One (x = in; m = y) {} instance b : One (x = m; out = y); }\n\
        class Main { instance p : Two (; q = out) {} instance r : Two (in = q) {} }\n";
    let network = read("t.oobn", text).network;
    let names: Vec<_> = network.variables().iter().map(|variable| variable.name()).collect();
    assert_eq!(names, ["p.in", "p.a.y", "p.b.y", "r.a.y", "r.b.y"]);
    assert_eq!(parents(&network, "r.a.y"), ["p.b.y"]);
    assert_eq!(parents(&network, "p.a.y"), ["p.in"]);
    assert_close(values(&network, "r.b.y"), &[1.0, 0.0, 0.5, 0.5]);
}

#[test]
fn the_order_of_classes_does_not_matter() {
    let (first, second) = FIXTURE.split_once("class Stud").unwrap();
    let swapped = format!("class Stud{second}\n{first}");
    let (one, other) = (read("t.net", FIXTURE).network, read("t.net", &swapped).network);
    assert_eq!(one.variables(), other.variables());
    assert_eq!(values(&one, "sold"), values(&other, "sold"));
}

#[test]
fn mistakes_are_reported_with_their_position() {
    let class = "class C { node x { states = (\"a\"); } node y { states = (\"a\" \"b\"); } }\n";
    let cases = [
        (
            "class M { instance i : D (x = z) { } }",
            "2:24: 'i' is an instance of class 'D', which is not in this file",
        ),
        (
            "class M { node z { states = (\"a\"); } instance i : C (w = z) { } }",
            "2:54: class 'C' has no node 'w'",
        ),
        (
            "class M { instance i : C (x = z) { } }",
            "2:31: 'x' is bound to 'z', which is a node neither of the surrounding class nor of an \
             instance in that class",
        ),
        (
            "class M { node z { states = (\"a\"); } instance i : C (y = z) { } }",
            "2:58: 'y' is bound to 'z', which has 1 state, expected 2",
        ),
        (
            "class M { instance i : C { } node z { states = (\"a\"); } potential (z | i) { } }",
            "2:72: 'z' has the parent 'i', which is a node neither of its class nor of an \
             instance in that class",
        ),
        (
            "class M { instance i : C (x = u; v = x) { } instance j : C (x = v; u = x) { } }",
            "2:31: 'x' is bound to 'u', which is a node neither of the surrounding class nor of an \
             instance in that class",
        ),
        (
            "class M { instance i : C { } instance i : C { } }",
            "1:16: 'i.x' is declared a second time; the first is on line 1",
        ),
        (
            "class M { instance i : M { } instance c : C { } }",
            "instances are nested more than 32 deep",
        ),
        ("class C { }", "2:1: class 'C' is defined a second time"),
        (
            "class M { instance n : N {} instance c : C {} } class N { instance m : M {} }",
            "1:1: every class is inside another class; expected one that is not, the network",
        ),
        (
            "class M { node z { states = (\"a\"); } }",
            "2:1: neither of the classes 'C' and 'M' is inside another class; expected only one \
             such class, the network",
        ),
        ("class M { instance i C { } }", "2:22: expected ':', found 'C'"),
        ("class M { instance i : C (x) { } }", "2:28: expected '=', found ')'"),
        (
            "class M { instance i : C (x = ; y) { } }",
            "2:31: expected the name of a node after 'x =', found ';'",
        ),
        ("class M { instance i : C } ", "2:26: expected '{' or ';', found '}'"),
    ];
    for (rest, expected) in cases {
        let found = refused("a.net", &format!("{class}{rest}"));
        assert!(found.contains(expected), "{found}\nexpected {expected}");
    }
}

/// Each class contains two instances of the previous one, so the number of copies doubles.
#[test]
fn too_many_copies_are_refused_before_they_are_allocated() {
    let chain = |first: &str, length: usize| {
        let link = |index: usize| {
            let inner = index - 1;
            format!("class C{index} {{ instance a : C{inner} {{}} instance b : C{inner} {{}} }}\n")
        };
        let links: String = (1..=length).map(link).collect();
        refused("a.net", &format!("class C0 {{ {first} }}\n{links}"))
    };
    let node = "node x { states = (\"a\" \"b\"); }";
    assert!(chain(node, 31).contains("more than the maximum of 262144 states"));
    assert!(chain("", 31).contains("more than the maximum of 262144 states"));
    assert!(chain(node, 40).contains("the maximum") || chain(node, 40).contains("nested"));
    let numbers = "0.5 ".repeat(1 << 12);
    let table = format!("{node} potential (x) {{ data = ({numbers}); }}");
    assert!(chain(&table, 12).contains("more than the maximum of 4194304 table entries"));
    let name = "x".repeat(1 << 16);
    let long = format!("node {name} {{ states = (\"a\"); }}");
    assert!(chain(&long, 12).contains("more than the maximum of 33554432 bytes"));
}
