//! Which findings make evidence impossible.

use super::Propagator;
use crate::cancel::Cancelled;
use crate::network::{Evidence, VariableId};
use crate::propagation::{CompiledNetwork, Watch};

/// Evidence has probability zero, and these findings are why.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("impossible evidence")]
pub struct ImpossibleEvidence {
    /// A smallest set of findings that cannot hold together: leave any one out and the others are
    /// possible. One variable: its finding is impossible by itself.
    pub conflict: Vec<VariableId>,
}

/// Finds the conflict in `evidence`, which `propagator` found impossible.
pub(super) fn explain(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    watch: &Watch,
) -> Result<ImpossibleEvidence, Cancelled> {
    let _ = (propagator, compiled, evidence, watch);
    todo!()
}
