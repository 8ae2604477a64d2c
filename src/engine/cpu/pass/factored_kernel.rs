//! The loops over the rows of a clique whose table is a [product](Factored).
//!
//! As in [`kernel`](crate::engine::cpu::pass::kernel), but all that runs along with a row is multiplied in
//! one pass, and there is no table. How many such streams there are is known when the code is
//! compiled, up to four; of more, four are multiplied first.

use crate::engine::cpu::pass::kernel::{Inputs, ParentPort, Row};
use crate::engine::cpu::tables::factored::{Factored, MOST_STREAMS};
use crate::engine::simd::simd_dispatch;

/// Entries that are multiplied together; the rest of a row goes one by one.
const LANES: usize = 8;

/// A table and the word of a row that points into it.
type Column<'a> = (&'a [f64], usize);

/// Rows of a product.
#[derive(Clone, Copy)]
pub struct Products<'a> {
    pub words: &'a [u32],
    pub stride: usize,
    pub product: &'a Factored,
    /// What it is multiplied by.
    pub inputs: Inputs<'a>,
}

/// What comes from the parent, and how rows point into it.
pub type FromParent<'a> = Option<(ParentPort, &'a [f64])>;

simd_dispatch!(
    /// Adds to `sums`, the table of the parent's separator, the products of rows and inputs; as
    /// [`kernel::collect`](crate::engine::cpu::pass::kernel::collect).
    pub collect, collect_rows,
    (
        rows: Products<'_>,
        parent: ParentPort,
        mask: Option<&[f64]>,
        buffer: &mut Row,
        sums: &mut [f64]
    )
);

simd_dispatch!(
    /// Adds to `sums` at all its ports the products of rows, inputs and what the parent says; as
    /// [`kernel::distribute`](crate::engine::cpu::pass::kernel::distribute). `buffer` is the room for a row.
    pub distribute, distribute_rows,
    (
        rows: Products<'_>,
        from_parent: FromParent<'_>,
        scalars: &[u32],
        vectors: &[u32],
        buffer: &mut Row,
        sums: &mut [f64]
    )
);

impl<'a> Products<'a> {
    /// The tables that run along with a row.
    fn columns(&self, along: Option<Column<'a>>) -> ([Column<'a>; MOST_STREAMS], usize) {
        let own = self.product.vectors.iter().map(|&w| (&*self.product.values, w as usize));
        let said = self.inputs.vectors.iter().map(|&w| (self.inputs.table, w as usize));
        let mut columns: [Column<'a>; MOST_STREAMS] = [(&[], 0); MOST_STREAMS];
        let mut count = 0;
        for column in own.chain(said).chain(along) {
            columns[count] = column;
            count += 1;
        }
        (columns, count)
    }

    /// `start` times all that is one number for the whole row; `None` if it is zero.
    #[inline(always)]
    fn factor(&self, row: &[u32], start: f64) -> Option<f64> {
        let own = |&word: &u32| self.product.values[row[word as usize] as usize];
        let factor = self.product.scalars.iter().map(own).fold(start, |a, b| a * b);
        let said = |&word: &u32| self.inputs.table[row[word as usize] as usize];
        let factor = self.inputs.scalars.iter().map(said).fold(factor, |a, b| a * b);
        (factor != 0.0).then_some(factor)
    }
}

#[inline(always)]
fn collect_rows(
    rows: Products<'_>,
    parent: ParentPort,
    mask: Option<&[f64]>,
    buffer: &mut Row,
    sums: &mut [f64],
) {
    let (columns, count) = rows.columns(None);
    match columns[..count] {
        [] => collect_along(rows, [], &[], (parent, mask), buffer, sums),
        [a] => collect_along(rows, [a], &[], (parent, mask), buffer, sums),
        [a, b] => collect_along(rows, [a, b], &[], (parent, mask), buffer, sums),
        [a, b, c] => collect_along(rows, [a, b, c], &[], (parent, mask), buffer, sums),
        [a, b, c, d, ref others @ ..] => {
            collect_along(rows, [a, b, c, d], others, (parent, mask), buffer, sums);
        }
    }
}

