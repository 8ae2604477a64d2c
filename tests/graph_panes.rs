//! The junction tree and network panes: hovering, selecting and searching, without a display.
#![cfg(feature = "app")]

mod common;

use cliquescope::app::Workbench;
use cliquescope::app::state::highlight::Item;
use common::window::open;
use eframe::egui::{Event, Modifiers, PointerButton, Pos2, pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

fn hovered(harness: &Harness<'_, Workbench>) -> Option<Item> {
    harness.state().model().hovered().cloned()
}

/// Moves the pointer across the window until `is_wanted` holds for the item under the pointer.
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
fn enter_selects_the_next_matching_clique() {
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
