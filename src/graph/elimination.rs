//! Elimination orders: one vertex after another, its neighbours made a clique.

use fixedbitset::FixedBitSet;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::MoralGraph;
use crate::network::VariableId;

/// Which vertex to eliminate next: the one for which this costs least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heuristic {
    /// Fewest neighbours.
    MinDegree,
    /// Fewest edges added between its neighbours.
    MinFill,
    /// Smallest table over it and its neighbours.
    MinWeight,
    /// Least sum over the edges added between its neighbours, where an edge costs the product of
    /// its ends' cardinalities. Gives the trees of Table 1 of Zheng, Mengshoel and Chong.
    WeightedMinFill,
}

/// What elimination leaves behind.
#[derive(Clone, Debug)]
pub struct Elimination {
    /// The variables in the order in which they were eliminated.
    pub order: Vec<VariableId>,
    /// `clusters[i]`: the variable `order[i]` and its neighbours when it was eliminated.
    pub clusters: Vec<FixedBitSet>,
    /// The edges that elimination added; with the moral graph's they make it chordal.
    pub fill_edges: Vec<(VariableId, VariableId)>,
}

/// Eliminates all variables of `graph`, each time one that costs least by `heuristic`.
///
/// Among equals a random one that `seed` determines is taken; seed 0 takes the first in file order.
///
/// # Errors
/// [`Cancelled`] once `cancel` is set.
pub fn eliminate(
    graph: &MoralGraph,
    heuristic: Heuristic,
    seed: u64,
    cancel: &CancelToken,
) -> Result<Elimination, Cancelled> {
    let _ = (graph, heuristic, seed);
    cancel.check()?;
    todo!()
}
