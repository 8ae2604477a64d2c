//! The pass over a clique's table on the way down, in parts that threads share.

use std::cell::RefCell;
use std::ops::Range;

use crate::engine::cpu::helpers::Helpers;
use crate::engine::cpu::pass::kernel::{Inputs, Onto, Rows, sum_rows};
use crate::engine::cpu::pass::message::{Clique, ParentMessage, shared_part, split};
use crate::engine::cpu::tree::division::TableDivision;
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::rows::{PortWords, SumWord, SumWords};
use crate::engine::cpu::vector::{self, add};
use crate::potential::Entry;

/// Maximum number of entries of all tables onto which a clique's rows are summed (512 KiB), at
/// which a thread that works alone adds to these tables directly, because they stay in its cache.
/// It does so only if no part would have a copy of a table. Otherwise it sums a large table part
/// by part, as several threads do. If this limit is wrong, only speed changes.
const MAX_DIRECT: usize = 1 << 16;

/// Maximum number of entries of a message from a parent (256 KiB) for which there is room in a
/// thread's buffer for the whole message. If this limit is wrong, only speed and memory change.
const MAX_WHOLE_MESSAGE: usize = 1 << 15;

thread_local! {
    /// A buffer per thread for the sums of a part of a table.
    static SUMS: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
    /// Two buffers per thread. The first is for the message from a parent; only the entries that
    /// the rows of a part meet are set. The second is for the words of these rows if they are
    /// shifted.
    static MESSAGE: RefCell<(Vec<f64>, Vec<u32>)> =
        const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Fills `beliefs`, the tables of the separators to the children and of the private variables.
/// Returns the range of the message from the parent as [`ParentMessage::write`] finds it.
///
/// `ports` has two lists of words: those of all ports below, onto which the rows are summed, and
/// those of the active ports, whose entries the rows are multiplied by. See
/// [`cpu`](crate::engine::cpu) for these terms. `below` has the messages from the children and the
/// weights; the message from the parent is `None` at the root. A large table is summed in parts. If
/// several threads sum these, each part has its own copies of some of the tables in `beliefs`. The
/// copies are in `scratch`, which a thread that works alone does not use. The number of threads
/// changes neither the parts nor any bit of the sums.
pub fn distribute<T: Entry>(
    clique: Clique<'_, T>,
    ports: (&SumWords, &PortWords),
    below: &[f64],
    from_parent: Option<ParentMessage<'_>>,
    beliefs: &mut [f64],
    scratch: &mut [f64],
    helpers: Helpers<'_>,
) -> vector::Range {
    let (all, active) = ports;
    let pass = DownwardPass { clique, active, below, from_parent, helpers };
    let Node { parts_down, met_above, above, .. } = clique.node;
    let is_direct = scratch.is_empty() && !helpers.forks && beliefs.len() <= MAX_DIRECT;
    if parts_down.parts.is_empty() {
        beliefs.fill(0.0);
        let rows = 0..clique.node.row_count();
        pass.sum_rows(rows, 0..above.len(), all, beliefs)
    } else if is_direct {
        // Without copies, parts change no bit of the sums.
        beliefs.fill(0.0);
        let parts = parts_down.parts.iter().zip(met_above);
        let found = parts.map(|(rows, met)| pass.sum_rows(rows.clone(), met.clone(), all, beliefs));
        found.fold(vector::Range::default(), vector::Range::union)
    } else if helpers.forks {
        pass.sum_parts(beliefs, scratch)
    } else {
        pass.sum_parts_alone(beliefs)
    }
}

/// A pass over a table on the way down; the fields are arguments of [`distribute`].
struct DownwardPass<'a, T> {
    clique: Clique<'a, T>,
    active: &'a PortWords,
    below: &'a [f64],
    from_parent: Option<ParentMessage<'a>>,
    helpers: Helpers<'a>,
}

