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
    /// The name that the user gave it.
    pub name: String,
    /// Its evidence.
    pub evidence: Evidence,
    /// Its posteriors once they are computed, or why the evidence is impossible.
    pub answer: Option<Result<Arc<Posteriors>, ImpossibleEvidence>>,
}
