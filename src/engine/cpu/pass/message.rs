//! What is done at one clique, on the way up and on the way down.
//!
//! The clique's table psi is only read. With lambda the findings that are entered at the
//! separator above, and up and down the messages between children and parent:
//!
//! ```text
//! raw[s]  = sum over the clique without s of  psi * product of up[children]
//! up[s]   = raw[s] * lambda[s]
//! down[s] = belief[s] / raw[s]                      (0/0 = 0)
//! belief of a child's separator
//!         = sum over the rest of  psi * down * product of up[children]
//! ```
//!
//! `belief` holds every finding, `raw` none of lambda, so `down` brings lambda along for the
//! clique itself. Messages are in double precision whatever the tables are, and are scaled by
//! powers of two to a largest entry near one.

use std::cell::RefCell;
use std::ops::Range;

use crate::engine::cpu::pass::factored_kernel::{self, Products};
use crate::engine::cpu::pass::kernel::{self, Inputs, NEAR_ONE, ParentPort, Row, Rows};
use crate::engine::cpu::tree::layout::LONGEST_ROW;
use crate::engine::cpu::tree::nodes::{Node, Piece};
use crate::engine::simd::simd_dispatch;
use crate::potential::{Entry, Real, ratio, rescale};

thread_local! {
    /// Room for a row of each thread.
    static ROW: RefCell<Row> = const { RefCell::new([0.0; LONGEST_ROW]) };
}

/// The ports of a clique that are read, by how rows read them.
#[derive(Debug, Default)]
pub struct Columns {
    pub scalars: Vec<u32>,
    pub vectors: Vec<u32>,
}

impl Columns {
    pub fn clear(&mut self) {
        self.scalars.clear();
        self.vectors.clear();
    }

    pub fn push(&mut self, word: u32, is_vector: bool) {
        if is_vector { &mut self.vectors } else { &mut self.scalars }.push(word);
    }
}

/// Computes `raw` from the messages in `below`, and from it the message to the parent, `up`.
///
/// Returns the exponent that `up` must be scaled by to be the product; `None` if it is zero.
pub fn collect<T: Entry>(
    node: &Node<T>,
    columns: &Columns,
    below: &[f64],
    mask: Option<&[f64]>,
    raw: &mut [f64],
    up: &mut [f64],
    forks: bool,
) -> Option<i32> {
    let port = node.port.expect("the root sends no message up");
    raw.fill(0.0);
    let inputs = Inputs { table: below, scalars: &columns.scalars, vectors: &columns.vectors };
    if forks && node.pieces.len() > 1 {
        collect_pieces(node, &node.pieces, inputs, mask, raw, 0);
    } else {
        collect_rows(node, &node.words, inputs, port, mask, raw);
    }
    let mut most = 0.0;
    leave_possible(mask, raw, &mut most);
    let scale = keep_in_range(raw, most)?;
    send_up(node, raw, mask, up);
    Some(node.exponent - scale)
}

simd_dispatch!(
    /// Leaves nothing in `raw` that no finding allows, as it is never asked for again, and gives the
    /// largest entry of the message to the parent.
    leave_possible, leave_possible_entries,
    (mask: Option<&[f64]>, raw: &mut [f64], most: &mut f64)
);

#[inline(always)]
fn leave_possible_entries(mask: Option<&[f64]>, raw: &mut [f64], most: &mut f64) {
    if let Some(mask) = mask {
        raw.iter_mut()
            .zip(mask)
            .for_each(|(raw, &mask)| *raw = if mask == 0.0 { 0.0 } else { *raw });
    }
    *most = largest(raw, mask);
}

/// Sums the rows that `words` describe, of a table or of a product.
fn collect_rows<T: Entry>(
    node: &Node<T>,
    words: &[u32],
    inputs: Inputs<'_>,
    port: ParentPort,
    mask: Option<&[f64]>,
    raw: &mut [f64],
) {
    ROW.with_borrow_mut(|row| match &node.factored {
        Some(product) => {
            let rows = Products { words, stride: node.stride, product, inputs };
            factored_kernel::collect(rows, port, mask, row, raw);
        }
        None => kernel::collect(Rows { words, ..node.rows() }, inputs, port, mask, row, raw),
    });
}

