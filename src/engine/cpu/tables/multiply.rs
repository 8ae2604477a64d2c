//! The loops that multiply the factors of a clique into its table.
//!
//! A full table is written run by run ([`fill`](super::fill) defines runs), and a table from which
//! entries are left out is written row by row. For entry i of a run,
//!
//! ```text
//! entry[i] = scale * product of the factors that are constant along the run
//!                  * earlier[i] * product of the other factors f of  f[start_f + offset_f(i)]
//! ```
//!
//! The first line is one number for the whole run. The second line is computed with vector
//! instructions: the values of one factor along the run are a *stream*, and up to three streams are
//! multiplied in one pass, which also finds the largest product. `earlier` is the product of
//! factors that were multiplied before, if there are any.

use std::borrow::Cow;

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use crate::engine::cpu::vector::larger;
use crate::engine::lanes::{LANES, Lanes};
use crate::engine::simd::simd_dispatch;
use crate::potential::Entry;

/// Maximum number of factors that are multiplied before the product is rescaled. A product of more
/// small numbers might underflow.
pub const MAX_FACTORS: usize = 8;

/// Minimum number of entries that a thread fills at a time, except at the end. Tuned on the paper's
/// eight networks; if it is wrong, only speed changes.
const PIECE_ENTRIES: usize = 32_768;

/// Number of entries that are computed at a time if more than three streams are multiplied, so that
/// they stay in the L1 cache. If it is wrong, only speed changes.
const CHUNK_ENTRIES: usize = 256;

/// The rows of a table from which some entries are left out.
#[derive(Clone, Copy)]
pub struct SparseRows<'a> {
    /// By row: its first entry in the full table.
    pub starts: &'a [u32],
    /// The words of all rows, `stride` each; see [`rows`](crate::engine::cpu::tree::rows).
    pub words: &'a [u32],
    pub stride: usize,
    /// For each entry of the rows: 1 if the entry is possible, otherwise 0.
    pub possible: &'a [u8],
}

/// A factor as the runs of a table read it.
pub struct FactorRuns<'a> {
    /// The first element of [`Product::starts`] that belongs to this factor.
    pub starts: usize,
    pub source: RunSource<'a>,
}

/// How the values by which a run of a table is multiplied are read. Each kind holds all values of
/// the factor; [`Product::starts`] says where those for a run begin.
pub enum RunSource<'a> {
    /// One value for the whole run.
    Scalar(&'a [f64]),
    /// Consecutive values: those of the factor, or a copy in another order.
    Run(Cow<'a, [f64]>),
    /// Values in any order. The second field has, for each position in the run, the offset of its
    /// value from the first value along the run.
    Scattered(&'a [f64], Box<[u32]>),
}

/// A product of factors and, optionally, of a table that was made earlier.
#[derive(Clone, Copy)]
pub struct Product<'a> {
    pub factors: &'a [FactorRuns<'a>],
    /// For each factor, and for each run of the table: the index of the factor's first value along
    /// the run.
    pub starts: &'a [u32],
    /// The product of earlier factors, as a table in the same order.
    pub earlier: Option<&'a [f64]>,
    /// Number of entries of a run.
    pub length: usize,
}

impl Product<'_> {
    /// A buffer as long as a run, for scattered values; empty if no factor is scattered.
    pub fn buffer(self) -> Vec<f64> {
        let is_scattered =
            |factor: &FactorRuns<'_>| matches!(factor.source, RunSource::Scattered(..));
        vec![0.0; if self.factors.iter().any(is_scattered) { self.length } else { 0 }]
    }

    /// Fills `table` with the product times `scale`, on several threads if `forks` and the table is
    /// large. Returns the largest entry.
    pub fn fill<T: Entry>(self, scale: f64, table: &mut [T], forks: bool) -> f64 {
        let pieces = if forks { (table.len() / PIECE_ENTRIES).max(1) } else { 1 };
        let runs_per_piece = (table.len() / self.length).div_ceil(pieces).max(1);
        let fill_piece = |(number, piece): (usize, &mut [T])| {
            let (mut largest, mut buffer) = (0.0, self.buffer());
            let first_run = number * runs_per_piece;
            multiply(self, first_run, scale, &mut buffer, piece, &mut largest);
            largest
        };
        if pieces == 1 {
            return fill_piece((0, table));
        }
        let pieces = table.par_chunks_mut(runs_per_piece * self.length).enumerate();
        pieces.map(fill_piece).reduce(|| 0.0, f64::max)
    }
}

simd_dispatch!(
    /// Writes the product times `scale` into `table`, which begins with run number `first_run`.
    /// Raises `largest` to the largest entry. `buffer` comes from [`Product::buffer`].
    multiply<Entry>, multiply_runs with lanes,
    (
        product: Product<'_>,
        first_run: usize,
        scale: f64,
        buffer: &mut [f64],
        table: &mut [T],
        largest: &mut f64
    )
);

