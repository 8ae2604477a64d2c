//! The networks and settings of an experiment.

use std::sync::Arc;

use super::{MERGE_THRESHOLDS, Parameter, Provenance};
use crate::engine::{EngineInfo, GPU_PAPER, PaperOptions, SEQUENTIAL};
use crate::graph::{Heuristic, Triangulation};
use crate::network::Network;
use crate::propagation::MemoryLimit;

/// The engine that experiments measure unless another is chosen.
pub const DEFAULT_ENGINE: &EngineInfo = &GPU_PAPER;

/// Propagations to time for each measurement unless another number is chosen. With more, the median
/// varies less and the experiment takes longer.
pub const DEFAULT_REPEAT: u32 = 10;

/// The baseline, the engine to compare with, unless another is chosen.
pub const DEFAULT_BASELINE: &EngineInfo = &SEQUENTIAL;

/// The triangulation whose junction trees have the sizes of the paper's Table 1: exactly for five
/// of its eight networks, and with slight differences for the others.
pub const PAPER_TRIANGULATION: Triangulation = Triangulation::By(Heuristic::WeightedMinFill);

/// The networks and settings of an experiment.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The networks.
    pub networks: Vec<Subject>,
    /// How the networks are triangulated.
    pub triangulation: Triangulation,
    /// Name of the engine to measure.
    pub engine: String,
    /// Name of the engine to compare with.
    pub baseline: String,
    /// Propagations to time for each measurement, after a warm-up; fewer if they take too
    /// long.
    pub repeat: u32,
    /// Threads that an engine may use.
    pub threads: usize,
    /// Memory that an engine may use.
    pub memory: MemoryLimit,
    /// Block size and layout of the mapping tables of engine `gpu-paper`.
    pub paper: PaperOptions,
    /// A limit that experiment `merging` tries in addition to [`MERGE_THRESHOLDS`]: separators of
    /// at most this many entries are merged away.
    pub threshold: u64,
    /// Whether to show recordings even if the engines run on this machine.
    pub prefer_recorded: bool,
    /// This program and this machine.
    pub provenance: Provenance,
}

/// A network of an experiment.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Name of the network. Recordings and the paper's numbers are looked up by this name.
    pub name: String,
    /// The network.
    pub network: Arc<Network>,
}

impl Setup {
    /// The default settings for `networks`: the paper's GPU engine and CPU baseline, on trees made
    /// by weighted min-fill.
    #[must_use]
    pub fn new(networks: Vec<Subject>) -> Self {
        let provenance = Provenance::here(None);
        Self {
            networks,
            triangulation: PAPER_TRIANGULATION,
            engine: DEFAULT_ENGINE.name.to_owned(),
            baseline: DEFAULT_BASELINE.name.to_owned(),
            repeat: DEFAULT_REPEAT,
            threads: provenance.machine.threads,
            memory: MemoryLimit::half_of_available(),
            paper: PaperOptions::default(),
            // This limit is tried anyway, so none is added.
            threshold: MERGE_THRESHOLDS[0],
            prefer_recorded: false,
            provenance,
        }
    }

    /// The names and values of the settings: the networks, the triangulation and `parameters`.
    pub(super) fn settings(&self, parameters: &[Parameter]) -> Vec<(String, String)> {
        let networks: Vec<&str> = self.networks.iter().map(|s| s.name.as_str()).collect();
        let mut settings = vec![
            ("networks", networks.join(" ")),
            ("triangulation", self.triangulation.name().to_owned()),
        ];
        settings.extend(parameters.iter().map(|parameter| match parameter {
            Parameter::Engine => ("engine", self.engine.clone()),
            Parameter::Baseline => ("baseline", self.baseline.clone()),
            Parameter::Repeat => ("repeat", self.repeat.to_string()),
            Parameter::Threads => ("threads", self.threads.to_string()),
            Parameter::Paper => (GPU_PAPER.name, self.paper.to_string()),
            Parameter::Threshold => ("threshold", self.threshold.to_string()),
        }));
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Subject {
    /// The sample called `name`.
    #[must_use]
    pub fn sample(name: &str) -> Option<Self> {
        let read = crate::format::sample(name)?.open();
        Some(Self { name: read.origin.title(), network: read.network })
    }
}
