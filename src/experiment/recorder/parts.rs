//! What is measured of a network: its junction trees, and the runs on each.

use std::sync::Arc;

use super::RecordingSetup;
use super::cost::Kind;
use crate::cancel::CancelToken;
use crate::engine::{self, Engine, EngineInfo, LoadOptions, MappingLayout, PaperOptions};
use crate::experiment::measure::load_options;
use crate::experiment::trees::{MERGE_THRESHOLDS, MergeRule, merged, tree, tree_name};
use crate::experiment::{BLOCK_SIZES, ExperimentError, Subject};
use crate::graph::{Heuristic, Triangulation};
use crate::propagation::{CompiledNetwork, MemoryLimit};

/// A tree of a network, and the runs on it.
pub(super) struct Part {
    pub network: Arc<CompiledNetwork>,
    pub name: String,
    pub tree: String,
    pub runs: Vec<Run>,
}

/// A run that is to be measured.
pub(super) struct Run {
    pub engine: &'static dyn Engine,
    pub options: LoadOptions,
    pub traced: bool,
    /// Whether it only says how times go as something is varied.
    pub brief: bool,
}

/// The paper's tree, the smallest that is known, and the paper's with small separators merged;
/// none of them twice.
pub(super) fn parts_of(
    setup: &RecordingSetup,
    subject: &Subject,
    cancel: &CancelToken,
) -> Result<Vec<Part>, ExperimentError> {
    let papers = Triangulation::By(Heuristic::WeightedMinFill);
    let part = |network: Arc<CompiledNetwork>, tree: String, runs: Vec<Run>| Part {
        name: subject.name.clone(),
        network,
        tree,
        runs,
    };
    let plain = tree(&subject.network, papers, cancel)?;
    let smallest = tree(&subject.network, Triangulation::Auto, cancel)?;
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
    let memory = MemoryLimit::half_of_available();
    let mut runs = Vec::new();
    for &engine in engine::all() {
        if engine.availability().is_err() {
            continue;
        }
        let run = |threads, paper| Run {
            engine,
            options: load_options(engine, threads, paper, memory),
            traced: true,
            brief: false,
        };
        let plain = PaperOptions::default();
        let capabilities = engine.info().capabilities;
        if !capabilities.traces_messages {
            continue;
        }
        if capabilities.paper_options {
            for layout in MappingLayout::ALL {
                runs.push(run(1, PaperOptions { layout, ..plain }));
                let others = BLOCK_SIZES.iter().filter(|&&size| size != plain.block_size);
                runs.extend(others.filter(|_| sweep).map(|&block_size| Run {
                    traced: false,
                    brief: true,
                    ..run(1, PaperOptions { layout, block_size })
                }));
            }
            continue;
        }
        runs.push(run(1, plain));
        if capabilities.parallel && setup.threads > 1 {
            runs.push(run(setup.threads, plain));
        }
    }
    runs
}

/// The engines that pass a message at a time, and `gpu`.
fn merged_runs(setup: &RecordingSetup) -> Vec<Run> {
    let plain = runs(setup, false).into_iter();
    let default = PaperOptions::default();
    plain
        .filter(|run| !run.engine.info().capabilities.parallel && run.options.paper == default)
        .map(|run| Run { traced: false, brief: true, ..run })
        .collect()
}

impl Run {
    /// What its time depends on.
    pub fn kind(&self) -> Kind {
        let Self { traced, brief, .. } = *self;
        // Block sizes are gone through once the network is loaded.
        let loaded = self.options.paper.block_size != PaperOptions::default().block_size;
        Kind { engine: self.engine.info(), traced, brief, loaded }
    }

    /// The engine, and what tells this run on it from others.
    pub fn title(&self) -> String {
        let EngineInfo { name, capabilities, .. } = self.engine.info();
        if capabilities.paper_options {
            format!("{name}, {}", self.options.paper)
        } else if capabilities.parallel {
            format!("{name}, threads: {}", self.options.threads)
        } else {
            (*name).to_owned()
        }
    }
}
