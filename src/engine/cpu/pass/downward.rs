//! The pass over a clique's table on the way down, in parts that threads share.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// The ports below a clique, as a pass on the way down sees them. See [`cpu`](crate::engine::cpu)
/// for these terms.
#[derive(Clone, Copy)]
pub struct DownwardPorts<'a> {
    /// The words of the ports onto which the rows are summed.
    pub onto: &'a SumWords,
    /// By port: whether it is left out of `onto`, because the message to the child is stored. Empty
    /// if no port is.
    pub is_left_out: &'a [bool],
    /// The words of the active ports, whose entries the rows are multiplied by.
    pub active: &'a PortWords,
}

impl DownwardPorts<'_> {
    /// Whether the rows are summed onto the table at port number `port`.
    pub fn has(self, port: usize) -> bool {
        self.is_left_out.get(port) != Some(&true)
    }
}

/// Where the message from the parent comes from.
#[derive(Clone, Copy)]
pub enum FromParent<'a> {
    /// It is computed.
    Computed(ParentMessage<'a>),
    /// An earlier propagation stored it, in the order of the clique.
    Stored(&'a [f64]),
}

/// What a pass on the way down writes.
pub struct Outputs<'a> {
    /// The tables of the separators to the children and of the private variables. Those that are
    /// left out of the ports have arbitrary entries afterwards.
    pub beliefs: &'a mut [f64],
    /// Copies of tables, if several threads share the work.
    pub scratch: &'a mut [f64],
    /// Where to store the message from the parent, in the order of the clique.
    pub stored: Option<&'a mut [f64]>,
}

/// What a pass on the way down finds about a message from a parent that it computes.
pub struct Received {
    /// The range of the message as [`ParentMessage::write`] finds it.
    pub range: vector::Range,
    /// Whether the stored message is zero where the findings at the separator are not. There, the
    /// message to the parent may be zero, and then the message from the parent is not known.
    pub has_zeros: bool,
}

/// Sums the rows of a clique onto the tables at the ports below.
///
/// `below` has the messages from the children and the weights; the message from the parent is
/// `None` at the root. A large table is summed in parts. If several threads sum these, each part
/// has its own copies of some of the tables. A thread that works alone does not use the memory for
/// copies. The number of threads changes neither the parts nor any bit of the sums.
pub fn distribute<T: Entry>(
    clique: Clique<'_, T>,
    ports: DownwardPorts<'_>,
    below: &[f64],
    from_parent: Option<FromParent<'_>>,
    outputs: Outputs<'_>,
    helpers: Helpers<'_>,
) -> Received {
    let Outputs { beliefs, scratch, mut stored } = outputs;
    let has_zeros = AtomicBool::new(false);
    let pass = DownwardPass { clique, ports, below, from_parent, has_zeros, helpers };
    let Node { parts_down, met_above, above, .. } = clique.node;
    let is_direct = scratch.is_empty() && !helpers.forks && beliefs.len() <= MAX_DIRECT;
    let range = if parts_down.parts.is_empty() {
        beliefs.fill(0.0);
        let rows = 0..clique.node.row_count();
        pass.sum_rows(rows, 0..above.len(), ports.onto, beliefs, stored)
    } else if is_direct {
        // Without copies, parts change no bit of the sums.
        beliefs.fill(0.0);
        let parts = parts_down.parts.iter().zip(met_above);
        let found = parts.map(|(rows, met)| {
            let stored = stored.as_mut().map(|stored| &mut stored[met.clone()]);
            pass.sum_rows(rows.clone(), met.clone(), ports.onto, beliefs, stored)
        });
        found.fold(vector::Range::default(), vector::Range::union)
    } else if helpers.forks {
        pass.sum_parts(beliefs, scratch, stored)
    } else {
        pass.sum_parts_alone(beliefs, stored)
    };
    Received { range, has_zeros: pass.has_zeros.into_inner() }
}

/// A pass over a table on the way down.
struct DownwardPass<'a, T> {
    clique: Clique<'a, T>,
    ports: DownwardPorts<'a>,
    below: &'a [f64],
    from_parent: Option<FromParent<'a>>,
    /// See [`Received::has_zeros`].
    has_zeros: AtomicBool,
    helpers: Helpers<'a>,
}

