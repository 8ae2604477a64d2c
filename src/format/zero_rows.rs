//! Rows that consist of zeros only.
//!
//! Some programs write such a row, which is not a distribution, for states that the parents cannot
//! be in together. Where the parents indeed cannot be in these states, any distribution gives the
//! same posteriors, so the row is replaced with the uniform distribution. Without a proof of this,
//! the row is refused as a mistake.
//!
//! The proof uses arc consistency instead of inference. The parents are fixed to the states of the
//! row. Then states of the parents and of their ancestors are removed, until nothing changes: a
//! state is removed if no table entry above zero supports it. If a variable loses all its states,
//! the states of the row exclude each other. Arc consistency does not find every contradiction.

use std::collections::HashMap;

use crate::format::FormatError;
use crate::format::rows::ZeroRow;
use crate::format::source::SourceText;
use crate::network::{Cpt, Variable, VariableId};

/// Maximum number of table entries visited for one file, counting repetitions; visiting them takes
/// well under a second. Rows of zeros that are not resolved by then are refused.
const MAX_VISITED: usize = 1 << 24;

/// Replaces each row of zeros in `cpts` that is listed in `zeros` with the uniform distribution.
///
/// # Errors
/// If there is no proof that the parents cannot be in the states of such a row together.
pub(super) fn resolve(
    source: SourceText<'_>,
    variables: &[Variable],
    cpts: &mut [Cpt],
    zeros: &[ZeroRow],
) -> Result<(), FormatError> {
    if zeros.is_empty() {
        return Ok(());
    }
    let cardinalities: Vec<usize> = variables.iter().map(Variable::cardinality).collect();
    let mut by_row = HashMap::with_capacity(zeros.len());
    for zero in zeros {
        by_row.entry((zero.child, zero.row)).or_insert(zero);
    }
    let mut replaced = Vec::new();
    let mut supports = Supports::new(cardinalities.clone(), cpts);
    for (index, cpt) in cpts.iter().enumerate() {
        let child = cpt.child();
        let states = cardinalities[child.index()];
        let mut values = Vec::new();
        for (row, _) in cpt.values().chunks(states).enumerate().filter(|(_, row)| is_zero(row)) {
            let default = || by_row.get(&(child, None));
            let Some(zero) = by_row.get(&(child, Some(row))).or_else(default) else { continue };
            let fixed = parent_states(row, cpt.parents(), &cardinalities);
            if !supports.excludes(&fixed) {
                return Err(refusal(source, variables, &fixed, zero));
            }
            if values.is_empty() {
                values = cpt.values().to_vec();
            }
            values[row * states..(row + 1) * states].fill(1.0 / states as f64);
        }
        if !values.is_empty() {
            replaced.push((index, Cpt::new(child, cpt.parents().to_vec(), values)));
        }
    }
    for (index, cpt) in replaced {
        cpts[index] = cpt;
    }
    Ok(())
}

/// Whether all numbers of the row are zero.
fn is_zero(row: &[f64]) -> bool {
    row.iter().all(|p| *p == 0.0)
}

/// The error for a row of zeros for which there is no proof that its parents' states exclude each
/// other. `fixed`: the parents, with their states in this row; empty for a table without parents.
fn refusal(
    source: SourceText<'_>,
    variables: &[Variable],
    fixed: &[(VariableId, usize)],
    zero: &ZeroRow,
) -> FormatError {
    let child = variables[zero.child.index()].name();
    if fixed.is_empty() {
        let message = format!("the table of '{child}' has only zeros, expected a sum of 1");
        return source.error(zero.offset, message);
    }
    let state = |&(parent, state): &(VariableId, usize)| {
        let parent = &variables[parent.index()];
        format!("{} = {}", parent.name(), parent.states()[state])
    };
    let parents: Vec<_> = fixed.iter().map(state).collect();
    let message = format!(
        "the row of '{child}' for {} has only zeros, expected a sum of 1: the reader could \
         not prove that these states are impossible",
        parents.join(", ")
    );
    source.error(zero.offset, message)
}

/// The states of the `parents` in row `row` of a table, where the last parent varies fastest.
fn parent_states(
    mut row: usize,
    parents: &[VariableId],
    cardinalities: &[usize],
) -> Vec<(VariableId, usize)> {
    let mut states: Vec<_> = parents
        .iter()
        .rev()
        .map(|&parent| {
            let cardinality = cardinalities[parent.index()];
            let state = row % cardinality;
            row /= cardinality;
            (parent, state)
        })
        .collect();
    states.reverse();
    states
}

