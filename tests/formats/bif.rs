//! Reading BIF: valid files, and the messages for invalid ones.

use cliquescope::format::{self, Format, NetworkOrigin, ReadNetwork, Warning};

use super::{read, refused, values};

/// A BIF file with the variables `a` (two states) and `b` (three states), a table for `a`, and
/// `block`.
fn with_block(block: &str) -> String {
    format!(
        "network two {{\n}}\n\
         variable a {{ type discrete [ 2 ] {{ no, yes }}; }}\n\
         variable b {{ type discrete [ 3 ] {{ low, mid, high }}; }}\n\
         probability ( a ) {{ table 0.25, 0.75; }}\n\
         {block}\n"
    )
}

#[test]
fn comments_quotes_properties_and_number_forms_are_read() {
    let text = r#"
// a comment; with { anything } "in it
network "two words" {
  property author = "someone; // else";
  property it's 5" wide and http://example.org;
}
/* another **/
variable "a b" {
  property position = (12, 3);
  type discrete [ 3 ] { <5, 5-12, 12+ }; // "<5"
}
variable Grunting/Report{type discrete[2]{Asy/Patch,6// "6"
};}
probability(Grunting/Report|"a b"){
  property note = 1;
  (12+)
     .5,
     5e-1;
  ( <5 ) 1 0;
  (5-12) 0.25,0.75;
}
probability ( "a b" ) { table 2.0E-1 0.3 0.5; }
"#;
    let ReadNetwork { network, warnings, origin, .. } = read("t.bif", text);
    assert_eq!(network.name(), "two words");
    assert_eq!(origin, NetworkOrigin::Bytes("t.bif".into()));
    assert_eq!(warnings, []);
    assert_eq!(network.variables()[0].name(), "a b");
    assert_eq!(network.variables()[0].states(), ["<5", "5-12", "12+"]);
    assert_eq!(network.variables()[1].states(), ["Asy/Patch", "6"]);
    assert_eq!(values(&network, "a b"), [0.2, 0.3, 0.5]);
    assert_eq!(values(&network, "Grunting/Report"), [1.0, 0.0, 0.25, 0.75, 0.5, 0.5]);
}

#[test]
fn keywords_are_case_insensitive() {
    let text = "NETWORK n { PROPERTY p; }\nVARIABLE Type { TYPE DISCRETE [ 2 ] { Table, DEFAULT }; \
                PROPERTY position = (1, 2); }\nVariable b { Type Discrete [ 2 ] { n, y }; }\n\
                PROBABILITY ( Type ) { TABLE 0.25 0.75; }\n\
                Probability ( b | Type ) { Default 1 0; (Table) 0 1; Property q; }";
    let read = format::open_bytes("no extension", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.format, Format::Bif);
    assert_eq!(read.network.variables()[0].states(), ["Table", "DEFAULT"]);
    assert_eq!(values(&read.network, "Type"), [0.25, 0.75]);
    assert_eq!(values(&read.network, "b"), [0.0, 1.0, 1.0, 0.0]);
    let error = refused("t.bif", "NETWORK n { }\nVARIABLE b { KIND discrete; }");
    assert_eq!(error, "t.bif:2:14: expected 'type', 'property' or '}', found 'KIND'");
}

#[test]
fn in_a_table_the_child_varies_slowest_and_the_last_parent_fastest() {
    let text = with_block(
        "variable c { type discrete [ 2 ] { f, t }; }
        probability ( b ) { table 0.2 0.3 0.5; }
        probability ( c | a, b ) {
          table 0.1 0.2 0.3 0.4 0.5 0.6
                0.9 0.8 0.7 0.6 0.5 0.4;
        }",
    );
    let expected = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 0.6, 0.4];
    assert_eq!(values(&read("t.bif", &text).network, "c"), expected);
}

#[test]
fn a_default_fills_missing_rows() {
    let text = with_block("probability ( b | a ) { default 0.5 0.25 0.25; (yes) 0 0 1; }");
    assert_eq!(values(&read("t.bif", &text).network, "b"), [0.5, 0.25, 0.25, 0.0, 0.0, 1.0]);
    let text = with_block("probability ( b ) { default 0.5 0.25 0.25; }");
    assert_eq!(values(&read("t.bif", &text).network, "b"), [0.5, 0.25, 0.25]);
}

#[test]
fn the_bar_is_optional_and_blocks_may_come_in_any_order() {
    let text = "probability (b a) { (x) 1 0; (y) 0 1; }\n\
                variable b { type discrete[2] {p q}; }\n\
                probability (a) { table 0.5 0.5; }\n\
                variable a { type discrete[2] {x y}; }";
    let network = read("t.bif", text).network;
    assert_eq!(network.name(), "");
    assert_eq!(network.variables()[0].name(), "b");
    assert_eq!(network.cpt(network.find("b").unwrap()).parents(), [network.find("a").unwrap()]);
}

