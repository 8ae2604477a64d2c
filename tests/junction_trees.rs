//! Junction trees by every triangulation method, for the shipped networks, for random graphs with
//! fixed seeds and for graphs made by hand. Some are compared with the paper's Table 1.

use std::sync::Arc;
use std::time::Duration;

use cliquescope::cancel::{CancelToken, Cancelled};
use cliquescope::format::{SAMPLES, open};
use cliquescope::graph::{
    Elimination, Heuristic, JunctionTree, KnownOrders, MoralGraph, TreeStatistics, Triangulation,
    TriangulationError, TriangulationOptions, build_junction_tree, eliminate, eliminate_in_order,
    predicates, table_entries, triangulate,
};
use cliquescope::network::VariableId;
use cliquescope::propagation::{self, CompileOptions};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn ids(variables: &[usize]) -> Vec<VariableId> {
    variables.iter().copied().map(VariableId::new).collect()
}

fn graph(cardinalities: &[usize], families: &[&[usize]]) -> MoralGraph {
    let families: Vec<Vec<VariableId>> = families.iter().map(|family| ids(family)).collect();
    MoralGraph::new(cardinalities.to_vec(), &families)
}

fn cycle(length: usize) -> MoralGraph {
    let edges: Vec<Vec<VariableId>> = (0..length).map(|v| ids(&[v, (v + 1) % length])).collect();
    MoralGraph::new(vec![2; length], &edges)
}

/// Options for `method` with a short search. The time budget is never used up, so the result
/// depends only on the seed.
fn options(method: Triangulation, seed: u64) -> TriangulationOptions {
    let budget = Duration::from_secs(3600);
    let (restarts, steps, runs) = (3, 5_000, u32::MAX);
    let defaults = TriangulationOptions::default();
    TriangulationOptions { method, seed, restarts, steps, runs, budget, known: None, ..defaults }
}

fn compile(graph: &MoralGraph, method: Triangulation, seed: u64) -> (Elimination, JunctionTree) {
    let elimination = triangulate(graph, &options(method, seed), &CancelToken::new()).unwrap();
    let tree = build_junction_tree(graph, &elimination);
    (elimination, tree)
}

