use rand::RngExt;

use super::*;
use crate::graph::{eliminate_in_order, table_entries};

fn random_graphs(seed: u64) -> impl Iterator<Item = MoralGraph> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..80).map(move |_| {
        let n = random.random_range(1..=16);
        let edges: Vec<Vec<VariableId>> = (0..random.random_range(0..=24))
            .map(|_| (0..2).map(|_| VariableId::new(random.random_range(0..n))).collect())
            .collect();
        MoralGraph::new((0..n).map(|_| random.random_range(1..=4)).collect(), &edges)
    })
}

fn run(graph: &MoralGraph, heuristic: Heuristic, seed: u64, bound: Option<u64>) -> Run {
    let cancel = CancelToken::new();
    let greedy = Greedy::new(graph, heuristic, u64::MAX, &cancel).unwrap();
    greedy.run(seed, bound, &cancel).unwrap()
}

#[test]
fn the_total_counts_the_maximal_clusters() {
    for (round, graph) in random_graphs(3).enumerate() {
        for heuristic in Heuristic::ALL {
            let found = run(&graph, heuristic, round as u64, None).found.unwrap();
            let clusters =
                eliminate_in_order(&graph, &found.order, &CancelToken::new()).unwrap().clusters;
            let expected: u64 = clusters
                .iter()
                .enumerate()
                .filter(|(i, c)| {
                    !clusters
                        .iter()
                        .enumerate()
                        .any(|(j, d)| j != *i && c.iter().all(|v| d.contains(v)))
                })
                .map(|(_, c)| table_entries(c.iter().map(|v| graph.cardinalities()[v.index()])))
                .sum();
            assert_eq!(found.entries, expected, "graph {round}, {heuristic:?}");
        }
    }
}

#[test]
fn a_run_stops_when_its_total_reaches_the_bound() {
    for graph in random_graphs(4) {
        let entries = run(&graph, Heuristic::MinFill, 0, None).found.unwrap().entries;
        assert!(run(&graph, Heuristic::MinFill, 0, Some(entries)).found.is_none());
        let below = run(&graph, Heuristic::MinFill, 0, Some(entries + 1)).found;
        assert_eq!(below.map(|found| found.entries), Some(entries));
    }
}

#[test]
fn without_a_tie_every_seed_gives_the_same_total() {
    let (mut tied, mut untied) = (0, 0);
    for graph in random_graphs(5) {
        for heuristic in Heuristic::ALL {
            let first = run(&graph, heuristic, 0, None);
            if first.tied {
                tied += 1;
                continue;
            }
            untied += 1;
            let entries = first.found.unwrap().entries;
            for seed in 1..6 {
                let other = run(&graph, heuristic, seed, None).found.unwrap();
                assert_eq!(other.entries, entries, "{heuristic:?} with seed {seed}");
            }
        }
    }
    assert!(tied > 20 && untied > 20, "both occur: {tied} and {untied} times");
}