#[inline(always)]
fn collect_along<const N: usize>(
    rows: Products<'_>,
    columns: [Column<'_>; N],
    others: &[Column<'_>],
    (parent, mask): (ParentPort, Option<&[f64]>),
    buffer: &mut Row,
    sums: &mut [f64],
) {
    let mask = mask.filter(|_| !parent.is_vector);
    for row in rows.words.chunks_exact(rows.stride) {
        let at = row[parent.word] as usize - parent.start;
        if mask.is_some_and(|mask| mask[at] == 0.0) {
            continue;
        }
        let Some(factor) = rows.factor(row, 1.0) else { continue };
        let length = row[1] as usize;
        let streams = columns.map(|column| along(column, row, length));
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
    rows: Products<'_>,
    from_parent: FromParent<'_>,
    scalars: &[u32],
    vectors: &[u32],
    buffer: &mut Row,
    sums: &mut [f64],
) {
    let along = from_parent.filter(|(port, _)| port.is_vector);
    let (columns, count) = rows.columns(along.map(|(port, table)| (table, port.word)));
    let scale = from_parent.filter(|(port, _)| !port.is_vector);
    let scale = scale.map(|(port, table)| (table, port.word));
    let onto = (scalars, vectors);
    match columns[..count] {
        [] => distribute_along(rows, [], &[], scale, onto, buffer, sums),
        [a] => distribute_along(rows, [a], &[], scale, onto, buffer, sums),
        [a, b] => distribute_along(rows, [a, b], &[], scale, onto, buffer, sums),
        [a, b, c] => distribute_along(rows, [a, b, c], &[], scale, onto, buffer, sums),
        [a, b, c, d, ref others @ ..] => {
            distribute_along(rows, [a, b, c, d], others, scale, onto, buffer, sums);
        }
    }
}

#[inline(always)]
fn distribute_along<const N: usize>(
    rows: Products<'_>,
    columns: [Column<'_>; N],
    others: &[Column<'_>],
    scale: Option<Column<'_>>,
    (scalars, vectors): (&[u32], &[u32]),
    buffer: &mut Row,
    sums: &mut [f64],
) {
    for row in rows.words.chunks_exact(rows.stride) {
        let start = scale.map_or(1.0, |(table, word)| table[row[word] as usize]);
        let Some(factor) = rows.factor(row, start) else { continue };
        let length = row[1] as usize;
        let streams = columns.map(|column| along(column, row, length));
        if others.is_empty() && vectors.is_empty() {
            let sum = factor * sum_products(streams, length);
            scalars.iter().for_each(|&word| sums[row[word as usize] as usize] += sum);
            continue;
        }
        if let ([], [word], []) = (others, vectors, scalars) {
            let at = row[*word as usize] as usize;
            add_products(streams, factor, &mut sums[at..at + length]);
            continue;
        }
        let buffer = &mut buffer[..length];
        write_products(streams, factor, buffer);
        multiply_by(others, row, buffer);
        for &word in vectors {
            let at = row[word as usize] as usize;
            add_products([&*buffer], 1.0, &mut sums[at..at + length]);
        }
        if !scalars.is_empty() {
            let sum = sum_products([&*buffer], length);
            scalars.iter().for_each(|&word| sums[row[word as usize] as usize] += sum);
        }
    }
}

/// What of a column runs along with a row.
#[inline(always)]
fn along<'a>((table, word): Column<'a>, row: &[u32], length: usize) -> &'a [f64] {
    &table[row[word] as usize..][..length]
}

#[inline(always)]
fn multiply_by(others: &[Column<'_>], row: &[u32], buffer: &mut [f64]) {
    for &other in others {
        let values = along(other, row, buffer.len());
        buffer.iter_mut().zip(values).for_each(|(entry, value)| *entry *= value);
    }
}

/// The product of the numbers in this place of `streams`; one where there are none.
#[inline(always)]
fn product<const N: usize>(streams: [&[f64]; N], at: usize) -> f64 {
    let Some((first, others)) = streams.split_first() else { return 1.0 };
    others.iter().fold(first[at], |product, stream| product * stream[at])
}

/// Calls `each` with every one of `entries` and the product of `streams` in its place.
///
/// A compiler makes vectors of four times [`LANES`] of the first loop and goes through what is left
/// entry by entry. In the next two steps it sees how many there are.
#[inline(always)]
fn each_product<const N: usize>(
    streams: [&[f64]; N],
    entries: &mut [f64],
    each: impl Fn(&mut f64, f64),
) {
    let (many, mut rest) = entries.split_at_mut(entries.len() / (4 * LANES) * (4 * LANES));
    let along = streams.map(|stream| &stream[..many.len()]);
    many.iter_mut().enumerate().for_each(|(at, entry)| each(entry, product(along, at)));
    let mut streams = streams.map(|stream| &stream[many.len()..]);
    each_of::<{ 2 * LANES }, N>(&mut streams, &mut rest, &each);
    each_of::<LANES, N>(&mut streams, &mut rest, &each);
    let along = streams.map(|stream| &stream[..rest.len()]);
    rest.iter_mut().enumerate().for_each(|(at, entry)| each(entry, product(along, at)));
}

/// The same for the first `L` entries, if there are so many, and leaves the others.
#[inline(always)]
fn each_of<const L: usize, const N: usize>(
    streams: &mut [&[f64]; N],
    entries: &mut &mut [f64],
    each: &impl Fn(&mut f64, f64),
) {
    if entries.len() < L {
        return;
    }
    let (first, rest) = std::mem::take(entries).split_at_mut(L);
    let along = streams.map(|stream| &stream[..L]);
    for (at, entry) in first[..L].iter_mut().enumerate() {
        each(entry, product(along, at));
    }
    (*streams, *entries) = (streams.map(|stream| &stream[L..]), rest);
}

#[inline(always)]
fn write_products<const N: usize>(streams: [&[f64]; N], factor: f64, entries: &mut [f64]) {
    each_product(streams, entries, |entry, product| *entry = factor * product);
}

#[inline(always)]
fn add_products<const N: usize>(streams: [&[f64]; N], factor: f64, sums: &mut [f64]) {
    each_product(streams, sums, |sum, product| *sum += factor * product);
}

#[inline(always)]
fn add_lanes<const N: usize>(streams: [&[f64]; N], from: usize, sums: &mut [f64; LANES]) {
    let parts = streams.map(|stream| &stream[from..from + LANES]);
    sums.iter_mut().enumerate().for_each(|(lane, sum)| *sum += product(parts, lane));
}

/// The sum over all places of the products of `streams`, which are so long.
#[inline(always)]
fn sum_products<const N: usize>(streams: [&[f64]; N], length: usize) -> f64 {
    if N == 0 {
        return length as f64;
    }
    let whole = length / LANES * LANES;
    let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
    let streams = streams.map(|stream| &stream[..length]);
    for from in (0..whole).step_by(2 * LANES) {
        add_lanes(streams, from, &mut even);
        if from + LANES < whole {
            add_lanes(streams, from + LANES, &mut odd);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_row_is_multiplied_once() {
        let of = |start: f64| -> Vec<f64> { (0..90).map(|at| start + f64::from(at)).collect() };
        let tables = [of(1.0), of(3.0), of(0.5), of(-7.0)];
        for length in 0..85 {
            let streams = [0, 1, 2, 3].map(|number| &tables[number][..]);
            let naive = |at: usize| tables.iter().map(|table| table[at]).product::<f64>();
            let mut found = of(-3.0);
            add_products(streams, 2.0, &mut found[..length]);
            for (at, (found, before)) in found.iter().zip(of(-3.0)).enumerate() {
                let expected = if at < length { before + 2.0 * naive(at) } else { before };
                assert_eq!(*found, expected, "place {at} of {length}");
            }
            write_products([streams[0], streams[2]], 4.0, &mut found[..length]);
            let written = |at: usize| 4.0 * tables[0][at] * tables[2][at];
            assert!(found[..length].iter().enumerate().all(|(at, found)| *found == written(at)));
            write_products([], 4.0, &mut found[..length]);
            assert!(found[..length].iter().all(|found| *found == 4.0));
            let sum: f64 = (0..length).map(naive).sum();
            assert!((sum_products(streams, length) - sum).abs() <= 1e-12 * sum.abs(), "{length}");
            assert_eq!(sum_products([], length), length as f64);
        }
    }
}
