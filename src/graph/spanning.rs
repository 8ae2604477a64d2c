//! From an elimination to a rooted junction tree.

use crate::graph::{Elimination, JunctionTree, MoralGraph};

/// The maximal cliques of `elimination`, joined by a maximum spanning tree over separator sizes.
#[must_use]
pub fn build_junction_tree(graph: &MoralGraph, elimination: &Elimination) -> JunctionTree {
    let _ = (graph, elimination);
    todo!()
}
