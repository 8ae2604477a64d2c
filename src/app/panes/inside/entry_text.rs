//! Entries of tables in words.

use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// The states of entry `entry`, such as `yes, no, yes`; `all` for an empty scope.
pub fn states(network: &Network, scope: &Scope, entry: usize) -> String {
    joined(network, scope, entry, |_, state| state.to_owned())
}

/// The states of entry `entry` with their variables, such as `either yes, tub no`; `all` for an
/// empty scope.
pub fn assignment(network: &Network, scope: &Scope, entry: usize) -> String {
    joined(network, scope, entry, |variable, state| format!("{} {state}", network[variable].name()))
}

/// What `text` returns for each variable and its state in entry `entry`, separated by commas.
fn joined(
    network: &Network,
    scope: &Scope,
    entry: usize,
    text: impl Fn(VariableId, &str) -> String,
) -> String {
    let mut rest = entry;
    let mut texts: Vec<String> = scope
        .variables()
        .iter()
        .zip(scope.cardinalities())
        .rev()
        .map(|(&variable, &cardinality)| {
            let state = rest % cardinality;
            rest /= cardinality;
            text(variable, &network[variable].states()[state])
        })
        .collect();
    texts.reverse();
    if texts.is_empty() { "all".to_owned() } else { texts.join(", ") }
}

/// The names of the variables of `scope`.
pub fn names(network: &Network, scope: &Scope) -> String {
    let names: Vec<&str> = scope.variables().iter().map(|&v| network[v].name()).collect();
    names.join(", ")
}
