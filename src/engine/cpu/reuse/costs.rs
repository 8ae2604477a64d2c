//! Forecasts the time of a propagation, for the choice of a strategy.
//!
//! In this module, *cached* means held in the processor's caches.
//!
//! All costs are in nanoseconds on one core. They were tuned with the paper's eight networks on
//! desktop and server machines, and need only be right within a factor of two. A wrong cost makes
//! the engine choose the slower strategy in close cases, and changes results only in their last
//! bits.

use std::sync::Arc;

use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::reuse::change::Change;
use crate::engine::cpu::reuse::reused::ReusedCliques;
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::rows::ROW_HEAD;
use crate::engine::cpu::tree::structure::Structure;

/// Per table entry, for both passes.
const ENTRY: f64 = 0.55;

/// Instead of [`ENTRY`], per entry that a factored table would have if it were multiplied out.
const FACTORED_ENTRY: f64 = 0.35;

/// Per row that is read, for both passes, in addition to [`SKIPPED_ROW`].
const ROW: f64 = 16.0;

/// Per row, for both passes, even if an observation rules the row out.
const SKIPPED_ROW: f64 = 2.0;

/// Per separator entry, for both passes.
const SEPARATOR_ENTRY: f64 = 6.0;

/// Per clique, for both passes.
const CLIQUE: f64 = 700.0;

/// A tree with fewer table entries than this stays in the processor's cache, with everything else
/// that a propagation touches.
const CACHED_ENTRIES: usize = 600_000;

/// If the tree stays in the processor's cache, a propagation costs this share of the sum of the
/// costs above.
const CACHED_SHARE: f64 = 0.75;

/// Per table entry that is computed for a new reduced tree.
const MAKE_ENTRY: f64 = 1.7;

/// Per word of the rows that are written for a new reduced tree.
const MAKE_WORD: f64 = 4.0;

/// Per entry of a separator in a new reduced tree, for its permutation and for memory.
const MAKE_SEPARATOR_ENTRY: f64 = 4.0;

/// Per clique of a new reduced tree.
const MAKE_CLIQUE: f64 = 300.0;

/// The search for a new reduced tree, per unobserved variable. Most of it is the cost of
/// triangulation.
const SEARCH_VARIABLE: f64 = 1_700.0;

/// The cost per table entry of making a new reduced tree and of a propagation in it, as it is
/// assumed before the tree is known. If it is too high, good trees are not found; if it is too low,
/// trees are found that do not pay off.
const NEW_ENTRY: f64 = 1.0;

/// As [`NEW_ENTRY`], if cliques of a previous tree can be reused.
const REBUILT_ENTRY: f64 = 0.7;

/// A new tree is searched for only if the best known strategy costs at least this many times as
/// much as the search, because the search is in vain if it finds no tree that pays off.
const MIN_SEARCH_GAIN: f64 = 3.0;

/// The cost of passing the messages that `change` asks for through `tree`. `observed` has, by
/// variable, the observed state if there is one.
///
/// If a variable in the `outer` scope of a clique's layout is observed, only the rows with the
/// observed state are read.
pub fn propagation(
    structure: &Structure,
    tree: &Tree,
    change: &Change,
    observed: &[Option<usize>],
) -> f64 {
    let stale = change.needed.iter().zip(&change.up).zip(&change.down);
    let passes =
        stale.map(|((&needed, &up), &down)| f64::from(u8::from(needed && up) + u8::from(down)));
    let nodes = structure.layouts.iter().zip(&tree.nodes).zip(passes);
    let cost = |((layout, node), passes): ((&Arc<Layout>, &Node), f64)| {
        if passes == 0.0 {
            return 0.0;
        }
        let slow = layout.outer.variables().iter().zip(layout.outer.cardinalities());
        let fixed = slow.filter(|(v, _)| observed[v.index()].is_some());
        let read: f64 = fixed.map(|(_, &states)| 1.0 / states as f64).product();
        let size = Size {
            entries: node.entries,
            rows: node.row_count(),
            separator: node.above.len(),
            is_factored: node.stride > ROW_HEAD + layout.ports.len(),
        };
        0.5 * passes * size.both_passes(read)
    };
    cached_share(tree.entries()) * nodes.map(cost).sum::<f64>()
}

