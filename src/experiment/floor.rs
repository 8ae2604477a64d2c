//! The floor: a lower bound for the time of a propagation on a GPU.

use crate::graph::JunctionTree;

/// The GPU on which the constants of this file were measured. On another GPU, the constants and
/// thus the floor may be wrong.
pub(super) const FLOOR_GPU: &str = "NVIDIA H200";

/// Time of a hop, which passes a message from one block to another through global memory, in
/// microseconds.
const HOP_US: f64 = 0.62;

/// Bytes that all blocks together read from the L2 cache in a microsecond.
const CACHE_BYTES_PER_US: f64 = 7.7e6;

/// Bytes that all blocks together read from memory in a microsecond.
const MEMORY_BYTES_PER_US: f64 = 4.5e6;

/// Size of the L2 cache, in bytes.
const CACHE_BYTES: f64 = 60e6;

/// Time of one launch with a small copy back to the host, in microseconds.
const LAUNCH_US: f64 = 8.7;

/// The floor of a propagation with all posteriors, in microseconds.
///
/// In collect and in distribute, a level of the tree waits for the level before it. A level takes
/// the time to read its tables once, at 4 bytes per entry, or the time of a hop if that is longer.
/// The tables are read from the cache if all of them fit into it, otherwise from memory. An engine
/// that skips zeros or does without clique tables reads less, so its time may be below the floor.
pub(super) fn floor_us(tree: &JunctionTree) -> f64 {
    let mut level_bytes = vec![0.0; tree.depth() + 1];
    for clique in tree.clique_ids() {
        level_bytes[tree.depth_of(clique)] += 4.0 * tree[clique].entries as f64;
    }
    let fits_cache = level_bytes.iter().sum::<f64>() <= CACHE_BYTES;
    let bytes_per_us = if fits_cache { CACHE_BYTES_PER_US } else { MEMORY_BYTES_PER_US };
    let both_stages = level_bytes.iter().map(|bytes| 2.0 * HOP_US.max(bytes / bytes_per_us));
    both_stages.sum::<f64>() + LAUNCH_US
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