#[inline(always)]
fn multiply_runs<T: Entry>(
    lanes: impl Lanes,
    product: Product<'_>,
    first_run: usize,
    scale: f64,
    buffer: &mut [f64],
    table: &mut [T],
    largest: &mut f64,
) {
    let Product { factors, starts, earlier, length } = product;
    for (entries, run) in table.chunks_exact_mut(length).zip(first_run..) {
        let start = |factor: &FactorRuns<'_>| starts[factor.starts + run] as usize;
        let scale = multiply_scalars(factors, start, scale);
        if scale == 0.0 {
            entries.fill(T::ZERO);
            continue;
        }
        let earlier = earlier.map(|earlier| &earlier[run * length..]);
        let own_largest =
            multiply_stretch(lanes, factors, start, (earlier, 0), scale, buffer, entries);
        *largest = larger(*largest, own_largest);
    }
}

simd_dispatch!(
    /// Writes the entries of the product that `sparse` lists, times `scale`, into `table`. Raises
    /// `largest` to an upper bound on these entries. `buffer` comes from [`Product::buffer`].
    pub multiply_sparse<Entry>, multiply_rows with lanes,
    (
        product: Product<'_>,
        sparse: SparseRows<'_>,
        scale: f64,
        buffer: &mut [f64],
        table: &mut [T],
        largest: &mut f64
    )
);

#[inline(always)]
fn multiply_rows<T: Entry>(
    lanes: impl Lanes,
    product: Product<'_>,
    sparse: SparseRows<'_>,
    scale: f64,
    buffer: &mut [f64],
    table: &mut [T],
    largest: &mut f64,
) {
    let Product { factors, starts, earlier, length } = product;
    for (row, &first_entry) in sparse.words.chunks_exact(sparse.stride).zip(sparse.starts) {
        let first_entry = first_entry as usize;
        let range = row[0] as usize..(row[0] + row[1]) as usize;
        let (run, offset) = (first_entry / length, first_entry % length);
        let start = |factor: &FactorRuns<'_>| starts[factor.starts + run] as usize;
        let scale = multiply_scalars(factors, start, scale);
        let earlier = earlier.map(|earlier| &earlier[first_entry..]);
        let entries = &mut table[range.clone()];
        let own_largest =
            multiply_stretch(lanes, factors, start, (earlier, offset), scale, buffer, entries);
        for (entry, &possible) in entries.iter_mut().zip(&sparse.possible[range]) {
            *entry = if possible == 0 { T::ZERO } else { *entry };
        }
        *largest = larger(*largest, own_largest);
    }
}

