//! Making a recording of all that experiments show.

use std::sync::Arc;
use std::time::Duration;

use super::measure::{Effort, load_options, measure};
use super::trees::{MERGE_THRESHOLDS, MergeRule, merged, tree, tree_name};
use super::{
    BLOCK_SIZES, ExperimentError, MessageSizes, PAPER_NETWORKS, Progress, Provenance,
    RecordedNetwork, Recording, Subject,
};
use crate::engine::{self, Engine, LoadOptions, MappingLayout, PaperOptions};
use crate::graph::{Heuristic, Triangulation};
use crate::propagation::{CompiledNetwork, MemoryLimit};

/// What a recording is made of.
#[derive(Clone, Debug)]
pub struct RecordingSetup {
    /// The networks.
    pub networks: Vec<Subject>,
    /// Propagations for each time; slow engines are measured less often.
    pub repeat: u32,
    /// Threads of engines that use several. They are measured with one as well.
    pub threads: usize,
    /// Longest that one time is measured, if three propagations take no longer.
    pub at_most: Duration,
    /// When, by what and where.
    pub provenance: Provenance,
}

impl RecordingSetup {
    /// The paper's networks on this machine.
    #[must_use]
    pub fn new(commit: Option<&str>) -> Self {
        let provenance = Provenance::here(commit);
        Self {
            networks: PAPER_NETWORKS.iter().filter_map(|name| Subject::sample(name)).collect(),
            repeat: 60,
            threads: provenance.machine.threads,
            at_most: Duration::from_millis(1200),
            provenance,
        }
    }
}

/// A tree of a network, and the runs on it.
struct Part {
    network: Arc<CompiledNetwork>,
    name: String,
    tree: String,
    runs: Vec<Run>,
}

/// A run that is to be measured.
struct Run {
    engine: &'static dyn Engine,
    options: LoadOptions,
    traced: bool,
    /// Whether it only says how times go as something is varied.
    brief: bool,
}

/// Measures all that can be measured here. Engines that cannot run here are left out.
///
/// # Errors
/// If it was cancelled, or a network cannot be propagated on an engine that runs here.
pub fn record(setup: &RecordingSetup, progress: &Progress) -> Result<Recording, ExperimentError> {
    let mut recording = Recording::new(setup.provenance.clone());
    let mut parts = Vec::new();
    for subject in &setup.networks {
        progress.cancel_token().check()?;
        parts.extend(parts_of(setup, subject, progress)?);
    }
    for part in &parts {
        progress.expect(part.runs.iter().map(|run| weight(part, run)).sum());
    }
    for part in parts {
        let mut runs = Vec::with_capacity(part.runs.len());
        for run in &part.runs {
            let what = format!("{}, {}: {}", part.name, part.tree, words(run));
            progress.step(what, weight(&part, run))?;
            let effort = Effort {
                repeat: if run.brief { setup.repeat.min(20) } else { setup.repeat },
                at_most: if run.brief { setup.at_most / 6 } else { setup.at_most },
                traced: run.traced,
            };
            let cancel = progress.cancel_token();
            runs.push(measure(&part.network, run.engine, &run.options, effort, cancel)?);
        }
        let compiled = &part.network;
        recording.networks.push(RecordedNetwork {
            network: part.name,
            triangulation: part.tree,
            tree: compiled.statistics().clone(),
            messages: MessageSizes::of(compiled.tree(), compiled.plan()),
            runs,
        });
    }
    Ok(recording)
}

/// The paper's tree, the smallest that is known, and the paper's with small separators merged;
/// none of them twice.
fn parts_of(
    setup: &RecordingSetup,
    subject: &Subject,
    progress: &Progress,
) -> Result<Vec<Part>, ExperimentError> {
    let papers = Triangulation::By(Heuristic::WeightedMinFill);
    let part = |network: Arc<CompiledNetwork>, tree: String, runs: Vec<Run>| Part {
        name: subject.name.clone(),
        network,
        tree,
        runs,
    };
    let plain = tree(&subject.network, papers, progress.cancel_token())?;
    let smallest = tree(&subject.network, Triangulation::Auto, progress.cancel_token())?;
    let mut parts = vec![
        part(Arc::clone(&plain), tree_name(papers, None), runs(setup, true)),
        part(smallest, tree_name(Triangulation::Auto, None), runs(setup, false)),
    ];
    for rule in [MergeRule::All, MergeRule::Paying] {
        for threshold in MERGE_THRESHOLDS {
            let tree = tree_name(papers, Some((threshold, rule)));
            let network = merged(&plain, threshold, rule);
            // A tree that is there already is found by its sizes.
            if parts.iter().all(|part| part.network.tree() != network.tree()) {
                parts.push(part(network, tree, merged_runs(setup)));
            }
        }
    }
    Ok(parts)
}

