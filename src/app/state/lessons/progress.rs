//! Whether the task of a step is done.

use super::script::Action;
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::state::stepping::SteppingMode;
use crate::format::{NetworkOrigin, sample};
use crate::graph::{CliqueId, JunctionTree};

/// The clique with the largest table. Of several, the first.
pub(super) fn largest_clique(tree: &JunctionTree) -> CliqueId {
    let by_size = |clique: &CliqueId| (tree[*clique].entries, std::cmp::Reverse(*clique));
    tree.clique_ids().max_by_key(by_size).expect("a tree has a clique")
}

/// The title of the network that a lesson calls `name`.
pub(super) fn title(name: &str) -> String {
    match sample(name) {
        Some(sample) => sample.name.to_owned(),
        None => NetworkOrigin::File(name.into()).title(),
    }
}

/// Whether `document` has the title of the network that a lesson calls `name`. (A file of the same
/// name in another folder counts as this network too.)
pub(super) fn is_open(name: &str, document: &Document) -> bool {
    document.title() == title(name)
}

/// Whether the task `action` of a step is done. Never done while no network is open.
pub(super) fn is_done(action: &Action, model: &Model) -> bool {
    let Some(document) = &model.document else { return false };
    let selected_clique = match model.selected() {
        Some(&Item::Clique(clique)) => Some(clique),
        _ => None,
    };
    match action {
        Action::Open(name) => is_open(name, document) && document.result.is_some(),
        Action::Observe(variable, state) => {
            let network = document.network();
            network.find(variable).is_some_and(|id| {
                let state = network[id].state_index(state);
                state.is_some() && document.evidence.observed(id) == state
            })
        }
        Action::FillEdges => model.fill_edges,
        Action::SelectClique => selected_clique.is_some(),
        Action::SelectLargest => {
            let tree = model.compiled().map(|compiled| compiled.tree());
            selected_clique.zip(tree).is_some_and(|(clique, tree)| {
                tree.cliques()
                    .get(clique.index())
                    .is_some_and(|found| found.entries == tree[largest_clique(tree)].entries)
            })
        }
        Action::SelectVariable(_) => matches!(model.selected(), Some(Item::Variable(_))),
        Action::Eliminate(_) | Action::TakeBack(_) | Action::EliminateAll => {
            model.hand_elimination().is_some_and(|elimination| {
                let done = &elimination.done;
                let is_eliminated = |name: &str| {
                    document.network().find(name).is_some_and(|id| done.is_eliminated(id))
                };
                match action {
                    Action::Eliminate(name) => is_eliminated(name),
                    Action::TakeBack(name) => !is_eliminated(name),
                    _ => done.is_complete(),
                }
            })
        }
        Action::StepThrough => model.stepping.is_some(),
        Action::StepToEnd => {
            model.stepping.zip(model.compiled()).is_some_and(|(stepping, compiled)| {
                stepping.mode == SteppingMode::Plan
                    && stepping.player.step() == compiled.plan().messages().len()
            })
        }
        Action::RecordedRuns => model.stepping.is_some() && document.second_shown.is_some(),
        Action::SlowMotion => {
            model.stepping.is_some_and(|stepping| stepping.mode == SteppingMode::SlowMotion)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{model, model_with};

    #[test]
    fn a_lesson_may_write_the_name_of_a_sample_in_capital_letters() {
        let asia = model("asia");
        let action = |name: &str| Action::Open(name.to_owned());
        assert!(is_done(&action("Asia"), &asia));
        assert!(!is_done(&action("Cancer"), &asia));
    }

    #[test]
    fn a_state_that_the_variable_does_not_have_cannot_be_observed() {
        let observe = |state: &str| Action::Observe("lung".to_owned(), state.to_owned());
        assert!(!is_done(&observe("perhaps"), &model("asia")));
        assert!(is_done(&observe("yes"), &model_with("asia", "cpu", &[("lung", "yes")])));
    }
}
