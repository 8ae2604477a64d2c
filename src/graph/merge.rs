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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeLimits {
    /// Only separators of at most this size are merged away.
    pub separator: u64,
    /// No clique grows beyond this size by merging.
    pub clique: u64,
    /// All cliques together do not grow beyond this size by merging.
    pub total: u64,
}

impl MergeLimits {
    /// Separators of at most `separator` entries, as long as no table becomes larger than the
    /// largest of `tree` is and all of them together not more than twice as large as they are.
    #[must_use]
    pub fn of_separators(separator: u64, tree: &JunctionTree) -> Self {
        let sizes = || tree.cliques().iter().map(|clique| clique.entries);
        let total = sizes().fold(0, u64::saturating_add);
        Self { separator, clique: sizes().max().unwrap_or(1), total: total.saturating_mul(2) }
    }
}

/// `tree` with the cliques on both sides of small separators merged into one.
///
/// Again and again the edge goes that adds fewest entries in all, as long as there is one within
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
    let mut sizes: Vec<u64> = tree.cliques().iter().map(|clique| clique.entries).collect();
    let mut total = sizes.iter().fold(0, |sum: u64, &size| sum.saturating_add(size));
    // Merging makes the parent stand for the child, which then stands for nothing.
    let mut stands_for: Vec<CliqueId> = tree.clique_ids().collect();
    let mut open: Vec<SeparatorId> = tree.separator_ids().collect();
    open.retain(|&edge| tree[edge].entries <= limits.separator);
    loop {
        let merger = |place: usize| {
            let edge = &tree[open[place]];
            let parent = representative(&stands_for, edge.parent);
            let (above, below) = (sizes[parent.index()], sizes[edge.child.index()]);
            let merged = above.saturating_mul(below / edge.entries);
            (merged.saturating_sub(above.saturating_add(below)), merged, place, parent)
        };
        let within = |&(added, merged, ..): &(u64, u64, usize, CliqueId)| {
            merged <= limits.clique && total.saturating_add(added) <= limits.total
        };
        let best = (0..open.len()).map(merger).filter(within).min_by_key(|m| (m.0, m.2));
        let Some((_, merged, place, parent)) = best else { break };
        let child = tree[open.remove(place)].child;
        let before = sizes[parent.index()].saturating_add(sizes[child.index()]);
        total = total.saturating_sub(before).saturating_add(merged);
        sizes[parent.index()] = merged;
        stands_for[child.index()] = parent;
    }
    rebuild(graph, tree, &stands_for)
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
                let limits = MergeLimits::of_separators(separator, &tree);
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
        let limits = MergeLimits::of_separators(1, &tree);
        assert_eq!(merge_small_separators(&graph, &tree, limits), tree);
    }

    #[test]
    fn without_limits_one_clique_remains() {
        let (graph, tree) = tree_of("asia");
        let limits = MergeLimits { separator: u64::MAX, clique: u64::MAX, total: u64::MAX };
        let merged = merge_small_separators(&graph, &tree, limits);
        assert_eq!((merged.cliques().len(), merged.cliques()[0].entries), (1, 256));
    }

    #[test]
    fn what_is_small_goes_and_what_is_large_stays() {
        let (graph, tree) = tree_of("water");
        // Separators that small, with room to merge all of them.
        let limits = MergeLimits { separator: 16, clique: u64::MAX, total: u64::MAX };
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
}