/// Compiles `graph` by `method`, checks the elimination and the tree, and returns the tree.
fn checked(graph: &MoralGraph, method: Triangulation, seed: u64, what: &str) -> JunctionTree {
    let (elimination, tree) = compile(graph, method, seed);
    let verdict = predicates::is_junction_tree(graph, &elimination.fill_edges, &tree);
    assert_eq!(verdict, Ok(()), "{what} by {} with seed {seed}", method.name());

    let mut order = elimination.order.clone();
    order.sort_unstable();
    assert!(
        order.into_iter().eq((0..graph.len()).map(VariableId::new)),
        "{what}: the order has every variable once"
    );
    let mut fill = elimination.fill_edges.clone();
    fill.sort_unstable();
    fill.dedup();
    assert_eq!(fill.len(), elimination.fill_edges.len(), "{what}: a fill edge is named once");
    for (a, b) in fill {
        assert!(!graph.are_neighbours(a, b), "{what}: fill edges are new");
    }
    tree
}

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
fn a_tree_is_numbered_depth_first_from_the_root_with_the_shortest_critical_path() {
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
/// clique.
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
fn a_cycle_of_length_n_gets_n_minus_3_fill_edges() {
    for length in 4..=8 {
        for heuristic in Heuristic::ALL {
            let method = Triangulation::By(heuristic);
            let tree = checked(&cycle(length), method, 0, "a cycle");
            assert_eq!(tree.cliques().len(), length - 2);
            assert!(tree.cliques().iter().all(|clique| clique.entries == 8));
            let fill = compile(&cycle(length), method, 0).0.fill_edges.len();
            assert_eq!(fill, length - 3);
        }
    }
}

#[test]
fn a_complete_graph_is_one_clique() {
    let all: Vec<usize> = (0..6).collect();
    for method in Triangulation::ALL {
        let tree = checked(&graph(&[2, 3, 4, 1, 2, 2], &[&all]), method, 0, "a complete graph");
        assert_eq!(tree.cliques().len(), 1);
        assert_eq!(tree.cliques()[0].variables, ids(&all));
        assert_eq!(tree.cliques()[0].entries, 96);
        assert!(tree.separators().is_empty());
    }
}

#[test]
fn no_variables_give_one_empty_clique() {
    for method in Triangulation::ALL {
        let tree = checked(&graph(&[], &[]), method, 0, "nothing");
        assert_eq!(tree.cliques().len(), 1);
        assert!(tree.cliques()[0].variables.is_empty());
        assert_eq!(tree.cliques()[0].entries, 1);
    }
}

#[test]
fn isolated_variables_form_a_star_around_one_of_them() {
    for method in Triangulation::ALL {
        let tree = checked(&graph(&[2, 3, 4, 5], &[]), method, 0, "isolated variables");
        assert_eq!(tree.cliques().len(), 4);
        assert!(tree.depth() <= 1);
        assert!(tree.separators().iter().all(|s| s.variables.is_empty() && s.entries == 1));
    }
}

#[test]
fn components_are_joined_by_empty_separators() {
    // A chain of seven pairs, a triangle, a single variable.
    let families: [&[usize]; 8] =
        [&[0, 1], &[1, 2], &[2, 3], &[3, 4], &[4, 5], &[5, 6], &[6, 7], &[8, 9, 10]];
    let graph = graph(&[2; 12], &families);
    for method in Triangulation::ALL {
        let tree = checked(&graph, method, 0, "three parts");
        assert_eq!(tree.cliques().len(), 9);
        assert_eq!(tree.separators().iter().filter(|s| s.variables.is_empty()).count(), 2);
        assert_eq!(tree.depth(), 3, "the chain's own depth");
    }
}

#[test]
fn variables_with_one_state_weigh_nothing() {
    // A square with one diagonal that costs nothing.
    let square = graph(&[1, 5, 1, 5], &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]]);
    for heuristic in [Heuristic::MinWeight, Heuristic::WeightedMinFill] {
        let tree = checked(&square, Triangulation::By(heuristic), 0, "a square");
        assert!(tree.cliques().iter().all(|clique| clique.entries == 5));
        assert_eq!(tree.separators()[0].variables, ids(&[0, 2]));
    }
    for method in Triangulation::ALL {
        checked(&graph(&[1; 5], &[&[0, 1, 2], &[2, 3], &[3, 4], &[4, 0]]), method, 0, "ones");
    }
}

#[test]
fn tables_beyond_64_bits_saturate() {
    let all: Vec<usize> = (0..80).collect();
    for method in Triangulation::ALL {
        let tree = checked(&graph(&[2; 80], &[&all]), method, 0, "a huge table");
        assert_eq!(tree.cliques()[0].entries, u64::MAX);
        let statistics = TreeStatistics::of(&tree);
        assert_eq!(statistics.total_clique_entries, u64::MAX);
    }
    let wide = graph(&[usize::MAX; 6], &[&[0, 1], &[1, 2], &[2, 3], &[3, 4], &[4, 5], &[5, 0]]);
    for method in Triangulation::ALL {
        checked(&wide, method, 3, "huge cardinalities");
    }
}

/// A graph of `variables` variables with `families` random families of up to four.
fn random_graph(random: &mut Pcg64Mcg, variables: usize, families: usize) -> MoralGraph {
    let cardinalities = (0..variables).map(|_| random.random_range(1..=5)).collect();
    let families: Vec<Vec<VariableId>> = (0..families)
        .map(|_| {
            let size = random.random_range(1..=4);
            (0..size).map(|_| VariableId::new(random.random_range(0..variables))).collect()
        })
        .collect();
    MoralGraph::new(cardinalities, &families)
}

#[test]
fn random_graphs_compile_by_every_method() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    for round in 0..150 {
        let variables = random.random_range(1..=30);
        let families = random.random_range(0..=30);
        let graph = random_graph(&mut random, variables, families);
        for method in Triangulation::ALL {
            checked(&graph, method, round, &format!("random graph {round}"));
        }
    }
}

