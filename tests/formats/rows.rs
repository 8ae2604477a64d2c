//! Rows that do not sum to one: percentages, counts, zeros, and mistakes.

use super::{assert_close, read, refused, values, warnings};

/// A BIF file with the variable `a`, its child `b`, and `c`, a child of both. The arguments are
/// their tables.
fn bif(a: &str, b: &str, c: &str) -> String {
    format!(
        "network n {{ }}\nvariable a {{ type discrete [ 2 ] {{ n, y }}; }}\n\
         variable b {{ type discrete [ 2 ] {{ n, y }}; }}\n\
         variable c {{ type discrete [ 2 ] {{ n, y }}; }}\n\
         probability ( a ) {{ table {a}; }}\nprobability ( b | a ) {{ {b} }}\n\
         probability ( c | a, b ) {{\n{c} }}\n"
    )
}

/// Rows of a child that is always in the state of its parent.
const SAME: &str = "(n) 1 0; (y) 0 1;";

#[test]
fn a_table_in_percent_is_divided_by_100() {
    let text = bif("30, 70", SAME, "default 33.3 66.7;\n(n, y) 0 100;");
    let read = super::read("t.bif", &text);
    assert_close(values(&read.network, "a"), &[0.3, 0.7]);
    let expected = [0.333, 0.667, 0.0, 1.0, 0.333, 0.667, 0.333, 0.667];
    assert_close(values(&read.network, "c"), &expected);
    assert_eq!(
        warnings(&read),
        ["t.bif: tables in percent were divided by 100: a, c (lines 5, 7)"]
    );
}

#[test]
fn percentages_may_be_rounded() {
    let text = "BAYES 1 3 1 1 0 3 33 33 33";
    let read = read("t.uai", text);
    assert_close(read.network.cpts()[0].values(), &[1.0 / 3.0; 3]);
    assert_eq!(
        warnings(&read),
        [
            "t.uai: tables in percent were divided by 100: x0 (line 1)",
            "t.uai: rows that did not sum to 1 were normalised: 1 of 1 (line 1); the worst, on \
             line 1, was off by 1.00e-2"
        ]
    );
}

#[test]
fn a_warning_lists_each_line_once_and_says_whether_there_are_more() {
    // The part of the warning with the number of rows and their lines. Line `i` of the file,
    // counted from zero, has `rows_per_line[i]` rows, and none of them sums to one.
    let listed = |rows_per_line: &[usize]| {
        let mut text = "net {}".to_owned();
        for (line, &rows) in rows_per_line.iter().enumerate() {
            for row in 0..rows {
                text.push_str(&format!(
                    " node v{line}_{row} {{ states = (n y); }} \
                     potential (v{line}_{row}) {{ data = (0.5 0.501); }}"
                ));
            }
            text.push('\n');
        }
        let warning = warnings(&read("t.net", &text)).remove(0);
        let (_, lines) = warning.split_once(" of ").unwrap();
        lines[..lines.find(')').unwrap()].to_owned()
    };
    assert_eq!(listed(&[3]), "3 (line 1");
    assert_eq!(listed(&[2, 1]), "3 (lines 1, 2");
    assert_eq!(listed(&[4, 4, 1]), "9 (lines 1, 2, 3");
    assert_eq!(listed(&[1; 6]), "6 (lines 1, 2, 3, 4, 5, 6");
    assert_eq!(listed(&[1; 7]), "7 (lines 1, 2, 3, 4, 5, 6, ...");
}

#[test]
fn counts_are_divided_by_their_sums() {
    let text = "<?xml version=\"1.0\"?>\n<BIF VERSION=\"0.3\"><NETWORK><NAME>n</NAME>\n\
        <VARIABLE TYPE=\"nature\"><NAME>a</NAME><OUTCOME>n</OUTCOME><OUTCOME>y</OUTCOME>\
        </VARIABLE>\n\
        <VARIABLE TYPE=\"nature\"><NAME>b</NAME><OUTCOME>n</OUTCOME><OUTCOME>y</OUTCOME>\
        </VARIABLE>\n\
        <DEFINITION><FOR>a</FOR><TABLE>500 1500</TABLE></DEFINITION>\n\
        <DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>3 9 1 0</TABLE></DEFINITION>\n\
        </NETWORK></BIF>\n";
    let read = read("t.xml", text);
    assert_close(values(&read.network, "a"), &[0.25, 0.75]);
    assert_close(values(&read.network, "b"), &[0.25, 0.75, 1.0, 0.0]);
    assert_eq!(
        warnings(&read),
        ["t.xml: tables of counts were divided by the sums of their rows: a, b (lines 5, 6)"]
    );
}

#[test]
fn rows_with_a_wrong_sum_or_a_negative_number_are_refused() {
    let cases = [
        (
            "default 0.4 0.4;",
            "8:1: the default row of 'c': the row sums to 0.8, not to 1 (within 0.01)",
        ),
        ("default 1 1;", "8:1: the default row of 'c': the row sums to 2, not to 1 (within 0.01)"),
        (
            "default 0.5 0.5; (n, n) 30.5 69.5;",
            "8:18: the row of 'c' for (n, n): the row sums to 100, not to 1 (within 0.01)",
        ),
        (
            "default 3.5 6.5;",
            "8:1: the default row of 'c': the row sums to 10, not to 1 (within 0.01)",
        ),
        ("default 101 -1;", "8:1: the default row of 'c': -1 is not a probability"),
        ("default 1 0; (n, y) -3 5;", "8:14: the row of 'c' for (n, y): -3 is not a probability"),
    ];
    for (rows, expected) in cases {
        assert_eq!(refused("t.bif", &bif("0.5 0.5", SAME, rows)), format!("t.bif:{expected}"));
    }
}