/// The same on the way down, onto the words and the table of `sums`.
fn distribute_rows<T: Entry>(
    node: &Node<T>,
    words: &[u32],
    inputs: Inputs<'_>,
    from_parent: Option<(ParentPort, &[f64])>,
    (scalars, vectors, sums): (&[u32], &[u32], &mut [f64]),
) {
    ROW.with_borrow_mut(|row| match &node.factored {
        Some(product) => {
            let rows = Products { words, stride: node.stride, product, inputs };
            factored_kernel::distribute(rows, from_parent, scalars, vectors, row, sums);
        }
        None => {
            let rows = Rows { words, ..node.rows() };
            kernel::distribute(rows, inputs, from_parent, scalars, vectors, row, sums);
        }
    });
}

/// The message to the parent of a clique below which everything sums out: the findings alone.
pub fn send_findings<T>(node: &Node<T>, mask: &[f64], up: &mut [f64]) {
    match &node.permutation {
        None => up.copy_from_slice(mask),
        Some(permutation) => permutation.iter().zip(mask).for_each(|(&to, &m)| up[to as usize] = m),
    }
}

/// The message to the parent, of what this clique says and the findings that are entered there.
pub fn send_up<T>(node: &Node<T>, raw: &[f64], mask: Option<&[f64]>, up: &mut [f64]) {
    send_permuted(node.permutation.as_deref(), raw, mask, up);
}

simd_dispatch!(
    /// The same in the order of a permutation.
    send_permuted, send_entries,
    (permutation: Option<&[u32]>, raw: &[f64], mask: Option<&[f64]>, up: &mut [f64])
);

#[inline(always)]
fn send_entries(permutation: Option<&[u32]>, raw: &[f64], mask: Option<&[f64]>, up: &mut [f64]) {
    match (permutation, mask) {
        (None, None) => up.copy_from_slice(raw),
        (None, Some(mask)) => {
            let terms = raw.iter().zip(mask);
            up.iter_mut().zip(terms).for_each(|(up, (raw, mask))| *up = raw * mask);
        }
        (Some(permutation), None) => {
            permutation.iter().zip(raw).for_each(|(&to, &raw)| up[to as usize] = raw);
        }
        (Some(permutation), Some(mask)) => {
            let terms = raw.iter().zip(mask);
            permutation.iter().zip(terms).for_each(|(&to, (raw, m))| up[to as usize] = raw * m);
        }
    }
}

/// Fills `down` from the parent's `belief` and this clique's `raw`, which is one everywhere where
/// it is `None`.
pub fn receive<T>(node: &Node<T>, belief: &[f64], raw: Option<&[f64]>, down: &mut [f64]) {
    let mut most = 0.0;
    receive_permuted(node.permutation.as_deref(), belief, raw, down, &mut most);
    let _ = keep_in_range(down, most);
}

simd_dispatch!(
    /// The same in the order of a permutation, with the largest entry.
    receive_permuted, receive_entries,
    (
        permutation: Option<&[u32]>,
        belief: &[f64],
        raw: Option<&[f64]>,
        down: &mut [f64],
        most: &mut f64
    )
);

#[inline(always)]
fn receive_entries(
    permutation: Option<&[u32]>,
    belief: &[f64],
    raw: Option<&[f64]>,
    down: &mut [f64],
    most: &mut f64,
) {
    match permutation {
        None => down.copy_from_slice(belief),
        Some(order) => {
            down.iter_mut().zip(order).for_each(|(down, &from)| *down = belief[from as usize]);
        }
    }
    if let Some(raw) = raw {
        down.iter_mut().zip(raw).for_each(|(down, &raw)| *down = ratio(*down, raw));
    }
    *most = largest(down, None);
}

/// Scales `values`, of which `largest` is the largest that counts, to bring it into [1, 2) if it is
/// far from there, and returns the exponent of the scale; `None` if it is zero.
fn keep_in_range(values: &mut [f64], largest: f64) -> Option<i32> {
    let scale = largest.scale_exponent()?;
    if NEAR_ONE.contains(&scale) {
        return Some(0);
    }
    rescale(values, scale);
    Some(scale)
}

