//! Junction trees by every triangulation method, for the shipped networks, for random graphs with
//! fixed seeds and for graphs made by hand. Some are compared with the paper's Table 1.

mod elimination;
mod limits;
mod search;
mod shapes;
mod shipped;

use std::time::Duration;

use cliquescope::cancel::CancelToken;
use cliquescope::graph::{
    Elimination, JunctionTree, MoralGraph, Triangulation, TriangulationOptions,
    build_junction_tree, predicates, triangulate,
};
use cliquescope::network::VariableId;
use rand::RngExt;
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

/// Compiles `graph` by `method`, checks the elimination and the tree, and returns the tree. `what`
/// describes the graph in messages.
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

/// A graph of `variables` variables with `families` random families of up to four variables.
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

/// Total number of clique table entries after triangulation with `options`.
fn total(graph: &MoralGraph, options: &TriangulationOptions) -> u64 {
    triangulate(graph, options, &CancelToken::new()).unwrap().total_entries(graph)
}
