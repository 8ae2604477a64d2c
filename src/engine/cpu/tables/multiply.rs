//! The loops that multiply the factors of a clique into its table.
//!
//! A table is written once, run by run or, where entries are left out, row by row. What of a run is
//! no single number is multiplied stream by stream in vectors, and the largest entry is found in the
//! same pass.

use std::ops::Range;

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use crate::engine::simd::simd_dispatch;
use crate::potential::Entry;

/// Factors that are multiplied before the product is scaled: many small numbers must not become
/// nothing.
pub const AT_ONCE: usize = 8;

/// Entries from which on a table is filled by several threads.
const PIECE: usize = 32_768;

/// What is left of a table of which some entries are left out.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    /// The first entry of every row that is left, in the table with all entries.
    pub starts: &'a [u32],
    /// The words that describe the rows, and how many describe one.
    pub words: &'a [u32],
    pub stride: usize,
    /// For each entry that is left whether it is more than nothing.
    pub possible: &'a [u8],
}

/// A factor as the runs of a table meet it.
pub struct Part<'a> {
    /// Where in [`Filler::starts`] it is said where the factor begins.
    pub starts: usize,
    pub source: Source<'a>,
}

pub enum Source<'a> {
    /// One number for the whole run.
    Scalar(&'a [f64]),
    /// Numbers that stand side by side.
    Run(&'a [f64]),
    /// The same in a copy.
    Copy(Range<usize>),
    /// Numbers that stand apart, so far each from the first.
    Scattered(&'a [f64], Box<[u32]>),
}

/// A product of parts and of a table that was made before.
#[derive(Clone, Copy)]
pub struct Product<'a> {
    pub parts: &'a [Part<'a>],
    pub starts: &'a [u32],
    pub copies: &'a [f64],
    pub before: Option<&'a [f64]>,
    /// Entries of a run.
    pub length: usize,
}

impl Product<'_> {
    /// Room for a run of what does not stand side by side, if there is any.
    pub fn room(self) -> Vec<f64> {
        let is_scattered = |part: &Part<'_>| matches!(part.source, Source::Scattered(..));
        vec![0.0; if self.parts.iter().any(is_scattered) { self.length } else { 0 }]
    }

    /// Fills `table` with the product times `factor`, and gives its largest entry.
    pub fn fill<T: Entry>(self, factor: f64, table: &mut [T], forks: bool) -> f64 {
        let pieces = if forks { (table.len() / PIECE).max(1) } else { 1 };
        let runs = (table.len() / self.length).div_ceil(pieces).max(1);
        let fill = |(piece, table): (usize, &mut [T])| {
            let (mut largest, mut run) = (0.0, self.room());
            multiply(self, piece * runs, factor, &mut run, table, &mut largest);
            largest
        };
        if pieces == 1 {
            return fill((0, table));
        }
        let pieces = table.par_chunks_mut(runs * self.length).enumerate();
        pieces.map(fill).reduce(|| 0.0, f64::max)
    }
}

simd_dispatch!(
    /// Writes the product times `factor` into `table`, which begins with run number `first`, and
    /// into `largest` its largest entry. `run` is the room for one.
    multiply<Entry>, multiply_runs,
    (
        product: Product<'_>,
        first: usize,
        factor: f64,
        run: &mut [f64],
        table: &mut [T],
        largest: &mut f64
    )
);

#[inline(always)]
fn multiply_runs<T: Entry>(
    product: Product<'_>,
    first: usize,
    factor: f64,
    run: &mut [f64],
    table: &mut [T],
    largest: &mut f64,
) {
    let Product { parts, starts, copies, before, length } = product;
    for (entries, number) in table.chunks_exact_mut(length).zip(first..) {
        let start = |part: &Part<'_>| starts[part.starts + number] as usize;
        let factor = scalars(parts, start, factor);
        if factor == 0.0 {
            entries.fill(T::ZERO);
            continue;
        }
        let before = before.map(|before| &before[number * length..]);
        let own = multiply_run(parts, start, copies, (before, 0), factor, run, entries);
        *largest = larger(*largest, own);
    }
}

/// `factor` times all parts that are one number for the whole run.
#[inline(always)]
fn scalars(parts: &[Part<'_>], start: impl Fn(&Part<'_>) -> usize, factor: f64) -> f64 {
    parts.iter().fold(factor, |factor, part| match part.source {
        Source::Scalar(values) => factor * values[start(part)],
        _ => factor,
    })
}