#[test]
fn byte_order_mark_latin1_and_dos_line_endings_are_accepted() {
    let text = with_block("probability ( b ) { table 0.5 0.25 0.25; }");
    let plain = read("t.bif", &text).network;
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(text.replace('\n', "\r\n").into_bytes());
    let marked = format::open_bytes("t.bif", bytes).unwrap().network;
    assert_eq!(marked.variables(), plain.variables());
    let mut bytes = b"// Kj\xe6rulff\nvariable K\xe6 { type discrete[1] {x}; }".to_vec();
    bytes.extend(b"probability (K\xe6) { table 1; }");
    assert!(format::open_bytes("t.bif", bytes).unwrap().network.find("K\u{e6}").is_some());
}

#[test]
fn rows_that_are_slightly_off_are_normalised_with_one_warning() {
    let text =
        with_block("probability ( b | a ) {\n(no) 0.3333 0.3333 0.3333;\n(yes) 0.2 0.3 0.4992;\n}");
    let read = read("t.bif", &text);
    let [Warning::RowsNormalised { file, off, rows, worst, line, lines, more_lines }] =
        &read.warnings[..]
    else {
        panic!("{:?}", read.warnings)
    };
    assert_eq!((file.as_str(), *off, *rows, *line), ("t.bif", 2, 3, 8));
    assert_eq!((&lines[..], *more_lines), (&[7, 8][..], false));
    assert!((worst - 8e-4).abs() < 1e-12);
    let sum: f64 = values(&read.network, "b")[..3].iter().sum();
    assert!((sum - 1.0).abs() < 1e-15);
    assert_eq!(
        read.warnings[0].to_string(),
        "t.bif: rows that did not sum to 1 were normalised: 2 of 3 (lines 7, 8); \
         the worst, on line 8, was off by 8.00e-4"
    );
    let rounding =
        with_block("probability ( b ) { table 0.33333333333 0.33333333334 0.333333333329; }");
    assert_eq!(self::read("t.bif", &rounding).warnings, []);
}

#[test]
fn errors_give_the_position_and_the_reason() {
    let cases = [
        (
            "probability ( b ) { table 0.5 0.2 0.2; }",
            "t.bif:6:21: the table of 'b': the row sums to 0.9, not to 1 (within 0.015)",
        ),
        (
            "probability ( b ) {\n table 1.5 -0.5 0; }",
            "t.bif:7:2: the table of 'b': -0.5 is not a probability",
        ),
        (
            "probability ( b | a ) {\n (no) 1 0 0;\n (yes) 0.5 0.2 0.2;\n}",
            "t.bif:8:2: the row of 'b' for (yes): the row sums to 0.9, not to 1 (within 0.015)",
        ),
        (
            "probability ( b | a ) {\n (no) 1 0 0;\n}",
            "t.bif:6:15: the table of 'b' lacks 1 of 2 rows, the first for (yes), and has no \
             default",
        ),
        (
            "probability ( b | a ) {\n (no) 1 0 0;\n (no) 1 0 0; (yes) 1 0 0;\n}",
            "t.bif:8:2: the row of 'b' for (no) is given a second time; the first is on line 7",
        ),
        (
            "probability ( b ) { default 1 0 0; default 1 0 0; }",
            "t.bif:6:36: the default row of 'b' is given a second time; the first is on line 6",
        ),
        (
            "probability ( b | a ) {\n (no) 1 0 0; (maybe) 1 0 0;\n}",
            "t.bif:7:15: 'a' has no state 'maybe'; its states are no, yes",
        ),
        (
            "probability ( b | a ) {\n (no, no) 1 0 0;\n}",
            "t.bif:7:2: the row names 2 states, expected 1, one for each parent of 'b'",
        ),
        (
            "probability ( b | a ) {\n (no) 1 0; (yes) 1 0 0;\n}",
            "t.bif:7:2: the row of 'b' has 2 numbers, expected 3",
        ),
        (
            "probability ( b | a ) { table 1 0 0; }",
            "t.bif:6:25: the table of 'b' has 3 numbers, expected 6, 3 for each of 2 \
             configurations of the parents",
        ),
        (
            "probability ( b ) { table 1 0 0; default 1 0 0; }",
            "t.bif:6:34: 'table' gives the whole table, so there can be no other entry",
        ),
        ("probability ( b ) { }", "t.bif:6:15: the table of 'b' is empty"),
        ("probability ( c ) { table 1; }", "t.bif:6:15: there is no variable 'c'"),
        (
            "probability ( b | c ) { default 1 0 0; }",
            "t.bif:6:19: there is no variable 'c', expected a parent of 'b'",
        ),
        ("probability ( b | a, a ) { default 1 0 0; }", "t.bif:6:22: parent 'a' is listed twice"),
        ("probability ( b | b ) { default 1 0 0; }", "t.bif:6:19: 'b' is listed as its own parent"),
        (
            "probability ( a ) { table 0.5 0.5; }",
            "t.bif:6:15: 'a' has a second distribution; the first is on line 5",
        ),
        ("", "t.bif:4:10: 'b' has no probability table"),
        (
            "variable a { type discrete [ 1 ] { x }; }",
            "t.bif:6:10: 'a' is declared a second time; the first is on line 3",
        ),
        ("variable c { type discrete [ 3 ] { x, y }; }", "t.bif:6:30: expected 3 states, found 2"),
        ("variable c { type discrete [ 2 ] { x, x }; }", "t.bif:6:39: 'c' has the state 'x' twice"),
        ("variable c { type discrete [ 0 ] { }; }", "t.bif:6:10: 'c' has no states"),
        (
            "variable c { type discrete [ two ] { x, y }; }",
            "t.bif:6:30: expected the number of states, found 'two'",
        ),
        ("variable c { type continuous; }", "t.bif:6:19: expected 'discrete', found 'continuous'"),
        ("variable c { }", "t.bif:6:14: variable 'c' has no type"),
        ("variable c\n type", "t.bif:7:2: expected '{', found 'type'"),
        (
            "probability ( b ) { table 1 nan 0; }",
            "t.bif:6:29: expected a number or ';', found 'nan'",
        ),
        ("probability ( b ) { table 1 0 0 }", "t.bif:6:33: expected a number or ';', found '}'"),
        (
            "probability ( b ) { table 1 0 0;",
            "t.bif:7:1: expected '(', 'table', 'default', 'property' or '}', found the end of the \
             file",
        ),
        ("probability b { table 1 0 0; }", "t.bif:6:13: expected '(', found 'b'"),
        ("/* b", "t.bif:6:1: this comment is not closed"),
        ("variable \"c", "t.bif:6:10: this quote is not closed"),
        ("network x { property y }", "t.bif:6:13: this property is not ended by ';'"),
        ("graph { }", "t.bif:6:1: expected 'network', 'variable' or 'probability', found 'graph'"),
    ];
    for (block, message) in cases {
        assert_eq!(refused("t.bif", &with_block(block)), message, "for {block}");
    }
}