impl<T: Entry> DownwardPass<'_, T> {
    /// Sums all rows into `beliefs`, in parts, on several threads. `scratch` has the copies of the
    /// tables that are not divided, part by part.
    fn sum_parts(&self, beliefs: &mut [f64], scratch: &mut [f64]) -> vector::Range {
        let node = self.clique.node;
        let division = &node.parts_down;
        let copied = scratch.len() / division.parts.len();
        // By part, then by table: the entries that the part writes.
        let mut targets: Vec<Vec<&mut [f64]>> = Vec::new();
        targets.resize_with(division.parts.len(), || Vec::with_capacity(node.tables.len()));
        let mut copied_tables: Vec<&mut [f64]> = Vec::new();
        let mut copies = split_equally(scratch, copied, division.parts.len());
        for (table, division) in split(beliefs, &node.tables).into_iter().zip(&division.tables) {
            match division {
                TableDivision::Divided(ranges) => {
                    let slices = split(table, ranges).into_iter();
                    targets.iter_mut().zip(slices).for_each(|(target, slice)| target.push(slice));
                }
                TableDivision::Copied => {
                    for (target, copies) in targets.iter_mut().zip(&mut copies) {
                        let (copy, rest) = std::mem::take(copies).split_at_mut(table.len());
                        *copies = rest;
                        target.push(copy);
                    }
                    copied_tables.push(table);
                }
            }
        }
        let found = self.helpers.map(targets.into_iter().enumerate(), |(number, mut target)| {
            self.sum_part(number, |table, sums| target[table].copy_from_slice(sums))
        });
        let mut start = 0;
        for table in copied_tables {
            let end = start + table.len();
            let copies = || scratch.chunks_exact(copied).map(|copies| &copies[start..end]);
            let part = shared_part(table.len());
            let add_up = |(number, entries): (usize, &mut [f64])| {
                let range = number * part..number * part + entries.len();
                entries.fill(0.0);
                copies().for_each(|copy| add(entries, &copy[range.clone()]));
            };
            self.helpers.map(table.chunks_mut(part).enumerate(), add_up);
            start = end;
        }
        found.into_iter().fold(vector::Range::default(), vector::Range::union)
    }

    /// As [`sum_parts`](Self::sum_parts), on this thread. Instead of copying a table, adds the sums
    /// of each part to it, in the same order.
    fn sum_parts_alone(&self, beliefs: &mut [f64]) -> vector::Range {
        let Node { parts_down, tables, .. } = self.clique.node;
        let sum_part = |number: usize| {
            self.sum_part(number, |table, sums| match &parts_down.tables[table] {
                TableDivision::Divided(ranges) => {
                    beliefs[ranges[number].clone()].copy_from_slice(sums);
                }
                TableDivision::Copied if number > 0 => {
                    add(&mut beliefs[tables[table].clone()], sums);
                }
                TableDivision::Copied => beliefs[tables[table].clone()].copy_from_slice(sums),
            })
        };
        let found = (0..parts_down.parts.len()).map(sum_part);
        found.fold(vector::Range::default(), vector::Range::union)
    }

    /// Sums part `number` on this thread. `write` gets, table by table, the number of the table and
    /// the part's sums for the entries that it meets in this table.
    fn sum_part(&self, number: usize, mut write: impl FnMut(usize, &[f64])) -> vector::Range {
        let node = self.clique.node;
        let entries = |table: usize| match &node.parts_down.tables[table] {
            TableDivision::Divided(ranges) => ranges[number].clone(),
            TableDivision::Copied => node.tables[table].clone(),
        };
        let mut words = SumWords::default();
        let mut end = 0;
        for table in 0..node.tables.len() {
            let Range { start, end: next } = entries(table);
            // Not negative: the `end` entries that this part has in earlier tables lie before
            // `start`.
            let shift = (start - end) as u32;
            words.push(SumWord { word: node.word(table), shift }, node.is_vector[table]);
            end += next - start;
        }
        let (rows, met) = (&node.parts_down.parts[number], &node.met_above[number]);
        SUMS.with_borrow_mut(|sums| {
            sums.clear();
            sums.resize(end, 0.0);
            let found = self.sum_rows(rows.clone(), met.clone(), &words, sums);
            let mut rest = &**sums;
            for table in 0..node.tables.len() {
                let (own, after) = rest.split_at(entries(table).len());
                write(table, own);
                rest = after;
            }
            found
        })
    }

    /// Adds the sums of `rows` to `sums`, which `words` point into, on this thread. The rows meet
    /// the entries `met` of the message from the parent, whose range is returned.
    fn sum_rows(
        &self,
        rows: Range<usize>,
        met: Range<usize>,
        words: &SumWords,
        sums: &mut [f64],
    ) -> vector::Range {
        let node = self.clique.node;
        let messages = Inputs { table: self.below, words: self.active };
        let rows = self.clique.rows(rows, messages);
        let onto = Onto { scalars: &words.scalars, vectors: &words.vectors };
        let Some((received, port)) = self.from_parent.zip(node.port) else {
            sum_rows(rows, onto, sums);
            return vector::Range::default();
        };
        // Of a large message, only this part is in memory, so that it stays in the cache. The rows
        // must then point into the part.
        let start = if node.above.len() > MAX_WHOLE_MESSAGE { met.start } else { 0 };
        MESSAGE.with_borrow_mut(|(message, shifted)| {
            message.resize(message.len().max(met.end - start), 0.0);
            let found =
                received.write(node, met.clone(), &mut message[met.start - start..met.end - start]);
            let mut rows = Rows { from_parent: Some((port, message)), ..rows };
            if start > 0 {
                shifted.clear();
                shifted.extend_from_slice(rows.words);
                let words = shifted.chunks_exact_mut(node.stride);
                words.for_each(|row| row[port.word] -= start as u32);
                rows.words = shifted;
            }
            sum_rows(rows, onto, sums);
            found
        })
    }
}

/// `count` consecutive slices of `table` with `entries` each.
fn split_equally(table: &mut [f64], entries: usize, count: usize) -> Vec<&mut [f64]> {
    split(table, &vec![0..entries; count])
}
