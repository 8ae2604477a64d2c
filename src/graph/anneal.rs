//! Simulated annealing over elimination trees.
//!
//! After Kjærulff 1992, "Optimal decomposition of probabilistic networks by simulated annealing",
//! with a different neighbourhood: a step moves a vertex a few levels up or down in the elimination
//! tree instead of exchanging two vertices in the order. A step then visits only a small part of
//! the tree, and exchanges that would change no cluster are never tried.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::MoralGraph;
use crate::graph::elimination::entries_of_order;
use crate::graph::elimination_tree::{EliminationTree, WHOLE};
use crate::network::VariableId;

/// The exponent and temperature with which a walk begins. All walks end at the exponent [`WHOLE`]
/// and cool toward [`FINAL_TEMPERATURE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// A walk reduces the sum of the table sizes, each raised to a power. This is the exponent at
    /// the start, in units of 1 / [`WHOLE`]; it rises to [`WHOLE`] until the end. With the exponent
    /// [`WHOLE`], only the largest tables matter at high temperatures. A smaller exponent lets the
    /// walk arrange the smaller tables as well.
    pub exponent: u64,
    /// Growth of the total that is accepted with probability 1/e at the start, as a share of the
    /// current total. Above about 0.03, the walk forgets the order from which it starts.
    pub temperature: f64,
}

/// Final temperature of every walk. Affects only the quality of the tree. On the linkage problems
/// of the UAI 2014 competition, walks improve little below 0.001.
const FINAL_TEMPERATURE: f64 = 5e-4;

/// Maximum number of levels that one step moves a vertex. Affects only the quality of the tree.
const MAX_MOVE: u64 = 4;

/// Number of temperatures of a walk. A power of two, so that [`cooling_factor`] needs only square
/// roots.
const TEMPERATURES: u64 = 64;

/// Maximum number of vertices of a graph for which walks are tried. A tree of this many vertices
/// takes 16 MiB, and a step several microseconds, so a walk hardly improves it within the budget of
/// a search.
pub(super) const MAX_VERTICES: usize = 8192;

/// Maximum number of steps between two checks of the clock and of the cancel token. In networks of
/// a few hundred variables, these steps take at most about a millisecond. Affects only how soon a
/// walk stops.
const STEPS_PER_CHECK: u64 = 2048;

/// An elimination order with the sum of the entries of its maximal cliques.
#[derive(Clone, Debug)]
pub(super) struct Ordering {
    pub entries: f64,
    pub order: Vec<VariableId>,
}

impl Ordering {
    /// `order`, an elimination order of `graph`.
    pub fn new(graph: &MoralGraph, order: Vec<VariableId>) -> Self {
        Self { entries: entries_of_order(graph, &order), order }
    }
}

/// Walks from `order` for `steps` steps and returns the best order found: the best of `order`, of
/// the orders at the end of each temperature, and of all orders met once the exponent is [`WHOLE`].
///
/// Stops early once `expired` returns true. Unless that happens, the result is the same on every
/// machine: the walk uses no source of randomness but `random`, and no transcendental functions.
///
/// # Errors
/// Once `cancel` is set.
pub(super) fn anneal(
    graph: &MoralGraph,
    order: &[VariableId],
    schedule: Schedule,
    steps: u64,
    random: &mut Pcg64Mcg,
    expired: &mut impl FnMut() -> bool,
    cancel: &CancelToken,
) -> Result<Ordering, Cancelled> {
    let mut tree = EliminationTree::new(graph, order);
    let mut best = (tree.total(), order.to_vec());
    let mut temperature = schedule.temperature;
    let factor = cooling_factor(FINAL_TEMPERATURE / temperature);
    let mut passed = Vec::new();
    'walk: for stage in 0..TEMPERATURES {
        let rise = (WHOLE - schedule.exponent) * stage / (TEMPERATURES - 1);
        tree.set_exponent(schedule.exponent + rise);
        let is_whole = schedule.exponent + rise == WHOLE;
        for index in 0..steps * (stage + 1) / TEMPERATURES - steps * stage / TEMPERATURES {
            if index % STEPS_PER_CHECK == 0 {
                cancel.check()?;
                if expired() {
                    break 'walk;
                }
            }
            step(&mut tree, temperature, random, &mut passed);
            if is_whole && tree.total() < best.0 {
                best = (tree.total(), tree.order());
            }
        }
        let total = tree.whole_total();
        if total < best.0 {
            best = (total, tree.order());
        }
        temperature *= factor;
    }
    Ok(Ordering::new(graph, best.1))
}

/// The factor that, applied once per temperature, gives `ratio` over all of them.
fn cooling_factor(ratio: f64) -> f64 {
    (0..TEMPERATURES.ilog2()).fold(ratio, |ratio, _| ratio.sqrt())
}

/// Moves a random vertex up or down. Moves it back if the growth of the total is more than
/// `temperature` times the total before, times a random number from the exponential distribution.
///
/// `passed` is a scratch buffer for the vertices with which the moved vertex is exchanged.
fn step(
    tree: &mut EliminationTree,
    temperature: f64,
    random: &mut Pcg64Mcg,
    passed: &mut Vec<usize>,
) {
    let v = random_below(tree.len(), random);
    let draw = random.next_u64();
    let (up, levels) = (draw & 1 == 0, 1 + (draw >> 32) % MAX_MOVE);
    let before = tree.total();
    passed.clear();
    for _ in 0..levels {
        if up {
            let Some(parent) = tree.parent(v) else { break };
            tree.rotate(v);
            passed.push(parent);
        } else {
            let children = tree.children(v);
            if children.is_empty() {
                break;
            }
            let child = children[random_below(children.len(), random)] as usize;
            tree.rotate(child);
            passed.push(child);
        }
    }
    let growth = tree.total().saturating_sub(before);
    if growth > 0 && growth as f64 > before as f64 * temperature * exponential(random) {
        while let Some(other) = passed.pop() {
            tree.rotate(if up { other } else { v });
        }
    }
}

/// A random number in `0..end`.
pub(super) fn random_below(end: usize, random: &mut Pcg64Mcg) -> usize {
    (((random.next_u64() >> 32) * end as u64) >> 32) as usize
}

/// A random number from the exponential distribution with mean 1.
///
/// Computed only by comparing uniform numbers (von Neumann 1951, "Various techniques used in
/// connection with random digits"): the length of the first descending run is odd with probability
/// 1 - 1/e.
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
    fn the_cooling_factor_reaches_the_final_temperature() {
        assert!((cooling_factor(1e-4).powi(TEMPERATURES as i32) - 1e-4).abs() < 1e-12);
    }
}
