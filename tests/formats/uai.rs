//! Reading UAI: Bayesian and Markov networks, and how mistakes are reported.

use cliquescope::format::{self, Format, WriteError};
use cliquescope::network::{FactorId, VariableId};

use super::{assert_close, read, refused, values};

#[test]
fn a_bayesian_network_has_the_child_last_and_fastest() {
    let text = "BAYES # a remark\n3\n2 2 3\n3\n1 0\n2 0 1\n3 1 0 2\n\n2 .4 6e-1\n\
                4\n 0.1 0.9\n 0.2 0.8\n\
                12 1 0 0  0 1 0  0 0 1  0.5 0.25 0.25\n";
    let read = read("a.uai", text);
    assert_eq!(read.format, Format::Uai);
    let network = &read.network;
    assert!(network.is_bayesian() && read.warnings.is_empty());
    assert_eq!(network.variables()[2].states(), ["0", "1", "2"]);
    assert_eq!(values(network, "x1"), [0.1, 0.9, 0.2, 0.8]);
    assert_eq!(super::parents(network, "x2"), ["x1", "x0"]);
    assert_eq!(values(network, "x2")[9..], [0.5, 0.25, 0.25]);
}

/// The definition of the format says for both kinds of network: the last listed variable of a
/// function varies fastest, then the one before it. pyAgrum 3.3.1 uses other orders. In the
/// Bayesian network below, it reads 0.02 as the value for the second state of x0, the *first*
/// parent of x2. In the Markov network below, it reads 0.99 as the value for the second state of
/// x0.
#[test]
fn both_kinds_of_network_list_their_values_in_the_same_order() {
    let rest = "\n3\n2 3 2\n3\n1 0\n1 1\n3 0 1 2\n\n2\n0.5 0.5\n3\n0.2 0.3 0.5\n12\n\
                0.01 0.99 0.02 0.98 0.03 0.97\n0.11 0.89 0.12 0.88 0.13 0.87\n";
    let bayesian = read("a.uai", &format!("BAYES{rest}")).network;
    let markov = read("a.uai", &format!("MARKOV{rest}")).network;
    let table = values(&bayesian, "x2");
    assert_eq!((table[2], table[6]), (0.02, 0.11), "x0 = 0, x1 = 1; x0 = 1, x1 = 0");
    assert!(table.chunks(2).all(|row| (row[0] + row[1] - 1.0).abs() < 1e-15));
    let factor = markov.factor(FactorId::new(2));
    assert_eq!(factor.scope(), bayesian.factor(FactorId::new(2)).scope());
    assert_close(factor.values(), table);
}

#[test]
fn a_line_that_begins_with_c_is_a_comment() {
    let text = "c made by hand: BAYES\nMARKOV\nc\n1\n2\n1\n1 0\n\n2\n 1 3\nc the end";
    assert_eq!(read("a.uai", text).network.factor(FactorId::new(0)).values(), [0.25, 0.75]);
    let message = refused("a.uai", "MARKOV c 1");
    assert!(message.ends_with("expected the number of variables, a whole number, found 'c'"));
}

#[test]
fn a_markov_network_has_factors() {
    let text =
        "markov 3 2 2 3 4  2 0 1  2 1 0  0  1 2\n4 1 2 3 4\n4 0 0.5 1e300 8\n1 0.125\n3 0 0 0";
    let network = read("a.uai", text).network;
    assert!(!network.is_bayesian());
    assert_eq!(network.factor_count(), 4);
    assert!(network.cpts().is_empty() && network.parents(VariableId::new(0)).is_empty());
    let factor = network.factor(FactorId::new(0));
    assert_eq!((factor.values(), factor.exponent()), (&[0.25, 0.5, 0.75, 1.0][..], 2));
    assert_eq!(network.factor(FactorId::new(1)).scope(), [VariableId::new(1), VariableId::new(0)]);
    let written = format::write(&network, Format::Uai).unwrap();
    let numbers: Vec<&str> = written.text.split_whitespace().collect();
    let expected: Vec<&str> =
        "MARKOV 3 2 2 3 4 2 0 1 2 1 0 0 1 2 4 1 2 3 4 4 0 0.5 1e300 8 1 0.125 \
                               3 0 0 0"
            .split_whitespace()
            .collect();
    assert_eq!(numbers, expected, "written to the last digit");
    let refused = format::write(&network, Format::Bif).unwrap_err();
    assert_eq!(refused, WriteError::NotBayesian(Format::Bif));
}

