use eframe::egui::vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::app::state::command::{Command, EvidenceCommand};
use crate::app::state::highlight::Highlight;
use crate::app::testing::{Bench, drive_model, label_containing, model, model_with};
use crate::app::widgets::naming;
use crate::graph::SeparatorId;
use crate::network::{FactorId, VariableId};
use crate::propagation::{MessageId, Phase};

/// The pane after selecting the item that `pick` chooses from the model.
fn with_selection<'a>(mut model: Model, pick: impl FnOnce(&Model) -> Item) -> Harness<'a, Bench> {
    let item = pick(&model);
    model.selection = Highlight::of(Some(item), model.compiled().map(|compiled| &**compiled));
    shown(model)
}

fn shown<'a>(model: Model) -> Harness<'a, Bench> {
    let mut pane = DetailsPane::default();
    let mut harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness
}

fn variable(model: &Model, name: &str) -> VariableId {
    model.document.as_ref().unwrap().network().find(name).unwrap()
}

/// Clicks the first link that says `text`.
fn follow(harness: &mut Harness<'_, Bench>, text: &str) {
    let link = harness.query_all_by_label(text).next();
    link.unwrap_or_else(|| panic!("there is no link '{text}'")).click();
    harness.run();
}

#[test]
fn without_a_selection_the_network_is_summarised() {
    let mut harness = shown(model("asia"));
    let statistics = harness.state().model.compiled().unwrap().statistics().clone();
    harness.get_by_label("asia");
    harness.get_by_label("Junction tree");
    label_containing(&harness, "these three hold");
    label_containing(&harness, &format!("{} entries", statistics.max_clique_entries));
    let tree = harness.state().tree();
    let largest = tree.clique_ids().max_by_key(|&c| (tree[c].entries, std::cmp::Reverse(c)));
    let largest = largest.unwrap();
    follow(&mut harness, &crate::app::widgets::naming::clique_id(largest));
    assert_eq!(harness.state().model.selected(), Some(&Item::Clique(largest)));
}

#[test]
fn the_priors_of_a_variable_with_long_states_are_in_view_in_a_narrow_pane() {
    let model = model("barley");
    let area = variable(&model, "nedbarea");
    let mut harness = with_selection(model, |_| Item::Variable(area));
    harness.set_size(vec2(280.0, 400.0));
    harness.run();
    let numbers: Vec<f32> =
        harness.query_all_by_label("33.3%").map(|number| number.rect().right()).collect();
    assert_eq!(numbers.len(), 6, "posteriors and priors of three states");
    assert!(numbers.iter().all(|right| *right <= 280.0), "{numbers:?}");
}

#[test]
fn a_variable_shows_prior_and_posterior_and_links_to_its_parent() {
    let model = model_with("asia", "sequential", &[("xray", "yes")]);
    let lung = variable(&model, "lung");
    let mut harness = with_selection(model, |_| Item::Variable(lung));
    harness.get_by_label("48.9%");
    harness.get_by_label("5.5%");
    follow(&mut harness, "smoke");
    let smoke = variable(&harness.state().model, "smoke");
    assert_eq!(harness.state().model.selected(), Some(&Item::Variable(smoke)));
}

#[test]
fn a_finding_can_be_retracted_and_a_state_observed() {
    let model = model_with("asia", "sequential", &[("xray", "yes")]);
    let xray = variable(&model, "xray");
    let mut harness = with_selection(model, |_| Item::Variable(xray));
    harness.get_by_label("observed: yes");
    harness.get_by_label("Retract").click();
    harness.run();
    follow(&mut harness, "no");
    let no = harness.state().model.document.as_ref().unwrap().network()[xray].state_index("no");
    let expected = [
        Command::Evidence(EvidenceCommand::Retract(xray)),
        Command::Evidence(EvidenceCommand::Toggle(xray, no.unwrap())),
    ];
    assert_eq!(harness.state().pushed, expected);
}

