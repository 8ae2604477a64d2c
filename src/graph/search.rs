//! The search for a small triangulation behind
//! [`Triangulation::Auto`](crate::graph::Triangulation::Auto).

use std::ops::RangeInclusive;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::allocate::shared_pool;
use crate::cancel::{CancelToken, Cancelled};
use crate::clock::Instant;
use crate::graph::anneal::{MAX_VERTICES, Ordering, Schedule, anneal, random_below};
use crate::graph::elimination_tree::WHOLE;
use crate::graph::greedy::{Found, Greedy};
use crate::graph::reduction::reduce;
use crate::graph::{Heuristic, MoralGraph, TriangulationError, TriangulationOptions};
use crate::network::VariableId;

/// Time of a propagation for each table entry, in nanoseconds: both passes of engine `cpu` on one
/// core of a processor from 2020. If it is too large, the search takes more time than it saves in
/// small networks.
const ENTRY_NANOSECONDS: f64 = 2.0;

/// Time per step of the walks of a round, in nanoseconds: CPU time, measured on networks of 300 to
/// 1200 variables. Two threads that share the walks take about half of it. If it is too small, the
/// search takes more time than it saves in small networks: with 125, queries of the problems of the
/// UAI 2014 competition took 1.1 times as long in the mean.
const STEP_NANOSECONDS: f64 = 250.0;

/// Time of a greedy elimination for each vertex, in steps of a walk; measured in the same way.
const STEPS_PER_ELIMINATED_VERTEX: u64 = 6;

/// The walks of a round. All start from the same order. Which walk succeeds depends on the
/// network, and on how good the order already is.
pub(super) const SCHEDULES: [Schedule; 8] = [
    Schedule { exponent: WHOLE / 2, temperature: 0.05 },
    Schedule { exponent: WHOLE / 4, temperature: 0.02 },
    Schedule { exponent: WHOLE / 2, temperature: 0.02 },
    Schedule { exponent: WHOLE, temperature: 0.05 },
    Schedule { exponent: WHOLE, temperature: 0.02 },
    Schedule { exponent: WHOLE, temperature: 0.005 },
    Schedule { exponent: WHOLE / 4, temperature: 0.01 },
    Schedule { exponent: WHOLE / 2, temperature: 0.005 },
];

/// Maximum number of steps of each walk in the first round. The number doubles with each round.
/// Affects only the quality of the tree.
const FIRST_WALK_STEPS: u64 = 65_536;

/// Maximum number of steps of each walk in the last round before the search starts again. Longer
/// walks rather than more starts do not pay: on linkage_14 of the UAI 2014 competition, of searches
/// with 5 million steps, 5 of 40 came within 1.4 times of the smallest known tree; with 12 million
/// steps, 3 of 24. Affects only the quality of the tree.
const LAST_WALK_STEPS: u64 = 262_144;

/// The search does not start again after this part of its steps or of its time. What is left when the
/// last start ends is for improving the best order. Affects only the quality of the tree.
const PART_OF_STARTS: f64 = 0.75;

/// Number of eliminations in a batch of [`reweigh`]. All of them start from the same weights, so
/// they can run in parallel.
const ELIMINATIONS_PER_BATCH: u64 = 8;

/// Maximum number of batches of [`reweigh`]. On the linkage problems of the UAI 2014 competition,
/// later batches improve little. A larger number may leave fewer steps for the walks, which improve
/// an order further than any weights.
const MAX_BATCHES: u64 = 80;

/// [`reweigh`] stops before a batch that would bring its start above 1 / `REWEIGH_PART` of the steps
/// that the search may take in all. Affects only the quality of the tree.
const REWEIGH_PART: u64 = 4;

/// In a graph of n vertices, an elimination of [`reweigh`] draws 1 + n / `VERTICES_PER_CHANGE` new
/// weights; in the first batch it draws more. With 25 and 50, the trees of the linkage problems
/// were larger in the mean. Affects only the quality of the tree.
const VERTICES_PER_CHANGE: usize = 100;

