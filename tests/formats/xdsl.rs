//! Reading XDSL, and how mistakes are reported.

use cliquescope::format::{self, Format};

use super::{assert_close, parents, read, refused, values, warnings};

/// A file with the node `a`, which has two states, and `nodes`.
fn with(nodes: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<smile version=\"1.0\" id=\"Net1\">\n<nodes>\n\
         <cpt id=\"a\"><state id=\"no\" /><state id=\"yes\" />\
         <probabilities>0.25 0.75</probabilities></cpt>\n\
         {nodes}\n</nodes>\n</smile>\n"
    )
}

const B: &str = "<cpt id=\"b\"><state id=\"x\"/><state id=\"y\"/><state id=\"z\"/>\
                 <probabilities>.2 .3 .5</probabilities></cpt>";

#[test]
fn the_node_varies_fastest_and_the_first_parent_slowest() {
    let text = with(&format!(
        "{B}\n<cpt id='c'><state id='f'/><state id='t'/><parents>a b</parents>\n\
         <probabilities>.1 .9 .2 .8 .3 .7 .4 .6 .5 .5 .6 .4</probabilities></cpt>"
    ));
    let network = read("anything", &text).network;
    assert_eq!(network.name(), "Net1");
    assert_eq!(parents(&network, "c"), ["a", "b"]);
    let expected = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.5, 0.6, 0.4];
    assert_close(values(&network, "c"), &expected);
}

#[test]
fn ids_that_look_like_escapes_are_names_in_files_of_other_programs() {
    let text = with("").replace("yes", "Gpu_20_mode").replace("Net1", "u__");
    let network = read("t.xdsl", &text).network;
    assert_eq!(network.variables()[0].states(), ["no", "Gpu_20_mode"]);
    assert_eq!(network.name(), "u__");
    let written = format::write(&network, Format::Xdsl).unwrap().text;
    assert!(written.contains("id=\"Gpu_20_mode\"") && !written.contains("<!--"), "{written}");
}

