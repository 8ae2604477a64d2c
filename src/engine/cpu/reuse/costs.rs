//! Forecasts the time of a propagation, for the choice of a strategy.
//!
//! In this module, *cached* means held in the processor's caches.
//!
//! All costs are in nanoseconds on one core. They were tuned with the paper's eight networks on
//! desktop and server machines, and need only be right within a factor of two. A wrong cost makes
//! the engine choose the slower strategy in close cases, and changes results only in their last
//! bits.

use std::sync::Arc;

use crate::engine::cpu::reuse::change::Change;
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::structure::Structure;

/// Per table entry, for both passes.
const ENTRY: f64 = 0.8;

/// Per row that is read, for both passes, in addition to [`SKIPPED_ROW`].
const ROW: f64 = 12.0;

/// Per row, for both passes, even if an observation rules the row out.
const SKIPPED_ROW: f64 = 5.0;

/// Per separator entry, for both passes.
const SEPARATOR_ENTRY: f64 = 5.0;

/// As [`SEPARATOR_ENTRY`], in a tree with more than [`MAX_CACHED_SEPARATOR_ENTRIES`].
const UNCACHED_SEPARATOR_ENTRY: f64 = 8.0;

/// Maximum number of separator entries of a tree for messages to stay in the processor's cache
/// until they are read again.
const MAX_CACHED_SEPARATOR_ENTRIES: usize = 700_000;

/// Per clique, for both passes.
const CLIQUE: f64 = 200.0;

/// A tree with fewer table entries than this stays in the processor's cache, with everything else
/// that a propagation touches.
const CACHED_ENTRIES: usize = 600_000;

/// If the tree stays in the processor's cache, a propagation costs this share of the sum of the
/// costs above.
const CACHED_SHARE: f64 = 0.5;

/// Per table entry that is computed for a new reduced tree.
const MAKE_ENTRY: f64 = 1.0;

/// The search for a new reduced tree, per variable of this tree. Most of it is the cost of
/// triangulation.
const MAKE_VARIABLE: f64 = 2200.0;

/// As [`MAKE_ENTRY`], if there is no earlier reduced tree, and the new one has fewer than
/// [`CACHED_ENTRIES`] entries.
const MAKE_CACHED_ENTRY: f64 = 0.6;

/// As [`MAKE_VARIABLE`], if there is no earlier reduced tree, and the new one has fewer than
/// [`CACHED_ENTRIES`] entries.
const MAKE_CACHED_VARIABLE: f64 = 1300.0;

/// The assumed share of a tree's entries that must be made if cliques of a previous tree can be
/// reused.
const MADE_SHARE: f64 = 0.3;

/// A new tree is searched for only if the best known strategy costs at least this many times as
/// much as the search, because the search is in vain if it finds no tree.
const MIN_SEARCH_GAIN: f64 = 2.0;

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
    let share = if tree.entries() < CACHED_ENTRIES { CACHED_SHARE } else { 1.0 };
    let is_cached = tree.above <= MAX_CACHED_SEPARATOR_ENTRIES;
    let separator = if is_cached { SEPARATOR_ENTRY } else { UNCACHED_SEPARATOR_ENTRY };
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
        let rows = node.row_count() as f64;
        let entries = node.entries as f64;
        let always = CLIQUE + rows * SKIPPED_ROW + node.above.len() as f64 * separator;
        0.5 * passes * (always + read * (entries * ENTRY + rows * ROW))
    };
    share * nodes.map(cost).sum::<f64>()
}

/// The cost of a propagation in a reduced tree with the given number of entries, including the cost
/// of making its tables for other observed states.
pub fn with_other_states(entries: usize) -> f64 {
    entries as f64 * (ENTRY + MADE_SHARE * MAKE_ENTRY)
}

/// The cost of a propagation in a new reduced tree with the given numbers of entries and variables,
/// including the cost of making all tables and the share `build_share` of the cost of searching for
/// the tree.
pub fn with_new_tree(entries: usize, variables: usize, build_share: f64) -> f64 {
    let per_entry = CACHED_SHARE * ENTRY + MAKE_ENTRY;
    entries as f64 * per_entry + build_share * MAKE_VARIABLE * variables as f64
}

/// Maximum number of entries of a new reduced tree, with the given number of variables, for it to
/// cost less than `best`, the cost of the best known strategy; zero if a search does not pay off.
/// `has_previous` says whether there is a previous tree from which most tables are reused.
pub fn max_entries(best: f64, variables: usize, build_share: f64, has_previous: bool) -> u64 {
    let made_share = if has_previous { MADE_SHARE } else { 1.0 };
    let limit = |per_variable: f64, per_entry: f64| {
        let search = build_share * per_variable * variables as f64;
        let limit = (best - search) / (CACHED_SHARE * ENTRY + made_share * per_entry);
        if best >= MIN_SEARCH_GAIN * search { limit as u64 } else { 0 }
    };
    let limit_of_large = limit(MAKE_VARIABLE, MAKE_ENTRY);
    if has_previous {
        return limit_of_large;
    }
    let limit_of_cached = limit(MAKE_CACHED_VARIABLE, MAKE_CACHED_ENTRY);
    limit_of_large.max(limit_of_cached.min(CACHED_ENTRIES as u64))
}
