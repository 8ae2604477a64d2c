//! Trees of the shipped networks, and their shipped elimination orders.

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::format::{SAMPLES, open};
use cliquescope::graph::{
    Heuristic, JunctionTree, KnownOrders, MoralGraph, TreeStatistics, Triangulation,
    TriangulationOptions, build_junction_tree, predicates, triangulate,
};
use cliquescope::propagation::{self, CompileOptions};

use crate::{checked, compile, options, total};

fn statistics(name: &str, heuristic: Heuristic) -> TreeStatistics {
    let graph = MoralGraph::of_network(&open(name).unwrap().network);
    TreeStatistics::of(&compile(&graph, Triangulation::By(heuristic), 0).1)
}

/// Compares with Table 1 of Zheng, Mengshoel and Chong, in which averages are rounded down. The
/// trees of the three Munin networks differ: they have up to three cliques more or fewer.
#[test]
fn weighted_min_fill_gives_trees_of_the_sizes_in_table_1() {
    for (name, cliques, largest, smallest, average, largest_separator) in [
        ("mildew", 28, 4_372_480, 336, 341_651, 71_680),
        ("diabetes", 337, 190_080, 495, 32_443, 11_880),
        ("barley", 36, 7_257_600, 216, 512_044, 907_200),
        ("pigs", 368, 177_147, 27, 1_927, 59_049),
        ("water", 20, 995_328, 9, 173_297, 147_456),
    ] {
        let tree = statistics(name, Heuristic::WeightedMinFill);
        assert_eq!(tree.cliques, cliques, "{name}: cliques");
        assert_eq!(tree.max_clique_entries, largest, "{name}: largest clique");
        assert_eq!(tree.min_clique_entries, smallest, "{name}: smallest clique");
        assert_eq!(tree.mean_clique_entries.floor(), f64::from(average), "{name}: average clique");
        assert_eq!(tree.max_separator_entries, largest_separator, "{name}: largest separator");
    }
}

#[test]
fn every_method_compiles_every_shipped_network() {
    for sample in SAMPLES {
        let network = open(sample.name).unwrap().network;
        let graph = MoralGraph::of_network(&network);
        let mut totals = Vec::new();
        for method in Triangulation::ALL {
            let tree = checked(&graph, method, 0, sample.name);
            let families = network.factors().map(|factor| factor.scope().iter().copied());
            assert_eq!(predicates::families_are_covered(families, &tree), Ok(()));
            totals.push(TreeStatistics::of(&tree).total_clique_entries);
        }
        let least = totals[1..].iter().min();
        assert!(Some(&totals[0]) <= least, "{}: auto is no worse than any heuristic", sample.name);
    }
}

#[test]
fn parents_come_before_children_and_the_root_has_the_shortest_critical_path() {
    for name in ["alarm", "pigs", "munin3"] {
        let graph = MoralGraph::of_network(&open(name).unwrap().network);
        let (_, tree) = compile(&graph, Triangulation::By(Heuristic::MinFill), 0);
        let mut neighbours = vec![Vec::new(); tree.cliques().len()];
        for id in tree.clique_ids() {
            if let Some(link) = tree.parent(id) {
                assert!(link.clique < id, "{name}: a parent comes before its children");
                assert_eq!(tree[link.separator].child, id);
                assert_eq!(link.separator.index() + 1, id.index());
                neighbours[id.index()].push(link.clique.index());
                neighbours[link.clique.index()].push(id.index());
            }
        }
        let path = |root| critical_path(&tree, &neighbours, root);
        let shortest = (0..neighbours.len()).map(path).min();
        assert_eq!(Some(path(tree.root().index())), shortest, "{name}");
    }
}

/// The cost of the most expensive path from `root`: the entries of its cliques, plus 4096 per
/// clique, as `MESSAGE_COST` in src/graph/critical_path.rs.
fn critical_path(tree: &JunctionTree, neighbours: &[Vec<usize>], root: usize) -> u64 {
    let mut stack = vec![(root, root, 0)];
    let mut longest = 0;
    while let Some((clique, before, length)) = stack.pop() {
        let length = length + tree.cliques()[clique].entries + 4096;
        longest = longest.max(length);
        let onward = neighbours[clique].iter().filter(|&&next| next != before);
        stack.extend(onward.map(|&next| (next, clique, length)));
    }
    longest
}

#[test]
fn every_shipped_network_has_a_shipped_order() {
    assert_eq!(KnownOrders::shipped().len(), SAMPLES.len());
    for sample in SAMPLES {
        let graph = MoralGraph::of_network(&open(sample.name).unwrap().network);
        let order = KnownOrders::shipped().find(&graph).expect(sample.name);
        let shipped = TriangulationOptions { steps: 0, ..TriangulationOptions::default() };
        let elimination = triangulate(&graph, &shipped, &CancelToken::new()).unwrap();
        assert_eq!(elimination.order, order, "{}", sample.name);
        let tree = build_junction_tree(&graph, &elimination);
        let verdict = predicates::is_junction_tree(&graph, &elimination.fill_edges, &tree);
        assert_eq!(verdict, Ok(()), "{}", sample.name);
        let known = elimination.total_entries(&graph);
        // A shipped order must not exceed this total, so that a worse one is not shipped by
        // mistake.
        let goal = match sample.name {
            "water" => 3_028_305,
            "mildew" => 3_400_464,
            "barley" => 17_140_796,
            "pigs" => 513_918,
            "diabetes" => 9_841_030,
            "munin2" => 2_769_264,
            "munin3" => 3_105_228,
            "munin4" => 9_427_089,
            _ => total(&graph, &options(Triangulation::Auto, 1)),
        };
        assert!(known <= goal, "{}: {known} entries, expected {goal}", sample.name);
    }
}

#[test]
fn another_seed_or_no_known_orders_starts_a_search() {
    let graph = MoralGraph::of_network(&open("alarm").unwrap().network);
    let mut known = KnownOrders::default();
    let large = compile(&graph, Triangulation::By(Heuristic::MinDegree), 3).1;
    let entries = TreeStatistics::of(&large).total_clique_entries;
    assert!(known.insert(&graph, &large.elimination_order(), entries));
    let asked =
        TriangulationOptions { known: Some(known.into()), ..options(Triangulation::Auto, 0) };
    assert_eq!(total(&graph, &asked), TreeStatistics::of(&large).total_clique_entries);
    for fresh in [
        TriangulationOptions { seed: 1, ..asked.clone() },
        TriangulationOptions { known: None, ..asked.clone() },
    ] {
        assert!(total(&graph, &fresh) < total(&graph, &asked), "seed {}", fresh.seed);
    }
}

#[test]
fn a_reopened_network_has_the_same_tree() {
    for name in ["asia", "cancer", "child", "insurance", "alarm"] {
        let network = Arc::new(open(name).unwrap().network);
        let compiled = |known: Option<KnownOrders>| {
            let known = known.map(Arc::new);
            let triangulation = TriangulationOptions { known, ..options(Triangulation::Auto, 0) };
            let options = CompileOptions { triangulation, ..CompileOptions::default() };
            propagation::compile(Arc::clone(&network), &options, &CancelToken::new()).unwrap()
        };
        let first = compiled(None);
        let entries = first.statistics().total_clique_entries;
        let known = KnownOrders::of(first.moral_graph(), &first.elimination_order(), entries);
        assert_eq!(compiled(Some(known)).tree(), first.tree(), "{name}");
    }
}