/// Sums the rows of `pieces`, which give the entries of `raw`, the first of them number `start` of
/// the whole, on several threads.
fn collect_pieces<T: Entry>(
    node: &Node<T>,
    pieces: &[Piece],
    inputs: Inputs<'_>,
    mask: Option<&[f64]>,
    raw: &mut [f64],
    start: usize,
) {
    if let [piece] = pieces {
        let mut port = node.port.expect("the root sends no message up");
        port.start = start;
        let mask = mask.map(|mask| &mask[start..]);
        collect_rows(node, &node.words[piece.words.clone()], inputs, port, mask, raw);
        return;
    }
    let (left, right) = pieces.split_at(pieces.len() / 2);
    let middle = right[0].above;
    let (before, after) = raw.split_at_mut(middle - start);
    rayon::join(
        || collect_pieces(node, left, inputs, mask, before, start),
        || collect_pieces(node, right, inputs, mask, after, middle),
    );
}

/// Fills `beliefs`, the tables of the separators to the children and of the private variables.
///
/// Of the two columns the first are all ports of the clique, the second those whose messages are
/// not one everywhere. A large table is summed in parts, for which `spare` is the room; they are the same
/// however many threads there are.
pub fn distribute<T: Entry>(
    node: &Node<T>,
    columns: (&Columns, &Columns),
    below: &[f64],
    down: &[f64],
    beliefs: &mut [f64],
    spare: &mut [f64],
    forks: bool,
) {
    let rows = node.words.len() / node.stride;
    let parts = 1 + spare.len() / beliefs.len();
    let pass = Pass { node, columns, below, down, forks };
    pass.distribute(0..rows, parts, beliefs, spare);
}

/// One pass over a table on the way down.
#[derive(Clone, Copy)]
struct Pass<'a, T> {
    node: &'a Node<T>,
    columns: (&'a Columns, &'a Columns),
    below: &'a [f64],
    down: &'a [f64],
    forks: bool,
}

impl<T: Entry> Pass<'_, T> {
    /// Sums `rows` into `beliefs` in `parts` parts.
    fn distribute(self, rows: Range<usize>, parts: usize, beliefs: &mut [f64], spare: &mut [f64]) {
        let node = self.node;
        if parts == 1 {
            beliefs.fill(0.0);
            let (all, active) = self.columns;
            let (scalars, vectors) = (&*active.scalars, &*active.vectors);
            let inputs = Inputs { table: self.below, scalars, vectors };
            let from_parent = node.port.map(|port| (port, self.down));
            let words = &node.words[rows.start * node.stride..rows.end * node.stride];
            let sums = (&*all.scalars, &*all.vectors, beliefs);
            distribute_rows(node, words, inputs, from_parent, sums);
            return;
        }
        let left = parts / 2;
        let middle = rows.start + rows.len() * left / parts;
        let (spare, right_spare) = spare.split_at_mut(beliefs.len() * (left - 1));
        let (right, right_spare) = right_spare.split_at_mut(beliefs.len());
        if self.forks {
            rayon::join(
                || self.distribute(rows.start..middle, left, beliefs, spare),
                || self.distribute(middle..rows.end, parts - left, right, right_spare),
            );
        } else {
            self.distribute(rows.start..middle, left, beliefs, spare);
            self.distribute(middle..rows.end, parts - left, right, right_spare);
        }
        beliefs.iter_mut().zip(right).for_each(|(sum, part)| *sum += *part);
    }
}

#[inline(always)]
fn largest(values: &[f64], mask: Option<&[f64]>) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    match mask {
        None => {
            for chunk in values.chunks(LANES) {
                lanes.iter_mut().zip(chunk).for_each(|(lane, &v)| *lane = larger(*lane, v));
            }
        }
        Some(mask) => {
            for (chunk, mask) in values.chunks(LANES).zip(mask.chunks(LANES)) {
                let terms = chunk.iter().zip(mask);
                lanes
                    .iter_mut()
                    .zip(terms)
                    .for_each(|(lane, (&v, &m))| *lane = larger(*lane, v * m));
            }
        }
    }
    lanes.into_iter().fold(0.0, larger)
}
