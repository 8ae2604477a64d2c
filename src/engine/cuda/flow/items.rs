//! Operations cut into items of work, as the records that the kernel reads.

use crate::graph::CliqueId;
use crate::network::VariableId;
use crate::potential::{Odometer, Scope};
use crate::propagation::CompiledNetwork;

use super::operations::{Operation, Operations, Role};

/// As in `kernels/propagate.cu`.
pub(super) const THREADS: u32 = 256;
const OFFSETS: usize = 6144;
pub(super) const HEADER: usize = 24;
pub(super) const MAX_RECORD: usize = 256;

/// Items that a large operation is cut into at least, so that it is shared by many blocks.
const SHARES: usize = 128;

/// Items of a network there should not be many more than, all together.
const ENOUGH: usize = 24_576;

/// Entries of the smallest items that are made of large operations, at least and at most.
const SMALL: (usize, usize) = (512, 2048);

/// Entries of an item, and of a row in it, at most.
const LARGEST: usize = 16_384;
const LONGEST: usize = 4096;

/// Floats between the starts of two messages are a multiple of this: blocks that write one
/// message share no cache line with those that read another.
const ALIGNMENT: usize = 32;

/// All items of a propagation and where everything lies.
pub(super) struct Items {
    /// Words of a record.
    pub record_words: usize,
    /// One record an item, operation after operation.
    pub records: Vec<u32>,
    /// First item of each operation, and the end of the last.
    pub first: Vec<usize>,
    /// What each item is thought to take, in nanoseconds.
    pub costs: Vec<u32>,
    /// Entries of all messages and of all partial sums.
    pub messages: usize,
    pub partials: usize,
    /// The copies of potentials that there must be: of which clique, and in which order of variables.
    pub copies: Vec<(CliqueId, Scope)>,
    pub table_entries: usize,
    /// Offsets of rows and runs of all operations.
    pub offsets: usize,
    /// Posteriors of all variables.
    pub states: usize,
}

impl Items {
    /// `None` if something is too large for the numbers that records are made of.
    pub fn new(compiled: &CompiledNetwork, operations: &Operations) -> Option<Self> {
        let network = compiled.network();
        let entry_points = entry_points(compiled);
        let mut first_weights = vec![0_u32];
        for variable in network.variables() {
            first_weights.push(first_weights.last()? + u32::try_from(variable.cardinality()).ok()?);
        }
        let states = *first_weights.last()? as usize;
        let mut items = Self {
            record_words: 0,
            records: Vec::new(),
            first: vec![0],
            costs: Vec::new(),
            messages: 0,
            partials: 0,
            copies: Vec::new(),
            table_entries: 0,
            offsets: 0,
            states,
        };
        let mut outs = Vec::new();
        for operation in &operations.all {
            outs.push(match operation.result {
                Role::Posterior(variable) => first_weights[variable.index()] as usize,
                Role::Evidence => states,
                Role::Up | Role::Down => {
                    let start = items.messages;
                    items.messages += operation.rows.entries().next_multiple_of(ALIGNMENT);
                    start
                }
            });
        }
        u32::try_from(items.messages).ok()?;
        let entries = operations.all.iter().map(|op| op.rows.entries() * op.run.entries());
        let least = (entries.sum::<usize>() / ENOUGH).clamp(SMALL.0, SMALL.1);
        let mut known = std::collections::HashMap::new();
        let mut drafts: Vec<Vec<u32>> = Vec::new();
        // For each operation its first slot, and how many it has.
        let mut slots: Vec<(u32, u32)> = Vec::new();
        for (index, operation) in operations.all.iter().enumerate() {
            let findings: Vec<[u32; 5]> = entry_points
                .iter()
                .enumerate()
                .filter(|(_, clique)| operation.clique == Some(**clique))
                .map(|(v, _)| finding(operation, VariableId::new(v), first_weights[v]))
                .collect();
            let cut = Cut::of(operation, least);
            let (rows, run) = (operation.rows.variables(), operation.run.variables());
            let table = operation.clique.map(|clique| {
                let order: Vec<VariableId> = match cut.by_rows {
                    true => rows.iter().chain(run).copied().collect(),
                    false => run.iter().chain(rows).copied().collect(),
                };
                *known.entry((clique, order.clone())).or_insert_with(|| {
                    let scope = Scope::of(network, order);
                    let start = items.table_entries;
                    items.table_entries += scope.entries();
                    items.copies.push((clique, scope));
                    start
                })
            });
            let row_offsets = items.offsets;
            let run_offsets = row_offsets + operation.factors.len() * cut.all_rows;
            items.offsets = run_offsets + operation.factors.len() * cut.run;
            let (row_stride, run_stride) = cut.strides();
            let count = cut.items();
            let first_slot = word(drafts.len())?;
            slots.push((first_slot, if cut.parts > 1 { 1 } else { word(count)? }));
            let tail = tail(operation, &operations.all, &outs, &slots, &findings);
            for item in 0..count {
                let (first_row, rows) = cut.rows(item);
                let (first_entry, entries) = cut.run(item);
                let table = table.map_or(u64::MAX, |start| {
                    (start + first_row * row_stride + first_entry * run_stride) as u64
                });
                let part = item % cut.parts;
                let mut record = vec![
                    word(rows)?,
                    word(first_row)?,
                    word(entries)?,
                    word(first_entry)?,
                    table as u32,
                    (table >> 32) as u32,
                    word(outs[index] + first_row)?,
                    word(index)?,
                    word(operation.factors.len())?,
                    word(run_stride)?,
                    word(row_stride)?,
                    word(findings.len())?,
                    lanes(rows, entries),
                    word(cut.parts)?,
                    word(items.partials + first_row * cut.parts + part)?,
                    word(count)?,
                    word(cut.all_rows)?,
                    match operation.result {
                        Role::Up | Role::Down => 0,
                        Role::Posterior(_) => 1,
                        Role::Evidence => 2,
                    },
                    word(items.partials)?,
                    word(outs[index])?,
                    if cut.parts > 1 { first_slot } else { first_slot + word(item)? },
                    word(row_offsets)?,
                    word(run_offsets)?,
                    word(cut.run)?,
                ];
                debug_assert_eq!(record.len(), HEADER);
                record.extend(&tail);
                items.record_words = items.record_words.max(record.len());
                drafts.push(record);
                let work = rows * entries * (1 + operation.factors.len());
                items.costs.push(2500 + word(work / 3)?);
            }
            if cut.parts > 1 {
                items.partials += cut.all_rows * cut.parts;
            }
            items.first.push(drafts.len());
        }
        if items.record_words > MAX_RECORD {
            return None;
        }
        items.records = drafts
            .into_iter()
            .flat_map(|mut record| {
                record.resize(items.record_words, 0);
                record
            })
            .collect();
        Some(items)
    }

