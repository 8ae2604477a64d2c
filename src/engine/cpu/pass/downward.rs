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
    /// By port: whether it is left out of `onto`, because the child's message from its parent is
    /// kept. Empty if no port is.
    pub is_left_out: &'a [bool],
    /// The words of the active ports, whose entries the rows are multiplied by.
    pub active: &'a PortWords,
}

impl DownwardPorts<'_> {
    /// Whether the rows are summed onto the table at port number `port`.
    pub fn has(self, port: usize) -> bool {
        !self.is_left_out.get(port).is_some_and(|is_left_out| *is_left_out)
    }
}

/// The message from the parent.
pub enum FromParent<'a> {
    /// It is computed, and also kept if there is memory for it.
    Computed(ParentMessage<'a>, Option<KeptMessage<'a>>),
    /// It was kept, in the order of the clique.
    Kept(&'a [f64]),
}

/// Memory to keep a message from a parent in.
pub struct KeptMessage<'a> {
    /// The memory, in the order of the clique.
    pub memory: &'a mut [f64],
    /// The findings that are entered at the separator.
    pub mask: Option<&'a [f64]>,
}

/// What a pass on the way down found about the message from the parent while it computed it.
pub struct Received {
    /// The range of the message as [`ParentMessage::write`] finds it.
    pub range: vector::Range,
    /// Whether the kept message is zero where the findings at the separator are not. If so, the
    /// belief by which the message was divided may have been zero, and the message is not known.
    pub has_zeros: bool,
}

/// Fills `beliefs`, the tables of the separators to the children and of the private variables,
/// apart from those that are left out of `ports`.
///
/// `below` has the messages from the children and the
/// weights; the message from the parent is `None` at the root. A large table is summed in parts. If
/// several threads sum these, each part has its own copies of some of the tables in `beliefs`. The
/// copies are in `scratch`, which a thread that works alone does not use. The number of threads
/// changes neither the parts nor any bit of the sums.
pub fn distribute<T: Entry>(
    clique: Clique<'_, T>,
    ports: DownwardPorts<'_>,
    below: &[f64],
    from_parent: Option<FromParent<'_>>,
    beliefs: &mut [f64],
    scratch: &mut [f64],
    helpers: Helpers<'_>,
) -> Received {
    let (received, kept, mut memory) = match from_parent {
        None => (None, None, None),
        Some(FromParent::Computed(message, memory)) => (Some(message), None, memory),
        Some(FromParent::Kept(kept)) => (None, Some(kept), None),
    };
    let mask = memory.as_ref().and_then(|memory| memory.mask);
    let has_zeros = AtomicBool::new(false);
    let pass = DownwardPass { clique, ports, below, received, kept, mask, has_zeros, helpers };
    let Node { parts_down, met_above, above, .. } = clique.node;
    let is_direct = scratch.is_empty() && !helpers.forks && beliefs.len() <= MAX_DIRECT;
    let mut keep = memory.as_mut().map(|memory| &mut *memory.memory);
    let range = if parts_down.parts.is_empty() {
        beliefs.fill(0.0);
        let rows = 0..clique.node.row_count();
        pass.sum_rows(rows, 0..above.len(), ports.onto, beliefs, keep)
    } else if is_direct {
        // Without copies, parts change no bit of the sums.
        beliefs.fill(0.0);
        let parts = parts_down.parts.iter().zip(met_above);
        let found = parts.map(|(rows, met)| {
            let keep = keep.as_mut().map(|keep| &mut keep[met.clone()]);
            pass.sum_rows(rows.clone(), met.clone(), ports.onto, beliefs, keep)
        });
        found.fold(vector::Range::default(), vector::Range::union)
    } else if helpers.forks {
        pass.sum_parts(beliefs, scratch, keep)
    } else {
        pass.sum_parts_alone(beliefs, keep)
    };
    Received { range, has_zeros: pass.has_zeros.into_inner() }
}

/// A pass over a table on the way down; the fields are arguments of [`distribute`].
struct DownwardPass<'a, T> {
    clique: Clique<'a, T>,
    ports: DownwardPorts<'a>,
    below: &'a [f64],
    /// The message from the parent if it is computed.
    received: Option<ParentMessage<'a>>,
    /// The message from the parent if it was kept.
    kept: Option<&'a [f64]>,
    /// The findings at the separator above, if the message is to be kept.
    mask: Option<&'a [f64]>,
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
        keep: Option<&mut [f64]>,
    ) -> vector::Range {
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
        // By part: where it keeps its entries of the message from the parent.
        let mut keeps: Vec<Option<&mut [f64]>> = match keep {
            Some(keep) => split(keep, &node.met_above).into_iter().map(Some).collect(),
            None => Vec::new(),
        };
        keeps.resize_with(division.parts.len(), || None);
        let parts = targets.into_iter().zip(keeps).enumerate();
        let found = self.helpers.map(parts, |(number, (mut target, keep))| {
            self.sum_part(number, keep, |table, sums| target[table].copy_from_slice(sums))
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
    fn sum_parts_alone(&self, beliefs: &mut [f64], mut keep: Option<&mut [f64]>) -> vector::Range {
        let Node { parts_down, tables, met_above, .. } = self.clique.node;
        let sum_part = |number: usize| {
            let keep = keep.as_mut().map(|keep| &mut keep[met_above[number].clone()]);
            self.sum_part(number, keep, |table, sums| match &parts_down.tables[table] {
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
    /// the part's sums for the entries that it meets in this table. `keep` is as for
    /// [`sum_rows`](Self::sum_rows).
    fn sum_part(
        &self,
        number: usize,
        keep: Option<&mut [f64]>,
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
            let found = self.sum_rows(rows.clone(), met.clone(), &words, sums, keep);
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
    /// the entries `met` of the message from the parent, whose range is returned. If the message is
    /// kept, these entries are also written into `keep`.
    fn sum_rows(
        &self,
        rows: Range<usize>,
        met: Range<usize>,
        words: &SumWords,
        sums: &mut [f64],
        keep: Option<&mut [f64]>,
    ) -> vector::Range {
        let node = self.clique.node;
        let messages = Inputs { table: self.below, words: self.ports.active };
        let rows = self.clique.rows(rows, messages);
        let onto = Onto { scalars: &words.scalars, vectors: &words.vectors };
        let Some((received, port)) = self.received.zip(node.port) else {
            sum_rows(Rows { from_parent: node.port.zip(self.kept), ..rows }, onto, sums);
            return vector::Range::default();
        };
        // Of a large message, only this part is in memory, so that it stays in the cache. The rows
        // must then point into the part.
        let is_kept = keep.is_some();
        let is_part = is_kept || node.above.len() > MAX_WHOLE_MESSAGE;
        let start = if is_part { met.start } else { 0 };
        MESSAGE.with_borrow_mut(|(buffer, shifted)| {
            let message = keep.unwrap_or_else(|| {
                buffer.resize(buffer.len().max(met.end - start), 0.0);
                buffer
            });
            let part = &mut message[met.start - start..met.end - start];
            let found = received.write(node, met.clone(), part);
            if is_kept
                && std::env::var_os("MUT").is_none()
                && has_zeros(part, self.mask.map(|mask| &mask[met]))
            {
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
