//! Rows: which entries of a clique's table belong to which entries of the tables at its ports.
//!
//! A row is a run of consecutive entries of the clique's table along the fastest group. In the
//! table at a port, a row *meets* the entries for the same states. A row is described by `stride`
//! words of 32 bits each:
//!
//! | word | meaning |
//! |---|---|
//! | 0 | the row's first entry in the clique's table |
//! | 1 | number of entries of the row |
//! | [`ROW_HEAD`] + p | the first entry that the row meets in the table of port p |
//! | [`ROW_HEAD`] + ports + g | the same for factor group g, if the clique's table is factored |
//!
//! In the code, `word` is a position in this list, so `row[word]` is an offset in a table. A
//! factored table is the product of the tables of its
//! [factor groups](crate::engine::cpu::tables::factored).
//!
//! Offsets at the port to the parent count from the start of the separator's table. Offsets at all
//! other ports count from the start of the clique's part of the region below, in which the tables
//! of these ports are consecutive. At a port that holds the fastest group
//! ([`is_vector`](super::layout::PortLayout::is_vector)), a row meets one entry for each of its own
//! entries; at any other port, a row meets a single entry.
//!
//! Example: a clique over A, B, C (2 x 3 x 4 states, C fastest) shares A, B with its parent and B,
//! C with its only child. The clique's table has 6 rows of 4 entries. The row A=1, B=2 is
//! `[20, 4, 5, 8]`: its entries are 20 to 23, and it meets entry 5 of the separator to the parent
//! and entries 8 to 11 of the separator to the child.

use crate::allocate;
use crate::engine::cpu::tree::layout::{Layout, MAX_ROW_ENTRIES};
use crate::potential::Scope;

/// Number of words of a row before the words of the ports.
pub const ROW_HEAD: usize = 2;

/// The port to the parent, as rows see it.
#[derive(Clone, Copy, Debug)]
pub struct ParentPort {
    /// The position in a row of the word that points into the separator's table.
    pub word: usize,
    /// Whether the port holds the fastest group.
    pub is_vector: bool,
}

/// The positions of some words in a row. They are in two lists, because a row meets one entry of
/// some tables and several entries of others.
#[derive(Debug, Default)]
pub struct PortWords {
    /// Words that point at one number for the whole row, because the table does not hold the
    /// fastest group.
    pub scalars: Vec<u32>,
    /// Words that point at the first of several numbers, one for each entry of the row, because the
    /// table holds the fastest group.
    pub vectors: Vec<u32>,
}

impl PortWords {
    /// Removes all words but keeps the memory.
    pub fn clear(&mut self) {
        self.scalars.clear();
        self.vectors.clear();
    }

    /// Adds the word at position `word`.
    pub fn push(&mut self, word: u32, is_vector: bool) {
        if is_vector { &mut self.vectors } else { &mut self.scalars }.push(word);
    }
}

/// A word of a row that points into a table, for memory that may hold only a part of the table: the
/// entries onto which one thread sums.
#[derive(Clone, Copy, Debug)]
pub struct SumWord {
    /// The position of the word in a row.
    pub word: u32,
    /// What to subtract from the word to get a position in this memory.
    pub shift: u32,
}

impl SumWord {
    /// The first position in this memory that `row` meets.
    #[inline(always)]
    pub fn at(self, row: &[u32]) -> usize {
        (row[self.word as usize] - self.shift) as usize
    }
}

/// The words of a row that point into the tables onto which the row is summed.
#[derive(Debug, Default)]
pub struct SumWords {
    /// As [`PortWords::scalars`].
    pub scalars: Vec<SumWord>,
    /// As [`PortWords::vectors`].
    pub vectors: Vec<SumWord>,
}

impl SumWords {
    /// Adds a word.
    pub fn push(&mut self, word: SumWord, is_vector: bool) {
        if is_vector { &mut self.vectors } else { &mut self.scalars }.push(word);
    }
}

/// The table of one factor group of a factored table, as rows see it.
pub struct GroupPort {
    /// The table's variables in index order.
    pub scope: Scope,
    /// The position of the table's first entry among the tables of all factor groups.
    pub start: usize,
    /// Whether the table holds the fastest group of variables.
    pub is_vector: bool,
}

/// Maximum number of rows that the inner loop of [`add_steps`] writes. With several rows, this loop
/// is long enough for vector instructions. If the maximum is wrong, only speed changes.
const ROWS_AT_ONCE: usize = 8;

