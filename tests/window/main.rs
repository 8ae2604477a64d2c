//! The window, driven by its accessible labels, without a display.
#![cfg(feature = "app")]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod controls;
mod evidence;
mod experiments;
mod trees;

use cliquescope::app::Workbench;
use cliquescope::app::state::document::Document;
use egui_kittest::Harness;

/// The posterior probability of `state` of `variable`.
fn posterior(harness: &Harness<'_, Workbench>, variable: &str, state: &str) -> f64 {
    let document = document(harness);
    let id = document.network().find(variable).expect("a variable of the network");
    let state = document.network()[id].state_index(state).expect("a state of the variable");
    document.result.as_ref().expect("posteriors").posteriors.of(id)[state]
}

/// The open document.
fn document<'a>(harness: &'a Harness<'_, Workbench>) -> &'a Document {
    harness.state().model().document.as_ref().expect("a network is open")
}

/// The number of findings; 0 if no network is open.
fn evidence_count(harness: &Harness<'_, Workbench>) -> usize {
    harness.state().model().document.as_ref().map_or(0, |document| document.evidence.len())
}
