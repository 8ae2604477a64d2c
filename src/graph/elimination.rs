//! Vertex elimination: remove one vertex after another and join its neighbours.

use fixedbitset::FixedBitSet;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::greedy::Greedy;
use crate::graph::{MoralGraph, table_entries};
use crate::network::VariableId;

/// The score by which the next vertex is chosen: a vertex with the smallest score is eliminated
/// next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heuristic {
    /// The number of neighbours.
    MinDegree,
    /// The number of edges that elimination adds between the neighbours.
    MinFill,
    /// The number of entries of the table over the vertex and its neighbours.
    MinWeight,
    /// The sum over the edges that elimination adds between the neighbours, where an edge costs the
    /// product of its ends' cardinalities. Gives the trees of Table 1 of Zheng, Mengshoel and
    /// Chong.
    WeightedMinFill,
}

impl Heuristic {
    /// All heuristics.
    pub const ALL: [Self; 4] =
        [Self::MinDegree, Self::MinFill, Self::MinWeight, Self::WeightedMinFill];
}

/// The result of eliminating all vertices.
#[derive(Clone, Debug)]
pub struct Elimination {
    /// The variables in elimination order.
    pub order: Vec<VariableId>,
    /// `clusters[i]`: the variable `order[i]` and its neighbours when it was eliminated.
    pub clusters: Vec<FixedBitSet>,
    /// The edges that elimination added. The moral graph with these edges is chordal.
    pub fill_edges: Vec<(VariableId, VariableId)>,
}

/// Eliminates all variables of `graph`, each time one with the smallest score by `heuristic`.
///
/// Ties are broken at random as `seed` determines, or with seed 0 in favour of the variable that
/// comes first in the file.
///
/// # Errors
/// [`Cancelled`] once `cancel` is set.
///
/// # Complexity
/// O(n d^2 + (n + f) d log n + n^2 d / 64) for n variables, f fill edges and at most d neighbours
/// of a variable at any time.
pub fn eliminate(
    graph: &MoralGraph,
    heuristic: Heuristic,
    seed: u64,
    cancel: &CancelToken,
) -> Result<Elimination, Cancelled> {
    let run = Greedy::new(graph, heuristic, cancel)?.run(seed, None, cancel)?;
    let found = run.found.expect("a run without a bound reaches the end");
    eliminate_in_order(graph, &found.order, cancel)
}

/// Eliminates all variables of `graph` in the given order.
///
/// # Errors
/// [`Cancelled`] once `cancel` is set.
///
/// # Panics
/// If `order` does not hold every variable exactly once.
///
/// # Complexity
/// O(n^2 d / 64) for n variables and clusters of at most d variables.
pub fn eliminate_in_order(
    graph: &MoralGraph,
    order: &[VariableId],
    cancel: &CancelToken,
) -> Result<Elimination, Cancelled> {
    assert_eq!(order.len(), graph.len(), "an elimination order holds every variable");
    let mut rows = graph.adjacency().to_vec();
    let mut eliminated = FixedBitSet::with_capacity(graph.len());
    let mut clusters = Vec::with_capacity(order.len());
    let mut fill_edges = Vec::new();
    for &variable in order {
        cancel.check()?;
        assert!(!eliminated.put(variable.index()), "an elimination order holds no variable twice");
        let mut cluster = std::mem::take(&mut rows[variable.index()]);
        for a in cluster.ones() {
            let row = &mut rows[a];
            let missing = cluster.difference(row).filter(|&b| b > a);
            fill_edges.extend(missing.map(|b| (VariableId::new(a), VariableId::new(b))));
            row.union_with(&cluster);
            row.remove(a);
            row.remove(variable.index());
        }
        cluster.insert(variable.index());
        clusters.push(cluster);
    }
    Ok(Elimination { order: order.to_vec(), clusters, fill_edges })
}

impl Elimination {
    /// Sum of the table sizes of the maximal cliques; [`u64::MAX`] if the sum overflows.
    #[must_use]
    pub fn total_entries(&self, graph: &MoralGraph) -> u64 {
        let cardinalities = graph.cardinalities();
        self.maximal_clusters()
            .into_iter()
            .map(|index| table_entries(self.clusters[index].ones().map(|v| cardinalities[v])))
            .fold(0, u64::saturating_add)
    }

    /// Indices into [`clusters`](Self::clusters) of the clusters that no other contains: the
    /// maximal cliques of the triangulated graph, each once.
    ///
    /// The residue of cluster j is `clusters[j]` without `order[j]`. `clusters[i]` contains the
    /// residue if `order[i]` is the variable of the residue that is eliminated first. An earlier
    /// cluster contains `clusters[i]` if and only if some residue equals `clusters[i]`.
    #[must_use]
    pub fn maximal_clusters(&self) -> Vec<usize> {
        let mut position = vec![0; self.order.len()];
        for (index, variable) in self.order.iter().enumerate() {
            position[variable.index()] = index;
        }
        let sizes: Vec<usize> = self.clusters.iter().map(|c| c.count_ones(..)).collect();
        let mut maximal = FixedBitSet::with_capacity(self.order.len());
        maximal.insert_range(..);
        for (j, cluster) in self.clusters.iter().enumerate() {
            let first = cluster.ones().map(|v| position[v]).filter(|&p| p > j).min();
            if let Some(i) = first.filter(|&i| sizes[j] == sizes[i] + 1) {
                maximal.remove(i);
            }
        }
        maximal.ones().collect()
    }
}
