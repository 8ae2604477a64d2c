//! Vertex elimination: remove one vertex after another and join its neighbours.

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::greedy::Greedy;
use crate::graph::{MoralGraph, TriangulationError, table_entries};
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
    /// product of its ends' cardinalities. Gives trees of the sizes in Table 1 of Zheng, Mengshoel
    /// and Chong, except for small differences in the three Munin networks.
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
    /// `clusters[i]`: the variable `order[i]` and its neighbours when it was eliminated, ascending.
    pub clusters: Vec<Vec<VariableId>>,
    /// The edges that elimination added. The moral graph with these edges is chordal. The edges
    /// are in the order in which the first of their two ends was eliminated.
    pub fill_edges: Vec<(VariableId, VariableId)>,
}

/// Eliminates all variables of `graph`, each time one with the smallest score by `heuristic`.
///
/// Ties are broken at random as `seed` determines, or with seed 0 in favour of the variable that
/// comes first in the file.
///
/// # Errors
/// [`TriangulationError::Cancelled`] once `cancel` is set. Memory is not limited.
///
/// # Complexity
/// O(n d^2 + (n + f) d log n) for n variables and f fill edges. Here d is a number such that every
/// variable has at most d neighbours when it is eliminated, and at any time each edge has an end
/// with at most d neighbours.
pub fn eliminate(
    graph: &MoralGraph,
    heuristic: Heuristic,
    seed: u64,
    cancel: &CancelToken,
) -> Result<Elimination, TriangulationError> {
    eliminate_within(graph, heuristic, seed, u64::MAX, cancel)
}

/// As [`eliminate`], with a limit of `max_bytes` bytes of memory.
///
/// # Errors
/// [`TriangulationError::TooLarge`] if this needs more memory, or [`TriangulationError::Cancelled`]
/// once `cancel` is set.
pub(super) fn eliminate_within(
    graph: &MoralGraph,
    heuristic: Heuristic,
    seed: u64,
    max_bytes: u64,
    cancel: &CancelToken,
) -> Result<Elimination, TriangulationError> {
    let run = Greedy::new(graph, heuristic, max_bytes, cancel)?.run(seed, None, cancel)?;
    let found = run.found.expect("a run without a bound reaches the end");
    Ok(eliminate_in_order(graph, &found.order, cancel)?)
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
/// O(s log d), where each cluster has at most d variables and s is the sum of the cluster sizes.
pub fn eliminate_in_order(
    graph: &MoralGraph,
    order: &[VariableId],
    cancel: &CancelToken,
) -> Result<Elimination, Cancelled> {
    let clusters = clusters(graph, order, cancel)?;
    let mut fill_edges = Vec::new();
    for (&variable, cluster) in order.iter().zip(&clusters) {
        cancel.check()?;
        let mut neighbours = graph.neighbours(variable).iter().peekable();
        for &other in cluster.iter().filter(|&&other| other != variable) {
            while neighbours.next_if(|&&neighbour| neighbour < other).is_some() {}
            if neighbours.peek() != Some(&&other) {
                fill_edges.push((variable.min(other), variable.max(other)));
            }
        }
    }
    Ok(Elimination { order: order.to_vec(), clusters, fill_edges })
}

/// The clusters of eliminating all variables of `graph` in the given order, as in
/// [`Elimination::clusters`].
///
/// A cluster consists of the variable, of its neighbours that are eliminated later, and of the
/// remaining variables of those earlier clusters in which this variable is eliminated next.
fn clusters(
    graph: &MoralGraph,
    order: &[VariableId],
    cancel: &CancelToken,
) -> Result<Vec<Vec<VariableId>>, Cancelled> {
    const NOWHERE: usize = usize::MAX;
    assert_eq!(order.len(), graph.len(), "an elimination order holds every variable");
    let mut position = vec![NOWHERE; order.len()];
    for (at, variable) in order.iter().enumerate() {
        let before = std::mem::replace(&mut position[variable.index()], at);
        assert_eq!(before, NOWHERE, "an elimination order holds no variable twice");
    }
    let mut clusters: Vec<Vec<VariableId>> = Vec::with_capacity(order.len());
    // The clusters in which each variable is eliminated next.
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
    // The last cluster to which each variable was added.
    let mut last = vec![NOWHERE; order.len()];
    for (at, &variable) in order.iter().enumerate() {
        cancel.check()?;
        let mut cluster = vec![variable];
        let below = std::mem::take(&mut children[at]);
        let below = below.iter().flat_map(|&child| &clusters[child]);
        let mut next = NOWHERE;
        for &other in graph.neighbours(variable).iter().chain(below) {
            let later = position[other.index()];
            if later > at && std::mem::replace(&mut last[other.index()], at) != at {
                cluster.push(other);
                next = next.min(later);
            }
        }
        if next != NOWHERE {
            children[next].push(at);
        }
        cluster.sort_unstable();
        cluster.shrink_to_fit();
        clusters.push(cluster);
    }
    Ok(clusters)
}

/// Sum of the entries of the maximal cliques that eliminating `graph` in `order` gives. Exact up to
/// 2^53.
pub(super) fn entries_of_order(graph: &MoralGraph, order: &[VariableId]) -> f64 {
    let clusters = clusters(graph, order, &CancelToken::new()).expect("nothing cancels this");
    let maximal = are_maximal(order, &clusters);
    let states = |v: &VariableId| graph.cardinalities()[v.index()] as f64;
    let mut sizes = vec![0.0; order.len()];
    for ((variable, cluster), _) in
        order.iter().zip(&clusters).zip(maximal).filter(|(_, is_maximal)| *is_maximal)
    {
        let others = cluster.iter().filter(|&other| other != variable);
        sizes[variable.index()] = others.fold(states(variable), |size, other| size * states(other));
    }
    sizes.iter().sum()
}

/// Whether each cluster is maximal; see [`Elimination::maximal_clusters`].
fn are_maximal(order: &[VariableId], clusters: &[Vec<VariableId>]) -> Vec<bool> {
    let mut position = vec![0; order.len()];
    for (index, variable) in order.iter().enumerate() {
        position[variable.index()] = index;
    }
    let mut maximal = vec![true; order.len()];
    for (j, cluster) in clusters.iter().enumerate() {
        let first = cluster.iter().map(|v| position[v.index()]).filter(|&p| p > j).min();
        if let Some(i) = first.filter(|&i| cluster.len() == clusters[i].len() + 1) {
            maximal[i] = false;
        }
    }
    maximal
}

impl Elimination {
    /// Sum of the table sizes of the maximal cliques; [`u64::MAX`] if the sum overflows.
    #[must_use]
    pub fn total_entries(&self, graph: &MoralGraph) -> u64 {
        let cardinalities = graph.cardinalities();
        self.maximal_clusters()
            .into_iter()
            .map(|index| {
                table_entries(self.clusters[index].iter().map(|v| cardinalities[v.index()]))
            })
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
        let maximal = are_maximal(&self.order, &self.clusters).into_iter().enumerate();
        maximal.filter_map(|(index, is_maximal)| is_maximal.then_some(index)).collect()
    }
}
