//! What the session reports.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::{ImpossibleEvidence, LoadError, OutOfMemory, PropagationError, QueryError};
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
    /// The evidence that was propagated.
    pub evidence: Evidence,
    /// The posteriors of all variables given the evidence.
    pub posteriors: Posteriors,
    /// When each message was computed.
    pub trace: MessageTrace,
    /// The engine that computed the posteriors.
    pub engine: EngineChoice,
    /// The compiled network that was propagated.
    pub compiled: Arc<CompiledNetwork>,
    /// Time of the same propagation when its messages are not timed. Timing them slows a GPU down,
    /// so on a GPU a second run measures this time, which is then [reported](Update::Untraced).
    pub untraced: Option<Duration>,
    /// The times of all runs if the evidence was propagated several times. This propagation is then
    /// the run with the median time. In [`Update::Untraced`], they are the times of runs without
    /// tracing, and this propagation is still the traced run.
    pub times: Option<RunTimes>,
}

/// The times of several propagations of the same evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// Number of runs.
    pub runs: usize,
    /// The shortest time.
    pub min: Duration,
    /// The median: the time in the middle of the sorted times; if there are two in the middle, the
    /// shorter.
    pub median: Duration,
    /// The longest time.
    pub max: Duration,
}

impl RunTimes {
    /// The index of the run with the median time, and the summary of all `times`; `None` if there
    /// are no runs.
    #[must_use]
    pub fn of(times: &[Duration]) -> Option<(usize, Self)> {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|&run| times[run]);
        let middle = *order.get(times.len().checked_sub(1)? / 2)?;
        let (first, last) = (order[0], order[order.len() - 1]);
        let (min, median, max) = (times[first], times[middle], times[last]);
        Some((middle, Self { runs: times.len(), min, median, max }))
    }
}

impl Propagation {
    /// Time from entering the evidence to reading the last posterior: the
    /// [untraced](Self::untraced) time if it was measured, otherwise the time of the trace.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.untraced.unwrap_or(self.trace.elapsed)
    }
}

/// Something that happened in the session. Updates arrive in order.
#[derive(Clone, Debug)]
pub enum Update {
    /// A step has started.
    Started(Step),
    /// A network was read, with the warnings of its reader.
    Opened(Arc<ReadNetwork>),
    /// A compiled network, which replaces the one reported before. This is the whole network,
    /// unless the engine refused that as too large and the evidence observes variables: then it is
    /// the network compiled without the edges of these
    /// [observed variables](CompiledNetwork::observed).
    Compiled(Arc<CompiledNetwork>),
    /// The requested engine cannot be used, because its device has failed, has too little memory or
    /// does not exist, or because the engine does not support the network. Another engine replaces
    /// the requested engine until a [new run](Request::run_serial) tries the requested one again.
    FellBack {
        /// The requested engine.
        wanted: EngineChoice,
        /// The engine that replaces it.
        engine: EngineChoice,
        /// Why, as a sentence for the user.
        reason: String,
    },
    /// An engine has loaded the compiled network.
    Loaded {
        /// The engine.
        engine: EngineChoice,
        /// Maximum memory that the engine uses, in bytes.
        peak_bytes: u64,
        /// Launch overhead of one propagation; `None` for engines on the CPU, and if the driver of
        /// the GPU reports an error.
        launch_overhead: Option<Duration>,
        /// Time of a single launch of an empty kernel; `None` where `launch_overhead` is `None`,
        /// and if this time cannot be measured.
        launch: Option<Duration>,
    },
    /// A propagation has started. The watch can be read while it runs.
    Propagating(Arc<Watch>),
    /// The posteriors without evidence; once each time that an engine has loaded the whole network.
    Prior(Arc<Propagation>),
    /// The posteriors given the evidence of the request.
    Propagated(Arc<Propagation>),
    /// The propagation that was last [reported](Self::Propagated), now with its
    /// [untraced](Propagation::untraced) time. Only from engines on a GPU.
    Untraced(Arc<Propagation>),
    /// The posteriors of one of the [cases](Request::cases), or why there are none: for
    /// example, the case is impossible, or the network is too large even without its observed
    /// variables.
    Answered(Evidence, Result<Arc<Posteriors>, QueryError>),
    /// The search found a better junction tree. The [`KnownOrders`] hold only the elimination order
    /// of this tree.
    Improved(Arc<KnownOrders>),
    /// The search for a better junction tree has ended without being stopped. An error says why it
    /// never began.
    ImprovementEnded(Result<(), String>),
    /// [`Session::cancel`](crate::session::Session::cancel) was called during this step, which was
    /// interrupted or has finished. The steps after it are not done.
    Cancelled(Step),
    /// A step failed; the worker waits for another request.
    Failed(Step, Failure),
    /// The request is finished.
    Idle,
}

/// Why a step failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The network cannot be read.
    #[error(transparent)]
    Open(Arc<OpenError>),
    /// The network cannot be compiled or loaded, for example because it needs more memory than the
    /// limit.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The evidence has probability zero.
    #[error(transparent)]
    Impossible(#[from] ImpossibleEvidence),
    /// The numbers are out of range; see
    /// [`RunError::OutOfRange`](crate::engine::RunError::OutOfRange).
    #[error(transparent)]
    OutOfRange(PropagationError),
    /// The GPU failed, and there is no other engine to replace it.
    #[error("the GPU failed while propagating: {0}")]
    Device(String),
    /// The machine did not provide memory that the memory limit allowed. Can happen in any step.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// A step panicked, which is a defect of the program; the message of the panic.
    #[error("internal error: {0}")]
    Panicked(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_run_is_one_of_the_runs() {
        let times = |milliseconds: &[u64]| {
            milliseconds.iter().map(|&ms| Duration::from_millis(ms)).collect::<Vec<_>>()
        };
        let found = |milliseconds: &[u64]| {
            RunTimes::of(&times(milliseconds)).map(|(index, found)| {
                let short = [found.min, found.median, found.max].map(|time| time.as_millis());
                (index, found.runs, short)
            })
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[7]), Some((0, 1, [7, 7, 7])));
        assert_eq!(found(&[9, 1, 5]), Some((2, 3, [1, 5, 9])));
        assert_eq!(found(&[4, 9, 1, 3]), Some((3, 4, [1, 3, 9])));
    }
}
