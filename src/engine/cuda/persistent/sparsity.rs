//! Finds the rows of the operations that must be computed: the rows that can be nonzero for some
//! evidence, and that something needs.
//!
//! A product is *live* if neither its table entry nor an entry of a message that it reads is zero
//! because of tables alone. A row is live if one of its products is live. A row is *needed* if its
//! operation computes a posterior or P(e), if no operation reads its message, or if a live product
//! of a computed row reads it. Exactly the rows that are live and needed are computed and stored.
//! Among them are rows that are zero only because of the evidence.

use crate::network::VariableId;
use crate::potential::{Odometer, Scope};

use super::operations::{Operation, Operations, Role};

/// The sparsity of all operations.
pub(super) struct Sparsity {
    pub operations: Vec<OperationSparsity>,
}

/// The rows of one operation that are computed, and what their products read.
pub(super) struct OperationSparsity {
    /// For each message that is a factor, where each product reads it.
    pub factors: Vec<Offsets>,
    /// The rows that are computed, in ascending order.
    pub rows: Vec<u32>,
    /// Number of live products of these rows.
    pub products: u64,
    /// Whether all products of all rows are live and needed.
    pub is_full: bool,
}

/// Where the products of an operation read a factor. The product of row r and entry e reads the
/// factor's entry number `rows[r] + entries[e]`.
pub(super) struct Offsets {
    pub rows: Vec<u32>,
    pub entries: Vec<u32>,
}

impl Offsets {
    fn new(operation: &Operation, factor: &Scope) -> Self {
        let offsets = |side: &Scope| -> Vec<u32> {
            let entries = Odometer::new(side, factor).take(side.entries());
            entries.map(|entry| entry as u32).collect()
        };
        Self { rows: offsets(&operation.rows), entries: offsets(&operation.summed) }
    }

    /// The number of the entry that the product of `row` and `entry` reads.
    pub fn index(&self, row: usize, entry: usize) -> usize {
        (self.rows[row] + self.entries[entry]) as usize
    }
}

impl OperationSparsity {
    /// Calls `visit` with the entry of each live product of `row`. Stops if `visit` returns false.
    ///
    /// `entries`: the number of entries of a row. `is_live(f, at)`: whether entry `at` of message
    /// number `f` among the factors is live.
    pub fn for_each_product(
        &self,
        row: usize,
        entries: usize,
        table: Option<&[f32]>,
        is_live: impl Fn(usize, usize) -> bool,
        mut visit: impl FnMut(usize) -> bool,
    ) {
        for entry in 0..entries {
            let is_live = table.is_none_or(|table| table[row * entries + entry] != 0.0)
                && self
                    .factors
                    .iter()
                    .enumerate()
                    .all(|(f, offsets)| is_live(f, offsets.index(row, entry)));
            if is_live && !visit(entry) {
                return;
            }
        }
    }
}

/// The table of `operation`, which begins at `start` in `tables`; `None` if `start` is `None`.
pub(super) fn table<'a>(
    start: Option<usize>,
    operation: &Operation,
    tables: &'a [f32],
) -> Option<&'a [f32]> {
    let entries = operation.rows.entries() * operation.summed.entries();
    start.map(|start| &tables[start..start + entries])
}

impl Sparsity {
    /// The sparsity of `operations`. `starts`: where the table of each operation begins in
    /// `tables`.
    pub fn new(operations: &Operations, starts: &[Option<usize>], tables: &[f32]) -> Self {
        let (mut sparsity, live) = live_rows(operations, starts, tables);
        find_needed(operations, starts, tables, &mut sparsity, &live);
        Self { operations: sparsity }
    }
}

