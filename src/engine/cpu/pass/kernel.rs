//! The loops over a clique's table.
//!
//! Written so that a compiler sees vectors: sums run in a fixed number of lanes and products go
//! entry by entry, without conditions. The code is compiled three times, for AVX-512, for AVX2
//! and for any machine, and the best that the machine has is chosen when it runs. No fused
//! multiply-add is used and the number of lanes is fixed, so all three give the same bits.

use std::ops::Range;

use crate::engine::cpu::tree::layout::LONGEST_ROW;
use crate::engine::simd::simd_dispatch;
use crate::potential::Entry;

/// Room for the products of a row.
pub type Row = [f64; LONGEST_ROW];

/// Words of a row before those of the ports: the first entry and the number of entries.
pub const ROW_HEAD: usize = 2;

/// Exponents of scales that are not worth a pass over a table.
pub const NEAR_ONE: Range<i32> = -16..17;

/// Partial sums that a sum is made of.
const LANES: usize = 16;

/// The table of a clique as its non-zero rows.
///
/// A row is a run of consecutive entries along the fastest group. It is described by `stride`
/// words: where its entries start in `values`, how many they are, and for each port the offset of
/// its first entry in the port's table.
#[derive(Clone, Copy)]
pub struct Rows<'a, T> {
    pub words: &'a [u32],
    pub stride: usize,
    pub values: &'a [T],
}

/// Tables that a row is multiplied by: one entry for the whole row, or one for each entry.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// What the columns' offsets point into.
    pub table: &'a [f64],
    /// Words of a row that point at one factor for the whole row.
    pub scalars: &'a [u32],
    /// Words of a row that point at as many factors as the row has entries.
    pub vectors: &'a [u32],
}

/// The table of the separator to the parent, and how rows point into it.
#[derive(Clone, Copy, Debug)]
pub struct ParentPort {
    pub word: usize,
    /// The entry that the given part of the table starts with.
    pub start: usize,
    pub is_vector: bool,
}

simd_dispatch!(
    /// Adds to `sums`, the table of the parent's separator, the products of entries and inputs.
    ///
    /// Rows for which `mask`, indexed as `sums`, is zero are left out. `buffer` is room for a row.
    pub collect<Entry>, collect_rows,
    (
        rows: Rows<'_, T>,
        inputs: Inputs<'_>,
        parent: ParentPort,
        mask: Option<&[f64]>,
        buffer: &mut Row,
        sums: &mut [f64]
    )
);

simd_dispatch!(
    /// Adds to `sums` at all its ports the products of entries, inputs and what the parent says.
    ///
    /// `scalars` and `vectors` are the words of a row that point into `sums`, `buffer` is room for one.
    pub distribute<Entry>, distribute_rows,
    (
        rows: Rows<'_, T>,
        inputs: Inputs<'_>,
        from_parent: Option<(ParentPort, &[f64])>,
        scalars: &[u32],
        vectors: &[u32],
        buffer: &mut Row,
        sums: &mut [f64]
    )
);

#[inline(always)]
fn collect_rows<T: Entry>(
    rows: Rows<'_, T>,
    inputs: Inputs<'_>,
    parent: ParentPort,
    mask: Option<&[f64]>,
    buffer: &mut Row,
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
        let of = |word: u32| &inputs.table[row[word as usize] as usize..][..length];
        match (parent.is_vector, inputs.vectors) {
            (false, []) => sums[at] += factor * sum(values),
            (false, &[word]) => sums[at] += factor * dot(values, of(word)),
            (false, &[first, second]) => sums[at] += factor * dot3(values, of(first), of(second)),
            (true, []) => {
                let sums = &mut sums[at..at + length];
                sums.iter_mut().zip(values).for_each(|(s, v)| *s += factor * v.to_f64());
            }
            (true, &[word]) => {
                let sums = &mut sums[at..at + length];
                let terms = values.iter().zip(of(word));
                sums.iter_mut().zip(terms).for_each(|(s, (v, x))| *s += factor * v.to_f64() * x);
            }
            (is_vector, vectors) => {
                let buffer = &mut buffer[..length];
                multiply(values, factor, None, row, vectors, inputs.table, buffer);
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
    from_parent: Option<(ParentPort, &[f64])>,
    scalars: &[u32],
    vectors: &[u32],
    buffer: &mut Row,
    sums: &mut [f64],
) {
    for row in rows.words.chunks_exact(rows.stride) {
        let (start, along) = match from_parent {
            None => (1.0, None),
            Some((port, table)) if port.is_vector => (1.0, Some(&table[row[port.word] as usize..])),
            Some((port, table)) => (table[row[port.word] as usize], None),
        };
        let Some(factor) = factor(row, start, inputs) else { continue };
        let values = entries(rows.values, row);
        let buffer = &mut buffer[..values.len()];
        multiply(values, factor, along, row, inputs.vectors, inputs.table, buffer);
        for &word in vectors {
            let at = row[word as usize] as usize;
            add(&mut sums[at..at + values.len()], buffer);
        }
        if !scalars.is_empty() {
            let sum = sum(buffer);
            for &word in scalars {
                sums[row[word as usize] as usize] += sum;
            }
        }
    }
}

/// The product of all factors that are one for the whole row; `None` if it is zero.
#[inline(always)]
fn factor(row: &[u32], start: f64, inputs: Inputs<'_>) -> Option<f64> {
    let of = |&word: &u32| inputs.table[row[word as usize] as usize];
    let factor = inputs.scalars.iter().map(of).fold(start, |a, b| a * b);
    (factor != 0.0).then_some(factor)
}

#[inline(always)]
fn entries<'a, T>(values: &'a [T], row: &[u32]) -> &'a [T] {
    &values[row[0] as usize..][..row[1] as usize]
}

