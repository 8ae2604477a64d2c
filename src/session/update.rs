//! What the worker tells.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::{ImpossibleEvidence, LoadError};
use crate::experiment::{ExperimentError, Record};
use crate::format::{OpenError, ReadNetwork};
use crate::graph::KnownOrders;
use crate::network::Evidence;
use crate::propagation::{CompiledNetwork, MessageTrace, Posteriors, Watch};
#[cfg(doc)]
use crate::session::Request;
use crate::session::{EngineChoice, Step};

/// A finished propagation.
#[derive(Clone, Debug)]
pub struct Propagation {
    /// What was known.
    pub evidence: Evidence,
    /// What follows.
    pub posteriors: Posteriors,
    /// When each message was computed.
    pub trace: MessageTrace,
    /// What computed it.
    pub engine: EngineChoice,
    /// The tree it ran on.
    pub compiled: Arc<CompiledNetwork>,
    /// What it takes on a device when its messages are not timed, which costs time there; told
    /// [later](Update::Untraced) than all else.
    pub untraced: Option<Duration>,
}

impl Propagation {
    /// From entering the evidence to the last posterior; without the timing of messages, where that
    /// was measured.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.untraced.unwrap_or(self.trace.elapsed)
    }
}

/// One thing that happened in the worker, in order.
#[derive(Clone, Debug)]
pub enum Update {
    /// A step was begun.
    Started(Step),
    /// A network was read: the network and what its reader had to say.
    Opened(Arc<ReadNetwork>),
    /// The network was compiled.
    Compiled(Arc<CompiledNetwork>),
    /// The engine that was asked for cannot be used, because its device is lost, has too little
    /// memory or is not there; another stands in for it until it is [tried again](Request::run_serial).
    FellBack {
        /// What was asked for.
        wanted: EngineChoice,
        /// What stands in for it.
        engine: EngineChoice,
        /// Why, as a sentence for the user.
        reason: String,
    },
    /// An engine has loaded the compiled network.
    Loaded {
        /// The engine.
        engine: EngineChoice,
        /// Bytes that it holds at most.
        peak_bytes: u64,
        /// What its launches and copies take with empty kernels, if it launches anything.
        launch_overhead: Option<Duration>,
        /// What one launch takes there.
        launch: Option<Duration>,
    },
    /// A propagation has begun; the watch can be read while it runs.
    Propagating(Arc<Watch>),
    /// The posteriors without evidence, once a network and engine.
    Prior(Arc<Propagation>),
    /// The posteriors that were asked for.
    Propagated(Arc<Propagation>),
    /// The same once more, from an engine on a device, with what it takes
    /// [untraced](Propagation::untraced).
    Untraced(Arc<Propagation>),
    /// The posteriors of one of the [other cases](Request::cases), or why it has none.
    Answered(Evidence, Result<Arc<Posteriors>, ImpossibleEvidence>),
    /// The search for a better junction tree has found one. The orders hold it alone.
    Improved(Arc<KnownOrders>),
    /// The search for a better junction tree has come to its end.
    ImprovementEnded,
    /// An experiment has ended, well or not; told with the number of the [`Trial`](crate::session::Trial).
    Tried(Result<Arc<Record>, ExperimentError>),
    /// A step was given up because [`Session::cancel`](crate::session::Session::cancel) was called.
    Cancelled(Step),
    /// A step failed; the worker waits for another request.
    Failed(Step, Failure),
    /// All that was asked for is there.
    Idle,
}

/// Why a step failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The network cannot be read.
    #[error(transparent)]
    Open(Arc<OpenError>),
    /// The engine does not load the network.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The evidence has probability zero.
    #[error(transparent)]
    Impossible(#[from] ImpossibleEvidence),
    /// The GPU failed or is lost, and nothing stands in for it.
    #[error("the GPU failed while propagating: {0}")]
    Device(String),
    /// A step panicked: a defect of the program, with what the panic said.
    #[error("internal error: {0}")]
    Panicked(String),
}
