//! The junction tree and network panes: hovering, selecting and searching, without a display.
#![cfg(feature = "app")]

mod common;

use cliquescope::app::Workbench;
use cliquescope::app::state::command::{DocumentCommand, ViewCommand};
use cliquescope::app::state::highlight::Item;
use cliquescope::app::state::pane::Pane;
use cliquescope::format::NetworkSource;
use cliquescope::graph::CliqueId;
use common::window::{open, settle};
use eframe::egui::{
    Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, TouchPhase, pos2, vec2,
};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

fn hovered(harness: &Harness<'_, Workbench>) -> Option<Item> {
    harness.state().model().hovered().cloned()
}

/// Moves the pointer across the drawing until `is_wanted` holds for the item under the pointer.
/// Returns the position of the pointer.
fn hover_over(harness: &mut Harness<'_, Workbench>, is_wanted: fn(&Item) -> bool) -> Pos2 {
    for y in (90..600).step_by(14) {
        for x in (380..1100).step_by(30) {
            let pos = pos2(x as f32, y as f32);
            harness.hover_at(pos);
            harness.run_steps(2);
            if hovered(harness).as_ref().is_some_and(is_wanted) {
                return pos;
            }
        }
    }
    panic!("no such item in the drawing");
}

fn click(harness: &mut Harness<'_, Workbench>, pos: Pos2) {
    harness.hover_at(pos);
    harness.step();
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        harness.event(Event::PointerButton { pos, button, pressed, modifiers });
        harness.step();
    }
    harness.run_steps(2);
}

#[test]
fn a_clique_in_the_tree_can_be_hovered_and_selected() {
    let mut harness = open("asia");
    let pos = hover_over(&mut harness, |item| matches!(item, Item::Clique(_)));
    let clique = hovered(&harness);
    harness.run_steps(20);
    assert_eq!(hovered(&harness), clique, "the clique stays highlighted while the pointer rests");
    click(&mut harness, pos);
    assert_eq!(harness.state().model().selected(), clique.as_ref());
    // A click on the background clears the selection.
    click(&mut harness, pos2(1090.0, 100.0));
    assert_eq!(harness.state().model().selected(), None);
}

#[test]
fn a_variable_in_the_network_can_be_selected() {
    let mut harness = open("asia");
    harness.get_by_label("Network").click();
    harness.run_steps(3);
    let pos = hover_over(&mut harness, |item| matches!(item, Item::Variable(_)));
    let variable = hovered(&harness);
    click(&mut harness, pos);
    assert_eq!(harness.state().model().selected(), variable.as_ref());
}

#[test]
fn a_click_requests_moral_and_fill_edges() {
    let mut harness = open("asia");
    harness.get_by_label("Network").click();
    harness.run_steps(3);
    assert!(!harness.state().model().fill_edges);
    harness.get_by_label("Moral and fill edges").click();
    harness.run_steps(3);
    assert!(harness.state().model().fill_edges);
}

#[test]
fn each_enter_in_the_search_field_selects_another_clique() {
    let mut harness = open("asia");
    let field = harness.get_by_label("Find in the junction tree");
    field.focus();
    harness.run_steps(2);
    harness.get_by_label("Find in the junction tree").type_text("either");
    harness.run_steps(2);
    let mut selected = Vec::new();
    for _ in 0..3 {
        harness.key_press(eframe::egui::Key::Enter);
        harness.run_steps(3);
        selected.push(harness.state().model().selected().cloned());
    }
    assert!(selected.iter().all(|item| matches!(item, Some(Item::Clique(_)))), "{selected:?}");
    assert!(selected[0] != selected[1] && selected[1] != selected[2], "{selected:?}");
}

#[test]
fn the_window_stops_repainting_after_the_layout_of_a_large_tree() {
    let mut harness = open("pigs");
    // Panics if the window keeps requesting frames.
    harness.run();
}