#[test]
fn a_deterministic_node_has_one_state_for_each_configuration() {
    let text = with(
        "<deterministic id='d'><state id='s'/><state id='t'/><parents>a</parents>\
         <resultingstates>t s</resultingstates></deterministic>",
    );
    assert_close(values(&read("t.xdsl", &text).network, "d"), &[0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn noisy_max_is_the_strongest_state_that_any_parent_causes() {
    let a = [[0.6, 0.3, 0.1], [0.0, 0.0, 1.0]];
    let b = [[0.2, 0.2, 0.6], [0.0, 0.0, 1.0], [0.5, 0.25, 0.25]]; // of states x, y, z
    let leak = [0.05, 0.1, 0.85];
    let column = |column: &[f64; 3]| column.map(|p| p.to_string()).join(" ");
    // The columns of b are in the order z, x, y: from the strongest to the one without effect.
    let columns = [&a[0], &a[1], &b[2], &b[0], &b[1], &leak].map(column).join(" ");
    let text = with(&format!(
        "{B}\n<noisymax id='n'><state id='high'/><state id='low'/><state id='none'/>\
         <parents>a b</parents><strengths>0 1 2 0 1</strengths>\
         <parameters>{columns}</parameters></noisymax>"
    ));
    let mut expected = Vec::new();
    for by_a in &a {
        for by_b in &b {
            let mut row = [0.0; 3];
            for (i, p) in by_a.iter().enumerate() {
                for (j, q) in by_b.iter().enumerate() {
                    for (k, r) in leak.iter().enumerate() {
                        row[i.min(j).min(k)] += p * q * r;
                    }
                }
            }
            expected.extend(row);
        }
    }
    assert_close(values(&read("t.xdsl", &text).network, "n"), &expected);
    let plain = text
        .replace("<strengths>0 1 2 0 1</strengths>", "")
        .replace(&columns, &[&a[0], &a[1], &b[0], &b[1], &b[2], &leak].map(column).join(" "));
    assert_close(values(&read("t.xdsl", &plain).network, "n"), &expected);
}

#[test]
fn a_noisy_or_is_one_minus_the_product_of_the_inhibitors() {
    let text = with(
        "<noisymax id='n'><state id='t'/><state id='f'/><parents>a</parents>\
         <parameters>.8 .2 0 1 .1 .9</parameters></noisymax>",
    );
    let expected = [1.0 - 0.2 * 0.9, 0.2 * 0.9, 0.1, 0.9];
    assert_close(values(&read("t.xdsl", &text).network, "n"), &expected);
}

#[test]
fn a_noisy_adder_is_a_weighted_mean() {
    let text = with(
        "<noisyadder id='n'><state id='t'/><state id='f'/><parents>a</parents>\
         <dstates>1 0</dstates><weights>3 1</weights><parameters>.8 .2 0 1 .4 .6</parameters>\
         </noisyadder>",
    );
    assert_close(values(&read("t.xdsl", &text).network, "n"), &[0.7, 0.3, 0.1, 0.9]);
}

#[test]
fn decisions_become_uniform_and_utilities_are_left_out() {
    let text = with(
        "<decision id='d'><state id='go'/><state id='stay'/><parents>a</parents></decision>\n\
         <utility id='u'><parents>d</parents><utilities>1 2</utilities></utility>\n\
         <mau id='m'><parents>u</parents><weights>1</weights></mau>",
    );
    let read = read("t.xdsl", &text);
    assert_close(values(&read.network, "d"), &[0.5, 0.5]);
    assert_eq!(
        warnings(&read),
        [
            "t.xdsl: decision nodes were read as chance variables with uniform distributions: d",
            "t.xdsl: utility nodes were left out: u, m"
        ]
    );
}

#[test]
fn mistakes_are_reported_with_their_position() {
    let noisy = |part: &str| {
        with(&format!(
            "<noisymax id='n'><state id='t'/><state id='f'/><parents>a</parents>\n{part}</noisymax>"
        ))
    };
    let good = "<parameters>.8 .2 0 1 .1 .9</parameters>";
    let cases: &[(String, &str)] = &[
        (
            with("<equation id='e'><definition>e=1</definition></equation>"),
            "t.xdsl:5:1: 'e' is continuous (it is given by an equation), expected a table",
        ),
        (
            with("<sphere id='e'/>"),
            "t.xdsl:5:1: 'e' is a <sphere> node, expected 'cpt', 'deterministic', 'noisymax', \
             'noisyadder', 'decision', 'utility' or 'mau'",
        ),
        (with("<cpt/>"), "t.xdsl:5:1: expected id=\"...\" in this <cpt>"),
        (with("<cpt id='c'><state/></cpt>"), "t.xdsl:5:13: expected id=\"...\" in this <state>"),
        (
            with("<cpt id='c'><state id='s'/></cpt>"),
            "t.xdsl:5:1: expected <probabilities> in the node 'c'",
        ),
        (
            with("<cpt id='c'><state id='s'/><probabilities>one</probabilities></cpt>"),
            "t.xdsl:5:43: expected a number, found 'one'",
        ),
        (
            with(
                "<deterministic id='d'><state id='s'/><resultingstates>q</resultingstates>\
                 </deterministic>",
            ),
            "t.xdsl:5:55: 'd' has no state 'q'; its states are s",
        ),
        (
            with(
                "<deterministic id='d'><state id='s'/><parents>a</parents>\
                 <resultingstates>s</resultingstates></deterministic>",
            ),
            "t.xdsl:5:58: the function of 'd' has 1 value, expected 2, one for each configuration \
             of the parents",
        ),
        (
            noisy("<parameters>.8 .2 0 1 .1</parameters>"),
            "t.xdsl:6:1: 'n' has 5 parameters, expected 6: 2 for each state of each parent and \
             for the leak",
        ),
        (
            noisy("<parameters>.8 .2 0 1 .1 .8</parameters>"),
            "t.xdsl:6:23: a column of the parameters of 'n': the row sums to 0.9, not to 1 \
             (within 0.01)",
        ),
        (
            noisy(&format!("<strengths>0 0</strengths>{good}")),
            "t.xdsl:6:14: the strengths of parent 'a' of 'n' contain 0, expected each of 0 to 1 \
             once",
        ),
        (
            noisy(&format!("<strengths>0 7</strengths>{good}")),
            "t.xdsl:6:14: the strengths of parent 'a' of 'n' contain 7, expected each of 0 to 1 \
             once",
        ),
        (
            noisy(&format!("<strengths>0</strengths>{good}")),
            "t.xdsl:6:12: 'n' has 1 strength, expected 2, one for each state of each parent",
        ),
        (
            with(
                "<utility id='u'><utilities>1</utilities></utility>\n\
                  <cpt id='c'><state id='s'/><parents>u</parents><probabilities>1</probabilities>\
                  </cpt>",
            ),
            "t.xdsl:6:37: 'u' is a utility node and cannot be a parent of 'c'",
        ),
        (
            with("").replace("</nodes>", "</nodes><dynamic numslices='3'><cpt id='a'/></dynamic>"),
            "t.xdsl:6:32: this is a dynamic network, expected one without <dynamic> definitions",
        ),
        ("<smile/>".into(), "t.xdsl:1:1: expected <nodes> in <smile>"),
        ("<HTML/>".into(), "t.xdsl:1:1: expected <smile>, found <HTML>"),
    ];
    for (text, expected) in cases {
        assert_eq!(&refused("t.xdsl", text), expected, "{text}");
    }
}