#[test]
fn mistakes_are_reported_with_their_position_and_what_was_expected() {
    let cases = [
        ("", "a.uai:1:1: expected 'BAYES' or 'MARKOV', found the end of the file"),
        ("BAYESIAN 1", "a.uai:1:1: expected 'BAYES' or 'MARKOV', found 'BAYESIAN'"),
        ("BAYES\n-1", "a.uai:2:1: expected the number of variables, a whole number, found '-1'"),
        (
            "BAYES 2\n2",
            "a.uai:2:2: expected the number of states of variable 1, found the end of the file",
        ),
        ("BAYES 1 0", "a.uai:1:9: variable 0 has 0 states, expected 1 to 65536"),
        ("BAYES 1 1000000000", "a.uai:1:9: variable 0 has 1000000000 states, expected 1 to 65536"),
        ("BAYES 1 2 1 1 1", "a.uai:1:15: there is no variable 1, expected 0"),
        ("MARKOV 0 1 1 0", "a.uai:1:14: there is no variable 0, the network has no variables"),
        ("MARKOV 1 2 1 2 0 0", "a.uai:1:18: function 0 lists variable 0 twice"),
        (
            "BAYES 1 2 1 1 0 3 1 1 1",
            "a.uai:1:17: function 0 has 3 values, expected 2, one for each configuration \
          of its variables",
        ),
        (
            "BAYES 1 2 1 1 0 2 0.5 x",
            "a.uai:1:23: expected value 2 of 2 of function 0, a number of at least 0, found 'x'",
        ),
        (
            "MARKOV 1 2 1 1 0 2 0.5 -1",
            "a.uai:1:24: expected value 2 of 2 of function 0, a number of at least 0, found '-1'",
        ),
        (
            "MARKOV 1 2 1 1 0 2 0.5 1e999",
            "a.uai:1:24: expected value 2 of 2 of function 0, a number of at least 0, found \
             '1e999'",
        ),
        (
            "MARKOV 1 2 1 1 0 2 0.5 NaN",
            "a.uai:1:24: expected value 2 of 2 of function 0, a number of at least 0, found 'NaN'",
        ),
        (
            "BAYES 1 2 1 1 0 2 0.5 0.4",
            "a.uai:1:19: row 1 of the table of x0: the row sums to 0.9, not to 1 (within 0.01)",
        ),
        (
            "BAYES 1 2 1 1 0 2 0.5 0.5 1",
            "a.uai:1:27: expected the end of the file after the last function, found '1'",
        ),
        (
            "BAYES 1 2 1 0 1 1",
            "a.uai:1:13: this function has no variable, expected a child as its last variable",
        ),
        (
            "BAYES 1 2\n2 1 0\n1 0 2 1 0 2 1 0",
            "a.uai:3:1: variable 0 is the child (the last variable) of a second function; the \
             first is on line 2",
        ),
        (
            "BAYES 2 2 2 2 2 0 1 2 1 0 4 1 0 1 0 4 1 0 1 0",
            "a.uai:1:21: the arcs form a cycle: x0 -> x1 -> x0",
        ),
        (
            "BAYES 2 2 2 1 1 0 2 1 0",
            "a.uai:1:1: variable 'x1' has 0 probability tables, expected one",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused("a.uai", text), expected, "{text}");
    }
    let wide = format!(
        "MARKOV 40 {} 1 40 {}",
        "2 ".repeat(40),
        (0..40).map(|v| format!("{v} ")).collect::<String>()
    );
    let message = refused("a.uai", &wide);
    assert!(message.contains("has more than the maximum of 4194304 table entries"), "{message}");
}
