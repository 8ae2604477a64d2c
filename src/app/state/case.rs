//! A named case of the open network.

use std::sync::Arc;

use crate::engine::QueryError;
use crate::network::Evidence;
use crate::propagation::Posteriors;

/// Evidence under a name.
#[derive(Clone, Debug)]
pub struct Case {
    /// Identifies the case; unique among all cases of all networks in this run of the program.
    pub number: u64,
    /// The name, which the user can change.
    pub name: String,
    /// The evidence.
    pub evidence: Evidence,
    /// The posteriors, or why there are none. `None` until the case has been propagated.
    pub answer: Option<Result<Arc<Posteriors>, QueryError>>,
}