/// The finding of `variable`, as one weight for each state; `None` if it has no finding.
fn weights(harness: &Harness<'_, Workbench>, variable: &str) -> Option<Vec<f64>> {
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let id = document.network().find(variable).expect("a variable of the network");
    let states = 0..document.network()[id].cardinality();
    document.evidence.get(id).map(|finding| states.map(|s| finding.weight(s)).collect())
}

#[test]
fn a_click_on_a_bar_of_the_network_enters_evidence() {
    let mut harness = open("asia");
    harness.get_by_label_contains("Network: yes of xray: 11.03%").click();
    settle(&mut harness);
    assert_eq!(weights(&harness, "xray"), Some(vec![1.0, 0.0]));
    harness.get_by_label_contains("lung = yes: 48.87%");
    harness.get_by_label_contains("Network: yes of lung: 48.87%");
    harness.get_by_label_contains("Network: yes of xray").click();
    settle(&mut harness);
    assert_eq!(weights(&harness, "xray"), None, "a second click retracts");
    assert_eq!(harness.state().model().selected(), None, "a bar does not select");

    harness.get_by_label_contains("Network: no of smoke").click_modifiers(Modifiers::ALT);
    settle(&mut harness);
    assert_eq!(weights(&harness, "smoke"), Some(vec![1.0, 0.0]), "Alt+click excludes the state");
    harness.get_by_label_contains("Network: no of bronc").click_modifiers(Modifiers::COMMAND);
    settle(&mut harness);
    assert_eq!(weights(&harness, "bronc"), Some(vec![0.0, 1.0]));
}

#[test]
fn states_have_a_menu_in_the_network_and_in_the_list() {
    let mut harness = open("child");
    let ctx = harness.ctx.clone();
    let network = harness.state().model().document.as_ref().expect("an open network").network();
    let disease = network.find("Disease").expect("a variable of child");
    let select = ViewCommand::Select(Some(Item::Variable(disease)));
    harness.state_mut().run_command(&ctx, select);
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(Pane::Network));
    harness.run_steps(5);
    for state in ["Network: PFC of Disease", "Network: TGA of Disease"] {
        harness.get_by_label_contains(state).click_secondary();
        harness.run_steps(3);
        let exclude = if state.contains("PFC") { "Exclude PFC" } else { "Exclude TGA" };
        harness.get_by_label_contains(exclude).click();
        settle(&mut harness);
    }
    assert_eq!(weights(&harness, "Disease"), Some(vec![0.0, 0.0, 1.0, 1.0, 1.0, 1.0]));
    harness.state_mut().run_command(&ctx, ViewCommand::Restore);
    harness.run_steps(5);
    harness.get_by_label_contains("Disease = PFC").click_secondary();
    harness.run_steps(3);
    harness.get_by_label_contains("Allow PFC").click();
    settle(&mut harness);
    assert_eq!(weights(&harness, "Disease"), Some(vec![1.0, 0.0, 1.0, 1.0, 1.0, 1.0]));
    harness.get_by_label_contains("Disease = Fallot").click_secondary();
    harness.run_steps(3);
    harness.get_by_label_contains("Observe Fallot").click();
    settle(&mut harness);
    assert_eq!(weights(&harness, "Disease"), Some(vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0]));
}

