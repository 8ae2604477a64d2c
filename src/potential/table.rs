//! Potentials: non-negative functions of several variables, as tables.

use crate::allocate;
use crate::network::{Factor, Finding, Network, VariableId};
use crate::potential::mapping::Odometer;
use crate::potential::{Real, Scope, rescale};

/// A table of non-negative numbers over some variables; the state of the last variable varies
/// fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Potential {
    scope: Scope,
    values: Vec<f64>,
}

impl Potential {
    /// The potential with these values, in the index order of `scope`.
    ///
    /// # Panics
    /// If the number of values is not the number of entries of `scope`.
    #[must_use]
    pub fn new(scope: Scope, values: Vec<f64>) -> Self {
        assert_eq!(scope.entries(), values.len(), "one value for each entry");
        Self { scope, values }
    }

    /// The potential of a factor of `network`.
    #[must_use]
    pub fn from_factor(network: &Network, factor: &Factor) -> Self {
        Self::new(Scope::of(network, factor.scope().iter().copied()), factor.values().to_vec())
    }

    /// The weights that `finding` gives to the states of `variable`, as a potential.
    #[must_use]
    pub fn from_finding(network: &Network, variable: VariableId, finding: &Finding) -> Self {
        let states = 0..network[variable].cardinality();
        let weights = states.map(|state| finding.weight(state)).collect();
        Self::new(Scope::of(network, [variable]), weights)
    }

    /// The potential that is one everywhere.
    #[must_use]
    pub fn one(scope: Scope) -> Self {
        Self { values: allocate::ones(scope.entries()), scope }
    }

    /// The marginal over `onto`, a subset of the variables: the sum over the states of the others.
    ///
    /// # Panics
    /// If `onto` has a variable that this potential lacks.
    #[must_use]
    pub fn marginal(&self, onto: &Scope) -> Self {
        let is_subset = onto.variables().iter().all(|&variable| self.scope.contains(variable));
        assert!(is_subset, "a marginal is over some of the potential's variables");
        let mut sums = allocate::zeros(onto.entries());
        for (value, entry) in self.values.iter().zip(Odometer::new(&self.scope, onto)) {
            sums[entry] += value;
        }
        Self::new(onto.clone(), sums)
    }

    /// Multiplies this potential by `factor`, which is over a subset of its variables.
    ///
    /// # Panics
    /// If `factor` has a variable that this potential lacks.
    pub fn multiply(&mut self, factor: &Self) {
        let is_subset =
            factor.scope.variables().iter().all(|&variable| self.scope.contains(variable));
        assert!(is_subset, "a factor is over some of the potential's variables");
        let entries = Odometer::new(&self.scope, &factor.scope);
        for (value, entry) in self.values.iter_mut().zip(entries) {
            *value *= factor.values[entry];
        }
    }

    /// Multiplies this potential by a power of two so that the largest value is in [1, 2), and
    /// returns the exponent; `None` if all values are zero.
    pub fn rescale(&mut self) -> Option<i32> {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        let exponent = largest.scale_exponent()?;
        rescale(&mut self.values, exponent);
        Some(exponent)
    }

    /// The variables.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The values, in the index order of [`scope`](Self::scope).
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::tests::scope;
    use super::*;

    #[test]
    fn a_product_multiplies_entries_with_the_same_states() {
        // f(x, y) and g(z, x); the variables of g are not in ascending order.
        let f = Potential::new(scope(&[(0, 2), (1, 2)]), vec![1.0, 2.0, 3.0, 4.0]);
        let g =
            Potential::new(scope(&[(2, 3), (0, 2)]), vec![10.0, 100.0, 20.0, 200.0, 30.0, 300.0]);
        let mut product = Potential::one(Scope::union([f.scope(), g.scope()]));
        product.multiply(&f);
        product.multiply(&g);
        assert_eq!(product.scope(), &scope(&[(0, 2), (1, 2), (2, 3)]));
        assert_eq!(
            product.values(),
            [10., 20., 30., 20., 40., 60., 300., 600., 900., 400., 800., 1200.]
        );
        assert_eq!(Potential::one(scope(&[])).values(), [1.0]);
    }

    #[test]
    fn a_marginal_sums_over_the_other_variables() {
        let f = Potential::new(scope(&[(0, 2), (1, 3)]), vec![1., 2., 3., 4., 5., 6.]);
        assert_eq!(f.marginal(&scope(&[(0, 2)])).values(), [6.0, 15.0]);
        assert_eq!(f.marginal(&scope(&[(1, 3)])).values(), [5.0, 7.0, 9.0]);
        assert_eq!(f.marginal(&scope(&[])).values(), [21.0]);
        assert_eq!(f.marginal(&scope(&[(1, 3), (0, 2)])).values(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn rescaling_returns_the_exponent() {
        let mut f = Potential::new(scope(&[(0, 2)]), vec![6.0, 0.0]);
        assert_eq!((f.rescale(), f.values()), (Some(-2), &[1.5, 0.0][..]));
        let mut zero = Potential::new(scope(&[(0, 2)]), vec![0.0, 0.0]);
        assert_eq!(zero.rescale(), None);
    }
}
