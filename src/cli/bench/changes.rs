//! Timing the propagation after each change of a finding.

use std::time::Duration;

use cliquescope::cancel::CancelToken;
use cliquescope::clock::Instant;
use cliquescope::engine::{PropagationError, Propagator, RunError};
use cliquescope::network::{Evidence, Network, VariableId, state_at};
use cliquescope::propagation::{Savings, Watch};
use cliquescope::statistics::Quantiles;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::measure::spread;
use crate::cli::output::milliseconds;

/// Times of propagations after each change of one finding.
#[derive(Serialize)]
pub struct Changes {
    /// Number of changes that set a finding on a variable without one.
    pub set: usize,
    /// Number of changes that retracted a finding.
    pub retracted: usize,
    /// Number of changes that replaced a finding by an observation of another state.
    pub exchanged: usize,
    /// Time of the propagation with all posteriors after a change, in milliseconds. Each change
    /// counts with its fastest repetition.
    pub change_ms: Quantiles,
    /// The slowest change.
    pub worst: SlowestChange,
}

/// The change with the slowest propagation.
#[derive(Serialize)]
pub struct SlowestChange {
    /// Its position among the changes, counted from zero.
    pub change: usize,
    pub kind: ChangeKind,
    /// Time of its propagation, in milliseconds.
    pub ms: f64,
    /// What its propagation skipped, in the fastest repetition.
    pub savings: Savings,
}

/// How a finding changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// A variable without a finding is observed.
    Set,
    /// A finding is retracted.
    Retracted,
    /// A finding is replaced by an observation of another state.
    Exchanged,
}

impl ChangeKind {
    /// The change as a participle, such as "retracted".
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Retracted => "retracted",
            Self::Exchanged => "exchanged",
        }
    }
}

/// Changes one finding at a time, `count` times, starting with `evidence`, and times the
/// propagation after each change. The whole sequence is timed `repeat` times.
///
/// The changes are drawn once, with `count` as the seed. A finding on a further variable is drawn
/// from the posterior of that variable, so it is possible. If an exchange turns
/// out impossible, another change is drawn instead. The fastest repetition of each change counts,
/// so that other activity of the machine is not mistaken for a slow change.
///
/// # Errors
/// A message for the user if `network` has no variables, or if a propagation fails, for example
/// because `evidence` is impossible.
pub fn run(
    propagator: &mut dyn Propagator,
    network: &Network,
    evidence: &Evidence,
    count: u32,
    repeat: u32,
) -> Result<Changes, String> {
    let changes = draw(propagator, network, evidence, count)?;
    let mut fastest = vec![(Duration::MAX, Savings::default()); changes.len()];
    for _ in 0..repeat {
        propagator.forget();
        propagator.run(evidence, &Watch::untimed(CancelToken::new())).map_err(failure)?;
        for ((_, changed), best) in changes.iter().zip(&mut fastest) {
            let watch = Watch::untimed(CancelToken::new());
            let started = Instant::now();
            propagator.run(changed, &watch).map_err(failure)?;
            let elapsed = started.elapsed();
            if elapsed < best.0 {
                *best = (elapsed, watch.trace().savings);
            }
        }
    }
    let count_of = |kind| changes.iter().filter(|(own, _)| *own == kind).count();
    let times: Vec<Duration> = fastest.iter().map(|(time, _)| *time).collect();
    let worst = (0..times.len()).max_by_key(|&change| times[change]);
    let change = worst.expect("the option requires at least one change");
    let (time, savings) = fastest[change];
    let worst = SlowestChange { change, kind: changes[change].0, ms: milliseconds(time), savings };
    let [set, retracted, exchanged] =
        [ChangeKind::Set, ChangeKind::Retracted, ChangeKind::Exchanged].map(count_of);
    Ok(Changes { set, retracted, exchanged, change_ms: spread(&times), worst })
}