    pub fn record(&self, item: usize) -> &[u32] {
        &self.records[item * self.record_words..][..self.record_words]
    }

    pub fn len(&self) -> usize {
        self.costs.len()
    }
}

fn word(value: usize) -> Option<u32> {
    u32::try_from(value).ok()
}

/// How an operation is cut: either into groups of whole rows, or each row into parts.
struct Cut {
    all_rows: usize,
    run: usize,
    rows_each: usize,
    parts: usize,
    part: usize,
    /// Whether a row's entries lie together in the table; else the first entries of all rows do,
    /// then the second ones, which is better for threads that have a row each.
    by_rows: bool,
}

impl Cut {
    /// `least` is the number of entries below which an item is not worth a block.
    fn of(operation: &Operation, least: usize) -> Self {
        let (all_rows, run) = (operation.rows.entries(), operation.run.entries());
        let offsets = OFFSETS / (operation.factors.len() + 1);
        let parts = run.div_ceil((offsets - 1).min(LONGEST));
        let wanted = (all_rows * run).div_ceil(SHARES).clamp(least, LARGEST);
        let fitting = (wanted / run).min(offsets.saturating_sub(run));
        let rows_each = if parts > 1 { 1 } else { fitting.clamp(1, all_rows) };
        let by_rows = parts > 1 || lanes(rows_each, run) > 1;
        Self { all_rows, run, rows_each, parts, part: run.div_ceil(parts), by_rows }
    }

    fn items(&self) -> usize {
        self.all_rows.div_ceil(self.rows_each) * self.parts
    }

    /// Strides of rows and of runs in the table.
    fn strides(&self) -> (usize, usize) {
        if self.by_rows { (self.run, 1) } else { (1, self.all_rows) }
    }

    /// First row and number of rows of an item.
    fn rows(&self, item: usize) -> (usize, usize) {
        let first = item / self.parts * self.rows_each;
        (first, self.rows_each.min(self.all_rows - first))
    }

    /// First entry and number of entries of a row in an item.
    fn run(&self, item: usize) -> (usize, usize) {
        let first = item % self.parts * self.part;
        (first, self.part.min(self.run - first))
    }
}

/// Threads that share a row: a power of two of at most 32, or all.
fn lanes(rows: usize, entries: usize) -> u32 {
    let threads = THREADS as usize;
    if rows == 1 && entries > 64 {
        return THREADS;
    }
    let to_fill = 1 << (threads / rows.min(threads)).ilog2();
    to_fill.min(entries.next_power_of_two()).min(32) as u32
}

/// The part of the records that all items of an operation share.
fn tail(
    operation: &Operation,
    all: &[Operation],
    outs: &[usize],
    slots: &[(u32, u32)],
    findings: &[[u32; 5]],
) -> Vec<u32> {
    let mut words = Vec::new();
    for (producer, scope) in &operation.factors {
        debug_assert_eq!(scope, &all[*producer].rows, "a message is indexed as it is written");
        let (first_slot, count) = slots[*producer];
        words.extend([outs[*producer] as u32, first_slot, count]);
    }
    words.extend(findings.iter().flatten());
    words
}

/// Where each row and each entry of a run stands in each factor, for all operations; by factor,
/// then entry.
pub(super) fn offsets(operations: &Operations) -> Vec<u32> {
    let mut offsets = Vec::new();
    for operation in &operations.all {
        for side in [&operation.rows, &operation.run] {
            for (_, factor) in &operation.factors {
                let entries = Odometer::new(side, factor).take(side.entries());
                offsets.extend(entries.map(|entry| entry as u32));
            }
        }
    }
    offsets
}

/// Where `variable` stands in the rows or runs of `operation`.
fn finding(operation: &Operation, variable: VariableId, first_weight: u32) -> [u32; 5] {
    let (axis, of_rows) = match operation.rows.axis(variable) {
        Some(axis) => (axis, 1),
        None => (operation.run.axis(variable).expect("a clique's variable"), 0),
    };
    [variable.index() as u32, first_weight, axis.stride as u32, axis.cardinality as u32, of_rows]
}

/// For each variable the clique in which findings on it are entered.
fn entry_points(compiled: &CompiledNetwork) -> Vec<CliqueId> {
    let (network, tree) = (compiled.network(), compiled.tree());
    let mut by_size: Vec<CliqueId> = tree.clique_ids().collect();
    by_size.sort_by_key(|&clique| std::cmp::Reverse((tree[clique].entries, clique)));
    let mut points = vec![tree.root(); network.variables().len()];
    for clique in by_size {
        for variable in &tree[clique].variables {
            points[variable.index()] = clique;
        }
    }
    points
}