#[test]
fn a_cycle_is_reported_at_one_of_its_blocks() {
    let text = "variable a { type discrete[1] {x}; }\nvariable b { type discrete[1] {x}; }\n\
                probability (a | b) { (x) 1; }\nprobability (b | a) { (x) 1; }";
    let message = refused("t.bif", text);
    assert!(message.starts_with("t.bif:3:14: the arcs form a cycle: a -> b -> a"), "{message}");
}

#[test]
fn a_short_file_cannot_request_a_huge_table() {
    let mut text = String::new();
    for index in 0..80 {
        text += &format!("variable v{index} {{ type discrete[2] {{x, y}}; }}\n");
    }
    let parents: Vec<_> = (1..80).map(|index| format!("v{index}")).collect();
    text += &format!("probability (v0 | {}) {{ default 0.5 0.5; }}", parents.join(", "));
    let message = refused("t.bif", &text);
    assert!(
        message.starts_with("t.bif:81:14: with the table of 'v0', which has 79 parents,"),
        "{message}"
    );
}

#[test]
fn deviations_written_by_other_programs_are_accepted() {
    let plain = with_block("probability ( b ) { table 0.5 0.25 0.25; }");
    let unusual =
        with_block("probability ( b ) { table 5E-1f, .25d 0.25; };;").replace("; }\n", "; };\n");
    let unusual = format!("\u{a0}{unusual}\u{a0}\r\n\u{1a}\0\0");
    assert_eq!(
        values(&read("t.bif", &unusual).network, "b"),
        values(&read("t.bif", &plain).network, "b")
    );
    assert_eq!(
        refused("t.bif", &format!("; {plain}")),
        "t.bif:1:1: expected 'network', 'variable' or 'probability', found ';'"
    );
}

#[test]
fn rows_rounded_to_two_digits_are_accepted_and_lower_bounds_are_refused() {
    let rounded =
        with_block("probability ( b | a ) {\n(no) 0.33 0.33 0.33;\n(yes) 0.34 0.34 0.33;\n}");
    let read = read("t.bif", &rounded);
    assert_eq!(
        read.warnings[0].to_string(),
        "t.bif: rows that did not sum to 1 were normalised: 2 of 3 (lines 7, 8); the worst, on \
         line 7, was off by 1.00e-2"
    );
    let third = values(&read.network, "b")[..3].to_vec();
    assert!(third.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-15), "{third:?}");
    // The numbers of a credal network are lower bounds of probabilities, and sum to less than 1.
    let credal = with_block("probability ( b | a ) {\n(no) 0.3 0.3 0.3;\n(yes) 0.2 0.3 0.5;\n}");
    assert_eq!(
        refused("t.bif", &credal),
        "t.bif:7:1: the row of 'b' for (no): the row sums to 0.9, not to 1 (within 0.015)"
    );
}
