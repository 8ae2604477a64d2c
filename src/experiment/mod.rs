//! The paper's table, figures and formulas as experiments.
//!
//! An [`Experiment`] measures some networks and returns a [`Record`]: tables and figures, which the
//! window shows and which are written as CSV, JSON and SVG. If this machine cannot measure the
//! times, for example because it has no GPU, they come from a shipped [`Recording`]. Every number
//! has an [`Origin`]: counted, measured here, recorded, predicted, or printed in the paper.
//!
//! The paper is Zheng, Mengshoel and Chong, *Belief Propagation by Message Passing in Junction
//! Trees: Computing Each Message Faster Using GPU Parallelization* (UAI 2011).

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
pub use setup::{
    DEFAULT_BASELINE, DEFAULT_ENGINE, DEFAULT_REPEAT, PAPER_TRIANGULATION, Setup, Subject,
};
pub use table::{Cell, Cells, Column, Table};
pub use trees::{MERGE_THRESHOLDS, MESSAGE_ENTRIES, MergeRule, merged};

use crate::cancel::Cancelled;
use crate::graph::GraphTooLarge;

/// A question about networks and engines, and how to answer it.
pub struct Experiment {
    /// Name on the command line, such as `fig7`.
    pub name: &'static str,
    /// Title, such as `Figure 7: kernel overhead and execution time`.
    pub title: &'static str,
    /// The question, in a few sentences.
    pub question: &'static str,
    /// The paper's equations that it tests: the number of each, or its section if it has no number,
    /// and the equation in the notation of the window's equations (a small part of AsciiMath):
    /// `a_b` is a subscript, `sum_(a)` a sum over `a`, and `frac(a)(b)` a fraction.
    pub equations: &'static [(&'static str, &'static str)],
    /// Settings that affect the result, in addition to the networks and the triangulation.
    pub parameters: &'static [Parameter],
    /// Networks that the experiment runs on if none are chosen.
    pub networks: &'static [&'static str],
    /// Measures, and adds tables, figures and notes to the record.
    answer: fn(&Setup, &Progress, &mut Record) -> Result<(), ExperimentError>,
}

/// A setting that affects some experiments; see [`Setup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The engine to measure.
    Engine,
    /// The engine to compare the measured engine with.
    Baseline,
    /// Number of propagations to time for each measurement.
    Repeat,
    /// Number of threads of multithreaded engines.
    Threads,
    /// Block size and layout of the mapping tables of engine `gpu-paper`.
    Paper,
    /// Maximum size of the separators to merge away, in entries.
    Threshold,
}

/// The paper's eight networks, in the order of its Table 1.
pub const PAPER_NETWORKS: [&str; 8] =
    ["mildew", "diabetes", "barley", "pigs", "munin2", "munin3", "munin4", "water"];

/// The block sizes that are recorded, and that experiments `fig5` and `ladder` compare, in threads
/// (section 4.2 of the paper).
pub const BLOCK_SIZES: [u32; 10] = [16, 32, 48, 64, 96, 128, 192, 256, 512, 1024];

/// Why an experiment has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// The experiment was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The graph of a network needs more memory than the limit.
    #[error(transparent)]
    TooLarge(#[from] GraphTooLarge),
    /// The experiment or recording could not be completed, with the reason for the user.
    #[error("{0}")]
    Failed(String),
}

/// All experiments: the paper's table and its figures, then the others.
#[must_use]
pub fn all() -> &'static [Experiment] {
    runs::ALL
}

/// The experiment with this name on the command line; `None` if there is none.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Experiment> {
    all().iter().find(|experiment| experiment.name == name)
}

impl Experiment {
    /// Runs the experiment.
    ///
    /// # Errors
    /// If it was cancelled, if a triangulation needs too much memory, or if an engine cannot run
    /// here and there is no recording to show instead.
    pub fn run(&self, setup: &Setup, progress: &Progress) -> Result<Record, ExperimentError> {
        let mut record = Record {
            format: record::FORMAT,
            experiment: self.name.to_owned(),
            title: self.title.to_owned(),
            provenance: setup.provenance.clone(),
            recorded: Vec::new(),
            propagations: None,
            settings: setup.settings(self.parameters),
            notes: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
        };
        (self.answer)(setup, progress, &mut record)?;
        match record.propagations {
            Some([1, 1]) => record.note("Each time is from a single propagation."),
            Some([min, max]) if min == max => {
                record.note(format!("Each time is the median of {min} propagations."));
            }
            Some([min, max]) => {
                record.note(format!("Each time is the median of {min} to {max} propagations."));
            }
            None => {}
        }
        Ok(record)
    }
}