/// Number of different weights that [`reweigh`] gives a vertex, each twice the one before. Affects
/// only the quality of the tree.
const WEIGHTS: usize = 7;

/// How many steps a search may take, how many it has taken, and its threads.
///
/// Time is counted in steps, at [`STEP_NANOSECONDS`] each, so that the result does not depend on
/// the speed of the machine. The clock matters only for a search that takes more than
/// [`PART_OF_STARTS`] of its budget.
struct Limits<'a> {
    options: &'a TriangulationOptions,
    /// The threads that share the walks of a round; `None` to stay on the calling thread.
    threads: Option<&'a ThreadPool>,
    started: Instant,
    /// Steps taken so far, by all walks and heuristics.
    steps: u64,
    /// Number of steps after which the search ends, however much it could save.
    end: u64,
    /// Entries of the best tree of all starts that have ended; infinite before the first one ends.
    least: f64,
}

impl Limits<'_> {
    /// Number of steps that the search may take in all if the best tree of this start has `entries`
    /// entries.
    fn total_steps(&self, entries: f64) -> u64 {
        worthwhile_steps(entries.min(self.least), self.options.runs).min(self.end)
    }

    /// Number of steps that the search may still take if the best tree has `entries` entries.
    fn steps_left(&self, entries: f64) -> u64 {
        self.total_steps(entries).saturating_sub(self.steps)
    }

    /// Whether the search may start again if the best tree has `entries` entries.
    fn can_start_again(&self, entries: f64) -> bool {
        (self.steps as f64) < self.total_steps(entries) as f64 * PART_OF_STARTS
            && self.started.elapsed() < self.options.budget.mul_f64(PART_OF_STARTS)
    }

    /// Whether the time budget is used up.
    fn expired(&self) -> bool {
        self.started.elapsed() >= self.options.budget
    }
}

/// Number of steps after which a search costs more time than it can save: the time of `runs`
/// propagations of a tree with `entries` entries.
fn worthwhile_steps(entries: f64, runs: u32) -> u64 {
    // The cast saturates.
    (entries * f64::from(runs) * ENTRY_NANOSECONDS / STEP_NANOSECONDS) as u64
}

/// Searches for an elimination order with a small total table size.
///
/// Runs each of the [`different_heuristics`] once with the seed of `options`, then restarts those
/// that broke ties, in turn. Then removes simplicial vertices, and looks for a better order of the
/// remaining vertices from several starts; see [`from_several_starts`]. A later order replaces an
/// earlier one only if it is strictly better. Stops once it has taken longer than it can save, or at
/// a limit of `options`. A graph that is too large for walks gets the best order of the heuristics.
///
/// # Errors
/// [`TriangulationError::TooLarge`] if this needs more memory than `options` allows, or
/// [`TriangulationError::Cancelled`] once `cancel` is set.
pub(super) fn search(
    graph: &MoralGraph,
    options: &TriangulationOptions,
    cancel: &CancelToken,
) -> Result<Vec<VariableId>, TriangulationError> {
    search_on(shared_pool(), graph, options, cancel)
}

/// See [`search`]. The result does not depend on the number of `threads`.
fn search_on(
    threads: Option<&ThreadPool>,
    graph: &MoralGraph,
    options: &TriangulationOptions,
    cancel: &CancelToken,
) -> Result<Vec<VariableId>, TriangulationError> {
    let (started, end, least) = (Instant::now(), u64::MAX, f64::INFINITY);
    let mut limits = Limits { options, threads, started, steps: 0, end, least };
    let mut seeds = Pcg64Mcg::seed_from_u64(options.seed);
    let found = restart(graph, options, &mut seeds, &mut limits, cancel)?;
    limits.end = limits.steps.saturating_add(options.steps);
    if limits.steps_left(found.entries as f64) == 0 {
        return Ok(found.order);
    }
    let core = reduce(graph);
    if core.graph.len() > MAX_VERTICES || walks_bytes(core.graph.len()) > options.max_bytes {
        return Ok(found.order);
    }
    let start = Ordering::new(&core.graph, core.restrict(&found.order));
    let improved = from_several_starts(&core.graph, &start, &mut seeds, &mut limits, cancel)?;
    let found = Ordering::new(graph, found.order);
    let improved = Ordering::new(graph, core.extend(&improved));
    Ok(if improved.entries < found.entries { improved.order } else { found.order })
}

