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
    /// rounded, the largest value may exceed 1 by less than 1e-13. Does nothing if all values are
    /// zero.
    pub(super) fn scale(&mut self) {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 || (0.5 < largest && largest <= 1.0) {
            return;
        }
        // In two steps, because the power may be out of the range of f64.
        let exponent = largest.log2().ceil() as i32;
        let half = exponent / 2;
        let (first, second) = (2_f64.powi(-half), 2_f64.powi(half - exponent));
        self.values.iter_mut().for_each(|value| *value = *value * first * second);
        self.exponent += exponent;
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
            factor.scale();
            assert_eq!(factor.exponent(), exponent, "{values:?}");
            let largest = factor.values().iter().copied().fold(0.0, f64::max);
            assert!(largest == 0.0 || (0.5 < largest && largest <= 1.0), "{values:?}");
            let half = exponent / 2;
            let back = |v: &f64| v * 2_f64.powi(half) * 2_f64.powi(exponent - half);
            assert_eq!(factor.values().iter().map(back).collect::<Vec<_>>(), values);
        }
    }
}
