//! Reading Netica's DNET, and how mistakes are reported.

use super::{assert_close, parents, read, refused, values, warnings};

/// A file with the class `tf`, the node `A` derived from `tf`, and `nodes`.
fn with(nodes: &str) -> String {
    format!(
        "// ~->[DNET-1]->~\n\nbnet small {{\nautoupdate = TRUE;\ncomment = \"one \\\n\ttwo\";\n\
         define node tf {{ kind = NATURE; discrete = TRUE; states = (no, yes); }};\n\
         node A (tf) {{ parents = (); probs = (0.25, 0.75); title = \"A\"; \
         visual V1 {{ center = (1, 2); \
         link 2 {{ path = ((1, 2), (3, 4)); }}; }}; }};\n{nodes}\n}};\n"
    )
}

#[test]
fn tables_are_read_with_and_without_inner_parentheses() {
    let flat = ".1, .9, .2, .8, .3, .7, .4, .6, .5, .5, .6, .4";
    let nested =
        "// f  t  // A  B\n(((.1, .9), (.2, .8), (.3, .7)),\n((.4, .6), (.5, .5), (.6, .4)))";
    for table in [format!("({flat})"), nested.to_owned()] {
        let text = with(&format!(
            "node B {{ kind = NATURE; states = (x, y, z); parents = (); probs = (.2, .3, .5); }};\n\
             node C (tf) {{ parents = (A, B); probs = {table}; }};"
        ));
        let network = read("t.dne", &text).network;
        assert_eq!(parents(&network, "C"), ["A", "B"]);
        let expected = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 0.6, 0.4];
        assert_close(values(&network, "C"), &expected);
    }
}

