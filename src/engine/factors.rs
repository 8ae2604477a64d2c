//! Products of factors, for example of all factors assigned to one clique.
//!
//! Entries are computed in double precision. An engine that uses single precision then rounds each
//! entry once. The product of many factors, as in a Markov network, may be out of range even though
//! its entries are close to each other. A common power of two is then returned separately.

use crate::allocate;
use crate::network::{Evidence, Factor, FactorId, Network, VariableId};
use crate::potential::{Odometer, Real, Scope};
use crate::propagation::CompiledNetwork;

/// A product is computed without a separate power of two if the smallest values of its factors show
/// that all its nonzero entries are at least 2 to the power of minus this number, which is in the
/// range of single precision.
/// No entry is far above one, because no value of a factor is: the values of a Markov network's
/// factors are [scaled](Factor::exponent). With a smaller limit, more products would take the
/// slower path; with a larger one, entries could lose precision.
const MAX_DIRECT_EXPONENT: f64 = 96.0;

/// The entries of `factor` for the observed states, in the order of a table over `variables`, which
/// are the other variables of the factor with more than one state.
pub(super) fn restricted<'a, V: Iterator<Item = VariableId>>(
    network: &Network,
    factor: &'a Factor,
    variables: V,
    evidence: &Evidence,
) -> impl Iterator<Item = f64> + use<'a, V> {
    let stored = Scope::of(network, factor.scope().iter().copied());
    let observed = factor.scope().iter().filter_map(|&v| {
        let axis = stored.axis(v)?;
        Some(evidence.observed(v)? * axis.stride)
    });
    let first: usize = observed.sum();
    let wanted = Scope::of(network, variables);
    let entries = wanted.entries();
    Odometer::new(&wanted, &stored).take(entries).map(move |at| factor.values()[first + at])
}

/// A product of factors over a scope.
pub(super) struct FactorProduct<'a> {
    scope: &'a Scope,
    /// The values and scope of each factor.
    factors: Vec<(&'a [f64], Scope)>,
}

impl<'a> FactorProduct<'a> {
    /// The product of `factors` over `scope`, which contains the scopes of all of them.
    pub fn new(
        network: &'a Network,
        scope: &'a Scope,
        factors: impl IntoIterator<Item = FactorId>,
    ) -> Self {
        let factors = factors.into_iter().map(|id| {
            let factor = network.factor(id);
            (factor.values(), Scope::of(network, factor.scope().iter().copied()))
        });
        Self::from_tables(scope, factors.collect())
    }

    /// The product over `scope` of tables, each given by its values and its scope. Variables of a
    /// table that are not in `scope` are in state 0.
    pub fn from_tables(scope: &'a Scope, factors: Vec<(&'a [f64], Scope)>) -> Self {
        Self { scope, factors }
    }

    /// The product of the factors assigned to each clique. `scopes` are the scopes of the cliques.
    pub fn for_cliques(compiled: &'a CompiledNetwork, scopes: &'a [Scope]) -> Vec<Self> {
        let network = compiled.network();
        let mut factors = vec![Vec::new(); scopes.len()];
        for id in network.factor_ids() {
            factors[compiled.factor_home(id).index()].push(id);
        }
        let cliques = scopes.iter().zip(factors);
        cliques.map(|(scope, factors)| Self::new(network, scope, factors)).collect()
    }

    /// Calls `put` with a number for each entry, in index order. The entries of the product are
    /// these numbers multiplied by two to the power of the returned exponent.
    pub fn entries(&self, mut put: impl FnMut(f64)) -> i32 {
        // All nonzero entries are at least 2 to the power of minus this number.
        let needed_headroom: f64 =
            self.factors.iter().map(|(values, _)| -smallest_nonzero(values).log2()).sum();
        if needed_headroom <= MAX_DIRECT_EXPONENT {
            self.for_each_product(1.0, |product, value| product * value, put);
            return 0;
        }
        // Each product is a number in [1, 2) and an exponent. Zero has a very negative exponent, so
        // that `number.scale(power - largest)`, at the end of this function, gives zero rather than
        // 0 times infinity, which is not a number.
        const ZERO: (f64, i32) = (0.0, i32::MIN / 2);
        let times = |(number, power): (f64, i32), value: f64| {
            let product: f64 = number * value;
            product.scale_exponent().map_or(ZERO, |scale| (product.scale(scale), power - scale))
        };
        let mut largest: Option<i32> = None;
        self.for_each_product((1.0, 0), times, |(number, power)| {
            if number > 0.0 {
                largest = largest.max(Some(power));
            }
        });
        let largest = largest.unwrap_or(0);
        self.for_each_product(
            (1.0, 0),
            times,
            |(number, power)| put(number.scale(power - largest)),
        );
        largest
    }

    /// The table of all entries, and the exponent of the power of two to multiply it by.
    pub fn table(&self) -> (Vec<f64>, i32) {
        let mut values = allocate::with_capacity(self.scope.entries());
        let power = self.entries(|value| values.push(value));
        (values, power)
    }

    /// For each entry, combines the values of all factors with `times`, beginning with `one`, and
    /// calls `put` with the result.
    fn for_each_product<T: Copy>(
        &self,
        one: T,
        times: impl Fn(T, f64) -> T,
        mut put: impl FnMut(T),
    ) {
        let factors = self.factors.iter();
        let mut factors: Vec<(&[f64], Odometer)> =
            factors.map(|(values, family)| (*values, Odometer::new(self.scope, family))).collect();
        for _ in 0..self.scope.entries() {
            let value =
                |(values, index): &mut (&[f64], Odometer)| index.next().map_or(1.0, |i| values[i]);
            put(factors.iter_mut().map(value).fold(one, &times));
        }
    }
}

