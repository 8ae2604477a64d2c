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
    harness.get_by_label("Your order needs as few table entries as the best known one.");
    harness.get_by_label("6. lung: clique {lung, bronc, either}, 8 entries, 0 fill edges");
}

#[test]
fn lines_have_the_patterns_of_the_network_pane_and_a_legend() {
    use crate::app::widgets::graph_view::edge::Line;
    let harness = pane("asia", &["smoke"]);
    let model = &harness.state().model;
    let network = model.document.as_ref().unwrap().network();
    let edges = picture::edges(network, model.elimination.as_ref().unwrap(), None);
    let palette = Palette::of_theme(true);
    let pattern = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|name| network.find(name).unwrap());
        let edge = edges.iter().find(|edge| [(a, b), (b, a)].contains(&edge.ends())).unwrap();
        plain_line(&palette, *edge).1
    };
    assert_eq!(pattern("smoke", "lung"), Line::Solid);
    assert_eq!(pattern("tub", "lung"), Line::Dashed);
    assert_eq!(pattern("lung", "bronc"), Line::Dotted);
    for name in ["arc", "moral edge", "fill edge", "would be added"] {
        harness.get_by_label(name);
    }
}

#[test]
fn variables_fade_when_eliminated_until_all_are() {
    use crate::app::widgets::graph_view::node::NodeStyle;
    let order = ["asia", "tub", "xray", "dysp", "smoke", "lung", "bronc", "either"];
    let style_after = |count: usize| -> NodeStyle {
        let harness = pane("asia", &order[..count]);
        let elimination = harness.state().model.elimination.clone().unwrap();
        let style = std::cell::RefCell::new(NodeStyle::default());
        let _harness = Harness::new_ui(|ui| {
            let asia = VariableId::new(0);
            *style.borrow_mut() = PictureStyle::new(ui, &elimination, None).variable(asia);
        });
        style.take()
    };
    let [none, some, all] = [0, 7, 8].map(style_after);
    assert_ne!(some.ink, none.ink);
    assert_eq!(all, none);
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
