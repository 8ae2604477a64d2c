//! Removal of simplicial vertices before random walks improve an order.
//!
//! A vertex is simplicial if its neighbours form a clique. Every triangulation has a clique that
//! contains such a vertex and all its neighbours, and no minimal triangulation adds an edge at the
//! vertex. Call the number of entries of all cliques together the total. If all variables have at
//! least two states, some triangulation with the smallest total is minimal: removing a superfluous
//! edge, with ends of a and b states, splits a clique of s entries into two cliques of
//! s/a + s/b <= s entries together. So simplicial vertices can be eliminated first, whether the
//! number of entries of the largest clique or the total is to be minimised. (For the
//! total, this does not hold for vertices with one state: eliminating such a vertex first may give
//! a maximal clique of its own, which a triangulation with more edges would have avoided.)
//!
//! An almost simplicial vertex (all neighbours but one form a clique) can be eliminated first if a
//! bound on the *largest* table allows it (Bodlaender, Koster and van den Eijkhof 2005,
//! "Preprocessing rules for triangulation of probabilistic networks"). For the total there is no
//! such rule. Take the four-cycle a, b, c, d with 3, 3, 2 and 3 states: each vertex is almost
//! simplicial, but starting with a costs 3 * 3 * 3 + 3 * 3 * 2 = 45 entries, and starting with b
//! costs 36.

use fixedbitset::FixedBitSet;

use crate::graph::MoralGraph;
use crate::graph::dynamic::DynamicGraph;
use crate::network::VariableId;

/// A graph without simplicial vertices, and how it was obtained from a larger one.
pub(super) struct Core {
    /// The removed vertices, in the order of their removal.
    removed: Vec<VariableId>,
    /// The remaining variables; `variables[v]` is vertex `v` of [`graph`](Self::graph).
    variables: Vec<VariableId>,
    /// The vertex of each variable in [`graph`](Self::graph), if it remains.
    vertex_of: Vec<Option<VariableId>>,
    /// The graph of the remaining variables.
    pub graph: MoralGraph,
}

/// Removes simplicial vertices until there are none.
pub(super) fn reduce(graph: &MoralGraph) -> Core {
    let n = graph.len();
    let mut rest = DynamicGraph::new(graph);
    let mut remaining = FixedBitSet::with_capacity(n);
    remaining.insert_range(..);
    let mut removed = Vec::new();
    let mut queue: Vec<u32> = (0..n as u32).rev().collect();
    let mut queued = remaining.clone();
    while let Some(v) = queue.pop() {
        queued.remove(v as usize);
        if !remaining.contains(v as usize) || !is_simplicial(&rest, v) {
            continue;
        }
        remaining.remove(v as usize);
        removed.push(VariableId::new(v as usize));
        let mut around = rest.remove(v);
        around.sort_unstable();
        queue.extend(around.into_iter().filter(|&a| !queued.put(a as usize)));
    }
    Core::new(graph, removed, remaining.ones().map(VariableId::new).collect())
}

/// Whether the neighbours of `v` are pairwise neighbours.
fn is_simplicial(graph: &DynamicGraph, v: u32) -> bool {
    let around = graph.neighbours(v);
    // If v is simplicial, none of its neighbours has fewer neighbours than v. This quick test comes
    // first, because a vertex can have very many neighbours.
    around.iter().all(|&a| graph.degree(a) >= around.len())
        && around
            .iter()
            .enumerate()
            .all(|(index, &a)| around[index + 1..].iter().all(|&b| graph.are_neighbours(a, b)))
}

impl Core {
    /// The subgraph on `variables`. Removing simplicial vertices adds no edges.
    fn new(graph: &MoralGraph, removed: Vec<VariableId>, variables: Vec<VariableId>) -> Self {
        let mut vertex_of = vec![None; graph.len()];
        for (index, variable) in variables.iter().enumerate() {
            vertex_of[variable.index()] = Some(VariableId::new(index));
        }
        let cardinalities = variables.iter().map(|v| graph.cardinalities()[v.index()]).collect();
        let mut edges = Vec::new();
        for (index, variable) in variables.iter().enumerate() {
            let around = graph.neighbours(*variable).iter().filter_map(|a| vertex_of[a.index()]);
            edges.extend(around.map(|a| vec![VariableId::new(index), a]));
        }
        Self { removed, variables, vertex_of, graph: MoralGraph::new(cardinalities, &edges) }
    }

    /// `order`, an order of the whole graph, restricted to the vertices of the core.
    pub fn restrict(&self, order: &[VariableId]) -> Vec<VariableId> {
        order.iter().filter_map(|v| self.vertex_of[v.index()]).collect()
    }

    /// An order of the whole graph: the removed vertices, then `order` of the core.
    pub fn extend(&self, order: &[VariableId]) -> Vec<VariableId> {
        let rest = order.iter().map(|v| self.variables[v.index()]);
        self.removed.iter().copied().chain(rest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::graph::eliminate_in_order;

    fn ids(indices: &[usize]) -> Vec<VariableId> {
        indices.iter().copied().map(VariableId::new).collect()
    }

    #[test]
    fn everything_but_the_cycle_is_removed() {
        // A four-cycle 1 3 5 7, a triangle 1 0 2, a tail 2 4 6, and the isolated vertex 8.
        let edges = [(1, 3), (3, 5), (5, 7), (7, 1), (1, 0), (0, 2), (2, 1), (2, 4), (4, 6)];
        let edges: Vec<Vec<VariableId>> = edges.iter().map(|&(a, b)| ids(&[a, b])).collect();
        let graph = MoralGraph::new((2..11).collect(), &edges);
        let core = reduce(&graph);
        assert_eq!(core.graph.cardinalities(), [3, 5, 7, 9]);
        assert_eq!(core.graph.edge_count(), 4);
        let order = core.extend(&core.restrict(&ids(&[7, 6, 5, 4, 3, 2, 1, 0, 8])));
        assert_eq!(order[5..], ids(&[7, 5, 3, 1]));
        let fill = eliminate_in_order(&graph, &order, &CancelToken::new()).unwrap().fill_edges;
        assert_eq!(
            fill,
            [(VariableId::new(1), VariableId::new(5))],
            "only the cycle needs a fill edge"
        );
    }
}
