//! Writes UAI.

use std::fmt::Write as _;

use crate::format::WriteError;
use crate::format::write::push_numbers;
use crate::network::{Factor, Network, VariableId};

/// The content of a UAI file with `network`.
#[expect(clippy::unnecessary_wraps, reason = "other formats cannot write every network")]
pub(super) fn write(network: &Network) -> Result<String, WriteError> {
    let mut text = String::from(if network.is_bayesian() { "BAYES\n" } else { "MARKOV\n" });
    let cardinalities: Vec<_> = network.cardinalities().iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "{}\n{}", cardinalities.len(), cardinalities.join(" "));
    let _ = writeln!(text, "{}", network.factor_count());
    for factor in network.factors() {
        let _ = write!(text, "{}", factor.scope().len());
        for variable in factor.scope() {
            let _ = write!(text, " {}", variable.index());
        }
        text.push('\n');
    }
    for factor in network.factors() {
        write_table(&mut text, network, factor);
    }
    Ok(text)
}

/// Appends the number of entries of `factor`, and the entries, a line for each configuration of all
/// variables but the last.
fn write_table(text: &mut String, network: &Network, factor: &Factor) {
    // Undo the factor's rescaling by a power of two. This takes two steps, because the power may
    // exceed the range of f64.
    let half = factor.exponent() / 2;
    let (first, second) = (2_f64.powi(half), 2_f64.powi(factor.exponent() - half));
    let values: Vec<f64> = factor.values().iter().map(|value| value * first * second).collect();
    let states = |variable: &VariableId| network[*variable].cardinality();
    let line_length = factor.scope().last().map_or(1, states);
    let _ = writeln!(text, "\n{}", values.len());
    for line in values.chunks(line_length) {
        text.push(' ');
        push_numbers(text, line, " ");
        text.push('\n');
    }
}
