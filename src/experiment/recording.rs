//! Measurements of one machine, to be shown on others.

mod packed;

use std::io::Read;
use std::sync::OnceLock;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use super::Provenance;
use crate::engine::{Algorithm, EngineInfo, PaperOptions};
use crate::graph::{JunctionTree, TreeStatistics};
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, MessageTrace, Plan};
use crate::statistics::Quantiles;

/// Version of the file format. Other versions are not read.
const FORMAT: u32 = 1;

/// The recordings that are part of the program: JSON compressed by gzip.
const SHIPPED: &[&[u8]] = &[include_bytes!("../../assets/recordings/nvidia-h200.json.gz")];

/// Measurements of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Version of the file format.
    pub format: u32,
    /// When, by which program and on which machine the times were measured.
    pub provenance: Provenance,
    /// The settings; `None` in files of versions that did not write them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<RecordingSettings>,
    /// Each network, once for each of its junction trees.
    pub networks: Vec<RecordedNetwork>,
}

/// The settings that a recording was made with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingSettings {
    /// Propagations to time for each run; fewer if the run reaches its time limit, or varies an
    /// option or the tree.
    pub repeat: u32,
    /// Threads of multithreaded engines.
    pub threads: usize,
    /// Time limit for the timed propagations of a run. Engines that pass one message after another
    /// have a quarter of it, runs that vary an option or the tree a twentieth.
    #[serde(rename = "at_most")]
    pub time_limit: Duration,
}

/// A junction tree of a network, and the runs on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedNetwork {
    /// Name of the network.
    pub network: String,
    /// Name of the tree: the triangulation as named on the command line, followed by the merging of
    /// separators if there was any, such as `weighted-min-fill, merged to 32`.
    pub triangulation: String,
    /// Statistics of the tree.
    pub tree: TreeStatistics,
    /// Table sizes of the messages, in the order of the plan.
    #[serde(with = "packed::sizes")]
    pub messages: Vec<MessageSizes>,
    /// The runs.
    pub runs: Vec<RecordedRun>,
}

/// Table sizes of one message, in entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSizes {
    /// The sending clique.
    pub from: u64,
    /// The separator.
    pub separator: u64,
    /// The receiving clique.
    pub to: u64,
}

impl MessageSizes {
    /// The sizes for all messages of `plan`, in the order of the plan.
    #[must_use]
    pub fn of(tree: &JunctionTree, plan: &Plan) -> Vec<Self> {
        let sizes = plan.messages().iter().map(|message| Self {
            from: tree[message.from].entries,
            separator: tree[message.separator].entries,
            to: tree[message.to].entries,
        });
        sizes.collect()
    }
}

/// Times of propagations without evidence on one engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// Name of the engine.
    pub engine: String,
    /// Number type of the tables.
    pub precision: Precision,
    /// Number of threads that the engine used.
    pub threads: usize,
    /// Block size and layout, for engine `gpu-paper` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<PaperOptions>,
    /// Time of a propagation from entering evidence to reading all posteriors, in microseconds.
    pub propagate_us: Quantiles,
    /// Launch overhead of a propagation, in microseconds; `None` for engines without kernels, or if
    /// the driver reported an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    /// Time of one launch of an empty kernel, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_us: Option<f64>,
    /// Peak memory of the engine, in bytes.
    pub peak_bytes: u64,
    /// Trace of one propagation. It usually took longer than the timed ones, because tracing costs
    /// time.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "packed::trace")]
    pub trace: Option<MessageTrace>,
}

impl RecordedRun {
    /// The engine; `None` if this version of the program does not know it.
    #[must_use]
    pub fn info(&self) -> Option<&'static EngineInfo> {
        EngineInfo::find(&self.engine)
    }

    /// The share of the time that is launch overhead, from 0 to 1; `None` if the overhead was not
    /// measured.
    #[must_use]
    pub fn overhead_share(&self) -> Option<f64> {
        Some((self.overhead_us? / self.propagate_us.median).min(1.0))
    }

    /// The median time minus the launch overhead, in microseconds; at least zero.
    #[must_use]
    pub fn execution_us(&self) -> f64 {
        (self.propagate_us.median - self.overhead_us.unwrap_or(0.0)).max(0.0)
    }
}

