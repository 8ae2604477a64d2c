//! The window around the panes: keys, the command palette, dropped files, errors, its size.

use std::path::{Path, PathBuf};

use cliquescope::app::Workbench;
use cliquescope::format::NetworkSource;
use eframe::egui::{self, Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use crate::common::window::{open, settle, wait_for};
use crate::{document, evidence_count, posterior};

fn is_stepping(harness: &Harness<'_, Workbench>) -> bool {
    harness.state().model().stepping.is_some()
}

#[test]
fn shortcuts_work_while_a_button_has_the_focus() {
    let mut harness = open("asia");
    harness.get_by_label("smoke").focus();
    harness.run_steps(2);
    harness.key_press(Key::F1);
    harness.run_steps(3);
    harness.get_by_label("observe it; click again to retract it");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label("observe it; click again to retract it").is_none());
    harness.get_by_label("smoke").focus();
    harness.run_steps(2);
    harness.key_press(Key::F8);
    harness.run_steps(3);
    assert!(is_stepping(&harness));
}

#[test]
fn editing_keys_go_to_the_focused_text_field() {
    let mut harness = open("asia");
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    harness.get_by_label("Search variables").click();
    harness.run_steps(2);
    harness.get_by_label("Search variables").type_text("smoke");
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Delete);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1, "the keys edit the text");
    harness.key_press(Key::F8);
    harness.run_steps(3);
    assert!(is_stepping(&harness), "function keys work while a text field has the focus");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Y);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}

#[test]
fn a_search_shows_only_matching_variables() {
    let mut harness = open("asia");
    harness.get_by_label("Search variables").click();
    harness.run_steps(2);
    harness.get_by_label("Search variables").type_text("bron");
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("bronc = yes").is_some());
    assert!(harness.query_by_label_contains("lung = yes").is_none());
}

#[test]
fn the_window_stops_repainting_when_nothing_changes() {
    for network in ["asia", "munin4"] {
        let mut harness = open(network);
        harness.run_steps(10);
        // Panics if the window keeps requesting frames.
        harness.run();
    }
}

#[test]
fn a_failed_open_keeps_the_current_network() {
    let mut harness = open("asia");
    harness.state_mut().open(NetworkSource::Named("no/such/file.bif".to_owned()), Vec::new());
    settle(&mut harness);
    let model = harness.state().model();
    assert!(model.failure.as_ref().is_some_and(|failure| failure.contains("no/such/file.bif")));
    assert_eq!(model.document.as_ref().map(|document| document.title()), Some("asia".to_owned()));
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    assert!((posterior(&harness, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
}

#[test]
fn an_error_is_shown_in_full_until_it_is_dismissed() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("broken.bif");
    std::fs::write(&path, "network x { } garbage").expect("a writable folder");
    let mut harness = open("asia");
    let bars = harness.get_by_label_contains("xray = yes").rect();
    harness.state_mut().open(NetworkSource::File(path.clone()), Vec::new());
    settle(&mut harness);
    harness.get_by_label_contains("broken.bif:1:15: expected");
    assert_eq!(
        harness.get_by_label_contains("xray = yes").rect(),
        bars,
        "the layout does not move"
    );
    harness.get_by_label("Dismiss").click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("expected").is_none());
    // An error that comes while the open network is still being compiled is still shown after that.
    harness.state_mut().open(NetworkSource::Named("munin4".to_owned()), Vec::new());
    wait_for(&mut harness, |workbench| {
        workbench.model().document.as_ref().is_some_and(|document| document.title() == "munin4")
    });
    harness.state_mut().open(NetworkSource::File(path), Vec::new());
    settle(&mut harness);
    wait_for(&mut harness, |workbench| workbench.model().compiled().is_some());
    harness.run_steps(5);
    harness.get_by_label_contains("broken.bif:1:15: expected");
}

#[test]
fn a_narrow_window_moves_the_options_below_the_menus() {
    for (width, is_narrow) in [(1440.0, false), (640.0, true)] {
        let mut harness = open("asia");
        harness.set_size(egui::vec2(width, 600.0));
        harness.run_steps(3);
        let help = harness.get_by_label("Help").rect();
        let choice = harness.get_by_label("Triangulation").rect();
        assert!(!help.intersects(choice) && choice.left() >= 0.0);
        assert_eq!(choice.top() >= help.bottom(), is_narrow);
        assert!(harness.get_by_label("Propagate").rect().right() <= width);
    }
}

#[test]
fn a_sample_is_opened_from_the_palette() {
    let mut harness = open("asia");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    harness.run_steps(3);
    harness.input_mut().events.push(egui::Event::Text("sample cancer".to_owned()));
    harness.run_steps(3);
    harness.key_press(Key::Enter);
    settle(&mut harness);
    let document = document(&harness);
    assert_eq!(document.title(), "cancer");
}

/// A dropped file as the windowing system delivers it.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

#[test]
fn the_window_says_what_dropping_a_file_will_do_and_does_it() {
    let mut harness = open("asia");
    let fixture =
        |file: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    let hovered = |file: &str| egui::HoveredFile { path: Some(fixture(file)), mime: String::new() };

    harness.input_mut().hovered_files = vec![hovered("small.cas")];
    harness.step();
    harness.get_by_label("Drop to enter the evidence of small.cas");
    harness.input_mut().hovered_files = vec![hovered("small.cas"), hovered("small.net")];
    harness.step();
    harness.get_by_label("Drop to open small.net");
    harness.get_by_label("Only one file can be opened at a time: 1 ignored");

    harness.input_mut().hovered_files.clear();
    harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(fixture("small.net"))));
    settle(&mut harness);
    assert!(harness.query_by_label_contains("Drop to").is_none());
    let network = document(&harness).network();
    assert!(network.find("rain").is_some());
    harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(fixture("small.cas"))));
    settle(&mut harness);
    assert!(evidence_count(&harness) > 0);
}
