//! Size statistics of a junction tree.

use crate::graph::JunctionTree;

/// Size statistics of a junction tree: the sizes in Table 1 of Zheng, Mengshoel and Chong, the
/// totals, and the depth.
///
/// All sizes are numbers of table entries. A total that exceeds `u64` is [`u64::MAX`], and the mean
/// is then too small. A tree with one clique has no separator; the numbers on separators are then
/// zero.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TreeStatistics {
    /// Number of cliques.
    pub cliques: usize,
    /// Sum over cliques.
    pub total_clique_entries: u64,
    /// Largest clique.
    pub max_clique_entries: u64,
    /// Smallest clique.
    pub min_clique_entries: u64,
    /// Mean over cliques.
    pub mean_clique_entries: f64,
    /// Largest separator.
    pub max_separator_entries: u64,
    /// Smallest separator.
    pub min_separator_entries: u64,
    /// Mean over separators.
    pub mean_separator_entries: f64,
    /// Sum over separators.
    pub total_separator_entries: u64,
    /// Edges from the root to the furthest clique.
    pub depth: usize,
}

impl TreeStatistics {
    /// The statistics of `tree`.
    #[must_use]
    pub fn of(tree: &JunctionTree) -> Self {
        let cliques = Summary::of(tree.cliques().iter().map(|clique| clique.entries));
        let separators = Summary::of(tree.separators().iter().map(|separator| separator.entries));
        Self {
            cliques: tree.cliques().len(),
            total_clique_entries: cliques.total,
            max_clique_entries: cliques.max,
            min_clique_entries: cliques.min,
            mean_clique_entries: cliques.mean,
            max_separator_entries: separators.max,
            min_separator_entries: separators.min,
            mean_separator_entries: separators.mean,
            total_separator_entries: separators.total,
            depth: tree.depth(),
        }
    }
}

/// Total, extremes and mean of table sizes; zeros if there are none.
struct Summary {
    total: u64,
    min: u64,
    max: u64,
    mean: f64,
}

impl Summary {
    fn of(sizes: impl Iterator<Item = u64> + Clone) -> Self {
        let total = sizes.clone().fold(0, u64::saturating_add);
        let count = sizes.clone().count();
        Self {
            total,
            min: sizes.clone().min().unwrap_or(0),
            max: sizes.max().unwrap_or(0),
            mean: if count == 0 { 0.0 } else { total as f64 / count as f64 },
        }
    }
}
