//! Merging cliques over small separators.
//!
//! What section 5 of Zheng, Mengshoel and Chong leaves to future work: a small separator gives a
//! message little to do in parallel, and merging the two cliques beside it does away with the
//! message, at the price of a larger table.

use crate::graph::{
    Clique, CliqueId, JunctionTree, MoralGraph, Separator, SeparatorId, table_entries,
};
use crate::network::VariableId;

/// Up to where cliques are merged. All sizes are entries of tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergeLimits {
    /// Only separators of at most this size are merged away.
    pub separator: u64,
    /// No clique grows beyond this size by merging.
    pub clique: u64,
    /// All cliques together do not grow beyond this size by merging.
    pub total: u64,
    /// What a message costs beyond its entries, in entries that one thread goes through: cliques
    /// are merged only where that and equation 6 make the tree cheaper. `None` merges whatever the
    /// sizes allow.
    pub message: Option<f64>,
}

impl MergeLimits {
    /// Separators of at most `separator` entries, as long as no table becomes larger than the
    /// largest of `tree` is and all of them together not more than twice as large as they are.
    #[must_use]
    pub fn of_separators(separator: u64, message: Option<f64>, tree: &JunctionTree) -> Self {
        let sizes = || tree.cliques().iter().map(|clique| clique.entries);
        let total = sizes().fold(0, u64::saturating_add);
        let clique = sizes().max().unwrap_or(1);
        Self { separator, clique, total: total.saturating_mul(2), message }
    }
}

/// `tree` with the cliques on both sides of small separators merged into one.
///
/// Again and again the edge goes that saves most by equation 6 of Zheng, Mengshoel and Chong, or
/// that adds fewest entries where a message is said to cost nothing, as long as there is one within
/// `limits`. The separators that remain stay as they are, and with them the running intersection
/// property; the variables of a merged clique become pairwise neighbours, so the graph stays
/// chordal, and no clique comes to lie within another. The root stays, or what it was merged into.
///
/// `graph` is the moral graph that `tree` was made from, and says how many states there are.
///
/// # Complexity
/// O(m k) for k cliques and m mergers.
#[must_use]
pub fn merge_small_separators(
    graph: &MoralGraph,
    tree: &JunctionTree,
    limits: MergeLimits,
) -> JunctionTree {
    let mut state = State::of(tree);
    let mut open: Vec<SeparatorId> = tree.separator_ids().collect();
    open.retain(|&edge| tree[edge].entries <= limits.separator);
    loop {
        let mergers =
            open.iter().enumerate().map(|(place, &edge)| (place, state.merger(&tree[edge])));
        let within = mergers.filter(|(_, merger)| {
            merger.merged <= limits.clique
                && state.total.saturating_add(merger.added) <= limits.total
        });
        let best = match limits.message {
            None => within.min_by_key(|(place, merger)| (merger.added, *place)),
            Some(message) => within
                .map(|(place, merger)| (2.0 * message - merger.slower, place, merger))
                .filter(|&(saved, ..)| saved > 0.0)
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
                .map(|(_, place, merger)| (place, merger)),
        };
        let Some((place, merger)) = best else { break };
        state.merge(&tree[open.remove(place)], merger);
    }
    rebuild(graph, tree, &state.stands_for)
}

/// What has been merged so far.
struct State {
    /// The clique into which each was merged: a parent, or still itself.
    stands_for: Vec<CliqueId>,
    /// Entries of each clique that stands for itself.
    sizes: Vec<u64>,
    /// Sum of 1 / |S| over the separators around each of them.
    shares: Vec<f64>,
    /// Entries of all of them.
    total: u64,
}

/// What merging over one separator would do.
#[derive(Clone, Copy)]
struct Merger {
    parent: CliqueId,
    /// Entries of the clique that it makes, and how many more these are than before.
    merged: u64,
    added: u64,
    /// Entries that threads go through in addition, one after another, with both messages of every
    /// separator (equation 4).
    slower: f64,
}

