//! Entering evidence: clicks, undo, and the posteriors on screen.

use cliquescope::app::state::command::{DocumentCommand, EvidenceCommand, HistoryCommand};
use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use cliquescope::network::Finding;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use crate::common::window::{open, open_with, settle, wait_for};
use crate::{document, evidence_count, posterior};

#[test]
fn a_click_observes_a_state_and_a_second_click_retracts_it() {
    let mut harness = open("asia");
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
fn a_state_stays_in_place_when_it_is_clicked() {
    let mut harness = open("asia");
    let position = |harness: &Harness<'_, Workbench>| {
        harness.get_by_label_contains("lung = no:").rect().center()
    };
    let before = position(&harness);
    for clicked in ["bronc = no:", "smoke = yes:", "asia = no:", "lung = no:"] {
        harness.get_by_label_contains(clicked).click();
        settle(&mut harness);
        assert_eq!(position(&harness), before, "after {clicked}");
    }
    assert_eq!(evidence_count(&harness), 4);
}

#[test]
fn clearing_the_evidence_can_be_undone_and_redone() {
    let mut harness = open("asia");
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
fn undo_restores_the_evidence_of_a_reopened_network() {
    let mut harness = open("asia");
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("smoke = no").click();
    settle(&mut harness);
    let ctx = harness.ctx.clone();
    let open = |harness: &mut Harness<'_, Workbench>, name: &str| {
        let source = NetworkSource::Named(name.to_owned());
        harness.state_mut().run_command(&ctx, DocumentCommand::Open(source));
        wait_for(harness, |workbench| {
            let document = workbench.model().document.as_ref();
            document.is_some_and(|document| document.title() == name) && workbench.is_settled()
        });
    };
    open(&mut harness, "cancer");
    assert_eq!(evidence_count(&harness), 0);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2, "the earlier network is open again");
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0, "cancer is open again");

    // The session is still compiling one network when it is asked for the other again.
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    harness.state_mut().run_command(&ctx, HistoryCommand::Redo);
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    assert_eq!(document.title(), "cancer");
    assert!(document.compiled.is_some());
    open(&mut harness, "asia");
    assert_eq!(evidence_count(&harness), 0, "nothing is restored without asking");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);

    // The undo history survives a restart of the program and a reload of the network.
    let stored =
        serde_json::to_string(&harness.state().settings()).expect("settings can be serialised");
    let stored: Settings = serde_json::from_str(&stored).expect("settings that were just written");
    let mut harness = open_with(stored.clone(), "asia");
    assert_eq!(evidence_count(&harness), 0);
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2);
    harness
        .state_mut()
        .run_command(&ctx, EvidenceCommand::Retract(cliquescope::network::VariableId::new(2)));
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
    harness.state_mut().run_command(&ctx, DocumentCommand::Reload);
    harness.run_steps(2);
    wait_for(&mut harness, Workbench::is_settled);
    assert_eq!(evidence_count(&harness), 1);
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2, "a reload keeps the undo history");

    // Evidence that the user cleared is not restored in the next run.
    let mut harness = open_with(stored, "asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    settle(&mut harness);
    harness.state_mut().run_command(&ctx, EvidenceCommand::Clear);
    settle(&mut harness);
    let mut harness = open_with(harness.state().settings(), "asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 0);
}

#[test]
fn impossible_evidence_is_reported_and_can_be_retracted() {
    let mut harness = open("asia");
    harness.get_by_label_contains("tub = yes").click();
    settle(&mut harness);
    harness.get_by_label_contains("either = no").click();
    settle(&mut harness);
    let document = document(&harness);
    let impossible = document.impossible.clone().expect("the evidence is impossible");
    assert_eq!(impossible.conflict.len(), 2);
    harness.get_by_label("ln P(e) -∞");
    harness.get_by_label("Retract either").click();
    settle(&mut harness);
    assert!(posterior(&harness, "tub", "yes") > 0.999_999);
}

#[test]
fn without_auto_new_evidence_waits_and_old_posteriors_stay_on_screen() {
    let mut harness = open("asia");
    harness.get_by_label("Auto").click();
    harness.run_steps(2);
    harness.get_by_label_contains("xray = yes").click();
    harness.run_steps(3);
    let document = document(&harness);
    assert!(document.is_stale());
    assert!((posterior(&harness, "lung", "yes") - 0.055).abs() < 1e-9);
    harness.get_by_label("P(e) 1.0000 (stale)");
    harness.get_by_label("Propagate").click();
    settle(&mut harness);
    assert!((posterior(&harness, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
}

#[test]
fn with_a_likelihood_above_one_the_probability_is_labelled_as_scaled() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    let network = document(&harness).network();
    let dysp = network.find("dysp").expect("a variable of the network");
    for (weight, is_scaled) in [(50.0, true), (0.5, false)] {
        let finding = Finding::Likelihood([0.1, weight].into());
        harness.state_mut().run_command(&ctx, EvidenceCommand::Set(dysp, finding));
        settle(&mut harness);
        let count = |text| harness.query_all_by_label_contains(text).count();
        assert_eq!(count("P(e) scaled ") > 0, is_scaled);
        assert!(count("P(e) ") > 0);
    }
}