/// Fills `buffer` with the products of a row's entries and its factors.
#[inline(always)]
fn multiply<T: Entry>(
    values: &[T],
    factor: f64,
    along: Option<&[f64]>,
    row: &[u32],
    vectors: &[u32],
    table: &[f64],
    buffer: &mut [f64],
) {
    let length = values.len();
    let of = |word: u32| &table[row[word as usize] as usize..][..length];
    let (first, rest) = match (along, vectors) {
        (Some(along), rest) => (Some(&along[..length]), rest),
        (None, [word, rest @ ..]) => (Some(of(*word)), rest),
        (None, []) => (None, vectors),
    };
    match (first, rest) {
        (None, _) => {
            buffer.iter_mut().zip(values).for_each(|(b, v)| *b = factor * v.to_f64());
        }
        (Some(first), []) => {
            let terms = values.iter().zip(first);
            buffer.iter_mut().zip(terms).for_each(|(b, (v, x))| *b = factor * v.to_f64() * x);
        }
        (Some(first), [word, rest @ ..]) => {
            let terms = values.iter().zip(first).zip(of(*word));
            buffer
                .iter_mut()
                .zip(terms)
                .for_each(|(b, ((v, x), y))| *b = factor * v.to_f64() * x * y);
            for &word in rest {
                buffer.iter_mut().zip(of(word)).for_each(|(b, x)| *b *= x);
            }
        }
    }
}

#[inline(always)]
fn add(sums: &mut [f64], terms: &[f64]) {
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}

/// The sum of `values`, in lanes.
#[inline(always)]
pub fn sum<T: Entry>(values: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().fold(0.0, |sum, v| sum + v.to_f64());
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, v)| *lane += v.to_f64());
    }
    fold(values.len(), lanes) + rest
}

#[inline(always)]
fn dot<T: Entry>(values: &[T], x: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let others = x.chunks_exact(LANES);
    let rest = chunks.remainder().iter().zip(others.remainder());
    let rest: f64 = rest.fold(0.0, |sum, (v, x)| sum + v.to_f64() * x);
    for (chunk, x) in chunks.zip(others) {
        let terms = chunk.iter().zip(x);
        lanes.iter_mut().zip(terms).for_each(|(lane, (v, x))| *lane += v.to_f64() * x);
    }
    fold(values.len(), lanes) + rest
}

#[inline(always)]
fn dot3<T: Entry>(values: &[T], x: &[f64], y: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest = chunks.remainder().iter().zip(xs.remainder()).zip(ys.remainder());
    let rest: f64 = rest.fold(0.0, |sum, ((v, x), y)| sum + v.to_f64() * x * y);
    for ((chunk, x), y) in chunks.zip(xs).zip(ys) {
        let terms = chunk.iter().zip(x).zip(y);
        lanes.iter_mut().zip(terms).for_each(|(lane, ((v, x), y))| *lane += v.to_f64() * x * y);
    }
    fold(values.len(), lanes) + rest
}

/// The sum of the lanes, halves first; none of them was used if `length` is short.
#[inline(always)]
fn fold(length: usize, mut lanes: [f64; LANES]) -> f64 {
    if length < LANES {
        return 0.0;
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}
