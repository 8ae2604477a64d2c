//! The least that one propagation on a GPU can take.

use crate::graph::JunctionTree;

/// The GPU on which the constants here were measured.
pub(super) const FLOOR_IS_OF: &str = "NVIDIA H200";

/// Handing a message from one block to another through global memory, microseconds.
const HOP_US: f64 = 0.62;

/// Bytes that all blocks together read in a microsecond, out of the cache and out of memory.
const CACHED: f64 = 7.7e6;
const UNCACHED: f64 = 4.5e6;

/// Bytes that the cache holds.
const CACHE: f64 = 60e6;

/// One launch with a small copy back, microseconds.
const LAUNCH_US: f64 = 8.7;

/// The least that a propagation with all posteriors can take on the GPU, microseconds: potentials are
/// read once on the way up and once on the way down, in 4 bytes an entry, and each level of
/// the tree waits for the one before it.
pub(super) fn floor_us(tree: &JunctionTree) -> f64 {
    let mut levels = vec![0.0; tree.depth() + 1];
    for clique in tree.clique_ids() {
        levels[tree.depth_of(clique)] += 4.0 * tree[clique].entries as f64;
    }
    let bandwidth = if levels.iter().sum::<f64>() <= CACHE { CACHED } else { UNCACHED };
    let ways = levels.iter().map(|bytes| 2.0 * HOP_US.max(bytes / bandwidth)).sum::<f64>();
    ways + LAUNCH_US
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Clique, CliqueId, Separator};

    #[test]
    fn small_levels_cost_a_hop_and_large_ones_their_bytes() {
        let clique = |entries| Clique { variables: vec![], entries };
        let (parent, child) = (CliqueId::new(0), CliqueId::new(1));
        let separator = Separator { variables: vec![], entries: 1, parent, child };
        let tree = |entries| {
            let cliques = vec![clique(10), clique(entries)];
            JunctionTree::new(cliques, vec![separator.clone()], parent)
        };
        assert!((floor_us(&tree(10)) - (8.7 + 4.0 * 0.62)).abs() < 1e-9);
        let cached = floor_us(&tree(7_700_000)) - 8.7 - 1.24;
        assert!((cached - 8.0).abs() < 1e-9);
        let uncached = floor_us(&tree(45_000_000)) - 8.7 - 1.24;
        assert!((uncached - 80.0).abs() < 1e-9);
    }
}
