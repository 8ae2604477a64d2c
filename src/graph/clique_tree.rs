//! Builds a junction tree directly from an elimination, for trees that serve a single propagation.
//!
//! The clusters of an elimination form a tree. Each cluster consists of the variable that is
//! eliminated and of variables that remain; its parent is the cluster of the remaining variable
//! that is eliminated first. The parent contains all variables of the child except the eliminated
//! one. If the parent contains no other variables, it is contracted with the child into one clique;
//! if this holds for several children of a parent, only one of them is contracted with it. This
//! leaves the maximal cliques, and each contraction preserves the running intersection property.
//! [`build_junction_tree`] chooses among all trees of these cliques; [`clique_tree`] takes the tree
//! that the elimination gives, and is much faster.
//!
//! [`build_junction_tree`]: crate::graph::build_junction_tree

use std::cmp::Reverse;

use crate::cancel::CancelToken;
use crate::graph::greedy::{Found, Greedy};
use crate::graph::{Heuristic, MoralGraph, table_entries};
use crate::network::VariableId;

/// A rooted tree of cliques. Every clique comes after its parent, and each subtree is consecutive.
#[derive(Debug)]
pub struct CliqueTree {
    /// The variables of each clique.
    pub cliques: Vec<Vec<VariableId>>,
    /// The parent of each clique; `None` for the first, which is the root.
    pub parents: Vec<Option<usize>>,
    /// `home[v]`: a clique that contains variable `v` and all its neighbours that are eliminated
    /// later.
    pub home: Vec<usize>,
    /// `position[v]`: the position of variable `v` in the elimination order.
    pub position: Vec<usize>,
}

/// Runs `heuristics` on `graph` in order. Returns a tree whose cliques have fewer than `limit`
/// table entries in total, and the heuristic that found this tree; `None` if no heuristic finds
/// such a tree, or once `cancel` is set.
///
/// The first tree found is preferred. A later tree replaces it only if the later tree has fewer
/// than `next_limit(total)` table entries, where `total` is the number of entries of the best tree
/// so far. If that limit is zero, no further heuristic is run.
///
/// The root is the largest clique. The largest clique of every other component is attached to the
/// root by an empty separator. A graph without variables gives one empty clique.
///
/// # Complexity
/// One greedy elimination, as in [`eliminate`](crate::graph::eliminate), for each heuristic that
/// runs, plus the sum of the sizes of all clusters.
#[must_use]
pub fn clique_tree(
    graph: &MoralGraph,
    heuristics: &[Heuristic],
    limit: u64,
    next_limit: impl Fn(u64) -> u64,
    cancel: &CancelToken,
) -> Option<(CliqueTree, Heuristic)> {
    let mut best: Option<(Found, Heuristic)> = None;
    for &heuristic in heuristics {
        let bound = best.as_ref().map_or(limit, |(best, _)| next_limit(best.entries));
        if bound == 0 {
            continue;
        }
        let greedy = Greedy::new(graph, heuristic, u64::MAX, cancel).ok()?;
        let found = greedy.run(0, Some(bound), cancel).ok()?.found;
        best = found.map(|found| (found, heuristic)).or(best);
    }
    best.map(|(found, heuristic)| (contract(graph, &found), heuristic))
}

/// Contracts the clusters of `found` into a tree of maximal cliques, rooted at the largest clique.
fn contract(graph: &MoralGraph, found: &Found) -> CliqueTree {
    let mut position = vec![0; found.order.len()];
    found.order.iter().enumerate().for_each(|(at, v)| position[v.index()] = at);
    let chains = Chains::of(found, &position);
    let neighbours = chains.neighbours();
    let mut by_size: Vec<usize> = (0..chains.first.len()).collect();
    by_size.sort_by_cached_key(|&chain| {
        let cardinality = |v: VariableId| graph.cardinalities()[v.index()];
        Reverse(table_entries(chains.variables(found, chain).map(cardinality)))
    });
    let numbering = number_depth_first(&neighbours, &by_size);
    let cliques = numbering.chains.iter().map(|&chain| chains.variables(found, chain).collect());
    let home = position.iter().map(|&at| numbering.number[chains.chain_of[at]]);
    let mut tree = CliqueTree {
        cliques: cliques.collect(),
        parents: numbering.parents,
        home: home.collect(),
        position,
    };
    if tree.cliques.is_empty() {
        (tree.cliques, tree.parents) = (vec![Vec::new()], vec![None]);
    }
    tree
}