/// The sparsity of each operation, and for each row whether the row is live. In the sparsity, only
/// `factors` and `is_full` are set, and `is_full` ignores whether rows are needed.
fn live_rows(
    operations: &Operations,
    starts: &[Option<usize>],
    tables: &[f32],
) -> (Vec<OperationSparsity>, Vec<Vec<bool>>) {
    let all = &operations.all;
    let mut live: Vec<Vec<bool>> = Vec::with_capacity(all.len());
    let mut sparsity: Vec<OperationSparsity> = Vec::with_capacity(all.len());
    for (operation, start) in all.iter().zip(starts) {
        let (rows, entries) = (operation.rows.entries(), operation.summed.entries());
        let offsets = |(_, scope): &(usize, Scope)| Offsets::new(operation, scope);
        let mut this = OperationSparsity {
            factors: operation.factors.iter().map(offsets).collect(),
            rows: Vec::new(),
            products: 0,
            is_full: false,
        };
        let table = table(*start, operation, tables);
        this.is_full = table.is_none_or(|table| table.iter().all(|value| *value != 0.0))
            && operation.factors.iter().all(|(factor, _)| live[*factor].iter().all(|&l| l));
        let mut is_live = vec![this.is_full; rows];
        if !this.is_full {
            for (row, is_live) in is_live.iter_mut().enumerate() {
                let factor_is_live = |f: usize, at: usize| live[operation.factors[f].0][at];
                this.for_each_product(row, entries, table, factor_is_live, |_| {
                    *is_live = true;
                    false
                });
            }
        }
        live.push(is_live);
        sparsity.push(this);
    }
    (sparsity, live)
}

/// Completes `sparsity`, from the last operation to the first: sets the rows that are live and
/// needed and the number of their products, and clears `is_full` where rows are left out.
fn find_needed(
    operations: &Operations,
    starts: &[Option<usize>],
    tables: &[f32],
    sparsity: &mut [OperationSparsity],
    live: &[Vec<bool>],
) {
    let all = &operations.all;
    let mut is_read = vec![false; all.len()];
    for (factor, _) in all.iter().flat_map(|operation| &operation.factors) {
        is_read[*factor] = true;
    }
    let mut needed: Vec<Vec<bool>> = live.iter().map(|rows| vec![false; rows.len()]).collect();
    for (index, operation) in all.iter().enumerate().rev() {
        let (needed_before, needed_here) = needed.split_at_mut(index);
        let this = &mut sparsity[index];
        let entries = operation.summed.entries();
        let table = table(starts[index], operation, tables);
        // A message that no operation reads is still computed, because traces show it.
        let needs_all = operation.result != Role::Message || !is_read[index];
        let rows = (0..needed_here[0].len())
            .filter(|&row| live[index][row] && (needs_all || needed_here[0][row]));
        this.rows = rows.map(|row| row as u32).collect();
        let is_all = this.rows.len() == needed_here[0].len();
        if this.is_full && is_all {
            this.products = (this.rows.len() * entries) as u64;
            for (factor, _) in &operation.factors {
                needed_before[*factor].fill(true);
            }
            continue;
        }
        this.is_full &= is_all;
        for &row in &this.rows {
            let row = row as usize;
            let factor_is_live = |f: usize, at: usize| live[operation.factors[f].0][at];
            let mut count = 0;
            this.for_each_product(row, entries, table, factor_is_live, |entry| {
                for (offsets, (factor, _)) in this.factors.iter().zip(&operation.factors) {
                    needed_before[*factor][offsets.index(row, entry)] = true;
                }
                count += 1;
                true
            });
            this.products += count;
        }
    }
}

/// Where the products of `operation` read the weights of a finding on `variable`: the index of a
/// weight is the state of the variable. If the variable is summed out, all offsets of rows are
/// zero; if it is a variable of the rows, all offsets of entries are zero.
pub(super) fn state_offsets(operation: &Operation, variable: VariableId) -> Offsets {
    let states = |side: &Scope| -> Vec<u32> {
        let Some(axis) = side.axis(variable) else { return vec![0; side.entries()] };
        (0..side.entries()).map(|entry| (entry / axis.stride % axis.cardinality) as u32).collect()
    };
    Offsets { rows: states(&operation.rows), entries: states(&operation.summed) }
}
