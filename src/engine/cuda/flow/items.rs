//! Operations cut into items of work, as the records that the kernel reads.

use rayon::prelude::*;

use crate::graph::CliqueId;
use crate::network::{Network, VariableId};
use crate::potential::{Real, Scope};
use crate::propagation::CompiledNetwork;

use super::operations::{Operation, Operations, Role};
use super::support::{Offsets, Part, Support, states_of, table};
use super::tables::PEAK;

/// As in `kernels/propagate.cu`.
pub(super) const THREADS: usize = 128;
pub(super) const HEADER: usize = 12;
pub(super) const STAGE: usize = 6 * THREADS;
const RECORD: usize = 2560;
pub(super) const NO_SOURCE: u32 = (1 << 29) - 1;
pub(super) const NO_STATE: u32 = 0xffff;

/// Words between the starts of two messages are a multiple of this, that of a sector of the cache.
const ALIGNMENT: usize = 4;

/// Lanes that share a row, at most.
const LANES: usize = 32;

/// Whether one row with a run of this many entries and these distinct parts of factors can be an item.
pub(super) fn is_short(run: usize, parts: impl Iterator<Item = usize>) -> bool {
    let (mut on_stage, mut factors) = (0, 0);
    for entries in parts {
        on_stage += entries.next_multiple_of(32);
        factors += 1;
    }
    // In pairs, of messages and of findings apart.
    let pairs = (factors + 2) / 2;
    on_stage <= STAGE && run.next_multiple_of(LANES) * (1 + pairs) + on_stage + 256 <= RECORD
}

/// How large items are made.
#[derive(Clone, Copy)]
pub(super) struct Grain {
    /// Items that a large operation is cut into at least, so that it is shared by many blocks.
    pub shares: usize,
    /// Entries below which an item is not made smaller for that, and those that it has at most.
    pub entries: (usize, usize),
}

/// All items of a propagation and where everything lies.
pub(super) struct Items {
    /// One record an item, operation after operation.
    pub records: Vec<Vec<u32>>,
    /// First item of each operation, and the end of the last.
    pub first: Vec<usize>,
    /// What each item is thought to take once it has what it waits for, in nanoseconds.
    pub costs: Vec<u32>,
    /// Words of all messages.
    pub messages: usize,
    /// Results that are zero whatever the evidence, and not computed.
    pub zeros: Vec<bool>,
}

/// Where results and findings of each variable begin among all, and the end of the last.
pub(super) fn first_states(compiled: &CompiledNetwork) -> Vec<usize> {
    let mut first_states = vec![0];
    for variable in compiled.network().variables() {
        first_states.push(first_states[first_states.len() - 1] + variable.cardinality());
    }
    first_states
}

/// The copies of potentials that there must be: of which clique, and in which order of variables; and
/// where that of each operation begins.
pub(super) fn copies(
    compiled: &CompiledNetwork,
    operations: &Operations,
) -> (Vec<(CliqueId, Scope)>, Vec<Option<usize>>) {
    let mut known = std::collections::HashMap::new();
    let (mut copies, mut entries) = (Vec::new(), 0);
    let start = |operation: &Operation| {
        let clique = operation.clique?;
        let (of_rows, of_run) = (operation.rows.variables(), operation.run.variables());
        let order: Vec<VariableId> = of_rows.iter().chain(of_run).copied().collect();
        Some(*known.entry((clique, order.clone())).or_insert_with(|| {
            let scope = Scope::of(compiled.network(), order);
            let start = entries;
            entries += scope.entries();
            copies.push((clique, scope));
            start
        }))
    };
    let starts = operations.all.iter().map(start).collect();
    (copies, starts)
}

/// Where the rows of an operation are written, by row: the place of each among all messages or all results.
const NOWHERE: u32 = u32::MAX;

/// One operation with all that its records are made of.
struct Source<'a> {
    operation: &'a Operation,
    part: &'a Part,
    table: Option<&'a [f32]>,
    /// For each factor, where its rows are.
    factors: Vec<&'a [u32]>,
    /// For each finding, its first weight and the offsets of states.
    findings: Vec<(usize, Offsets)>,
    places: &'a [u32],
    grain: Grain,
    /// First state of each variable.
    first_states: &'a [usize],
}

