//! The forecast of a tree's memory.

use crate::engine::cpu::tables::multiply::MAX_FACTORS;
use crate::engine::cpu::tables::sparsity::MAX_GAP;
use crate::engine::cpu::tree::division::max_copied_entries;
use crate::engine::cpu::tree::rows::ROW_HEAD;
use crate::engine::cpu::tree::structure::Structure;

/// An upper bound on the memory of a tree and of one propagation in it.
pub struct Footprint {
    /// Bytes of the cliques' tables, with all their entries.
    pub table_bytes: usize,
    /// Bytes of everything else: rows, messages, and temporary memory while tables are made.
    pub other_bytes: usize,
}

impl Footprint {
    /// The footprint of a tree with table entries of `width` bytes each. `removes_zeros` says
    /// whether zeros are removed from the tables.
    pub fn new(structure: &Structure, width: usize, removes_zeros: bool) -> Self {
        let (mut table_bytes, mut held_bytes) = (0, 0);
        // Temporary memory: intermediate products, and the tables from which zeros are removed.
        let (mut product_bytes, mut removal_bytes) = (0, 0);
        for (clique, layout) in structure.layouts.iter().enumerate() {
            let entries = layout.entries();
            let rows = layout.row_count();
            let words = rows * (ROW_HEAD + layout.ports.len());
            let port_entries = || layout.ports.iter().map(|port| port.scope.entries());
            let ports_above = usize::from(structure.shape.parents[clique].is_some());
            let above: usize = port_entries().take(ports_above).sum();
            let below: usize = port_entries().skip(ports_above).sum();
            table_bytes += entries * width;
            // An entry of a separator above takes 32 bytes: `unmasked`, `down` and `mask` take 8
            // each, the permutation 4, and the inverse permutation or the entry map 4. An entry below takes 20: `up` and
            // `beliefs` take 8 each, the entry map 4. Counting 24 leaves room for dummy entries.
            held_bytes += words * 4 + above * 32 + below * 24;
            held_bytes += max_copied_entries(entries, below) * 8;
            if removes_zeros {
                let sparse_words = (rows + entries / MAX_GAP) * (ROW_HEAD + layout.ports.len());
                removal_bytes = removal_bytes.max(entries * width + sparse_words * 4);
            }
            if structure.shape.factors[clique].len() > MAX_FACTORS {
                product_bytes += entries * 8;
            }
        }
        Self { table_bytes, other_bytes: held_bytes + product_bytes.max(removal_bytes) }
    }
}

/// The maximum memory that a pool gives to tables that need `needed`. Both numbers are in entries,
/// or both in bytes. Small tables may get a little more.
pub fn max_pooled(needed: usize) -> usize {
    needed / 2 * 3
}
