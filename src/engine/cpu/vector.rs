//! Elementary loops over runs of numbers: sums, products, scaling.
//!
//! Most are inlined into functions made by [`simd_dispatch`](crate::engine::simd), where the
//! compiler turns them into vector instructions. Sums are computed in a fixed number of partial
//! sums ([`LANES`]), so they give the same bits whatever instructions the machine has.

use std::ops;

use crate::engine::bounds::Bounds;
use crate::engine::simd::simd_dispatch;
use crate::potential::{Entry, Real, rescale};

/// Number of partial sums. More partial sums hide the latency of additions; fewer make short sums
/// cheaper. Changing the number changes the last bits of results.
const LANES: usize = 16;

/// A table is rescaled only if the power of two that brings its largest entry into [1, 2) has an
/// exponent outside this range. Within the range, a pass over the table is saved, and the table is
/// far from overflow and underflow.
pub const NEAR_ONE: ops::Range<i32> = -16..17;

/// Adds `terms` to `sums`, entry by entry.
#[inline(always)]
pub fn add(sums: &mut [f64], terms: &[f64]) {
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}

/// The sum of `values`.
#[inline(always)]
pub fn sum<T: Entry>(values: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().fold(0.0, |sum, v| sum + v.to_f64());
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, v)| *lane += v.to_f64());
    }
    sum_used_lanes(values.len(), lanes) + rest
}

/// The sum of the partial sums `lanes`, to which all chunks of `length` values were added, but not
/// the remainder. With fewer values than lanes, no lane was used.
#[inline(always)]
fn sum_used_lanes(length: usize, lanes: [f64; LANES]) -> f64 {
    if length < LANES { 0.0 } else { sum_lanes(lanes) }
}

/// The sum of `lanes`, whose number is a power of two. The upper half is added to the lower half
/// until one lane remains.
#[inline(always)]
pub fn sum_lanes<const L: usize>(mut lanes: [f64; L]) -> f64 {
    let mut half = L / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The larger of two numbers, written so that it compiles to one vector instruction.
#[inline(always)]
pub fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// The largest and the smallest nonzero entry of a table.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The largest entry; zero if all are zero.
    pub largest: f64,
    /// The smallest entry other than zero; infinity if all are zero.
    pub smallest: f64,
}

impl Default for Range {
    /// The range of a table without entries.
    fn default() -> Self {
        Self { largest: 0.0, smallest: f64::INFINITY }
    }
}

impl Range {
    /// The range of both tables together.
    pub fn union(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            smallest: self.smallest.min(other.smallest),
        }
    }

    /// The bounds on the entries, if nothing underflowed.
    pub fn bounds(self) -> Bounds {
        Bounds::new(self.largest, self.smallest)
    }
}

/// The range of `values`.
pub fn range(values: &[f64]) -> Range {
    let mut found = Range::default();
    extend_range(values, &mut found);
    found
}

/// Number of entries that are read twice in a row, the second time from the L1 cache. If it is
/// wrong, only speed changes.
const RANGE_PART: usize = 1 << 10;

simd_dispatch!(
    /// Extends `found` to the range of `values` too.
    extend_range, extend_range_in_parts, (values: &[f64], found: &mut Range)
);

#[inline(always)]
fn extend_range_in_parts(values: &[f64], found: &mut Range) {
    for part in values.chunks(RANGE_PART) {
        let (largest, smallest) = (largest(part, None), smallest_nonzero(part, None));
        *found = found.union(Range { largest, smallest });
    }
}

/// Number of lanes in which the largest or the smallest of many numbers is looked for. With fewer
/// lanes, comparisons wait for one another more often. The result does not depend on the number.
const EXTREME_LANES: usize = 8;

/// The largest of `values`, each multiplied by its entry of `mask` if there is one; at least zero.
#[inline(always)]
pub fn largest(values: &[f64], mask: Option<&[f64]>) -> f64 {
    fold_lanes(values, mask, 0.0, larger).into_iter().fold(0.0, larger)
}

/// The smallest of `values` other than zero, each multiplied by its entry of `mask` if there is
/// one; infinity if all are zero.
#[inline(always)]
pub fn smallest_nonzero(values: &[f64], mask: Option<&[f64]>) -> f64 {
    let lanes = fold_lanes(values, mask, f64::INFINITY, smaller_nonzero);
    lanes.into_iter().fold(f64::INFINITY, f64::min)
}

/// The smaller of `a` and `b`; `a` if `b` is zero. Written so that it compiles to vector
/// instructions.
#[inline(always)]
fn smaller_nonzero(a: f64, b: f64) -> f64 {
    let nonzero = if b > 0.0 { b } else { f64::INFINITY };
    if nonzero < a { nonzero } else { a }
}

/// Combines `values`, each multiplied by its entry of `mask` if there is one, in lanes that begin
/// with `start`.
#[inline(always)]
fn fold_lanes(
    values: &[f64],
    mask: Option<&[f64]>,
    start: f64,
    combine: impl Fn(f64, f64) -> f64,
) -> [f64; EXTREME_LANES] {
    let mut lanes = [start; EXTREME_LANES];
    let chunks = values.chunks_exact(EXTREME_LANES);
    let rest = chunks.remainder();
    match mask {
        None => {
            for chunk in chunks {
                lanes.iter_mut().zip(chunk).for_each(|(lane, &v)| *lane = combine(*lane, v));
            }
            lanes.iter_mut().zip(rest).for_each(|(lane, &v)| *lane = combine(*lane, v));
        }
        Some(mask) => {
            let masks = mask.chunks_exact(EXTREME_LANES);
            let rest = rest.iter().zip(masks.remainder());
            for (chunk, mask) in chunks.zip(masks) {
                let terms = chunk.iter().zip(mask);
                lanes
                    .iter_mut()
                    .zip(terms)
                    .for_each(|(lane, (&v, &m))| *lane = combine(*lane, v * m));
            }
            lanes.iter_mut().zip(rest).for_each(|(lane, (&v, &m))| *lane = combine(*lane, v * m));
        }
    }
    lanes
}

/// Multiplies `values` by the power of two that brings `largest` into [1, 2), unless `largest` is
/// [near](NEAR_ONE) one already. Returns the exponent of the power, zero if nothing was multiplied;
/// `None` if `largest` is zero or not finite.
pub fn keep_in_range(values: &mut [f64], largest: f64) -> Option<i32> {
    let scale = largest.scale_exponent()?;
    if NEAR_ONE.contains(&scale) {
        return Some(0);
    }
    rescale(values, scale);
    Some(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_that_of_a_plain_search() {
        for length in [0, 1, 7, 8, 9, 1023, 1024, 1025, 3000] {
            for at in [0, 7, 8, 1022, 1023, 1024, 2998, 2999].into_iter().filter(|at| *at < length)
            {
                // Every third value is zero; the value at `at` is the largest or the smallest.
                for extreme in [1e-9, 1e9] {
                    let value = |entry: usize| {
                        if entry.is_multiple_of(3) { 0.0 } else { 1.0 + entry as f64 }
                    };
                    let mut values: Vec<f64> = (0..length).map(value).collect();
                    values[at] = extreme;
                    let found = range(&values);
                    let nonzero = || values.iter().copied().filter(|value| *value > 0.0);
                    assert_eq!(found.largest, nonzero().fold(0.0, f64::max), "{length} {at}");
                    assert_eq!(found.smallest, nonzero().fold(f64::INFINITY, f64::min));
                }
            }
        }
        let empty = range(&[]);
        assert_eq!((empty.largest, empty.smallest), (0.0, f64::INFINITY));
    }
}
