//! The memory limit of triangulation.

use crate::cancel::Cancelled;
use crate::graph::dynamic::matrix_bytes;
use crate::network::VariableId;
use crate::numbers::{counted, human_bytes, thousands};

// If one of these constants is too small, triangulation may take more memory than it is allowed. If
// one is too large, graphs that would fit are refused.

/// Upper bound on the bytes that a vertex takes in the steps from the moral graph to the junction
/// tree. 100,000 isolated vertices take 670 bytes each.
const BYTES_PER_VERTEX: u64 = 700;

/// Upper bound on the bytes that an edge of the triangulated graph takes in the same steps: two
/// entries of growing lists and an entry of a growing hash map.
const BYTES_PER_EDGE: u64 = 80;

/// A graph whose triangulation needs more memory than is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "too large to triangulate: {} and {} {} edges, fill edges {}, may need {}, and the limit is {}",
    counted(*.variables, "variable", "variables"),
    if *.is_estimate { "up to" } else { "at least" },
    thousands(*.edges),
    if *.is_estimate { "not counted" } else { "included" },
    human_bytes(*.bytes),
    human_bytes(*.limit)
)]
pub struct GraphTooLarge {
    /// Number of variables.
    pub variables: usize,
    /// Number of edges of the moral graph and of fill edges that were counted before the limit was
    /// reached. If the graph was too large to count its edges, an estimate: half the sum of the
    /// squares of the factors' numbers of variables. It counts an edge once for each factor that
    /// contains it, and no fill edges.
    pub edges: u64,
    /// Whether `edges` is the estimate.
    pub is_estimate: bool,
    /// Upper bound on the memory for these variables and edges, in bytes. When a network is
    /// compiled, its own memory above a fixed allowance is added. The whole graph may take more,
    /// because it may have edges that were not counted. If `edges` is an estimate, only the lists
    /// of neighbours are counted for the graph.
    pub bytes: u64,
    /// Maximum memory, in bytes.
    pub limit: u64,
}

impl GraphTooLarge {
    /// Checks that the lists of neighbours of a graph of `variables` variables fit into `limit`
    /// bytes while the graph is built. `pairs` is the sum of the squares of its families' sizes.
    ///
    /// # Errors
    /// An upper bound on the bytes needed, and the limit, if the lists may not fit.
    pub(super) fn check_pairs(variables: usize, pairs: u64, limit: u64) -> Result<(), Self> {
        let bytes = pairs.saturating_mul(size_of::<VariableId>() as u64);
        if bytes <= limit {
            return Ok(());
        }
        Err(Self { variables, edges: pairs / 2, is_estimate: true, bytes, limit })
    }

    /// Checks that a triangulated graph of `variables` variables and `edges` edges fits into
    /// `limit` bytes.
    ///
    /// # Errors
    /// An upper bound on the bytes needed, and the limit, if the graph may not fit.
    pub(super) fn check(variables: usize, edges: u64, limit: u64) -> Result<(), Self> {
        let vertices = (variables as u64).saturating_mul(BYTES_PER_VERTEX);
        let bytes = edges
            .saturating_mul(BYTES_PER_EDGE)
            .saturating_add(vertices)
            .saturating_add(matrix_bytes(variables));
        if bytes <= limit {
            return Ok(());
        }
        Err(Self { variables, edges, is_estimate: false, bytes, limit })
    }
}

/// Why a graph was not triangulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TriangulationError {
    /// The work was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The triangulated graph needs more memory than is allowed.
    #[error(transparent)]
    TooLarge(#[from] GraphTooLarge),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_of_the_edges_is_no_lower_bound() {
        let message = |error: GraphTooLarge| error.to_string();
        let estimated = message(GraphTooLarge::check_pairs(100, 10_000_000, 1).unwrap_err());
        assert!(estimated.contains("up to 5,000,000 edges, fill edges not counted"), "{estimated}");
        let counted = message(GraphTooLarge::check(100, 4950, 1).unwrap_err());
        assert!(counted.contains("at least 4,950 edges, fill edges included"), "{counted}");
    }
}
