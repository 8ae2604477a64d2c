//! How networks are compiled and propagated: triangulation, engine and memory.

use crate::graph::Triangulation;
use crate::propagation::MemoryLimit;
use crate::session::EngineChoice;

/// A command about compiling and propagating.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineCommand {
    /// Propagate with this engine.
    SetEngine(EngineChoice),
    /// Compile with this triangulation.
    SetTriangulation(Triangulation),
    /// Limit the memory that engines may use; `None` is half of what is available.
    SetMemoryLimit(Option<MemoryLimit>),
    /// Propagate whenever evidence changes, or only on request.
    SetAutoPropagate(bool),
    /// Propagate now, even if nothing changed.
    Propagate,
    /// Cancel the running step.
    Cancel,
    /// Hide the message about the last failure.
    DismissFailure,
}
