//! An experiment that the window requests.

use crate::engine::PaperOptions;
#[cfg(doc)]
use crate::experiment::Experiment;
use crate::experiment::{ExperimentError, Progress, Record, Setup, Subject, by_name};
use crate::format::NetworkSource;
use crate::graph::Triangulation;
use crate::propagation::MemoryLimit;

/// An experiment by name, with its settings. It can be sent to another thread and run there.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRequest {
    /// Name of the experiment.
    pub experiment: String,
    /// The networks to run it on.
    pub networks: Vec<NetworkSource>,
    /// How the networks are triangulated.
    pub triangulation: Triangulation,
    /// Name of the engine to measure.
    pub engine: String,
    /// Name of the engine to compare with.
    pub baseline: String,
    /// Propagations to time for each measurement; fewer if they take too long.
    pub repeat: u32,
    /// Threads that engines may use.
    pub threads: usize,
    /// Memory that an engine may use; `None` is half of the available memory.
    pub memory: Option<MemoryLimit>,
    /// Block size and layout of the mapping tables of engine `gpu-paper`.
    pub paper: PaperOptions,
    /// A further limit for experiment `merging`; see [`Setup::threshold`].
    pub threshold: u64,
}

impl ExperimentRequest {
    /// Reads the networks and runs the experiment.
    ///
    /// # Errors
    /// If there is no such experiment or a network cannot be read, and as [`Experiment::run`].
    pub fn run(&self, progress: &Progress) -> Result<Record, ExperimentError> {
        let Some(experiment) = by_name(&self.experiment) else {
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