impl Items {
    /// `None` if something is too large for the numbers that records are made of.
    pub fn new(
        compiled: &CompiledNetwork,
        operations: &Operations,
        grain: Grain,
        starts: &[Option<usize>],
        tables: &[f32],
    ) -> Option<Self> {
        let support = Support::new(operations, starts, tables);
        let first_states = first_states(compiled);
        let states = *first_states.last().unwrap_or(&0);
        let mut zeros = vec![true; states + 1];
        let mut messages = 0;
        let mut places = Vec::new();
        for (operation, part) in operations.all.iter().zip(&support.parts) {
            let mut of_row = vec![NOWHERE; operation.rows.entries()];
            let result = match operation.result {
                Role::Posterior(variable) => Some(first_states[variable.index()]),
                Role::Evidence => Some(states),
                Role::Message => None,
            };
            for (n, &row) in part.rows.iter().enumerate() {
                let place = match result {
                    Some(first) => {
                        zeros[first + row as usize] = false;
                        first + row as usize
                    }
                    None => messages + n,
                };
                of_row[row as usize] = word(place)?;
            }
            if result.is_none() {
                messages += part.rows.len().next_multiple_of(ALIGNMENT);
            }
            places.push(of_row);
        }
        if messages >= NO_SOURCE as usize || states >= NO_SOURCE as usize {
            return None;
        }
        let of_operation = |index: usize| -> Vec<(Vec<u32>, u32)> {
            let operation = &operations.all[index];
            let findings = operation.findings.iter();
            let findings = findings.map(|&v| (first_states[v.index()], states_of(operation, v)));
            let source = Source {
                operation,
                part: &support.parts[index],
                table: table(starts[index], operation, tables),
                factors: operation.factors.iter().map(|(f, _)| places[*f].as_slice()).collect(),
                findings: findings.collect(),
                places: &places[index],
                grain,
                first_states: &first_states,
            };
            source.items()
        };
        let made: Vec<_> = (0..operations.all.len()).into_par_iter().map(of_operation).collect();
        let mut items = Self { records: vec![], first: vec![0], costs: vec![], messages, zeros };
        for made in made {
            for (record, cost) in made {
                items.records.push(record);
                items.costs.push(cost);
            }
            items.first.push(items.records.len());
        }
        word(items.record_words())?;
        Some(items)
    }

    /// Words of all records.
    pub fn record_words(&self) -> usize {
        self.records.iter().map(Vec::len).sum()
    }

    pub fn len(&self) -> usize {
        self.costs.len()
    }
}

fn word(value: usize) -> Option<u32> {
    u32::try_from(value).ok()
}

/// Threads that share a row, steps that each of them takes, threads that take part, and passes over them.
#[derive(Clone, Copy, Debug)]
struct Layout {
    lanes: usize,
    steps: usize,
    threads: usize,
    passes: usize,
}

impl Layout {
    /// For rows of up to `run` entries, `rows` of them in all, and about `steps` entries a thread.
    fn new(run: usize, rows: usize, steps: usize) -> Self {
        let run = run.max(1);
        let mut lanes = run.div_ceil(steps).next_power_of_two().min(LANES);
        while lanes < LANES && lanes < run && 2 * lanes * rows <= THREADS {
            lanes *= 2;
        }
        let passes = (rows * lanes).div_ceil(THREADS);
        let threads = if passes == 1 { (rows * lanes).next_multiple_of(32) } else { THREADS };
        Self { lanes, steps: run.div_ceil(lanes), threads, passes }
    }

    /// Rows of a pass.
    fn rows(self) -> usize {
        self.threads / self.lanes
    }

    /// Where entry `i` of a row stands in the stream, whose steps take `width` words of each thread.
    fn at(self, row: usize, i: usize, width: usize) -> usize {
        let (pass, row) = (row / self.rows(), row % self.rows());
        let step = pass * self.steps + i / self.lanes;
        step * width * self.threads + row * self.lanes + i % self.lanes
    }

    /// Rows of all passes.
    fn slots(self) -> usize {
        self.passes * self.rows()
    }