#[test]
fn likelihood_sliders_change_the_posteriors_while_they_move() {
    let mut harness = open("asia");
    harness.get_by_label_contains("Network: yes of xray").click_secondary();
    harness.run_steps(3);
    harness.get_by_label("Enter likelihoods…").click();
    harness.run_steps(3);
    let list = harness.get_by_label_contains("dysp = no").rect();
    let sliders = harness.get_by_label("Likelihoods of xray").rect();
    assert!(sliders.top() >= list.bottom(), "the sliders are below the list");
    let slider = harness.get_by_label("Likelihood of xray = no").rect();
    let at = |share: f32| pos2(slider.left() + share * slider.width(), slider.center().y);
    harness.drag_at(at(0.9));
    harness.run_steps(2);
    let mut seen = Vec::new();
    for share in [0.7, 0.5, 0.3] {
        harness.hover_at(at(share));
        settle(&mut harness);
        seen.push(weights(&harness, "xray").expect("a likelihood")[1]);
        let document = harness.state().model().document.as_ref().unwrap();
        assert!(!document.is_stale(), "the posteriors follow the slider");
    }
    assert!(seen[0] > seen[1] && seen[1] > seen[2] && seen[2] > 0.0, "{seen:?}");
    harness.drop_at(at(0.3));
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(weights(&harness, "xray"), None, "one undo takes the whole drag back");
    harness.get_by_label("Done").click();
    harness.run_steps(3);
    assert!(harness.query_by_label("Likelihoods of xray").is_none());
}

#[test]
fn a_drag_on_a_bar_moves_the_picture_and_the_wheel_zooms_it() {
    let mut harness = open("asia");
    let bar = |harness: &Harness<'_, Workbench>| {
        harness.get_by_label_contains("Network: yes of either").rect()
    };
    let before = bar(&harness);
    harness.drag_at(before.center());
    harness.run_steps(2);
    harness.hover_at(before.center() + vec2(20.0, 12.0));
    harness.run_steps(2);
    harness.drop_at(before.center() + vec2(20.0, 12.0));
    harness.run_steps(3);
    let after = bar(&harness);
    assert!((after.center() - before.center() - vec2(20.0, 12.0)).length() < 2.0, "{after:?}");
    assert_eq!(weights(&harness, "either"), None, "a drag is no click");
    harness.hover_at(after.center());
    harness.run_steps(2);
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: vec2(0.0, 1.0),
        phase: TouchPhase::Move,
        modifiers: Modifiers::NONE,
    });
    harness.run_steps(40);
    assert!(bar(&harness).width() > 1.05 * after.width());
}

#[test]
fn small_networks_open_next_to_their_junction_tree_and_share_the_hover() {
    let mut harness = open("asia");
    harness.get_by_label("Fit the network");
    harness.get_by_label("Fit the tree");
    let bar = harness.get_by_label_contains("Network: yes of tub").rect();
    // The name of the state and the number take up 64 points of it.
    assert!(bar.width() > 100.0, "{bar:?}");
    harness.hover_at(bar.center());
    harness.run_steps(3);
    let model = harness.state().model();
    let compiled = model.compiled().expect("a compiled network");
    let tub = compiled.network().find("tub").expect("a variable of asia");
    let holds_tub =
        |clique: CliqueId| compiled.tree()[clique].variables.binary_search(&tub).is_ok();
    for clique in compiled.tree().clique_ids() {
        assert_eq!(model.hover.clique(clique), holds_tub(clique), "{clique:?}");
    }
    let alarm = open("alarm");
    assert!(
        alarm.query_by_label("Fit the network").is_none(),
        "alarm does not open next to its tree"
    );
    alarm.get_by_label("Fit the tree");
}

#[test]
fn the_menu_of_a_variable_closes_when_another_network_is_opened() {
    let mut harness = open("asia");
    // Cancer has five variables.
    let is_not_in_cancer =
        |item: &Item| matches!(item, Item::Variable(variable) if variable.index() >= 5);
    let pos = hover_over(&mut harness, is_not_in_cancer);
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Secondary, Modifiers::NONE);
        harness.event(Event::PointerButton { pos, button, pressed, modifiers });
    }
    harness.run_steps(3);
    harness.get_by_label_contains("Enter likelihoods");
    let ctx = harness.ctx.clone();
    let cancer = DocumentCommand::Open(NetworkSource::Named("cancer".to_owned()));
    harness.state_mut().run_command(&ctx, cancer);
    settle(&mut harness);
    assert!(harness.query_by_label_contains("Enter likelihoods").is_none());
}