#[test]
fn functions_give_a_state_by_label_index_or_value() {
    let text = with(
        "node R { kind = NATURE; discrete = FALSE; chance = DETERMIN; \
         levels = (-INFINITY, 0, 10, 20); \
         parents = (A); functable = (-3, 20); };\n\
         node S (tf) { chance = DETERMIN; parents = (A); functable = (yes, #0); };\n\
         node T { discrete = TRUE; levels = (1, 5, 7); parents = (A); functable = ((5), (#2)); };",
    );
    let network = read("t.dne", &text).network;
    let states = |name: &str| network[network.find(name).unwrap()].states().to_vec();
    assert_eq!(states("R"), ["< 0", "0 to 10", "10 to 20"]);
    assert_eq!(states("T"), ["1", "5", "7"]);
    assert_close(values(&network, "R"), &[1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_close(values(&network, "S"), &[0.0, 1.0, 1.0, 0.0]);
    assert_close(values(&network, "T"), &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn states_are_labelled_titled_or_counted() {
    let text = with(
        "node B { kind = NATURE; discrete = TRUE; numstates = 3; parents = (); };\n\
         node C { kind = NATURE; statetitles = (\"first one\", , \"last\"); parents = (); };\n\
         node D { kind = NATURE; discrete = FALSE; states = (new, old); levels = (0, 2, INFINITY); \
         probs = (.5, .5); };",
    );
    let read = read("t.dnet", &text);
    let states = |name: &str| read.network[read.network.find(name).unwrap()].states().to_vec();
    assert_eq!(states("B"), ["state0", "state1", "state2"]);
    assert_eq!(states("C"), ["first one", "state1", "last"]);
    assert_eq!(states("D"), ["new", "old"]);
    let expected = "t.dnet: variables without a table were given uniform distributions: B, C";
    assert_eq!(warnings(&read), [expected]);
}

#[test]
fn impossible_and_undefined_rows_become_uniform() {
    let text = with(
        "node B (tf) { parents = (A); probs = ((@imposs, @imposs), (@undef, 1)); };\n\
         node C (tf) { parents = (A); probs = (@imposs, (.5, .5)); };\n\
         node D (tf) { parents = (A); probs = (#1, .5, .5); };\n\
         node E (tf) { chance = DETERMIN; parents = (A); functable = (@imposs, no); };",
    );
    let read = read("t.dne", &text);
    assert_close(values(&read.network, "B"), &[0.5, 0.5, 0.0, 1.0]);
    assert_close(values(&read.network, "C"), &[0.5, 0.5, 0.5, 0.5]);
    assert_close(values(&read.network, "D"), &[0.0, 1.0, 0.5, 0.5]);
    assert_close(values(&read.network, "E"), &[0.5, 0.5, 1.0, 0.0]);
    assert_eq!(
        warnings(&read),
        ["t.dne: undefined rows were made uniform: 3, the first on line 9"]
    );
}

#[test]
fn decisions_utilities_and_constants_cause_warnings() {
    let text = with(
        "node D (tf) { kind = DECISION; parents = (A); };\n\
         node U { kind = UTILITY; discrete = FALSE; parents = (D); functable = (1, @imposs); };\n\
         node g { kind = ASSUME; value = 9.81; };\nnode Text { kind = CONSTANT; title = \"x\"; };\n\
         NodeSet N { Nodes = (A, D); };\n\
         node E (tf) { parents = (A); probs = (.5, .5, 1, 0); evidence = no; };",
    );
    let read = read("t.dne", &text);
    assert_close(values(&read.network, "D"), &[0.5, 0.5]);
    assert_eq!(
        warnings(&read),
        [
            "t.dne: decision nodes were read as chance variables with uniform distributions: D",
            "t.dne: utility nodes were left out: U",
            "t.dne: constant nodes were left out: g, Text",
            "t.dne: findings in the file were ignored: E"
        ]
    );
}

#[test]
fn mistakes_are_reported_with_their_position() {
    let cases: &[(String, &str)] = &[
        (
            with("node B { discrete = FALSE; levels = (-1, 1); equation = \"B = 1\"; };"),
            "t.dne:9:6: 'B' is continuous, expected 'levels' that divide it into intervals",
        ),
        (
            with("node B (tf) { equation = \"B = 1\"; };"),
            "t.dne:9:15: 'B' is given by an equation, expected a table: 'probs' or 'functable'",
        ),
        (
            with("node B (tf) { parents = (B); delays = ((1)); };"),
            "t.dne:9:30: 'B' has delays, expected none: dynamic networks are not supported",
        ),
        (with("node B (ft) { };"), "t.dne:9:9: 'B' inherits from 'ft', which is not defined"),
        (
            with("define node x (y) {};\ndefine node y (x) {};\nnode B (x) { };"),
            "t.dne:10:16: 'B' inherits from itself, or from more than 32 classes",
        ),
        (
            with("node B { kind = THING; };"),
            "t.dne:9:17: 'B' has the kind 'THING', expected NATURE, DECISION, UTILITY, CONSTANT, \
             ASSUME or DISCONNECTED",
        ),
        (
            with("node B { discrete = TRUE; numstates = 1000000000; };"),
            "t.dne:9:39: 'B' has 1000000000 states, expected 1 to 65536",
        ),
        (
            with(
                "node B { numstates = 60000; probs = (#1, #2, #3, #4, #5, #6, #7, #8, #9, #10, \
                  #11, #12, #13, #14, #15, #16, #17, #18, #19, #20, #21, #22, #23, #24, #25, #26, \
                  #27, #28, #29, #30, #31, #32, #33, #34, #35, #36, #37, #38, #39, #40, #41, \
                  #42); };",
            ),
            "t.dne:9:6: the rows that are each given by a single word such as '#2', including \
             those of 'B', have more than the maximum of 2097152 numbers",
        ),
        (with("node B { states = (); probs = (#75); };"), "t.dne:9:6: 'B' has no states"),
        (
            with("node B { discrete = TRUE; };"),
            "t.dne:9:6: 'B' has neither 'states' nor 'numstates'",
        ),
        (
            with("node B { discrete = FALSE; states = (x, y); levels = (1, 2); };"),
            "t.dne:9:45: 'B' has 2 levels, expected 3, one more than its states",
        ),
        (
            with("node B (tf) { parents = (, A); };"),
            "t.dne:9:26: expected a parent of 'B', found ','",
        ),
        (
            with("node B (tf) { probs = (.5, half); };"),
            "t.dne:9:28: expected a probability of 'B', found 'half'",
        ),
        (
            with("node B (tf) { probs = (#2); };"),
            "t.dne:9:24: 'B' has no state '#2', expected '#0' to '#1'",
        ),
        (
            with("node B (tf) { chance = DETERMIN; functable = (maybe); };"),
            "t.dne:9:47: 'B' has no state 'maybe'; its states are no, yes",
        ),
        (
            with("node B (tf) { parents = (A); probs = (.5, .5); };"),
            "t.dne:9:30: the table of 'B' has 2 numbers, expected 4, 2 for each of 2 \
             configurations of the parents",
        ),
        (
            with("node g { kind = CONSTANT; };\nnode B (tf) { parents = (g); probs = (.5, .5); };"),
            "t.dne:10:26: 'g' is a constant node and cannot be a parent of 'B'",
        ),
        (with("node B (tf) { probs = (.5, .5; };"), "t.dne:9:30: expected ',' or ')', found ';'"),
        ("nets x {}".into(), "t.dne:1:1: expected 'bnet', found 'nets'"),
        ("bnet x {".into(), "t.dne:1:8: this '{' is not closed"),
    ];
    for (text, expected) in cases {
        assert_eq!(&refused("t.dne", text), expected, "{text}");
    }
}

#[test]
fn the_format_is_recognised_by_its_content() {
    assert_eq!(read("file", &with("")).network.variables().len(), 1);
}

#[test]
fn the_length_of_a_function_is_checked_before_its_values() {
    let text = "// ~->[DNET-1]->~\nbnet n {\nnode A { discrete = TRUE; levels = (1, 2); \
                functable = (1, 3); };\n};\n";
    let error = refused("t.dne", text);
    assert!(error.contains("the function of 'A' has 2 values, expected 1"), "{error}");
}
