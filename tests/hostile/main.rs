//! Invalid files: every reader refuses them with a position and a reason, before it allocates a
//! large table.

mod emit;
mod files;
#[path = "../common/mutate.rs"]
mod mutate;
mod mutations;

use cliquescope::format::{Format, OpenError, ReadNetwork, open_bytes};
use emit::{Node, States, emit, node};

/// Writes `nodes` in each format, reads them, and passes the format and the result to `check`.
fn in_each(nodes: &[Node], check: impl Fn(Format, Result<ReadNetwork, OpenError>)) {
    for &format in Format::ALL {
        let text =
            emit(format, nodes).unwrap_or_else(|| panic!("{} is not emitted", format.name()));
        check(format, open_bytes(&format!("a.{}", format.extensions()[0]), text));
    }
}

/// Asserts that `nodes` are refused in each format, with a message that contains one of `parts`.
fn assert_refused(nodes: &[Node], parts: &[&str]) {
    assert_refused_except(&[], nodes, parts);
}

/// Like [`assert_refused`], in all formats except those named in `except`.
fn assert_refused_except(except: &[&str], nodes: &[Node], parts: &[&str]) {
    in_each(nodes, |format, result| {
        if except.contains(&format.name()) {
            return;
        }
        let error = match result {
            Err(OpenError::Format(error)) => error,
            other => panic!("{}: {parts:?}: {other:?}", format.name()),
        };
        assert!(error.line > 0 && error.column > 0);
        let matches = parts.iter().any(|part| error.message.contains(part));
        assert!(matches, "{}: {error}, expected one of {parts:?}", format.name());
    });
}

fn labels(count: usize) -> States {
    States::Labels((0..count).map(|state| format!("s{state}")).collect())
}

#[test]
fn valid_nodes_are_read_in_each_format() {
    let nodes = [node("a", &[], &["0.75", "0.25"]), node("b", &[], &["1", "0"])];
    in_each(&nodes, |format, result| {
        let read = result.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.format, format);
        assert_eq!(read.network.cpts()[0].values(), [0.75, 0.25]);
    });
}

#[test]
fn numbers_that_are_not_probabilities_are_refused() {
    for wrong in ["nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-0.75", "0x1", "1,5", "--1"] {
        assert_refused(
            &[node("a", &[], &[wrong, "0.25"])],
            &["expected", "is not a probability", wrong],
        );
    }
    // In Hugin NET the numbers are weights, which need not sum to one.
    let weights = ["Hugin NET"];
    assert_refused_except(&weights, &[node("a", &[], &["0.5", "0.25"])], &["sums to 0.75"]);
    assert_refused_except(&weights, &[node("a", &[], &["1e300", "1e300"])], &["sums to"]);
    assert_refused(&[node("a", &[], &["1e308", "1e308"])], &["sum"]);
    assert_refused(&[node("a", &[], &["0", "0"])], &["has only zeros"]);
}

#[test]
fn the_smallest_numbers_are_read_as_the_nearest_double() {
    for tiny in ["1e-320", "4.9e-324", "0.0", "-0.0", "1e-999"] {
        in_each(&[node("a", &[], &["1", tiny])], |format, result| {
            let read = result.unwrap_or_else(|error| panic!("{}: {error}", format.name()));
            assert_eq!(read.network.cpts()[0].values(), [1.0, tiny.parse().unwrap()]);
        });
    }
}

#[test]
fn cycles_and_wrong_parents_are_refused() {
    let half = &["0.5", "0.5", "0.5", "0.5"][..];
    // In BIF and DSC `emit` writes a table as one row for all configurations.
    let table_in = |format: &str| if ["BIF", "DSC"].contains(&format) { &half[..2] } else { half };
    for &format in Format::ALL {
        let table = table_in(format.name());
        let nodes = [node("a", &["b"], table), node("b", &["c"], table), node("c", &["a"], table)];
        let except: Vec<_> =
            Format::ALL.iter().filter(|&&f| f != format).map(|f| f.name()).collect();
        assert_refused_except(&except, &nodes, &["cycle"]);
        let itself = [node("a", &["a"], table)];
        assert_refused_except(&except, &itself, &["own parent", "second time", "twice", "cycle"]);
        let all = if table.len() == 2 { table.to_vec() } else { [table, table].concat() };
        let twice = [node("a", &[], &["1", "0"]), node("b", &["a", "a"], &all)];
        assert_refused_except(&except, &twice, &["a second time", "twice"]);
        // In UAI `emit` writes an unknown parent as 99.
        let unknown = [node("a", &["x"], table)];
        assert_refused_except(
            &except,
            &unknown,
            &["no variable", "no node", "not a variable", "unknown", "99"],
        );
    }
}

