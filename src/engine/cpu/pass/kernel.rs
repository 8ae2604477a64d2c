//! The loops over the rows of a clique's table.
//!
//! The loops are written so that the compiler produces vector instructions: a sum is a fixed number
//! of partial sums, products are computed entry by entry, and there are no conditions within a row.
//! See [`simd`](crate::engine::simd) for how the instructions are chosen,
//! [`tree`](crate::engine::cpu::tree) for what a port is, and
//! [`rows`](crate::engine::cpu::tree::rows) for the words of a row.

use crate::engine::cpu::pass::distribute::{Column, Columns, Onto};
use crate::engine::cpu::tree::layout::MAX_ROW_ENTRIES;
use crate::engine::cpu::tree::rows::ParentPort;
use crate::engine::cpu::vector::{add, dot, dot3, sum};
use crate::engine::simd::simd_dispatch;
use crate::potential::Entry;

/// A buffer for the products at the entries of one row.
pub type RowBuffer = [f64; MAX_ROW_ENTRIES];

/// Rows of a clique's table.
#[derive(Clone, Copy)]
pub struct Rows<'a, T> {
    /// The words of all rows, `stride` each.
    pub words: &'a [u32],
    pub stride: usize,
    /// The entries that rows point into.
    pub values: &'a [T],
}

/// The messages that a clique's table is multiplied by.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The messages from children and the weights of private variables, which are in no other
    /// clique, one table after another.
    pub table: &'a [f64],
    /// Positions of the words of a row that point at one number for the whole row.
    pub scalars: &'a [u32],
    /// Positions of the words of a row that point at one number for each entry of the row.
    pub vectors: &'a [u32],
    /// Whether rows are skipped whose products are zero.
    pub skips_zeros: bool,
}

/// The parent's port and the message from the parent; `None` at the root.
pub type FromParent<'a> = Option<(ParentPort, &'a [f64])>;

simd_dispatch!(
    /// Adds the products of entries and inputs to `sums`, the table of the separator above:
    ///
    /// ```text
    /// sums[s] += sum over the entries x of the clique that agree with s of
    ///            values[x] * product of the inputs at x
    /// ```
    ///
    /// A row that meets a single entry of the separator is skipped if `mask` is zero there. `mask`
    /// is indexed as `sums`.
    pub collect<Entry>, collect_rows,
    (
        rows: Rows<'_, T>,
        inputs: Inputs<'_>,
        parent: ParentPort,
        mask: Option<&[f64]>,
        buffer: &mut RowBuffer,
        sums: &mut [f64]
    )
);

simd_dispatch!(
    /// Adds the products of entries, inputs and the message from the parent to `sums`, the tables
    /// of all ports below:
    ///
    /// ```text
    /// sums[t] += sum over the entries x of the clique that agree with t of
    ///            values[x] * message from the parent at x * product of the inputs at x
    /// ```
    ///
    /// `onto` has the words of a row that point into `sums`.
    pub distribute<Entry>, distribute_rows,
    (
        rows: Rows<'_, T>,
        inputs: Inputs<'_>,
        from_parent: FromParent<'_>,
        onto: Onto<'_>,
        buffer: &mut RowBuffer,
        sums: &mut [f64]
    )
);

#[inline(always)]
fn collect_rows<T: Entry>(
    rows: Rows<'_, T>,
    inputs: Inputs<'_>,
    parent: ParentPort,
    mask: Option<&[f64]>,
    buffer: &mut RowBuffer,
    sums: &mut [f64],
) {
    let mask = mask.filter(|_| !parent.is_vector);
    for row in rows.words.chunks_exact(rows.stride) {
        let at = row[parent.word] as usize - parent.start;
        if mask.is_some_and(|mask| mask[at] == 0.0) {
            continue;
        }
        let Some(factor) = factor(row, 1.0, inputs) else { continue };
        let values = entries(rows.values, row);
        let length = values.len();
        let input = |word: u32| &inputs.table[row[word as usize] as usize..][..length];
        match (parent.is_vector, inputs.vectors) {
            (false, []) => sums[at] += factor * sum(values),
            (false, &[word]) => sums[at] += factor * dot(values, input(word)),
            (false, &[first, second]) => {
                sums[at] += factor * dot3(values, input(first), input(second))
            }
            (true, []) => {
                let sums = &mut sums[at..at + length];
                sums.iter_mut().zip(values).for_each(|(s, v)| *s += factor * v.to_f64());
            }
            (true, &[word]) => {
                let sums = &mut sums[at..at + length];
                let terms = values.iter().zip(input(word));
                sums.iter_mut().zip(terms).for_each(|(s, (v, x))| *s += factor * v.to_f64() * x);
            }
            (is_vector, vectors) => {
                let buffer = &mut buffer[..length];
                multiply(values, factor, row, vectors, inputs.table, buffer);
                if is_vector {
                    add(&mut sums[at..at + length], buffer);
                } else {
                    sums[at] += sum(buffer);
                }
            }
        }
    }
}

