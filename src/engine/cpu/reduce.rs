//! The network that is left when observed variables are taken out.
//!
//! An observed variable fixes an index of the tables that hold it and leaves its neighbours without
//! an edge through it. What is left falls apart or has smaller cliques, so it is triangulated anew;
//! with a fifth of the variables observed the tables often shrink to a hundredth.

use crate::cancel::CancelToken;
use crate::engine::cpu::tree::{Shape, Structure};
use crate::graph::{
    Elimination, Heuristic, JunctionTree, MoralGraph, build_junction_tree, eliminate,
};
use crate::network::{FactorId, Network, VariableId};

/// A tree for the variables that are not observed.
#[derive(Debug)]
pub(super) struct Reduced {
    pub structure: Structure,
    /// The factors of which nothing but one number is left: all their variables are observed.
    constants: Vec<FactorId>,
}

impl Reduced {
    /// ln of the product of what is left of tables all of whose variables are observed, in the
    /// states in `observed`; `None` if it is zero.
    pub fn constant(&self, network: &Network, observed: &[Option<usize>]) -> Option<f64> {
        let entry = |&factor: &FactorId| {
            let factor = network.factor(factor);
            let state = |v: VariableId| observed[v.index()].expect("it is observed");
            let scope = factor.scope().iter();
            let at = scope.fold(0, |at, &v| at * network[v].cardinality() + state(v));
            factor.values()[at]
        };
        let mut entries = self.constants.iter().map(entry);
        entries.try_fold(0.0, |sum, entry| (entry > 0.0).then(|| sum + entry.ln()))
    }
}

/// Triangulates what is left of `network` without the variables that `is_observed`.
///
/// `None` once `cancel` is set, or if no tree has fewer than `limit` entries in all.
pub(super) fn reduce(
    network: &Network,
    is_observed: &[bool],
    limit: u64,
    cancel: &CancelToken,
) -> Option<Reduced> {
    let left: Vec<VariableId> = network.ids().filter(|v| !is_observed[v.index()]).collect();
    let mut number = vec![usize::MAX; is_observed.len()];
    left.iter().enumerate().for_each(|(index, v)| number[v.index()] = index);
    let cardinalities = left.iter().map(|&v| network[v].cardinality()).collect();
    let families: Vec<Vec<VariableId>> = network
        .factors()
        .map(|factor| {
            let unobserved = factor.scope().iter().filter(|v| !is_observed[v.index()]);
            unobserved.map(|v| VariableId::new(number[v.index()])).collect()
        })
        .collect();
    let graph = MoralGraph::new(cardinalities, &families);
    let tree = triangulated(&graph, limit, cancel)?;
    let (shape, constants) = shape(&tree, &left, &families);
    Some(Reduced { structure: Structure::new(network, shape), constants })
}

/// The tree with the fewest entries that the heuristics find.
fn triangulated(graph: &MoralGraph, limit: u64, cancel: &CancelToken) -> Option<JunctionTree> {
    let mut best: Option<(u64, Elimination)> = None;
    let heuristics: &[Heuristic] =
        if graph.len() > 200 { &[Heuristic::MinWeight] } else { &Heuristic::ALL };
    for &heuristic in heuristics {
        let found = eliminate(graph, heuristic, 0, cancel).ok()?;
        let entries = entries(graph, &found);
        if entries < best.as_ref().map_or(limit, |(entries, _)| *entries) {
            best = Some((entries, found));
        }
    }
    best.map(|(_, elimination)| build_junction_tree(graph, &elimination))
}

/// Entries of the tables of all maximal clusters.
fn entries(graph: &MoralGraph, elimination: &Elimination) -> u64 {
    let of = |cluster: usize| {
        let variables = elimination.clusters[cluster].ones();
        variables.fold(1_u64, |n, v| n.saturating_mul(graph.cardinalities()[v] as u64))
    };
    elimination.maximal_clusters().into_iter().map(of).fold(0, u64::saturating_add)
}

/// The shape of `tree`, whose variables are numbered as in `left`, and what fits nowhere.
fn shape(
    tree: &JunctionTree,
    left: &[VariableId],
    families: &[Vec<VariableId>],
) -> (Shape, Vec<FactorId>) {
    let mut shape = Shape::default();
    let mut order = Vec::with_capacity(tree.cliques().len());
    let mut open = vec![(tree.root(), None)];
    while let Some((clique, parent)) = open.pop() {
        let children = tree.children(clique).iter().rev();
        open.extend(children.map(|link| (link.clique, Some(order.len()))));
        let variables = tree[clique].variables.iter();
        shape.cliques.push(variables.map(|v| left[v.index()]).collect());
        shape.parents.push(parent);
        order.push(clique);
    }
    shape.families = vec![Vec::new(); order.len()];
    // The cliques that hold a variable, the smallest first.
    let mut holders = vec![Vec::new(); left.len()];
    let mut by_size: Vec<usize> = (0..order.len()).collect();
    by_size.sort_by_key(|&clique| (tree[order[clique]].entries, clique));
    for clique in by_size {
        for variable in &tree[order[clique]].variables {
            holders[variable.index()].push(clique);
        }
    }
    let mut constants = Vec::new();
    for (factor, family) in families.iter().enumerate() {
        let factor = FactorId::new(factor);
        let rarest = family.iter().min_by_key(|v| holders[v.index()].len());
        let Some(rarest) = rarest else {
            constants.push(factor);
            continue;
        };
        let holds = |clique: &&usize| {
            let variables = &tree[order[**clique]].variables;
            family.iter().all(|variable| variables.binary_search(variable).is_ok())
        };
        let home = holders[rarest.index()].iter().find(holds);
        shape.families[*home.expect("a junction tree covers every family")].push(factor);
    }
    (shape.with_bounded_fan_out().0, constants)
}
