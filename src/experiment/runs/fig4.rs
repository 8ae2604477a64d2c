//! Figure 4: sizes of the separators.

use crate::experiment::runs::bars;
use crate::experiment::trees::NamedTree;
use crate::experiment::{
    Axis, Experiment, ExperimentError, Figure, Origin, PAPER_NETWORKS, Panel, Progress, Record,
    Setup, Table,
};

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    name: "fig4",
    title: "Figure 4: histograms of separator sizes",
    question: "How large are the separators? In the paper's algorithm, each entry of a separator \
               has its own thread, so the larger a separator, the more of a message is computed in \
               parallel.",
    equations: &[],
    parameters: &[],
    networks: &PAPER_NETWORKS,
    answer,
};

/// Bin n holds the sizes from the n-th power of this number to below the next power.
const BIN_RATIO: u64 = 4;

/// Counts the separators of each network by size.
fn answer(setup: &Setup, progress: &Progress, record: &mut Record) -> Result<(), ExperimentError> {
    let trees = NamedTree::all(setup, setup.triangulation, progress)?;
    let counts: Vec<Vec<u64>> = trees.iter().map(histogram).collect();
    let bins = counts.iter().map(Vec::len).max().unwrap_or(0);
    let smallest_size = |bin: usize| BIN_RATIO.saturating_pow(bin as u32);
    let mut table = Table::new("separators")
        .count("from_entries", Origin::Exact, (0..bins).map(smallest_size))
        .count("below_entries", Origin::Exact, (0..bins).map(|bin| smallest_size(bin + 1)));
    for (tree, counts) in trees.iter().zip(&counts) {
        let cells = (0..bins).map(|bin| counts.get(bin).copied().unwrap_or(0));
        table = table.count(&tree.name, Origin::Exact, cells);
    }
    record.tables.push(table);
    let names: Vec<String> = (0..bins).map(|bin| binary_short(smallest_size(bin))).collect();
    let panel = |(tree, counts): (&NamedTree, &Vec<u64>)| Panel {
        title: tree.name.clone(),
        x: Axis::categories("entries of a separator, at least", names.clone()),
        y: Axis::linear("separators"),
        series: vec![bars("separators", Origin::Exact, 0, counts.iter().map(|&n| Some(n as f64)))],
        marks: Vec::new(),
    };
    record.figures.push(Figure {
        title: "Separators by size".to_owned(),
        across: 2,
        panels: trees.iter().zip(&counts).map(panel).collect(),
    });
    Ok(())
}

/// Number of separators of `tree` in each bin, up to the last bin that is not empty.
fn histogram(tree: &NamedTree) -> Vec<u64> {
    let mut counts = Vec::new();
    for separator in tree.compiled.tree().separators() {
        let bin = separator.entries.max(1).ilog(BIN_RATIO) as usize;
        if counts.len() <= bin {
            counts.resize(bin + 1, 0);
        }
        counts[bin] += 1;
    }
    counts
}

/// A power of four with a binary prefix: `64`, `4k`, `1M`.
fn binary_short(entries: u64) -> String {
    match entries {
        0..1024 => entries.to_string(),
        1024..1_048_576 => format!("{}k", entries / 1024),
        _ => format!("{}M", entries / 1_048_576),
    }
}
