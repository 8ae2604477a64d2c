use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::app::state::command::Command;
use crate::app::testing::{Bench, drive_model, model};
use crate::graph::KnownOrders;

/// The pane with the sample called `network`, after eliminating the variables called `eliminated`.
fn pane(network: &str, eliminated: &[&str]) -> Harness<'static, Bench> {
    let mut model = model(network);
    let mut elimination = HandElimination::begin(&model, &[&KnownOrders::shipped()]).unwrap();
    for name in eliminated {
        let found = model.document.as_ref().unwrap().network().find(name).unwrap();
        elimination.done.eliminate(found);
    }
    model.elimination = Some(elimination);
    let mut pane = EliminationPane::default();
    let mut harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness
}

/// The commands about the elimination that the pane pushed.
fn pushed(harness: &Harness<'_, Bench>) -> Vec<EliminationCommand> {
    let commands = harness.state().pushed.iter();
    let elimination = commands.filter_map(|command| match command {
        Command::Elimination(command) => Some(command.clone()),
        _ => None,
    });
    elimination.collect()
}

#[test]
fn each_variable_is_listed_with_what_its_elimination_costs() {
    let mut harness = pane("asia", &[]);
    harness.get_by_label("0 of 8 variables eliminated");
    let smoke =
        "Eliminate smoke: adds 1 fill edge: lung – bronc; table of 8 entries over 3 variables";
    harness.get_by_label(smoke).click();
    harness.run();
    let network = harness.state().model.document.as_ref().unwrap().network();
    let smoke = network.find("smoke").unwrap();
    assert_eq!(pushed(&harness), [EliminationCommand::Eliminate(smoke)]);
}

#[test]
fn a_bad_order_is_compared_with_the_best_known_one() {
    let mut harness = pane("asia", &["xray", "either"]);
    harness.get_by_label("your order so far");
    harness.get_by_label_contains("2. either: clique {tub, lung, bronc, either, dysp}, 32 entries");
    harness.get_by_label("Take back").click();
    harness.run();
    assert_eq!(pushed(&harness), [EliminationCommand::TakeBack]);
    let order = ["either", "xray", "asia", "tub", "smoke", "lung", "bronc", "dysp"];
    let harness = pane("asia", &order);
    harness.get_by_label("your order");
    harness.get_by_label_contains("more entries than those of the best known order");
}

#[test]
fn a_good_order_is_as_good_as_the_best_known_one() {
    let order = ["asia", "tub", "xray", "dysp", "smoke", "lung", "bronc", "either"];
    let harness = pane("asia", &order);
    harness.get_by_label("Your order is as good as the best known one.");
}

#[test]
fn the_best_known_order_has_the_total_and_the_largest_table_of_the_compiled_tree() {
    let model = model("child");
    let elimination = HandElimination::begin(&model, &[&KnownOrders::shipped()]).unwrap();
    let tree = model.compiled().unwrap().statistics();
    assert_eq!(elimination.best.total, tree.total_clique_entries);
    assert_eq!(elimination.best.largest, tree.max_clique_entries);
}

#[test]
fn a_large_network_is_refused_with_the_reason() {
    let mut pane = EliminationPane::default();
    let model = model("pigs");
    let harness = drive_model(model, move |ui, model, commands| pane.show(ui, model, commands));
    harness.get_by_label_contains("An order can be chosen by hand for at most 300.");
}