    /// Words of a record but for those of the stage and the list, of which `of_slot` are of each row
    /// and `of_step` of each step of a thread.
    fn words(self, of_slot: usize, of_step: usize) -> usize {
        let stream = self.passes * self.steps * self.threads * of_step;
        HEADER + (self.slots() * of_slot).next_multiple_of(4) + stream
    }
}

/// Where something stands among distinct things, by number; forgotten all at once.
struct Numbers {
    of: Vec<(u32, u32)>,
    round: u32,
    count: usize,
}

impl Numbers {
    fn new(entries: usize) -> Self {
        Self { of: vec![(0, 0); entries], round: 0, count: 0 }
    }

    fn clear(&mut self) {
        self.round += 1;
        self.count = 0;
    }

    /// The number of `entry`, and whether it is new.
    fn number(&mut self, entry: usize) -> (usize, bool) {
        let of = &mut self.of[entry];
        let is_new = of.0 != self.round;
        if is_new {
            *of = (self.round, self.count as u32);
            self.count += 1;
        }
        (of.1 as usize, is_new)
    }
}

/// The entries of runs and their distinct places in each factor and finding.
struct Run {
    entries: Vec<u32>,
    /// By factor and finding: number of each entry, and the distinct offsets.
    numbers: Vec<Vec<u32>>,
    offsets: Vec<Vec<u32>>,
}

