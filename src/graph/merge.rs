//! Merging cliques over small separators.
//!
//! A message over a small separator has little parallel work. Merging the two cliques next to the
//! separator removes the message, at the price of a larger table. Section 5 of Zheng, Mengshoel and
//! Chong names this as future work. Equation numbers in this file refer to that paper.

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::{
    Clique, CliqueId, JunctionTree, MoralGraph, Separator, SeparatorId, table_entries,
};
use crate::network::VariableId;

/// Which cliques may be merged. All sizes are numbers of table entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergeLimits {
    /// Only separators up to this size are removed.
    pub separator: u64,
    /// No merged clique is larger than this.
    pub clique: u64,
    /// No merge makes all cliques together larger than this.
    pub total: u64,
    /// The fixed cost of a message, in entries processed by one thread. Cliques are merged only if
    /// the tree becomes cheaper by equation 6 with this cost. `None` merges everything that the
    /// sizes allow.
    pub message: Option<f64>,
}

impl MergeLimits {
    /// Limits for removing separators of at most `separator` entries from `tree`: no table becomes
    /// larger than the largest of `tree`, and the total at most doubles. `message` is as
    /// [`MergeLimits::message`].
    #[must_use]
    pub fn of_separators(separator: u64, message: Option<f64>, tree: &JunctionTree) -> Self {
        let sizes = || tree.cliques().iter().map(|clique| clique.entries);
        let total = sizes().fold(0, u64::saturating_add);
        let clique = sizes().max().unwrap_or(1);
        Self { separator, clique, total: total.saturating_mul(2), message }
    }
}

/// Merges the cliques on both sides of small separators of `tree`.
///
/// Removes one edge after another. If [`message`](MergeLimits::message) is a cost, each is the edge
/// that saves most by equation 6 of Zheng, Mengshoel and Chong, until none saves anything. If it is
/// `None`, each is the edge that adds the smallest number of entries. Edges whose removal would
/// exceed `limits` stay. The remaining separators do not change, so the running intersection
/// property holds; the variables of a merged clique become pairwise neighbours, so the graph stays
/// chordal; and no clique becomes contained in another. The root, with the cliques merged into it,
/// stays the root.
///
/// `graph` is the moral graph of `tree`; it provides the cardinalities.
///
/// # Errors
/// Once `cancel` is set.
///
/// # Complexity
/// O((m + 1) k d) for k cliques, m merges and a tree of depth d.
pub fn merge_small_separators(
    graph: &MoralGraph,
    tree: &JunctionTree,
    limits: MergeLimits,
    cancel: &CancelToken,
) -> Result<JunctionTree, Cancelled> {
    let mut state = MergeState::of(tree);
    let mut open: Vec<SeparatorId> = tree.separator_ids().collect();
    open.retain(|&edge| tree[edge].entries <= limits.separator);
    loop {
        cancel.check()?;
        let effects =
            open.iter().enumerate().map(|(place, &edge)| (place, state.effect(&tree[edge])));
        let within = effects.filter(|(_, effect)| {
            effect.merged <= limits.clique
                && state.total.saturating_add(effect.added) <= limits.total
        });
        let best = match limits.message {
            None => within.min_by_key(|(place, effect)| (effect.added, *place)),
            Some(message) => within
                .map(|(place, effect)| (2.0 * message - effect.slower, place, effect))
                .filter(|&(saved, ..)| saved > 0.0)
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
                .map(|(_, place, effect)| (place, effect)),
        };
        let Some((place, effect)) = best else { break };
        state.merge(&tree[open.remove(place)], effect);
    }
    Ok(rebuild(graph, tree, &state.merged_into))
}

/// The merges so far.
struct MergeState {
    /// The clique into which each clique was merged: an ancestor, or itself if it was not merged.
    merged_into: Vec<CliqueId>,
    /// Entries of each clique that was not merged into another.
    sizes: Vec<u64>,
    /// For each clique that was not merged into another, the sum of 1 / |S| over its separators S.
    reciprocals: Vec<f64>,
    /// Total entries of the cliques that were not merged into another.
    total: u64,
}

/// The effect of removing one separator.
#[derive(Clone, Copy)]
struct MergeEffect {
    /// The clique into which the child of the separator is merged.
    parent: CliqueId,
    /// Entries of the merged clique.
    merged: u64,
    /// How many more entries the merged clique has than its two parts together.
    added: u64,
    /// The increase of the sum in equation 4: the entries that a thread reads if each separator
    /// entry has its own thread, summed over both messages of every separator.
    slower: f64,
}

impl MergeState {
    /// The state before any merge.
    fn of(tree: &JunctionTree) -> Self {
        let sizes: Vec<u64> = tree.cliques().iter().map(|clique| clique.entries).collect();
        let mut reciprocals = vec![0.0; sizes.len()];
        for edge in tree.separators() {
            for end in [edge.parent, edge.child] {
                reciprocals[end.index()] += 1.0 / edge.entries as f64;
            }
        }
        Self {
            merged_into: tree.clique_ids().collect(),
            total: sizes.iter().fold(0, |sum: u64, &size| sum.saturating_add(size)),
            sizes,
            reciprocals,
        }
    }