/// If the smallest nonzero values of some factors have a product below two to the power of this, an
/// entry of the factors' product might underflow to zero in double precision. The smallest normal
/// number is 2^-1022; the difference is a margin.
const MIN_PRODUCT: i32 = -900;

/// Whether an entry of the product of `factors` might underflow to zero in double precision.
/// `smallest`: as [`smallest_exponents`] returns.
pub(super) fn may_underflow(smallest: &[i32], factors: &[FactorId]) -> bool {
    factors.iter().map(|factor| smallest[factor.index()]).sum::<i32>() < MIN_PRODUCT
}

/// The smallest of `values` above zero; one if none is below one.
pub(super) fn smallest_nonzero(values: &[f64]) -> f64 {
    values.iter().copied().filter(|value| *value > 0.0).fold(1.0, f64::min)
}

/// By factor: the exponent of the largest power of two that is at most the factor's smallest
/// nonzero value; zero if no value is below one.
pub(super) fn smallest_exponents(network: &Network) -> Vec<i32> {
    network
        .factors()
        .map(|factor| smallest_nonzero(factor.values()).log2().floor() as i32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Factor, Variable, VariableId};

    /// The entries over two variables, and the exponent, for factors with these scopes and values.
    fn product(factors: &[(&[usize], Vec<f64>)]) -> (Vec<f64>, i32) {
        let variables = [("a", 2), ("b", 3)];
        let variables = variables.map(|(name, states)| {
            Variable::new(name, (0..states).map(|state: usize| state.to_string()))
        });
        let factors = factors.iter().map(|(scope, values)| {
            Factor::new(scope.iter().map(|&v| VariableId::new(v)).collect(), values.clone())
        });
        let network = Network::markov("m", variables.into(), factors.collect()).unwrap();
        let scope = Scope::of(&network, network.ids());
        FactorProduct::new(&network, &scope, network.factor_ids()).table()
    }

    #[test]
    fn a_product_of_few_factors_has_exponent_zero() {
        let (entries, power) =
            product(&[(&[0], vec![1.0, 0.5]), (&[1, 0], vec![1.0, 0.25, 0.5, 1.0, 0.0, 0.75])]);
        assert_eq!(entries, [1.0, 0.5, 0.0, 0.125, 0.5, 0.375]);
        assert_eq!(power, 0);
    }

    #[test]
    fn a_product_of_many_factors_has_its_exponent_separate() {
        let opposed: Vec<(&[usize], Vec<f64>)> = (0..2000)
            .map(|n| (&[0][..], if n % 2 == 0 { vec![1.0, 0.125] } else { vec![0.125, 1.0] }))
            .chain([(&[1][..], vec![1.0, 0.5, 0.0])])
            .collect();
        assert_eq!(product(&opposed), (vec![1.0, 0.5, 0.0, 1.0, 0.5, 0.0], -3000));
        let apart: Vec<(&[usize], Vec<f64>)> =
            (0..5000).map(|_| (&[0][..], vec![0.75, 0.5])).collect();
        let (entries, power) = product(&apart);
        let logarithm = entries[0].log2() + f64::from(power);
        assert!((logarithm - 5000.0 * 0.75_f64.log2()).abs() < 1e-8);
        assert!((1.0..2.0).contains(&entries[0]));
        assert_eq!(entries[3], 0.0, "too small next to the largest");
        assert_eq!(product(&[(&[0], vec![0.0, 0.0])]), (vec![0.0; 6], 0));
    }
}