/// The best result of all heuristics and their restarts; of equally good results, the earliest.
///
/// A run stops as soon as it cannot beat the best so far. A heuristic whose first run had no tie
/// would only repeat itself, so it is not restarted.
fn restart(
    graph: &MoralGraph,
    options: &TriangulationOptions,
    seeds: &mut Pcg64Mcg,
    limits: &mut Limits,
    cancel: &CancelToken,
) -> Result<Found, TriangulationError> {
    let cost = STEPS_PER_ELIMINATED_VERTEX * graph.len() as u64;
    let mut best: Option<Found> = None;
    let mut restartable = Vec::new();
    for heuristic in different_heuristics(graph) {
        let start = Greedy::new(graph, heuristic, options.max_bytes, cancel)?;
        let bound = best.as_ref().map(|best| best.entries);
        let run = start.clone().run(options.seed, bound, cancel)?;
        limits.steps += cost;
        best = run.found.or(best);
        if run.tied {
            restartable.push(start);
        }
    }
    let mut best = best.expect("the first run has no bound and reaches the end");
    'restarts: for _ in 0..options.restarts {
        // Not 0, which would break ties in file order instead of at random.
        let seed = seeds.next_u64() | 1;
        for start in &restartable {
            if limits.steps_left(best.entries as f64) < cost || limits.expired() {
                break 'restarts;
            }
            let run = start.clone().run(seed, Some(best.entries), cancel)?;
            limits.steps += cost;
            best = run.found.unwrap_or(best);
        }
    }
    Ok(best)
}

/// Bytes of the trees of a round of walks on `n` vertices.
fn walks_bytes(n: usize) -> u64 {
    // Each tree has two bit sets for each vertex.
    SCHEDULES.len() as u64 * 2 * n as u64 * n.div_ceil(64) as u64 * 8
}

/// The heuristics that can give different orders of `graph`. If all variables have the same number
/// of states, weights make no difference.
fn different_heuristics(graph: &MoralGraph) -> impl Iterator<Item = Heuristic> {
    let are_equal = graph.cardinalities().windows(2).all(|pair| pair[0] == pair[1]);
    Heuristic::ALL.into_iter().filter(move |heuristic| {
        !are_equal || matches!(heuristic, Heuristic::MinDegree | Heuristic::MinFill)
    })
}

