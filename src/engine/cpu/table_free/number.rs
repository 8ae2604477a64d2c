//! The types of table entries in the form without tables of cliques: numbers, and whether something
//! is possible.

use std::fmt::Debug;
use std::ops::{AddAssign, Mul, MulAssign};

use super::buffers::PART;
use crate::allocate;
use crate::engine::bounds::Bounds;
use crate::engine::cpu::helpers::Helpers;
use crate::engine::cpu::vector::{self, Range, keep_in_range, range};
use crate::engine::wide::Wide;
use crate::potential;

/// A number, or [`Possible`](super::supports::Possible). Both have a sum and a product, which is
/// all that the loops over tiles need.
pub trait TableEntry:
    Copy
    + Default
    + Debug
    + Send
    + Sync
    + PartialEq
    + Mul<Output = Self>
    + MulAssign
    + AddAssign
    + 'static
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// `entries` zeros, allocated as [`allocate`] describes.
    fn zeros(entries: usize) -> Vec<Self> {
        let mut zeros = allocate::with_capacity(entries);
        zeros.resize(entries, Self::ZERO);
        zeros
    }

    /// The sum of `values`. Always inlined into loops over tiles.
    #[inline(always)]
    fn sum(values: &[Self]) -> Self {
        let mut sum = Self::ZERO;
        for &value in values {
            sum += value;
        }
        sum
    }

    /// Multiplies `table` by a power of two so that its largest entry is near one, and returns the
    /// exponent of the power with the bounds of the result; `None` if the largest entry is zero or
    /// not finite. Threads share the work if the table is large.
    ///
    /// [`Wide`] numbers are only normalised, and the exponent is zero.
    ///
    /// The bounds do not say whether anything underflowed before.
    fn rescale(table: &mut [Self], helpers: Helpers<'_>) -> Option<(i32, Bounds)>;

    /// The bounds of products with one entry of each of `tables`; [`Bounds::ONE`] if entries cannot
    /// be out of range.
    fn product_bounds(_tables: impl Iterator<Item = Bounds>) -> Bounds {
        Bounds::ONE
    }
}

/// `f64`, or [`Wide`] for products that are out of the range of `f64`. [`Wide`] numbers are never
/// out of range, so their tables are not scaled or raised, and all bounds are [`Bounds::ONE`].
pub trait Number: TableEntry {
    /// `value`, which is finite and not negative.
    fn from_f64(value: f64) -> Self;

    /// `self / denominator`, where 0/0 = 0.
    fn ratio(self, denominator: Self) -> Self;

    /// The natural logarithm.
    fn ln(self) -> f64;

    /// Replaces each entry of `table` that is below two to the power of `level` by this power, and
    /// returns the bounds of the result, given the `bounds` before; see
    /// [`bounds`](crate::engine::bounds). Leaves [`Wide`] numbers as they are.
    fn raise(table: &mut [Self], level: i32, bounds: Bounds) -> Bounds;

    /// Writes numbers proportional to `values` into `states`.
    fn write_proportional(values: &[Self], states: &mut [f64]);

    /// The number as f64. A [`Wide`] number out of its range may become zero or infinite.
    fn to_f64(self) -> f64;
}

impl TableEntry for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn zeros(entries: usize) -> Vec<Self> {
        allocate::zeros(entries)
    }

    #[inline(always)]
    fn sum(values: &[Self]) -> Self {
        vector::sum(values)
    }

    fn rescale(table: &mut [Self], helpers: Helpers<'_>) -> Option<(i32, Bounds)> {
        let (range, scale) = if table.len() <= PART {
            let range = range(table);
            (range, keep_in_range(table, range.largest))
        } else {
            let ranges = helpers.map(table.chunks(PART), range);
            let range = ranges.into_iter().fold(Range::default(), Range::union);
            let parts = table.chunks_mut(PART);
            let scales = helpers.map(parts, |part| keep_in_range(part, range.largest));
            (range, scales.into_iter().next().flatten())
        };
        let scale = scale?;
        Some((scale, range.bounds().scaled::<Self>(scale)))
    }

    fn product_bounds(tables: impl Iterator<Item = Bounds>) -> Bounds {
        Bounds::product::<Self>(tables)
    }
}

impl Number for f64 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn ratio(self, denominator: Self) -> Self {
        potential::ratio(self, denominator)
    }

    fn ln(self) -> f64 {
        self.ln()
    }

    fn raise(table: &mut [Self], level: i32, bounds: Bounds) -> Bounds {
        crate::engine::bounds::raise(table, level, bounds)
    }

    fn write_proportional(values: &[Self], states: &mut [f64]) {
        states.copy_from_slice(values);
    }

    fn to_f64(self) -> f64 {
        self
    }
}

impl TableEntry for Wide {
    const ZERO: Self = Self::ZERO;
    const ONE: Self = Self::ONE;

    fn rescale(table: &mut [Self], helpers: Helpers<'_>) -> Option<(i32, Bounds)> {
        let normalise = |part: &mut [Self]| {
            part.iter_mut().for_each(|value| *value = value.normalised());
            part.iter().any(|value| !value.is_zero())
        };
        let is_nonzero = helpers.map(table.chunks_mut(PART), normalise).contains(&true);
        is_nonzero.then_some((0, Bounds::ONE))
    }
}

impl Number for Wide {
    fn from_f64(value: f64) -> Self {
        Self::new(value)
    }

    fn ratio(self, denominator: Self) -> Self {
        self.ratio(denominator)
    }

    fn ln(self) -> f64 {
        self.ln()
    }

    fn raise(_: &mut [Self], _: i32, bounds: Bounds) -> Bounds {
        bounds
    }

    fn write_proportional(values: &[Self], states: &mut [f64]) {
        Self::write_proportional(values, states);
    }

    fn to_f64(self) -> f64 {
        self.to_f64(0)
    }
}
