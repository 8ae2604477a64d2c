//! From an elimination to a rooted junction tree.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::centre::Forest;
use crate::graph::critical_path::{cost, shorten};
use crate::graph::{
    Clique, CliqueId, Elimination, JunctionTree, MoralGraph, Separator, predicates, table_entries,
};
use crate::network::VariableId;

/// The maximal cliques of `elimination`, joined by a maximum spanning tree over separator sizes.
///
/// A spanning tree has the running intersection property if and only if no other spanning tree has
/// more variables in its separators in total (Jensen and Jensen 1994), and all such trees have the
/// same separators. Of these trees, the construction starts with one in which collect touches the
/// fewest entries: the sum, over all edges, of the table sizes at both ends. Components are joined
/// by empty separators between their centres. Then subtrees are attached to other cliques that
/// contain their separator, as long as this shortens the critical path by more than the work that
/// it adds, or shortens one of several equally long critical paths and adds no work. The root is
/// the clique from which the longest path is shortest.
///
/// The cliques and, up to their order, the separators are the same for every such tree and root, so
/// Table 1 of Zheng, Mengshoel and Chong does not depend on the choice.
///
/// Cliques are numbered depth first from the root, so each subtree has consecutive numbers, and
/// separator `s` is above clique `s + 1`. A network without variables gives one empty clique with 1
/// entry.
///
/// # Complexity
/// Nearly linear in the sum of the sizes of the cliques for the networks that occur, plus the
/// limited time to shorten the critical path. In the worst case, O(s (w log w + log k)) for k
/// cliques of at most w variables, where s is the sum of c_v^2 over all variables v and c_v is the
/// number of cliques that contain v.
#[must_use]
pub fn build_junction_tree(graph: &MoralGraph, elimination: &Elimination) -> JunctionTree {
    let cliques = maximal_cliques(graph, elimination);
    let mut forest = Forest::new(cliques.iter().map(cost).collect());
    let holders = holders(&cliques, graph.len());
    let components = span(&cliques, &holders, &mut forest);
    forest.join_all(&components);
    let root = shorten(&cliques, &holders, &mut forest);
    let tree = number_depth_first(graph, &cliques, &forest, root);
    debug_assert_eq!(
        predicates::is_junction_tree(graph, &elimination.fill_edges, &tree),
        Ok(()),
        "the result is not a junction tree"
    );
    tree
}

fn entries(graph: &MoralGraph, variables: &[VariableId]) -> u64 {
    table_entries(variables.iter().map(|v| graph.cardinalities()[v.index()]))
}

/// The maximal cliques in elimination order; one empty clique if there are none.
fn maximal_cliques(graph: &MoralGraph, elimination: &Elimination) -> Vec<Clique> {
    let mut cliques: Vec<Clique> = elimination
        .maximal_clusters()
        .into_iter()
        .map(|index| elimination.clusters[index].clone())
        .map(|variables| Clique { entries: entries(graph, &variables), variables })
        .collect();
    if cliques.is_empty() {
        cliques.push(Clique { variables: Vec::new(), entries: 1 });
    }
    cliques
}

/// The cliques that contain each variable.
fn holders(cliques: &[Clique], variables: usize) -> Vec<Vec<usize>> {
    let mut holders = vec![Vec::new(); variables];
    for (index, clique) in cliques.iter().enumerate() {
        for variable in &clique.variables {
            holders[variable.index()].push(index);
        }
    }
    holders
}

/// The best edge from a clique outside the tree to one inside.
#[derive(Clone, Copy)]
struct Link {
    /// Number of shared variables; 0 if no edge is known.
    size: usize,
    /// Table entries of the cliques at both ends.
    cost: u64,
    /// The end inside the tree.
    near: usize,
}

impl Link {
    /// The key by which links are compared: the best link has the largest.
    fn rank(&self) -> (usize, Reverse<u64>) {
        (self.size, Reverse(self.cost))
    }
}

