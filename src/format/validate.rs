//! The last step of reading a Bayesian network: from variables and tables to a valid network.

use crate::format::FormatError;
use crate::format::rows::RowAudit;
use crate::format::source::SourceText;
use crate::format::zero_rows;
use crate::network::{Cpt, Network, NetworkError, Variable};

/// Builds a network from `variables` and `cpts`, whose rows `audit` has normalised.
///
/// `offset_of` returns the byte offset at which an error about a variable is reported.
///
/// # Errors
/// If a row of zeros is for states of the parents that are not provably impossible, or the tables
/// do not form a network, for example because of a cycle.
pub(super) fn network(
    source: SourceText<'_>,
    name: &str,
    variables: Vec<Variable>,
    mut cpts: Vec<Cpt>,
    audit: &RowAudit,
    offset_of: impl Fn(&str) -> usize,
) -> Result<Network, FormatError> {
    zero_rows::resolve(source, &variables, &mut cpts, audit.zeros())?;
    Network::new(name, variables, cpts).map_err(|error| {
        let variable = match &error {
            NetworkError::DuplicateVariable(variable)
            | NetworkError::NoStates(variable)
            | NetworkError::DuplicateState { variable, .. }
            | NetworkError::TableCount { variable, .. }
            | NetworkError::RepeatedParent { child: variable, .. }
            | NetworkError::TableSize { variable, .. }
            | NetworkError::Row { variable, .. } => Some(variable),
            NetworkError::Cycle(variables) => variables.first(),
            NetworkError::RepeatedInFactor { .. }
            | NetworkError::FactorSize { .. }
            | NetworkError::FactorValue { .. } => None,
        };
        source.error(variable.map_or(0, |variable| offset_of(variable)), error.to_string())
    })
}
