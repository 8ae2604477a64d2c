//! Stepping and lessons in the window, driven by their accessible labels, without a display.
#![cfg(feature = "app")]

#[path = "../common/mod.rs"]
mod common;
mod course;
mod elimination;
mod networks;
mod stepping;
mod strip;

use std::sync::Arc;

use cliquescope::app::Workbench;
use cliquescope::app::state::command::Command;
use cliquescope::app::state::lessons::{LESSONS, LessonCommand};
use common::window::settle;
use eframe::egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

/// Starts the shipped lesson with index `lesson`.
fn start_lesson(harness: &mut Harness<'static, Workbench>, lesson: usize) {
    let ctx = harness.ctx.clone();
    let start = Command::Lesson(LessonCommand::Start(Arc::clone(&LESSONS[lesson])));
    harness.state_mut().run_command(&ctx, start);
    settle(harness);
}

/// Presses the key for the next step until step `number` of `count` is shown. Shows the answers of
/// questions on the way.
fn go_to_step(harness: &mut Harness<'static, Workbench>, number: usize, count: usize) {
    let wanted = format!("Step {number} of {count}");
    for _ in 0..3 * count {
        if harness.query_by_label(&wanted).is_some() {
            return;
        }
        if let Some(answer) = harness.query_by_label("Show the answer") {
            answer.click();
            harness.run_steps(3);
        }
        harness.key_press(Key::PageDown);
        settle(harness);
    }
    panic!("there is no {wanted}");
}

/// The name of each observed variable and the index of its observed state.
fn evidence(harness: &Harness<'_, Workbench>) -> Vec<(String, usize)> {
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let name = |variable| document.network()[variable].name().to_owned();
    let observed = |variable| document.evidence.observed(variable);
    document.evidence.iter().filter_map(|(v, _)| Some((name(v), observed(v)?))).collect()
}

/// The title of the open network.
fn title(harness: &Harness<'_, Workbench>) -> String {
    harness.state().model().document.as_ref().expect("a network is open").title()
}
