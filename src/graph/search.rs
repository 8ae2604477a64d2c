//! The search for a small triangulation behind [`Triangulation::Auto`](crate::graph::Triangulation::Auto).

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

/// The elimination order with the least total table size that was found.
///
/// First one run of every heuristic with the seed of `options` and, in turns, their restarts. Then
/// simplicial vertices are taken away, and the best order of what remains is improved by walks of
/// growing length. Whatever comes later has to be better to be taken.
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

/// The best of the heuristics and their restarts; the first of equals.
///
/// A run ends as soon as it cannot beat the best so far. A heuristic that has met no tie would
/// only repeat itself and is not restarted.
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
        // Seed 0 would be file order again.
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

/// One walk, or two in a row, from the best order so far.
pub(super) struct Round {
    /// Walk first where a table counts as much as its size to the power of 3/4. Large tables then
    /// stand out less, and the walk gets past orders that make one for a while.
    flattened: bool,
    /// Where a walk with tables as they are begins; see [`Cooling`].
    hot: f64,
}

/// In turns: networks differ in which of them succeeds.
pub(super) const ROUNDS: [Round; 4] = [
    Round { flattened: false, hot: 0.02 },
    Round { flattened: true, hot: 0.003 },
    Round { flattened: false, hot: 0.3 },
    Round { flattened: false, hot: 0.1 },
];

/// Where every walk ends. Most tables that matter are larger than this share of the total.
const COLD: f64 = 2e-6;

/// The longest of the first walks; later ones double. So a search that is cut short has lost no
/// more than its last walk.
const FIRST: u64 = 150_000;

/// Steps after which most pairs of `n` vertices have met; a vertex has a few places to go.
pub(super) fn saturated(n: u64) -> u64 {
    200 * n + 20 * n * n
}

/// The best order of `graph` that walks from `order` find in `limit` steps at most.
///
/// Ends as well once no walk has found anything for a number of steps that grows with the square
/// of the size of the graph; small networks take a few milliseconds.
fn improve(
    graph: &MoralGraph,
    mut order: Vec<VariableId>,
    limit: u64,
    random: &mut Pcg64Mcg,
    expired: &mut impl FnMut() -> bool,
    cancel: &CancelToken,
) -> Result<Vec<VariableId>, Cancelled> {
    let n = graph.len() as u64;
    let mut length = (100 * n + 3 * n * n).min(FIRST);
    let saturated = saturated(n);
    let mut least = EliminationTree::new(graph, &order, |states| states).total();
    let (mut spent, mut idle) = (0, 0);
    loop {
        for round in ROUNDS {
            if n < 2 || spent >= limit || idle >= saturated || expired() {
                return Ok(order);
            }
            let steps = length.min(limit - spent);
            let found = round.walk(graph, &order, steps, random, expired, cancel)?;
            let total = EliminationTree::new(graph, &found, |states| states).total();
            spent += steps;
            idle += steps;
            if total < least {
                (least, order, idle) = (total, found, 0);
            }
        }
        length *= 2;
    }
}

impl Round {
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
        if self.flattened {
            let weight = |states: f64| states.sqrt() * states.sqrt().sqrt();
            let mut flat = EliminationTree::new(graph, order, weight);
            steps /= 2;
            let cooling = Cooling { hot: 0.03, cold: COLD, steps };
            anneal(&mut flat, cooling, random, expired, cancel)?;
            tree = EliminationTree::new(graph, &flat.order(), |states| states);
        }
        let cooling = Cooling { hot: self.hot, cold: COLD, steps };
        anneal(&mut tree, cooling, random, expired, cancel)
    }
}
