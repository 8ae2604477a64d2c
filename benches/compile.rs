//! What triangulating and building the tree cost, for the networks that take longest.

use cliquescope::cancel::CancelToken;
use cliquescope::format::open;
use cliquescope::graph::{Heuristic, MoralGraph, Triangulation, TriangulationOptions};
use cliquescope::graph::{build_junction_tree, triangulate};
use divan::Bencher;

const NETWORKS: [&str; 3] = ["diabetes", "munin2", "munin4"];

fn main() {
    divan::main();
}

fn moral_graph(name: &str) -> MoralGraph {
    MoralGraph::of_network(&open(name).expect("it is shipped").network)
}

fn triangulation(bencher: Bencher, name: &str, method: Triangulation) {
    let graph = moral_graph(name);
    let options = TriangulationOptions { method, ..TriangulationOptions::default() };
    bencher.bench_local(|| triangulate(&graph, &options, &CancelToken::new()));
}

#[divan::bench(args = NETWORKS, max_time = 0.3)]
fn auto(bencher: Bencher, name: &str) {
    triangulation(bencher, name, Triangulation::Auto);
}

#[divan::bench(args = NETWORKS, max_time = 0.3)]
fn weighted_min_fill(bencher: Bencher, name: &str) {
    triangulation(bencher, name, Triangulation::By(Heuristic::WeightedMinFill));
}

#[divan::bench(args = NETWORKS, max_time = 0.3)]
fn tree(bencher: Bencher, name: &str) {
    let graph = moral_graph(name);
    let options = TriangulationOptions::default();
    let elimination = triangulate(&graph, &options, &CancelToken::new()).expect("not cancelled");
    bencher.bench_local(|| build_junction_tree(&graph, &elimination));
}