#[test]
fn missing_and_repeated_parts_are_refused() {
    let fine = node("a", &[], &["1", "0"]);
    let without = Node { table: None, ..node("b", &[], &[]) };
    // The readers of DNET and Hugin NET use a uniform distribution if there is no table.
    let lenient = ["DNET", "Hugin NET"];
    let reasons = ["table", "expected <probabilities>", "expected PROBABILITIES"];
    assert_refused_except(&lenient, &[fine.clone(), without], &reasons);
    // UAI has no names of variables and states.
    let (uai, net) = (Format::Uai.name(), Format::Net.name());
    assert_refused_except(&[uai], &[fine.clone(), fine.clone()], &["second", "twice"]);
    let alike = Node { states: States::Labels(vec!["x".into(), "x".into()]), ..fine };
    // The reader of Hugin NET appends a number to a repeated label.
    assert_refused_except(&[uai, net], &[alike], &["second state", "twice"]);
    assert_refused(&[node("a", &[], &["1"])], &["expected", "sums"]);
    assert_refused(&[node("a", &[], &["1", "0", "0"])], &["expected", "sums"]);
}

#[test]
fn unbounded_tables_are_refused() {
    // 2 to the power of 71 does not fit in 64 bits; 2 to the power of 41 entries do not fit in
    // memory.
    for parents in [70, 40] {
        let mut nodes: Vec<Node> =
            (0..parents).map(|index| node(&format!("v{index}"), &[], &["1", "0"])).collect();
        let names: Vec<_> = nodes.iter().map(|node| node.name.clone()).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        nodes.push(node("a", &names, &["1", "0"]));
        assert_refused(&nodes, &["more than", "expected"]);
    }
    // Each table is small enough; all of them together are not.
    let mut nodes: Vec<Node> =
        (0..20).map(|index| node(&format!("v{index}"), &[], &["1", "0"])).collect();
    let names: Vec<_> = nodes.iter().map(|node| node.name.clone()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    nodes.extend((0..200).map(|index| node(&format!("a{index}"), &names, &["1", "0"])));
    assert_refused(&nodes, &["more than", "expected"]);
}

#[test]
fn unbounded_numbers_of_states_are_refused() {
    for count in [1_000_000_000, u64::MAX, 100_000] {
        let unbounded = Node { states: States::Count(count), ..node("a", &[], &["1", "0"]) };
        assert_refused(&[unbounded], &["states", "label", "expected"]);
    }
    let nodes: Vec<Node> = (0..2000)
        .map(|index| Node {
            states: States::Count(60_000),
            ..node(&format!("v{index}"), &[], &["1", "0"])
        })
        .collect();
    assert_refused(&nodes, &["states", "label", "expected"]);
    let none = Node { states: labels(0), ..node("a", &[], &["1"]) };
    assert_refused(&[none], &["no states", "expected", "states"]);
}

#[test]
fn many_states_and_long_names_are_read() {
    let long = "x".repeat(100_000);
    let mut numbers = vec!["0"; 5000];
    numbers[7] = "1";
    let nodes = [Node { states: labels(5000), ..node(&long, &[], &numbers) }];
    in_each(&nodes, |format, result| {
        let read = result.unwrap_or_else(|error| panic!("{}: {error}", format.name()));
        assert_eq!(read.network.variables()[0].cardinality(), 5000);
        assert_eq!(read.network.cpts()[0].values()[7], 1.0);
    });
}