impl State {
    fn of(tree: &JunctionTree) -> Self {
        let sizes: Vec<u64> = tree.cliques().iter().map(|clique| clique.entries).collect();
        let mut shares = vec![0.0; sizes.len()];
        for edge in tree.separators() {
            for end in [edge.parent, edge.child] {
                shares[end.index()] += 1.0 / edge.entries as f64;
            }
        }
        Self {
            stands_for: tree.clique_ids().collect(),
            total: sizes.iter().fold(0, |sum: u64, &size| sum.saturating_add(size)),
            sizes,
            shares,
        }
    }

    fn merger(&self, edge: &Separator) -> Merger {
        let parent = representative(&self.stands_for, edge.parent);
        let (above, below) = (self.sizes[parent.index()], self.sizes[edge.child.index()]);
        let merged = above.saturating_mul(below / edge.entries);
        let share = 1.0 / edge.entries as f64;
        // The neighbours send to and receive from a larger table; one edge has no message any more.
        let grows = |size: u64, clique: CliqueId| {
            (merged as f64 - size as f64) * (self.shares[clique.index()] - share)
        };
        let more = grows(above, parent) + grows(below, edge.child);
        Merger {
            parent,
            merged,
            added: merged.saturating_sub(above.saturating_add(below)),
            slower: 2.0 * (more - (above as f64 + below as f64) * share),
        }
    }

    fn merge(&mut self, edge: &Separator, merger: Merger) {
        let (parent, child) = (merger.parent.index(), edge.child.index());
        let before = self.sizes[parent].saturating_add(self.sizes[child]);
        self.total = self.total.saturating_sub(before).saturating_add(merger.merged);
        self.sizes[parent] = merger.merged;
        self.shares[parent] += self.shares[child] - 2.0 / edge.entries as f64;
        self.stands_for[child] = merger.parent;
    }
}

/// The clique into which `clique` was merged in the end.
fn representative(stands_for: &[CliqueId], mut clique: CliqueId) -> CliqueId {
    while stands_for[clique.index()] != clique {
        clique = stands_for[clique.index()];
    }
    clique
}

