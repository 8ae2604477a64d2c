//! Operations cut into items of work, as the records that the kernel reads.

use std::collections::HashMap;

use crate::graph::CliqueId;
use crate::network::VariableId;
use crate::potential::{Odometer, Real, Scope};
use crate::propagation::CompiledNetwork;

use super::operations::{Operation, Operations, Role};
use super::tables::PEAK;

/// As in `kernels/propagate.cu`.
const MAX_DIGITS: usize = 64;
pub(super) const HEADER: usize = 16;
pub(super) const DIGIT: usize = 5;

/// Whether, for a block of this many threads, one row with a run of this many entries and these distinct parts of factors can be an
/// item: there must be room for everything, and the record must hold its lists.
pub(super) fn is_short(run: usize, parts: impl Iterator<Item = usize>, threads: u32) -> bool {
    let mut on_stage = 0;
    let mut words = HEADER + DIGIT * MAX_DIGITS + (run | 1) + 4;
    for entries in parts {
        on_stage += entries.next_multiple_of(32);
        words += run.div_ceil(2) + 1;
    }
    let most = Room::of(threads);
    run <= most.run && on_stage <= most.stage && words + on_stage <= most.record
}

/// Words between the starts of two messages are a multiple of this, that of a sector of the cache.
const ALIGNMENT: usize = 4;

/// What a block of some threads has room for: words of a record and of the stage, rows, and
/// entries of a run.
#[derive(Clone, Copy)]
struct Room {
    record: usize,
    stage: usize,
    rows: usize,
    run: usize,
}

impl Room {
    fn of(threads: u32) -> Self {
        let threads = threads as usize;
        Self {
            record: 12 * threads,
            stage: (4 * threads).min(512),
            rows: threads,
            run: 3 * threads,
        }
    }
}

/// How large items are made.
#[derive(Clone, Copy)]
pub(super) struct Grain {
    /// Threads of a block.
    pub threads: u32,
    /// Items that a large operation is cut into at least, so that it is shared by many blocks.
    pub shares: usize,
    /// Entries below which an item is not made smaller for that.
    pub least: usize,
}

/// All items of a propagation and where everything lies.
pub(super) struct Items {
    /// One record an item, operation after operation, but for its table.
    pub records: Vec<Vec<u32>>,
    /// First item of each operation, and the end of the last.
    pub first: Vec<usize>,
    /// What each item is thought to take once it has what it waits for, in nanoseconds.
    pub costs: Vec<u32>,
    /// Words of all messages.
    pub messages: usize,
    /// Where the table of each item begins among all copies; `None` if it has none.
    pub tables: Vec<Option<usize>>,
    /// The copies of potentials that there must be: of which clique, and in which order of variables.
    pub copies: Vec<(CliqueId, Scope)>,
    pub table_entries: usize,
    /// First weight and first result of each variable, and the end of the last.
    pub first_states: Vec<usize>,
}

/// How rows or entries of a run find a factor's entries: the distinct offsets, ascending, and for
/// each row or entry the number of its own.
struct Distinct {
    offsets: Vec<u32>,
    numbers: Vec<usize>,
}

impl Distinct {
    fn of(all: &[u32]) -> Self {
        let mut offsets = all.to_vec();
        offsets.sort_unstable();
        offsets.dedup();
        let number = |offset| offsets.binary_search(offset).expect("one of them");
        let numbers = all.iter().map(number).collect();
        Self { offsets, numbers }
    }
}