/// Writes the rows of a full table into `words`: one for each run along the fastest group, or
/// several if a run is longer than [`MAX_ROW_ENTRIES`]. `groups` are the factor groups if the table
/// is factored, otherwise empty.
pub fn write_rows(layout: &Layout, has_parent: bool, groups: &[GroupPort], words: &mut Vec<u32>) {
    let run = layout.run_entries();
    let rows_per_run = run.div_ceil(MAX_ROW_ENTRIES);
    let mut end = 0;
    let ports = layout.ports.iter().enumerate().map(|(number, port)| {
        let is_above = number == 0 && has_parent;
        let start = if is_above { 0 } else { end };
        end += if is_above { 0 } else { port.scope.entries() };
        (&port.scope, start, port.is_vector)
    });
    let groups = groups.iter().map(|group| (&group.scope, group.start, group.is_vector));
    let columns: Vec<(&Scope, usize, bool)> = ports.chain(groups).collect();
    let stride = ROW_HEAD + columns.len();
    let total = layout.row_count() * stride;
    allocate::reserve(words, total);
    words.resize(total, 0);
    for (part, row) in words.chunks_exact_mut(stride).take(rows_per_run).enumerate() {
        let start = part * MAX_ROW_ENTRIES;
        (row[0], row[1]) = (start as u32, (run - start).min(MAX_ROW_ENTRIES) as u32);
        for (word, &(_, first, is_vector)) in row[ROW_HEAD..].iter_mut().zip(&columns) {
            *word = (first + if is_vector { start } else { 0 }) as u32;
        }
    }
    // The rows of a variable's next state are the rows of the state before, with a constant added
    // to each word: its step.
    let (mut rows, mut entries) = (rows_per_run, run);
    let mut steps = Vec::new();
    let outer = layout.outer.variables().iter().zip(layout.outer.cardinalities());
    for (&variable, &states) in outer.rev() {
        let step = |&(scope, ..): &(&Scope, usize, bool)| {
            scope.axis(variable).map_or(0, |axis| axis.stride as u32)
        };
        steps.clear();
        steps.extend([entries as u32, 0]);
        steps.extend(columns.iter().map(step));
        for _ in 1..rows.min(ROWS_AT_ONCE) {
            steps.extend_from_within(..stride);
        }
        let count = rows * stride;
        for state in 1..states {
            let (before, after) = words[(state - 1) * count..].split_at_mut(count);
            add_steps(before, &steps, &mut after[..count]);
        }
        (rows, entries) = (rows * states, entries * states);
    }
}

/// Writes the words of `before` into `after`, each increased by its step. `steps` is repeated along
/// the words.
fn add_steps(before: &[u32], steps: &[u32], after: &mut [u32]) {
    let chunks = before.chunks(steps.len()).zip(after.chunks_mut(steps.len()));
    for (before, after) in chunks {
        let sums = before.iter().zip(steps).map(|(word, step)| word + step);
        after.iter_mut().zip(sums).for_each(|(word, sum)| *word = sum);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::lowering::Optimisations;
    use crate::network::{Network, Variable, VariableId};
    use crate::potential::IndexMapping;

    #[test]
    fn every_row_points_at_the_entries_with_its_states() {
        let variables = [3, 2, 40, 1, 4, 1_500].into_iter().enumerate().map(|(v, states)| {
            Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
        });
        let network = Network::markov("test", variables.collect(), vec![]).expect("it is valid");
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mut divided_runs = 0;
        for round in 0..60 {
            let mut order: Vec<VariableId> = network.ids().collect();
            order.sort_by_cached_key(|_| rng.random_range(0..1_000));
            order.truncate(1 + round % 5);
            let mut some = || order.iter().copied().filter(|_| rng.random_bool(0.5)).collect();
            let ports: [Vec<VariableId>; 3] = std::array::from_fn(|_| some());
            let ports = ports.each_ref().map(Vec::as_slice);
            let layout = Layout::new(&network, &order, &ports, true, Optimisations::default());
            let scope = Scope::of(&network, some());
            let is_vector = layout.inner.variables().iter().any(|v| scope.contains(*v));
            // The slow variables of a factor group need not be in the order of the clique.
            let slow = scope.variables().iter().copied();
            let slow = slow.filter(|v| layout.outer.contains(*v));
            let fast = layout.inner.variables().iter().copied().filter(|_| is_vector);
            let scope = Scope::of(&network, slow.chain(fast));
            let group = GroupPort { scope, start: 1_000, is_vector };
            let mut words = Vec::new();
            write_rows(&layout, true, std::slice::from_ref(&group), &mut words);
            let stride = ROW_HEAD + 4;
            assert_eq!(words.len(), layout.row_count() * stride);
            let all = layout.outer.variables().iter().chain(layout.inner.variables());
            let all = Scope::of(&network, all.copied());
            let (second, third) = (&layout.ports[1].scope, &layout.ports[2].scope);
            let starts = [0, 0, second.entries(), group.start];
            let scopes = [&layout.ports[0].scope, second, third, &group.scope];
            let mappings = scopes.map(|scope| IndexMapping::new(&all, scope));
            let mut next = 0;
            for row in words.chunks(stride) {
                let (first, length) = (row[0] as usize, row[1] as usize);
                assert_eq!(first, next);
                next += length;
                assert!(length <= MAX_ROW_ENTRIES);
                divided_runs += usize::from(length < layout.run_entries());
                for (word, (mapping, start)) in mappings.iter().zip(starts).enumerate() {
                    let expected = mapping.entries()[first] as usize + start;
                    assert_eq!(row[ROW_HEAD + word] as usize, expected, "word {word} of {row:?}");
                }
            }
            assert_eq!(next, layout.entries());
        }
        assert!(divided_runs > 0, "no run was divided");
    }
}
