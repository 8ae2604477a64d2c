//! Reading XMLBIF.

use super::{assert_close, parents, read, refused, values, warnings};

/// A file with the variables `a` and `b`, the definition of `a`, and `rest`.
fn two(rest: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<BIF VERSION=\"0.3\">\n<NETWORK>\n<NAME>two</NAME>\n\
         <VARIABLE TYPE=\"nature\"><NAME>a</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>\n\
         <VARIABLE><NAME>b</NAME><OUTCOME>low</OUTCOME><OUTCOME>mid</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>\n\
         <DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>\n{rest}\n</NETWORK>\n</BIF>\n"
    )
}

#[test]
fn the_variable_varies_fastest_and_the_first_parent_slowest() {
    let text = two("<DEFINITION><FOR>b</FOR><TABLE>.2 .3 .5</TABLE></DEFINITION>\n\
         <VARIABLE TYPE='nature'><NAME>c</NAME><VALUE>f</VALUE><VALUE>t</VALUE></VARIABLE>\n\
         <DEFINITION><FOR>c</FOR><GIVEN>a</GIVEN><GIVEN>b</GIVEN>\n<TABLE> <!-- no low -->\n\
         .1 .9  .2 .8 <!-- no high --> .3 .7 <!-- yes: -->\n4e-1,.6, .5 .5 .6 .4</TABLE></DEFINITION>");
    let network = read("t.xml", &text).network;
    assert_eq!(network.name(), "two");
    assert_eq!(parents(&network, "c"), ["a", "b"]);
    let expected = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 0.6, 0.4];
    assert_close(values(&network, "c"), &expected);
    assert_eq!(network.variables()[1].states(), ["low", "mid", "high"]);
}

#[test]
fn document_types_and_malformed_comments_are_skipped() {
    let text = two("<!- one dash ->\n<DEFINITION><FOR>b</FOR><TABLE>.2 .3 .5</TABLE></DEFINITION>");
    let text = text.replace("<BIF", "<!DOCTYPE BIF [\n<!ELEMENT BIF ( NETWORK )*>\n]>\n<BIF");
    assert_eq!(read("file", &format!("  {text}")).network.variables().len(), 2);
}

#[test]
fn names_may_contain_characters_that_xml_escapes() {
    let text = two("<DEFINITION><FOR>b</FOR><TABLE>.2 .3 .5</TABLE></DEFINITION>")
        .replace(">a<", ">a &lt; &amp; b&#233;<")
        .replace(">mid<", "> m id <");
    let network = read("t.xml", &text).network;
    assert!(network.find("a < & b\u{e9}").is_some());
    assert_eq!(network.variables()[1].states()[1], "m id");
}

#[test]
fn decisions_become_uniform_and_utilities_are_left_out() {
    let text = two(
        "<DEFINITION><FOR>b</FOR><GIVEN>d</GIVEN><TABLE>.2 .3 .5 0 0 1</TABLE></DEFINITION>\n\
         <VARIABLE TYPE='decision'><NAME>d</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>\n\
         <VARIABLE TYPE='utility'><NAME>u</NAME><OUTCOME>0</OUTCOME></VARIABLE>\n\
         <DEFINITION><FOR>d</FOR><GIVEN>a</GIVEN></DEFINITION>\n\
         <DEFINITION><FOR>u</FOR><GIVEN>d</GIVEN><TABLE>10 -4</TABLE></DEFINITION>",
    );
    let read = read("t.xml", &text);
    assert_close(values(&read.network, "d"), &[0.5, 0.5]);
    assert_eq!(read.network.find("u"), None);
    assert_eq!(
        warnings(&read),
        [
            "t.xml: decision nodes were read as chance variables with uniform distributions: d",
            "t.xml: utility nodes were left out: u"
        ]
    );
}

