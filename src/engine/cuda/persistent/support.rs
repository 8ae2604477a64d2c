//! Which entries of the operations can be other than zero, whatever the evidence, and matter.
//!
//! A row is live if one of its products is: if neither the table's entry nor an entry of a message is
//! zero because of tables alone. It is needed if a live product of a needed row reads it. Only what
//! is both is computed and stored. (Where evidence makes more of them zero, they are computed.)

use crate::network::VariableId;
use crate::potential::{Odometer, Scope};

use super::operations::{Operation, Operations, Role};

/// See the module; and what it takes to walk through the operations.
pub(super) struct Support {
    /// Of each operation.
    pub parts: Vec<Part>,
}

/// The support of one operation.
pub(super) struct Part {
    /// For each factor, where the rows and the entries of a run stand in it.
    pub factors: Vec<Offsets>,
    /// Rows that are computed, ascending.
    pub rows: Vec<u32>,
    /// Products of these rows that can be other than zero.
    pub products: u64,
    /// Whether all products of all rows are.
    pub is_full: bool,
}

/// Where entries stand in the table of some variables: at the sum of both.
pub(super) struct Offsets {
    pub of_rows: Vec<u32>,
    pub of_run: Vec<u32>,
}

impl Offsets {
    fn new(operation: &Operation, factor: &Scope) -> Self {
        let offsets = |side: &Scope| -> Vec<u32> {
            let entries = Odometer::new(side, factor).take(side.entries());
            entries.map(|entry| entry as u32).collect()
        };
        Self { of_rows: offsets(&operation.rows), of_run: offsets(&operation.run) }
    }

    pub fn at(&self, row: usize, entry: usize) -> usize {
        (self.of_rows[row] + self.of_run[entry]) as usize
    }
}

impl Part {
    /// Calls `found` with each product of `row` that can be other than zero, until it returns false.
    pub fn products(
        &self,
        row: usize,
        run: usize,
        table: Option<&[f32]>,
        live: impl Fn(usize, usize) -> bool,
        mut found: impl FnMut(usize) -> bool,
    ) {
        for entry in 0..run {
            let is_live = table.is_none_or(|table| table[row * run + entry] != 0.0)
                && self.factors.iter().enumerate().all(|(f, at)| live(f, at.at(row, entry)));
            if is_live && !found(entry) {
                return;
            }
        }
    }
}

/// The table of `operation` among all copies of potentials; `None` if it has none.
pub(super) fn table<'a>(
    start: Option<usize>,
    operation: &Operation,
    tables: &'a [f32],
) -> Option<&'a [f32]> {
    let entries = operation.rows.entries() * operation.run.entries();
    start.map(|start| &tables[start..start + entries])
}

impl Support {
    /// `starts`: where the table of each operation begins in `tables`.
    pub fn new(operations: &Operations, starts: &[Option<usize>], tables: &[f32]) -> Self {
        let all = &operations.all;
        let mut live: Vec<Vec<bool>> = Vec::with_capacity(all.len());
        let mut parts: Vec<Part> = Vec::with_capacity(all.len());
        for (operation, start) in all.iter().zip(starts) {
            let (rows, run) = (operation.rows.entries(), operation.run.entries());
            let offsets = |(_, scope): &(usize, Scope)| Offsets::new(operation, scope);
            let mut part = Part {
                factors: operation.factors.iter().map(offsets).collect(),
                rows: Vec::new(),
                products: 0,
                is_full: false,
            };
            let table = table(*start, operation, tables);
            part.is_full = table.is_none_or(|table| table.iter().all(|value| *value != 0.0))
                && operation.factors.iter().all(|(factor, _)| live[*factor].iter().all(|&l| l));
            let mut is_live = vec![part.is_full; rows];
            if !part.is_full {
                for (row, is_live) in is_live.iter_mut().enumerate() {
                    let from_factor = |f: usize, at: usize| live[operation.factors[f].0][at];
                    part.products(row, run, table, from_factor, |_| {
                        *is_live = true;
                        false
                    });
                }
            }
            live.push(is_live);
            parts.push(part);
        }
        let mut is_read = vec![false; all.len()];
        for (factor, _) in all.iter().flat_map(|operation| &operation.factors) {
            is_read[*factor] = true;
        }
        let mut needed: Vec<Vec<bool>> = live.iter().map(|rows| vec![false; rows.len()]).collect();
        for (index, operation) in all.iter().enumerate().rev() {
            let (before, this) = needed.split_at_mut(index);
            let part = &mut parts[index];
            let run = operation.run.entries();
            let table = table(starts[index], operation, tables);
            // What nothing reads is a result, or a message for those who look at messages.
            let is_asked = operation.result != Role::Message || !is_read[index];
            let rows =
                (0..this[0].len()).filter(|&row| live[index][row] && (is_asked || this[0][row]));
            part.rows = rows.map(|row| row as u32).collect();
            let is_all = part.rows.len() == this[0].len();
            if part.is_full && is_all {
                part.products = (part.rows.len() * run) as u64;
                for (factor, _) in &operation.factors {
                    before[*factor].fill(true);
                }
                continue;
            }
            part.is_full &= is_all;
            for &row in &part.rows {
                let row = row as usize;
                let from_factor = |f: usize, at: usize| live[operation.factors[f].0][at];
                let mut count = 0;
                part.products(row, run, table, from_factor, |entry| {
                    for (at, (factor, _)) in part.factors.iter().zip(&operation.factors) {
                        before[*factor][at.at(row, entry)] = true;
                    }
                    count += 1;
                    true
                });
                part.products += count;
            }
        }
        Self { parts }
    }
}

/// Where rows and entries of a run stand among the states of one variable.
pub(super) fn states_of(operation: &Operation, variable: VariableId) -> Offsets {
    let digit = |side: &Scope| -> Vec<u32> {
        let Some(axis) = side.axis(variable) else { return vec![0; side.entries()] };
        (0..side.entries()).map(|entry| (entry / axis.stride % axis.cardinality) as u32).collect()
    };
    Offsets { of_rows: digit(&operation.rows), of_run: digit(&operation.run) }
}