/// Compares with a direct implementation that computes each score from its definition.
#[test]
fn heuristics_take_the_first_vertex_with_the_smallest_score() {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    for round in 0..60 {
        let graph = random_graph(&mut random, 18, 14);
        for heuristic in Heuristic::ALL {
            let found = eliminate(&graph, heuristic, 0, &CancelToken::new()).unwrap();
            let ids = || (0..graph.len()).map(VariableId::new);
            let mut rows: Vec<Vec<bool>> =
                ids().map(|a| ids().map(|b| graph.are_neighbours(a, b)).collect()).collect();
            let mut remaining: Vec<usize> = (0..graph.len()).collect();
            for (step, &taken) in found.order.iter().enumerate() {
                let cost = |v: usize| cost(heuristic, v, &remaining, &rows, graph.cardinalities());
                let expected = remaining.iter().copied().min_by_key(|&v| cost(v)).unwrap();
                assert_eq!(taken.index(), expected, "graph {round}, {heuristic:?}, step {step}");
                remaining.retain(|&v| v != expected);
                let around: Vec<usize> =
                    remaining.iter().copied().filter(|&v| rows[expected][v]).collect();
                for &a in &around {
                    for &b in around.iter().filter(|&&b| b != a) {
                        rows[a][b] = true;
                    }
                }
            }
        }
    }
}

/// The score of variable `v` by the definition of `heuristic`.
fn cost(
    heuristic: Heuristic,
    v: usize,
    remaining: &[usize],
    rows: &[Vec<bool>],
    cardinalities: &[usize],
) -> u64 {
    let around: Vec<usize> = remaining.iter().copied().filter(|&a| rows[v][a]).collect();
    let mut missing = Vec::new();
    for &a in &around {
        missing.extend(around.iter().filter(|&&b| a < b && !rows[a][b]).map(|&b| (a, b)));
    }
    match heuristic {
        Heuristic::MinDegree => around.len() as u64,
        Heuristic::MinFill => missing.len() as u64,
        Heuristic::MinWeight => table_entries(around.iter().chain([&v]).map(|&a| cardinalities[a])),
        Heuristic::WeightedMinFill => {
            missing.iter().map(|&(a, b)| (cardinalities[a] * cardinalities[b]) as u64).sum()
        }
    }
}

#[test]
fn a_seed_determines_the_tree() {
    let graph = MoralGraph::of_network(&open("insurance").unwrap().network);
    for method in Triangulation::ALL {
        for seed in 0..4 {
            let (first, tree) = compile(&graph, method, seed);
            let (second, again) = compile(&graph, method, seed);
            assert_eq!(first.order, second.order, "{} with seed {seed}", method.name());
            assert_eq!(tree, again);
        }
    }
    let orders: Vec<Vec<VariableId>> = (0..4)
        .map(|seed| compile(&graph, Triangulation::By(Heuristic::MinFill), seed).0.order)
        .collect();
    assert!(orders.iter().any(|order| *order != orders[0]), "seeds break ties differently");
}

#[test]
fn the_number_of_threads_does_not_change_the_tree() {
    let graph = MoralGraph::of_network(&open("barley").unwrap().network);
    for seed in 1..3 {
        let options = TriangulationOptions { steps: 30_000, ..options(Triangulation::Auto, seed) };
        let orders = [1, 2, 5].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| triangulate(&graph, &options, &CancelToken::new())).unwrap().order
        });
        assert_eq!(orders[0], orders[1], "seed {seed}");
        assert_eq!(orders[0], orders[2], "seed {seed}");
        let greedy = TriangulationOptions { steps: 0, ..options.clone() };
        let greedy = triangulate(&graph, &greedy, &CancelToken::new()).unwrap();
        assert_ne!(orders[0], greedy.order, "seed {seed}: the walks find another order");
    }
}

