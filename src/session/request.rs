//! What the front end wants.

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{self, Engine, PaperOptions};
use crate::format::{self, OpenError, ReadNetwork};
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::{CompileOptions, MemoryLimit};

/// An engine and how it is to be loaded.
#[derive(Clone, Copy)]
pub struct EngineChoice {
    /// The engine.
    pub engine: &'static dyn Engine,
    /// Number type of its tables.
    pub precision: Precision,
    /// Threads that it may use.
    pub threads: usize,
    /// For engine `gpu-paper`; others ignore it.
    pub paper: PaperOptions,
}

impl EngineChoice {
    /// Whether the engine heeds [`paper`](Self::paper).
    #[must_use]
    pub fn heeds_paper(&self) -> bool {
        self.engine.info().capabilities.paper_options
    }

    /// What is used where the device of the engine fails: the engine that runs everywhere, in the
    /// same precision.
    #[must_use]
    pub fn stand_in(&self) -> Self {
        let engine = engine::default_engine();
        let precisions = engine.precisions();
        let same = precisions.iter().copied().find(|&precision| precision == self.precision);
        Self { engine, precision: same.unwrap_or(precisions[0]), ..*self }
    }

    /// The engine, its number type and what else it heeds: `gpu-paper f32, naive, 48 threads a block`.
    #[must_use]
    pub fn title(&self) -> String {
        let title = format!("{} {}", self.engine.name(), self.precision);
        if !self.heeds_paper() {
            return title;
        }
        format!("{title}, {}", self.paper)
    }
}

/// Choices that load the same are the same: what an engine ignores does not count.
impl PartialEq for EngineChoice {
    fn eq(&self, other: &Self) -> bool {
        self.engine.info() == other.engine.info()
            && self.precision == other.precision
            && self.threads == other.threads
            && (self.paper == other.paper || !self.heeds_paper())
    }
}

impl std::fmt::Debug for EngineChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} on {}", self.engine.name(), self.precision, self.threads)
    }
}

/// Where a network is to be read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A path or the name of a sample, as typed by the user.
    Named(String),
    /// A file.
    File(PathBuf),
    /// Bytes that came under a name, without a file that could be read again.
    Bytes {
        /// The name.
        name: String,
        /// What a file of this name would hold.
        bytes: Arc<[u8]>,
    },
}

impl Source {
    /// Reads the network.
    ///
    /// # Errors
    /// As [`format::open`].
    pub fn open(&self) -> Result<ReadNetwork, OpenError> {
        match self {
            Self::Named(spec) => format::open(spec),
            Self::File(path) => format::open_path(path),
            Self::Bytes { name, bytes } => format::open_bytes(name, bytes.to_vec()),
        }
    }
}

/// All that the front end wants at one time.
///
/// Evidence is about the network that `source` gives. While that network is not known yet, the
/// evidence is none; the front end follows up when the network was
/// [opened](crate::session::Update::Opened).
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Where the network comes from.
    pub source: Source,
    /// Counts up whenever the source is to be read anew, even if it is the same file.
    pub source_serial: u64,
    /// How it is compiled.
    pub compile: CompileOptions,
    /// What propagates.
    pub engine: EngineChoice,
    /// Memory that the engine may take; `None` is half of what is available when it loads.
    pub memory: Option<MemoryLimit>,
    /// What is known.
    pub evidence: Evidence,
    /// Other cases to compute the posteriors of, once all else is there; each is told as
    /// [`Update::Answered`](crate::session::Update::Answered).
    pub cases: Arc<[Evidence]>,
    /// Counts up whenever posteriors are to be computed anew, even if nothing else changed; an
    /// engine that another stands in for is then tried again.
    pub run_serial: u64,
}

/// What the worker does, in this order; each step needs the results of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Reading and validating the network.
    Open,
    /// Building junction tree and plan.
    Compile,
    /// Allocating and filling an engine's tables.
    Load,
    /// Computing the posteriors without evidence.
    Prior,
    /// Computing the posteriors.
    Propagate,
    /// Computing them once more on a device, where the timing of messages takes time of its own, to
    /// know what it takes without.
    Untraced,
    /// Computing those of another case.
    Compare,
}

impl Step {
    /// What is being done, for a progress line.
    #[must_use]
    pub fn gerund(self) -> &'static str {
        match self {
            Self::Open => "opening",
            Self::Compile => "compiling",
            Self::Load => "loading tables",
            Self::Prior => "propagating without evidence",
            Self::Propagate => "propagating",
            Self::Untraced => "propagating without timing messages",
            Self::Compare => "propagating the cases to compare",
        }
    }
}

impl Request {
    /// The first step whose result for `self` differs from that for `other`; `None` if none does.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<Step> {
        if self.source_serial != other.source_serial || self.source != other.source {
            Some(Step::Open)
        } else if self.compile != other.compile {
            Some(Step::Compile)
        } else if self.engine != other.engine || self.memory != other.memory {
            Some(Step::Load)
        } else if self.evidence != other.evidence || self.run_serial != other.run_serial {
            Some(Step::Propagate)
        } else if self.cases != other.cases {
            Some(Step::Compare)
        } else {
            None
        }
    }
}
