//! Whether the task of a step is done.

use super::script::Until;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::state::stepping::SteppingMode;
use crate::graph::{CliqueId, JunctionTree};

/// The clique with the largest table. Of several, the first.
pub(super) fn largest_clique(tree: &JunctionTree) -> CliqueId {
    let by_size = |clique: &CliqueId| (tree[*clique].entries, std::cmp::Reverse(*clique));
    tree.clique_ids().max_by_key(by_size).expect("a tree has a clique")
}

/// Whether the condition `until` holds. Never holds while no network is open.
pub(super) fn is_done(until: &Until, model: &Model) -> bool {
    let Some(document) = &model.document else { return false };
    let selected_clique = match model.selected() {
        Some(&Item::Clique(clique)) => Some(clique),
        _ => None,
    };
    match until {
        Until::Read => true,
        Until::Opened(name) => document.title() == *name && document.result.is_some(),
        Until::Observed(variable, state) => {
            let network = document.network();
            network
                .find(variable)
                .is_some_and(|id| document.evidence.observed(id) == network[id].state_index(state))
        }
        Until::FillEdges => model.fill_edges,
        Until::CliqueSelected => selected_clique.is_some(),
        Until::LargestSelected => {
            let tree = model.compiled().map(|compiled| compiled.tree());
            selected_clique.zip(tree).is_some_and(|(clique, tree)| {
                tree.cliques()
                    .get(clique.index())
                    .is_some_and(|found| found.entries == tree[largest_clique(tree)].entries)
            })
        }
        Until::VariableSelected => matches!(model.selected(), Some(Item::Variable(_))),
        Until::Walking => model.stepping.is_some(),
        Until::Walked => {
            model.stepping.zip(model.compiled()).is_some_and(|(stepping, compiled)| {
                stepping.mode == SteppingMode::Plan
                    && stepping.player.step() == compiled.plan().messages().len()
            })
        }
        Until::SlowMotion => {
            model.stepping.is_some_and(|stepping| stepping.mode == SteppingMode::SlowMotion)
        }
    }
}
