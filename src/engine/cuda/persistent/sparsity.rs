//! Finds the rows of the operations that must be computed: the rows that can be nonzero for some
//! evidence, and that something needs. A row is one entry of an operation's result.
//!
//! A product is *live* if neither its table entry nor an entry of a message that it reads is zero
//! because of tables alone. A row is live if one of its products is live. A row is *needed* if its
//! operation computes a posterior or P(e), if no operation reads its message, or if a live product
//! of a computed row reads it. Exactly the rows that are live and needed are computed and stored.
//! Among them are rows that are zero only because of the evidence.
//!
//! Operations that do not depend on one another are examined in parallel, and so are the rows of an
//! operation. The result does not depend on the number of threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use super::operations::{Operation, Operations, Role};
use super::parts::{FactorParts, LiveProducts, MIN_PARALLEL, for_each_bit};
use super::tables::PotentialTable;
use crate::network::Network;

/// The sparsity of all operations.
pub(super) struct Sparsity {
    pub operations: Vec<OperationSparsity>,
}

/// The rows of one operation that are computed.
#[derive(Default)]
pub(super) struct OperationSparsity {
    /// The rows that are computed, in ascending order.
    pub rows: Vec<u32>,
    /// Number of live products of these rows.
    pub products: u64,
    /// Whether all products of all rows are live and needed.
    pub is_full: bool,
}

/// The rows of one operation that are live.
#[derive(Default)]
struct LiveRows {
    /// For each row whether it is live.
    rows: Vec<bool>,
    /// Whether all rows are live.
    are_all: bool,
    /// Whether all products of all rows are live.
    is_full: bool,
}

/// The rows of one operation that a live product of another operation reads.
struct ReadRows {
    /// For each row whether it is read. Not up to date if `are_all` is set.
    rows: Vec<AtomicBool>,
    /// Whether all rows are read.
    are_all: AtomicBool,
}

/// What all steps of the search read.
struct Search<'a> {
    network: &'a Network,
    operations: &'a Operations,
    tables: &'a [PotentialTable],
}

impl Sparsity {
    /// The sparsity of `operations`. `tables`: the table of each potential.
    pub fn new(network: &Network, operations: &Operations, tables: &[PotentialTable]) -> Self {
        let search = Search { network, operations, tables };
        let levels = levels(&operations.all);
        let live = search.live_rows(&levels);
        Self { operations: search.computed_rows(&levels, &live) }
    }
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

impl<'a> Search<'a> {
    /// The table of `operation`, if it has one with zeros.
    fn table_with_zeros(&self, operation: &Operation) -> Option<&'a PotentialTable> {
        operation.potential.map(|potential| &self.tables[potential]).filter(|table| table.has_zeros)
    }

    /// The live rows of each operation.
    fn live_rows(&self, levels: &[Vec<usize>]) -> Vec<LiveRows> {
        let mut live: Vec<LiveRows> = Vec::new();
        live.resize_with(self.operations.all.len(), LiveRows::default);
        for level in levels {
            let found: Vec<LiveRows> =
                level.par_iter().map(|&number| self.live_rows_of(number, &live)).collect();
            for (&number, found) in level.iter().zip(found) {
                live[number] = found;
            }
        }
        live
    }

    /// The live rows of operation `number`. `live` has those of the levels before.
    fn live_rows_of(&self, number: usize, live: &[LiveRows]) -> LiveRows {
        let operation = &self.operations.all[number];
        let rows = operation.rows.entries();
        let parts = self.parts_with_zeros(operation, live);
        let products = self.live_products(operation, &parts, live);
        if products.are_all() {
            return LiveRows { rows: vec![true; rows], are_all: true, is_full: true };
        }
        let is_live = |row: usize| (0..products.words()).any(|n| products.word(row as u32, n) != 0);
        let rows: Vec<bool> =
            (0..rows).into_par_iter().with_min_len(MIN_PARALLEL).map(is_live).collect();
        let are_all = !rows.contains(&false);
        LiveRows { rows, are_all, is_full: false }
    }

    /// How `operation` reads its inputs and its table, each only if it has zeros.
    fn parts_with_zeros(
        &self,
        operation: &Operation,
        live: &[LiveRows],
    ) -> Vec<Option<FactorParts>> {
        let inputs = operation.factors.iter().map(|(factor, scope)| {
            (!live[*factor].are_all).then(|| FactorParts::new(self.network, operation, scope))
        });
        let table = self.table_with_zeros(operation);
        let table = table.map(|table| FactorParts::new(self.network, operation, &table.scope));
        inputs.chain([table]).collect()
    }