/// The clusters of an elimination, grouped into chains. Each cluster of a chain is the parent of
/// the cluster before it and a subset of it, so the first cluster of a chain is a maximal clique.
///
/// Clusters are numbered in elimination order, chains in the order of their first clusters.
struct Chains {
    /// The parent of each cluster in the tree of clusters.
    parents: Vec<Option<usize>>,
    /// The chain of each cluster.
    chain_of: Vec<usize>,
    /// The first cluster of each chain.
    first: Vec<usize>,
    /// The last cluster of each chain. Its parent belongs to another chain.
    last: Vec<usize>,
}

impl Chains {
    /// The chains of the elimination `found`. `position[v]` is the position of variable `v` in the
    /// elimination order.
    fn of(found: &Found, position: &[usize]) -> Self {
        let earliest = |around: &Vec<u32>| around.iter().map(|&v| position[v as usize]).min();
        let parents: Vec<Option<usize>> = found.neighbours.iter().map(earliest).collect();
        // For each cluster, a child that contains it, if there is one; of several, the last.
        let mut containing_child = vec![None; parents.len()];
        for (at, around) in found.neighbours.iter().enumerate() {
            let is_subset = |parent: &usize| found.neighbours[*parent].len() + 1 == around.len();
            if let Some(parent) = parents[at].filter(is_subset) {
                containing_child[parent] = Some(at);
            }
        }
        let mut chain_of = vec![0; parents.len()];
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for at in 0..parents.len() {
            match containing_child[at] {
                Some(child) => {
                    chain_of[at] = chain_of[child];
                    last[chain_of[at]] = at;
                }
                None => {
                    chain_of[at] = first.len();
                    first.push(at);
                    last.push(at);
                }
            }
        }
        Self { parents, chain_of, first, last }
    }

    /// The chains next to each chain in the tree of clusters.
    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.first.len()];
        for (chain, &last) in self.last.iter().enumerate() {
            if let Some(parent) = self.parents[last] {
                let above = self.chain_of[parent];
                neighbours[chain].push(above);
                neighbours[above].push(chain);
            }
        }
        neighbours
    }

    /// The variables of the clique of `chain`.
    fn variables<'a>(
        &self,
        found: &'a Found,
        chain: usize,
    ) -> impl Iterator<Item = VariableId> + use<'a> {
        let first = self.first[chain];
        let around = found.neighbours[first].iter().map(|&v| VariableId::new(v as usize));
        [found.order[first]].into_iter().chain(around)
    }
}

/// A depth-first numbering of the chains, which become cliques.
struct Numbering {
    /// The chain of each clique.
    chains: Vec<usize>,
    /// The parent of each clique; `None` for clique 0, the root.
    parents: Vec<Option<usize>>,
    /// The clique of each chain.
    number: Vec<usize>,
}