impl Source<'_> {
    fn live(&self, f: usize, at: usize) -> bool {
        self.factors[f][at] != NOWHERE
    }

    fn run_entries(&self) -> usize {
        self.operation.run.entries()
    }

    /// Offsets in messages, then in findings.
    fn offsets(&self) -> impl Iterator<Item = &Offsets> {
        self.part.factors.iter().chain(self.findings.iter().map(|(_, offsets)| offsets))
    }

    fn products(&self, row: usize, found: impl FnMut(usize)) {
        let mut found = found;
        if self.part.is_full {
            (0..self.run_entries()).for_each(found);
        } else {
            let live = |f: usize, at: usize| self.live(f, at);
            self.part.products(row, self.run_entries(), self.table, live, |entry| {
                found(entry);
                true
            });
        }
    }

    fn items(&self) -> Vec<(Vec<u32>, u32)> {
        if self.part.rows.is_empty() {
            return vec![];
        }
        let run = self.run();
        let (rows, width) = (self.part.rows.len(), run.entries.len());
        let pairs = self.pairs();
        let pairs = pairs.0 + pairs.1;
        // Words that are read, and instructions, of both forms.
        let dense = (rows * width) as u64 * (4 + pairs as u64);
        let sparse = self.part.products * (5 + 3 * pairs as u64) * 9 / 8;
        let one_row: usize =
            run.offsets.iter().map(|distinct| distinct.len().next_multiple_of(32)).sum();
        let words = width.next_power_of_two().max(32) * (1 + pairs) + one_row + 256;
        if dense > sparse || one_row > STAGE || words > RECORD {
            return self.sparse();
        }
        // Words that are read from messages, and the price of an item.
        let price = |items: &Vec<(Vec<u32>, u32)>| -> u32 {
            items.iter().map(|(record, _)| 32 * (record[1] & 0xffff) + 400).sum()
        };
        let natural = self.dense(&run, None, self.part.rows.clone());
        match self.tiled(&run) {
            None => natural,
            Some((tiles, rows)) => {
                let tiled = self.dense(&run, Some(tiles), rows);
                if price(&tiled) < price(&natural) { tiled } else { natural }
            }
        }
    }

    /// The entries of runs that are live in some row.
    fn run(&self) -> Run {
        let width = self.run_entries();
        let mut used = vec![self.part.is_full; width];
        if !self.part.is_full {
            for &row in &self.part.rows {
                self.products(row as usize, |entry| used[entry] = true);
            }
        }
        let entries: Vec<u32> = (0..width as u32).filter(|&i| used[i as usize]).collect();
        let (mut numbers, mut offsets) = (Vec::new(), Vec::new());
        for at in self.offsets() {
            let all: Vec<u32> = entries.iter().map(|&i| at.of_run[i as usize]).collect();
            let mut distinct = all.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let number = |offset| distinct.binary_search(offset).expect("one of them") as u32;
            numbers.push(all.iter().map(number).collect());
            offsets.push(distinct);
        }
        Run { entries, numbers, offsets }
    }

    /// Entries that an item is to have.
    fn wanted(&self, entries: usize) -> usize {
        let (least, most) = self.grain.entries;
        entries.div_ceil(self.grain.shares).clamp(least, most)
    }

    /// Pairs of messages and of findings.
    fn pairs(&self) -> (usize, usize) {
        (self.factors.len().div_ceil(2), self.findings.len().div_ceil(2))
    }

    /// The rows tile by tile, and for each the number of its tile; `None` if there is no good tile.
    ///
    /// The last variables of rows are in the same factors, and so are those before them: a tile takes
    /// some states of both.
    fn tiled(&self, run: &Run) -> Option<(Vec<usize>, Vec<u32>)> {
        let wanted = self.wanted(self.part.rows.len() * run.entries.len());
        let holds = |variable: VariableId| -> Vec<bool> {
            let factors = self.operation.factors.iter().map(|(_, scope)| scope.contains(variable));
            factors.chain(self.operation.findings.iter().map(|v| *v == variable)).collect()
        };
        let scope = &self.operation.rows;
        let mut groups: Vec<(Vec<bool>, usize)> = Vec::new();
        for (&variable, &states) in scope.variables().iter().zip(scope.cardinalities()).rev() {
            let holds = holds(variable);
            let count = groups.len();
            match groups.last_mut() {
                Some((same, size)) if *same == holds => *size *= states,
                _ if count == 2 => break,
                _ => groups.push((holds, states)),
            }
        }
        let [(of_b, b), (of_a, a)] = groups.as_slice() else { return None };
        let words = |ta: usize, tb: usize| -> usize {
            let widths = run.offsets.iter().map(Vec::len).enumerate();
            let words = widths.map(|(f, width)| {
                let rows = if of_a[f] { ta } else { 1 } * if of_b[f] { tb } else { 1 };
                (width * rows).next_multiple_of(32)
            });
            words.sum()
        };
        let width = run.entries.len();
        let (mut best, mut least) = (None, f64::INFINITY);
        for tb in 1..=*b {
            for ta in 1..=*a {
                let (rows, words) = (ta * tb, words(ta, tb));
                let is_too_large = rows * width > wanted.max(width)
                    || words > STAGE
                    || HEADER + rows * (width + width / 8 + 4) + words + 4 * width + 128 > RECORD;
                if is_too_large {
                    break;
                }
                // Words that are read from messages, and the price of an item, by entry.
                let price = (words + 400) as f64 / (rows * width) as f64;
                if price < least {
                    (best, least) = (Some((ta, tb)), price);
                }
            }
        }
        let (ta, tb) = best.filter(|&(ta, tb)| ta > 1 && tb < *b)?;
        let key = |row: u32| {
            let (rest, of_b) = (row as usize / b, row as usize % b);
            (rest / a, rest % a / ta, of_b / tb)
        };
        let mut rows: Vec<_> = self.part.rows.iter().map(|&row| (key(row), row)).collect();
        rows.sort_unstable();
        let mut tile = 0;
        let mut tiles = Vec::with_capacity(rows.len());
        for n in 0..rows.len() {
            tile += usize::from(n > 0 && rows[n].0 != rows[n - 1].0);
            tiles.push(tile);
        }
        Some((tiles, rows.into_iter().map(|(_, row)| row).collect()))
    }

    /// Items of rows with all entries of runs.
    fn dense(&self, run: &Run, tiles: Option<Vec<usize>>, all: Vec<u32>) -> Vec<(Vec<u32>, u32)> {
        let width = run.entries.len();
        let wanted = self.wanted(all.len() * width);
        let steps = (wanted / THREADS).max(1);
        let (pairs, of_findings) = self.pairs();
        let all_pairs = pairs + of_findings;
        let messages = self.factors.len();
        let mut numbers: Vec<Numbers> =
            self.offsets().map(|at| Numbers::new(most(&at.of_rows))).collect();
        let mut made = Vec::new();
        let mut next = 0;
        while next < all.len() {
            let most = Layout::new(width, all.len() - next, steps);
            let passes = (wanted / (THREADS * most.steps)).max(1);
            let first = next;
            numbers.iter_mut().for_each(Numbers::clear);
            let mut distinct_rows: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
            let mut of_rows: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
            let is_near = |next: usize| match &tiles {
                Some(tiles) => tiles[next] == tiles[first],
                None => next - first < passes * most.rows(),
            };
            while next < all.len() && is_near(next) {
                let row = all[next] as usize;
                let mut chunks = [0, 0];
                let mut added = Vec::new();
                for (f, at) in self.offsets().enumerate() {
                    let (number, is_new) = numbers[f].number(at.of_rows[row] as usize);
                    added.push((number, is_new));
                    let count = numbers[f].count * run.offsets[f].len();
                    chunks[usize::from(f >= messages)] +=
                        if f >= messages { count } else { count.next_multiple_of(32) };
                }
                let on_stage = chunks[0] + chunks[1].next_multiple_of(32);
                let layout = Layout::new(width, next - first + 1, steps);
                let list = layout.lanes * layout.steps * all_pairs + 4;
                let words = layout.words(1 + all_pairs, 1) + list + on_stage + 4;
                if next > first && (on_stage > STAGE || words > RECORD) {
                    break;
                }
                for (f, at) in self.offsets().enumerate() {
                    of_rows[f].push(added[f].0 as u32);
                    if added[f].1 {
                        distinct_rows[f].push(at.of_rows[row]);
                    }
                }
                next += 1;
            }
            for (distinct, of_rows) in distinct_rows.iter_mut().zip(&mut of_rows) {
                let mut order: Vec<usize> = (0..distinct.len()).collect();
                order.sort_unstable_by_key(|&n| distinct[n]);
                let mut number = vec![0; order.len()];
                order.iter().enumerate().for_each(|(to, &from)| number[from] = to as u32);
                of_rows.iter_mut().for_each(|n| *n = number[*n as usize]);
                distinct.sort_unstable();
            }
            // Distances on the stage between rows and between entries of a run.
            let mut strides = Vec::new();
            let mut stage = Stage::default();
            for (f, rows) in distinct_rows.iter().enumerate() {
                stage.begin(f, messages);
                let entries = &run.offsets[f];
                let by_row: Vec<u32> = rows
                    .iter()
                    .flat_map(|row| {
                        entries.iter().map(move |entry| self.source(f, (row + entry) as usize))
                    })
                    .collect();
                let by_entry: Vec<u32> = entries
                    .iter()
                    .flat_map(|entry| {
                        rows.iter().map(move |row| self.source(f, (row + entry) as usize))
                    })
                    .collect();
                // Whichever reads fewer sectors of the cache.
                if sectors(&by_entry) < sectors(&by_row) {
                    strides.push((1, rows.len()));
                    by_entry.into_iter().for_each(|source| stage.push(source));
                } else {
                    strides.push((entries.len(), 1));
                    by_row.into_iter().for_each(|source| stage.push(source));
                }
            }
            stage.end(messages);
            let rows = &all[first..next];
            let layout = Layout::new(width, rows.len(), steps);
            let slot = |n: usize| if n < pairs { 2 * n } else { messages + 2 * (n - pairs) };
            let end = |n: usize| if n < pairs { messages } else { numbers.len() };
            let pair = |n: usize, place: &dyn Fn(usize) -> usize| -> u32 {
                let of = |f: usize| if f < end(n) { place(f) as u32 } else { 0 };
                of(slot(n)) | of(slot(n) + 1) << 16
            };
            let mut list = vec![0; (layout.lanes * layout.steps * all_pairs).next_multiple_of(4)];
            for i in 0..width {
                for n in 0..all_pairs {
                    list[i * all_pairs + n] =
                        pair(n, &|f| 4 * run.numbers[f][i] as usize * strides[f].1);
                }
            }
            let mut of_slots: Vec<u32> =
                rows.iter().map(|&row| self.places[row as usize]).collect();
            of_slots.resize(layout.slots(), NOWHERE);
            for n in 0..all_pairs {
                let place = |slot: usize| {
                    pair(n, &|f| {
                        let number = of_rows[f][slot] as usize;
                        4 * (1 + stage.starts[f] + number * strides[f].0)
                    })
                };
                of_slots.extend((0..rows.len()).map(place));
                of_slots.resize((2 + n) * layout.slots(), 0);
            }
            let mut stream = vec![0; layout.passes * layout.steps * layout.threads];
            for (slot, &row) in rows.iter().enumerate() {
                for (i, &entry) in run.entries.iter().enumerate() {
                    stream[layout.at(slot, i, 1)] = self.value(row, entry);
                }
            }
            made.push(self.record(rows, &stage, layout, Some(list), of_slots, stream));
        }
        made
    }

    /// Items of rows that list their products.
    fn sparse(&self) -> Vec<(Vec<u32>, u32)> {
        let all = &self.part.rows;
        let wanted = self.wanted(self.part.products as usize);
        let steps = (wanted / THREADS).max(1);
        let (pairs, of_findings) = self.pairs();
        let width = 1 + pairs + of_findings;
        let messages = self.factors.len();
        let sizes = self.operation.factors.iter().map(|(_, scope)| scope.entries());
        let sizes =
            sizes.chain(self.findings.iter().map(|(_, at)| most(&at.of_rows) + most(&at.of_run)));
        let mut numbers: Vec<Numbers> = sizes.map(Numbers::new).collect();
        let mut made = Vec::new();
        let mut next = 0;
        while next < all.len() {
            let first = next;
            numbers.iter_mut().for_each(Numbers::clear);
            let mut distinct: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
            let mut entries: Vec<(Vec<u32>, Vec<Vec<u32>>)> = Vec::new();
            let (mut longest, mut total) = (0, 0);
            while next < all.len() && next - first < 4 * THREADS {
                let row = all[next] as usize;
                let before: Vec<usize> = distinct.iter().map(Vec::len).collect();
                let mut of_row: (Vec<u32>, Vec<Vec<u32>>) = (vec![], vec![vec![]; numbers.len()]);
                self.products(row, |entry| {
                    of_row.0.push(entry as u32);
                    for (f, at) in self.offsets().enumerate() {
                        let at = at.at(row, entry);
                        let (number, is_new) = numbers[f].number(at);
                        if is_new {
                            distinct[f].push(at as u32);
                        }
                        of_row.1[f].push(number as u32);
                    }
                });
                let of_messages = distinct[..messages].iter();
                let words: usize = of_messages.map(|d| d.len().next_multiple_of(32)).sum();
                let of_findings: usize = distinct[messages..].iter().map(Vec::len).sum();
                let padded = longest.max(of_row.0.len()) * (entries.len() + 1);
                let on_stage = words + of_findings.next_multiple_of(32);
                let layout = Layout::new(longest.max(of_row.0.len()), next - first + 1, steps);
                let is_full = on_stage > STAGE
                    || layout.words(1, width) + on_stage + 4 > RECORD
                    || padded > wanted.max(2 * (total + of_row.0.len()))
                    || total + of_row.0.len() > wanted;
                if next > first && is_full {
                    for (distinct, before) in distinct.iter_mut().zip(before) {
                        distinct.truncate(before);
                    }
                    break;
                }
                longest = longest.max(of_row.0.len());
                total += of_row.0.len();
                entries.push(of_row);
                next += 1;
            }
            for (f, distinct) in distinct.iter_mut().enumerate() {
                let mut order: Vec<usize> = (0..distinct.len()).collect();
                order.sort_unstable_by_key(|&n| distinct[n]);
                let mut number = vec![0; order.len()];
                order.iter().enumerate().for_each(|(to, &from)| number[from] = to as u32);
                for of_row in &mut entries {
                    of_row.1[f].iter_mut().for_each(|n| *n = number[*n as usize]);
                }
                distinct.sort_unstable();
            }
            let mut stage = Stage::default();
            for (f, distinct) in distinct.iter().enumerate() {
                stage.begin(f, messages);
                for &at in distinct {
                    stage.push(self.source(f, at as usize));
                }
            }
            stage.end(messages);
            let rows = &all[first..next];
            let layout = Layout::new(longest, rows.len(), steps);
            let mut of_slots: Vec<u32> =
                rows.iter().map(|&row| self.places[row as usize]).collect();
            of_slots.resize(layout.slots(), NOWHERE);
            let mut stream = vec![0; layout.passes * layout.steps * width * layout.threads];
            for (slot, (&row, of_row)) in rows.iter().zip(&entries).enumerate() {
                for (i, &entry) in of_row.0.iter().enumerate() {
                    let at = layout.at(slot, i, width);
                    stream[at] = self.value(row, entry);
                    for n in 0..pairs + of_findings {
                        let (slot, end) = match n.checked_sub(pairs) {
                            None => (2 * n, messages),
                            Some(n) => (messages + 2 * n, numbers.len()),
                        };
                        let place = |f: usize| match f < end {
                            true => 4 * (1 + stage.starts[f] as u32 + of_row.1[f][i]),
                            false => 0,
                        };
                        stream[at + (1 + n) * layout.threads] = place(slot) | place(slot + 1) << 16;
                    }
                }
            }
            made.push(self.record(rows, &stage, layout, None, of_slots, stream));
        }
        made
    }

    /// The word that is put on the stage for entry `at` of factor or finding `f`.
    fn source(&self, f: usize, at: usize) -> u32 {
        match f.checked_sub(self.factors.len()) {
            None => match self.factors[f][at] {
                NOWHERE => NO_SOURCE | (f as u32) << 29,
                place => place | (f as u32) << 29,
            },
            Some(f) => (self.findings[f].0 + at) as u32,
        }
    }

    /// The bits of the table's entry.
    fn value(&self, row: u32, entry: u32) -> u32 {
        let at = row as usize * self.run_entries() + entry as usize;
        self.table.map_or(1.0_f32.scale(PEAK), |table| table[at]).to_bits()
    }

    fn record(
        &self,
        rows: &[u32],
        stage: &Stage,
        layout: Layout,
        list: Option<Vec<u32>>,
        of_slots: Vec<u32>,
        stream: Vec<u32>,
    ) -> (Vec<u32>, u32) {
        let pairs = self.pairs();
        let factors = self.factors.len();
        let room = if factors == 0 { 0 } else { (126 - 12 - PEAK) / factors as i32 - 1 };
        let list_words = list.as_ref().map_or(0, Vec::len);
        let shift = layout.lanes.ilog2();
        let mut record = vec![
            0,
            (stage.messages / 32 + (((stage.words.len() - stage.messages) / 32) << 16)) as u32,
            (layout.steps | layout.threads << 16) as u32,
            layout.passes as u32 | shift << 16 | u32::from(list.is_none()) << 24,
            (pairs.0 | pairs.1 << 8 | factors << 16) as u32,
            list_words as u32,
            u32::from(self.operation.result != Role::Message),
            room as u32,
        ];
        let mut fixed = self.fixed(rows);
        fixed.resize(8, NO_STATE);
        record.extend(fixed.chunks(2).map(|pair| pair[0] | pair[1] << 16));
        debug_assert_eq!(record.len(), HEADER);
        record.extend(&stage.words);
        record.extend(list.unwrap_or_default());
        record.extend(of_slots);
        record.resize(record.len().next_multiple_of(4), 0);
        record.extend(stream);
        record.resize(record.len().next_multiple_of(4), 0);
        debug_assert!(record.len() <= RECORD);
        record[0] = record.len() as u32;
        let steps = (layout.passes * layout.steps) as u32;
        let cost =
            250 + steps * (12 + 6 * (pairs.0 + pairs.1) as u32) + stage.words.len() as u32 / 8;
        (record, cost)
    }

    /// The states that are the same in all `rows`, as numbers among all states: up to eight of them.
    fn fixed(&self, rows: &[u32]) -> Vec<u32> {
        let mut fixed = Vec::new();
        for &variable in self.operation.rows.variables() {
            let Some(axis) = self.operation.rows.axis(variable) else { continue };
            let mut states = rows.iter().map(|&row| row as usize / axis.stride % axis.cardinality);
            let first = states.next().unwrap_or(0);
            let state = self.first_states[variable.index()] + first;
            let is_known = axis.cardinality > 1 && state < NO_STATE as usize && fixed.len() < 8;
            if is_known && states.all(|state| state == first) {
                fixed.push(state as u32);
            }
        }
        fixed
    }
}

