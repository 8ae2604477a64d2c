//! What was measured on a machine, kept to be shown on others.

mod packed;

use std::io::Read;
use std::sync::OnceLock;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use super::Provenance;
use crate::engine::{EngineInfo, PaperOptions};
use crate::graph::{JunctionTree, TreeStatistics};
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, MessageTrace, Plan};
use crate::statistics::Quantiles;

/// Version of the files; others are refused.
const FORMAT: u32 = 1;

/// The recordings that are part of the program, packed.
const SHIPPED: &[&[u8]] = &[include_bytes!("../../assets/recordings/nvidia-h200.json.gz")];

/// What was measured on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Version of the file.
    pub format: u32,
    /// When, by what and where.
    pub provenance: Provenance,
    /// With what options; `None` in files of before they were noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<RecordingSettings>,
    /// Each network once for each of its junction trees.
    pub networks: Vec<RecordedNetwork>,
}

/// With what options something was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingSettings {
    /// Propagations for each time, where they are not too slow.
    pub repeat: u32,
    /// Threads of engines that use several.
    pub threads: usize,
    /// Longest that one time of a fast engine is measured.
    pub at_most: Duration,
}

/// One junction tree of one network and what was measured on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedNetwork {
    /// Name of the sample.
    pub network: String,
    /// How it was triangulated, as on the command line.
    pub triangulation: String,
    /// Sizes of the tree.
    pub tree: TreeStatistics,
    /// Table sizes of the messages of its plan, in the plan's order.
    #[serde(with = "packed::sizes")]
    pub messages: Vec<MessageSizes>,
    /// What was measured.
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
    /// Those of all messages of `plan` in its order.
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

/// Propagations without evidence on one engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// Name of the engine.
    pub engine: String,
    /// Number type of the tables.
    pub precision: Precision,
    /// Threads that were used.
    pub threads: usize,
    /// Block size and layout; of engine `gpu-paper` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<PaperOptions>,
    /// Time of a propagation, evidence in and all posteriors out, microseconds.
    pub propagate_us: Quantiles,
    /// Of that, what its launches and copies take with empty kernels, microseconds; none for
    /// engines that launch nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_us: Option<f64>,
    /// What one launch of an empty kernel takes, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_us: Option<f64>,
    /// Bytes that the engine held at most.
    pub peak_bytes: u64,
    /// One propagation message by message. It took longer than the others: watching costs time.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "packed::trace")]
    pub trace: Option<MessageTrace>,
}

impl RecordedRun {
    /// The engine that ran; `None` if this version of the program does not know it.
    #[must_use]
    pub fn info(&self) -> Option<&'static EngineInfo> {
        EngineInfo::find(&self.engine)
    }

    /// The median less the overhead, microseconds; the whole median where there is no overhead.
    #[must_use]
    pub fn execution_us(&self) -> f64 {
        (self.propagate_us.median - self.overhead_us.unwrap_or(0.0)).max(0.0)
    }
}

impl Recording {
    /// A recording of this program on this machine, still empty.
    #[must_use]
    pub fn new(provenance: Provenance) -> Self {
        Self { format: FORMAT, provenance, settings: None, networks: Vec::new() }
    }

    /// The recordings that are part of the program, unpacked when they are first asked for.
    #[must_use]
    pub fn shipped() -> &'static [Self] {
        static UNPACKED: OnceLock<Vec<Recording>> = OnceLock::new();
        UNPACKED.get_or_init(|| {
            let unpack = |bytes: &&[u8]| Self::read(bytes).expect("shipped recordings are whole");
            SHIPPED.iter().map(unpack).collect()
        })
    }

    /// What was recorded for `network` with the tree that `triangulation` makes.
    #[must_use]
    pub fn find(&self, network: &str, triangulation: &str) -> Option<&RecordedNetwork> {
        self.networks.iter().find(|recorded| {
            recorded.network.eq_ignore_ascii_case(network)
                && recorded.triangulation == triangulation
        })
    }

    /// Names of the networks that it holds, in its order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.networks.iter().map(|n| n.network.as_str()).collect();
        names.dedup();
        names
    }

    /// Whether it holds `network`.
    #[must_use]
    pub fn holds(&self, network: &str) -> bool {
        self.networks.iter().any(|recorded| recorded.network.eq_ignore_ascii_case(network))
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// If it is something else, or of another version; in words.
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

    /// The recording as JSON, packed by gzip; the same for the same recording.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
        serde_json::to_writer(&mut packed, self).expect("a recording is JSON");
        packed.finish().expect("memory takes all that is written to it")
    }

    /// In words for beside a figure: `recorded on NVIDIA H200 on 2026-11-21`.
    #[must_use]
    pub fn credit(&self) -> String {
        let Provenance { machine, .. } = &self.provenance;
        format!("recorded on {} on {}", machine.title(), self.provenance.day())
    }
}

impl RecordedNetwork {
    /// Whether the messages are those of `compiled`, so that traces can be drawn over its tree.
    #[must_use]
    pub fn is_of(&self, compiled: &CompiledNetwork) -> bool {
        self.messages == MessageSizes::of(compiled.tree(), compiled.plan())
    }

    /// The run on `engine`; of several that with most threads, and for `gpu-paper` that with
    /// these options.
    #[must_use]
    pub fn run(&self, engine: &str, paper: PaperOptions) -> Option<&RecordedRun> {
        let asked = |run: &&RecordedRun| {
            run.engine == engine && run.paper.is_none_or(|options| options == paper)
        };
        self.runs.iter().filter(asked).max_by_key(|run| run.threads)
    }
}

#[cfg(test)]
mod tests;
