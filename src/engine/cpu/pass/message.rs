//! The work at one clique, on the way up and on the way down.
//!
//! The clique's table psi is only read. `up` and `down` are the messages through a separator, and
//! `mask` is the product of the findings that are entered at this separator:
//!
//! ```text
//! unmasked[s] = sum over the clique's other variables of  psi * product of up[children]
//! up[s]       = unmasked[s] * mask[s]
//! down[s]     = belief[s] / unmasked[s]              (0/0 = 0)
//! belief of a child's separator
//!             = sum over the clique's other variables of  psi * down * product of up[children]
//! ```
//!
//! `up[children]` includes the weights of the clique's private variables. `belief` contains all
//! findings and `unmasked` lacks those in `mask`, so `down` brings the findings in `mask` to the
//! clique itself. Messages are in double precision even if the tables are in single precision. They
//! are scaled by powers of two so that the largest entry is near one.

use std::cell::RefCell;
use std::ops::Range;

use crate::engine::cpu::pass::factored_kernel::{self, FactoredRows};
use crate::engine::cpu::pass::kernel::{self, FromParent, Inputs, RowBuffer, Rows};
use crate::engine::cpu::tables::table::CliqueTable;
use crate::engine::cpu::tree::layout::MAX_ROW_ENTRIES;
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::rows::{ParentPort, PortWords, RowBlock};
use crate::engine::cpu::vector::{keep_in_range, largest};
use crate::engine::simd::simd_dispatch;
use crate::potential::{Entry, ratio};

thread_local! {
    /// A buffer per thread for the products of a row.
    static ROW: RefCell<RowBuffer> = const { RefCell::new([0.0; MAX_ROW_ENTRIES]) };
}

/// A clique and its table.
#[derive(Debug)]
pub struct Clique<'a, T> {
    pub node: &'a Node,
    pub table: &'a CliqueTable<T>,
    /// Whether rows are skipped whose products are zero.
    pub skips_zeros: bool,
}

impl<T> Clone for Clique<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Clique<'_, T> {}

/// Computes `unmasked` from the messages in `below`, and then the message to the parent, `up`.
///
/// `ports` are the active ports. `up` is in the order of the parent; everything else is in the
/// order of the clique. Returns the exponent of the power of two by which `up` must be multiplied,
/// without the exponents of `below` and `mask`; `None` if the message is zero.
///
/// # Panics
/// If the clique is the root.
pub fn collect<T: Entry>(
    clique: Clique<'_, T>,
    ports: &PortWords,
    below: &[f64],
    mask: Option<&[f64]>,
    unmasked: &mut [f64],
    up: &mut [f64],
    forks: bool,
) -> Option<i32> {
    let Clique { node, table, skips_zeros } = clique;
    let port = node.port.expect("the root sends no message up");
    unmasked.fill(0.0);
    let (scalars, vectors) = (&*ports.scalars, &*ports.vectors);
    let inputs = Inputs { table: below, scalars, vectors, skips_zeros };
    let skipped = mask.filter(|_| skips_zeros);
    if forks && node.blocks.len() > 1 {
        collect_blocks(clique, &node.blocks, inputs, skipped, unmasked, 0);
    } else {
        collect_rows(clique, &node.words, inputs, port, skipped, unmasked);
    }
    let mut largest = 0.0;
    remove_impossible(mask, unmasked, &mut largest);
    let scale = keep_in_range(unmasked, largest)?;
    send_up(node, unmasked, mask, up);
    Some(table.exponent - scale)
}

simd_dispatch!(
    /// Sets `unmasked` to zero where `mask` is zero: the parent's belief is zero there too, so
    /// `down` becomes 0/0 = 0. Writes the largest entry of the message to the parent into
    /// `max_entry`.
    remove_impossible, remove_impossible_entries,
    (mask: Option<&[f64]>, unmasked: &mut [f64], max_entry: &mut f64)
);

#[inline(always)]
fn remove_impossible_entries(mask: Option<&[f64]>, unmasked: &mut [f64], max_entry: &mut f64) {
    if let Some(mask) = mask {
        unmasked
            .iter_mut()
            .zip(mask)
            .for_each(|(entry, &mask)| *entry = if mask == 0.0 { 0.0 } else { *entry });
    }
    *max_entry = largest(unmasked, mask);
}