#[test]
fn a_clique_lists_the_tables_that_were_multiplied_into_it() {
    let model = model("asia");
    let either = variable(&model, "either");
    let home = model.compiled().unwrap().factor_home(FactorId::new(either.index()));
    let mut harness = with_selection(model, |_| Item::Clique(home));
    label_containing(&harness, "Tables multiplied in");
    label_containing(&harness, "Neighbours");
    follow(&mut harness, "either");
    assert_eq!(harness.state().model.selected(), Some(&Item::Variable(either)));
}

#[test]
fn names_are_shortened_to_the_width_of_a_narrow_pane() {
    const WIDTH: f32 = 170.0;
    let model = model("alarm");
    let compiled = std::sync::Arc::clone(model.compiled().unwrap());
    let (tree, plan) = (compiled.tree(), compiled.plan());
    let length = |&separator: &SeparatorId| naming::separator(&compiled, separator).len();
    let longest = tree.separator_ids().max_by_key(length).unwrap();
    let message = plan.message_over(longest, Phase::Collect).unwrap();
    let separator = naming::separator(&compiled, longest);
    let clique = naming::clique(&compiled, tree[longest].parent);
    for (item, name) in [
        (Item::Clique(tree[longest].parent), &separator),
        (Item::Separator(longest), &clique),
        (Item::Message(message), &separator),
        (Item::Cliques([tree[longest].parent].into()), &clique),
        (Item::Separators([longest].into()), &separator),
    ] {
        let mut harness = with_selection(model.clone(), |_| item.clone());
        let right = |harness: &Harness<'_, Bench>| harness.get_by_label(name).rect().right();
        assert!(right(&harness) > WIDTH, "{name} is too short for this test");
        harness.set_size(vec2(WIDTH, 1200.0));
        harness.run();
        assert!(right(&harness) <= WIDTH, "{item:?}");
        harness.get_by_label(name).hover();
        // Until the tooltip appears.
        harness.run_steps(80);
        // The link and the tooltip.
        assert_eq!(harness.query_all_by_label(name).count(), 2, "{item:?}");
    }
}

#[test]
fn a_separator_links_to_both_of_its_messages() {
    let model = model("asia");
    let compiled = std::sync::Arc::clone(model.compiled().unwrap());
    for separator in compiled.tree().separator_ids() {
        for phase in [Phase::Collect, Phase::Distribute] {
            let message = compiled.plan().message_over(separator, phase).unwrap();
            let mut harness = with_selection(model.clone(), |_| Item::Separator(separator));
            let ends = crate::app::widgets::naming::message_ends(&compiled, message);
            follow(&mut harness, &format!("{}  {ends}", message.index()));
            assert_eq!(harness.state().model.selected(), Some(&Item::Message(message)));
        }
    }
}

#[test]
fn a_message_shows_its_equations_and_buttons_for_its_neighbours() {
    let mut harness = with_selection(model("asia"), |_| Item::Message(MessageId::new(0)));
    label_containing(&harness, " of ψ_C");
    label_containing(&harness, "summed over");
    label_containing(&harness, "of all messages' time");
    harness.get_by_label("Next message").click();
    harness.run();
    let message = |index| Some(Item::Message(MessageId::new(index)));
    assert_eq!(harness.state().model.selected(), message(1).as_ref());
    harness.get_by_label("Previous message").click();
    harness.run();
    assert_eq!(harness.state().model.selected(), message(0).as_ref());
}

#[test]
fn a_set_of_separators_is_counted_and_listed() {
    let model = model("asia");
    let all: std::sync::Arc<[_]> = model.compiled().unwrap().tree().separator_ids().collect();
    let mut harness = with_selection(model, |_| Item::Separators(all.clone()));
    let compiled = std::sync::Arc::clone(harness.state().model.compiled().unwrap());
    harness.get_by_label(&format!("{} separators", all.len()));
    follow(&mut harness, &crate::app::widgets::naming::separator(&compiled, all[1]));
    assert_eq!(harness.state().model.selected(), Some(&Item::Separator(all[1])));
}

#[test]
fn without_a_network_the_pane_says_what_to_do() {
    let harness = shown(model(""));
    harness.get_by_label_contains("Open a network");
}