#[test]
fn a_row_of_zeros_is_accepted_if_its_parents_exclude_each_other() {
    let rows = "(n, n) 1 0;\n(n, y) 0 0;\n(y, n) 0 0; (y, y) 0.25 0.75;";
    let read = super::read("t.bif", &bif("0.5 0.5", SAME, rows));
    assert_close(values(&read.network, "c"), &[1.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.75]);
    assert_eq!(
        warnings(&read),
        ["t.bif: rows of zeros were made uniform, because the parents cannot be in these \
             states together: 2, the first on line 9"]
    );
    // Here a common ancestor, `z`, makes a = y and b = y impossible together. The file is in NET,
    // and the child comes first.
    let net = "net {}\nnode c { states = (\"n\" \"y\"); }\nnode a { states = (\"n\" \"y\"); }\n\
        node b { states = (\"n\" \"y\"); }\nnode z { states = (\"0\" \"1\" \"2\"); }\n\
        potential (c | a b) { data = (1 0 1 0 1 0 0 0); }\n\
        potential (a | z) { data = (1 0 1 0 0 1); }\npotential (b | z) { data = (1 0 0 1 1 0); }\n\
        potential (z) { data = (0.5 0.25 0.25); }\n";
    let read = super::read("t.net", net);
    assert_close(values(&read.network, "c"), &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5]);
}

#[test]
fn a_row_of_zeros_is_refused_if_its_parents_can_be_in_these_states() {
    let row = "(n, n) 1 0; (n, y) 1 0;\n(y, y) 0 0; (y, n) 1 0;";
    assert_eq!(
        refused("t.bif", &bif("0.5 0.5", SAME, row)),
        "t.bif:9:1: the row of 'c' for a = y, b = y has only zeros, expected a sum of 1: the \
         reader could not prove that these states are impossible"
    );
    assert_eq!(
        refused("t.bif", &bif("0 0", SAME, "default 1 0;")),
        "t.bif:5:21: the table of 'a' has only zeros, expected a sum of 1"
    );
    let default = "(n, n) 1 0; (y, y) 1 0; default 0 0;";
    assert!(read("t.bif", &bif("0.5 0.5", SAME, default)).warnings.len() == 1);
    let default = "(n, n) 1 0; default 0 0;";
    assert_eq!(
        refused("t.bif", &bif("0.5 0.5", SAME, default)),
        "t.bif:8:13: the row of 'c' for a = y, b = y has only zeros, expected a sum of 1: the \
         reader could not prove that these states are impossible"
    );
    // A row of zeros in the table of an ancestor excludes nothing. An unused default is not
    // checked.
    let both = bif("0.5 0.5", "(n) 1 0; (y) 0 0;", "default 1 0; (y, n) 0 0;");
    assert!(refused("t.bif", &both).contains("the row of 'b' for a = y has only zeros"));
    let unused = "(n, n) 1 0; (n, y) 1 0; (y, n) 1 0; (y, y) 1 0; default 0 0;";
    assert_eq!(read("t.bif", &bif("0.5 0.5", SAME, unused)).warnings, []);
    // A cycle with rows of zeros is refused too.
    let cycle = "BAYES 2 2 2 2 2 1 0 2 0 1 4 1 0 0 0 4 1 0 0 0";
    assert!(refused("t.uai", cycle).contains("zero"), "{}", refused("t.uai", cycle));
}

/// A UAI file with the variables `x0` to `x17` and their common child `x18`. All rows of the child
/// except the first contain only zeros. `root` is the text of the table of each parent.
fn zeros(root: &str) -> String {
    let mut text = format!("BAYES\n19\n{}\n19\n", "2 ".repeat(19));
    for parent in 0..18 {
        text.push_str(&format!("1 {parent}\n"));
    }
    let scope: Vec<String> = (0..19).map(|variable| variable.to_string()).collect();
    text.push_str(&format!("19 {}\n{}{}\n1 0 ", scope.join(" "), root.repeat(18), 1 << 19));
    text.push_str(&"0 ".repeat((1 << 19) - 2));
    text
}

#[test]
fn many_rows_of_zeros_are_made_uniform_or_refused() {
    let read = read("t.uai", &zeros("2 1 0\n"));
    assert_eq!(read.warnings.len(), 1, "every row of zeros has a parent in an impossible state");
    let table = values(&read.network, "x18");
    assert_eq!(table[..2], [1.0, 0.0]);
    assert!(table[2..].iter().all(|&p| p == 0.5));
    assert!(refused("t.uai", &zeros("2 0.5 0.5\n")).contains("the row of 'x18' for x0 = 0"));
}

#[test]
fn percentages_counts_and_zeros_of_a_fixture_are_read() {
    let read = read("no extension", include_str!("../fixtures/scales.bif"));
    assert_close(values(&read.network, "draw"), &[0.5, 0.333, 0.167]);
    assert_close(values(&read.network, "seen"), &[0.75, 0.25, 1.0, 0.0, 0.0, 1.0]);
    assert_close(values(&read.network, "told"), &[0.5; 12]);
    assert_eq!(
        warnings(&read),
        [
            "no extension: tables in percent were divided by 100: draw (line 5)",
            "no extension: tables of counts were divided by the sums of their rows: seen (line 6)",
            "no extension: rows of zeros were made uniform, because the parents cannot be in these \
             states together: 2, the first on line 7"
        ]
    );
}
