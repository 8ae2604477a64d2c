//! The search for a small triangulation behind
//! [`Triangulation::Auto`](crate::graph::Triangulation::Auto).

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::cancel::{CancelToken, Cancelled};
use crate::clock::Instant;
use crate::graph::anneal::{Cooling, anneal};
use crate::graph::elimination_tree::EliminationTree;
use crate::graph::greedy::{Found, Greedy};
use crate::graph::reduction::reduce;
use crate::graph::{Heuristic, MoralGraph, TriangulationOptions};
use crate::network::VariableId;

/// Searches for an elimination order with a small total table size.
///
/// Runs every heuristic once with the seed of `options`, then restarts those that broke ties, in
/// turn. Then removes simplicial vertices, and improves the best order of the remaining vertices by
/// random walks of growing length. A later order replaces an earlier one only if it is strictly
/// better.
pub(super) fn search(
    graph: &MoralGraph,
    options: &TriangulationOptions,
    cancel: &CancelToken,
) -> Result<Vec<VariableId>, Cancelled> {
    let started = Instant::now();
    let mut seeds = Pcg64Mcg::seed_from_u64(options.seed);
    let mut expired = || started.elapsed() >= options.budget;
    let found = restart(graph, options, &mut seeds, &mut expired, cancel)?;
    if options.steps == 0 {
        return Ok(found.order);
    }
    let core = reduce(graph);
    let start = core.restrict(&found.order);
    let improved = improve(&core.graph, start, options.steps, &mut seeds, &mut expired, cancel)?;
    let order = core.extend(&improved);
    let total = EliminationTree::new(graph, &order, |states| states).total();
    Ok(if total < found.entries as f64 { order } else { found.order })
}

/// The best result of all heuristics and their restarts; of equally good results, the earliest.
///
/// A run stops as soon as it cannot beat the best so far. A heuristic whose first run had no tie
/// would only repeat itself, so it is not restarted.
fn restart(
    graph: &MoralGraph,
    options: &TriangulationOptions,
    seeds: &mut Pcg64Mcg,
    expired: &mut impl FnMut() -> bool,
    cancel: &CancelToken,
) -> Result<Found, Cancelled> {
    let mut best: Option<Found> = None;
    let mut restartable = Vec::new();
    for heuristic in Heuristic::ALL {
        let start = Greedy::new(graph, heuristic, cancel)?;
        let bound = best.as_ref().map(|best| best.entries);
        let run = start.clone().run(options.seed, bound, cancel)?;
        best = run.found.or(best);
        if run.tied {
            restartable.push(start);
        }
    }
    'restarts: for _ in 0..options.restarts {
        // Not 0, which would break ties in file order instead of at random.
        let seed = seeds.next_u64() | 1;
        for start in &restartable {
            if expired() {
                break 'restarts;
            }
            let bound = best.as_ref().map(|best| best.entries);
            best = start.clone().run(seed, bound, cancel)?.found.or(best);
        }
    }
    Ok(best.expect("the first run has no bound and reaches the end"))
}

/// One walk, or two in sequence, from the best order so far.
pub(super) struct Round {
    /// Whether a first walk minimises the sum of table sizes to the power of 3/4. Large tables then
    /// weigh less, so the walk can pass through orders with a large table.
    flatten_first: bool,
    /// Initial temperature of the walk over actual table sizes; see [`Cooling`].
    initial_temperature: f64,
}

/// The rounds, repeated in this order. Which round succeeds depends on the network.
pub(super) const ROUNDS: [Round; 4] = [
    Round { flatten_first: false, initial_temperature: 0.02 },
    Round { flatten_first: true, initial_temperature: 0.003 },
    Round { flatten_first: false, initial_temperature: 0.3 },
    Round { flatten_first: false, initial_temperature: 0.1 },
];

/// Final temperature of every walk, as a share of the total table size. Tables that matter are
/// larger than this share. Tuned on the large shipped networks; affects only the quality of the
/// tree.
const FINAL_TEMPERATURE: f64 = 2e-6;

/// Maximum number of steps of each walk in the first pass through [`ROUNDS`]. The number doubles
/// with each further pass. If the budget runs out, only the last walk is cut short. Affects only
/// the quality of the tree.
const FIRST_WALK_STEPS: u64 = 150_000;

/// Number of steps after which most pairs of `n` vertices have been exchanged at least once.
pub(super) fn saturation_steps(n: u64) -> u64 {
    200 * n + 20 * n * n
}

/// The best order of `graph` found by walks that start from `order`, in at most `limit` steps.
///
/// Also stops after [`saturation_steps`] without improvement, so small networks take only a few
/// milliseconds.
fn improve(
    graph: &MoralGraph,
    mut order: Vec<VariableId>,
    limit: u64,
    random: &mut Pcg64Mcg,
    expired: &mut impl FnMut() -> bool,
    cancel: &CancelToken,
) -> Result<Vec<VariableId>, Cancelled> {
    let n = graph.len() as u64;
    let mut length = (100 * n + 3 * n * n).min(FIRST_WALK_STEPS);
    let give_up_after = saturation_steps(n);
    let mut least = EliminationTree::new(graph, &order, |states| states).total();
    let (mut steps_done, mut steps_since_best) = (0, 0);
    loop {
        for round in ROUNDS {
            if n < 2 || steps_done >= limit || steps_since_best >= give_up_after || expired() {
                return Ok(order);
            }
            let steps = length.min(limit - steps_done);
            let found = round.walk(graph, &order, steps, random, expired, cancel)?;
            let total = EliminationTree::new(graph, &found, |states| states).total();
            steps_done += steps;
            steps_since_best += steps;
            if total < least {
                (least, order, steps_since_best) = (total, found, 0);
            }
        }
        length *= 2;
    }
}

impl Round {
    /// Walks from `order` on `graph` for `steps` steps and returns the best order met in the last
    /// walk. Stops early once `expired` returns true.
    pub fn walk(
        &self,
        graph: &MoralGraph,
        order: &[VariableId],
        mut steps: u64,
        random: &mut Pcg64Mcg,
        expired: &mut impl FnMut() -> bool,
        cancel: &CancelToken,
    ) -> Result<Vec<VariableId>, Cancelled> {
        let mut tree = EliminationTree::new(graph, order, |states| states);
        if self.flatten_first {
            let weight = |states: f64| states.sqrt() * states.sqrt().sqrt();
            let mut flat = EliminationTree::new(graph, order, weight);
            steps /= 2;
            let cooling =
                Cooling { initial_temperature: 0.03, final_temperature: FINAL_TEMPERATURE, steps };
            anneal(&mut flat, cooling, random, expired, cancel)?;
            tree = EliminationTree::new(graph, &flat.order(), |states| states);
        }
        let cooling = Cooling {
            initial_temperature: self.initial_temperature,
            final_temperature: FINAL_TEMPERATURE,
            steps,
        };
        anneal(&mut tree, cooling, random, expired, cancel)
    }
}
