//! Experiments, on a thread of their own: evidence can be entered while one runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::engine::PaperOptions;
use crate::experiment::{self, ExperimentError, Progress, Record, Setup, Subject};
use crate::graph::Triangulation;
use crate::propagation::MemoryLimit;
use crate::session::quiet::Quiet;
use crate::session::worker::{Teller, panic_message};
use crate::session::{Source, Update};

/// An experiment and what it is to be run on.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Name of the experiment.
    pub experiment: String,
    /// The networks.
    pub networks: Vec<Source>,
    /// How they are triangulated.
    pub triangulation: Triangulation,
    /// Name of the engine that is looked at.
    pub engine: String,
    /// Name of the engine that it is compared with.
    pub baseline: String,
    /// Propagations that are measured for each time.
    pub repeat: u32,
    /// Threads that engines may use.
    pub threads: usize,
    /// Memory that an engine may take; `None` is half of what is available.
    pub memory: Option<MemoryLimit>,
    /// Block size and layout of engine `gpu-paper`.
    pub paper: PaperOptions,
    /// Separators of at most so many entries are merged away.
    pub threshold: u64,
}

impl Trial {
    fn run(&self, progress: &Progress) -> Result<Record, ExperimentError> {
        let Some(experiment) = experiment::by_name(&self.experiment) else {
            let name = &self.experiment;
            return Err(ExperimentError::Failed(format!("there is no experiment called {name}")));
        };
        let mut subjects = Vec::with_capacity(self.networks.len());
        for source in &self.networks {
            progress.cancel_token().check()?;
            let read = source.open().map_err(|error| ExperimentError::Failed(error.to_string()))?;
            subjects.push(Subject { name: read.origin.title(), network: read.network });
        }
        let mut setup = Setup::new(subjects);
        setup.triangulation = self.triangulation;
        setup.engine.clone_from(&self.engine);
        setup.baseline.clone_from(&self.baseline);
        setup.repeat = self.repeat;
        setup.threads = self.threads;
        setup.memory = self.memory.unwrap_or(setup.memory);
        setup.paper = self.paper;
        setup.threshold = self.threshold;
        experiment.run(&setup, progress)
    }
}

/// The handle to a trial; dropping it gives the trial up and does not wait.
pub(super) struct Running {
    token: CancelToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

/// Runs `trial`, told of as number `number`, and returns the handle and how far it is.
pub(super) fn start(
    number: u64,
    trial: Trial,
    quiet: Arc<Quiet>,
    teller: Teller,
) -> (Running, Arc<Progress>) {
    let token = CancelToken::new();
    let told = teller.clone();
    let progress = Progress::new(token.clone()).told_to(move |_| told.wake());
    let progress = Arc::new(progress);
    let shared = Arc::clone(&progress);
    std::thread::Builder::new()
        .name("experiment".to_owned())
        .spawn(move || {
            let _timing = quiet.timing();
            let outcome = catch_unwind(AssertUnwindSafe(|| trial.run(&shared)));
            let outcome = outcome.unwrap_or_else(|panic| {
                let message = panic_message(&*panic);
                Err(ExperimentError::Failed(format!("internal error: {message}")))
            });
            teller.tell(number, Update::Tried(outcome.map(Arc::new)));
        })
        .expect("a thread for the experiment");
    (Running { token }, progress)
}
