//! The paper's table, figures and formulas as runs that give records.
//!
//! An [`Experiment`] asks a question of some networks and answers with a [`Record`]: tables and
//! figures from which the window, CSV, JSON and SVG are made alike. What a machine cannot measure
//! for want of a GPU is taken from a shipped [`Recording`] and marked as such; what a model
//! predicts and what the paper prints stand apart from both by their [`Origin`].

pub mod chart;
mod csv;
mod equations;
mod floor;
mod measure;
pub mod paper;
mod progress;
mod provenance;
mod record;
mod recorder;
mod recording;
mod request;
mod runs;
mod setup;
mod source;
mod svg;
mod table;
mod trees;

pub use chart::{Axis, Figure, Mark, MarkPosition, Panel, Point, Scale, Series, Shape};
pub use equations::{Fit, Work};
pub use progress::{Progress, Status};
pub use provenance::{Gpu, Machine, Provenance};
pub use record::{Origin, Record};
pub use recorder::{Recorder, RecordingSetup};
pub use recording::{MessageSizes, RecordedNetwork, RecordedRun, Recording, RecordingSettings};
pub use request::ExperimentRequest;
pub use setup::{DEFAULT_BASELINE, DEFAULT_ENGINE, Setup, Subject};
pub use table::{Cell, Cells, Column, Table};
pub use trees::{MERGE_THRESHOLDS, MESSAGE_ENTRIES, MergeRule, merged};

use crate::cancel::Cancelled;

/// A question that is put to networks and engines.
pub struct Experiment {
    /// Its name on the command line, as `fig7`.
    pub name: &'static str,
    /// Its title, as `Figure 7: kernel overhead against execution`.
    pub title: &'static str,
    /// What it asks, in a sentence or two.
    pub question: &'static str,
    /// Which of the settings it heeds, besides the networks and the triangulation.
    pub heeds: &'static [Parameter],
    /// Networks that it is run on where none are chosen.
    pub networks: &'static [&'static str],
    answer: fn(&Setup, &Progress, &mut Record) -> Result<(), ExperimentError>,
}

/// A setting that an experiment may heed; see [`Setup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The engine that is looked at.
    Engine,
    /// The engine that it is compared with.
    Baseline,
    /// How often each time is measured.
    Repeat,
    /// Threads of the engines that use several.
    Threads,
    /// Block size and layout of engine `gpu-paper`.
    Paper,
    /// Largest separator that is merged away.
    Threshold,
}

/// The paper's eight networks, in the order of its Table 1.
pub const PAPER_NETWORKS: [&str; 8] =
    ["mildew", "diabetes", "barley", "pigs", "munin2", "munin3", "munin4", "water"];

/// Threads of a block that experiment `fig5` goes through (section 4.2).
pub const BLOCK_SIZES: [u32; 10] = [16, 32, 48, 64, 96, 128, 192, 256, 512, 1024];

/// Why an experiment has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// It was no longer wanted.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A network could not be propagated; what happened, as a sentence for the user.
    #[error("{0}")]
    Failed(String),
}

/// All experiments, in the order of the paper.
#[must_use]
pub fn all() -> &'static [Experiment] {
    runs::ALL
}

/// The experiment called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Experiment> {
    all().iter().find(|experiment| experiment.name == name)
}

impl Experiment {
    /// Puts the question.
    ///
    /// # Errors
    /// If it was cancelled, or a network could not be propagated at all.
    pub fn run(&self, setup: &Setup, progress: &Progress) -> Result<Record, ExperimentError> {
        let mut record = Record {
            format: record::FORMAT,
            experiment: self.name.to_owned(),
            title: self.title.to_owned(),
            provenance: setup.provenance.clone(),
            recorded: Vec::new(),
            propagations: None,
            settings: setup.told(self.heeds),
            notes: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
        };
        (self.answer)(setup, progress, &mut record)?;
        match record.propagations {
            Some([1, 1]) => record.note("Each time is that of one propagation."),
            Some([least, most]) if least == most => {
                record.note(format!("Each time is the median of {least} propagations."));
            }
            Some([least, most]) => {
                record.note(format!("Each time is the median of {least} to {most} propagations."));
            }
            None => {}
        }
        Ok(record)
    }
}