/// For each variable, which of its states are still possible.
type Domains = HashMap<VariableId, Vec<bool>>;

/// The tables of a file by child, the states that they leave possible, and the remaining budget.
struct Supports<'c> {
    cardinalities: Vec<usize>,
    tables: HashMap<VariableId, &'c Cpt>,
    /// The states that are possible while no variable is fixed.
    possible: Domains,
    /// Table entries that may still be visited.
    budget: usize,
}

impl<'c> Supports<'c> {
    fn new(cardinalities: Vec<usize>, cpts: &'c [Cpt]) -> Self {
        let tables = cpts.iter().map(|cpt| (cpt.child(), cpt)).collect();
        let all = |(index, cardinality): (usize, &usize)| {
            (VariableId::new(index), vec![true; *cardinality])
        };
        let mut possible: Domains = cardinalities.iter().enumerate().map(all).collect();
        let order: Vec<_> = (0..cardinalities.len()).map(VariableId::new).collect();
        let mut supports =
            Self { cardinalities, tables, possible: Domains::new(), budget: MAX_VISITED };
        supports.prune(&order, &mut possible);
        supports.possible = possible;
        supports
    }

    /// Whether the variables in `fixed` provably cannot have these states together. `false` if the
    /// budget is spent before there is a proof.
    fn excludes(&mut self, fixed: &[(VariableId, usize)]) -> bool {
        if fixed.iter().any(|(parent, state)| !self.possible[parent][*state]) {
            return true;
        }
        // Only the parents and their ancestors matter: a row of any other variable sums to one, or
        // has only zeros and counts as above zero, so it excludes nothing.
        let mut open: Vec<VariableId> = fixed.iter().map(|(parent, _)| *parent).collect();
        let mut domains = Domains::new();
        let mut order = Vec::new();
        while let Some(variable) = open.pop() {
            if domains.insert(variable, self.possible[&variable].clone()).is_none() {
                order.push(variable);
                open.extend(self.tables.get(&variable).iter().flat_map(|table| table.parents()));
            }
        }
        for (parent, state) in fixed {
            let only =
                (0..self.cardinalities[parent.index()]).map(|other| other == *state).collect();
            domains.insert(*parent, only);
        }
        self.prune(&order, &mut domains)
    }

    /// Removes states from `domains` until the table of each variable in `order` supports all
    /// states that remain. Returns whether a variable would lose all its states, or `false` if the
    /// budget runs out first.
    fn prune(&mut self, order: &[VariableId], domains: &mut Domains) -> bool {
        /// The fixed cost of visiting a table, expressed in entries.
        const TABLE_COST: usize = 64;
        let mut changed = true;
        while changed {
            changed = false;
            for variable in order {
                let Some(table) = self.tables.get(variable) else { continue };
                match self.budget.checked_sub(TABLE_COST + table.values().len()) {
                    Some(left) => self.budget = left,
                    None => return false,
                }
                let scope: Vec<VariableId> = table.scope().collect();
                let supported = supported_states(table, &scope, &self.cardinalities, domains);
                for (variable, supported) in scope.iter().zip(supported) {
                    if !supported.contains(&true) {
                        return true;
                    }
                    if domains[variable] != supported {
                        changed = true;
                        domains.insert(*variable, supported);
                    }
                }
            }
        }
        false
    }
}

/// For each variable in `scope`, which of its states are supported. An entry of `table` supports
/// its states if it is above zero and `domains` allow all these states. The entries of a row of
/// zeros count as above zero.
fn supported_states(
    table: &Cpt,
    scope: &[VariableId],
    cardinalities: &[usize],
    domains: &Domains,
) -> Vec<Vec<bool>> {
    let (child, parents) = scope.split_last().expect("a table has a child");
    let mut supported: Vec<Vec<bool>> =
        scope.iter().map(|variable| vec![false; cardinalities[variable.index()]]).collect();
    let allowed = &domains[child];
    for (row, values) in table.values().chunks(cardinalities[child.index()]).enumerate() {
        let states = parent_states(row, parents, cardinalities);
        if !states.iter().all(|(parent, state)| domains[parent][*state]) {
            continue;
        }
        let zero = is_zero(values);
        let mut supports_row = false;
        for (state, p) in values.iter().enumerate() {
            if allowed[state] && (zero || *p > 0.0) {
                supported[parents.len()][state] = true;
                supports_row = true;
            }
        }
        if supports_row {
            for (position, (_, state)) in states.iter().enumerate() {
                supported[position][*state] = true;
            }
        }
    }
    supported
}
