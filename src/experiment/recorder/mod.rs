//! Making a recording of all that experiments show.

mod cost;
mod parts;
mod resume;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::cost::{effort, seconds};
use self::parts::{Part, parts_of};
use super::measure::Bench;
use super::{
    ExperimentError, MessageSizes, PAPER_NETWORKS, Progress, Provenance, RecordedNetwork,
    Recording, RecordingSettings, Subject,
};
use crate::cancel::CancelToken;

/// What a recording is made of.
#[derive(Clone, Debug)]
pub struct RecordingSetup {
    /// The networks.
    pub networks: Vec<Subject>,
    /// Propagations for each time; slow engines are measured less often.
    pub repeat: u32,
    /// Threads of engines that use several. They are measured with one as well.
    pub threads: usize,
    /// Longest that one time of a fast engine is measured; times of `sequential` and `gpu-paper`,
    /// and those that only say how times go as something is varied, are measured for a part of it.
    /// Two or three propagations are counted however long they take.
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

    /// What is noted of it in the recording.
    fn settings(&self) -> RecordingSettings {
        RecordingSettings { repeat: self.repeat, threads: self.threads, at_most: self.at_most }
    }
}

/// A recording in the making: what it holds, and what is still to be measured.
pub struct Recorder {
    setup: RecordingSetup,
    recording: Recording,
    /// The parts of each network that is not held.
    missing: Vec<Vec<Part>>,
}

impl Recorder {
    /// Compiles the networks of `setup`. Those that `held` holds, with all their trees, stay as they
    /// are and are not measured again. Engines that cannot run here are left out.
    ///
    /// # Errors
    /// If `held` was measured by another program, on another machine or with other options, or says
    /// nothing of them; or if it was cancelled.
    pub fn new(
        setup: RecordingSetup,
        held: Option<Recording>,
        cancel: &CancelToken,
    ) -> Result<Self, ExperimentError> {
        let recording = match held {
            Some(held) => {
                resume::check(&held, &setup).map_err(ExperimentError::Failed)?;
                held
            }
            None => Recording {
                settings: Some(setup.settings()),
                ..Recording::new(setup.provenance.clone())
            },
        };
        let mut missing: Vec<Vec<Part>> = Vec::new();
        for subject in &setup.networks {
            cancel.check()?;
            let asked = missing.iter().flatten().any(|part| part.name == subject.name);
            if !asked && !recording.holds(&subject.name) {
                missing.push(parts_of(&setup, subject, cancel)?);
            }
        }
        Ok(Self { setup, recording, missing })
    }

    /// What is held already.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Names of the networks that are to be measured, each with the number of its trees.
    pub fn missing(&self) -> impl ExactSizeIterator<Item = (&str, usize)> {
        self.missing.iter().map(|parts| (parts[0].name.as_str(), parts.len()))
    }

    /// About how long that takes, on a machine like those of the shipped recordings.
    #[must_use]
    pub fn forecast(&self) -> Duration {
        let runs = self.missing.iter().flatten().flat_map(|part| {
            part.runs.iter().map(|run| seconds(&self.setup, part.network.statistics(), &run.kind()))
        });
        Duration::from_secs_f64(runs.sum())
    }

    /// Measures what is missing. After each network `keep` is given what is held by then.
    ///
    /// # Errors
    /// If it was cancelled, a network cannot be propagated on an engine that runs here, or `keep`
    /// says in words why it could not do its work.
    pub fn run(
        mut self,
        progress: &Progress,
        mut keep: impl FnMut(&Recording) -> Result<(), String>,
    ) -> Result<Recording, ExperimentError> {
        progress.expect(self.forecast().as_secs_f64());
        for parts in std::mem::take(&mut self.missing) {
            let measure = |part| self.measure(part, progress);
            let measured = parts.into_iter().map(measure).collect::<Result<Vec<_>, _>>()?;
            self.recording.networks.extend(measured);
            keep(&self.recording).map_err(ExperimentError::Failed)?;
        }
        Ok(self.recording)
    }

    fn measure(&self, part: Part, progress: &Progress) -> Result<RecordedNetwork, ExperimentError> {
        let cancel = progress.cancel_token();
        let compiled = &part.network;
        let mut runs = Vec::with_capacity(part.runs.len());
        let mut bench: Option<Bench> = None;
        for run in &part.runs {
            let what = format!("{}, {}: {}", part.name, part.tree, run.title());
            let kind = run.kind();
            progress.step(what.as_str(), seconds(&self.setup, compiled.statistics(), &kind))?;
            let failed = |error| match error {
                ExperimentError::Failed(reason) => {
                    ExperimentError::Failed(format!("{what}: {reason}"))
                }
                cancelled => cancelled,
            };
            let turned = bench.as_mut().is_some_and(|b| b.turns_to(run.engine, &run.options));
            let mut ready = match bench.take().filter(|_| turned) {
                Some(ready) => ready,
                // The one before has gone by now, so that two never share the memory.
                None => Bench::load(compiled, run.engine, &run.options, cancel).map_err(failed)?,
            };
            runs.push(ready.measure(effort(&self.setup, &kind), cancel).map_err(failed)?);
            bench = Some(ready);
        }
        Ok(RecordedNetwork {
            tree: compiled.statistics().clone(),
            messages: MessageSizes::of(compiled.tree(), compiled.plan()),
            network: part.name,
            triangulation: part.tree,
            runs,
        })
    }
}
