//! The loops over the rows of a clique whose table is [factored](FactoredTable).
//!
//! These loops compute the same sums as [`kernel`](crate::engine::cpu::pass::kernel), but read the
//! tables of factor groups instead of one table of the clique. A *column* is the table of a group
//! or a message. Along a row, a column either is constant or has one number per entry of the row;
//! these numbers are called a *stream*. So the product at entry i of a row is
//!
//! ```text
//! product[i] = factor * stream_1[i] * stream_2[i] * ... * stream_n[i]
//! ```
//!
//! where `factor` is the product of all columns that are constant along the row. The loops are
//! compiled separately for zero to four streams. With more streams, the product is computed in a
//! buffer: on the way up, the first four streams together and the others one at a time; on the way
//! down, all one at a time.

use crate::engine::cpu::pass::distribute::{Column, Columns, Onto, row_streams, stream};
use crate::engine::cpu::pass::kernel::{FromParent, Inputs, RowBuffer, parent_columns};
use crate::engine::cpu::tables::factored::{FactoredTable, MAX_STREAMS};
use crate::engine::cpu::tree::rows::ParentPort;
use crate::engine::simd::simd_dispatch;

/// [`for_each_product`] takes steps of four, two and one times this many entries. [`sum_products`]
/// has twice this many partial sums. Changing the number changes the last bits of sums.
const LANES: usize = 8;

/// Rows of a factored table.
#[derive(Clone, Copy)]
pub struct FactoredRows<'a> {
    /// The words of all rows, `stride` each.
    pub words: &'a [u32],
    pub stride: usize,
    pub table: &'a FactoredTable,
    /// The messages that the table is multiplied by.
    pub inputs: Inputs<'a>,
}

simd_dispatch!(
    /// Adds the products of rows and inputs to `sums`, the table of the separator above; see
    /// [`kernel::collect`](crate::engine::cpu::pass::kernel::collect).
    pub collect, collect_rows,
    (
        rows: FactoredRows<'_>,
        parent: ParentPort,
        mask: Option<&[f64]>,
        buffer: &mut RowBuffer,
        sums: &mut [f64]
    )
);

simd_dispatch!(
    /// Adds the products of rows, inputs and the message from the parent to `sums`, the tables of
    /// all ports below; see [`kernel::distribute`](crate::engine::cpu::pass::kernel::distribute).
    pub distribute, distribute_rows,
    (
        rows: FactoredRows<'_>,
        from_parent: FromParent<'_>,
        onto: Onto<'_>,
        buffer: &mut RowBuffer,
        sums: &mut [f64]
    )
);