/// Connects the cliques of every component by Prim's algorithm; returns one clique of each
/// component.
///
/// A new clique can only improve the links of cliques that share a variable with it. These are
/// found through the cliques of each variable, so pairs of cliques without a common variable are
/// never compared. Variables over which the new clique cannot improve a link are
/// [left out](Dominating).
fn span(cliques: &[Clique], holders: &[Vec<usize>], forest: &mut Forest) -> Vec<usize> {
    let mut best = vec![Link { size: 0, cost: 0, near: 0 }; cliques.len()];
    let mut is_inside = vec![false; cliques.len()];
    let mut dominating = Dominating { cliques, holders, smallest: vec![None; holders.len()] };
    // All links that were ever the best of their clique, the best first; of equal links, first the
    // one with the smallest clique index.
    let mut links = BinaryHeap::new();
    let mut shared = vec![0; cliques.len()];
    let mut starts = Vec::new();
    for start in 0..cliques.len() {
        if is_inside[start] {
            continue;
        }
        starts.push(start);
        links.push((best[start].rank(), Reverse(start)));
        while let Some((rank, Reverse(clique))) = links.pop() {
            if std::mem::replace(&mut is_inside[clique], true) {
                continue;
            }
            debug_assert_eq!(rank, best[clique].rank(), "a better link is popped first");
            let near = (best[clique].size > 0).then_some(best[clique].near);
            near.into_iter().for_each(|near| forest.add_edge(clique, near));
            let (passed_over, visited) = dominating.divide(clique, near);
            let touched = visited.iter().flat_map(|v| &holders[v.index()]);
            touched.clone().for_each(|&other| shared[other] += 1);
            for &other in touched {
                // Zero on the second visit to a clique that shares several variables.
                let mut size = std::mem::take(&mut shared[other]);
                if size == 0 || is_inside[other] {
                    continue;
                }
                let holds = |v: &&VariableId| cliques[other].variables.binary_search(v).is_ok();
                size += passed_over.iter().filter(holds).count();
                let cost = cliques[clique].entries.saturating_add(cliques[other].entries);
                let link = Link { size, cost, near: clique };
                if link.rank() > best[other].rank() {
                    best[other] = link;
                    links.push((link.rank(), Reverse(other)));
                }
            }
        }
    }
    starts
}

/// Finds cliques inside the tree whose links are at least as good as the links of a new clique.
///
/// Let a clique inside the tree contain variables K of the new clique, and have at most as many
/// entries as the new clique. Then its links to the cliques that share only variables of K with the
/// new clique are at least as good. So the new clique need not visit the holders of K: every clique
/// that shares another variable is found through that variable. Without this rule, a variable that
/// all of k cliques contain would take O(k^2) visits.
struct Dominating<'a> {
    cliques: &'a [Clique],
    holders: &'a [Vec<usize>],
    /// For each variable, a clique inside the tree that contains it, with the fewest entries.
    smallest: Vec<Option<usize>>,
}

impl Dominating<'_> {
    /// The variables of the new `clique` whose holders need not be visited, and the others. `near`
    /// is the clique inside to which the new clique is linked. Afterwards the new clique counts as
    /// inside.
    fn divide(&mut self, clique: usize, near: Option<usize>) -> (Vec<VariableId>, Vec<VariableId>) {
        let new = &self.cliques[clique];
        let is_held =
            |inside: usize, v: VariableId| self.cliques[inside].variables.binary_search(&v).is_ok();
        let smallest = new.variables.iter().filter_map(|v| self.smallest[v.index()]);
        let mut candidates: Vec<usize> = smallest.chain(near).collect();
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|&inside| self.cliques[inside].entries <= new.entries);
        let saved = |&inside: &usize| -> usize {
            let held = new.variables.iter().filter(|&&v| is_held(inside, v));
            held.map(|v| self.holders[v.index()].len()).sum()
        };
        let best = candidates.into_iter().max_by_key(saved);
        let divided =
            new.variables.iter().partition(|&&v| best.is_some_and(|inside| is_held(inside, v)));
        for v in &new.variables {
            let smallest = &mut self.smallest[v.index()];
            if smallest.is_none_or(|inside| self.cliques[inside].entries > new.entries) {
                *smallest = Some(clique);
            }
        }
        divided
    }
}

