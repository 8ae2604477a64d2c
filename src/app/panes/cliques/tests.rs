use super::*;
use crate::app::testing::{Bench, drive, label_containing};
use eframe::egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

fn asia<'a>() -> Harness<'a, Bench> {
    let mut pane = CliquesPane::default();
    let mut harness = drive("asia", move |ui, model, commands| pane.show(ui, model, commands));
    harness.run();
    harness
}

fn spoken(harness: &Harness<'_, Bench>, clique: CliqueId) -> String {
    naming::spoken_clique(harness.state().model.compiled().unwrap(), clique)
}

#[test]
fn every_clique_can_be_clicked_by_its_label() {
    let mut harness = asia();
    for clique in harness.state().tree().clique_ids() {
        let label = spoken(&harness, clique);
        harness.get_by_label(&label).click();
        harness.run();
        assert_eq!(harness.state().model.selected(), Some(&Item::Clique(clique)));
    }
}

#[test]
fn arrows_move_the_selection_and_keep_the_focus() {
    let mut harness = asia();
    let compiled = Arc::clone(harness.state().model.compiled().unwrap());
    let rows = filtered_rows(&compiled, Sort::default(), "");
    let first = spoken(&harness, rows[0]);
    harness.get_by_label(&first).focus();
    harness.run();
    harness.key_press(Key::Enter);
    harness.run();
    assert_eq!(harness.state().model.selected(), Some(&Item::Clique(rows[0])));
    for row in &rows[1..] {
        harness.key_press(Key::ArrowDown);
        harness.run();
        assert_eq!(harness.state().model.selected(), Some(&Item::Clique(*row)));
    }
    let last = spoken(&harness, rows[rows.len() - 1]);
    assert!(harness.get_by_label(&last).is_focused());
    harness.key_press(Key::Home);
    harness.run();
    assert_eq!(harness.state().model.selected(), Some(&Item::Clique(rows[0])));
}

#[test]
fn the_filter_finds_cliques_by_the_name_of_a_variable() {
    let mut harness = asia();
    harness.get_by_label("Filter cliques").focus();
    harness.run();
    harness.get_by_label("Filter cliques").type_text("smoke");
    harness.run();
    let compiled = Arc::clone(harness.state().model.compiled().unwrap());
    let smoke = compiled.network().find("smoke").unwrap();
    let tree = compiled.tree();
    let with_smoke = tree.cliques().iter().filter(|c| c.variables.contains(&smoke)).count();
    assert_eq!(harness.query_all_by_label_contains("Clique ").count(), with_smoke);
    assert!(with_smoke > 0 && with_smoke < tree.cliques().len());
}

#[test]
fn a_second_click_on_a_header_reverses_the_order() {
    let mut harness = asia();
    label_containing(&harness, "Sort by Depth").click();
    harness.run();
    label_containing(&harness, "Sort by Depth, smallest first").click();
    harness.run();
    label_containing(&harness, "Sort by Depth, largest first");
}

#[test]
fn cliques_of_equal_size_are_ordered_by_number() {
    let harness = asia();
    let compiled = harness.state().model.compiled().unwrap();
    let tree = compiled.tree();
    let rows = filtered_rows(compiled, Sort::descending(SortBy::Entries), "");
    assert_eq!(rows.len(), tree.cliques().len());
    for pair in rows.windows(2) {
        let (one, other) = (tree[pair[0]].entries, tree[pair[1]].entries);
        assert!(one > other || (one == other && pair[0] < pair[1]));
    }
}
