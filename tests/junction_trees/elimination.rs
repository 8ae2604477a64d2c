//! Elimination by a heuristic or in a given order.

use cliquescope::cancel::CancelToken;
use cliquescope::format::open;
use cliquescope::graph::{
    Elimination, Heuristic, MoralGraph, Triangulation, eliminate, eliminate_in_order, table_entries,
};
use cliquescope::network::VariableId;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{checked, compile, cycle, ids, random_graph};

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
            // `joined[a][b]`: whether `a` and `b` are neighbours.
            let mut joined: Vec<Vec<bool>> =
                ids().map(|a| ids().map(|b| graph.are_neighbours(a, b)).collect()).collect();
            let mut remaining: Vec<usize> = (0..graph.len()).collect();
            for (step, &taken) in found.order.iter().enumerate() {
                let score =
                    |v: usize| score(heuristic, v, &remaining, &joined, graph.cardinalities());
                let expected = remaining.iter().copied().min_by_key(|&v| score(v)).unwrap();
                assert_eq!(taken.index(), expected, "graph {round}, {heuristic:?}, step {step}");
                remaining.retain(|&v| v != expected);
                let around: Vec<usize> =
                    remaining.iter().copied().filter(|&v| joined[expected][v]).collect();
                for &a in &around {
                    for &b in around.iter().filter(|&&b| b != a) {
                        joined[a][b] = true;
                    }
                }
            }
        }
    }
}

/// The score of variable `v` by the definition of `heuristic`.
fn score(
    heuristic: Heuristic,
    v: usize,
    remaining: &[usize],
    joined: &[Vec<bool>],
    cardinalities: &[usize],
) -> u64 {
    let around: Vec<usize> = remaining.iter().copied().filter(|&a| joined[v][a]).collect();
    let mut missing = Vec::new();
    for &a in &around {
        missing.extend(around.iter().filter(|&&b| a < b && !joined[a][b]).map(|&b| (a, b)));
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
            let (first, first_tree) = compile(&graph, method, seed);
            let (second, second_tree) = compile(&graph, method, seed);
            assert_eq!(first.order, second.order, "{} with seed {seed}", method.name());
            assert_eq!(first_tree, second_tree);
        }
    }
    let orders: Vec<Vec<VariableId>> = (0..4)
        .map(|seed| compile(&graph, Triangulation::By(Heuristic::MinFill), seed).0.order)
        .collect();
    assert!(orders.iter().any(|order| *order != orders[0]), "seeds break ties differently");
}

#[test]
fn the_elimination_order_of_a_tree_gives_the_same_fill_edges() {
    let mut random = Pcg64Mcg::seed_from_u64(19);
    for round in 0..40 {
        let graph = random_graph(&mut random, 20, 18);
        let (elimination, tree) = compile(&graph, Triangulation::By(Heuristic::MinFill), round);
        let by_tree =
            eliminate_in_order(&graph, &tree.elimination_order(), &CancelToken::new()).unwrap();
        let edges = |elimination: &Elimination| {
            let pairs = elimination.fill_edges.iter().map(|&(a, b)| (a.min(b), a.max(b)));
            pairs.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(edges(&by_tree), edges(&elimination), "graph {round}");
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
