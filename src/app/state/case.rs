//! A named case of the open network.

use std::sync::Arc;

use crate::engine::ImpossibleEvidence;
use crate::network::Evidence;
use crate::propagation::Posteriors;

/// Evidence under a name.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique among all cases of this run of the program.
    pub number: u64,
    /// The name, which the user can change.
    pub name: String,
    /// Its evidence.
    pub evidence: Evidence,
    /// Its posteriors, or why its evidence is impossible. `None` until this is computed.
    pub answer: Option<Result<Arc<Posteriors>, ImpossibleEvidence>>,
}
