//! Elimination by hand.

use cliquescope::app::Workbench;
use cliquescope::app::state::command::{DocumentCommand, EliminationCommand, ViewCommand};
use cliquescope::app::state::highlight::Item;
use cliquescope::format::NetworkSource;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use crate::common::window::{open, settle};

#[test]
fn an_elimination_order_is_chosen_by_clicks_and_taken_back() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    let elimination = cliquescope::app::state::pane::Pane::Elimination;
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(elimination));
    harness.run_steps(4);
    harness.get_by_label("0 of 8 variables eliminated");
    harness.get_by_label_contains("Eliminate either: adds 8 fill edges").click();
    harness.run_steps(3);
    harness.get_by_label("1 of 8 variables eliminated");
    let total = |harness: &Harness<'_, Workbench>| {
        harness.state().model().hand_elimination().expect("begun").done.cost().total
    };
    assert_eq!(total(&harness), 64);
    harness.get_by_label("Take back").click();
    harness.run_steps(3);
    assert_eq!(total(&harness), 0);
    harness.get_by_label("Finish with min-fill").click();
    harness.run_steps(3);
    assert_eq!(total(&harness), 40);
    harness.get_by_label("Your order needs as few table entries as the best known one.");
    harness.get_by_label("Start again").click();
    harness.run_steps(3);
    assert_eq!(total(&harness), 0);
}

#[test]
fn taking_back_a_variable_takes_back_what_was_eliminated_after_it() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    let find = |harness: &Harness<'_, Workbench>, name: &str| {
        harness.state().model().document.as_ref().expect("open").network().find(name).expect(name)
    };
    let names = ["xray", "either", "asia"];
    let ids = names.map(|name| find(&harness, name));
    harness.state_mut().run_command(&ctx, EliminationCommand::Begin);
    for id in ids {
        harness.state_mut().run_command(&ctx, EliminationCommand::Eliminate(id));
    }
    harness.state_mut().run_command(&ctx, EliminationCommand::TakeBackFrom(ids[1]));
    harness.run_steps(2);
    let done =
        |id| harness.state().model().hand_elimination().expect("begun").done.is_eliminated(id);
    assert_eq!(ids.map(done), [true, false, false]);
}

#[test]
fn opening_a_smaller_network_with_the_pointer_on_a_variable_does_no_harm() {
    let mut harness = open("child");
    let ctx = harness.ctx.clone();
    let elimination = cliquescope::app::state::pane::Pane::Elimination;
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(elimination));
    harness.run_steps(4);
    let last = harness.get_by_label_contains("Eliminate Grunting:").rect();
    harness.hover_at(last.center());
    harness.run_steps(3);
    let hovered = harness.state().model().hovered().cloned();
    assert!(matches!(hovered, Some(Item::Variable(variable)) if variable.index() >= 5));
    let cancer = DocumentCommand::Open(NetworkSource::Named("cancer".to_owned()));
    harness.state_mut().run_command(&ctx, cancer);
    settle(&mut harness);
    harness.get_by_label("0 of 5 variables eliminated");
}