impl Items {
    /// `None` if something is too large for the numbers that records are made of.
    pub fn new(compiled: &CompiledNetwork, operations: &Operations, grain: Grain) -> Option<Self> {
        let network = compiled.network();
        let entry_points = entry_points(compiled);
        let mut first_states = vec![0];
        for variable in network.variables() {
            first_states.push(first_states[first_states.len() - 1] + variable.cardinality());
        }
        let mut items = Self {
            records: Vec::new(),
            first: vec![0],
            costs: Vec::new(),
            messages: 0,
            tables: Vec::new(),
            copies: Vec::new(),
            table_entries: 0,
            first_states,
        };
        let mut outs = Vec::new();
        for operation in &operations.all {
            outs.push(match operation.result {
                Role::Posterior(variable) => items.first_states[variable.index()],
                Role::Evidence => items.states(),
                Role::Message => {
                    let start = items.messages;
                    items.messages += operation.rows.entries().next_multiple_of(ALIGNMENT);
                    start
                }
            });
        }
        let mut known = HashMap::new();
        for (index, operation) in operations.all.iter().enumerate() {
            let (rows, run) = (operation.rows.entries(), operation.run.entries());
            let digits = digits(operation, &entry_points, &items.first_states)?;
            let table = operation.clique.map(|clique| {
                let (of_rows, of_run) = (operation.rows.variables(), operation.run.variables());
                let order: Vec<VariableId> = of_rows.iter().chain(of_run).copied().collect();
                *known.entry((clique, order.clone())).or_insert_with(|| {
                    let scope = Scope::of(network, order);
                    let start = items.table_entries;
                    items.table_entries += scope.entries();
                    items.copies.push((clique, scope));
                    start
                })
            });
            let offsets = |side: &Scope, factor: &Scope| -> Vec<u32> {
                let entries = Odometer::new(side, factor).take(side.entries());
                entries.map(|entry| entry as u32).collect()
            };
            let factors = || operation.factors.iter().map(|(_, scope)| scope);
            let of_rows: Vec<_> =
                factors().map(|factor| offsets(&operation.rows, factor)).collect();
            let of_run: Vec<_> =
                factors().map(|factor| Distinct::of(&offsets(&operation.run, factor))).collect();
            let rows_each = rows_each(rows, run, &of_rows, &of_run, digits.len(), grain);
            for first_row in (0..rows).step_by(rows_each) {
                let rows = rows_each.min(rows - first_row);
                let chunk = first_row..first_row + rows;
                let of_rows = of_rows.iter().map(|offsets| Distinct::of(&offsets[chunk.clone()]));
                let of_rows: Vec<Distinct> = of_rows.collect();
                let mut of_chunks = 0_u64;
                let mut sources: Vec<u32> = Vec::new();
                let mut places: Vec<u16> = Vec::new();
                for (f, (of_rows, of_run)) in of_rows.iter().zip(&of_run).enumerate() {
                    let start = sources.len();
                    let first = word(outs[operation.factors[f].0])?;
                    for row in &of_rows.offsets {
                        sources.extend(of_run.offsets.iter().map(|entry| first + row + entry));
                    }
                    let entries = of_run.offsets.len();
                    places.extend(of_rows.numbers.iter().map(|n| (start + n * entries) as u16));
                    sources.resize(sources.len().next_multiple_of(32), u32::MAX);
                    for chunk in start / 32..sources.len() / 32 {
                        of_chunks |= (f as u64) << (4 * chunk);
                    }
                }
                let on_stage = sources.len();
                let part = HEADER + DIGIT * digits.len() + on_stage;
                places.extend(of_run.iter().flat_map(|run| &run.numbers).map(|&n| n as u16));
                let table_from = part + places.len().div_ceil(2);
                let words = (table_from + rows * (run | 1)).next_multiple_of(4);
                let mut record = vec![
                    word(rows)?,
                    word(first_row)?,
                    word(run)?,
                    word(run | 1)?,
                    word(operation.factors.len())?,
                    word(on_stage / 32)?,
                    word(words)?,
                    u32::from(operation.result != Role::Message),
                    word(outs[index] + first_row)?,
                    word(digits.len())?,
                    word(part)?,
                    word(table_from)?,
                    lanes(rows, run, grain.threads),
                    room(operation.factors.len()) as u32,
                    of_chunks as u32,
                    (of_chunks >> 32) as u32,
                ];
                debug_assert_eq!(record.len(), HEADER);
                record.extend(digits.iter().flatten());
                record.extend(sources);
                debug_assert_eq!(record.len(), part);
                record.extend(places.chunks(2).map(|pair| {
                    u32::from(pair[0]) | u32::from(pair.get(1).copied().unwrap_or(0)) << 16
                }));
                debug_assert_eq!(record.len(), table_from);
                items.records.push(record);
                items.tables.push(table.map(|start| start + first_row * run));
                items.costs.push(cost(rows * run, operation.factors.len(), on_stage));
            }
            items.first.push(items.records.len());
        }
        word(items.messages)?;
        word(items.record_words())?;
        Some(items)
    }