/// The size of a clique's table, of its rows and of the separator to its parent.
struct Size {
    entries: usize,
    rows: usize,
    separator: usize,
    is_factored: bool,
}

impl Size {
    /// The cost of both passes if the share `read` of the rows is read.
    fn both_passes(&self, read: f64) -> f64 {
        let entry = if self.is_factored { FACTORED_ENTRY } else { ENTRY };
        let rows = self.rows as f64;
        let always = CLIQUE + rows * SKIPPED_ROW + self.separator as f64 * SEPARATOR_ENTRY;
        always + read * (self.entries as f64 * entry + rows * ROW)
    }
}

/// The factor for the cost of a propagation through a tree with this many entries.
fn cached_share(entries: usize) -> f64 {
    if entries < CACHED_ENTRIES { CACHED_SHARE } else { 1.0 }
}

/// The cost of a propagation in a new reduced tree, including the cost of making the tables and
/// rows that are not `reused`, but not of the search for the tree. All messages count, although
/// some may be copied from a previous tree.
pub fn with_new_tree(
    structure: &Structure,
    reused: Option<&ReusedCliques>,
    inputs: TableInputs<'_>,
) -> f64 {
    let (mut entries, mut passes, mut making) = (0, 0.0, 0.0);
    for (clique, (layout, factors)) in
        structure.layouts.iter().zip(&structure.shape.factors).enumerate()
    {
        let plan = FactoringPlan::new(inputs, layout, factors);
        let ports_above = usize::from(structure.shape.parents[clique].is_some());
        let separator = layout.ports.iter().take(ports_above).map(|port| port.scope.entries());
        let size = Size {
            entries: layout.entries(),
            rows: layout.row_count(),
            separator: separator.sum(),
            is_factored: plan.is_some(),
        };
        entries += size.entries;
        passes += size.both_passes(1.0);
        making += MAKE_CLIQUE + size.separator as f64 * MAKE_SEPARATOR_ENTRY;
        if plan.is_none() && !reused.is_some_and(|reused| reused.has_table(clique)) {
            making += size.entries as f64 * MAKE_ENTRY;
        }
        if reused.and_then(|reused| reused.with_same_ports(clique)).is_none() {
            let groups = plan.as_ref().map_or(0, FactoringPlan::groups);
            let words = size.rows * (ROW_HEAD + layout.ports.len() + groups);
            making += words as f64 * MAKE_WORD;
        }
    }
    cached_share(entries) * passes + making
}

/// The cost of the search for a tree of this many variables.
pub fn search(variables: usize) -> f64 {
    SEARCH_VARIABLE * variables as f64
}

/// Maximum number of entries of a new reduced tree for making it and propagating in it to be
/// assumed to cost less than `best`, the cost of the best known strategy; zero if a search that
/// costs `search` does not pay off. `has_previous` says whether tables of a previous tree can be
/// reused.
pub fn max_entries(best: f64, search: f64, has_previous: bool) -> u64 {
    let entry = if has_previous { REBUILT_ENTRY } else { NEW_ENTRY };
    if best >= MIN_SEARCH_GAIN * search { ((best - search) / entry) as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_must_be_far_cheaper_than_what_is_known() {
        let search = search(100);
        assert_eq!(max_entries(2.9 * search, search, false), 0);
        let entries =
            [false, true].map(|has_previous| max_entries(3.1 * search, search, has_previous));
        assert!(0 < entries[0] && entries[0] < entries[1], "{entries:?}");
        assert_eq!(max_entries(3.1 * search, 0.0, false), (3.1 * search) as u64);
    }
}