/// The best of `best` and of the orders found by weighted min-fill with random weights in place of
/// the numbers of states.
///
/// `begun` is the number of steps before the start to which this belongs.
///
/// The weights change as in a local search: each elimination of a batch changes a few of them, and
/// the best elimination of the batch keeps its changes if the total does not grow. One changed
/// weight can move many vertices of the order far, so the search can get away from an order that
/// every single step of a walk would make worse.
fn reweigh(
    graph: &MoralGraph,
    mut best: Ordering,
    begun: u64,
    seeds: &mut Pcg64Mcg,
    limits: &mut Limits,
    cancel: &CancelToken,
) -> Result<Ordering, Cancelled> {
    let n = graph.len();
    let cost = ELIMINATIONS_PER_BATCH * STEPS_PER_ELIMINATED_VERTEX * n as u64;
    // Not 0, which would break ties in file order instead of at random.
    let tie_seed = seeds.next_u64() | 1;
    let weight =
        |v: usize, doublings: usize| graph.cardinalities()[v].saturating_mul(1 << doublings);
    let mut weights: Vec<usize> = (0..n).map(|v| weight(v, WEIGHTS / 2)).collect();
    let mut least = None;
    for _ in 0..MAX_BATCHES {
        let (steps, total) = (limits.steps + cost, limits.total_steps(best.entries));
        let is_worthwhile = steps <= total && steps - begun <= total / REWEIGH_PART;
        if n < 2 || !is_worthwhile || limits.expired() {
            break;
        }
        let seeds: Vec<u64> = (0..ELIMINATIONS_PER_BATCH).map(|_| seeds.next_u64()).collect();
        // The first batch changes most weights.
        let changes = if least.is_none() { 2 * n } else { 1 + n / VERTICES_PER_CHANGE };
        let eliminate = |&seed: &u64| {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let mut weights = weights.clone();
            for _ in 0..changes {
                let v = random_below(n, &mut random);
                weights[v] = weight(v, random_below(WEIGHTS, &mut random));
            }
            let heuristic = Heuristic::WeightedMinFill;
            let max_bytes = limits.options.max_bytes / ELIMINATIONS_PER_BATCH;
            let bound = least.map(|least: u64| least.saturating_add(1));
            let run = Greedy::with_weights(graph, heuristic, &weights, max_bytes, cancel)
                .and_then(|start| start.run(tie_seed, bound, cancel));
            match run {
                Ok(run) => Ok(run.found.map(|found| (found, weights))),
                Err(TriangulationError::TooLarge(_)) => Ok(None),
                Err(TriangulationError::Cancelled(cancelled)) => Err(cancelled),
            }
        };
        let batch = in_parallel(limits.threads, &seeds, eliminate);
        limits.steps = steps;
        for found in batch {
            let Some((found, changed)) = found? else { continue };
            if least.is_none_or(|least| found.entries <= least) {
                least = Some(found.entries);
                weights = changed;
                if (found.entries as f64) < best.entries {
                    best = Ordering::new(graph, found.order);
                }
            }
        }
    }
    Ok(best)
}

/// The results of `work` on each of `items`, computed on `threads`, or on the calling thread if
/// there are none.
fn in_parallel<T: Sync, R: Send>(
    threads: Option<&ThreadPool>,
    items: &[T],
    work: impl Fn(&T) -> R + Sync + Send,
) -> Vec<R> {
    match threads {
        Some(threads) => threads.install(|| items.par_iter().with_max_len(1).map(work).collect()),
        None => items.iter().map(work).collect(),
    }
}

/// A number of steps, about 200 for each pair of `n` vertices. A search gives up after this many
/// steps of a walk without improvement, or after a multiple of it.
pub(super) fn saturation_steps(n: u64) -> u64 {
    200 * n + 100 * n * n
}

/// Number of steps of each walk of the first round on `n` vertices.
fn first_walk_steps(n: u64) -> u64 {
    (100 * n + 3 * n * n).min(FIRST_WALK_STEPS)
}

/// The best order of `graph` that several starts find.
///
/// Each start tries new random weights, takes the best order found, or `start` if none is better, and
/// improves it by rounds of walks. The best order of all starts is then improved by longer walks.
/// However long a walk is, it seldom gets far from the order from which it starts, so several starts
/// find better orders than one long walk.
fn from_several_starts(
    graph: &MoralGraph,
    start: &Ordering,
    seeds: &mut Pcg64Mcg,
    limits: &mut Limits,
    cancel: &CancelToken,
) -> Result<Vec<VariableId>, Cancelled> {
    let first = first_walk_steps(graph.len() as u64);
    let mut best = start.clone();
    // Number of steps of each walk since the best order was found.
    let mut length_since_best = 0;
    // Number of steps before this start. The heuristics belong to the first one.
    let mut begun = 0;
    loop {
        let found = reweigh(graph, start.clone(), begun, seeds, limits, cancel)?;
        let found = improve(graph, found, first..=LAST_WALK_STEPS, seeds, limits, cancel)?;
        if found.order.entries < best.entries {
            (best, length_since_best) = (found.order, found.length_since_best);
        } else {
            length_since_best += found.length;
        }
        limits.least = limits.least.min(best.entries);
        if found.is_limited || length_since_best >= saturation_steps(graph.len() as u64) {
            return Ok(best.order);
        }
        if !limits.can_start_again(best.entries) {
            break;
        }
        begun = limits.steps;
    }
    let longer = 2 * LAST_WALK_STEPS..=u64::MAX;
    Ok(improve(graph, best, longer, seeds, limits, cancel)?.order.order)
}