impl Recording {
    /// A recording without networks.
    #[must_use]
    pub fn new(provenance: Provenance) -> Self {
        Self { format: FORMAT, provenance, settings: None, networks: Vec::new() }
    }

    /// The recordings that are part of the program. They are unpacked on first use.
    #[must_use]
    pub fn shipped() -> &'static [Self] {
        static UNPACKED: OnceLock<Vec<Recording>> = OnceLock::new();
        UNPACKED.get_or_init(|| {
            let unpack = |bytes: &&[u8]| {
                let recording = Self::read(bytes).expect("shipped recordings are valid");
                recording.with_entries_processed()
            };
            SHIPPED.iter().map(unpack).collect()
        })
    }

    /// The runs of `network` on the tree called `triangulation`; see
    /// [`RecordedNetwork::triangulation`].
    #[must_use]
    pub fn find(&self, network: &str, triangulation: &str) -> Option<&RecordedNetwork> {
        self.networks.iter().find(|recorded| {
            recorded.network.eq_ignore_ascii_case(network)
                && recorded.triangulation == triangulation
        })
    }

    /// Names of the networks in the order of the recording. Neighbours with the same name, which
    /// are the trees of one network, count once.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.networks.iter().map(|n| n.network.as_str()).collect();
        names.dedup();
        names
    }

    /// Whether the recording has runs of `network`.
    #[must_use]
    pub fn contains(&self, network: &str) -> bool {
        self.networks.iter().any(|recorded| recorded.network.eq_ignore_ascii_case(network))
    }

    /// Reads a recording that [`write`](Self::write) returned.
    ///
    /// # Errors
    /// A message if the bytes are not a recording or have another version.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut text = String::new();
        GzDecoder::new(bytes)
            .read_to_string(&mut text)
            .map_err(|error| format!("not a recording: expected gzip with JSON in it: {error}"))?;
        let recording: Self =
            serde_json::from_str(&text).map_err(|error| format!("not a recording: {error}"))?;
        if recording.format == FORMAT {
            Ok(recording)
        } else {
            let found = recording.format;
            Err(format!("a recording of version {found}; expected version {FORMAT}"))
        }
    }

    /// Fills in the number of table entries processed for each message, which earlier versions did
    /// not record. Only for engines that go through all entries of both cliques, because there the
    /// number follows from the sizes of the cliques.
    fn with_entries_processed(mut self) -> Self {
        for network in &mut self.networks {
            let sizes = network.messages.iter().map(|sizes| sizes.from.saturating_add(sizes.to));
            for run in &mut network.runs {
                let goes_through_all =
                    run.info().is_some_and(|info| info.capabilities.algorithm == Algorithm::Hugin);
                if let Some(trace) = &mut run.trace
                    && trace.processed.is_empty()
                    && goes_through_all
                {
                    trace.processed = sizes.clone().collect();
                }
            }
        }
        self
    }

    /// The recording as JSON, compressed by gzip. Equal recordings give equal bytes.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
        serde_json::to_writer(&mut packed, self).expect("a recording is JSON");
        packed.finish().expect("writing to memory does not fail")
    }

    /// Where the numbers come from: `recorded on NVIDIA H200 on 2026-11-21`.
    #[must_use]
    pub fn credit(&self) -> String {
        let Provenance { machine, .. } = &self.provenance;
        format!("recorded on {} on {}", machine.title(), self.provenance.day())
    }
}

impl RecordedNetwork {
    /// Whether the messages have the same sizes as the messages of `compiled`. If so, the runs are
    /// taken to be on the same tree.
    #[must_use]
    pub fn matches(&self, compiled: &CompiledNetwork) -> bool {
        self.messages == MessageSizes::of(compiled.tree(), compiled.plan())
    }

    /// The run on `engine` with the most threads; for `gpu-paper`, the run with the options
    /// `paper`.
    #[must_use]
    pub fn run(&self, engine: &str, paper: PaperOptions) -> Option<&RecordedRun> {
        let is_wanted = |run: &&RecordedRun| {
            run.engine == engine && run.paper.is_none_or(|options| options == paper)
        };
        self.runs.iter().filter(is_wanted).max_by_key(|run| run.threads)
    }
}

#[cfg(test)]
mod tests;