    /// The records of `list` with their tables, one after another.
    pub fn in_order(&self, list: &[usize], tables: &[f32], records: &mut Vec<u32>) {
        for &item in list {
            let record = &self.records[item];
            let (rows, run, stride) = (record[0] as usize, record[2] as usize, record[3] as usize);
            let end = records.len() + record[6] as usize;
            records.extend(record);
            for row in 0..rows {
                match self.tables[item] {
                    Some(start) => {
                        let row = &tables[start + row * run..][..run];
                        records.extend(row.iter().map(|value| value.to_bits()));
                    }
                    None => records.extend(std::iter::repeat_n(1.0_f32.scale(PEAK).to_bits(), run)),
                }
                records.extend(std::iter::repeat_n(0, stride - run));
            }
            records.resize(end, 0);
        }
    }

    /// Words of all records with their tables.
    pub fn record_words(&self) -> usize {
        self.records.iter().map(|record| record[6] as usize).sum()
    }

    pub fn len(&self) -> usize {
        self.costs.len()
    }

    /// States of all variables.
    pub fn states(&self) -> usize {
        self.first_states[self.first_states.len() - 1]
    }
}

fn word(value: usize) -> Option<u32> {
    u32::try_from(value).ok()
}

/// Nanoseconds of an item with this many entries and words of stage, by measurement.
fn cost(entries: usize, factors: usize, on_stage: usize) -> u32 {
    (500 + entries * (2 + factors) / 4 + on_stage) as u32
}

/// Threads that share a row: a power of two, as many as there are for it, and for its entries; more
/// than a warp only for a row alone.
fn lanes(rows: usize, run: usize, threads: u32) -> u32 {
    let to_fill = 1 << (threads as usize / rows.min(threads as usize)).ilog2();
    let lanes = to_fill.min(run.next_power_of_two()) as u32;
    if rows > 1 { lanes.min(32) } else { lanes }
}

/// The exponent of the largest entry of each message on the stage: as much as the product of all
/// can bear, sums of up to 2^12 of them included, so that room is left below.
fn room(factors: usize) -> i32 {
    if factors == 0 { 0 } else { (126 - 12 - PEAK) / factors as i32 - 1 }
}

/// Rows of an item.
fn rows_each(
    rows: usize,
    run: usize,
    of_rows: &[Vec<u32>],
    of_run: &[Distinct],
    digits: usize,
    grain: Grain,
) -> usize {
    let room = Room::of(grain.threads);
    let wanted =
        (rows * run).div_ceil(grain.shares).clamp(grain.least.min(room.record), room.record);
    let mut each = (wanted / run).clamp(1, rows.min(room.rows));
    let fits = |each: usize| {
        (0..rows).step_by(each).all(|first| {
            let rows = first..rows.min(first + each);
            let mut on_stage = 0;
            let places = ((each + run) * of_rows.len()).div_ceil(2);
            let words = HEADER + DIGIT * digits + places + each * (run | 1) + 3;
            for (of_rows, of_run) in of_rows.iter().zip(of_run) {
                let mut distinct = of_rows[rows.clone()].to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                let (rows, entries) = (distinct.len(), of_run.offsets.len());
                on_stage += (rows * entries).next_multiple_of(32);
            }
            on_stage <= room.stage && words + on_stage <= room.record
        })
    };
    while each > 1 && !fits(each) {
        each = each.div_ceil(2);
    }
    each
}

/// The variables of an operation as the kernel finds their states. Likelihoods count in the clique
/// in which they are entered.
fn digits(
    operation: &Operation,
    entry_points: &[CliqueId],
    first_states: &[usize],
) -> Option<Vec<[u32; DIGIT]>> {
    let mut digits = Vec::new();
    for (scope, of_rows) in [(&operation.rows, 1), (&operation.run, 0)] {
        for &variable in scope.variables() {
            let axis = scope.axis(variable)?;
            let counts = operation.clique == Some(entry_points[variable.index()]);
            digits.push([
                variable.index() as u32,
                word(first_states[variable.index()])?,
                word(axis.stride)?,
                word(axis.cardinality)?,
                of_rows + 2 * u32::from(counts),
            ]);
        }
    }
    (digits.len() <= MAX_DIGITS).then_some(digits)
}

/// For each variable the clique in which likelihoods of it are entered.
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
