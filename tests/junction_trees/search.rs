//! The search for a better elimination order.

use std::time::Duration;

use cliquescope::cancel::{CancelToken, Cancelled};
use cliquescope::format::open;
use cliquescope::graph::{
    MoralGraph, TreeStatistics, Triangulation, TriangulationOptions, build_junction_tree,
    eliminate_in_order, predicates, triangulate,
};
use cliquescope::network::VariableId;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{ids, options, total};

#[test]
fn a_search_for_more_propagations_finds_a_smaller_tree() {
    let graph = MoralGraph::of_network(&open("water").unwrap().network);
    let total = |runs| {
        let options = TriangulationOptions {
            runs,
            restarts: 0,
            steps: 300_000,
            ..options(Triangulation::Auto, 1)
        };
        total(&graph, &options)
    };
    let greedy = TriangulationOptions { restarts: 0, steps: 0, ..options(Triangulation::Auto, 1) };
    assert_eq!(total(0), self::total(&graph, &greedy), "nothing can be saved without propagations");
    assert!(total(1000) < total(0));
}

/// The largest table has at least 2^112 entries. A walk of the search counts a table as at most
/// 2^90 entries.
#[test]
fn a_search_of_trees_too_large_for_64_bits_is_never_worse_than_the_heuristics() {
    let edges = (0..36).flat_map(|v| {
        let right = (v % 6 < 5).then_some(v + 1);
        let below = (v < 30).then_some(v + 6);
        right.into_iter().chain(below).map(move |other| ids(&[v, other]))
    });
    let graph = MoralGraph::new(vec![1 << 16; 36], &edges.collect::<Vec<_>>());
    for seed in 0..3 {
        let total = |steps| {
            let options = TriangulationOptions { steps, ..options(Triangulation::Auto, seed) };
            let elimination = triangulate(&graph, &options, &CancelToken::new()).unwrap();
            assert_eq!(predicates::is_elimination_order(&graph, &elimination.order), Ok(()));
            let sizes = elimination
                .maximal_clusters()
                .into_iter()
                .map(|index| 65536_f64.powi(elimination.clusters[index].len() as i32));
            sizes.sum::<f64>()
        };
        let [greedy, searched] = [0, 40_000].map(total);
        assert!(greedy > 2_f64.powi(96), "{greedy:e}");
        assert!(searched <= greedy, "seed {seed}: {searched:e} after {greedy:e}");
    }
}

#[test]
fn more_restarts_are_never_worse() {
    let graph = MoralGraph::of_network(&open("water").unwrap().network);
    let total = |restarts| {
        let searched = options(Triangulation::Auto, 1);
        let options = TriangulationOptions { restarts, steps: 0, ..searched };
        let elimination = triangulate(&graph, &options, &CancelToken::new()).unwrap();
        TreeStatistics::of(&build_junction_tree(&graph, &elimination)).total_clique_entries
    };
    let totals = [0, 1, 4, 16, 64].map(total);
    assert!(totals.is_sorted_by(|a, b| a >= b), "{totals:?}");
    assert!(totals[4] < totals[0], "{totals:?}: restarts find a smaller tree");
}

/// The limit of each network is the total number of clique table entries that a search must not
/// exceed.
#[test]
#[cfg_attr(debug_assertions, ignore = "needs an optimised build")]
fn a_search_of_a_shipped_network_stays_within_its_limit() {
    for (name, limit) in [
        ("water", 3_028_305),
        ("mildew", 3_400_464),
        ("barley", 17_140_796),
        ("pigs", 530_000),
        ("diabetes", 9_841_030),
        ("munin2", 2_150_000),
        ("munin3", 3_115_000),
        ("munin4", 9_100_000),
    ] {
        let graph = MoralGraph::of_network(&open(name).unwrap().network);
        for seed in [0, 1] {
            let found = total(
                &graph,
                &TriangulationOptions { steps: 1_200_000, ..options(Triangulation::Auto, seed) },
            );
            assert!(found <= limit, "{name} with seed {seed}: {found} entries, expected {limit}");
        }
    }
}

#[test]
fn a_search_with_steps_is_never_worse_than_one_without() {
    let graph = MoralGraph::of_network(&open("barley").unwrap().network);
    for seed in 1..4 {
        let totals = [0, 100, 10_000, 30_000].map(|steps| {
            total(&graph, &TriangulationOptions { steps, ..options(Triangulation::Auto, seed) })
        });
        assert!(totals[1..].iter().all(|after| after <= &totals[0]), "{totals:?}");
    }
}

/// Compares with all orders of small graphs.
#[test]
fn the_search_finds_the_smallest_total_of_small_graphs() {
    let mut random = Pcg64Mcg::seed_from_u64(17);
    for round in 0..40 {
        let families: Vec<Vec<VariableId>> =
            (0..9).map(|_| ids(&[random.random_range(0..7), random.random_range(0..7)])).collect();
        let states = (0..7).map(|_| random.random_range(2..=5)).collect();
        let graph = MoralGraph::new(states, &families);
        let least = least_total(&graph, &mut Vec::new());
        let found = total(&graph, &options(Triangulation::Auto, round));
        assert_eq!(found, least, "graph {round}");
    }
}

/// The smallest total over all orders that begin with `order`.
fn least_total(graph: &MoralGraph, order: &mut Vec<VariableId>) -> u64 {
    if order.len() == graph.len() {
        let elimination = eliminate_in_order(graph, order, &CancelToken::new()).unwrap();
        return elimination.total_entries(graph);
    }
    let mut least = u64::MAX;
    for variable in (0..graph.len()).map(VariableId::new) {
        if !order.contains(&variable) {
            order.push(variable);
            least = least.min(least_total(graph, order));
            order.pop();
        }
    }
    least
}

#[test]
fn an_endless_search_stops_at_its_budget_and_when_cancelled() {
    let graph = MoralGraph::of_network(&open("munin4").unwrap().network);
    let endless = TriangulationOptions { steps: u64::MAX, ..options(Triangulation::Auto, 1) };
    let short = TriangulationOptions { budget: Duration::from_millis(50), ..endless.clone() };
    let tree = triangulate(&graph, &short, &CancelToken::new()).unwrap();
    let verdict = predicates::is_elimination_order(&graph, &tree.order);
    assert_eq!(verdict, Ok(()));

    let cancel = CancelToken::new();
    let outcome = std::thread::scope(|scope| {
        let search = scope.spawn(|| triangulate(&graph, &endless, &cancel));
        std::thread::sleep(Duration::from_millis(50));
        cancel.cancel();
        search.join().unwrap()
    });
    assert_eq!(outcome.unwrap_err(), Cancelled.into());
}
