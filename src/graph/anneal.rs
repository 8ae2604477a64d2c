//! Annealing: a walk over elimination trees that goes uphill less and less.
//!
//! Simulated annealing after Kjærulff 1992, "Optimal decomposition of probabilistic networks by
//! simulated annealing", with another neighbourhood: a step takes a vertex a few places up or down
//! in the elimination tree instead of exchanging it in the order, so that its cost does not depend
//! on the size of the network, and no step is spent on exchanges that change nothing.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::elimination_tree::EliminationTree;
use crate::network::VariableId;

/// How a walk cools.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cooling {
    /// Growth that is accepted with probability 1/e at first, as a share of the total at the start.
    pub hot: f64,
    /// Likewise at the end.
    pub cold: f64,
    /// Steps in all.
    pub steps: u64,
}

/// A step goes at most this many places up or down.
const REACH: u64 = 4;

/// The temperature falls this often.
const STAGES: u64 = 256;

/// Steps between two looks at the clock.
const CHECKED: u64 = 2048;

/// Walks from `tree` and returns the least total on the way and an order that has it.
///
/// Ends early, at a temperature that may be high, once `expired` answers so. Draws from `random`
/// alone and computes without transcendental functions, so that the outcome is the same on every
/// machine.
pub(super) fn anneal(
    tree: &mut EliminationTree,
    cooling: Cooling,
    random: &mut Pcg64Mcg,
    expired: &mut impl FnMut() -> bool,
    cancel: &CancelToken,
) -> Result<Vec<VariableId>, Cancelled> {
    let mut best = tree.total();
    let mut order = tree.order();
    if tree.len() < 2 {
        return Ok(order);
    }
    let mut temperature = best * cooling.hot;
    let factor = falling(cooling.cold / cooling.hot);
    let mut below = Vec::new();
    for stage in 0..STAGES {
        let steps = cooling.steps * (stage + 1) / STAGES - cooling.steps * stage / STAGES;
        for index in 0..steps {
            if index % CHECKED == 0 {
                cancel.check()?;
                if expired() {
                    return Ok(order);
                }
            }
            let limit = temperature * exponential(random);
            step(tree, limit, random, &mut below);
            if tree.total() < best * (1.0 - 1e-12) {
                best = tree.total();
                order = tree.order();
            }
        }
        temperature *= factor;
    }
    Ok(order)
}

/// The factor that, applied once a stage, comes to `ratio` over all stages, of which there are 2^8.
fn falling(ratio: f64) -> f64 {
    (0..STAGES.ilog2()).fold(ratio, |ratio, _| ratio.sqrt())
}

/// Takes a random vertex up or down, and back again if the total grows by more than `limit`.
///
/// `below` is scratch: the vertices that the moving one has passed.
fn step(tree: &mut EliminationTree, limit: f64, random: &mut Pcg64Mcg, below: &mut Vec<usize>) {
    let v = up_to(tree.len(), random);
    let draw = random.next_u64();
    let (up, places) = (draw & 1 == 0, 1 + (draw >> 32) % REACH);
    let before = tree.total();
    below.clear();
    for _ in 0..places {
        if up {
            let Some(parent) = tree.parent(v) else { break };
            tree.rotate(v);
            below.push(parent);
        } else {
            let children = tree.children(v);
            if children.is_empty() {
                break;
            }
            let child = children[up_to(children.len(), random)] as usize;
            tree.rotate(child);
            below.push(child);
        }
    }
    if tree.total() - before > limit {
        while let Some(passed) = below.pop() {
            tree.rotate(if up { passed } else { v });
        }
    }
}

/// A random number below `end`.
fn up_to(end: usize, random: &mut Pcg64Mcg) -> usize {
    (((random.next_u64() >> 32) * end as u64) >> 32) as usize
}

/// A random number from the exponential distribution with mean 1.
///
/// By comparing uniform numbers alone (von Neumann 1951, "Various techniques used in connection
/// with random digits"): the length of the first falling run is odd with probability 1 - 1/e.
fn exponential(random: &mut Pcg64Mcg) -> f64 {
    let mut whole = 0.0;
    loop {
        let first = random.next_u64();
        let (mut last, mut odd) = (first, true);
        loop {
            let next = random.next_u64();
            if next > last {
                break;
            }
            last = next;
            odd = !odd;
        }
        if odd {
            return whole + (first >> 11) as f64 / (1_u64 << 53) as f64;
        }
        whole += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn exponential_numbers_have_mean_and_variance_one() {
        let mut random = Pcg64Mcg::seed_from_u64(2);
        let numbers: Vec<f64> = (0..100_000).map(|_| exponential(&mut random)).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        let beyond = numbers.iter().filter(|&&x| x > 2.0).count() as f64 / 1e5;
        assert!((beyond - (-2.0_f64).exp()).abs() < 0.005, "{beyond}");
    }

    #[test]
    fn a_temperature_that_has_fallen_at_every_stage_is_cold() {
        assert!((falling(1e-4).powi(STAGES as i32) - 1e-4).abs() < 1e-12);
    }
}
