//! One finding after another.

use std::time::Instant;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{PropagationFailure, Propagator};
use cliquescope::experiment::Quantiles;
use cliquescope::network::{Evidence, Network, VariableId, state_at};
use cliquescope::propagation::Watch;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::measure::spread;

/// What propagating after every change of one finding gave.
#[derive(Serialize)]
pub struct Changes {
    /// Findings set, taken back, and exchanged for another state of the same variable.
    pub set: usize,
    pub retracted: usize,
    pub exchanged: usize,
    /// Time of one propagation with all posteriors.
    pub change_ms: Quantiles,
}

/// Changes one finding at a time, `count` times, beginning with `evidence`.
///
/// A variable that becomes known is in a state drawn from its posterior, so it is possible. An
/// exchange that is impossible is undone, and not counted.
pub fn run(
    propagator: &mut dyn Propagator,
    network: &Network,
    evidence: &Evidence,
    count: u32,
) -> Result<Changes, String> {
    let watch = Watch::untimed(CancelToken::new());
    let mut rng = Pcg64Mcg::seed_from_u64(u64::from(count));
    let mut evidence = evidence.clone();
    let impossible = |_| "the evidence is impossible".to_owned();
    let mut posteriors = propagator.run(&evidence, &watch).map_err(impossible)?;
    let mut times = Vec::new();
    let (mut set, mut retracted, mut exchanged) = (0, 0, 0);
    while times.len() < count as usize && !network.variables().is_empty() {
        let known: Vec<VariableId> = evidence.iter().map(|(variable, _)| variable).collect();
        let mut changed = evidence.clone();
        let kind = if known.is_empty() { 0 } else { rng.random_range(0..5) };
        let counted = match kind {
            0 | 1 => {
                let variable = VariableId::new(rng.random_range(0..network.variables().len()));
                if known.contains(&variable) {
                    continue;
                }
                let share = rng.random_range(0.0..1.0);
                let state = state_at(posteriors.of(variable), share);
                changed.observe(network, variable, state);
                &mut set
            }
            2 | 3 => {
                changed.retract(known[rng.random_range(0..known.len())]);
                &mut retracted
            }
            _ => {
                let variable = known[rng.random_range(0..known.len())];
                let states = network[variable].cardinality();
                changed.observe(network, variable, rng.random_range(0..states));
                &mut exchanged
            }
        };
        let started = Instant::now();
        let found = propagator.run(&changed, &watch);
        let elapsed = started.elapsed();
        match found {
            Ok(found) => {
                times.push(elapsed);
                *counted += 1;
                (evidence, posteriors) = (changed, found);
            }
            Err(PropagationFailure::Impossible) => {
                posteriors = propagator.run(&evidence, &watch).map_err(impossible)?;
            }
            Err(failure) => return Err(format!("{failure:?}")),
        }
    }
    if times.is_empty() {
        return Err("there is no variable to observe".to_owned());
    }
    Ok(Changes { set, retracted, exchanged, change_ms: spread(&times) })
}
