//! The product of the network's factors that have their home in one clique, entry by entry.
//!
//! Each entry is made in double precision and rounded once, by whoever takes it. Where there are many
//! factors, as a Markov network may have, the product of all of them can be far from what a number
//! holds though the entries are near one another: the power of two is then taken out.

use crate::network::{FactorId, Network};
use crate::potential::{Odometer, Real, Scope};
use crate::propagation::CompiledNetwork;

/// Powers of two that an entry may be below one when none is taken out: single precision holds that.
/// Values of factors are below two, so that so many of them are not too large either.
const BELOW: f64 = 96.0;

/// See the module.
pub(super) struct FactorProduct<'a> {
    scope: &'a Scope,
    /// The factors' values with the variables that their indices stand for.
    factors: Vec<(&'a [f64], Scope)>,
}

impl<'a> FactorProduct<'a> {
    /// Of `factors`, whose variables are all in `scope`.
    pub fn new(
        network: &'a Network,
        scope: &'a Scope,
        factors: impl IntoIterator<Item = FactorId>,
    ) -> Self {
        let factors = factors.into_iter().map(|id| {
            let factor = network.factor(id);
            (factor.values(), Scope::of(network, factor.scope().iter().copied()))
        });
        Self::of_tables(scope, factors.collect())
    }

    /// Of tables, each with the variables that its indices stand for; those that are not in `scope` are
    /// in their first state.
    pub fn of_tables(scope: &'a Scope, factors: Vec<(&'a [f64], Scope)>) -> Self {
        Self { scope, factors }
    }

    /// That of each clique, over all variables of the clique: `scopes`.
    pub fn of_cliques(compiled: &'a CompiledNetwork, scopes: &'a [Scope]) -> Vec<Self> {
        let network = compiled.network();
        let mut factors = vec![Vec::new(); scopes.len()];
        for id in network.factor_ids() {
            factors[compiled.factor_home(id).index()].push(id);
        }
        let both = scopes.iter().zip(factors);
        both.map(|(scope, factors)| Self::new(network, scope, factors)).collect()
    }

    /// Calls `put` with every entry, the last variable of the scope fastest. The product is what is
    /// put times two to the power that is returned.
    pub fn entries(&self, mut put: impl FnMut(f64)) -> i32 {
        let below: f64 = self.factors.iter().map(|(values, _)| -least(values).log2()).sum();
        if below.max(self.factors.len() as f64) <= BELOW {
            self.fold(1.0, |product, value| product * value, put);
            return 0;
        }
        // A number in [1, 2) and the power of two that it is to be multiplied by; or zero, with the
        // least power, so that it stays zero when the largest is taken out.
        const NONE: (f64, i32) = (0.0, i32::MIN / 2);
        let times = |(number, power): (f64, i32), value: f64| {
            let product: f64 = number * value;
            product.scale_exponent().map_or(NONE, |by| (product.scale(by), power - by))
        };
        let mut largest: Option<i32> = None;
        self.fold((1.0, 0), times, |(number, power)| {
            if number > 0.0 {
                largest = largest.max(Some(power));
            }
        });
        let largest = largest.unwrap_or(0);
        self.fold((1.0, 0), times, |(number, power)| put(number.scale(power - largest)));
        largest
    }

    /// All entries in a table, and the power of two that it is to be multiplied by.
    pub fn table(&self) -> (Vec<f64>, i32) {
        let mut values = Vec::with_capacity(self.scope.entries());
        let power = self.entries(|value| values.push(value));
        (values, power)
    }

    /// Calls `put` with what `fold` makes of `start` and the values of all factors at each entry.
    fn fold<T: Copy>(&self, start: T, fold: impl Fn(T, f64) -> T, mut put: impl FnMut(T)) {
        let factors = self.factors.iter();
        let mut factors: Vec<(&[f64], Odometer)> =
            factors.map(|(values, family)| (*values, Odometer::new(self.scope, family))).collect();
        for _ in 0..self.scope.entries() {
            let of_entry =
                |(values, at): &mut (&[f64], Odometer)| at.next().map_or(1.0, |i| values[i]);
            put(factors.iter_mut().map(of_entry).fold(start, &fold));
        }
    }
}

/// The least of `values` above zero; one if there is none below it.
pub(super) fn least(values: &[f64]) -> f64 {
    values.iter().copied().filter(|value| *value > 0.0).fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Factor, Variable, VariableId};

    /// The entries over two variables, and the power of two, of factors with these scopes and values.
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
    fn few_factors_are_multiplied_as_they_are() {
        let (entries, power) =
            product(&[(&[0], vec![1.0, 0.5]), (&[1, 0], vec![1.0, 0.25, 0.5, 1.0, 0.0, 0.75])]);
        assert_eq!(entries, [1.0, 0.5, 0.0, 0.125, 0.5, 0.375]);
        assert_eq!(power, 0);
    }

    #[test]
    fn of_many_factors_the_power_of_two_is_taken_out() {
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
        assert_eq!(entries[3], 0.0, "too small beside the largest");
        assert_eq!(product(&[(&[0], vec![0.0, 0.0])]), (vec![0.0; 6], 0));
    }
}