#[test]
fn mistakes_are_reported_with_their_position() {
    let table = |rest: &str| two(&format!("<DEFINITION><FOR>b</FOR>{rest}</DEFINITION>"));
    let cases: &[(String, &str)] = &[
        (table("<TABLE>.2 .3 x</TABLE>"), "t.xml:8:38: expected a number, found 'x'"),
        (table("<TABLE>.2 .3 nan</TABLE>"), "t.xml:8:38: expected a number, found 'nan'"),
        (
            table("<TABLE>.2 .3</TABLE>"),
            "t.xml:8:25: the table of 'b' has 2 numbers, expected 3, one for each state",
        ),
        (
            table("<GIVEN>a</GIVEN><TABLE>.2 .3 .5\n.2 .3 .6</TABLE>"),
            "t.xml:9:1: row 2 of the table of 'b': the row sums to 1.1, not to 1 (within 0.015)",
        ),
        (
            table("<TABLE>1.5 -.5 0</TABLE>"),
            "t.xml:8:32: the table of 'b': -0.5 is not a probability",
        ),
        (
            table("<GIVEN>z</GIVEN><TABLE>1 0 0</TABLE>"),
            "t.xml:8:32: there is no variable 'z', expected a parent of 'b'",
        ),
        (
            table("<GIVEN>b</GIVEN><TABLE>1 0 0</TABLE>"),
            "t.xml:8:32: 'b' is listed as its own parent",
        ),
        (
            table("<GIVEN>a</GIVEN><GIVEN>a</GIVEN><TABLE>1 0 0</TABLE>"),
            "t.xml:8:48: parent 'a' is listed twice",
        ),
        (
            table("<FOR>a</FOR><TABLE>1 0 0</TABLE>"),
            "t.xml:8:25: the definition of 'b' is also for 'a', expected one variable",
        ),
        (two(""), "t.xml:6:1: 'b' has no probability table"),
        (
            two("<DEFINITION><TABLE>1</TABLE></DEFINITION>"),
            "t.xml:8:1: expected <FOR> in this definition",
        ),
        (
            two("<DEFINITION><FOR>a</FOR></DEFINITION>"),
            "t.xml:8:1: 'a' has a second distribution; the first is on line 7",
        ),
        (two("<DEFINITION><FOR>q</FOR></DEFINITION>"), "t.xml:8:18: there is no variable 'q'"),
        (
            two("<VARIABLE><NAME>a</NAME></VARIABLE>"),
            "t.xml:8:17: 'a' is declared a second time; the first is on line 5",
        ),
        (two("<VARIABLE></VARIABLE>"), "t.xml:8:1: expected <NAME> in this variable"),
        (two("<VARIABLE><NAME>s</NAME></VARIABLE>"), "t.xml:8:17: 's' has no states"),
        (
            two("<VARIABLE TYPE='odd'><NAME>s</NAME></VARIABLE>"),
            "t.xml:8:17: 's' has the type 'odd', expected 'nature', 'decision' or 'utility'",
        ),
        (
            two("<VARIABLE><NAME>s</NAME><VALUE>1</VALUE><VALUE>1</VALUE></VARIABLE>"),
            "t.xml:8:48: 's' has the state '1' twice",
        ),
        ("<HTML/>".into(), "t.xml:1:1: expected <BIF>, found <HTML>"),
        ("<BIF/>".into(), "t.xml:1:1: expected <NETWORK> in <BIF>"),
        (two("<X>"), "t.xml:9:1: expected </X> for the element on line 8, found </NETWORK>"),
    ];
    for (text, expected) in cases {
        assert_eq!(&refused("t.xml", text), expected, "{text}");
    }
}

#[test]
fn cycles_and_huge_tables_are_refused() {
    let variable = |name: &str| {
        format!("<VARIABLE><NAME>{name}</NAME><OUTCOME>f</OUTCOME><OUTCOME>t</OUTCOME></VARIABLE>")
    };
    let table = |child: &str, parent: &str| {
        format!(
            "<DEFINITION><FOR>{child}</FOR><GIVEN>{parent}</GIVEN><TABLE>1 0 0 1</TABLE></DEFINITION>"
        )
    };
    let network = |inside: String| format!("<BIF><NETWORK>{inside}</NETWORK></BIF>");
    let circle = variable("x") + &variable("y") + &table("x", "y") + &table("y", "x");
    let error = refused("t.xml", &network(circle));
    assert!(
        error.ends_with("the arcs form a cycle: x -> y -> x") || error.ends_with("y -> x -> y"),
        "{error}"
    );

    let names: Vec<String> = (0..70).map(|index| format!("v{index}")).collect();
    let mut wide: String = names.iter().map(|name| variable(name)).collect();
    wide += "<DEFINITION><FOR>v0</FOR>";
    wide.extend(names[1..].iter().map(|name| format!("<GIVEN>{name}</GIVEN>")));
    wide += "<TABLE>1 0</TABLE></DEFINITION>";
    let error = refused("t.xml", &network(wide));
    assert!(
        error.contains("the file has more than the maximum of 4194304 table entries"),
        "{error}"
    );
}

#[test]
fn namespaces_with_and_without_a_prefix_are_ignored() {
    let plain = two("<DEFINITION><FOR>b</FOR><TABLE>.2 .3 .5</TABLE></DEFINITION>");
    let default = plain.replace("<BIF ", "<BIF xmlns=\"http://example.org/bif\" ");
    let (head, body) = plain.split_once("<BIF").unwrap();
    let prefixed = format!("<BIF{body}").replace("</", "<\0").replace('<', "<b:");
    let prefixed = prefixed.replace("<b:\0", "</b:").replace("<b:BIF ", "<b:BIF xmlns:b='u' ");
    for text in [default, format!("{head}{prefixed}")] {
        let network = read("some file", &text).network;
        assert_close(values(&network, "b"), &[0.2, 0.3, 0.5]);
    }
}
