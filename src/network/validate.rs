//! Checks of the names, tables and factors of a [`Network`](crate::network::Network). The module
//! `topology` finds directed cycles.

use std::collections::HashMap;

use crate::network::error::EntryCount;
use crate::network::{Cpt, Factor, NetworkError, Variable, VariableId, normalise_row};

/// Checks the names and states of `variables`, and returns a map from names to ids.
///
/// # Errors
/// If a variable has no states, two states of a variable have the same label, or two variables the
/// same name.
pub(super) fn index_names(
    variables: &[Variable],
) -> Result<HashMap<String, VariableId>, NetworkError> {
    let mut by_name = HashMap::with_capacity(variables.len());
    for (index, variable) in variables.iter().enumerate() {
        if variable.states().is_empty() {
            return Err(NetworkError::NoStates(variable.name().to_owned()));
        }
        let mut labels = std::collections::HashSet::with_capacity(variable.cardinality());
        if let Some(state) = variable.states().iter().find(|state| !labels.insert(*state)) {
            return Err(NetworkError::DuplicateState {
                variable: variable.name().to_owned(),
                state: state.clone(),
            });
        }
        if by_name.insert(variable.name().to_owned(), VariableId::new(index)).is_some() {
            return Err(NetworkError::DuplicateVariable(variable.name().to_owned()));
        }
    }
    Ok(by_name)
}

/// Sorts `cpts` by child, and checks that every variable has exactly one.
///
/// # Errors
/// The first variable with no table, or with several.
pub(super) fn one_table_each(
    variables: &[Variable],
    mut cpts: Vec<Cpt>,
) -> Result<Vec<Cpt>, NetworkError> {
    let mut found = vec![0_usize; variables.len()];
    for cpt in &cpts {
        found[cpt.child().index()] += 1;
    }
    if let Some(index) = found.iter().position(|&count| count != 1) {
        return Err(NetworkError::TableCount {
            variable: variables[index].name().to_owned(),
            found: found[index],
        });
    }
    cpts.sort_by_key(Cpt::child);
    Ok(cpts)
}

/// Checks the scope, size and values of the factor at position `index`.
///
/// # Errors
/// The first mistake in the factor.
pub(super) fn check_factor(
    variables: &[Variable],
    index: usize,
    factor: &Factor,
) -> Result<(), NetworkError> {
    let mut scope = factor.scope().to_vec();
    scope.sort_unstable();
    if let Some(pair) = scope.windows(2).find(|pair| pair[0] == pair[1]) {
        let variable = variables[pair[0].index()].name().to_owned();
        return Err(NetworkError::RepeatedInFactor { factor: index, variable });
    }
    let cardinality = |v: &VariableId| variables[v.index()].cardinality();
    let expected = scope.iter().try_fold(1_usize, |size, v| size.checked_mul(cardinality(v)));
    let found = factor.values().len();
    if expected != Some(found) {
        let expected = EntryCount(expected);
        return Err(NetworkError::FactorSize { factor: index, expected, found });
    }
    match factor.values().iter().find(|value| !value.is_finite() || **value < 0.0) {
        Some(&value) => Err(NetworkError::FactorValue { factor: index, value }),
        None => Ok(()),
    }
}

/// Checks the scope and size of a table, and normalises its rows.
///
/// # Errors
/// The first mistake in the table.
pub(super) fn check_table(variables: &[Variable], cpt: &mut Cpt) -> Result<(), NetworkError> {
    let name = |v: VariableId| variables[v.index()].name().to_owned();
    let mut scope: Vec<VariableId> = cpt.scope().collect();
    let expected = scope
        .iter()
        .try_fold(1_usize, |size, v| size.checked_mul(variables[v.index()].cardinality()));
    scope.sort_unstable();
    if let Some(pair) = scope.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(NetworkError::RepeatedParent {
            child: name(cpt.child()),
            parent: name(pair[0]),
        });
    }
    if expected != Some(cpt.values().len()) {
        return Err(NetworkError::TableSize {
            variable: name(cpt.child()),
            expected: EntryCount(expected),
            found: cpt.values().len(),
        });
    }
    let child = cpt.child();
    for (row, values) in cpt.rows_mut(variables[child.index()].cardinality()).enumerate() {
        normalise_row(values).map_err(|error| NetworkError::Row {
            variable: name(child),
            row,
            error,
        })?;
    }
    Ok(())
}
