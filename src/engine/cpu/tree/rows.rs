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
use crate::potential::{Scope, write_mapping};

/// Number of words of a row before the words of the ports.
pub const ROW_HEAD: usize = 2;

/// The port to the parent, as rows see it.
#[derive(Clone, Copy, Debug)]
pub struct ParentPort {
    /// The position in a row of the word that points into the separator's table.
    pub word: usize,
    /// The first entry of the slice of the separator's table that the loops over rows get. They
    /// subtract it from the word; zero if they get the whole table.
    pub start: usize,
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

/// A word of a row that points into a table, for a sum into memory that holds only a part of the
/// table.
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

/// Writes the rows of a full table into `words`: one for each run along the fastest group, or
/// several if a run is longer than [`MAX_ROW_ENTRIES`]. `groups` are the factor groups if the table
/// is factored, otherwise empty.
pub fn write_rows(layout: &Layout, has_parent: bool, groups: &[GroupPort], words: &mut Vec<u32>) {
    let run = layout.run_entries();
    let (runs, rows_per_run) = (layout.outer.entries(), run.div_ceil(MAX_ROW_ENTRIES));
    let mut end = 0;
    let ports = layout.ports.iter().enumerate().map(|(number, port)| {
        let is_above = number == 0 && has_parent;
        let start = if is_above { 0 } else { end };
        end += if is_above { 0 } else { port.scope.entries() };
        (&port.scope, start, port.is_vector)
    });
    let stride = ROW_HEAD + layout.ports.len() + groups.len();
    let groups = groups.iter().map(|group| (&group.scope, group.start, group.is_vector));
    let columns = ports.chain(groups);
    allocate::reserve(words, runs * rows_per_run * stride);
    words.resize(runs * rows_per_run * stride, 0);
    for part in 0..rows_per_run {
        let start = part * MAX_ROW_ENTRIES;
        let entries = (run - start).min(MAX_ROW_ENTRIES) as u32;
        let rows = words[part * stride..].chunks_mut(stride * rows_per_run);
        for (number, row) in rows.enumerate() {
            (row[0], row[1]) = ((number * run + start) as u32, entries);
        }
    }
    // Column by column: the offset of each run in the column's table.
    let mut offsets = Vec::with_capacity(runs);
    for (word, (scope, start, is_vector)) in (ROW_HEAD..).zip(columns) {
        offsets.clear();
        write_mapping(&layout.outer, scope, &mut offsets);
        for part in 0..rows_per_run {
            let start = (start + if is_vector { part * MAX_ROW_ENTRIES } else { 0 }) as u32;
            let runs = words.chunks_exact_mut(stride * rows_per_run);
            runs.zip(&offsets)
                .for_each(|(rows, offset)| rows[part * stride + word] = offset + start);
        }
    }
}