#[test]
fn a_search_takes_longer_for_more_propagations() {
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

/// The smallest table has more than 2^64 entries, and most have more than the search can tell
/// apart.
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

/// Total number of clique table entries after triangulation with `options`.
fn total(graph: &MoralGraph, options: &TriangulationOptions) -> u64 {
    triangulate(graph, options, &CancelToken::new()).unwrap().total_entries(graph)
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
fn the_elimination_order_of_a_tree_gives_the_same_fill_edges() {
    let mut random = Pcg64Mcg::seed_from_u64(19);
    for round in 0..40 {
        let graph = random_graph(&mut random, 20, 18);
        let (elimination, tree) = compile(&graph, Triangulation::By(Heuristic::MinFill), round);
        let again =
            eliminate_in_order(&graph, &tree.elimination_order(), &CancelToken::new()).unwrap();
        let edges = |elimination: &Elimination| {
            let pairs = elimination.fill_edges.iter().map(|&(a, b)| (a.min(b), a.max(b)));
            pairs.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(edges(&again), edges(&elimination), "graph {round}");
    }
}

#[test]
fn a_given_order_determines_the_fill_edges_and_the_maximal_clusters() {
    let order = ids(&[0, 2, 1, 3, 4]);
    let elimination = eliminate_in_order(&cycle(5), &order, &CancelToken::new()).unwrap();
    assert_eq!(elimination.order, order);
    let edges = [(1, 3), (1, 4)].map(|(a, b)| (VariableId::new(a), VariableId::new(b)));
    assert_eq!(elimination.fill_edges, edges);
    assert_eq!(elimination.maximal_clusters(), [0, 1, 2]);
}

/// Runs `test` on a thread whose stack is too small for recursion over a long chain.
fn on_small_stack(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(256 << 10);
        builder.spawn_scoped(scope, test).unwrap().join().unwrap();
    });
}

#[test]
fn chains_stars_and_isolated_variables_of_any_number_compile_by_every_method() {
    const VARIABLES: usize = 100_000;
    let edges = |other: fn(usize) -> usize| {
        let pairs = (1..VARIABLES).map(|v| ids(&[other(v), v]));
        MoralGraph::new(vec![2; VARIABLES], &pairs.collect::<Vec<_>>())
    };
    let graphs = [
        ("chain", edges(|v| v - 1), VARIABLES - 1),
        ("star", edges(|_| 0), VARIABLES - 1),
        ("isolated", MoralGraph::new(vec![2; VARIABLES], &[]), VARIABLES),
    ];
    on_small_stack(|| {
        for (what, graph, cliques) in &graphs {
            for method in Triangulation::ALL {
                let tree = checked(graph, method, 0, what);
                assert_eq!(tree.cliques().len(), *cliques, "{what} by {}", method.name());
            }
        }
    });
}

#[test]
fn a_long_chain_with_a_variable_in_all_cliques_compiles() {
    const VARIABLES: usize = 50_000;
    // Takes minutes if the time grows with the square of the length. Cliques of different sizes
    // alternate along the chain, so each clique has a smaller neighbour.
    let states = (0..VARIABLES).map(|v| 2 + v % 2 * (v % 3)).collect();
    let families: Vec<Vec<VariableId>> = (2..VARIABLES).map(|v| ids(&[0, v - 1, v])).collect();
    let graph = MoralGraph::new(states, &families);
    on_small_stack(|| {
        let tree = checked(&graph, Triangulation::By(Heuristic::MinFill), 0, "hub");
        assert_eq!(tree.cliques().len(), VARIABLES - 2);
    });
}

#[test]
fn a_graph_that_needs_more_memory_than_the_limit_is_refused() {
    // The complete bipartite graph of 100 and 100 variables, which needs fill edges.
    let edges: Vec<Vec<VariableId>> =
        (0..100).flat_map(|a| (100..200).map(move |b| ids(&[a, b]))).collect();
    let graph = MoralGraph::new(vec![2; 200], &edges);
    let refusal = |method, max_bytes| {
        let options = TriangulationOptions { max_bytes, ..options(method, 0) };
        match triangulate(&graph, &options, &CancelToken::new()) {
            Err(TriangulationError::TooLarge(refusal)) => Some(refusal),
            outcome => {
                outcome.expect("not cancelled");
                None
            }
        }
    };
    for method in Triangulation::ALL {
        let at_once = refusal(method, 10_000).expect("the graph alone is larger");
        assert_eq!((at_once.variables, at_once.edges), (200, 10_000));
        assert!(at_once.bytes > 10_000 && at_once.limit == 10_000, "{at_once:?}");
        let later = refusal(method, at_once.bytes).expect("there is no room for a fill edge");
        assert!(later.edges > 10_000, "{later:?}");
        assert_eq!(refusal(method, 10_000_000), None, "{}", method.name());
        let said = later.to_string();
        assert!(
            said.starts_with("too large to triangulate: 200 variables and at least 10,"),
            "{said}"
        );
    }
}

#[test]
fn cancelled_work_stops() {
    let cancel = CancelToken::new();
    cancel.cancel();
    for method in Triangulation::ALL {
        let outcome = triangulate(&cycle(5), &options(method, 0), &cancel);
        assert_eq!(outcome.unwrap_err(), Cancelled.into(), "{}", method.name());
    }
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
