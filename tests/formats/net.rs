//! Reading Hugin NET: valid files, and how mistakes are reported.

use cliquescope::format::{self, Format, ReadNetwork};

use super::{values, warnings};

fn read(text: &str) -> ReadNetwork {
    let read = super::read("a.net", text);
    assert_eq!(read.format, Format::Net);
    read
}

fn refused(text: &str) -> String {
    super::refused("a.net", text)
}

/// A file with the nodes `a` and `b`, which have two states each, and `rest`.
fn two(rest: &str) -> String {
    let node = |name| format!("node {name} {{ states = (\"n\" \"y\"); }}\n");
    format!("net {{}}\n{}{}{rest}", node("a"), node("b"))
}

#[test]
fn comments_quotes_attributes_and_nested_data_are_read() {
    let text = r#"
        % a remark with "quotes and { braces
        net { node_size = (80 40); HR_Desc = "over
two lines"; cliquescope_name = "A net"; }
        node wet-grass { // of another kind
            label = "Is the \"grass\" wet?"; position = (10 -20.5);
            states = ("no" "yes"); HR_State_0 = "";
            cliquescope_name = "wet grass"; }
        discrete node rain { states = (none "some" much); subtype = label; }
        /* and of a third */
        potential (wet-grass | rain) { % first parent slowest
            model_nodes = (); data
              = (( 0.9 0.1 ) % none
                 ( 0.2 .8 )
                 ( 1e-3 999e-3 )); HR_LinkMode = "[rain:0]"; }
        probability ( rain ) { data = 0.5, 0.25, 0.25; }
    "#;
    let read = read(text);
    let network = &read.network;
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    assert_eq!(network.name(), "A net");
    let names: Vec<_> = network.variables().iter().map(|variable| variable.name()).collect();
    assert_eq!(names, ["wet grass", "rain"]);
    assert_eq!(network.variables()[1].states(), ["none", "some", "much"]);
    assert_eq!(values(network, "wet grass"), [0.9, 0.1, 0.2, 0.8, 0.001, 0.999]);
    assert_eq!(values(network, "rain"), [0.5, 0.25, 0.25]);
    let annotations = network.annotations();
    assert_eq!(annotations.network.comment.as_deref(), Some("over\ntwo lines"));
    assert_eq!(annotations.network.attributes[0].value, "(80 40)");
    let grass = annotations.of(network.find("wet grass").unwrap());
    assert_eq!(grass.title.as_deref(), Some("Is the \"grass\" wet?"));
    assert_eq!(grass.position, Some([10.0, 20.5]), "y grows downwards");
    assert_eq!((&*grass.attributes[0].name, &*grass.attributes[0].value), ("HR_State_0", "\"\""));
}

#[test]
fn a_class_is_a_network() {
    let text = r#"class Sprinkler { inputs = (); outputs = (a);
        node a { states = ("n" "y"); }
        potential (a) { data = (0.5 0.5); } }"#;
    assert_eq!(read(text).network.name(), "Sprinkler");
    assert_eq!(
        refused("class A { }\nclass B { }"),
        "a.net:2:1: neither of the classes 'A' and 'B' is inside another class; expected only one \
         such class, the network"
    );
}

#[test]
fn rows_are_weights_and_missing_tables_become_uniform() {
    let read = read(&two("potential (a | b) { data = (1 1 30 10); }"));
    assert_eq!(values(&read.network, "a"), [0.5, 0.5, 0.75, 0.25]);
    assert_eq!(values(&read.network, "b"), [0.5, 0.5]);
    assert_eq!(
        warnings(&read),
        [
            "a.net: variables without a table were given uniform distributions: b",
            "a.net: rows that did not sum to 1 were normalised: 2 of 2 (line 4); the worst, on \
             line 4, was off by 3.90e1"
        ]
    );
}

