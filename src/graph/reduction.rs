//! Taking away what is easy before the search starts.
//!
//! A vertex is simplicial if its neighbours are a clique. Some clique of every triangulation holds
//! it and all its neighbours, and no minimal triangulation adds an edge to it. With two states or
//! more a triangulation that is not minimal never has the smaller total, because an edge that can
//! go splits a clique of size s with ends of a and b states into two of s/a + s/b <= s entries. So
//! the vertex may go first whether the largest table is to be small or the total, and that is all
//! that is done here. (With one state it costs nothing wherever it is, and going first may leave a
//! table that some larger one would have held for nothing.)
//!
//! An almost simplicial vertex, all but one of whose neighbours are a clique, may go first if a
//! bound on the *largest* table allows it (Bodlaender, Koster and van den Eijkhof 2005,
//! "Preprocessing rules for triangulation of probabilistic networks"). For the total there is no
//! such rule: in the four-cycle of a, b, c, d with 3, 3, 2, 3 states each vertex is almost
//! simplicial, and starting with a, which has as many states as any, costs 3 * 3 * 3 + 3 * 3 * 2 =
//! 45 entries where starting with b costs 36.

use fixedbitset::FixedBitSet;

use crate::graph::MoralGraph;
use crate::network::VariableId;

/// What is left of a graph when no vertex is simplicial any more.
pub(super) struct Core {
    /// The vertices that were taken, in the order in which they became simplicial.
    taken: Vec<VariableId>,
    /// The variables that remain; `variables[v]` is vertex `v` of the graph here.
    variables: Vec<VariableId>,
    /// The vertex that each variable is, if it remains.
    places: Vec<Option<VariableId>>,
    /// The graph on them.
    pub graph: MoralGraph,
}

/// Takes simplicial vertices, those whose neighbours are a clique, until there is none.
pub(super) fn reduce(graph: &MoralGraph) -> Core {
    let n = graph.len();
    let mut rows = graph.adjacency().to_vec();
    let mut remaining = FixedBitSet::with_capacity(n);
    remaining.insert_range(..);
    let mut taken = Vec::new();
    let mut queue: Vec<usize> = (0..n).rev().collect();
    let mut queued = remaining.clone();
    while let Some(v) = queue.pop() {
        queued.remove(v);
        if !remaining.contains(v) {
            continue;
        }
        let around: Vec<usize> = rows[v].ones().collect();
        let complete = around
            .iter()
            .enumerate()
            .all(|(index, &a)| around[index + 1..].iter().all(|&b| rows[a].contains(b)));
        if complete {
            remaining.remove(v);
            taken.push(VariableId::new(v));
            for a in around {
                rows[a].remove(v);
                if !queued.put(a) {
                    queue.push(a);
                }
            }
        }
    }
    Core::new(graph, taken, remaining.ones().map(VariableId::new).collect())
}

impl Core {
    /// The graph on `variables`. Taking simplicial vertices has added no edge.
    fn new(graph: &MoralGraph, taken: Vec<VariableId>, variables: Vec<VariableId>) -> Self {
        let mut places = vec![None; graph.len()];
        for (index, variable) in variables.iter().enumerate() {
            places[variable.index()] = Some(VariableId::new(index));
        }
        let cardinalities = variables.iter().map(|v| graph.cardinalities()[v.index()]).collect();
        let mut edges = Vec::new();
        for (index, variable) in variables.iter().enumerate() {
            let around = graph.adjacency()[variable.index()].ones().filter_map(|a| places[a]);
            edges.extend(around.map(|a| vec![VariableId::new(index), a]));
        }
        Self { taken, variables, places, graph: MoralGraph::new(cardinalities, &edges) }
    }

    /// The order in which `order`, of the whole graph, eliminates the vertices here.
    pub fn restrict(&self, order: &[VariableId]) -> Vec<VariableId> {
        order.iter().filter_map(|v| self.places[v.index()]).collect()
    }

    /// The order of the whole graph that ends like `order` of the vertices here.
    pub fn extend(&self, order: &[VariableId]) -> Vec<VariableId> {
        let rest = order.iter().map(|v| self.variables[v.index()]);
        self.taken.iter().copied().chain(rest).collect()
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
    fn what_hangs_on_a_cycle_is_taken_and_the_cycle_stays() {
        // A four-cycle 1 3 5 7, a triangle 1 0 2, a tail 2 4 6, and 8 by itself.
        let edges = [(1, 3), (3, 5), (5, 7), (7, 1), (1, 0), (0, 2), (2, 1), (2, 4), (4, 6)];
        let edges: Vec<Vec<VariableId>> = edges.iter().map(|&(a, b)| ids(&[a, b])).collect();
        let graph = MoralGraph::new((2..11).collect(), &edges);
        let core = reduce(&graph);
        assert_eq!(core.graph.cardinalities(), [3, 5, 7, 9]);
        assert_eq!(core.graph.edge_count(), 4);
        let order = core.extend(&core.restrict(&ids(&[7, 6, 5, 4, 3, 2, 1, 0, 8])));
        assert_eq!(order[5..], ids(&[7, 5, 3, 1]));
        let fill = eliminate_in_order(&graph, &order, &CancelToken::new()).unwrap().fill_edges;
        assert_eq!(fill, [(VariableId::new(1), VariableId::new(5))], "only the cycle needs one");
    }
}
