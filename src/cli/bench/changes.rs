//! One finding after another.

use std::time::Duration;

use cliquescope::cancel::CancelToken;
use cliquescope::clock::Instant;
use cliquescope::engine::{Propagator, RunError};
use cliquescope::network::{Evidence, Network, VariableId, state_at};
use cliquescope::propagation::{Savings, Watch};
use cliquescope::statistics::Quantiles;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::measure::spread;
use crate::cli::output::milliseconds;

/// What propagating after every change of one finding gave.
#[derive(Serialize)]
pub struct Changes {
    /// Findings set, taken back, and exchanged for another state of the same variable.
    pub set: usize,
    pub retracted: usize,
    pub exchanged: usize,
    /// Time of one propagation with all posteriors: for each change the least of all passes.
    pub change_ms: Quantiles,
    pub worst: Worst,
}

/// The change that took longest.
#[derive(Serialize)]
pub struct Worst {
    /// Its position among the changes, counted from zero.
    pub change: usize,
    pub kind: Kind,
    pub ms: f64,
    /// What it took.
    pub savings: Savings,
}

/// What becomes of one finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Set,
    Retracted,
    Exchanged,
}

impl Kind {
    /// What became of the finding, in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Retracted => "retracted",
            Self::Exchanged => "exchanged",
        }
    }
}

/// Changes one finding at a time, `count` times, beginning with `evidence`, and all that `repeat`
/// times over.
///
/// The changes are drawn once. A variable that becomes known is in a state drawn from its posterior,
/// so it is possible; an exchange that is impossible is left out. Of each change the least time
/// counts: what the machine does beside it would else be taken for the worst change.
pub fn run(
    propagator: &mut dyn Propagator,
    network: &Network,
    evidence: &Evidence,
    count: u32,
    repeat: u32,
) -> Result<Changes, String> {
    let impossible = |_| "the evidence is impossible".to_owned();
    let changes = draw(propagator, network, evidence, count)?;
    let mut found = vec![(Duration::MAX, Savings::default()); changes.len()];
    for _ in 0..repeat {
        propagator.forget();
        propagator.run(evidence, &Watch::untimed(CancelToken::new())).map_err(impossible)?;
        for ((_, changed), least) in changes.iter().zip(&mut found) {
            let watch = Watch::untimed(CancelToken::new());
            let started = Instant::now();
            propagator.run(changed, &watch).map_err(impossible)?;
            let elapsed = started.elapsed();
            if elapsed < least.0 {
                *least = (elapsed, watch.trace().savings);
            }
        }
    }
    let of = |kind| changes.iter().filter(|(own, _)| *own == kind).count();
    let times: Vec<Duration> = found.iter().map(|(time, _)| *time).collect();
    let worst = (0..times.len()).max_by_key(|&change| times[change]);
    let change = worst.expect("at least one change is asked for");
    let (time, savings) = found[change];
    let worst = Worst { change, kind: changes[change].0, ms: milliseconds(time), savings };
    let [set, retracted, exchanged] = [Kind::Set, Kind::Retracted, Kind::Exchanged].map(of);
    Ok(Changes { set, retracted, exchanged, change_ms: spread(&times), worst })
}

/// So many changes, each with the evidence after it.
fn draw(
    propagator: &mut dyn Propagator,
    network: &Network,
    evidence: &Evidence,
    count: u32,
) -> Result<Vec<(Kind, Evidence)>, String> {
    if network.variables().is_empty() {
        return Err("there is no variable to observe".to_owned());
    }
    let watch = Watch::untimed(CancelToken::new());
    let mut rng = Pcg64Mcg::seed_from_u64(u64::from(count));
    let mut evidence = evidence.clone();
    let impossible = |_| "the evidence is impossible".to_owned();
    let mut posteriors = propagator.run(&evidence, &watch).map_err(impossible)?;
    let mut changes = Vec::new();
    while changes.len() < count as usize {
        let known: Vec<VariableId> = evidence.iter().map(|(variable, _)| variable).collect();
        let mut changed = evidence.clone();
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
                Kind::Set
            }
            2 | 3 => {
                changed.retract(known[rng.random_range(0..known.len())]);
                Kind::Retracted
            }
            _ => {
                let variable = known[rng.random_range(0..known.len())];
                let states = network[variable].cardinality();
                changed.observe(network, variable, rng.random_range(0..states));
                Kind::Exchanged
            }
        };
        match propagator.run(&changed, &watch) {
            Ok(found) => {
                changes.push((kind, changed.clone()));
                (evidence, posteriors) = (changed, found);
            }
            Err(RunError::Impossible) => {}
            Err(failure) => return Err(format!("{failure:?}")),
        }
    }
    Ok(changes)
}