/// Sums the rows that `words` describe onto the separator above.
fn collect_rows<T: Entry>(
    Clique { node, table, .. }: Clique<'_, T>,
    words: &[u32],
    inputs: Inputs<'_>,
    port: ParentPort,
    mask: Option<&[f64]>,
    unmasked: &mut [f64],
) {
    let stride = node.stride;
    ROW.with_borrow_mut(|row| match &table.factored {
        Some(table) => {
            let rows = FactoredRows { words, stride, table, inputs };
            factored_kernel::collect(rows, port, mask, row, unmasked);
        }
        None => {
            let rows = Rows { words, stride, values: &table.values };
            kernel::collect(rows, inputs, port, mask, row, unmasked);
        }
    });
}

/// Sums the rows of `blocks` on several threads. `unmasked` begins with entry number `start` of the
/// separator, and the blocks touch no earlier entry. `mask` begins with entry 0.
fn collect_blocks<T: Entry>(
    clique: Clique<'_, T>,
    blocks: &[RowBlock],
    inputs: Inputs<'_>,
    mask: Option<&[f64]>,
    unmasked: &mut [f64],
    start: usize,
) {
    let node = clique.node;
    if let [block] = blocks {
        let mut port = node.port.expect("the root sends no message up");
        port.start = start;
        let mask = mask.map(|mask| &mask[start..]);
        collect_rows(clique, &node.words[block.words.clone()], inputs, port, mask, unmasked);
        return;
    }
    let (left, right) = blocks.split_at(blocks.len() / 2);
    let middle = right[0].above;
    let (before, after) = unmasked.split_at_mut(middle - start);
    rayon::join(
        || collect_blocks(clique, left, inputs, mask, before, start),
        || collect_blocks(clique, right, inputs, mask, after, middle),
    );
}

/// Writes `mask`, the findings at the separator, into `up` in the parent's order. This is the
/// message to the parent if `unmasked` is one everywhere.
pub fn send_findings(node: &Node, mask: &[f64], up: &mut [f64]) {
    match &node.permutation {
        None => up.copy_from_slice(mask),
        Some(permutation) => permutation.iter().zip(mask).for_each(|(&to, &m)| up[to as usize] = m),
    }
}

/// Writes the message to the parent, `unmasked` times `mask`, into `up` in the parent's order.
pub fn send_up(node: &Node, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64]) {
    send_permuted(node.permutation.as_deref(), unmasked, mask, up);
}

simd_dispatch!(
    /// Writes `unmasked` times `mask` into `up`, entry i at position `permutation[i]`.
    send_permuted, send_entries,
    (permutation: Option<&[u32]>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64])
);

#[inline(always)]
fn send_entries(
    permutation: Option<&[u32]>,
    unmasked: &[f64],
    mask: Option<&[f64]>,
    up: &mut [f64],
) {
    match (permutation, mask) {
        (None, None) => up.copy_from_slice(unmasked),
        (None, Some(mask)) => {
            let terms = unmasked.iter().zip(mask);
            up.iter_mut().zip(terms).for_each(|(up, (entry, mask))| *up = entry * mask);
        }
        (Some(permutation), None) => {
            permutation.iter().zip(unmasked).for_each(|(&to, &entry)| up[to as usize] = entry);
        }
        (Some(permutation), Some(mask)) => {
            let terms = unmasked.iter().zip(mask);
            permutation.iter().zip(terms).for_each(|(&to, (entry, m))| up[to as usize] = entry * m);
        }
    }
}

/// Fills `down`, the message from the parent, from the parent's `belief` and this clique's
/// `unmasked`. `None` means that `unmasked` is one everywhere.
pub fn receive(node: &Node, belief: &[f64], unmasked: Option<&[f64]>, down: &mut [f64]) {
    let mut largest = 0.0;
    receive_permuted(node.permutation.as_deref(), belief, unmasked, down, &mut largest);
    // The exponent is dropped: it is common to all entries, and posteriors are normalised.
    let _ = keep_in_range(down, largest);
}

simd_dispatch!(
    /// Writes `belief` divided by `unmasked` into `down`, entry i from position `permutation[i]`,
    /// and the largest entry into `max_entry`.
    receive_permuted, receive_entries,
    (
        permutation: Option<&[u32]>,
        belief: &[f64],
        unmasked: Option<&[f64]>,
        down: &mut [f64],
        max_entry: &mut f64
    )
);

