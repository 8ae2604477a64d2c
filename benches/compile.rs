//! Time of triangulating and of building the junction tree, for the shipped networks with the most
//! variables.

use cliquescope::cancel::CancelToken;
use cliquescope::format::open;
use cliquescope::graph::{Heuristic, MoralGraph, Triangulation, TriangulationOptions};
use cliquescope::graph::{build_junction_tree, triangulate};
use divan::Bencher;

const NETWORKS: [&str; 5] = ["pigs", "diabetes", "munin2", "munin3", "munin4"];

fn main() {
    divan::main();
}

fn moral_graph(name: &str) -> MoralGraph {
    MoralGraph::of_network(&open(name).expect("a shipped network").network)
}

fn triangulation(bencher: Bencher, name: &str, options: TriangulationOptions) {
    let graph = moral_graph(name);
    bencher.bench_local(|| triangulate(&graph, &options, &CancelToken::new()));
}

/// Triangulating with a known order.
#[divan::bench(args = NETWORKS, max_time = 0.3)]
fn known(bencher: Bencher, name: &str) {
    triangulation(bencher, name, TriangulationOptions::default());
}

/// Triangulating with a search for an order, as for a network that is not shipped.
#[divan::bench(args = NETWORKS, sample_count = 1, sample_size = 1)]
fn search(bencher: Bencher, name: &str) {
    let options = TriangulationOptions { known: None, ..TriangulationOptions::default() };
    triangulation(bencher, name, options);
}

/// Triangulating with a single heuristic.
#[divan::bench(args = NETWORKS, max_time = 0.3)]
fn weighted_min_fill(bencher: Bencher, name: &str) {
    let method = Triangulation::By(Heuristic::WeightedMinFill);
    triangulation(bencher, name, TriangulationOptions { method, ..Default::default() });
}

/// Building the tree from a finished elimination.
#[divan::bench(args = NETWORKS, max_time = 0.3)]
fn tree(bencher: Bencher, name: &str) {
    let graph = moral_graph(name);
    let options = TriangulationOptions::default();
    let elimination = triangulate(&graph, &options, &CancelToken::new()).expect("not cancelled");
    bencher.bench_local(|| build_junction_tree(&graph, &elimination));
}