    /// The effect of merging the two cliques next to `edge`.
    fn effect(&self, edge: &Separator) -> MergeEffect {
        let parent = representative(&self.merged_into, edge.parent);
        let (above, below) = (self.sizes[parent.index()], self.sizes[edge.child.index()]);
        let merged = above.saturating_mul(below / edge.entries);
        let reciprocal = 1.0 / edge.entries as f64;
        // Messages over the other edges of both cliques now process a larger table. There are no
        // more messages over the removed edge.
        let growth = |size: u64, clique: CliqueId| {
            (merged as f64 - size as f64) * (self.reciprocals[clique.index()] - reciprocal)
        };
        let more = growth(above, parent) + growth(below, edge.child);
        MergeEffect {
            parent,
            merged,
            added: merged.saturating_sub(above.saturating_add(below)),
            slower: 2.0 * (more - (above as f64 + below as f64) * reciprocal),
        }
    }

    /// Merges the two cliques next to `edge`; `effect` is the effect of this.
    fn merge(&mut self, edge: &Separator, effect: MergeEffect) {
        let (parent, child) = (effect.parent.index(), edge.child.index());
        let before = self.sizes[parent].saturating_add(self.sizes[child]);
        self.total = self.total.saturating_sub(before).saturating_add(effect.merged);
        self.sizes[parent] = effect.merged;
        self.reciprocals[parent] += self.reciprocals[child] - 2.0 / edge.entries as f64;
        self.merged_into[child] = effect.parent;
    }
}

/// The clique into which `clique` was finally merged.
fn representative(merged_into: &[CliqueId], mut clique: CliqueId) -> CliqueId {
    while merged_into[clique.index()] != clique {
        clique = merged_into[clique.index()];
    }
    clique
}