/// What [`improve`] found.
struct Improved {
    order: Ordering,
    /// Number of steps of each walk, in all rounds together.
    length: u64,
    /// Number of steps of each walk since `order` was found.
    length_since_best: u64,
    /// Whether it stopped at the limits of the search.
    is_limited: bool,
}

/// The best order of `graph` found by rounds of walks. The first round starts from `best`, the others
/// from the best order so far. Each walk of the first round takes `lengths.start()` steps. The number
/// doubles with each round, up to `lengths.end()`.
///
/// The walks of a round are independent, so they run in parallel with the same result. Stops at
/// `limits`, or after [`saturation_steps`] of each walk without improvement, so small networks take
/// only a few milliseconds.
fn improve(
    graph: &MoralGraph,
    best: Ordering,
    lengths: RangeInclusive<u64>,
    seeds: &mut Pcg64Mcg,
    limits: &mut Limits,
    cancel: &CancelToken,
) -> Result<Improved, Cancelled> {
    let n = graph.len() as u64;
    let walks = SCHEDULES.len() as u64;
    let mut improved = Improved { order: best, length: 0, length_since_best: 0, is_limited: n < 2 };
    let mut length = *lengths.start();
    while length <= *lengths.end()
        && improved.length_since_best < saturation_steps(n)
        && !improved.is_limited
    {
        let steps = length.min(limits.steps_left(improved.order.entries) / walks);
        improved.is_limited = steps == 0 || limits.expired();
        if improved.is_limited {
            break;
        }
        let found = round(graph, &improved.order, steps, seeds, limits, cancel)?;
        limits.steps += walks * steps;
        improved.length += steps;
        improved.length_since_best += steps;
        if found.entries < improved.order.entries {
            (improved.order, improved.length_since_best) = (found, 0);
        }
        length = length.saturating_mul(2);
    }
    Ok(improved)
}