impl<'a> FactoredRows<'a> {
    /// The columns that vary along a row, and their number. `from_parent` is the message from the
    /// parent if it varies along a row.
    fn varying_columns(
        &self,
        from_parent: Option<Column<'a>>,
    ) -> ([Column<'a>; MAX_STREAMS], usize) {
        let groups = self.table.words.vectors.iter().map(|&w| (&*self.table.values, w as usize));
        let messages = self.inputs.vectors.iter().map(|&w| (self.inputs.table, w as usize));
        let mut columns: [Column<'a>; MAX_STREAMS] = [(&[], 0); MAX_STREAMS];
        let mut count = 0;
        for column in groups.chain(messages).chain(from_parent) {
            columns[count] = column;
            count += 1;
        }
        (columns, count)
    }

    /// `start` times the numbers of all columns that are constant along `row`; `None` if this
    /// product is zero and rows of zeros are skipped.
    #[inline(always)]
    fn constant_factor(&self, row: &[u32], start: f64) -> Option<f64> {
        let group = |&word: &u32| self.table.values[row[word as usize] as usize];
        let factor = self.table.words.scalars.iter().map(group).fold(start, |a, b| a * b);
        let message = |&word: &u32| self.inputs.table[row[word as usize] as usize];
        let factor = self.inputs.scalars.iter().map(message).fold(factor, |a, b| a * b);
        (factor != 0.0 || !self.inputs.skips_zeros).then_some(factor)
    }
}

#[inline(always)]
fn collect_rows(
    rows: FactoredRows<'_>,
    parent: ParentPort,
    mask: Option<&[f64]>,
    buffer: &mut RowBuffer,
    sums: &mut [f64],
) {
    let (columns, count) = rows.varying_columns(None);
    match columns[..count] {
        [] => collect_streams(rows, [], &[], (parent, mask), buffer, sums),
        [a] => collect_streams(rows, [a], &[], (parent, mask), buffer, sums),
        [a, b] => collect_streams(rows, [a, b], &[], (parent, mask), buffer, sums),
        [a, b, c] => collect_streams(rows, [a, b, c], &[], (parent, mask), buffer, sums),
        [a, b, c, d, ref others @ ..] => {
            collect_streams(rows, [a, b, c, d], others, (parent, mask), buffer, sums);
        }
    }
}

/// As [`collect`], with one stream for each of `columns` and of `others`.
#[inline(always)]
fn collect_streams<const N: usize>(
    rows: FactoredRows<'_>,
    columns: [Column<'_>; N],
    others: &[Column<'_>],
    (parent, mask): (ParentPort, Option<&[f64]>),
    buffer: &mut RowBuffer,
    sums: &mut [f64],
) {
    let mask = mask.filter(|_| !parent.is_vector);
    for row in rows.words.chunks_exact(rows.stride) {
        let at = row[parent.word] as usize - parent.start;
        if mask.is_some_and(|mask| mask[at] == 0.0) {
            continue;
        }
        let Some(factor) = rows.constant_factor(row, 1.0) else { continue };
        let length = row[1] as usize;
        let streams = row_streams(columns, row);
        if !others.is_empty() {
            let buffer = &mut buffer[..length];
            write_products(streams, factor, buffer);
            multiply_by(others, row, buffer);
            if parent.is_vector {
                add_products([buffer], 1.0, &mut sums[at..at + length]);
            } else {
                sums[at] += sum_products([buffer], length);
            }
        } else if parent.is_vector {
            add_products(streams, factor, &mut sums[at..at + length]);
        } else {
            sums[at] += factor * sum_products(streams, length);
        }
    }
}

#[inline(always)]
fn distribute_rows(
    rows: FactoredRows<'_>,
    from_parent: FromParent<'_>,
    onto: Onto<'_>,
    buffer: &mut RowBuffer,
    sums: &mut [f64],
) {
    let (varying, constant) = parent_columns(from_parent);
    let (columns, count) = rows.varying_columns(varying);
    let FactoredRows { words, stride, .. } = rows;
    let factor = |row: &[u32]| {
        let start = constant.map_or(1.0, |(table, word)| table[row[word] as usize]);
        rows.constant_factor(row, start)
    };
    if let Some((&values, streams)) = columns[..count].split_first() {
        return Columns { words, stride, values, streams }.distribute(factor, onto, buffer, sums);
    }
    for row in words.chunks_exact(stride) {
        let Some(factor) = factor(row) else { continue };
        let length = row[1] as usize;
        for &word in &onto.words.vectors {
            let at = word.at(row);
            sums[at..at + length].iter_mut().for_each(|sum| *sum += factor);
        }
        let sum = factor * length as f64;
        onto.words.scalars.iter().for_each(|word| sums[word.at(row)] += sum);
    }
}

/// Multiplies `buffer` by the streams of all `columns`.
#[inline(always)]
fn multiply_by(columns: &[Column<'_>], row: &[u32], buffer: &mut [f64]) {
    for &column in columns {
        let values = stream(column, row);
        buffer.iter_mut().zip(values).for_each(|(entry, value)| *entry *= value);
    }
}

/// The product of the numbers at position `at` of `streams`; one if there are no streams.
#[inline(always)]
fn product<const N: usize>(streams: [&[f64]; N], at: usize) -> f64 {
    let Some((first, others)) = streams.split_first() else { return 1.0 };
    others.iter().fold(first[at], |product, stream| product * stream[at])
}

/// Calls `update` with every entry of `entries` and the product of `streams` at the same position.
///
/// The compiler unrolls the first loop to steps of 4 * [`LANES`] entries, and would handle the rest
/// entry by entry. The next two steps have a fixed length, so they become vector instructions too.
#[inline(always)]
fn for_each_product<const N: usize>(
    streams: [&[f64]; N],
    entries: &mut [f64],
    update: impl Fn(&mut f64, f64),
) {
    let (main, mut rest) = entries.split_at_mut(entries.len() / (4 * LANES) * (4 * LANES));
    let main_streams = streams.map(|stream| &stream[..main.len()]);
    main.iter_mut().enumerate().for_each(|(at, entry)| update(entry, product(main_streams, at)));
    let mut streams = streams.map(|stream| &stream[main.len()..]);
    for_first_products::<{ 2 * LANES }, N>(&mut streams, &mut rest, &update);
    for_first_products::<LANES, N>(&mut streams, &mut rest, &update);
    let streams = streams.map(|stream| &stream[..rest.len()]);
    rest.iter_mut().enumerate().for_each(|(at, entry)| update(entry, product(streams, at)));
}

/// As [`for_each_product`], but only for the first `L` entries, which are then removed from the
/// slices. Does nothing if there are fewer entries.
#[inline(always)]
fn for_first_products<const L: usize, const N: usize>(
    streams: &mut [&[f64]; N],
    entries: &mut &mut [f64],
    update: &impl Fn(&mut f64, f64),
) {
    if entries.len() < L {
        return;
    }
    let (first, rest) = std::mem::take(entries).split_at_mut(L);
    let first_streams = streams.map(|stream| &stream[..L]);
    for (at, entry) in first[..L].iter_mut().enumerate() {
        update(entry, product(first_streams, at));
    }
    (*streams, *entries) = (streams.map(|stream| &stream[L..]), rest);
}

/// Sets each of `entries` to `factor` times the product of `streams` at the same position.
#[inline(always)]
fn write_products<const N: usize>(streams: [&[f64]; N], factor: f64, entries: &mut [f64]) {
    for_each_product(streams, entries, |entry, product| *entry = factor * product);
}

/// Adds to each of `sums` `factor` times the product of `streams` at the same position.
#[inline(always)]
fn add_products<const N: usize>(streams: [&[f64]; N], factor: f64, sums: &mut [f64]) {
    for_each_product(streams, sums, |sum, product| *sum += factor * product);
}

/// The sum over the first `length` positions of the products of `streams`.
///
/// Position i is added to partial sum number i mod (2 * [`LANES`]). Then the partial sums are added
/// in a fixed order, and then the fewer than [`LANES`] positions at the end, one by one.
#[inline(always)]
fn sum_products<const N: usize>(streams: [&[f64]; N], length: usize) -> f64 {
    if N == 0 {
        return length as f64;
    }
    let whole = length / LANES * LANES;
    let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
    let streams = streams.map(|stream| &stream[..length]);
    for from in (0..whole).step_by(2 * LANES) {
        add_to_partial_sums(streams, from, &mut even);
        if from + LANES < whole {
            add_to_partial_sums(streams, from + LANES, &mut odd);
        }
    }
    even.iter_mut().zip(odd).for_each(|(even, odd)| *even += odd);
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            even[lane] += even[lane + half];
        }
        half /= 2;
    }
    (whole..length).fold(even[0], |sum, at| sum + product(streams, at))
}

/// Adds the products of `streams` at the [`LANES`] positions that begin with `from` to `sums`.
#[inline(always)]
fn add_to_partial_sums<const N: usize>(streams: [&[f64]; N], from: usize, sums: &mut [f64; LANES]) {
    let parts = streams.map(|stream| &stream[from..from + LANES]);
    sums.iter_mut().enumerate().for_each(|(lane, sum)| *sum += product(parts, lane));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_sums_take_in_every_entry_of_a_row_once() {
        let count_from =
            |start: f64| -> Vec<f64> { (0..90).map(|at| start + f64::from(at)).collect() };
        let tables = [count_from(1.0), count_from(3.0), count_from(0.5), count_from(-7.0)];
        for length in 0..85 {
            let streams = [0, 1, 2, 3].map(|number| &tables[number][..]);
            let product_at = |at: usize| tables.iter().map(|table| table[at]).product::<f64>();
            let mut found = count_from(-3.0);
            add_products(streams, 2.0, &mut found[..length]);
            for (at, (found, before)) in found.iter().zip(count_from(-3.0)).enumerate() {
                let expected = if at < length { before + 2.0 * product_at(at) } else { before };
                assert_eq!(*found, expected, "entry {at} of {length}");
            }
            write_products([streams[0], streams[2]], 4.0, &mut found[..length]);
            let written = |at: usize| 4.0 * tables[0][at] * tables[2][at];
            assert!(found[..length].iter().enumerate().all(|(at, found)| *found == written(at)));
            write_products([], 4.0, &mut found[..length]);
            assert!(found[..length].iter().all(|found| *found == 4.0));
            let sum: f64 = (0..length).map(product_at).sum();
            assert!((sum_products(streams, length) - sum).abs() <= 1e-12 * sum.abs(), "{length}");
            assert_eq!(sum_products([], length), length as f64);
        }
    }
}
