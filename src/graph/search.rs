//! The search for a small triangulation behind [`Triangulation::Auto`](crate::graph::Triangulation::Auto).

use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::greedy::{Found, Greedy};
use crate::graph::{Heuristic, MoralGraph, TriangulationOptions};
use crate::network::VariableId;

/// The elimination order with the least total table size among one run of every heuristic with
/// the seed of `options` and then, in turns, their restarts; the first of equals.
///
/// A run ends as soon as it cannot beat the best so far. A heuristic that has met no tie would
/// only repeat itself and is not restarted.
pub(super) fn search(
    graph: &MoralGraph,
    options: &TriangulationOptions,
    cancel: &CancelToken,
) -> Result<Vec<VariableId>, Cancelled> {
    let started = Instant::now();
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
    let mut seeds = Pcg64Mcg::seed_from_u64(options.seed);
    'restarts: for _ in 0..options.restarts {
        // Seed 0 would be file order again.
        let seed = seeds.next_u64() | 1;
        for start in &restartable {
            if started.elapsed() >= options.budget {
                break 'restarts;
            }
            let bound = best.as_ref().map(|best| best.entries);
            best = start.clone().run(seed, bound, cancel)?.found.or(best);
        }
    }
    Ok(best.expect("the first run has no bound and reaches the end").order)
}
