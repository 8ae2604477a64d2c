//! What is measured for a network: its junction trees, and the runs on each of them.

use std::sync::Arc;

use super::RecordingSetup;
use super::cost::RunKind;
use crate::cancel::CancelToken;
use crate::engine::{self, Engine, EngineInfo, LoadOptions, MappingLayout, PaperOptions};
use crate::experiment::measure::load_options;
use crate::experiment::trees::{MERGE_THRESHOLDS, MergeRule, compile_tree, merged, tree_name};
use crate::experiment::{BLOCK_SIZES, ExperimentError, Subject};
use crate::graph::{Heuristic, Triangulation};
use crate::propagation::{CompiledNetwork, MemoryLimit};

/// A junction tree of a network, and the runs on it.
pub(super) struct TreeTask {
    pub compiled: Arc<CompiledNetwork>,
    pub network: String,
    pub tree: String,
    pub runs: Vec<Run>,
}

/// A run to measure.
pub(super) struct Run {
    pub engine: &'static dyn Engine,
    pub options: LoadOptions,
    pub is_traced: bool,
    /// Whether the run is one of a series that varies an option or the tree.
    pub is_sweep: bool,
}

/// The trees of a network, with their runs: the tree by weighted min-fill, the tree by
/// [`Triangulation::Auto`], and copies of the first tree with small separators merged away, one for
/// each rule and threshold. A merged tree that equals an earlier tree is left out.
///
/// # Errors
/// If a tree cannot be built, or once `cancel` is set.
pub(super) fn tree_tasks(
    setup: &RecordingSetup,
    subject: &Subject,
    cancel: &CancelToken,
) -> Result<Vec<TreeTask>, ExperimentError> {
    let weighted_min_fill = Triangulation::By(Heuristic::WeightedMinFill);
    let task = |compiled: Arc<CompiledNetwork>, tree: String, runs: Vec<Run>| TreeTask {
        compiled,
        network: subject.name.clone(),
        tree,
        runs,
    };
    let compile = |triangulation| {
        let memory = MemoryLimit::half_of_available();
        compile_tree(&subject.network, triangulation, memory, cancel)
    };
    let unmerged = compile(weighted_min_fill)?;
    let smallest = compile(Triangulation::Auto)?;
    let mut tasks = vec![
        task(Arc::clone(&unmerged), tree_name(weighted_min_fill, None), runs(setup, true)),
        task(smallest, tree_name(Triangulation::Auto, None), runs(setup, false)),
    ];
    for rule in [MergeRule::All, MergeRule::Paying] {
        for threshold in MERGE_THRESHOLDS {
            let tree = tree_name(weighted_min_fill, Some((threshold, rule)));
            let compiled = merged(&unmerged, threshold, rule, cancel)?;
            // An equal tree need not be recorded again: runs are found by the sizes of a tree's
            // messages.
            if tasks.iter().all(|task| task.compiled.tree() != compiled.tree()) {
                tasks.push(task(compiled, tree, runs_on_merged_tree(setup)));
            }
        }
    }
    Ok(tasks)
}

/// The traced runs of all engines that run here and can trace messages. An engine that uses several
/// CPU threads has a run with one thread and, if `setup.threads` is greater than one, another with
/// that many threads. `gpu-paper` has one run for each layout. With `sweep`, each of these runs of
/// `gpu-paper` is followed by untraced runs with all other block sizes.
fn runs(setup: &RecordingSetup, sweep: bool) -> Vec<Run> {
    let memory = MemoryLimit::half_of_available();
    let mut runs = Vec::new();
    for &engine in engine::all() {
        let capabilities = engine.info().capabilities;
        if engine.availability().is_err() || !capabilities.traces_messages {
            continue;
        }
        let run = |threads, paper| Run {
            engine,
            options: load_options(engine, threads, paper, memory),
            is_traced: true,
            is_sweep: false,
        };
        let default = PaperOptions::default();
        if !capabilities.paper_options {
            runs.push(run(1, default));
            if capabilities.parallel && setup.threads > 1 {
                runs.push(run(setup.threads, default));
            }
            continue;
        }
        for layout in MappingLayout::ALL {
            runs.push(run(1, PaperOptions { layout, ..default }));
            let other_sizes = BLOCK_SIZES.iter().filter(|&&size| size != default.block_size);
            runs.extend(other_sizes.filter(|_| sweep).map(|&block_size| Run {
                is_traced: false,
                is_sweep: true,
                ..run(1, PaperOptions { layout, block_size })
            }));
        }
    }
    runs
}

/// Untraced runs of the engines that pass one message after another, and of `gpu`.
fn runs_on_merged_tree(setup: &RecordingSetup) -> Vec<Run> {
    let default = PaperOptions::default();
    let is_wanted =
        |run: &Run| !run.engine.info().capabilities.parallel && run.options.paper == default;
    let runs = runs(setup, false).into_iter().filter(is_wanted);
    runs.map(|run| Run { is_traced: false, is_sweep: true, ..run }).collect()
}

impl Run {
    /// What the duration of the run depends on, besides the tree and the [`RecordingSetup`].
    pub fn kind(&self) -> RunKind {
        let Self { is_traced, is_sweep, .. } = *self;
        // Runs with other block sizes follow a run with the default size and reuse its loaded
        // network.
        let is_loaded = self.options.paper.block_size != PaperOptions::default().block_size;
        RunKind { engine: self.engine.info(), is_traced, is_sweep, is_loaded }
    }

    /// The name of the engine, with the options that it uses.
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
