//! Numbers with an exponent of their own, for products far outside the range of f64.

use std::ops::{AddAssign, Mul, MulAssign};

use crate::potential::Real;

/// A non-negative number: `mantissa` times two to the power of `exponent`.
///
/// Neither products nor sums underflow or overflow, and their relative error is that of f64. So a
/// product is zero only if a factor is zero. The mantissa of a number other than zero is at least
/// one. It may grow beyond two in products and sums; [`normalised`](Self::normalised) brings it
/// back.
#[derive(Clone, Copy, Debug)]
pub struct Wide {
    mantissa: f64,
    exponent: i64,
}

/// A product whose mantissa reaches this is normalised at once, so that mantissas stay far below
/// the largest f64.
const MAX_MANTISSA: f64 = 1e150;

impl Wide {
    /// Zero. Its exponent is below those of all other numbers, but not so low that the sum of many
    /// such exponents would overflow.
    pub const ZERO: Self = Self { mantissa: 0.0, exponent: -(1 << 40) };
    /// One.
    pub const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    /// `value`, which must be finite and not negative.
    pub fn new(value: f64) -> Self {
        Self { mantissa: value, exponent: 0 }.normalised()
    }

    /// The same number with a mantissa in [1, 2), or [`ZERO`](Self::ZERO).
    pub fn normalised(self) -> Self {
        match self.mantissa.scale_exponent() {
            None => Self::ZERO,
            Some(scale) => Self {
                mantissa: self.mantissa.scale(scale),
                exponent: self.exponent - i64::from(scale),
            },
        }
    }

    /// Whether the number is zero.
    #[inline(always)]
    pub fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }

    /// `self / denominator`, where 0/0 = 0.
    pub fn ratio(self, denominator: Self) -> Self {
        let mantissa = crate::potential::ratio(self.mantissa, denominator.mantissa);
        Self { mantissa, exponent: self.exponent - denominator.exponent }.normalised()
    }

    /// The natural logarithm.
    pub fn ln(self) -> f64 {
        self.mantissa.ln() + self.exponent as f64 * std::f64::consts::LN_2
    }

    /// The nearest f64 to this number divided by two to the power of `exponent`.
    pub fn to_f64(self, exponent: i64) -> f64 {
        // Beyond these limits the result is zero or infinite in any case.
        let shift = (self.exponent - exponent).clamp(-4000, 4000);
        self.mantissa.scale(shift as i32)
    }

    /// Writes numbers proportional to `values` into `states`. If `values` are normalised, the
    /// largest number is in [1, 2), unless all are zero.
    pub fn write_proportional(values: &[Self], states: &mut [f64]) {
        let exponents = values.iter().filter(|value| !value.is_zero()).map(|value| value.exponent);
        let largest = exponents.max().unwrap_or(0);
        for (state, value) in states.iter_mut().zip(values) {
            *state = value.to_f64(largest);
        }
    }
}

impl Default for Wide {
    fn default() -> Self {
        Self::ZERO
    }
}

/// Two to the power of `exponent`, which is not positive; zero if that is below the normal numbers.
#[inline(always)]
fn power_of_two(exponent: i64) -> f64 {
    if exponent < -1022 { 0.0 } else { f64::from_bits(((1023 + exponent) as u64) << 52) }
}

/// Exact for normalised numbers and for zero.
impl PartialEq for Wide {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.mantissa == other.mantissa && (self.is_zero() || self.exponent == other.exponent)
    }
}

impl Mul for Wide {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let product = Self {
            mantissa: self.mantissa * other.mantissa,
            exponent: self.exponent + other.exponent,
        };
        if product.mantissa < MAX_MANTISSA { product } else { product.normalised() }
    }
}

impl MulAssign for Wide {
    #[inline(always)]
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

impl AddAssign for Wide {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        let exponent = self.exponent.max(other.exponent);
        self.mantissa = self.mantissa * power_of_two(self.exponent - exponent)
            + other.mantissa * power_of_two(other.exponent - exponent);
        self.exponent = exponent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_sums_have_any_size() {
        let tiny = Wide::new(1e-300);
        let power = |count: usize| (0..count).fold(Wide::ONE, |product, _| product * tiny);
        let product = power(100_000);
        assert!((product.ln() / (1e5 * 1e-300_f64.ln()) - 1.0).abs() < 1e-12);
        let mut sum = product;
        sum += product * Wide::new(3.0);
        assert!((sum.normalised().ratio(product.normalised()).to_f64(0) - 4.0).abs() < 1e-12);
        sum += Wide::ONE;
        assert_eq!(sum.to_f64(0), 1.0, "the small summand is far below the last bit");
        assert_eq!(Wide::new(5e-324).to_f64(0), 5e-324);
    }

    #[test]
    fn zero_behaves_as_zero() {
        let zero = (0..1000).fold(Wide::ZERO, |product, _| product * Wide::ZERO);
        assert!((zero * Wide::new(7.0)).is_zero());
        let mut sum = zero;
        sum += Wide::new(1e-300);
        sum += Wide::ZERO;
        assert_eq!(sum.to_f64(0), 1e-300);
        assert!(Wide::ZERO.ratio(Wide::ZERO).is_zero());
        let mut states = [9.0; 2];
        Wide::write_proportional(&[zero, zero], &mut states);
        assert_eq!(states, [0.0; 2]);
        Wide::write_proportional(&[Wide::new(1e-300) * Wide::new(1e-300), zero], &mut states);
        assert_eq!((states[0] > 0.0, states[1]), (true, 0.0));
    }
}
