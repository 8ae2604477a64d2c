//! The two number types that tables are held in.

use std::fmt;
use std::ops::{AddAssign, Mul, MulAssign};
use std::str::FromStr;

/// Which number type an engine's tables are held in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point, 4 bytes an entry.
    F32,
    /// 64-bit floating point, 8 bytes an entry.
    F64,
}

impl Precision {
    /// Both, the smaller first.
    pub const ALL: [Self; 2] = [Self::F32, Self::F64];

    /// Bytes of one table entry.
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

/// What tables are made of: a [`Real`], or `u8` for whether an entry is more than nothing.
pub trait Entry: Copy + Default + PartialOrd + fmt::Debug + Send + Sync + 'static {
    /// Zero.
    const ZERO: Self;

    /// The nearest number of this type; of `u8` one for all that is not zero.
    fn from_f64(value: f64) -> Self;

    /// The same number in double precision.
    fn to_f64(self) -> f64;
}

impl Entry for u8 {
    const ZERO: Self = 0;

    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::from(value != 0.0)
    }

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

/// `f32` or `f64`: what the tables of an engine are made of.
pub trait Real: Entry + AddAssign + MulAssign + Mul<Output = Self> {
    /// One.
    const ONE: Self;
    /// Which precision this is.
    const PRECISION: Precision;

    /// `self / denominator`, with no convention for zero; see [`ratio`].
    fn divide(self, denominator: Self) -> Self;

    /// The power of two that brings `self` into [1, 2), as its exponent; `None` for zero.
    ///
    /// Scaling by a power of two changes no digit of a table, so a table that was rescaled is the
    /// same table.
    fn scale_exponent(self) -> Option<i32>;

    /// `self` times two to the power of `exponent`.
    fn scale(self, exponent: i32) -> Self;
}

/// Two numbers whose product is two to the power of `exponent`, which may be more than one holds.
#[inline]
pub(crate) fn halves<T: Real>(exponent: i32) -> (T, T) {
    let half = exponent / 2;
    (T::ONE.scale(half), T::ONE.scale(exponent - half))
}

/// Multiplies `values` by two to the power of `exponent`.
#[inline]
pub(crate) fn rescale<T: Real>(values: &mut [T], exponent: i32) {
    let (first, second) = halves::<T>(exponent);
    values.iter_mut().for_each(|value| *value = *value * first * second);
}

/// `numerator / denominator` with 0/0 = 0.
///
/// Where the old separator entry is zero, the clique entries that it was computed from are all
/// zero and stay so (Zheng, Mengshoel and Chong, section 3; Huang and Darwiche, section 5.3).
#[inline]
pub fn ratio<T: Real>(numerator: T, denominator: T) -> T {
    if denominator == T::ZERO { T::ZERO } else { numerator.divide(denominator) }
}

/// The largest e with 2^e <= `value`, for a positive finite value.
#[inline]
fn binary_exponent(value: f64) -> i32 {
    let exponent_field = |value: f64| ((value.to_bits() >> 52) & 0x7ff) as i32;
    match exponent_field(value) {
        // Subnormal: bring it among the normal numbers, where the field is the exponent.
        0 => exponent_field(value * f64::from_bits(0x4350_0000_0000_0000)) - 1023 - 54,
        field => field - 1023,
    }
}

macro_rules! impl_real {
    ($real:ident, $precision:ident) => {
        impl Entry for $real {
            const ZERO: Self = 0.0;

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
                // In two steps: one factor of 2^exponent may not be a number of this type.
                let half = exponent / 2;
                self * (2.0 as Self).powi(half) * (2.0 as Self).powi(exponent - half)
            }
        }
    };
}

impl_real!(f32, F32);
impl_real!(f64, F64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_over_nothing_is_nothing() {
        assert_eq!(ratio(0.0_f64, 0.0), 0.0);
        assert_eq!(ratio(3.0_f64, 0.0), 0.0);
        assert_eq!(ratio(3.0_f32, 2.0), 1.5);
    }

    #[test]
    fn a_table_is_rescaled_by_more_than_a_number_holds() {
        let mut table = [0.0, 0.0, 6.0, 8.0, 0.0, 0.0, 14.0, 16.0];
        rescale(&mut table, -1);
        assert_eq!(table, [0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 7.0, 8.0]);
        let mut tiny = [0.0_f32, 2.0_f32.powi(-100)];
        rescale(&mut tiny, 146);
        assert_eq!(tiny, [0.0, 2.0_f32.powi(46)]);
    }

    #[test]
    fn scaling_brings_any_positive_number_near_one() {
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
