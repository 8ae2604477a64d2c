//! Sampling evidence from a network's joint distribution.

use rand::Rng;
use rand::RngExt;

use crate::network::{Evidence, Network};

impl Evidence {
    /// Draws a sample of the joint distribution, and observes `count` randomly chosen variables, or
    /// all if there are fewer, in the states that they have in the sample.
    ///
    /// The state of each variable is drawn given the states of its parents. The evidence is
    /// therefore possible, and likely evidence is drawn more often than unlikely evidence.
    ///
    /// # Panics
    /// If `network` is a Markov network; use [`engine::draw`](crate::engine::draw) for those.
    #[must_use]
    pub fn drawn(network: &Network, count: usize, rng: &mut impl Rng) -> Self {
        assert!(network.is_bayesian(), "a Markov network is sampled by propagation");
        let states = sample(network, rng);
        let mut variables: Vec<_> = network.ids().collect();
        let mut evidence = Self::none();
        // The first steps of a Fisher-Yates shuffle.
        for index in 0..count.min(variables.len()) {
            let other = rng.random_range(index..variables.len());
            variables.swap(index, other);
            let variable = variables[index];
            evidence.observe(network, variable, states[variable.index()]);
        }
        evidence
    }
}

/// A sample of the joint distribution: a state for every variable, in file order.
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

/// The inverse of the cumulative distribution: the first state at which the sum of `distribution`
/// up to and including that state exceeds `share`, a number from 0 to 1. If no sum exceeds `share`,
/// the last state that is not impossible.
///
/// # Panics
/// If all probabilities are zero.
#[must_use]
pub fn state_at(distribution: &[f64], share: f64) -> usize {
    let mut remaining = share;
    let found = distribution.iter().position(|&probability| {
        remaining -= probability;
        remaining < 0.0
    });
    // By rounding, the sum may be slightly below one and never exceed `share`. The answer is then
    // the last possible state.
    let found = found.or_else(|| distribution.iter().rposition(|&probability| probability > 0.0));
    found.expect("a distribution sums to one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cpt, Variable, VariableId};
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    /// Variable `effect`, listed first, always has the state of `cause`, which is 1 with
    /// probability 1/4 and never 2.
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
    fn samples_follow_the_joint_distribution() {
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
    fn the_given_number_of_variables_is_observed_at_random() {
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
