//! Draws a random case from the distribution of a network.

use rand::{Rng, RngExt};

use super::{Propagator, RunError};
use crate::cancel::CancelToken;
use crate::network::{Evidence, Network, state_at};
use crate::propagation::Watch;

/// Evidence that observes `count` randomly chosen variables of `network`, or all if there are
/// fewer. Their states are those of one sample of the joint distribution, so the evidence is
/// possible.
///
/// A Bayesian network is [sampled forward](Evidence::drawn). In a Markov network, the state of each
/// variable is drawn from the variable's posterior given the states drawn before, so each variable
/// takes one propagation. `propagator` must have loaded `network`.
///
/// # Errors
/// Only for a Markov network: the error of a propagation that fails, for example
/// [`RunError::Impossible`] if all configurations have weight zero.
pub fn draw(
    propagator: &mut dyn Propagator,
    network: &Network,
    count: usize,
    rng: &mut impl Rng,
) -> Result<Evidence, RunError> {
    if network.is_bayesian() {
        return Ok(Evidence::drawn(network, count, rng));
    }
    let mut variables: Vec<_> = network.ids().collect();
    let mut evidence = Evidence::none();
    for drawn in 0..count.min(variables.len()) {
        let other = rng.random_range(drawn..variables.len());
        variables.swap(drawn, other);
        let variable = variables[drawn];
        let posteriors = propagator.run(&evidence, &Watch::untimed(CancelToken::new()))?;
        let state = state_at(posteriors.of(variable), rng.random_range(0.0..1.0));
        evidence.observe(network, variable, state);
    }
    Ok(evidence)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::engine::{LoadOptions, default_engine};
    use crate::format::open_bytes;
    use crate::potential::Precision;
    use crate::propagation::{CompileOptions, CompiledNetwork, MemoryLimit, compile};

    fn loaded(network: &Arc<Network>) -> (Arc<CompiledNetwork>, Box<dyn Propagator>) {
        let options = CompileOptions::default();
        let compiled = compile(Arc::clone(network), &options, &CancelToken::new()).unwrap();
        let compiled = Arc::new(compiled);
        let options = LoadOptions {
            precision: Precision::F64,
            threads: 1,
            memory: MemoryLimit::from_bytes(1 << 20),
            ..LoadOptions::default()
        };
        let propagator = default_engine().load(&compiled, &options).unwrap();
        (compiled, propagator)
    }

    #[test]
    fn cases_of_a_markov_network_follow_its_distribution() {
        // A ring of three variables that are always in the same state. State 0 is three times as
        // probable as state 1.
        let ring = b"MARKOV 3 2 2 2 3 2 0 1 2 1 2 2 2 0 4 3 0 0 1 4 1 0 0 1 4 1 0 0 1";
        let network = open_bytes("ring.uai", ring.to_vec()).unwrap().network;
        assert!(!network.is_bayesian());
        let (_, mut propagator) = loaded(&network);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mut ones = 0;
        for count in (1..=3).cycle().take(600) {
            let case = draw(&mut *propagator, &network, count, &mut rng).unwrap();
            assert_eq!(case.len(), count);
            let states: Vec<_> = case.iter().map(|(variable, _)| case.observed(variable)).collect();
            assert!(states.iter().all(|state| *state == states[0]), "{states:?}");
            ones += usize::from(states[0] == Some(1));
        }
        assert!((110..190).contains(&ones), "{ones} of 600, expected about 150");
    }

    #[test]
    fn a_count_above_the_number_of_variables_observes_all() {
        let network = crate::format::open("asia").unwrap().network;
        let (_, mut propagator) = loaded(&network);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        assert_eq!(draw(&mut *propagator, &network, 99, &mut rng).unwrap().len(), 8);
    }
}
