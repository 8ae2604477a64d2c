//! Searches for better elimination orders of the shipped networks and adds them to
//! `networks/orders.json`.
//!
//!     cargo run --release --no-default-features --example best_orders -- \
//!         FIRST LAST STEPS [NETWORK...]
//!
//! runs the local search of `triangulate` once with each seed from FIRST to LAST, for at most STEPS
//! steps. FIRST 0 counts as 1, because seed 0 returns the known order instead of searching. Without
//! NETWORK, it searches orders for all networks. The result depends only on the arguments and the
//! file, not on the machine.

use std::time::{Duration, Instant};

use cliquescope::cancel::CancelToken;
use cliquescope::format::{SAMPLES, open};
use cliquescope::graph::{
    KnownOrders, MoralGraph, TreeStatistics, TriangulationOptions, build_junction_tree, triangulate,
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/networks/orders.json");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [first, last, steps, networks @ ..] = &arguments[..] else {
        return Err("expected FIRST LAST STEPS [NETWORK...]".into());
    };
    let seeds = first.parse::<u64>()?.max(1)..=last.parse()?;
    let steps = steps.parse()?;
    let is_sample = |name: &&String| SAMPLES.iter().any(|sample| sample.name == **name);
    if let Some(unknown) = networks.iter().find(|name| !is_sample(name)) {
        return Err(format!("there is no sample '{unknown}'").into());
    }
    for sample in SAMPLES {
        if !networks.is_empty() && !networks.iter().any(|name| name == sample.name) {
            continue;
        }
        let graph = MoralGraph::of_network(&open(sample.name)?.network);
        for seed in seeds.clone() {
            let started = Instant::now();
            let options = TriangulationOptions {
                seed,
                steps,
                runs: u32::MAX,
                budget: Duration::MAX,
                ..TriangulationOptions::default()
            };
            let elimination = triangulate(&graph, &options, &CancelToken::new())?;
            let tree = build_junction_tree(&graph, &elimination);
            let total = TreeStatistics::of(&tree).total_clique_entries;
            // Read the file again for each result: another search may have changed it meanwhile.
            let mut known: KnownOrders = serde_json::from_str(&std::fs::read_to_string(FILE)?)?;
            let improved = known.insert(&graph, &elimination.order, total);
            if improved {
                let lines = serde_json::to_string(&known)?.replace("]},", "]},\n");
                std::fs::write(FILE, lines + "\n")?;
            }
            let seconds = started.elapsed().as_secs_f64();
            let note = if improved { ", the best so far" } else { "" };
            println!("{} seed {seed}: {total} entries in {seconds:.1} s{note}", sample.name);
        }
    }
    Ok(())
}
