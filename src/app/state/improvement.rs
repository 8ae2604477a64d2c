//! The search for a better junction tree while the window is in use.
//!
//! The search runs on a thread of the session. Each elimination order that the search finds is
//! stored in the settings at once. While the search runs, the tree of such an order is used only if
//! it is so much smaller that compiling and propagating again pays off. When the search ends, any
//! better tree is used. A tree given the evidence is not improved, because observing another
//! variable replaces it.

use std::sync::Arc;

use crate::app::state::core::Core;
use crate::graph::{KnownOrders, Triangulation};
use crate::numbers;

/// A command about the search for a better junction tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeCommand {
    /// Search until the search finds nothing better.
    Improve,
    /// Stop searching and use the best tree found.
    StopImproving,
    /// Search whenever a network is open, or only on request.
    SetKeepImproving(bool),
}

/// While the search runs, a better tree is used only if its number of entries is less than this
/// share of the entries of the current tree. When the search ends, any better tree is used. With a
/// larger share, the network is recompiled and the graph on screen changes more often, for less
/// gain.
const MAX_SHARE: f64 = 0.98;

/// Applies `command` to the open document.
pub(crate) fn apply(core: &mut Core, command: TreeCommand) {
    match command {
        TreeCommand::Improve => start(core),
        TreeCommand::StopImproving => stop(core),
        TreeCommand::SetKeepImproving(keep) => {
            core.model.settings.keep_improving = keep;
            if keep {
                start_if_wanted(core);
            } else {
                stop(core);
            }
        }
    }
}

/// Starts a search for a better tree of the open network. Chooses triangulation `auto`, which alone
/// uses the result.
fn start(core: &mut Core) {
    let before = core.model.compute.triangulation;
    if before != Triangulation::Auto {
        core.notices.info(&format!(
            "Triangulation is now auto instead of {before}: only auto uses the trees that the \
             search finds.",
            before = before.name(),
        ));
        core.model.compute.set_triangulation(Triangulation::Auto, &mut core.model.settings);
        core.request();
    }
    let Some(document) = &core.model.document else { return };
    let Some(compiled) = core.model.compiled_whole().cloned() else { return };
    let seed = core.requests.next_search();
    let search = core.requests.session.improve(document.serial, &compiled, seed);
    core.model.improvement = Some(search);
}

/// Stops the search and uses the best tree found.
fn stop(core: &mut Core) {
    cancel(core);
    use_best_tree(core, 1.0);
}

/// Stops the search without switching to the best tree found.
pub(crate) fn cancel(core: &mut Core) {
    core.requests.session.stop_improving();
    core.model.improvement = None;
}

/// Starts a search if the user wants one for every network, triangulation `auto` is chosen, and
/// there is no search, running or ended.
pub(crate) fn start_if_wanted(core: &mut Core) {
    let auto = core.model.compute.triangulation == Triangulation::Auto;
    if core.model.settings.keep_improving && auto && core.model.improvement.is_none() {
        start(core);
    }
}

/// Stores orders that the search found, and uses the best one if that pays off.
pub(crate) fn receive(core: &mut Core, orders: &KnownOrders) {
    core.model.settings.orders.merge(orders);
    if core.model.improvement.is_some() {
        use_best_tree(core, MAX_SHARE);
    }
}

/// Receives the end of the search: uses the best tree and tells the user. An error of `end` says
/// why the search never began.
pub(crate) fn receive_end(core: &mut Core, end: Result<(), String>) {
    if let Err(reason) = end {
        return core.notices.error(&format!("Cannot search for a better junction tree: {reason}"));
    }
    use_best_tree(core, 1.0);
    if let (Some(improvement), Some(compiled)) = (&core.model.improvement, core.model.compiled()) {
        let (current, best) = (compiled.statistics().total_clique_entries, improvement.best());
        core.notices.info(&if best < current {
            format!("Found a junction tree with {} entries", numbers::thousands(best))
        } else {
            "The search has ended: the current junction tree is the best one found".to_owned()
        });
    }
}

/// Compiles with the best stored order if its tree has less than `share` times the entries of the
/// current tree and triangulation `auto` is chosen.
fn use_best_tree(core: &mut Core, share: f64) {
    let Some(compiled) = core.model.compiled_whole() else { return };
    let current = compiled.statistics().total_clique_entries;
    let Some(best) = core.model.settings.orders.entries(compiled.moral_graph()) else { return };
    let auto = core.model.compute.triangulation == Triangulation::Auto;
    if auto && (best as f64) < share * current as f64 {
        let mut orders = (*core.requests.orders).clone();
        orders.merge(&core.model.settings.orders);
        if orders != *core.requests.orders {
            core.requests.orders = Arc::new(orders);
            core.request();
        }
    }
}