/// The junction tree of `forest`, rooted at `root`, with its cliques numbered depth first.
fn number_depth_first(
    graph: &MoralGraph,
    cliques: &[Clique],
    forest: &Forest,
    root: usize,
) -> JunctionTree {
    let mut separators = Vec::with_capacity(cliques.len() - 1);
    let mut numbered = Vec::with_capacity(cliques.len());
    // Cliques to visit, each with its parent and the parent's number.
    let mut stack: Vec<(usize, Option<(usize, CliqueId)>)> = vec![(root, None)];
    while let Some((clique, above)) = stack.pop() {
        let id = CliqueId::new(numbered.len());
        numbered.push(cliques[clique].clone());
        if let Some((parent, parent_id)) = above {
            let outer = &cliques[parent].variables;
            let shared = cliques[clique].variables.iter().copied();
            let variables: Vec<VariableId> =
                shared.filter(|variable| outer.binary_search(variable).is_ok()).collect();
            let entries = entries(graph, &variables);
            separators.push(Separator { variables, entries, parent: parent_id, child: id });
        }
        let parent = above.map(|(parent, _)| parent);
        let first = stack.len();
        let below = forest.neighbours(clique).iter().filter(|&&next| Some(next) != parent);
        stack.extend(below.map(|&next| (next, Some((clique, id)))));
        // Of the cliques below, the one that elimination made first is visited first.
        stack[first..].sort_unstable_by_key(|&(next, _)| Reverse(next));
    }
    JunctionTree::new(numbered, separators, CliqueId::new(0))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::cancel::CancelToken;
    use crate::graph::{Heuristic, eliminate};

    /// Compares with Kruskal's algorithm over all pairs of cliques.
    #[test]
    fn the_maximum_spanning_tree_touches_the_fewest_entries() {
        let mut random = Pcg64Mcg::seed_from_u64(13);
        for round in 0..60 {
            let states = (0..30).map(|_| random.random_range(1..=5)).collect();
            let families: Vec<Vec<VariableId>> = (0..30)
                .map(|_| (0..3).map(|_| VariableId::new(random.random_range(0..30))).collect())
                .collect();
            let graph = MoralGraph::new(states, &families);
            let found = eliminate(&graph, Heuristic::MinFill, round, &CancelToken::new()).unwrap();
            let cliques = maximal_cliques(&graph, &found);
            let mut forest = Forest::new(vec![1; cliques.len()]);
            span(&cliques, &holders(&cliques, 30), &mut forest);

            let mut edges = Vec::new();
            let mut joined = (0, 0);
            for (a, clique) in cliques.iter().enumerate() {
                for (b, other) in cliques.iter().enumerate().take(a) {
                    let shared = clique.variables.iter().filter(|v| other.variables.contains(v));
                    let (shared, cost) = (shared.count(), clique.entries + other.entries);
                    edges.push((Reverse(shared), cost, a, b));
                    if forest.neighbours(a).contains(&b) {
                        joined = (joined.0 + shared, joined.1 + cost);
                    }
                }
            }
            edges.retain(|edge| edge.0.0 > 0);
            edges.sort_unstable();
            let mut part: Vec<usize> = (0..cliques.len()).collect();
            let mut best = (0, 0);
            for (Reverse(shared), cost, a, b) in edges {
                if part[a] != part[b] {
                    let (from, to) = (part[a], part[b]);
                    part.iter_mut().filter(|p| **p == from).for_each(|p| *p = to);
                    best = (best.0 + shared, best.1 + cost);
                }
            }
            assert_eq!(joined, best, "graph {round}");
        }
    }
}