#[test]
fn decisions_become_chance_nodes_and_utilities_and_functions_are_left_out() {
    let text = two(r#"decision d { states = ("go" "stay"); }
        utility u { } function f { } discrete function g { states = ("1" "2"); }
        potential (u | a d) { data = (1 2 normal (3, 4) -5); }
        potential (a | f b) { data = (0.5 0.5 0.25 0.75); }
        potential (b) { data = (1 0); }
        potential (d | a) { }"#);
    let read = read(&text);
    assert_eq!(read.network.variables().len(), 3);
    assert_eq!(values(&read.network, "d"), [0.5, 0.5]);
    assert_eq!(values(&read.network, "a"), [0.5, 0.5, 0.25, 0.75], "no dimension for a function");
    assert_eq!(
        warnings(&read),
        [
            "a.net: decision nodes were read as chance variables with uniform distributions: d",
            "a.net: utility nodes were left out: u",
            "a.net: function nodes were left out: f, g",
        ]
    );
}

#[test]
fn states_without_labels_take_their_values() {
    let states = |attributes: &str| {
        let text = format!("net {{}} node a {{ {attributes} }}");
        read(&text).network.variables()[0].states().to_vec()
    };
    assert_eq!(
        states("states = (\"\" \"\"); subtype = interval; state_values = (0 2.5 inf);"),
        ["0 to 2.5", "2.5 to inf"]
    );
    assert_eq!(states("subtype = number; state_values = (3 7 9);"), ["3", "7", "9"]);
    assert_eq!(states("subtype = boolean;"), ["false", "true"]);
    assert_eq!(states("states = (\"\" \"x\" \"x\");"), ["state 1", "x", "x #2"]);
}

#[test]
fn mistakes_are_reported_with_their_position_and_what_was_expected() {
    let with_two = [
        (
            "potential (a | b) { data = (1 0 1); }",
            "4:28: the table of 'a' has 3 numbers, expected 4, 2 for each of 2 \
             configurations of the parents",
        ),
        (
            "potential (a | c) { data = (1 0 1 0); }",
            "4:16: there is no variable 'c', expected a parent of 'a'",
        ),
        ("potential (a | a) { data = (1 0 1 0); }", "4:16: 'a' is listed as its own parent"),
        ("potential (a | b b) { data = (1 0); }", "4:18: parent 'b' is listed twice"),
        ("potential (c) { data = (1 0); }", "4:12: there is no variable 'c'"),
        (
            "potential (a b) { data = (1 0); }",
            "4:14: this potential is for 'a' and 'b' together, expected '|' between a node and its \
          parents",
        ),
        (
            "potential (a) { data = (0 0); }",
            "4:25: the table of 'a' has only zeros, expected a sum of 1",
        ),
        ("potential (a) { data = (-1 2); }", "4:25: the table of 'a': -1 is not a probability"),
        ("potential (a) { data = (1 x); }", "4:27: expected a number, found 'x'"),
        ("potential (a) { data = (1 0; }", "4:28: expected a number or ')', found ';'"),
        ("potential (a) { data = (1 0) }", "4:30: expected ';' after 'data', found '}'"),
        ("potential (a) { data (1 0); }", "4:22: expected '=', found '('"),
        ("potential () { }", "4:1: this potential names no node"),
        (
            "potential (a) {} potential (a) {}",
            "4:29: 'a' has a second potential; the first is on line 4",
        ),
        (
            "node a { states = (\"x\"); }",
            "4:6: 'a' is declared a second time; the first is on line 2",
        ),
        ("node c { }", "4:6: 'c' has no states"),
        (
            "node c { states = \"x\"; }",
            "4:10: expected the states of 'c' in parentheses, found '\"x\"'",
        ),
        (
            "continuous node c { }",
            "4:17: 'c' is continuous, expected discrete nodes only (discretise it first)",
        ),
        (
            "potential (a) { model_data = (Poisson (3)); }",
            "4:31: 'Poisson' needs a node with the values 0, 1, 2 and so on",
        ),
        ("node c { label = \"x; }", "4:18: this quote is not closed"),
        (
            "edge (a b)",
            "4:1: expected 'net', 'class', 'instance', 'potential', 'node' or a kind of node \
             (such as 'decision'), found 'edge'",
        ),
        ("node c [", "4:8: expected '{', found '['"),
        (
            "class C { edge (a b) }",
            "4:11: expected an attribute, 'instance', 'potential', 'node', a kind of node (such as \
             'decision') or '}', found 'edge'",
        ),
    ];
    for (rest, expected) in with_two {
        assert_eq!(refused(&two(rest)), format!("a.net:{expected}"), "{rest}");
    }
    assert_eq!(
        refused("net {} node a { states = (\"n\" \"y\");"),
        "a.net:1:36: expected an attribute or '}', found the end of the file"
    );
    assert_eq!(
        refused(&two("potential (a | b) {} potential (b | a) {}")),
        "a.net:2:6: the arcs form a cycle: a -> b -> a"
    );
}

#[test]
fn names_that_are_not_valid_identifiers_are_restored() {
    let text = r#"net {} node a { cliquescope_name = "net"; states = ("\"" "\\ \n"); }
        node b { cliquescope_name = "n_net"; states = ("x"); }
        node c { cliquescope_name = "1 (one)"; states = ("x"); }"#;
    let network = read(text).network;
    let written = format::write(&network, Format::Net).unwrap();
    assert!(written.lost.is_empty(), "{:?}", written.lost);
    let reread = read(&written.text).network;
    assert_eq!(reread.variables(), network.variables());
    assert_eq!(reread.variables()[0].name(), "net");
    assert_eq!(reread.variables()[0].states(), ["\"", "\\ \n"]);
}

#[test]
fn a_table_is_computed_if_only_its_expression_is_given() {
    let text = r#"net {}
        node faults { subtype = number; states = ("" "" ""); state_values = (0 1 2); }
        node spares { subtype = number; states = ("none" "one"); state_values = (0 1); }
        node stops { subtype = boolean; states = ("no" "yes"); }
        potential (faults) { model_nodes = (); model_data = ( Poisson (0.5) ); }
        potential (spares) { data = (0.25 0.75); }
        potential (stops | faults spares) { model_nodes = (); model_data = ( faults > spares ); }
    "#;
    let network = read(text).network;
    let e = (-0.5_f64).exp();
    super::assert_close(values(&network, "faults"), &[e, 0.5 * e, 1.0 - 1.5 * e]);
    let stops = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
    assert_eq!(values(&network, "stops"), stops);
    let both = text.replace("model_data = ( Poisson", "data = (1 1 2); model_data = ( Poisson");
    assert_eq!(
        values(&read(&both).network, "faults"),
        [0.25, 0.25, 0.5],
        "numbers take precedence"
    );
}

/// The expected tables of this fixture were computed by hand.
#[test]
fn expressions_with_causes_and_intervals_become_tables() {
    let read = super::read("no extension", include_str!("../fixtures/expressions.net"));
    let effect = [0.75, 0.25, 0.375, 0.625, 0.1875, 0.8125, 0.09375, 0.90625];
    super::assert_close(values(&read.network, "effect"), &effect);
    // The triangle from 0 to 3 with its mode at 1 has a third of its area below the mode.
    super::assert_close(values(&read.network, "size"), &[1.0 / 3.0, 2.0 / 3.0]);
    // The table of `twice` is estimated at four points in each interval of `size`. Those in the
    // first are 1/8, 3/8, 5/8 and 7/8; doubled, all are below 2. Those in the second are 1.25,
    // 1.75, 2.25 and 2.75; doubled, two are between 2 and 4, and two are above 4.
    super::assert_close(values(&read.network, "twice"), &[1.0, 0.0, 0.0, 0.0, 0.5, 0.5]);
    assert_eq!(
        super::warnings(&read),
        [
            "no extension: function nodes were left out: half",
            "no extension: tables were estimated from points in the intervals of their parents: \
             twice"
        ]
    );
}

#[test]
fn thousands_of_equal_labels_and_names_are_numbered_in_a_moment() {
    const COUNT: usize = 30_000;
    let text = format!(
        "net {{}} node a {{ states = ({}); }} potential (a) {{ data = ({}); }}",
        "x ".repeat(COUNT),
        "1 ".repeat(COUNT)
    );
    let network = read(&text).network;
    let states = network.variables()[0].states();
    assert_eq!((&*states[0], &*states[1], states.len()), ("x", "x #2", COUNT));
    assert_eq!(states[COUNT - 1], format!("x #{COUNT}"));
    // All of these names become the same identifier.
    let name = |n: u32| char::from_u32(0x4e00 + n).unwrap();
    let node = |n| format!("node \"{}\" {{ states = (n y); }}\n", name(n));
    let text = format!("net {{}}\n{}", (0..20_000).map(node).collect::<String>());
    let written = format::write(&read(&text).network, Format::Net).unwrap().text;
    assert!(written.contains("node n___2\n") && written.contains("node n___20000\n"));
}

#[test]
fn the_rows_of_a_written_table_are_nested_as_in_files_of_hugin() {
    let text = two("node c { states = (n y); }
        potential (a) { data = (0.5 0.5); }
        potential (b | a) { data = (1 0 0 1); }
        potential (c | a b) { data = (1 0 0 1 0.5 0.5 0.25 0.75); }");
    let written = format::write(&read(&text).network, Format::Net).unwrap().text;
    let data = written.split("data = ").skip(1).map(|rest| {
        let numbers = rest.split_once(';').unwrap().0;
        numbers
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("( ", "(")
            .replace(" )", ")")
            .replace(") (", ")(")
    });
    let expected = ["(0.5 0.5)", "((1 0)(0 1))", "(((1 0)(0 1))((0.5 0.5)(0.25 0.75)))"];
    assert_eq!(data.collect::<Vec<_>>(), expected);
}