/// The tree after the merges, with its cliques and separators in the order of `tree`.
fn rebuild(graph: &MoralGraph, tree: &JunctionTree, merged_into: &[CliqueId]) -> JunctionTree {
    let mut variables: Vec<Vec<VariableId>> = vec![Vec::new(); tree.cliques().len()];
    for clique in tree.clique_ids() {
        let into = representative(merged_into, clique);
        variables[into.index()].extend(&tree[clique].variables);
    }
    let mut ids = vec![CliqueId::new(0); tree.cliques().len()];
    let mut cliques = Vec::new();
    for clique in tree.clique_ids() {
        if merged_into[clique.index()] != clique {
            continue;
        }
        ids[clique.index()] = CliqueId::new(cliques.len());
        let mut variables = std::mem::take(&mut variables[clique.index()]);
        variables.sort_unstable();
        variables.dedup();
        let states = variables.iter().map(|v| graph.cardinalities()[v.index()]);
        cliques.push(Clique { entries: table_entries(states), variables });
    }
    let id = |clique: CliqueId| ids[representative(merged_into, clique).index()];
    let kept =
        tree.separators().iter().filter(|edge| merged_into[edge.child.index()] == edge.child);
    let separators = kept.map(|edge| Separator {
        parent: id(edge.parent),
        child: id(edge.child),
        ..edge.clone()
    });
    JunctionTree::new(cliques, separators.collect(), id(tree.root()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::graph::{
        Heuristic, Triangulation, TriangulationOptions, build_junction_tree, predicates,
        triangulate,
    };

    fn tree_of(network: &str) -> (MoralGraph, JunctionTree) {
        let network = crate::format::open(network).unwrap().network;
        let graph = MoralGraph::of_network(&network);
        let method = Triangulation::By(Heuristic::WeightedMinFill);
        let options = TriangulationOptions { method, ..Default::default() };
        let elimination = triangulate(&graph, &options, &CancelToken::new()).unwrap();
        let tree = build_junction_tree(&graph, &elimination);
        (graph, tree)
    }

    /// No limits except the one on separators, which allows no merge until the caller raises it.
    fn no_other_limits() -> MergeLimits {
        MergeLimits { separator: 0, clique: u64::MAX, total: u64::MAX, message: None }
    }

    /// The cost of a tree by equation 6, in entries.
    fn cost(tree: &JunctionTree, message: f64) -> f64 {
        let edge = |edge: &Separator| {
            let ends = tree[edge.parent].entries as f64 + tree[edge.child].entries as f64;
            2.0 * (message + ends / edge.entries as f64)
        };
        tree.separators().iter().map(edge).sum()
    }

    /// The fill edges of a tree.
    fn fill(graph: &MoralGraph, tree: &JunctionTree) -> Vec<(VariableId, VariableId)> {
        let pairs = |clique: &Clique| -> Vec<(VariableId, VariableId)> {
            let v = &clique.variables;
            (0..v.len()).flat_map(|b| (0..b).map(move |a| (v[a], v[b]))).collect()
        };
        let all = tree.cliques().iter().flat_map(pairs);
        all.filter(|&(a, b)| !graph.are_neighbours(a, b)).collect()
    }

    /// `tree` with small separators merged away.
    fn merged(graph: &MoralGraph, tree: &JunctionTree, limits: MergeLimits) -> JunctionTree {
        let cancel = CancelToken::new();
        merge_small_separators(graph, tree, limits, &cancel).expect("not cancelled")
    }

    #[test]
    fn merging_can_be_stopped() {
        let (graph, tree) = tree_of("asia");
        let cancel = CancelToken::new();
        cancel.cancel();
        assert!(merge_small_separators(&graph, &tree, no_other_limits(), &cancel).is_err());
    }

    #[test]
    fn merging_gives_a_junction_tree() {
        for network in ["asia", "alarm", "insurance", "water", "pigs"] {
            let (graph, tree) = tree_of(network);
            let mut before = usize::MAX;
            for separator in [0, 2, 8, 64, 1 << 20] {
                let limits = MergeLimits::of_separators(separator, None, &tree);
                let merged = merged(&graph, &tree, limits);
                let verdict = predicates::is_junction_tree(&graph, &fill(&graph, &merged), &merged);
                assert_eq!(verdict, Ok(()), "{network} {separator}");
                let total: u64 = merged.cliques().iter().map(|c| c.entries).sum();
                assert!(total <= limits.total, "{network} {separator}");
                assert!(merged.cliques().iter().all(|c| c.entries <= limits.clique));
                assert!(merged.cliques().len() <= before);
                before = merged.cliques().len();
            }
            // In Asia, every merge gives a clique larger than the largest.
            assert_eq!(before < tree.cliques().len(), network != "asia", "{network}");
        }
    }

    #[test]
    fn nothing_is_merged_below_the_smallest_separator() {
        let (graph, tree) = tree_of("alarm");
        let limits = MergeLimits::of_separators(1, None, &tree);
        assert_eq!(merged(&graph, &tree, limits), tree);
    }

    #[test]
    fn without_limits_one_clique_remains() {
        let (graph, tree) = tree_of("asia");
        let limits = MergeLimits { separator: u64::MAX, ..no_other_limits() };
        let merged = merged(&graph, &tree, limits);
        assert_eq!((merged.cliques().len(), merged.cliques()[0].entries), (1, 256));
    }

    #[test]
    fn small_separators_are_removed_and_large_ones_stay() {
        let (graph, tree) = tree_of("water");
        // Limits that allow all of the small separators to be removed.
        let limits = MergeLimits { separator: 16, ..no_other_limits() };
        let merged = merged(&graph, &tree, limits);
        let large = |tree: &JunctionTree| {
            let mut sizes: Vec<u64> = tree.separators().iter().map(|s| s.entries).collect();
            sizes.sort_unstable();
            sizes.retain(|&size| size > 16);
            sizes
        };
        assert_eq!(large(&merged), large(&tree));
        assert_eq!(large(&merged).len(), merged.separators().len());
    }

    #[test]
    fn merging_by_cost_never_makes_a_tree_more_expensive() {
        for network in ["alarm", "water", "pigs"] {
            let (graph, tree) = tree_of(network);
            for message in [0.0, 10.0, 200.0] {
                let limits = MergeLimits::of_separators(u64::MAX, Some(message), &tree);
                let merged = merged(&graph, &tree, limits);
                let (before, after) = (cost(&tree, message), cost(&merged, message));
                assert!(after <= before * (1.0 + 1e-9), "{network} {message}: {before} {after}");
                let verdict = predicates::is_junction_tree(&graph, &fill(&graph, &merged), &merged);
                assert_eq!(verdict, Ok(()), "{network} {message}");
            }
            let expensive = MergeLimits::of_separators(u64::MAX, Some(1e6), &tree);
            assert!(merged(&graph, &tree, expensive).cliques().len() < tree.cliques().len());
        }
    }

    #[test]
    fn the_predicted_cost_of_a_merge_is_the_cost_of_the_merged_tree() {
        let (graph, tree) = tree_of("alarm");
        let state = MergeState::of(&tree);
        for edge in tree.separators() {
            let mut after = MergeState::of(&tree);
            let effect = state.effect(edge);
            after.merge(edge, effect);
            let merged = rebuild(&graph, &tree, &after.merged_into);
            let slower = cost(&merged, 0.0) - cost(&tree, 0.0);
            assert!((slower - effect.slower).abs() < 1e-6, "{slower} {}", effect.slower);
            let total: u64 = merged.cliques().iter().map(|c| c.entries).sum();
            assert_eq!(total, after.total);
        }
    }
}