#[inline(always)]
fn distribute_rows<T: Entry>(
    rows: Rows<'_, T>,
    inputs: Inputs<'_>,
    from_parent: FromParent<'_>,
    onto: Onto<'_>,
    buffer: &mut RowBuffer,
    sums: &mut [f64],
) {
    let (varying, constant) = parent_columns(from_parent);
    let messages = inputs.vectors.iter().map(|&word| (inputs.table, word as usize));
    let streams: Vec<Column<'_>> = varying.into_iter().chain(messages).collect();
    let Rows { words, stride, values } = rows;
    let columns = Columns { words, stride, values: (values, 0), streams: &streams };
    let factor = |row: &[u32]| {
        let start = constant.map_or(1.0, |(table, word)| table[row[word] as usize]);
        factor(row, start, inputs)
    };
    columns.distribute(factor, onto, buffer, sums);
}

/// The message from the parent as a column: the first if it varies along a row, the second if it is
/// constant.
#[inline(always)]
pub fn parent_columns(from_parent: FromParent<'_>) -> (Option<Column<'_>>, Option<Column<'_>>) {
    let column = |(port, table): (ParentPort, _)| (table, port.word);
    let varying = from_parent.filter(|(port, _)| port.is_vector).map(column);
    let constant = from_parent.filter(|(port, _)| !port.is_vector).map(column);
    (varying, constant)
}

/// `start` times all inputs that are constant along the row; `None` if this product is zero and
/// rows of zeros are skipped.
#[inline(always)]
fn factor(row: &[u32], start: f64, inputs: Inputs<'_>) -> Option<f64> {
    let input = |&word: &u32| inputs.table[row[word as usize] as usize];
    let factor = inputs.scalars.iter().map(input).fold(start, |a, b| a * b);
    (factor != 0.0 || !inputs.skips_zeros).then_some(factor)
}

/// The entries of a row.
#[inline(always)]
fn entries<'a, T>(values: &'a [T], row: &[u32]) -> &'a [T] {
    &values[row[0] as usize..][..row[1] as usize]
}

/// Fills `buffer` with the products at the entries of a row: the entry, times `factor`, times the
/// inputs in `table` that vary along the row. `vectors` are the positions of the words that point
/// at these inputs.
#[inline(always)]
fn multiply<T: Entry>(
    values: &[T],
    factor: f64,
    row: &[u32],
    vectors: &[u32],
    table: &[f64],
    buffer: &mut [f64],
) {
    let length = values.len();
    let input = |word: u32| &table[row[word as usize] as usize..][..length];
    match vectors {
        [] => buffer.iter_mut().zip(values).for_each(|(b, v)| *b = factor * v.to_f64()),
        [word] => {
            let terms = values.iter().zip(input(*word));
            buffer.iter_mut().zip(terms).for_each(|(b, (v, x))| *b = factor * v.to_f64() * x);
        }
        [first, second, rest @ ..] => {
            let terms = values.iter().zip(input(*first)).zip(input(*second));
            buffer
                .iter_mut()
                .zip(terms)
                .for_each(|(b, ((v, x), y))| *b = factor * v.to_f64() * x * y);
            for &word in rest {
                buffer.iter_mut().zip(input(word)).for_each(|(b, x)| *b *= x);
            }
        }
    }
}