/// Numbers the chains depth first. Each component starts at its chain that comes first in `starts`,
/// and is attached to the root of the first component.
fn number_depth_first(neighbours: &[Vec<usize>], starts: &[usize]) -> Numbering {
    const UNNUMBERED: usize = usize::MAX;
    let (mut chains, mut parents) = (Vec::new(), Vec::new());
    let mut number = vec![UNNUMBERED; neighbours.len()];
    for &start in starts {
        if number[start] != UNNUMBERED {
            continue;
        }
        let mut open = vec![(start, (!chains.is_empty()).then_some(0))];
        while let Some((chain, parent)) = open.pop() {
            let own = chains.len();
            number[chain] = own;
            chains.push(chain);
            parents.push(parent);
            let onward = neighbours[chain].iter().filter(|&&next| number[next] == UNNUMBERED);
            open.extend(onward.map(|&next| (next, Some(own))));
        }
    }
    Numbering { chains, parents, number }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::graph::{Clique, CliqueId, JunctionTree, Separator, eliminate, predicates};

    #[test]
    fn contraction_gives_a_junction_tree_of_the_maximal_cliques() {
        let mut random = Pcg64Mcg::seed_from_u64(17);
        for round in 0..120 {
            let n = random.random_range(1..=20);
            let families: Vec<Vec<VariableId>> = (0..random.random_range(0..=24))
                .map(|_| {
                    let mut family: Vec<usize> =
                        (0..random.random_range(1..4)).map(|_| random.random_range(0..n)).collect();
                    family.sort_unstable();
                    family.dedup();
                    family.into_iter().map(VariableId::new).collect()
                })
                .collect();
            let states = (0..n).map(|_| random.random_range(2..=5)).collect();
            let graph = MoralGraph::new(states, &families);
            let cancel = CancelToken::new();
            let heuristic = Heuristic::ALL[round % 4];
            let quick = |heuristics: &[Heuristic], limit, next_limit: fn(u64) -> u64| {
                clique_tree(&graph, heuristics, limit, next_limit, &cancel)
            };
            let found = quick(&[heuristic], u64::MAX, |_| 0).expect("no limit").0;

            let elimination = eliminate(&graph, heuristic, 0, &cancel).expect("not cancelled");
            let size = |clique: &Vec<VariableId>| {
                table_entries(clique.iter().map(|v| graph.cardinalities()[v.index()]))
            };
            let sorted = |clique: &Vec<VariableId>| {
                let mut variables = clique.clone();
                variables.sort_unstable();
                Clique { entries: size(&variables), variables }
            };
            let cliques: Vec<Clique> = found.cliques.iter().map(sorted).collect();
            let edges = found.parents.iter().enumerate().skip(1).map(|(child, parent)| {
                let parent = parent.expect("only the first is a root");
                assert!(parent < child, "{round}");
                let shared = |v: &&VariableId| cliques[parent].variables.contains(v);
                let variables: Vec<VariableId> =
                    cliques[child].variables.iter().filter(shared).copied().collect();
                Separator {
                    entries: size(&variables),
                    variables,
                    parent: CliqueId::new(parent),
                    child: CliqueId::new(child),
                }
            });
            let tree = JunctionTree::new(cliques.clone(), edges.collect(), CliqueId::new(0));
            let verdict = predicates::is_junction_tree(&graph, &elimination.fill_edges, &tree);
            assert_eq!(verdict, Ok(()), "graph {round}");
            let total: u64 = cliques.iter().map(|clique| clique.entries).sum();
            assert_eq!(total, elimination.total_entries(&graph), "graph {round}");
            assert_eq!(cliques.iter().map(|clique| clique.entries).max(), Some(cliques[0].entries));
            for family in families.iter().filter(|family| !family.is_empty()) {
                let first = family.iter().min_by_key(|v| found.position[v.index()]);
                let home = &cliques[found.home[first.expect("not empty").index()]].variables;
                assert!(family.iter().all(|v| home.contains(v)), "graph {round}");
            }
            assert!(quick(&[heuristic], total, |_| 0).is_none(), "graph {round}");

            // If the limit is the total so far, the smallest tree wins. If the limit is half of the
            // total, a later heuristic wins only with a tree less than half as large.
            let entries = |found: Option<(CliqueTree, Heuristic)>| {
                let (tree, which) = found.expect("there is no limit");
                (tree.cliques.iter().map(&size).sum::<u64>(), which)
            };
            let entries_by = |heuristic| entries(quick(&[heuristic], u64::MAX, |_| 0)).0;
            let smallest =
                Heuristic::ALL.map(entries_by).into_iter().min().expect("there are four");
            assert_eq!(entries(quick(&Heuristic::ALL, u64::MAX, |total| total)).0, smallest);
            let first = entries_by(Heuristic::ALL[0]);
            let (total, which) = entries(quick(&Heuristic::ALL[..2], u64::MAX, |total| total / 2));
            let second = entries_by(Heuristic::ALL[1]);
            let is_less_than_half = second < first / 2;
            let expected = if is_less_than_half {
                (second, Heuristic::ALL[1])
            } else {
                (first, Heuristic::ALL[0])
            };
            assert_eq!((total, which), expected, "graph {round}");
        }
    }

    #[test]
    fn a_graph_without_variables_has_one_empty_clique() {
        let graph = MoralGraph::new(Vec::new(), &[]);
        let next_limit = |entries| entries;
        let found = clique_tree(&graph, &Heuristic::ALL, 9, next_limit, &CancelToken::new());
        let (tree, _) = found.expect("it fits");
        assert_eq!((tree.cliques, tree.parents), (vec![vec![]], vec![None]));
    }
}
