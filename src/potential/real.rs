//! The number types of tables.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, MulAssign, Sub};
use std::str::FromStr;

use bytemuck::Zeroable;

/// The number type of an engine's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point, 4 bytes an entry.
    F32,
    /// 64-bit floating point, 8 bytes an entry.
    F64,
}

impl Precision {
    /// Both precisions, the smaller first.
    pub const ALL: [Self; 2] = [Self::F32, Self::F64];

    /// Size of a table entry in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// `f32` or `f64`, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|precision| precision.name() == name);
        found.ok_or_else(|| format!("'{name}' is not a precision; expected f32 or f64"))
    }
}

/// A table entry: a [`Real`], or a `u8` that says whether the entry can be nonzero.
pub trait Entry:
    Copy + Default + PartialOrd + Zeroable + fmt::Debug + Send + Sync + 'static
{
    /// Zero.
    const ZERO: Self;
    /// The range of this type.
    const LIMITS: Limits;

    /// The number of this type that is nearest to `value`. For `u8`: zero if `value` is zero, and
    /// one otherwise.
    fn from_f64(value: f64) -> Self;

    /// The same number in double precision.
    fn to_f64(self) -> f64;
}

/// The range of a number type, as exponents of powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The smallest normal number. Smaller numbers have fewer digits.
    pub normal: i32,
    /// The smallest number.
    pub smallest: i32,
    /// A sum of numbers up to this overflows only if it has about 2^8 (`f32`) or 2^64 (`f64`)
    /// summands, or more.
    pub large: i32,
}

impl Entry for u8 {
    const ZERO: Self = 0;
    const LIMITS: Limits = Limits { normal: 0, smallest: 0, large: 1 };

    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::from(value != 0.0)
    }

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

/// `f32` or `f64`.
pub trait Real:
    Entry + Add<Output = Self> + AddAssign + Mul<Output = Self> + MulAssign + Sub<Output = Self>
{
    /// One.
    const ONE: Self;
    /// Which precision this is.
    const PRECISION: Precision;

    /// `self / denominator` with IEEE results for a zero denominator; see [`ratio`].
    fn divide(self, denominator: Self) -> Self;

    /// The exponent of the power of two that brings `self` into [1, 2); `None` if `self` is not
    /// positive and finite.
    ///
    /// Scaling by a power of two is exact as long as no number becomes subnormal or overflows.
    fn scale_exponent(self) -> Option<i32>;

    /// `self` times two to the power of `exponent`.
    fn scale(self, exponent: i32) -> Self;
}

/// Two powers of two whose product is 2^`exponent`. Multiplying by both works even if 2^`exponent`
/// itself is out of range.
#[inline]
fn halves<T: Real>(exponent: i32) -> (T, T) {
    let half = exponent / 2;
    (T::ONE.scale(half), T::ONE.scale(exponent - half))
}

/// Multiplies `values` by two to the power of `exponent`.
#[inline]
pub(crate) fn rescale<T: Real>(values: &mut [T], exponent: i32) {
    let (first, second) = halves::<T>(exponent);
    values.iter_mut().for_each(|value| *value = *value * first * second);
}

/// `numerator / denominator`; zero if the denominator is zero, so that 0/0 = 0.
///
/// On the CPU, this is the only place that decides what division by zero gives. When a message
/// divides a new separator entry by an old one that is zero, the clique entries to be multiplied by
/// the ratio are zero already (Zheng, Mengshoel and Chong, section 3; Huang and Darwiche, section
/// 5.3).
#[inline]
pub fn ratio<T: Real>(numerator: T, denominator: T) -> T {
    if denominator == T::ZERO { T::ZERO } else { numerator.divide(denominator) }
}

/// The largest e with 2^e <= `value`; `value` must be positive and finite.
#[inline]
fn binary_exponent(value: f64) -> i32 {
    let exponent_field = |value: f64| ((value.to_bits() >> 52) & 0x7ff) as i32;
    match exponent_field(value) {
        // A subnormal number is multiplied by 2^54 to make it normal.
        0 => exponent_field(value * f64::from_bits(0x4350_0000_0000_0000)) - 1023 - 54,
        field => field - 1023,
    }
}

macro_rules! impl_real {
    ($real:ident, $precision:ident, $large:literal) => {
        impl Entry for $real {
            const ZERO: Self = 0.0;
            const LIMITS: Limits = Limits {
                normal: $real::MIN_EXP - 1,
                smallest: $real::MIN_EXP - $real::MANTISSA_DIGITS as i32,
                large: $large,
            };

            #[inline]
            fn from_f64(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }

        impl Real for $real {
            const ONE: Self = 1.0;
            const PRECISION: Precision = Precision::$precision;

            #[inline]
            fn divide(self, denominator: Self) -> Self {
                self / denominator
            }

            #[inline]
            fn scale_exponent(self) -> Option<i32> {
                (self > 0.0 && self.is_finite()).then(|| -binary_exponent(f64::from(self)))
            }

            #[inline]
            fn scale(self, exponent: i32) -> Self {
                // In two steps because 2^exponent may be out of range.
                let half = exponent / 2;
                self * (2.0 as Self).powi(half) * (2.0 as Self).powi(exponent - half)
            }
        }
    };
}

impl_real!(f32, F32, 120);
impl_real!(f64, F64, 960);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_with_zero_denominator_is_zero() {
        assert_eq!(ratio(0.0_f64, 0.0), 0.0);
        assert_eq!(ratio(3.0_f64, 0.0), 0.0);
        assert_eq!(ratio(3.0_f32, 2.0), 1.5);
    }

    #[test]
    fn a_table_can_be_rescaled_by_a_power_of_two_that_is_out_of_range() {
        let mut table = [0.0, 0.0, 6.0, 8.0, 0.0, 0.0, 14.0, 16.0];
        rescale(&mut table, -1);
        assert_eq!(table, [0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 7.0, 8.0]);
        let mut tiny = [0.0_f32, 2.0_f32.powi(-100)];
        rescale(&mut tiny, 146);
        assert_eq!(tiny, [0.0, 2.0_f32.powi(46)]);
    }

    #[test]
    fn every_positive_number_can_be_scaled_into_one_to_two() {
        for value in [1.0_f32, 0.75, 3.0, 1e-40, 1e38, f32::MIN_POSITIVE] {
            let scaled = value.scale(value.scale_exponent().unwrap());
            assert!((1.0..2.0).contains(&scaled), "{value} -> {scaled}");
        }
        for value in [5e-324_f64, 1e-300, 1e300, f64::MAX] {
            let scaled = value.scale(value.scale_exponent().unwrap());
            assert!((1.0..2.0).contains(&scaled), "{value} -> {scaled}");
        }
        assert_eq!(0.0_f32.scale_exponent(), None);
    }
}
