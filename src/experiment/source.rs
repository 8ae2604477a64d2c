//! Where the times of an experiment come from: this machine, or a recording of another one.

use std::time::Duration;

use super::measure::{Effort, load_options, measure};
use super::trees::NamedTree;
use super::{
    ExperimentError, Machine, Origin, Progress, Record, RecordedNetwork, RecordedRun, Recording,
    Setup,
};
use crate::engine::{self, EngineInfo, PaperOptions};

/// Time after which no further propagation of the same engine on the same tree is timed. A longer
/// limit gives steadier medians for slow engines, and slower experiments.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Minimum number of propagations to time, however long they take, unless fewer are requested.
const MIN_REPEAT: u32 = 3;

/// An engine and its options.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EngineConfig {
    pub engine: String,
    pub paper: PaperOptions,
    pub threads: usize,
}

impl EngineConfig {
    /// `engine` with the options of `setup`.
    pub fn new(engine: &str, setup: &Setup) -> Self {
        Self { engine: engine.to_owned(), paper: setup.paper, threads: setup.threads }
    }

    /// The name of the engine, with the paper's options if the engine uses them.
    pub fn title(&self) -> String {
        let info = EngineInfo::find(&self.engine);
        if info.is_some_and(|info| info.capabilities.paper_options) {
            format!("{}, {}", self.engine, self.paper)
        } else {
            self.engine.clone()
        }
    }
}

/// Whether the engine called `name` computes on a GPU.
pub(super) fn on_gpu(name: &str) -> bool {
    EngineInfo::find(name).is_some_and(|info| info.capabilities.on_gpu())
}

/// Where times come from. Times of two machines cannot be compared, so both times of a speedup are
/// from the same source.
#[derive(Clone, Copy)]
pub(super) enum TimeSource {
    ThisMachine,
    Recording(&'static Recording),
}

impl TimeSource {
    /// This machine if all of `engines` run here and `setup` does not prefer recordings; otherwise
    /// the first shipped recording.
    ///
    /// # Errors
    /// If a recording is needed and there is none.
    pub fn choose(setup: &Setup, engines: &[&str]) -> Result<Self, ExperimentError> {
        let obstacle = engines.iter().find_map(|name| match engine::by_name(name) {
            Some(engine) => {
                let reason = engine.availability().err()?;
                Some(format!("engine {name} cannot run here: {reason}"))
            }
            None => Some(format!("there is no engine '{name}'")),
        });
        if obstacle.is_none() && !setup.prefer_recorded {
            return Ok(Self::ThisMachine);
        }
        let reason = obstacle.unwrap_or_else(|| "recordings were requested".to_owned());
        let recording = Recording::shipped().first();
        recording.map(Self::Recording).ok_or_else(|| {
            ExperimentError::Failed(format!("{reason}, and there is no recording to show instead"))
        })
    }

    /// The origin of the times.
    pub fn origin(self) -> Origin {
        match self {
            Self::ThisMachine => Origin::Live,
            Self::Recording(_) => Origin::Recorded,
        }
    }

    /// The machine on which the times were measured.
    pub fn machine(self, setup: &Setup) -> &Machine {
        match self {
            Self::ThisMachine => &setup.provenance.machine,
            Self::Recording(recording) => &recording.provenance.machine,
        }
    }

    /// The run of `config` on `tree`, measured now or recorded. If there is none, or
    /// measuring fails, returns `None` and adds the reason to `record` as a note.
    ///
    /// # Errors
    /// Once the experiment is cancelled, if this machine measures. Recorded runs cause no error.
    pub fn time(
        self,
        setup: &Setup,
        progress: &Progress,
        record: &mut Record,
        tree: &NamedTree,
        config: &EngineConfig,
    ) -> Result<Option<RecordedRun>, ExperimentError> {
        let outcome = match self {
            Self::ThisMachine => {
                let step = format!("{}: {}", tree.name, config.title());
                progress.step(step.as_str(), tree.weight(setup.repeat))?;
                time_here(setup, progress, tree, config).map_err(|error| match error {
                    ExperimentError::Failed(reason) => {
                        ExperimentError::Failed(format!("{step}: {reason}"))
                    }
                    cancelled => cancelled,
                })
            }
            Self::Recording(recording) => {
                record.add_recorded(&recording.credit());
                recorded_time(recording, tree, config)
            }
        };
        match outcome {
            Ok(run) => {
                record.count_propagations(run.propagate_us.count);
                Ok(Some(run))
            }
            Err(ExperimentError::Failed(reason)) => {
                record.note(reason);
                Ok(None)
            }
            Err(cancelled) => Err(cancelled),
        }
    }
}

/// Measures `config` on `tree`.
fn time_here(
    setup: &Setup,
    progress: &Progress,
    tree: &NamedTree,
    config: &EngineConfig,
) -> Result<RecordedRun, ExperimentError> {
    let missing = || ExperimentError::Failed(format!("there is no engine '{}'", config.engine));
    let engine = engine::by_name(&config.engine).ok_or_else(missing)?;
    let options = load_options(engine, config.threads, config.paper, setup.memory);
    let effort = Effort {
        repeat: setup.repeat,
        time_limit: TIME_LIMIT,
        min_repeat: MIN_REPEAT,
        is_traced: false,
    };
    measure(&tree.compiled, engine, &options, effort, progress.cancel_token())
}

/// The run of `config` on `tree` in `recording`.
fn recorded_time(
    recording: &Recording,
    tree: &NamedTree,
    config: &EngineConfig,
) -> Result<RecordedRun, ExperimentError> {
    let failed = |reason: String| Err(ExperimentError::Failed(reason));
    let has_same_tree = |network: &&RecordedNetwork| {
        network.network.eq_ignore_ascii_case(&tree.name) && network.matches(&tree.compiled)
    };
    let labelled = recording.find(&tree.name, &tree.label);
    // Merging may give a tree that is recorded under another label.
    let found =
        labelled.filter(has_same_tree).or_else(|| recording.networks.iter().find(has_same_tree));
    let Some(network) = found else {
        return failed(match labelled {
            Some(_) => format!("The recording has another tree for {}.", tree.name),
            None => format!("The recording does not hold {} ({}).", tree.name, tree.label),
        });
    };
    let missing = || {
        let engine = config.title();
        let tree = &tree.label;
        ExperimentError::Failed(format!("The recording does not hold {engine} on trees by {tree}."))
    };
    network.run(&config.engine, config.paper).cloned().ok_or_else(missing)
}
