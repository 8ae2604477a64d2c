//! Reading DSL, GeNIe's format before XDSL, and how mistakes are reported.

use super::{assert_close, parents, read, refused, values, warnings};

/// A file with the node `A`, which has two states, and `nodes`.
fn with(nodes: &str) -> String {
    format!(
        "net Small\n{{\n HEADER = {{ ID = Small; NAME = \"a net\"; }};\n\
         node A {{ TYPE = CPT; HEADER = {{ ID = A; NAME = \"a \\\"title\\\"\"; }}; PARENTS = (); \
         DEFINITION = {{ NAMESTATES = (no, yes); PROBABILITIES = (0.25, 0.75); }}; }};\n{nodes}\n\
         }};\n"
    )
}

#[test]
fn tables_functions_and_submodels_are_read() {
    let text = with(
        "// a comment\n/# one /# in #/ another #/\nsubmodel Sub {\n\
         node B { TYPE = CPT; PARENTS = (A); DEFINITION = { NAMESTATES = (20_MG_L, \"two words\"); \
         PROBABILITIES = (.1, .9, 1e-1, 0.9); }; };\n};\n\
         node C { TYPE = TRUTHTABLE; PARENTS = (A, B); DEFINITION = { NAMESTATES = (0, 1); \
         RESULTINGSTATES = (0, 1, 1, 0); }; };\n\
         OBSERVATION_COST = { node A { PARENTS = (); COSTS = (0.0); }; };",
    );
    let network = read("any name", &text).network;
    assert_eq!(network.name(), "Small");
    assert_eq!(network.variables()[1].states(), ["20_MG_L", "two words"]);
    assert_eq!(parents(&network, "C"), ["A", "B"]);
    assert_close(values(&network, "B"), &[0.1, 0.9, 0.1, 0.9]);
    assert_close(values(&network, "C"), &[1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn noisy_max_is_expanded() {
    let text = with(
        "node N { TYPE = NOISY_MAX; PARENTS = (A); DEFINITION = { NAMESTATES = (t, f); \
         STRENGTHS = (1, 0); PROBABILITIES = (.8, .2, 0, 1, .1, .9); }; };",
    );
    let network = read("t.dsl", &text).network;
    assert_close(values(&network, "N"), &[0.1, 0.9, 0.82, 0.18]);
}

#[test]
fn decisions_and_utilities_cause_warnings() {
    let text = with(
        "node D { TYPE = LIST; PARENTS = (A); DEFINITION = { NAMECHOICES = (x, y, z, w); }; };\n\
         node U { TYPE = TABLE; PARENTS = (D); DEFINITION = { UTILITIES = (1, 2, 3, 4); }; };",
    );
    let read = read("t.dsl", &text);
    assert_close(values(&read.network, "D"), &[0.25; 4]);
    assert_eq!(
        warnings(&read),
        [
            "t.dsl: decision nodes were read as chance variables with uniform distributions: D",
            "t.dsl: utility nodes were left out: U"
        ]
    );
}

#[test]
fn mistakes_are_reported_with_their_position() {
    let deep = format!("net x {{{}", " a = {".repeat(100_000));
    let cases: &[(String, &str)] = &[
        (with("node B { };"), "t.dsl:5:1: expected TYPE = ... in the node 'B'"),
        (
            with("node B { TYPE = EQUATION; };"),
            "t.dsl:5:17: 'B' is continuous (it is given by an equation), expected a table",
        ),
        (
            with("node B { TYPE = CPT; DEFINITION = { NAMESTATES = (x); }; };"),
            "t.dsl:5:1: expected PROBABILITIES = (...) in the node 'B'",
        ),
        (
            with(
                "node B { TYPE = CPT; DEFINITION = { NAMESTATES = (x); PROBABILITIES = (x); }; };",
            ),
            "t.dsl:5:72: expected a number, found 'x'",
        ),
        (
            with(
                "node B { TYPE = CPT; DEFINITION = { NAMESTATES = (x,,y); PROBABILITIES = (1); \
                 }; };",
            ),
            "t.dsl:5:53: expected the label of a state, found ','",
        ),
        (with("node B { TYPE = CPT; "), "t.dsl:2:1: this '{' is not closed"),
        (with("node B { TYPE = (1, 2; };"), "t.dsl:5:22: expected ',' or ')', found ';'"),
        (with("node B { TYPE CPT; };"), "t.dsl:5:18: expected '=' or '{' after 'TYPE', found ';'"),
        (with("node B { TYPE = \"CPT; };"), "t.dsl:5:17: this quote is not closed"),
        (with("") + "net", "t.dsl:7:1: expected the end of the file, found 'net'"),
        ("nets {}".into(), "t.dsl:1:1: expected 'net', found 'nets'"),
        (deep, "t.dsl:1:607: blocks are nested more than 100 deep"),
    ];
    for (text, expected) in cases {
        assert_eq!(&refused("t.dsl", text), expected, "{}", &text[..text.len().min(400)]);
    }
}