/// Draws `count` changes, each with the evidence after it.
fn draw(
    propagator: &mut dyn Propagator,
    network: &Network,
    evidence: &Evidence,
    count: u32,
) -> Result<Vec<(ChangeKind, Evidence)>, String> {
    if network.variables().is_empty() {
        return Err("there is no variable to observe".to_owned());
    }
    let watch = Watch::untimed(CancelToken::new());
    let mut rng = Pcg64Mcg::seed_from_u64(u64::from(count));
    let mut evidence = evidence.clone();
    let mut posteriors = propagator.run(&evidence, &watch).map_err(failure)?;
    let mut changes = Vec::new();
    while changes.len() < count as usize {
        let known: Vec<VariableId> = evidence.iter().map(|(variable, _)| variable).collect();
        let mut changed = evidence.clone();
        // While there are findings, of five draws about two set a finding, two retract one, and one
        // exchanges one. A draw is repeated if it would set a second finding on a variable, or
        // exchange the finding of a variable that has no other state.
        let choice = if known.is_empty() { 0 } else { rng.random_range(0..5) };
        let kind = match choice {
            0 | 1 => {
                let variable = VariableId::new(rng.random_range(0..network.variables().len()));
                if known.contains(&variable) {
                    continue;
                }
                let share = rng.random_range(0.0..1.0);
                let state = state_at(posteriors.of(variable), share);
                changed.observe(network, variable, state);
                ChangeKind::Set
            }
            2 | 3 => {
                changed.retract(known[rng.random_range(0..known.len())]);
                ChangeKind::Retracted
            }
            _ => {
                let variable = known[rng.random_range(0..known.len())];
                let Some(state) = other_state(network, &evidence, variable, &mut rng) else {
                    continue;
                };
                changed.observe(network, variable, state);
                ChangeKind::Exchanged
            }
        };
        match propagator.run(&changed, &watch) {
            Ok(found) => {
                changes.push((kind, changed.clone()));
                (evidence, posteriors) = (changed, found);
            }
            Err(RunError::Impossible) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    Ok(changes)
}

/// The message for a propagation that failed.
pub fn failure(error: RunError) -> String {
    match error {
        RunError::Impossible => "the evidence is impossible".to_owned(),
        RunError::Cancelled => "the propagation was cancelled".to_owned(),
        RunError::OutOfMemory(error) => error.to_string(),
        RunError::OutOfRange => PropagationError::OutOfRange.to_string(),
        RunError::Device(reason) => format!("the GPU failed while propagating: {reason}"),
    }
}

/// A random state of `variable`, other than the one in which `evidence` observes it; `None` if
/// there is no other. If the finding is a likelihood, any state may be returned.
fn other_state(
    network: &Network,
    evidence: &Evidence,
    variable: VariableId,
    rng: &mut impl Rng,
) -> Option<usize> {
    let states = network[variable].cardinality();
    match evidence.observed(variable) {
        None => Some(rng.random_range(0..states)),
        Some(_) if states < 2 => None,
        Some(observed) => {
            let index = rng.random_range(0..states - 1);
            Some(if index < observed { index } else { index + 1 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cliquescope::network::{Cpt, Variable};

    #[test]
    fn another_state_differs_from_the_observed_one() {
        let uniform = |index, states: usize| {
            Cpt::new(VariableId::new(index), vec![], vec![1.0 / states as f64; states])
        };
        let variables = vec![Variable::new("a", ["x"]), Variable::new("b", ["x", "y", "z"])];
        let network = Network::new("n", variables, vec![uniform(0, 1), uniform(1, 3)]).unwrap();
        let [one, three] = [0, 1].map(VariableId::new);
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut evidence = Evidence::none();
        evidence.observe(&network, one, 0);
        evidence.observe(&network, three, 1);
        assert_eq!(other_state(&network, &evidence, one, &mut rng), None);
        let mut drawn = [0; 3];
        for _ in 0..100 {
            drawn[other_state(&network, &evidence, three, &mut rng).unwrap()] += 1;
        }
        assert!(drawn[0] > 0 && drawn[1] == 0 && drawn[2] > 0, "{drawn:?}");
    }
}
