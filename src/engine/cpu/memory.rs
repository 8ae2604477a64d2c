//! The memory of a tree, computed before its tables are made.

use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tables::multiply::MAX_FACTORS;
use crate::engine::cpu::tables::sparsity::MAX_GAP;
use crate::engine::cpu::tree::division::{
    MIN_ENTRIES_PER_COPIED, MIN_SPARSE_ENTRIES_PER_COPIED, max_copied_entries,
};
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::cpu::tree::rows::ROW_HEAD;
use crate::engine::cpu::tree::structure::Structure;
use crate::network::Network;

/// Number of tables whose intermediate products the forecast counts. If more threads than this make
/// tables with many factors at the same time, which is rare, the forecast is too low.
const PRODUCTS_AT_ONCE: usize = 2;

/// Bytes of the messages, beliefs and masks of a propagation, for a tree with the given numbers of
/// entries in the regions above and below, and of entries that are copied for threads.
///
/// A [`State`](crate::engine::cpu::pass::state::State) has two tables over the region above
/// (`unmasked` and `mask`) and two over the region below (`up` and `beliefs`), all of `f64`.
fn state_bytes(above: usize, below: usize, copied: usize) -> usize {
    8 * (2 * (above + below) + copied)
}

/// The intermediate products that exist while tables with many factors are made.
#[derive(Default)]
pub struct Products {
    /// The numbers of entries of the largest products.
    largest: [usize; PRODUCTS_AT_ONCE],
}

impl Products {
    /// Adds a table of `entries` entries that is the product of `factors` factors. Each
    /// intermediate product is made from the one before, so there are at most two at a time.
    pub fn add(&mut self, entries: usize, factors: usize) {
        let products = factors.div_ceil(MAX_FACTORS).saturating_sub(1).min(2);
        if let Some(smallest) = self.largest.iter_mut().min() {
            *smallest = (products * entries).max(*smallest);
        }
    }

    /// Bytes of the intermediate products.
    pub fn bytes(&self) -> usize {
        8 * self.largest.iter().sum::<usize>()
    }
}

/// The size of a tree and of one propagation in it, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Footprint {
    /// The cliques' tables.
    pub tables: usize,
    /// Rows, messages, and temporary memory while tables are made.
    pub others: usize,
}

impl Footprint {
    /// The footprint of a tree that holds all entries of its tables, of `width` bytes each. With
    /// `inputs`, tables are factored where this pays off; without, none is.
    pub fn new(structure: &Structure, width: usize, inputs: Option<TableInputs<'_>>) -> Self {
        Self::with_copies(structure, width, inputs, MIN_ENTRIES_PER_COPIED)
    }

    /// As [`new`](Self::new), if a part of a table has at least `per_copied` times as many entries
    /// as its copies of the tables onto which it is summed; see
    /// [`division`](crate::engine::cpu::tree::division).
    fn with_copies(
        structure: &Structure,
        width: usize,
        inputs: Option<TableInputs<'_>>,
        per_copied: usize,
    ) -> Self {
        let (mut tables, mut others, mut products) = (0, 0, Products::default());
        let mut largest_above = 0;
        for (clique, layout) in structure.layouts.iter().enumerate() {
            let factors = &structure.shape.factors[clique];
            let plan = inputs.and_then(|inputs| FactoringPlan::new(inputs, layout, factors));
            let groups = plan.as_ref().map_or(0, FactoringPlan::groups);
            let entries = layout.entries();
            let port_entries = || layout.ports.iter().map(|port| port.scope.entries());
            let ports_above = usize::from(structure.shape.parents[clique].is_some());
            let above: usize = port_entries().take(ports_above).sum();
            let below: usize = port_entries().skip(ports_above).sum();
            let words = layout.row_count() * (ROW_HEAD + layout.ports.len() + groups);
            // A permutation, and its inverse if the separator is large.
            let permutations = structure.permuted_run(clique).map_or(0, |run| 2 * above / run);
            let copied = max_copied_entries(entries, below, per_copied);
            others += 4 * (words + permutations) + state_bytes(above, below, copied);
            largest_above = above.max(largest_above);
            tables += plan.as_ref().map_or(entries * width, FactoringPlan::bytes);
            if plan.is_none() {
                products.add(entries, factors.len());
            }
        }
        // The message from the parent of a clique that is not divided is in memory as a whole.
        Self { tables, others: others + size_of::<f64>() * largest_above + products.bytes() }
    }

    /// An upper bound for the tree of `network`, which has zeros. They are removed from the tables.
    /// At first, all tables are boolean and have all their entries, and a
    /// [copy](Network::with_ones) of the network is held too, and the supports of the separators,
    /// which take less than the messages.
    pub fn with_zeros(structure: &Structure, network: &Network, width: usize) -> Self {
        let per_copied = MIN_SPARSE_ENTRIES_PER_COPIED;
        let Self { tables, others } = Self::with_copies(structure, width, None, per_copied);
        let removal = |layout: &Layout| {
            let rows = layout.row_count() + layout.entries() / MAX_GAP;
            // A compressed separator has a permutation, its inverse and a map at each end.
            let separator = layout.ports.first().map_or(0, |port| port.scope.entries());
            layout.entries() + 4 * (rows * (ROW_HEAD + layout.ports.len()) + 4 * separator)
        };
        let removal: usize = structure.layouts.iter().map(|layout| removal(layout)).sum();
        Self { tables, others: others + removal + factor_bytes(network) }
    }

    /// All bytes.
    pub fn bytes(self) -> usize {
        self.tables + self.others
    }
}

/// Bytes of the values of all factors of `network`.
pub fn factor_bytes(network: &Network) -> usize {
    network.factors().map(|factor| size_of_val(factor.values())).sum()
}

/// The maximum memory that a [`ReusePool`](crate::engine::cpu::tables::pool::ReusePool) gives to
/// tables that need `needed`. Both numbers are in entries, or both in bytes. Small tables may get a
/// little more. With a larger factor than 3/2, more tables get memory from the pool, but the tables
/// together may take more memory.
pub fn max_pooled(needed: usize) -> usize {
    needed / 2 * 3
}
