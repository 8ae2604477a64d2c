//! The window, driven by its accessible labels, without a display.
#![cfg(feature = "app")]

use std::time::{Duration, Instant};

use cliquescope::app::{Settings, Workbench};
use cliquescope::session::Source;
use eframe::egui::{self, Key, Modifiers, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

/// A window that opens `network`, after everything there is to compute is computed.
fn window(network: &str) -> Harness<'static, Workbench> {
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.open(Source::Named(network.to_owned()), Vec::new());
    let mut harness = Harness::builder()
        .with_size(Vec2::new(1440.0, 900.0))
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    settle(&mut harness);
    harness
}

/// Draws frames until the worker has nothing left to do.
fn settle(harness: &mut Harness<'_, Workbench>) {
    // The frame that hears a click; from then on the window knows that there is work.
    harness.run_steps(2);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !harness.state().is_settled() {
        assert!(Instant::now() < deadline, "the worker does not come to rest");
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
    }
    harness.run_steps(2);
}

fn posterior(harness: &Harness<'_, Workbench>, variable: &str, state: &str) -> f64 {
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let id = document.network().find(variable).expect("the variable is there");
    let state = document.network()[id].state_index(state).expect("the state is there");
    document.result.as_ref().expect("posteriors are there").posteriors.of(id)[state]
}

fn evidence_count(harness: &Harness<'_, Workbench>) -> usize {
    harness.state().model().document.as_ref().map_or(0, |document| document.evidence.len())
}

#[test]
fn a_click_observes_a_state_and_a_second_click_retracts_it() {
    let mut harness = window("asia");
    assert!((posterior(&harness, "lung", "yes") - 0.055).abs() < 1e-9);
    harness.get_by_label_contains("lung = yes: 5.50%");

    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    assert!((posterior(&harness, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
    harness.get_by_label_contains("lung = yes: 48.87%");

    harness.get_by_label_contains("asia = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("lung = yes: 37.15%");

    harness.get_by_label("Retract asia").click();
    settle(&mut harness);
    harness.get_by_label_contains("xray = yes:").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
    harness.get_by_label_contains("lung = yes: 5.50%");
}

#[test]
fn evidence_is_cleared_and_brought_back() {
    let mut harness = window("asia");
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("smoke = no").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);
    harness.get_by_label("Clear all").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
}

#[test]
fn impossible_evidence_is_named_and_can_be_retracted() {
    let mut harness = window("asia");
    harness.get_by_label_contains("tub = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("either = no").click();
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let impossible = document.impossible.clone().expect("the evidence is impossible");
    assert_eq!(impossible.conflict.len(), 2);
    harness.get_by_label("Retract either").click();
    settle(&mut harness);
    assert!(posterior(&harness, "tub", "yes") > 0.999_999);
}

#[test]
fn without_auto_the_evidence_waits_and_old_posteriors_stay() {
    let mut harness = window("asia");
    harness.get_by_label("Auto").click();
    harness.run_steps(2);
    harness.get_by_label_contains("xray = yes").click();
    harness.run_steps(3);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    assert!(document.is_stale());
    assert!((posterior(&harness, "lung", "yes") - 0.055).abs() < 1e-9);
    harness.get_by_label("Propagate").click();
    settle(&mut harness);
    assert!((posterior(&harness, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
}

#[test]
fn a_search_leaves_the_variables_that_match() {
    let mut harness = window("asia");
    harness.get_by_label("Search variables").click();
    harness.run_steps(2);
    harness.get_by_label("Search variables").type_text("bron");
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("bronc = yes").is_some());
    assert!(harness.query_by_label_contains("lung = yes").is_none());
}

#[test]
fn the_window_rests_when_nothing_changes() {
    for network in ["asia", "munin4"] {
        let mut harness = window(network);
        harness.run_steps(10);
        // Settles within a few frames, or `run` gives up with a panic.
        harness.run();
    }
}

#[test]
fn a_file_that_cannot_be_opened_leaves_the_network_open() {
    let mut harness = window("asia");
    harness.state_mut().open(Source::Named("no/such/file.bif".to_owned()), Vec::new());
    settle(&mut harness);
    let model = harness.state().model();
    assert!(model.failure.as_ref().is_some_and(|failure| failure.contains("no/such/file.bif")));
    assert_eq!(model.document.as_ref().map(|document| document.title()), Some("asia".to_owned()));
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    assert!((posterior(&harness, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
}

#[test]
fn a_sample_is_opened_from_the_palette() {
    let mut harness = window("asia");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    harness.run_steps(3);
    harness.input_mut().events.push(egui::Event::Text("sample cancer".to_owned()));
    harness.run_steps(3);
    harness.key_press(Key::Enter);
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    assert_eq!(document.title(), "cancer");
}

#[test]
fn a_tree_that_was_found_is_found_again() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("square.bif");
    let variable = |name| format!("variable {name} {{ type discrete [ 2 ] {{ y, n }}; }}\n");
    let text = ["a", "b", "c", "d"].map(variable).concat()
        + "probability ( a ) { table 0.3, 0.7; }\n"
        + "probability ( b | a ) { (y) 0.1, 0.9; (n) 0.6, 0.4; }\n"
        + "probability ( c | a ) { (y) 0.2, 0.8; (n) 0.5, 0.5; }\n"
        + "probability ( d | b, c ) { default 0.5, 0.5; }\n";
    std::fs::write(&path, text).expect("a folder for a test can be written to");
    let path = path.to_str().expect("a plain name").to_owned();

    let mut harness = window(&path);
    let settings = harness.state_mut().settings();
    assert_eq!(settings.orders.len(), 1, "the order was kept");
    assert_eq!(settings.recent.len(), 1, "the file was remembered");
    harness.get_by_label_contains("d = y").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
}