#[inline(always)]
fn receive_entries(
    permutation: Option<&[u32]>,
    belief: &[f64],
    unmasked: Option<&[f64]>,
    down: &mut [f64],
    max_entry: &mut f64,
) {
    match permutation {
        None => down.copy_from_slice(belief),
        Some(order) => {
            down.iter_mut().zip(order).for_each(|(down, &from)| *down = belief[from as usize]);
        }
    }
    if let Some(unmasked) = unmasked {
        down.iter_mut().zip(unmasked).for_each(|(down, &entry)| *down = ratio(*down, entry));
    }
    *max_entry = largest(down, None);
}

/// Fills `beliefs`, the tables of the separators to the children and of the private variables.
///
/// `ports` are first all ports below, and then the active ones. `below` has the messages from the
/// children and the weights, and `down` the message from the parent. A large table is summed in
/// parts, all but the first in `scratch`. The number of threads changes neither the parts nor any
/// bit of the sums.
pub fn distribute<T: Entry>(
    clique: Clique<'_, T>,
    ports: (&PortWords, &PortWords),
    below: &[f64],
    down: &[f64],
    beliefs: &mut [f64],
    scratch: &mut [f64],
    forks: bool,
) {
    let parts = 1 + scratch.len() / beliefs.len();
    let pass = DownwardPass { clique, ports, below, down, forks };
    pass.sum(0..clique.node.row_count(), parts, beliefs, scratch);
}

/// A pass over a table on the way down.
struct DownwardPass<'a, T> {
    clique: Clique<'a, T>,
    ports: (&'a PortWords, &'a PortWords),
    below: &'a [f64],
    down: &'a [f64],
    forks: bool,
}

impl<T: Entry> DownwardPass<'_, T> {
    /// Sums `rows` into `beliefs` in a number of `parts`. The first half of the parts is summed
    /// into `beliefs`, and the second half into `scratch`, on another thread if the pass `forks`.
    /// Then the second sum is added to the first. `scratch` has room for `parts - 1` sums.
    fn sum(&self, rows: Range<usize>, parts: usize, beliefs: &mut [f64], scratch: &mut [f64]) {
        if parts == 1 {
            self.sum_rows(rows, beliefs);
            return;
        }
        let left = parts / 2;
        let middle = rows.start + rows.len() * left / parts;
        let (scratch, right_scratch) = scratch.split_at_mut(beliefs.len() * (left - 1));
        let (right, right_scratch) = right_scratch.split_at_mut(beliefs.len());
        if self.forks {
            rayon::join(
                || self.sum(rows.start..middle, left, beliefs, scratch),
                || self.sum(middle..rows.end, parts - left, right, right_scratch),
            );
        } else {
            self.sum(rows.start..middle, left, beliefs, scratch);
            self.sum(middle..rows.end, parts - left, right, right_scratch);
        }
        beliefs.iter_mut().zip(right).for_each(|(sum, part)| *sum += *part);
    }

    /// Sums `rows` into `beliefs` on this thread.
    fn sum_rows(&self, rows: Range<usize>, beliefs: &mut [f64]) {
        beliefs.fill(0.0);
        let Clique { node, table, skips_zeros } = self.clique;
        let (all, active) = self.ports;
        let (scalars, vectors) = (&*active.scalars, &*active.vectors);
        let inputs = Inputs { table: self.below, scalars, vectors, skips_zeros };
        let from_parent: FromParent<'_> = node.port.map(|port| (port, self.down));
        let stride = node.stride;
        let words = &node.words[rows.start * stride..rows.end * stride];
        let (scalars, vectors) = (&*all.scalars, &*all.vectors);
        ROW.with_borrow_mut(|row| match &table.factored {
            Some(table) => {
                let rows = FactoredRows { words, stride, table, inputs };
                factored_kernel::distribute(rows, from_parent, scalars, vectors, row, beliefs);
            }
            None => {
                let rows = Rows { words, stride, values: &table.values };
                kernel::distribute(rows, inputs, from_parent, scalars, vectors, row, beliefs);
            }
        });
    }
}