fn rebuild(graph: &MoralGraph, tree: &JunctionTree, stands_for: &[CliqueId]) -> JunctionTree {
    let mut variables: Vec<Vec<VariableId>> = vec![Vec::new(); tree.cliques().len()];
    for clique in tree.clique_ids() {
        let into = representative(stands_for, clique);
        variables[into.index()].extend(&tree[clique].variables);
    }
    let mut ids = vec![CliqueId::new(0); tree.cliques().len()];
    let mut cliques = Vec::new();
    for clique in tree.clique_ids() {
        if stands_for[clique.index()] != clique {
            continue;
        }
        ids[clique.index()] = CliqueId::new(cliques.len());
        let mut variables = std::mem::take(&mut variables[clique.index()]);
        variables.sort_unstable();
        variables.dedup();
        let states = variables.iter().map(|v| graph.cardinalities()[v.index()]);
        cliques.push(Clique { entries: table_entries(states), variables });
    }
    let id = |clique: CliqueId| ids[representative(stands_for, clique).index()];
    let kept = tree.separators().iter().filter(|edge| stands_for[edge.child.index()] == edge.child);
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

    fn boundless() -> MergeLimits {
        MergeLimits { separator: 0, clique: u64::MAX, total: u64::MAX, message: None }
    }

    /// What equation 6 says of a tree, in entries.
    fn cost(tree: &JunctionTree, message: f64) -> f64 {
        let edge = |edge: &Separator| {
            let ends = tree[edge.parent].entries as f64 + tree[edge.child].entries as f64;
            2.0 * (message + ends / edge.entries as f64)
        };
        tree.separators().iter().map(edge).sum()
    }

    /// The edges that a tree adds to the graph.
    fn fill(graph: &MoralGraph, tree: &JunctionTree) -> Vec<(VariableId, VariableId)> {
        let pairs = |clique: &Clique| -> Vec<(VariableId, VariableId)> {
            let v = &clique.variables;
            (0..v.len()).flat_map(|b| (0..b).map(move |a| (v[a], v[b]))).collect()
        };
        let all = tree.cliques().iter().flat_map(pairs);
        all.filter(|(a, b)| !graph.adjacency()[a.index()].contains(b.index())).collect()
    }

    #[test]
    fn what_is_merged_is_a_junction_tree() {
        for network in ["asia", "alarm", "insurance", "water", "pigs"] {
            let (graph, tree) = tree_of(network);
            let mut before = usize::MAX;
            for separator in [0, 2, 8, 64, 1 << 20] {
                let limits = MergeLimits::of_separators(separator, None, &tree);
                let merged = merge_small_separators(&graph, &tree, limits);
                let verdict = predicates::is_junction_tree(&graph, &fill(&graph, &merged), &merged);
                assert_eq!(verdict, Ok(()), "{network} {separator}");
                let total: u64 = merged.cliques().iter().map(|c| c.entries).sum();
                assert!(total <= limits.total, "{network} {separator}");
                assert!(merged.cliques().iter().all(|c| c.entries <= limits.clique));
                assert!(merged.cliques().len() <= before);
                before = merged.cliques().len();
            }
            // All of Asia's cliques are as large as its largest but one.
            assert_eq!(before < tree.cliques().len(), network != "asia", "{network}");
        }
    }

    #[test]
    fn nothing_is_merged_below_the_smallest_separator() {
        let (graph, tree) = tree_of("alarm");
        let limits = MergeLimits::of_separators(1, None, &tree);
        assert_eq!(merge_small_separators(&graph, &tree, limits), tree);
    }

    #[test]
    fn without_limits_one_clique_remains() {
        let (graph, tree) = tree_of("asia");
        let limits = MergeLimits { separator: u64::MAX, ..boundless() };
        let merged = merge_small_separators(&graph, &tree, limits);
        assert_eq!((merged.cliques().len(), merged.cliques()[0].entries), (1, 256));
    }

    #[test]
    fn what_is_small_goes_and_what_is_large_stays() {
        let (graph, tree) = tree_of("water");
        // Separators that small, with room to merge all of them.
        let limits = MergeLimits { separator: 16, ..boundless() };
        let merged = merge_small_separators(&graph, &tree, limits);
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
    fn the_model_never_makes_a_tree_dearer() {
        for network in ["alarm", "water", "pigs"] {
            let (graph, tree) = tree_of(network);
            for message in [0.0, 10.0, 200.0] {
                let limits = MergeLimits::of_separators(u64::MAX, Some(message), &tree);
                let merged = merge_small_separators(&graph, &tree, limits);
                let (before, after) = (cost(&tree, message), cost(&merged, message));
                assert!(after <= before * (1.0 + 1e-9), "{network} {message}: {before} {after}");
                let verdict = predicates::is_junction_tree(&graph, &fill(&graph, &merged), &merged);
                assert_eq!(verdict, Ok(()), "{network} {message}");
            }
            let dear = MergeLimits::of_separators(u64::MAX, Some(1e6), &tree);
            assert!(
                merge_small_separators(&graph, &tree, dear).cliques().len() < tree.cliques().len()
            );
        }
    }

    #[test]
    fn what_a_merger_costs_is_what_the_tree_then_costs() {
        let (graph, tree) = tree_of("alarm");
        let state = State::of(&tree);
        for edge in tree.separators() {
            let mut after = State::of(&tree);
            let merger = state.merger(edge);
            after.merge(edge, merger);
            let merged = rebuild(&graph, &tree, &after.stands_for);
            let slower = cost(&merged, 0.0) - cost(&tree, 0.0);
            assert!((slower - merger.slower).abs() < 1e-6, "{slower} {}", merger.slower);
            let total: u64 = merged.cliques().iter().map(|c| c.entries).sum();
            assert_eq!(total, after.total);
        }
    }
}
