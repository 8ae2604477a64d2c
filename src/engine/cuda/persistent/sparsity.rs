//! Finds the rows of the operations that must be computed. A row is one entry of an operation's
//! result.
//!
//! A product is *live* if neither its table entry is zero nor a row of another operation that it
//! reads is left out. A row is computed if one of its products is live, and if its part on every
//! separator within its variables is possible, as [`supports`](crate::engine::cpu::Supports)
//! defines it. All other rows are left out: for all evidence they are zero, or multiplied by zero
//! wherever they are read. Among the computed rows are some that are zero only because of the
//! evidence.
//!
//! Operations that do not depend on one another are examined in parallel, and so are the rows of an
//! operation. The result does not depend on the number of threads.

use std::borrow::Cow;
use std::collections::HashMap;

use rayon::prelude::*;

use super::operations::{Operation, Operations};
use super::parts::{FactorParts, LiveProducts, MIN_PARALLEL};
use super::tables::PotentialTable;
use crate::engine::cpu::{PossibleEntries, Support, Supports};
use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// The rows of one operation that are computed.
#[derive(Default)]
pub(super) struct OperationSparsity {
    /// The rows that are computed, in ascending order.
    pub rows: Vec<u32>,
    /// Number of live products of these rows.
    pub products: u64,
    /// Whether all rows are computed and all their products are live.
    pub is_full: bool,
}

/// What all steps of the search read.
struct Search<'a> {
    network: &'a Network,
    tables: &'a [PotentialTable],
    /// As [`Supports::by_rarest_variable`].
    supports: HashMap<VariableId, Vec<&'a Support>>,
}

/// The sparsity of `operations`. `tables`: the table of each potential.
pub(super) fn find(
    network: &Network,
    operations: &Operations,
    tables: &[PotentialTable],
    supports: &Supports,
) -> Vec<OperationSparsity> {
    let supports = supports.by_rarest_variable();
    let search = Search { network, tables, supports };
    let all = &operations.all;
    let (mut found, mut is_computed) = (Vec::new(), vec![Vec::new(); all.len()]);
    found.resize_with(all.len(), OperationSparsity::default);
    for level in levels(all) {
        let of_level: Vec<(OperationSparsity, Vec<bool>)> =
            level.par_iter().map(|&number| search.sparsity(&all[number], &is_computed)).collect();
        for (number, of_operation) in level.into_iter().zip(of_level) {
            (found[number], is_computed[number]) = of_operation;
        }
    }
    found
}

/// The numbers of the operations by level. The inputs of an operation are in earlier levels.
fn levels(all: &[Operation]) -> Vec<Vec<usize>> {
    let mut level_of: Vec<usize> = Vec::with_capacity(all.len());
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (number, operation) in all.iter().enumerate() {
        let inputs = operation.factors.iter().map(|(factor, _)| level_of[*factor] + 1);
        let level = inputs.max().unwrap_or(0);
        level_of.push(level);
        if level == levels.len() {
            levels.push(Vec::new());
        }
        levels[level].push(number);
    }
    levels
}

impl<'s> Search<'s> {
    /// The sparsity of `operation`, and for each row whether it is computed; an empty list if all
    /// are. `is_computed` has these lists for the operations of the levels before.
    fn sparsity(
        &self,
        operation: &Operation,
        is_computed: &[Vec<bool>],
    ) -> (OperationSparsity, Vec<bool>) {
        // What restricts the products: a scope, and for each of its entries whether a product that
        // has this part may be live.
        let inputs = operation.factors.iter();
        let inputs = inputs.map(|(input, scope)| (scope, Cow::Borrowed(&*is_computed[*input])));
        let inputs = inputs.filter(|(_, is_computed)| !is_computed.is_empty());
        let table = operation.potential.map(|potential| &self.tables[potential]);
        let table = table.filter(|table| table.has_zeros).map(|table| {
            let is_nonzero: Vec<bool> = table.values.iter().map(|value| *value != 0.0).collect();
            (&table.scope, Cow::Owned(is_nonzero))
        });
        let restrictions: Vec<(&Scope, Cow<'_, [bool]>)> = inputs.chain(table).collect();
        let parts = restrictions.iter();
        let parts = parts.map(|(scope, _)| FactorParts::new(self.network, operation, scope));
        let parts: Vec<FactorParts> = parts.collect();
        let mut live = LiveProducts::all(operation.summed.entries());
        for (parts, (_, may_be_live)) in parts.iter().zip(&restrictions) {
            live.restrict(parts, |at| may_be_live[at]);
        }
        let rows = operation.rows.entries() as u32;
        let possible = PossibleEntries::new(&operation.rows, self.supports_within(&operation.rows));
        if live.are_all() && possible.allows_all() {
            let products = u64::from(rows) * operation.summed.entries() as u64;
            let full = OperationSparsity { rows: (0..rows).collect(), products, is_full: true };
            return (full, Vec::new());
        }
        let count = |row: u32| {
            if !possible.contains(row) {
                return 0;
            }
            (0..live.words()).map(|n| live.word(row, n).count_ones()).sum()
        };
        let counts: Vec<u32> =
            (0..rows).into_par_iter().with_min_len(MIN_PARALLEL).map(count).collect();
        let is_computed: Vec<bool> = counts.iter().map(|count| *count > 0).collect();
        let found = OperationSparsity {
            rows: (0..rows).filter(|row| is_computed[*row as usize]).collect(),
            products: counts.iter().map(|count| u64::from(*count)).sum(),
            is_full: false,
        };
        let are_all = found.rows.len() == is_computed.len();
        (found, if are_all { Vec::new() } else { is_computed })
    }

    /// The supports of those separators that have no variable outside `scope`.
    fn supports_within(&self, scope: &Scope) -> impl Iterator<Item = &'s Support> {
        let listed = scope.variables().iter().filter_map(|variable| self.supports.get(variable));
        let is_within =
            |support: &&&Support| support.scope.variables().iter().all(|&v| scope.contains(v));
        listed.flatten().filter(is_within).copied()
    }
}