    /// The live products of `operation`. `parts`: what [`Self::parts_with_zeros`] returned.
    fn live_products<'p>(
        &self,
        operation: &Operation,
        parts: &'p [Option<FactorParts>],
        live: &[LiveRows],
    ) -> LiveProducts<'p> {
        let mut products = LiveProducts::all(operation.summed.entries());
        let (table_parts, inputs) = parts.split_last().expect("the table comes last");
        for (parts, (factor, _)) in inputs.iter().zip(&operation.factors) {
            if let Some(parts) = parts {
                products.restrict(parts, |at| live[*factor].rows[at]);
            }
        }
        if let (Some(parts), Some(table)) = (table_parts, self.table_with_zeros(operation)) {
            products.restrict(parts, |at| table.values[at] != 0.0);
        }
        products
    }

    /// The computed rows of each operation, found from the last operations to the first.
    fn computed_rows(&self, levels: &[Vec<usize>], live: &[LiveRows]) -> Vec<OperationSparsity> {
        let all = &self.operations.all;
        let mut has_readers = vec![false; all.len()];
        for (factor, _) in all.iter().flat_map(|operation| &operation.factors) {
            has_readers[*factor] = true;
        }
        let unread = |live: &LiveRows| ReadRows {
            rows: live.rows.iter().map(|_| AtomicBool::new(false)).collect(),
            are_all: AtomicBool::new(false),
        };
        let read: Vec<ReadRows> = live.par_iter().map(unread).collect();
        for (number, operation) in all.iter().enumerate() {
            // A message that no operation reads is still computed, because traces show it.
            if operation.result != Role::Message || !has_readers[number] {
                read[number].are_all.store(true, Ordering::Relaxed);
            }
        }
        let mut computed: Vec<OperationSparsity> = Vec::new();
        computed.resize_with(all.len(), OperationSparsity::default);
        for level in levels.iter().rev() {
            let found: Vec<OperationSparsity> = level
                .par_iter()
                .map(|&number| self.computed_rows_of(number, live, &read))
                .collect();
            for (&number, found) in level.iter().zip(found) {
                computed[number] = found;
            }
        }
        computed
    }

    /// The computed rows of operation `number`, all of whose readers have marked what they read.
    /// Marks in `read` what the operation reads.
    fn computed_rows_of(
        &self,
        number: usize,
        live: &[LiveRows],
        read: &[ReadRows],
    ) -> OperationSparsity {
        let operation = &self.operations.all[number];
        let (LiveRows { rows: is_live, is_full, .. }, is_read) = (&live[number], &read[number]);
        let reads_all = is_read.are_all.load(Ordering::Relaxed);
        let is_computed =
            |row: usize| is_live[row] && (reads_all || is_read.rows[row].load(Ordering::Relaxed));
        let rows: Vec<u32> =
            (0..is_live.len()).filter(|&row| is_computed(row)).map(|row| row as u32).collect();
        let is_full = *is_full && rows.len() == is_live.len();
        let products = if is_full {
            for (factor, _) in &operation.factors {
                read[*factor].are_all.store(true, Ordering::Relaxed);
            }
            (rows.len() * operation.summed.entries()) as u64
        } else {
            self.mark_read(operation, &rows, live, read)
        };
        OperationSparsity { rows, products, is_full }
    }

    /// Marks in `read` the entries of messages that the live products of `rows` read. Returns the
    /// number of these products.
    fn mark_read(
        &self,
        operation: &Operation,
        rows: &[u32],
        live: &[LiveRows],
        read: &[ReadRows],
    ) -> u64 {
        let with_zeros = self.parts_with_zeros(operation, live);
        let products = self.live_products(operation, &with_zeros, live);
        let words = products.words();
        let parts = |(_, scope)| FactorParts::new(self.network, operation, scope);
        let parts: Vec<FactorParts> =
            operation.factors.iter().map(|(f, scope)| parts((*f, scope))).collect();
        // For each factor and each of its parts, one bit per product of a row: whether the product
        // is live in some computed row with this part.
        let marks: Vec<Vec<AtomicU64>> = parts
            .iter()
            .map(|parts| (0..parts.len() * words).map(|_| AtomicU64::new(0)).collect())
            .collect();
        let mark_row = |&row: &u32| -> u64 {
            let mut count = 0;
            for n in 0..words {
                let bits = products.word(row, n);
                count += u64::from(bits.count_ones());
                for (parts, marks) in parts.iter().zip(&marks) {
                    let mark = &marks[parts.part(row) * words + n];
                    // Most bits have been set before, and reading is faster.
                    if bits & !mark.load(Ordering::Relaxed) != 0 {
                        mark.fetch_or(bits, Ordering::Relaxed);
                    }
                }
            }
            count
        };
        let count = rows.par_iter().with_min_len(MIN_PARALLEL).map(mark_row).sum();
        for ((parts, marks), (factor, _)) in parts.iter().zip(&marks).zip(&operation.factors) {
            let is_read = &read[*factor].rows;
            let of_parts = marks.par_chunks(words).enumerate().with_min_len(MIN_PARALLEL);
            of_parts.for_each(|(part, marks)| {
                let offset = parts.part_offset(part);
                for (mark, entries) in marks.iter().zip(parts.entries.chunks(64)) {
                    for_each_bit(mark.load(Ordering::Relaxed), |bit| {
                        is_read[(offset + entries[bit]) as usize].store(true, Ordering::Relaxed);
                    });
                }
            });
        }
        count
    }
}
