//! Factors, whose product is the joint distribution of a network.

use crate::id::define_id;
use crate::network::VariableId;

define_id! {
    /// Identifies a factor of one [`Network`](crate::network::Network). In a Bayesian network,
    /// factor v is the CPT of variable v.
    FactorId
}

/// A non-negative function of some variables, as a table.
///
/// `values` is row-major: the first variable of the scope is the slowest index, the last the
/// fastest. A factor with an empty scope is a constant with one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    scope: Vec<VariableId>,
    values: Vec<f64>,
    exponent: i32,
}

impl Factor {
    /// The factor with this scope and these values.
    ///
    /// Sizes and values are checked later, by [`Network::markov`](crate::network::Network::markov).
    #[must_use]
    pub fn new(scope: Vec<VariableId>, values: Vec<f64>) -> Self {
        Self { scope, values, exponent: 0 }
    }

    /// The variables, slowest index first.
    #[must_use]
    pub fn scope(&self) -> &[VariableId] {
        &self.scope
    }

    /// The stored values. A value of the factor is a stored value times two to the power of
    /// [`exponent`](Self::exponent).
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The exponent of the power of two that was taken out of the values; zero for a probability
    /// table.
    ///
    /// [`Network::markov`](crate::network::Network::markov) chooses the exponent so that the stored
    /// values are not greater than one, up to rounding. Engines rely on this.
    #[must_use]
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The stored values for editing.
    pub(super) fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Takes out a power of two so that the largest value is in (1/2, 1]. Because its logarithm is
    /// rounded, the largest value may exceed 1 by less than 1e-13. Does nothing if the largest
    /// value is zero or already in this range.
    ///
    /// A value that would then be positive but less than [`f64::MIN_POSITIVE`] would lose digits.
    /// It is divided by [`f64::MIN_POSITIVE`], or by 2^-1074, the smallest positive number of
    /// double precision, if the first quotient is still too small. If there are such values,
    /// returns a second factor with the same scope: it has the divisor of each of these values, and
    /// one elsewhere. The product of both factors is the original factor without the power of two.
    pub(super) fn scale(&mut self) -> Option<Self> {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 || (0.5 < largest && largest <= 1.0) {
            return None;
        }
        let exponent = largest.log2().ceil() as i32;
        self.exponent += exponent;
        // In two steps, because the power may be out of the range of f64.
        let scaled = |value: f64, exponent: i32| {
            let half = exponent / 2;
            value * 2_f64.powi(-half) * 2_f64.powi(half - exponent)
        };
        let entries = self.values.len();
        let mut second: Option<Vec<f64>> = None;
        for (at, value) in self.values.iter_mut().enumerate() {
            let given = *value;
            *value = scaled(given, exponent);
            if given == 0.0 || *value >= f64::MIN_POSITIVE {
                continue;
            }
            let mut divisor = f64::MIN_POSITIVE;
            *value = scaled(given, exponent - 1022);
            if *value < f64::MIN_POSITIVE {
                divisor = f64::from_bits(1);
                *value = scaled(given, exponent - 1074);
            }
            second.get_or_insert_with(|| vec![1.0; entries])[at] = divisor;
        }
        second.map(|values| Self::new(self.scope.clone(), values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_out_a_power_of_two_is_exact() {
        for (values, exponent) in [
            (vec![3.0, 0.7, 0.0], 2),
            (vec![1.0, 0.3], 0),
            (vec![1e308, 1.3e300], 1024),
            (vec![1e-300, 1.1e-300], -996),
            (vec![0.0, 0.0], 0),
            (vec![4.0], 2),
        ] {
            let mut factor = Factor::new(vec![], values.clone());
            assert_eq!(factor.scale(), None, "{values:?}");
            assert_eq!(factor.exponent(), exponent, "{values:?}");
            let largest = factor.values().iter().copied().fold(0.0, f64::max);
            assert!(largest == 0.0 || (0.5 < largest && largest <= 1.0), "{values:?}");
            let half = exponent / 2;
            let back = |v: &f64| v * 2_f64.powi(half) * 2_f64.powi(exponent - half);
            assert_eq!(factor.values().iter().map(back).collect::<Vec<_>>(), values);
        }
    }

    #[test]
    fn values_out_of_the_range_of_a_double_go_to_a_second_factor() {
        for values in [[1e300, 0.0, 1e-300, 1e-320], [1.7e308, 5e-324, 1.5e-323, 1e10]] {
            let mut factor = Factor::new(vec![], values.to_vec());
            let second = factor.scale().expect("small values");
            for (at, value) in values.into_iter().enumerate() {
                let [stored, other] = [&factor, &second].map(|factor| factor.values()[at]);
                assert_eq!(
                    (value == 0.0, value < 1.0 && value > 0.0),
                    (stored == 0.0, other < 1.0)
                );
                assert!(stored <= 1.0 + 1e-13, "{value:e}");
                let exponent = stored.log2() + other.log2() + f64::from(factor.exponent());
                assert!(value == 0.0 || (exponent - value.log2()).abs() < 1e-9, "{value:e}");
            }
        }
    }
}