/// Sectors of the cache that warps read for these words of the stage.
fn sectors(sources: &[u32]) -> usize {
    let of_warp = |sources: &[u32]| {
        sources
            .windows(2)
            .filter(|pair| pair[0] / ALIGNMENT as u32 != pair[1] / ALIGNMENT as u32)
            .count()
    };
    sources.chunks(32).map(of_warp).sum()
}

/// One more than the largest of `offsets`.
fn most(offsets: &[u32]) -> usize {
    offsets.iter().max().map_or(1, |&most| most as usize + 1)
}

/// The words that are put on the stage: those of each message from a multiple of 32 on, then those of findings.
#[derive(Default)]
struct Stage {
    words: Vec<u32>,
    starts: Vec<usize>,
    messages: usize,
    factor: usize,
}

impl Stage {
    fn begin(&mut self, f: usize, messages: usize) {
        if f <= messages {
            self.pad();
            self.messages = self.words.len();
        }
        self.factor = if f < messages { f } else { 0 };
        self.starts.push(self.words.len());
    }

    fn push(&mut self, source: u32) {
        self.words.push(source);
    }

    fn pad(&mut self) {
        let padded = self.words.len().next_multiple_of(32);
        self.words.resize(padded, NO_SOURCE | (self.factor as u32) << 29);
    }

