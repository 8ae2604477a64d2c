//! What an experiment is run on, and how.

use std::sync::Arc;

use super::{MERGE_THRESHOLDS, Parameter, Provenance};
use crate::engine::{EngineInfo, GPU_PAPER, PaperOptions, SEQUENTIAL};
use crate::graph::{Heuristic, Triangulation};
use crate::network::Network;
use crate::propagation::MemoryLimit;

/// The engine that experiments time unless another is chosen.
pub const DEFAULT_ENGINE: &EngineInfo = &GPU_PAPER;

/// The engine that it is compared with unless another is chosen.
pub const DEFAULT_BASELINE: &EngineInfo = &SEQUENTIAL;

/// What an experiment is run on, and how.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The networks.
    pub networks: Vec<Subject>,
    /// How they are triangulated. Weighted min-fill gives the paper's own trees.
    pub triangulation: Triangulation,
    /// Name of the engine that is looked at.
    pub engine: String,
    /// Name of the engine that it is compared with.
    pub baseline: String,
    /// Propagations that are measured for each time, after one that is not.
    pub repeat: u32,
    /// Threads that engines may use.
    pub threads: usize,
    /// Memory that an engine may take.
    pub memory: MemoryLimit,
    /// Block size and layout of engine `gpu-paper`.
    pub paper: PaperOptions,
    /// Separators of at most so many entries are merged away, besides those of at most
    /// [`MERGE_THRESHOLDS`].
    pub threshold: u64,
    /// Whether recordings are to be shown even where the engine runs.
    pub prefer_recorded: bool,
    /// This program and this machine.
    pub provenance: Provenance,
}

/// A network that is looked at.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What it is called. Recordings and the paper's figures are found by the name of the sample.
    pub name: String,
    /// The network.
    pub network: Arc<Network>,
}

impl Setup {
    /// The default settings for `networks`: the paper's trees, its kernel against its CPU baseline.
    #[must_use]
    pub fn new(networks: Vec<Subject>) -> Self {
        let provenance = Provenance::here(None);
        Self {
            networks,
            triangulation: Triangulation::By(Heuristic::WeightedMinFill),
            engine: DEFAULT_ENGINE.name.to_owned(),
            baseline: DEFAULT_BASELINE.name.to_owned(),
            repeat: 10,
            threads: provenance.machine.threads,
            memory: MemoryLimit::half_of_available(),
            paper: PaperOptions::default(),
            threshold: MERGE_THRESHOLDS[0],
            prefer_recorded: false,
            provenance,
        }
    }

    /// The settings of an experiment that heeds `parameters`, in words.
    pub(super) fn told(&self, parameters: &[Parameter]) -> Vec<(String, String)> {
        let networks: Vec<&str> = self.networks.iter().map(|s| s.name.as_str()).collect();
        let mut told = vec![
            ("networks", networks.join(" ")),
            ("triangulation", self.triangulation.name().to_owned()),
        ];
        told.extend(parameters.iter().map(|parameter| match parameter {
            Parameter::Engine => ("engine", self.engine.clone()),
            Parameter::Baseline => ("baseline", self.baseline.clone()),
            Parameter::Repeat => ("repeat", self.repeat.to_string()),
            Parameter::Threads => ("threads", self.threads.to_string()),
            Parameter::Paper => (GPU_PAPER.name, self.paper.to_string()),
            Parameter::Threshold => ("threshold", self.threshold.to_string()),
        }));
        told.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
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