/// All engines, each with one run watched; with `sweep` also all block sizes of `gpu-paper`.
fn runs(setup: &RecordingSetup, sweep: bool) -> Vec<Run> {
    let mut runs = Vec::new();
    for &engine in engine::all() {
        if engine.availability().is_err() {
            continue;
        }
        let run = |threads, paper| Run {
            engine,
            options: load_options(engine, threads, paper, MemoryLimit::half_of_available()),
            traced: true,
            brief: false,
        };
        let plain = PaperOptions::default();
        match engine.name() {
            "reference" => {}
            "cpu" => {
                runs.push(run(1, plain));
                if setup.threads > 1 {
                    runs.push(run(setup.threads, plain));
                }
            }
            "gpu-paper" => {
                for layout in MappingLayout::ALL {
                    runs.push(run(1, PaperOptions { layout, ..plain }));
                    let others = BLOCK_SIZES.iter().filter(|&&size| size != plain.block_size);
                    runs.extend(others.filter(|_| sweep).map(|&block_size| Run {
                        traced: false,
                        brief: true,
                        ..run(1, PaperOptions { layout, block_size })
                    }));
                }
            }
            _ => runs.push(run(1, plain)),
        }
    }
    runs
}

/// The engines that pass a message at a time, and `gpu`.
fn merged_runs(setup: &RecordingSetup) -> Vec<Run> {
    let plain = runs(setup, false).into_iter();
    let default = PaperOptions::default();
    plain
        .filter(|run| run.engine.name() != "cpu" && run.options.paper == default)
        .map(|run| Run { traced: false, brief: true, ..run })
        .collect()
}

/// About how long a run takes, in milliseconds.
fn weight(part: &Part, run: &Run) -> f64 {
    let entries = part.network.statistics().total_clique_entries as f64;
    // Tables are made at some 20 million entries a second.
    let load = entries / 2e4;
    let propagations = match (run.engine.name(), run.brief) {
        ("sequential" | "cpu", false) => 1200.0,
        ("sequential" | "cpu", true) => 300.0,
        (_, false) => 200.0,
        (_, true) => 100.0,
    };
    load + propagations
}

fn words(run: &Run) -> String {
    match run.engine.name() {
        "gpu-paper" => {
            let PaperOptions { block_size, layout } = run.options.paper;
            format!("gpu-paper, {layout}, {block_size} threads a block")
        }
        "cpu" => format!("cpu, threads: {}", run.options.threads),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::potential::Precision;

    #[test]
    fn a_recording_holds_every_tree_and_engine() {
        let setup = RecordingSetup {
            networks: vec![Subject::sample("insurance").unwrap()],
            repeat: 2,
            threads: 2,
            at_most: Duration::ZERO,
            ..RecordingSetup::new(None)
        };
        let progress = Progress::new(CancelToken::new());
        let recording = record(&setup, &progress).unwrap();
        // Two plain trees, and each that merging makes once.
        let trees = recording.networks.len();
        assert!((3..2 + 2 * MERGE_THRESHOLDS.len()).contains(&trees), "{trees}");
        for tree in ["weighted-min-fill", "auto"] {
            let network = recording.find("insurance", tree).unwrap();
            let of = |engine: &str| network.runs.iter().filter(|r| r.engine == engine).count();
            assert_eq!((of("sequential"), of("cpu"), of("reference")), (1, 2, 0));
            for run in &network.runs {
                let trace = run.trace.as_ref().filter(|t| !t.messages.is_empty());
                assert!(trace.is_some() || run.engine != "sequential");
                assert_eq!((run.propagate_us.count, run.precision), (2, Precision::F32));
            }
        }
        let merged = &recording.networks[2];
        assert!(merged.triangulation.starts_with("weighted-min-fill, merged to "));
        assert!(merged.runs.iter().all(|run| run.trace.is_none()));
        assert!(merged.runs.iter().any(|run| run.engine == "sequential"));
        assert_eq!(Recording::read(&recording.write()).unwrap(), recording);
        progress.cancel_token().cancel();
        assert!(matches!(record(&setup, &progress), Err(ExperimentError::Cancelled(_))));
    }
}
