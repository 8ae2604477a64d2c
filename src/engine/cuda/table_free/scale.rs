//! Powers of two by which tables are scaled, and bounds on what single precision rounds to zero.
//!
//! All tables are scaled so that their largest entry is in [1, 2). A scaled entry below 2^-126 is
//! rounded to zero, or loses digits. Such an *underflow* is harmless as long as larger entries
//! decide the answer. The GPU notes the range of each table, and a bound on the effect follows from
//! the ranges alone. An underflow changes an entry by at most 2^-126. If the largest sum of a
//! contraction is 2^-k of the largest possible one, scaling its result multiplies all earlier
//! changes by 2^k. For max-product the same bounds hold: a maximum is at most the sum, and changes
//! by at most what its terms do.

use super::plan::Plan;

/// Exponent of the smallest normal number in single precision.
const SMALLEST: i64 = -126;

/// Maximum error that underflow may cause in a table from which results are read, as the exponent
/// of a power of two: the error of an entry, relative to the largest entry of the table. An answer
/// with a larger error is not used. The maximum is about a hundredth of the rounding error of
/// single precision. With a larger one, errors could be visible; with a smaller one, more cases
/// would be computed again.
pub const MAX_ERROR: i64 = -30;

/// The error of a table that no underflow has changed, below every error that can occur. It is far
/// from the limit of the type, so adding exponents to it does not overflow.
const EXACT: i64 = i64::MIN / 4;

/// The exponents of the largest and of the smallest nonzero entry of a table, rounded down; `None`
/// if all entries are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub largest: Option<i32>,
    pub smallest: Option<i32>,
}

impl Range {
    /// The range of a table with these entries.
    pub fn of(entries: &[f64]) -> Self {
        let nonzero = || entries.iter().copied().filter(|&entry| entry > 0.0);
        Self {
            largest: nonzero().reduce(f64::max).map(exponent),
            smallest: nonzero().reduce(f64::min).map(exponent),
        }
    }

    /// The range that the kernels noted: the bits of the largest entry, and the difference between
    /// the bits of infinity and those of the smallest nonzero entry; both zero if all entries are
    /// zero.
    pub fn from_bits([largest, complement]: [u32; 2]) -> Self {
        let exponent_of = |bits: u32| exponent(f64::from(f32::from_bits(bits)));
        if largest == 0 {
            return Self::default();
        }
        let smallest = f32::INFINITY.to_bits() - complement;
        Self { largest: Some(exponent_of(largest)), smallest: Some(exponent_of(smallest)) }
    }
}

/// How a table was scaled, and what underflow may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The scaled table must be multiplied by 2 to this power. The number is meaningless for a
    /// quotient and for everything that is computed from it.
    pub exponent: i64,
    /// The exponent of the smallest nonzero entry of the scaled table; at most zero.
    pub smallest: i64,
    /// Underflow has changed entries by less than 2 to this power.
    pub error: i64,
}

impl Default for Scale {
    fn default() -> Self {
        Self { exponent: 0, smallest: 0, error: EXACT }
    }
}

impl Scale {
    /// The scale of a table with this `range` after a power of two has brought its largest entry
    /// into [1, 2). `exponent` is the new [`exponent`](Self::exponent). `self.error` counts earlier
    /// underflows only; the result also counts entries that are now too small for single precision.
    #[must_use]
    pub fn rounded(self, exponent: i64, range: Range) -> Self {
        let (Some(largest), Some(smallest)) = (range.largest, range.smallest) else {
            // All entries are zero. If an underflow may have caused this, nothing is known.
            let error = if self.error > EXACT { 0 } else { EXACT };
            return Self { exponent, smallest: 0, error };
        };
        let smallest = i64::from(smallest - largest);
        let rounds = smallest < SMALLEST;
        let error = if rounds { self.error.max(SMALLEST) } else { self.error };
        Self { exponent, smallest, error }
    }
}

/// The scales of all tables of `plan`, by number of the table. `operands` has the scales of the
/// operands, and `ranges` what the kernels noted, by number of the table.
pub fn scales(plan: &Plan, operands: &[Scale], ranges: &[[u32; 2]]) -> Vec<Scale> {
    let mut scales = operands.to_vec();
    scales.resize(plan.sources.len(), Scale::default());
    for &number in &plan.computed {
        let sources = &plan.sources[number as usize];
        let range = Range::from_bits(ranges[number as usize]);
        let inputs = || sources.inputs.iter().map(|&input| &scales[input as usize]);
        let mut scale = Scale { error: EXACT, ..Scale::default() };
        scale.error = inputs().map(|input| input.error).max().unwrap_or(EXACT);
        let largest = i64::from(range.largest.unwrap_or(0));
        // Only ln P(e) needs an exponent. It is read from the root, which no quotient enters. The
        // error of a quotient is the larger error of its inputs, without a factor for the division:
        // the child multiplies the quotient by the products whose sum was the divisor.
        let mut exponent = 0;
        if !sources.is_quotient {
            let (head, bound) = (i64::from(sources.head), i64::from(sources.bound));
            let smallest = head + inputs().map(|input| input.smallest).sum::<i64>();
            if smallest < SMALLEST {
                scale.error = scale.error.max(SMALLEST - bound);
            }
            if scale.error > EXACT {
                scale.error = scale.error.saturating_add(bound - largest);
            }
            exponent = inputs().map(|input| input.exponent).sum::<i64>() + largest - head;
        }
        scales[number as usize] = scale.rounded(exponent, range);
    }
    scales
}

/// The exponent of a positive number, rounded down.
fn exponent(value: f64) -> i32 {
    let of_normal = |value: f64| (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    if value < f64::MIN_POSITIVE {
        of_normal(value * 2_f64.powi(64)) - 64
    } else {
        of_normal(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ignores_entries_that_are_zero() {
        let range = Range::of(&[0.0, 0.3, 5.0, 1e-320]);
        assert_eq!((range.largest, range.smallest), (Some(2), Some(-1064)));
        assert_eq!(Range::of(&[0.0]), Range::default());
        let infinity = f32::INFINITY.to_bits();
        let bits = [6_f32.to_bits(), infinity - 0.25_f32.to_bits()];
        let range = Range::from_bits(bits);
        assert_eq!((range.largest, range.smallest), (Some(2), Some(-2)));
        assert_eq!(Range::from_bits([0, 0]), Range::default());
    }

    #[test]
    fn a_table_with_a_wide_range_has_an_error() {
        let scale = Scale::default().rounded(3, Range { largest: Some(3), smallest: Some(-100) });
        assert_eq!((scale.exponent, scale.smallest, scale.error), (3, -103, EXACT));
        let scale = Scale::default().rounded(3, Range { largest: Some(3), smallest: Some(-130) });
        assert_eq!(scale.error, SMALLEST);
        assert_eq!(scale.rounded(0, Range::default()).error, 0, "the zeros may be wrong");
        assert_eq!(Scale::default().rounded(0, Range::default()).error, EXACT);
    }
}