/// The larger of two numbers, as one instruction of vectors has it.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Writes a stretch of a run into `entries`, the product of `factor` and of all parts that are not one
/// number for the whole run, and gives the largest entry. The stretch begins so many entries after
/// the run; a table that was made before is given from where the stretch begins. `room` is as
/// long as the stretch or longer where any part stands apart.
#[inline(always)]
fn multiply_run<T: Entry>(
    parts: &[Part<'_>],
    start: impl Fn(&Part<'_>) -> usize,
    copies: &[f64],
    (before, offset): (Option<&[f64]>, usize),
    factor: f64,
    room: &mut [f64],
    entries: &mut [T],
) -> f64 {
    let length = entries.len();
    let mut is_first = true;
    // The parts that stand side by side, and last the product of those that do not.
    let mut streams: [&[f64]; AT_ONCE + 2] = [&[]; AT_ONCE + 2];
    let mut count = 0;
    let mut stream = |values| {
        streams[count] = values;
        count += 1;
    };
    if let Some(before) = before {
        stream(&before[..length]);
    }
    for part in parts {
        match &part.source {
            Source::Scalar(_) => {}
            Source::Run(values) => stream(&values[start(part) + offset..][..length]),
            Source::Copy(range) => {
                stream(&copies[range.clone()][start(part) + offset..][..length]);
            }
            Source::Scattered(values, along) => {
                let values = &values[start(part)..];
                let terms = room[..length].iter_mut().zip(&along[offset..]);
                if std::mem::take(&mut is_first) {
                    terms.for_each(|(entry, &along)| *entry = values[along as usize]);
                } else {
                    terms.for_each(|(entry, &along)| *entry *= values[along as usize]);
                }
            }
        }
    }
    if !is_first {
        stream(&room[..length]);
    }
    let largest = match streams[..count] {
        [] => {
            entries.fill(T::from_f64(factor));
            1.0
        }
        [a] => multiply_streams([a], factor, entries),
        [a, b] => multiply_streams([a, b], factor, entries),
        [a, b, c] => multiply_streams([a, b, c], factor, entries),
        [a, b, c, ref others @ ..] => {
            let mut product = [0.0; LONGEST_AT_ONCE];
            let mut largest = 0.0;
            for (part, entries) in entries.chunks_mut(LONGEST_AT_ONCE).enumerate() {
                let from = part * LONGEST_AT_ONCE;
                let product = &mut product[..entries.len()];
                let first = [a, b, c].map(|values| &values[from..][..entries.len()]);
                multiply_streams(first, 1.0, product);
                for values in others {
                    let terms = product.iter_mut().zip(&values[from..]);
                    terms.for_each(|(entry, value)| *entry *= value);
                }
                let own = multiply_streams([&*product], factor, entries);
                largest = larger(largest, own);
            }
            largest
        }
    };
    factor * largest
}

/// Entries of a product of many factors that are computed at once.
const LONGEST_AT_ONCE: usize = 256;

/// The product of the numbers in this place of `streams`.
#[inline(always)]
fn product<const N: usize>(streams: [&[f64]; N], at: usize) -> f64 {
    let first = streams[0][at];
    streams[1..].iter().fold(first, |product, values| product * values[at])
}

/// Writes `factor` times the product of `streams` into `entries`, and gives the largest product.
#[inline(always)]
fn multiply_streams<const N: usize, T: Entry>(
    streams: [&[f64]; N],
    factor: f64,
    entries: &mut [T],
) -> f64 {
    const LANES: usize = 8;
    let streams = streams.map(|values| &values[..entries.len()]);
    let whole = entries.len() / LANES * LANES;
    let (chunks, rest) = entries.split_at_mut(whole);
    let mut lanes = [0.0; LANES];
    for (number, chunk) in chunks.chunks_exact_mut(LANES).enumerate() {
        let from = number * LANES;
        let parts = streams.map(|values| &values[from..from + LANES]);
        for lane in 0..LANES {
            let value = product(parts, lane);
            chunk[lane] = T::from_f64(factor * value);
            lanes[lane] = larger(lanes[lane], value);
        }
    }
    let mut largest = lanes.into_iter().fold(0.0, larger);
    for (at, entry) in (whole..).zip(rest) {
        let value = product(streams, at);
        *entry = T::from_f64(factor * value);
        largest = larger(largest, value);
    }
    largest
}

simd_dispatch!(
    /// Writes what is left of the product times `factor` into `table`, and into `largest` its largest
    /// entry. `run` is the room for one run.
    pub multiply_left<Entry>, multiply_rows,
    (
        product: Product<'_>,
        left: Left<'_>,
        factor: f64,
        run: &mut [f64],
        table: &mut [T],
        largest: &mut f64
    )
);

#[inline(always)]
fn multiply_rows<T: Entry>(
    product: Product<'_>,
    left: Left<'_>,
    factor: f64,
    run: &mut [f64],
    table: &mut [T],
    largest: &mut f64,
) {
    let Product { parts, starts, copies, before, length } = product;
    for (row, &at) in left.words.chunks_exact(left.stride).zip(left.starts) {
        let range = row[0] as usize..(row[0] + row[1]) as usize;
        let (number, offset) = (at as usize / length, at as usize % length);
        let start = |part: &Part<'_>| starts[part.starts + number] as usize;
        let factor = scalars(parts, start, factor);
        let before = before.map(|before| &before[at as usize..]);
        let entries = &mut table[range.clone()];
        let own = multiply_run(parts, start, copies, (before, offset), factor, run, entries);
        for (entry, &is) in entries.iter_mut().zip(&left.possible[range]) {
            *entry = if is == 0 { T::ZERO } else { *entry };
        }
        *largest = larger(*largest, own);
    }
}
