//! What the window wants.

use std::sync::Arc;

use crate::format::{NetworkSource, ReadNetwork};
use crate::network::Evidence;
use crate::propagation::{CompileOptions, MemoryLimit};
use crate::session::EngineChoice;

/// Everything that the window wants at the moment.
///
/// The evidence and the cases are about the network that `source` gives. If `read` does not hold
/// this network, leave them empty until it has been [opened](crate::session::Update::Opened), and
/// then send another request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where to read the network.
    pub source: NetworkSource,
    /// The network, if it has been read before. It is then opened without reading `source` and
    /// without an [`Update::Opened`](crate::session::Update::Opened).
    pub read: Option<Arc<ReadNetwork>>,
    /// Increased whenever a network is to be opened: when `source` has changed, or to open the same
    /// network again. Only this number tells the worker that it must open a network.
    pub source_serial: u64,
    /// How to compile the network. The worker replaces [`CompileOptions::observed`] and the memory
    /// limit of the triangulation by its own values.
    pub compile: CompileOptions,
    /// The engine to propagate with, and its options.
    pub engine: EngineChoice,
    /// Memory limit for compiling and for the engine; `None` is half of the memory available at the
    /// time.
    pub memory: Option<MemoryLimit>,
    /// The evidence to propagate.
    pub evidence: Evidence,
    /// More cases to propagate after everything else, each reported as
    /// [`Update::Answered`](crate::session::Update::Answered).
    pub cases: Arc<[Evidence]>,
    /// Increased whenever the posteriors are to be computed again, even if nothing else changed. An
    /// engine that was replaced by its fallback is then tried again.
    pub run_serial: u64,
    /// How many times to propagate when `run_serial` was increased; 0 counts as 1. The run with the
    /// median time is [reported](crate::session::Update::Propagated). If there are several, the
    /// [times](crate::session::Propagation::times) of all are reported with it.
    pub runs: usize,
}

/// A unit of work of the worker. Steps are done in this order; a step whose result is still valid
/// or is not needed is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Reads and validates the network.
    Open,
    /// Builds the junction tree and the plan.
    Compile,
    /// Allocates and fills the tables of an engine.
    Load,
    /// Computes the posteriors without evidence.
    Prior,
    /// If the network is too large for the engine: compiles and loads the network without the edges
    /// of its observed variables.
    Reduce,
    /// Computes the posteriors given the evidence.
    Propagate,
    /// Repeats the propagation without timing its messages, to measure how long it really takes.
    /// Only on a GPU, where timing each message slows the propagation down.
    Untraced,
    /// Computes the posteriors of one of the cases.
    Compare,
}

impl Step {
    /// A phrase for a progress line, such as "compiling".
    #[must_use]
    pub fn gerund(self) -> &'static str {
        match self {
            Self::Open => "opening",
            Self::Compile => "compiling",
            Self::Load => "loading tables",
            Self::Prior => "propagating without evidence",
            Self::Reduce => "compiling without the observed variables",
            Self::Propagate => "propagating",
            Self::Untraced => "propagating without timing messages",
            Self::Compare => "propagating the cases to compare",
        }
    }
}

impl Request {
    /// The first step that the differences between `self` and `other` affect; `None` if both want
    /// the same. A new run counts as [`Step::Propagate`], even if it also tries again to load an
    /// engine that was replaced or that refused the network.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<Step> {
        if self.source_serial != other.source_serial || self.source != other.source {
            Some(Step::Open)
        } else if self.compile != other.compile {
            Some(Step::Compile)
        } else if self.engine != other.engine || self.memory != other.memory {
            Some(Step::Load)
        } else if self.evidence != other.evidence {
            Some(Step::Reduce)
        } else if self.run_serial != other.run_serial {
            Some(Step::Propagate)
        } else if self.cases != other.cases {
            Some(Step::Compare)
        } else {
            None
        }
    }
}
