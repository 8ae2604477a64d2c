//! Where times come from: this machine, or a recording of another.

use std::time::Duration;

use super::measure::{Effort, load_options, measure};
use super::trees::Tree;
use super::{
    ExperimentError, Machine, Origin, Progress, Record, RecordedNetwork, RecordedRun, Recording,
    Setup,
};
use crate::engine::{self, EngineInfo, PaperOptions};

/// An engine with what it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contender {
    pub engine: String,
    pub paper: PaperOptions,
    pub threads: usize,
}

impl Contender {
    /// `engine` with the options of `setup`.
    pub fn of(engine: &str, setup: &Setup) -> Self {
        Self { engine: engine.to_owned(), paper: setup.paper, threads: setup.threads }
    }

    /// The engine, and what tells it from others like it.
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

/// Where all times of an experiment come from, because those of two machines cannot be compared.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Here,
    Recording(&'static Recording),
}

impl Source {
    /// Here if all of `engines` run here, unless recordings are asked for; else the first shipped
    /// recording.
    pub fn of(setup: &Setup, engines: &[&str]) -> Result<Self, ExperimentError> {
        let reason = |name: &&str| engine::by_name(name).map(engine::Engine::availability);
        let lacking = engines.iter().find_map(|name| match reason(name) {
            Some(Ok(())) => None,
            Some(Err(reason)) => Some(format!("engine {name} cannot run here: {reason}")),
            None => Some(format!("there is no engine '{name}'")),
        });
        if lacking.is_none() && !setup.prefer_recorded {
            return Ok(Self::Here);
        }
        let lacking = lacking.unwrap_or_else(|| "recordings were asked for".to_owned());
        let recording = Recording::shipped().first();
        recording.map(Self::Recording).ok_or_else(|| {
            ExperimentError::Failed(format!("{lacking}, and there is no recording to show instead"))
        })
    }

    pub fn origin(self) -> Origin {
        match self {
            Self::Here => Origin::Live,
            Self::Recording(_) => Origin::Recorded,
        }
    }

    /// The machine that is timed.
    pub fn machine(self, setup: &Setup) -> &Machine {
        match self {
            Self::Here => &setup.provenance.machine,
            Self::Recording(recording) => &recording.provenance.machine,
        }
    }

    /// Times `contender` on `tree`. Where that cannot be done, a note in `record` says why.
    pub fn time(
        self,
        setup: &Setup,
        progress: &Progress,
        record: &mut Record,
        tree: &Tree,
        contender: &Contender,
    ) -> Result<Option<RecordedRun>, ExperimentError> {
        let what = format!("{}: {}", tree.name, contender.title());
        let outcome = match self {
            Self::Here => {
                progress.step(what.as_str(), tree.weight(setup.repeat))?;
                here(setup, progress, tree, contender).map_err(|error| match error {
                    ExperimentError::Failed(reason) => {
                        ExperimentError::Failed(format!("{what}: {reason}"))
                    }
                    cancelled => cancelled,
                })
            }
            Self::Recording(recording) => {
                record.credit(&recording.credit());
                recorded(recording, tree, contender)
            }
        };
        match outcome {
            Ok(run) => {
                record.count(run.propagate_us.count);
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

fn here(
    setup: &Setup,
    progress: &Progress,
    tree: &Tree,
    contender: &Contender,
) -> Result<RecordedRun, ExperimentError> {
    let missing = || ExperimentError::Failed(format!("there is no engine '{}'", contender.engine));
    let engine = engine::by_name(&contender.engine).ok_or_else(missing)?;
    let options = load_options(engine, contender.threads, contender.paper, setup.memory);
    let effort = Effort {
        repeat: setup.repeat,
        at_most: Duration::from_secs(20),
        at_least: 3,
        traced: false,
    };
    measure(&tree.compiled, engine, &options, effort, progress.cancel_token())
}

fn recorded(
    recording: &Recording,
    tree: &Tree,
    contender: &Contender,
) -> Result<RecordedRun, ExperimentError> {
    let failed = |reason: String| Err(ExperimentError::Failed(reason));
    // Merging may leave a tree as another name has it.
    let same = |network: &&RecordedNetwork| {
        network.network.eq_ignore_ascii_case(&tree.name) && network.is_of(&tree.compiled)
    };
    let labelled = recording.find(&tree.name, &tree.label);
    let found = labelled.filter(same).or_else(|| recording.networks.iter().find(same));
    let Some(network) = found else {
        return failed(match labelled {
            Some(_) => format!("The recording has another tree for {}.", tree.name),
            None => format!("The recording does not hold {} ({}).", tree.name, tree.label),
        });
    };
    let missing = || {
        let what = contender.title();
        ExperimentError::Failed(format!("The recording does not hold {what} ({}).", tree.label))
    };
    network.run(&contender.engine, contender.paper).cloned().ok_or_else(missing)
}
