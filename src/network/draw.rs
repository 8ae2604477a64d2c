//! Drawing cases from a network's own distribution.

use rand::Rng;
use rand::RngExt;

use crate::network::{Evidence, Network};

impl Evidence {
    /// Observes `count` of the variables in the states of one sample of the joint distribution.
    ///
    /// Forward sampling: every variable is drawn given its parents. The evidence is therefore
    /// possible, and as probable as evidence is in practice; states drawn one by one at random
    /// rarely are.
    ///
    /// All variables are observed if there are fewer than `count`.
    ///
    /// # Panics
    /// If `network` is a Markov network, which cannot be sampled so: [`draw`](crate::engine::draw) can.
    #[must_use]
    pub fn drawn(network: &Network, count: usize, rng: &mut impl Rng) -> Self {
        assert!(network.is_bayesian(), "a Markov network is sampled by propagation");
        let states = sample(network, rng);
        let mut variables: Vec<_> = network.ids().collect();
        let mut evidence = Self::none();
        for taken in 0..count.min(variables.len()) {
            let other = rng.random_range(taken..variables.len());
            variables.swap(taken, other);
            let variable = variables[taken];
            evidence.observe(network, variable, states[variable.index()]);
        }
        evidence
    }
}

/// A state for every variable, in file order, drawn from the joint distribution.
fn sample(network: &Network, rng: &mut impl Rng) -> Vec<usize> {
    let mut states = vec![0; network.variables().len()];
    for variable in network.topological_order() {
        let cpt = network.cpt(variable);
        let row = cpt
            .parents()
            .iter()
            .fold(0, |row, parent| row * network[*parent].cardinality() + states[parent.index()]);
        let row = row * network[variable].cardinality();
        let row = &cpt.values()[row..row + network[variable].cardinality()];
        states[variable.index()] = state_at(row, rng.random_range(0.0..1.0));
    }
    states
}

/// The state that the share `share`, from 0 to 1, of a distribution ends in.
///
/// # Panics
/// If nothing is possible.
#[must_use]
pub fn state_at(distribution: &[f64], share: f64) -> usize {
    let mut left = share;
    let found = distribution.iter().position(|&probability| {
        left -= probability;
        left < 0.0
    });
    // They sum to one up to rounding: what is left over belongs to the last state that can be.
    let found = found.or_else(|| distribution.iter().rposition(|&probability| probability > 0.0));
    found.expect("a distribution sums to one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cpt, Variable, VariableId};
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    /// X1, listed first, repeats X0, which is 1 in a quarter of all cases and never 2.
    fn repeats() -> Network {
        let (cause, effect) = (VariableId::new(1), VariableId::new(0));
        let states = ["0", "1", "2"];
        let variables = vec![Variable::new("effect", states), Variable::new("cause", states)];
        let equal = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let cpts = vec![
            Cpt::new(effect, vec![cause], equal),
            Cpt::new(cause, vec![], vec![0.75, 0.25, 0.0]),
        ];
        Network::new("repeats", variables, cpts).unwrap()
    }

    #[test]
    fn what_is_drawn_is_possible_and_as_often_as_it_should_be() {
        let network = repeats();
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        let mut ones = 0;
        for _ in 0..4000 {
            let states = sample(&network, &mut rng);
            assert_eq!(states[0], states[1]);
            assert!(states[0] < 2);
            ones += states[0];
        }
        assert!((900..1100).contains(&ones), "{ones} of 4000, expected about 1000");
    }

    #[test]
    fn as_many_variables_are_observed_as_asked_for_and_any_of_them() {
        let network = repeats();
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        for (count, observed) in [(0, 0), (1, 1), (2, 2), (7, 2)] {
            assert_eq!(Evidence::drawn(&network, count, &mut rng).len(), observed);
        }
        let first = |_| Evidence::drawn(&network, 1, &mut rng).iter().next().unwrap().0.index();
        let chosen: Vec<usize> = (0..40).map(first).collect();
        assert!(chosen.contains(&0) && chosen.contains(&1));
    }
}
