//! Makes a recording: measures times that experiments can show instead of measuring them.

mod cost;
mod resume;
mod tasks;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::cost::{effort, seconds};
use self::tasks::{TreeTask, tree_tasks};
use super::measure::Bench;
use super::{
    ExperimentError, MessageSizes, PAPER_NETWORKS, Progress, Provenance, RecordedNetwork,
    Recording, RecordingSettings, Subject,
};
use crate::cancel::CancelToken;

/// What to record, and how.
#[derive(Clone, Debug)]
pub struct RecordingSetup {
    /// The networks.
    pub networks: Vec<Subject>,
    /// Propagations to time for each run; fewer if the run reaches its time limit, or varies an
    /// option or the tree.
    pub repeat: u32,
    /// Threads of multithreaded engines. These engines are measured with one thread as well.
    pub threads: usize,
    /// Time limit of a run of a fast engine. Runs of engines that pass one message after another,
    /// and runs that vary an option or the tree, get a fraction of this limit. Two or three
    /// propagations are timed however long they take, unless `repeat` is less.
    pub time_limit: Duration,
    /// This program and this machine.
    pub provenance: Provenance,
}

impl RecordingSetup {
    /// The paper's networks on this machine. `commit` is the commit that the program was built
    /// from.
    #[must_use]
    pub fn new(commit: Option<&str>) -> Self {
        let provenance = Provenance::here(commit);
        // `repeat` and `time_limit` were chosen, not measured. With larger values, medians are
        // steadier and recording takes longer.
        Self {
            networks: PAPER_NETWORKS.iter().filter_map(|name| Subject::sample(name)).collect(),
            repeat: 60,
            threads: provenance.machine.threads,
            time_limit: Duration::from_millis(1200),
            provenance,
        }
    }

    /// The settings, as the recording stores them.
    fn settings(&self) -> RecordingSettings {
        let Self { repeat, threads, time_limit, .. } = *self;
        RecordingSettings { repeat, threads, time_limit }
    }
}

/// A recording in progress: what is measured so far, and what remains to be measured.
pub struct Recorder {
    setup: RecordingSetup,
    recording: Recording,
    /// The tasks of each network that is not in the recording yet.
    remaining: Vec<Vec<TreeTask>>,
}

impl Recorder {
    /// Compiles the networks of `setup` that `existing` does not hold; only these will be measured.
    /// Engines that cannot run here or cannot trace messages are left out.
    ///
    /// # Errors
    /// * The work was cancelled, or a network cannot be compiled.
    /// * `existing` cannot be continued: it was measured by another program, on another machine or
    ///   with other settings; it does not name its program or settings; or the commit of this
    ///   program is unknown.
    pub fn new(
        setup: RecordingSetup,
        existing: Option<Recording>,
        cancel: &CancelToken,
    ) -> Result<Self, ExperimentError> {
        let recording = match existing {
            Some(existing) => {
                resume::check(&existing, &setup).map_err(ExperimentError::Failed)?;
                existing
            }
            None => Recording {
                settings: Some(setup.settings()),
                ..Recording::new(setup.provenance.clone())
            },
        };
        let mut remaining: Vec<Vec<TreeTask>> = Vec::new();
        for subject in &setup.networks {
            cancel.check()?;
            let is_planned = remaining.iter().flatten().any(|task| task.network == subject.name);
            if !is_planned && !recording.contains(&subject.name) {
                remaining.push(tree_tasks(&setup, subject, cancel)?);
            }
        }
        Ok(Self { setup, recording, remaining })
    }

    /// What is measured so far.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The networks to be measured, as name and number of trees.
    pub fn remaining(&self) -> impl ExactSizeIterator<Item = (&str, usize)> {
        self.remaining.iter().map(|tasks| (tasks[0].network.as_str(), tasks.len()))
    }

    /// Approximate duration of [`run`](Self::run) on a machine like the one of the shipped
    /// recordings.
    #[must_use]
    pub fn forecast(&self) -> Duration {
        let runs = self.remaining.iter().flatten().flat_map(|task| {
            let statistics = task.compiled.statistics();
            task.runs.iter().map(|run| seconds(&self.setup, statistics, &run.kind()))
        });
        Duration::from_secs_f64(runs.sum())
    }

    /// Measures what remains, and calls `save` with the recording after each network.
    ///
    /// # Errors
    /// If the work was cancelled, an engine that runs here cannot load or propagate a network,
    /// or `save` fails.
    pub fn run(
        mut self,
        progress: &Progress,
        mut save: impl FnMut(&Recording) -> Result<(), String>,
    ) -> Result<Recording, ExperimentError> {
        progress.expect(self.forecast().as_secs_f64());
        for tasks in std::mem::take(&mut self.remaining) {
            let measure = |task| self.measure(task, progress);
            let measured = tasks.into_iter().map(measure).collect::<Result<Vec<_>, _>>()?;
            self.recording.networks.extend(measured);
            save(&self.recording).map_err(ExperimentError::Failed)?;
        }
        Ok(self.recording)
    }

    /// Measures all runs of `task`.
    fn measure(
        &self,
        task: TreeTask,
        progress: &Progress,
    ) -> Result<RecordedNetwork, ExperimentError> {
        let cancel = progress.cancel_token();
        let compiled = &task.compiled;
        let mut runs = Vec::with_capacity(task.runs.len());
        let mut bench: Option<Bench> = None;
        for run in &task.runs {
            let step = format!("{}, {}: {}", task.network, task.tree, run.title());
            let kind = run.kind();
            progress.step(step.as_str(), seconds(&self.setup, compiled.statistics(), &kind))?;
            let with_step = |error| match error {
                ExperimentError::Failed(reason) => {
                    ExperimentError::Failed(format!("{step}: {reason}"))
                }
                cancelled => cancelled,
            };
            let is_reused = bench.as_mut().is_some_and(|b| b.switch_to(run.engine, &run.options));
            // The previous bench is dropped before the next one is loaded, so that only one at a
            // time takes up memory.
            let mut ready = match bench.take().filter(|_| is_reused) {
                Some(ready) => ready,
                None => {
                    Bench::load(compiled, run.engine, &run.options, cancel).map_err(with_step)?
                }
            };
            runs.push(ready.measure(effort(&self.setup, &kind), cancel).map_err(with_step)?);
            bench = Some(ready);
        }
        Ok(RecordedNetwork {
            tree: compiled.statistics().clone(),
            messages: MessageSizes::of(compiled.tree(), compiled.plan()),
            network: task.network,
            triangulation: task.tree,
            runs,
        })
    }
}
