//! Reading MSBN's DSC, and how mistakes are reported.

use super::{assert_close, parents, read, refused, values, warnings};

/// A file with the nodes `A` and `B`, the distribution of `A`, and `rest`.
fn with(rest: &str) -> String {
    format!(
        "belief network \"small net\"\nnode A {{ name : \"first\"; \
         type : discrete[2] = {{ \"no\", \"yes\" }}; \
         position : (12, 30); }}\nnode B {{ type is discrete [ 3 ] = {{ low, mid, high }}; }}\n\
         probability(A) {{ 0.25, 0.75; }}\n{rest}\n"
    )
}

#[test]
fn rows_give_states_by_index_or_label_and_default_fills_the_rest() {
    let text = with(
        "node C { type : discrete[2] = { f, t }; }\n\
         probability(B | A) { default : 0.2, 0.3, 0.5; (\"yes\") : 0, 0, 1; }\n\
         probability(C | A, B) { (1, 2) : .6, .4; (0, 0) : .1, .9; (0, 1) = .2, .8; \
         (0, high) is .3 .7; (1,0) : 0.4, 0.6; (1, mid) : .5, .5; }",
    );
    let network = read("some file", &text).network;
    assert_eq!(network.name(), "small net");
    assert_eq!(parents(&network, "C"), ["A", "B"]);
    assert_close(values(&network, "B"), &[0.2, 0.3, 0.5, 0.0, 0.0, 1.0]);
    let expected = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 0.6, 0.4];
    assert_close(values(&network, "C"), &expected);
}

#[test]
fn headers_and_properties_are_skipped() {
    let text = "network \"n\" { format is \"MSR DTAS\"; version is 1.0; }\n\
                properties { type X = array of string, \"{\"; }\n\
                node A { type : discrete[2]; parent of { } = 3; }\nprobability(A) { 0.5, 0.5; }";
    let network = read("t.dsc", text).network;
    assert_eq!(network.variables()[0].states(), ["0", "1"]);
}

#[test]
fn decisions_become_uniform_and_utilities_are_left_out() {
    let text = with(
        "DECISION D { type : discrete[2] = { go, stay }; }\n\
         node E { type : decision[2] = { go, stay }; }\nutility U { name : \"worth\"; }\n\
         node V { type : utility; }\n\
         probability(B | A, D) { default : 0.2, 0.3, 0.5; (1, go) : 1, 0, 0; }\n\
         probability(D | A) { }\nprobability(U | B, D) { (0, 0) : -5; }",
    );
    let read = read("t.dsc", &text);
    assert_close(values(&read.network, "D"), &[0.5, 0.5]);
    assert_close(values(&read.network, "E"), &[0.5, 0.5]);
    assert_eq!(parents(&read.network, "B"), ["A", "D"]);
    assert_close(&values(&read.network, "B")[6..9], &[1.0, 0.0, 0.0]);
    assert_eq!(
        warnings(&read),
        [
            "t.dsc: decision nodes were read as chance variables with uniform distributions: D, E",
            "t.dsc: utility nodes were left out: U, V"
        ]
    );
}

#[test]
fn mistakes_are_reported_with_their_position() {
    let b = |rows: &str| with(&format!("probability(B | A) {{ {rows} }}"));
    let cases: &[(String, &str)] = &[
        (b("(0) : 1, 0; (1) : 0, 0, 1;"), "t.dsc:5:22: the row of 'B' has 2 numbers, expected 3"),
        (
            b("(0) : 1, 0, 0;"),
            "t.dsc:5:1: the table of 'B' lacks 1 of 2 rows, the first for (yes), and has no \
             default",
        ),
        (
            b("(0) : 1, 0, 0; (no) : 1, 0, 0;"),
            "t.dsc:5:37: the row of 'B' for (no) is given a second time; the first is on line 5",
        ),
        (
            b("(2) : 1, 0, 0;"),
            "t.dsc:5:23: 'A' has no state '2'; its states are no, yes, or 0 to 1 by index",
        ),
        (
            b("(0, 1) : 1, 0, 0;"),
            "t.dsc:5:22: the row names 2 states, expected 1, one for each parent of 'B'",
        ),
        (b("(0) : 1, x, 0;"), "t.dsc:5:31: expected a number or ';', found 'x'"),
        (
            b("function is max;"),
            "t.dsc:5:22: 'B' is given by a function, expected the rows of a table",
        ),
        (with(""), "t.dsc:3:6: 'B' has no probability table"),
        (
            with("probability(A) { .5, .5; }"),
            "t.dsc:5:1: 'A' has a second distribution; the first is on line 4",
        ),
        (with("probability(Q) { 1; }"), "t.dsc:5:13: there is no variable 'Q'"),
        (with("node C { type : discrete[3] = { x }; }"), "t.dsc:5:26: expected 3 states, found 1"),
        (
            with("node C { type : discrete[1000000000]; }"),
            "t.dsc:5:26: expected at most 65536 states, found 1000000000",
        ),
        (
            with("node C { type : continuous; }"),
            "t.dsc:5:17: 'C' is continuous, expected discrete nodes only",
        ),
        (
            with("node C { type : node[2]; }"),
            "t.dsc:5:17: expected 'discrete', 'decision' or 'utility', found 'node'",
        ),
        (with("decision C { }"), "t.dsc:5:12: expected a type in the node 'C'"),
        (
            with("utility C { }\nprobability(B | C) { 0.2, 0.3, 0.5; }"),
            "t.dsc:6:17: 'C' is a utility node and cannot be a parent of 'B'",
        ),
        (with("node C { }"), "t.dsc:5:8: expected a type in the node 'C'"),
        (
            with("nodes"),
            "t.dsc:5:1: expected 'belief network', 'properties', 'node', 'decision', 'utility' or \
             'probability', found 'nodes'",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(&refused("t.dsc", text), expected, "{text}");
    }
}

#[test]
fn the_name_of_the_network_needs_no_quotes() {
    let quoted = with("probability(B) { 0.2, 0.3, 0.5; }");
    let bare = quoted.replace("\"small net\"", "small");
    assert_eq!(read("t.dsc", &bare).network.name(), "small");
    let none = quoted.replace("\"small net\"\n", "");
    assert_eq!(read("t.dsc", &none).network.name(), "");
}