impl<T: Entry> DownwardPass<'_, T> {
    /// Sums all rows into `beliefs`, in parts, on several threads. `scratch` has the copies of the
    /// tables that are not divided, part by part.
    fn sum_parts(
        &self,
        beliefs: &mut [f64],
        scratch: &mut [f64],
        stored: Option<&mut [f64]>,
    ) -> vector::Range {
        let node = self.clique.node;
        let division = &node.parts_down;
        let copied = scratch.len() / division.parts.len();
        // By part, then by table: the entries that the part writes.
        let mut targets: Vec<Vec<&mut [f64]>> = Vec::new();
        targets.resize_with(division.parts.len(), || Vec::with_capacity(node.tables.len()));
        // Each table that is copied, and whether its sums are wanted.
        let mut copied_tables: Vec<(&mut [f64], bool)> = Vec::new();
        let mut copies = split_equally(scratch, copied, division.parts.len());
        let tables = split(beliefs, &node.tables).into_iter().zip(&division.tables);
        for (number, (table, division)) in tables.enumerate() {
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
                    copied_tables.push((table, self.ports.has(number)));
                }
            }
        }
        // By part: where it stores its entries of the message from the parent.
        let mut stored: Vec<Option<&mut [f64]>> = match stored {
            Some(stored) => split(stored, &node.met_above).into_iter().map(Some).collect(),
            None => Vec::new(),
        };
        stored.resize_with(division.parts.len(), || None);
        let parts = targets.into_iter().zip(stored).enumerate();
        let found = self.helpers.map(parts, |(number, (mut target, stored))| {
            self.sum_part(number, stored, |table, sums| target[table].copy_from_slice(sums))
        });
        let mut start = 0;
        for (table, is_wanted) in copied_tables {
            let all = start..start + table.len();
            start = all.end;
            if !is_wanted {
                continue;
            }
            let copies = || scratch.chunks_exact(copied).map(|copies| &copies[all.clone()]);
            let part = shared_part(table.len());
            let add_up = |(number, entries): (usize, &mut [f64])| {
                let range = number * part..number * part + entries.len();
                entries.fill(0.0);
                copies().for_each(|copy| add(entries, &copy[range.clone()]));
            };
            self.helpers.map(table.chunks_mut(part).enumerate(), add_up);
        }
        found.into_iter().fold(vector::Range::default(), vector::Range::union)
    }

    /// As [`sum_parts`](Self::sum_parts), on this thread. Instead of copying a table, adds the sums
    /// of each part to it, in the same order.
    fn sum_parts_alone(
        &self,
        beliefs: &mut [f64],
        mut stored: Option<&mut [f64]>,
    ) -> vector::Range {
        let Node { parts_down, tables, met_above, .. } = self.clique.node;
        let sum_part = |number: usize| {
            let stored = stored.as_mut().map(|stored| &mut stored[met_above[number].clone()]);
            self.sum_part(number, stored, |table, sums| match &parts_down.tables[table] {
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
    /// the part's sums for the entries that it meets in this table. `stored` is as for
    /// [`sum_rows`](Self::sum_rows).
    fn sum_part(
        &self,
        number: usize,
        stored: Option<&mut [f64]>,
        mut write: impl FnMut(usize, &[f64]),
    ) -> vector::Range {
        let node = self.clique.node;
        let entries = |table: usize| match &node.parts_down.tables[table] {
            TableDivision::Divided(ranges) => ranges[number].clone(),
            TableDivision::Copied => node.tables[table].clone(),
        };
        let mut words = SumWords::default();
        let mut end = 0;
        let tables = || (0..node.tables.len()).filter(|&table| self.ports.has(table));
        for table in tables() {
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
            let found = self.sum_rows(rows.clone(), met.clone(), &words, sums, stored);
            let mut rest = &**sums;
            for table in tables() {
                let (own, after) = rest.split_at(entries(table).len());
                write(table, own);
                rest = after;
            }
            found
        })
    }

    /// Adds the sums of `rows` to `sums`, which `words` point into, on this thread. The rows meet
    /// the entries `met` of the message from the parent, whose range is returned. If this message
    /// is to be stored, these entries are written into `stored`.
    fn sum_rows(
        &self,
        rows: Range<usize>,
        met: Range<usize>,
        words: &SumWords,
        sums: &mut [f64],
        stored: Option<&mut [f64]>,
    ) -> vector::Range {
        let node = self.clique.node;
        let messages = Inputs { table: self.below, words: self.ports.active };
        let rows = self.clique.rows(rows, messages);
        let onto = Onto { scalars: &words.scalars, vectors: &words.vectors };
        let (received, port) = match self.from_parent.zip(node.port) {
            None => {
                sum_rows(rows, onto, sums);
                return vector::Range::default();
            }
            Some((FromParent::Stored(message), port)) => {
                sum_rows(Rows { from_parent: Some((port, message)), ..rows }, onto, sums);
                return vector::Range::default();
            }
            Some((FromParent::Computed(received), port)) => (received, port),
        };
        // Of a large message, the buffer holds only this part, so that it stays in the cache.
        // `stored` has only this part too. The rows must then point into the part.
        let is_stored = stored.is_some();
        let is_part = is_stored || node.above.len() > MAX_WHOLE_MESSAGE;
        let start = if is_part { met.start } else { 0 };
        MESSAGE.with_borrow_mut(|(buffer, shifted)| {
            let message = stored.unwrap_or_else(|| {
                buffer.resize(buffer.len().max(met.end - start), 0.0);
                buffer
            });
            let part = &mut message[met.start - start..met.end - start];
            let found = received.write(node, met.clone(), part);
            if is_stored && has_zeros(part, received.mask.map(|mask| &mask[met])) {
                self.has_zeros.store(true, Ordering::Relaxed);
            }
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

/// Whether `message` is zero anywhere where `mask` is not.
fn has_zeros(message: &[f64], mask: Option<&[f64]>) -> bool {
    match mask {
        None => message.iter().fold(false, |found, entry| found | (*entry == 0.0)),
        Some(mask) => {
            let entries = message.iter().zip(mask);
            entries.fold(false, |found, (entry, mask)| found | ((*entry == 0.0) & (*mask != 0.0)))
        }
    }
}

/// `count` consecutive slices of `table` with `entries` each.
fn split_equally(table: &mut [f64], entries: usize, count: usize) -> Vec<&mut [f64]> {
    split(table, &vec![0..entries; count])
}