/// The best order found by one walk of `steps` steps for each of [`SCHEDULES`]; of equally good
/// orders, the one by the earliest schedule.
fn round(
    graph: &MoralGraph,
    start: &Ordering,
    steps: u64,
    seeds: &mut Pcg64Mcg,
    limits: &Limits,
    cancel: &CancelToken,
) -> Result<Ordering, Cancelled> {
    let walks = SCHEDULES.map(|schedule| (schedule, seeds.next_u64()));
    let walk = |&(schedule, seed): &(Schedule, u64)| {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut expired = || limits.expired();
        anneal(graph, &start.order, schedule, steps, &mut random, &mut expired, cancel)
    };
    let mut best = start.clone();
    for found in in_parallel(limits.threads, &walks, walk) {
        let found = found?;
        if found.entries < best.entries {
            best = found;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::allocate::thread_pool;
    use crate::format;

    #[test]
    fn a_search_is_worth_the_time_of_the_propagations_that_follow() {
        // 2 ns for each entry, 250 ns for each step.
        assert_eq!(worthwhile_steps(1e6, 1), 8_000);
        assert_eq!(worthwhile_steps(1e6, 1000), 8_000_000);
        assert_eq!(worthwhile_steps(100.0, 1), 0);
        assert_eq!(worthwhile_steps(f64::INFINITY, 1), u64::MAX);
        let options = TriangulationOptions { runs: 10, ..TriangulationOptions::default() };
        let started = Instant::now();
        let (steps, end) = (70_000, u64::MAX);
        let least = f64::INFINITY;
        let mut limits = Limits { options: &options, threads: None, started, steps, end, least };
        assert_eq!(limits.steps_left(1e6), 10_000);
        limits.end = 75_000;
        assert_eq!(limits.steps_left(1e6), 5_000);
        limits.steps = 90_000;
        assert_eq!(limits.steps_left(1e6), 0, "the search has already taken too long");
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_tree() {
        let network = format::open("barley").expect("a sample").network;
        let graph = MoralGraph::of_network(&network);
        for seed in 1..3 {
            let budget = Duration::from_secs(3600);
            let of_seed = TriangulationOptions { seed, budget, ..TriangulationOptions::default() };
            let [greedy, walks] =
                [0, 30_000].map(|steps| TriangulationOptions { steps, ..of_seed.clone() });
            let search = |threads: Option<&ThreadPool>, options: &TriangulationOptions| {
                search_on(threads, &graph, options, &CancelToken::new()).expect("an order")
            };
            let alone = search(None, &walks);
            for threads in [1, 2, 5] {
                let pool = thread_pool(threads).expect("threads");
                assert_eq!(search(Some(&pool), &walks), alone, "seed {seed}, {threads} threads");
            }
            assert_ne!(search(None, &greedy), alone, "seed {seed}: the walks find another order");
        }
    }

    /// A random graph of `n` vertices with at most this many edges, and 2 to 6 states each.
    fn random_graph(n: usize, edges: usize) -> MoralGraph {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let mut vertex = || VariableId::new(random_below(n, &mut random));
        let edges: Vec<_> = (0..edges).map(|_| vec![vertex(), vertex()]).collect();
        MoralGraph::new((0..n).map(|v| 2 + v % 5).collect(), &edges)
    }

    #[test]
    fn a_small_graph_is_searched_until_nothing_better_is_found() {
        let graph = random_graph(20, 40);
        let options = TriangulationOptions {
            steps: u64::MAX,
            runs: u32::MAX,
            budget: Duration::from_secs(3600),
            ..TriangulationOptions::default()
        };
        let cancel = CancelToken::new();
        let (started, end, least) = (Instant::now(), u64::MAX, f64::INFINITY);
        let mut limits = Limits { options: &options, threads: None, started, steps: 0, end, least };
        let mut seeds = Pcg64Mcg::seed_from_u64(1);
        let start = restart(&graph, &options, &mut seeds, &mut limits, &cancel).expect("an order");
        let start = Ordering::new(&graph, start.order);
        let order = from_several_starts(&graph, &start, &mut seeds, &mut limits, &cancel);
        let found = Ordering::new(&graph, order.expect("an order"));
        assert!(found.entries <= start.entries);
        let walks = SCHEDULES.len() as u64;
        assert!(limits.steps < 10 * walks * saturation_steps(20), "{} steps", limits.steps);
    }

    #[test]
    fn random_weights_give_better_orders_with_a_part_of_the_steps() {
        let graph = random_graph(150, 225);
        let cancel = CancelToken::new();
        let budget = Duration::from_secs(3600);
        let mut better = 0;
        for seed in 0..4 {
            let options = TriangulationOptions { seed, budget, ..TriangulationOptions::default() };
            let (started, end) = (Instant::now(), 400_000);
            let mut limits = Limits {
                options: &options,
                threads: None,
                started,
                steps: 0,
                end,
                least: f64::INFINITY,
            };
            let mut seeds = Pcg64Mcg::seed_from_u64(seed);
            let found = restart(&graph, &options, &mut seeds, &mut limits, &cancel).expect("order");
            let start = Ordering::new(&graph, found.order);
            let least = start.entries;
            let found = reweigh(&graph, start, 0, &mut seeds, &mut limits, &cancel).expect("order");
            assert!(found.entries <= least, "seed {seed}: {} after {least}", found.entries);
            better += usize::from(found.entries < least);
            assert_eq!(found.entries, Ordering::new(&graph, found.order).entries);
            assert!(limits.steps <= end / REWEIGH_PART, "{} steps", limits.steps);
        }
        assert!(better > 0);
    }

    #[test]
    fn equal_cardinalities_need_two_heuristics() {
        let heuristics =
            |states| different_heuristics(&MoralGraph::new(states, &[])).collect::<Vec<_>>();
        assert_eq!(heuristics(vec![2, 2]), [Heuristic::MinDegree, Heuristic::MinFill]);
        assert_eq!(heuristics(vec![2, 3]), Heuristic::ALL);
    }
}