/// `scale` times all factors that are constant along the run. `start` gives the position of a
/// factor's first value along the run.
#[inline(always)]
fn multiply_scalars(
    factors: &[FactorRuns<'_>],
    start: impl Fn(&FactorRuns<'_>) -> usize,
    scale: f64,
) -> f64 {
    factors.iter().fold(scale, |scale, factor| match factor.source {
        RunSource::Scalar(values) => scale * values[start(factor)],
        _ => scale,
    })
}

/// Writes a stretch of a run into `entries`: `scale` times `earlier` times all factors that vary
/// along the run. Returns the largest of these products.
///
/// The stretch begins `offset` entries into the run, and `earlier` begins with the stretch. `start`
/// gives the position of a factor's first value along the run. If a factor is scattered, `buffer`
/// must be at least as long as the stretch.
#[inline(always)]
fn multiply_stretch<T: Entry>(
    lanes: impl Lanes,
    factors: &[FactorRuns<'_>],
    start: impl Fn(&FactorRuns<'_>) -> usize,
    (earlier, offset): (Option<&[f64]>, usize),
    scale: f64,
    buffer: &mut [f64],
    entries: &mut [T],
) -> f64 {
    let length = entries.len();
    let mut has_scattered = false;
    // The earlier table, the factors with consecutive values, and the product of the scattered
    // factors.
    let mut streams: [&[f64]; MAX_FACTORS + 2] = [&[]; MAX_FACTORS + 2];
    let mut count = 0;
    let mut add_stream = |values| {
        streams[count] = values;
        count += 1;
    };
    if let Some(earlier) = earlier {
        add_stream(&earlier[..length]);
    }
    for factor in factors {
        match &factor.source {
            RunSource::Scalar(_) => {}
            RunSource::Run(values) => add_stream(&values[start(factor) + offset..][..length]),
            RunSource::Scattered(values, offsets) => {
                let values = &values[start(factor)..];
                let terms = buffer[..length].iter_mut().zip(&offsets[offset..]);
                if std::mem::replace(&mut has_scattered, true) {
                    terms.for_each(|(entry, &offset)| *entry *= values[offset as usize]);
                } else {
                    terms.for_each(|(entry, &offset)| *entry = values[offset as usize]);
                }
            }
        }
    }
    if has_scattered {
        add_stream(&buffer[..length]);
    }
    let largest = match streams[..count] {
        [] => {
            entries.fill(T::from_f64(scale));
            1.0
        }
        [a] => multiply_streams(lanes, [a], scale, entries),
        [a, b] => multiply_streams(lanes, [a, b], scale, entries),
        [a, b, c] => multiply_streams(lanes, [a, b, c], scale, entries),
        [a, b, c, ref others @ ..] => {
            multiply_many_streams(lanes, [a, b, c], others, scale, entries)
        }
    };
    scale * largest
}

/// Writes `scale` times the product of the streams `first` and `others` into `entries`, and returns
/// the largest product without `scale`.
#[inline(always)]
fn multiply_many_streams<T: Entry>(
    lanes: impl Lanes,
    first: [&[f64]; 3],
    others: &[&[f64]],
    scale: f64,
    entries: &mut [T],
) -> f64 {
    let mut buffer = [0.0; CHUNK_ENTRIES];
    let mut largest = 0.0;
    for (number, chunk) in entries.chunks_mut(CHUNK_ENTRIES).enumerate() {
        let from = number * CHUNK_ENTRIES;
        let products = &mut buffer[..chunk.len()];
        multiply_streams(lanes, first.map(|values| &values[from..][..chunk.len()]), 1.0, products);
        for values in others {
            let terms = products.iter_mut().zip(&values[from..]);
            terms.for_each(|(product, value)| *product *= value);
        }
        largest = larger(largest, multiply_streams(lanes, [&*products], scale, chunk));
    }
    largest
}

/// Writes `scale` times the product of `streams` into `entries`, and returns the largest product
/// without `scale`. The streams are at least as long as `entries`.
#[inline(always)]
fn multiply_streams<const N: usize, T: Entry>(
    lanes: impl Lanes,
    streams: [&[f64]; N],
    scale: f64,
    entries: &mut [T],
) -> f64 {
    let streams = streams.map(|values| &values[..entries.len()]);
    let (blocks, rest) = entries.as_chunks_mut::<LANES>();
    let count = blocks.len();
    let stream_blocks = streams.map(|values| &values.as_chunks::<LANES>().0[..count]);
    let scales = lanes.splat(scale);
    let mut found = lanes.splat(0.0);
    for (number, block) in blocks.iter_mut().enumerate() {
        let mut products = lanes.load(&stream_blocks[0][number]);
        for stream in &stream_blocks[1..] {
            products = lanes.multiply(products, lanes.load(&stream[number]));
        }
        found = lanes.larger(found, products);
        let values = lanes.to_array(lanes.multiply(scales, products));
        block.iter_mut().zip(values).for_each(|(entry, value)| *entry = T::from_f64(value));
    }
    let mut largest = lanes.to_array(found).into_iter().fold(0.0, larger);
    for (at, entry) in (count * LANES..).zip(rest) {
        let value = product(streams, at);
        *entry = T::from_f64(scale * value);
        largest = larger(largest, value);
    }
    largest
}

/// The product of the numbers at position `at` of `streams`. There is at least one stream.
#[inline(always)]
fn product<const N: usize>(streams: [&[f64]; N], at: usize) -> f64 {
    let first = streams[0][at];
    streams[1..].iter().fold(first, |product, values| product * values[at])
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::engine::lanes::{Avx2, Avx512, Portable};

    /// Number `at` of stream number `stream`.
    fn value(stream: usize, at: usize) -> f64 {
        0.1 + ((at * 7 + stream * 3) % 11) as f64
    }

    /// The products of `N` streams of `length` numbers, and the largest without the scale.
    fn products<const N: usize, T: Entry>(lanes: impl Lanes, length: usize) -> (Vec<f64>, f64) {
        let streams: [Vec<f64>; N] =
            std::array::from_fn(|stream| (0..length).map(|at| value(stream, at)).collect());
        let mut entries = vec![T::ZERO; length];
        let streams = streams.each_ref().map(Vec::as_slice);
        let largest = multiply_streams(lanes, streams, 0.3, &mut entries);
        (entries.iter().map(|entry| entry.to_f64()).collect(), largest)
    }

    fn check<const N: usize, T: Entry>() {
        for length in 0..20 {
            let product = |at| (1..N).fold(value(0, at), |product, s| product * value(s, at));
            let entry = |at| T::from_f64(0.3 * product(at)).to_f64();
            let largest = (0..length).map(product).fold(0.0, f64::max);
            let expected = ((0..length).map(entry).collect(), largest);
            assert_eq!(products::<N, T>(Portable, length), expected, "{N} streams of {length}");
            if let Some(lanes) = Avx2::detect() {
                assert_eq!(products::<N, T>(lanes, length), expected, "AVX2, {N} of {length}");
            }
            if let Some(lanes) = Avx512::detect() {
                assert_eq!(products::<N, T>(lanes, length), expected, "AVX-512, {N} of {length}");
            }
        }
    }

    #[test]
    fn all_instructions_multiply_streams_of_any_length() {
        check::<1, f64>();
        check::<2, f64>();
        check::<3, f64>();
        check::<3, f32>();
    }
}
