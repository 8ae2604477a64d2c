//! Why engines fail.

use super::{EngineInfo, ImpossibleEvidence, OutOfMemory};
use crate::cancel::Cancelled;
use crate::graph::{GraphTooLarge, TriangulationError};
use crate::numbers::human_bytes;
use crate::potential::Precision;
use crate::propagation::TooLarge;

/// Why one run returned no posteriors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The run was cancelled.
    Cancelled,
    /// The evidence has probability zero.
    Impossible,
    /// The numbers of the propagation are out of the range of their type. A propagator from
    /// [`Engine::load`](super::Engine::load) then computes the case again with numbers of a wider
    /// range. It returns this error only if that would need more memory than the limit, or too much
    /// time.
    OutOfRange,
    /// The GPU failed or is lost. The text tells the user what happened. The propagator cannot be
    /// used any more, but the network can be loaded again, into the same engine or another.
    Device(String),
    /// The machine has less memory than the forecast. As after the failure of a device, the
    /// propagator cannot be used any more.
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for RunError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl From<Cancelled> for RunError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Why a propagation returned no posteriors. Unlike [`RunError`], this error names the conflicting
/// findings of impossible evidence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PropagationError {
    /// The propagation was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The evidence has probability zero.
    #[error(transparent)]
    Impossible(#[from] ImpossibleEvidence),
    /// See [`RunError::OutOfRange`].
    #[error(
        "the probabilities differ by more than the number type can express, and computing with \
         numbers of a wider range would need more memory than the limit, or too much time"
    )]
    OutOfRange,
    /// The GPU failed or is lost.
    #[error("the GPU failed while propagating: {0}")]
    Device(String),
    /// The machine has less memory than the forecast.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// Why [`query`](super::query) returned no posteriors.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QueryError {
    /// The network could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The evidence could not be propagated.
    #[error(transparent)]
    Propagation(#[from] PropagationError),
}

impl From<TriangulationError> for QueryError {
    fn from(error: TriangulationError) -> Self {
        match error {
            TriangulationError::Cancelled(cancelled) => cancelled.into(),
            TriangulationError::TooLarge(refusal) => Self::Load(refusal.into()),
        }
    }
}

impl From<Cancelled> for QueryError {
    fn from(cancelled: Cancelled) -> Self {
        Self::Propagation(cancelled.into())
    }
}

/// Why an engine did not load a network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The engine cannot run on this machine.
    #[error("engine {engine} cannot run here: {reason}")]
    Unavailable {
        /// Name of the engine.
        engine: &'static str,
        /// The reason, as text for the user.
        reason: String,
    },
    /// The engine does not support the requested precision.
    #[error("engine {engine} does not support {precision}{}", supported_by(engine))]
    Precision {
        /// Name of the engine.
        engine: &'static str,
        /// The requested precision.
        precision: Precision,
    },
    /// The network needs more memory than the limit, or the engine does not support the network.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// Triangulating the network's graph may need more memory than the limit.
    #[error(transparent)]
    GraphTooLarge(#[from] GraphTooLarge),
    /// The machine has less memory than the forecast.
    #[error("engine {engine}: {error}")]
    OutOfMemory {
        /// Name of the engine.
        engine: &'static str,
        /// What could not be allocated.
        error: OutOfMemory,
    },
    /// The GPU has too little free memory, or failed.
    #[error(
        "engine {engine} needs {} of GPU memory, and {} is free: {reason}",
        human_bytes(*.needed),
        human_bytes(*.free)
    )]
    Device {
        /// Name of the engine.
        engine: &'static str,
        /// Bytes of GPU memory that the network needs.
        needed: u64,
        /// Bytes of GPU memory that are free; zero if the driver does not say.
        free: u64,
        /// The driver's message.
        reason: String,
    },
}

/// The precisions that `engine` supports, as the end of a message; empty for an unknown engine.
fn supported_by(engine: &str) -> String {
    let precisions = EngineInfo::find(engine).map_or(&[][..], |info| info.capabilities.precisions);
    let names: Vec<&str> = precisions.iter().map(|precision| precision.name()).collect();
    if names.is_empty() { String::new() } else { format!("; expected {}", names.join(" or ")) }
}

impl LoadError {
    /// Whether the network needs more memory than the limit.
    #[must_use]
    pub fn exceeds_limit(&self) -> bool {
        match self {
            Self::TooLarge(refusal) => refusal.forecast.unsupported.is_none(),
            Self::GraphTooLarge(_) => true,
            _ => false,
        }
    }

    /// Whether the cause is the engine or the engine's device rather than the request, so that
    /// another engine may load the network.
    #[must_use]
    pub fn another_engine_may_load(&self) -> bool {
        match self {
            Self::Device { .. } | Self::Unavailable { .. } => true,
            Self::TooLarge(refusal) => refusal.forecast.unsupported.is_some(),
            Self::Precision { .. } | Self::GraphTooLarge(_) | Self::OutOfMemory { .. } => false,
        }
    }
}