    fn end(&mut self, messages: usize) {
        self.pad();
        if self.starts.len() <= messages {
            self.messages = self.words.len();
        }
    }
}

/// What an operation needs if nothing of it is zero: words of records, and items. With some to spare,
/// because what is zero makes rows share less.
pub(super) struct Needs {
    pub words: u64,
    pub items: u64,
}

/// See [`Needs`].
pub(super) fn needs(operation: &Operation, network: &Network, grain: Grain) -> Needs {
    let (rows, run) = (operation.rows.entries(), operation.run.entries());
    let of_findings = operation.findings.iter().map(|&variable| Scope::of(network, [variable]));
    let scopes = operation.factors.iter().map(|(_, scope)| scope.clone());
    let scopes: Vec<Scope> = scopes.chain(of_findings).collect();
    let pairs = scopes.len() / 2 + 1;
    // Of each factor the entries that a row needs, and the consecutive rows that need the same.
    let shared = |scope: &Scope| {
        let states = |variables: &mut dyn Iterator<Item = &VariableId>| -> usize {
            variables.map(|&variable| network[variable].cardinality()).product()
        };
        let width = states(&mut operation.run.variables().iter().filter(|v| scope.contains(**v)));
        let of_rows = operation.rows.variables().iter().rev();
        (width, states(&mut of_rows.take_while(|v| !scope.contains(**v))))
    };
    let shared: Vec<(usize, usize)> = scopes.iter().map(shared).collect();
    let on_stage = |rows: usize| -> usize {
        let words = shared.iter().map(|&(width, same)| rows.min(rows / same + 2) * width);
        words.map(|words| words.next_multiple_of(32)).sum()
    };
    let words = |rows: usize| {
        let of_rows = (rows + 8) * (1 + pairs) + (run + 32) * pairs;
        HEADER + on_stage(rows) + of_rows + rows * run * 9 / 8 + 64
    };
    let (least, most) = grain.entries;
    let wanted = (rows * run).div_ceil(grain.shares).clamp(least, most);
    let mut each = (wanted / run.max(1)).clamp(1, rows.max(1));
    while each > 1 && (on_stage(each) > STAGE || words(each) > RECORD) {
        each = each * 3 / 4;
    }
    let items = rows.div_ceil(each);
    Needs {
        words: (items * words(each).min(RECORD) * 5 / 4) as u64,
        items: items as u64 * 5 / 4 + 1,
    }
}
