//! Stepping and lessons in the window, driven by their accessible labels, without a display.
#![cfg(feature = "app")]

use std::time::{Duration, Instant};

use cliquescope::app::highlight::Item;
use cliquescope::app::{Settings, Workbench};
use cliquescope::propagation::MessageId;
use cliquescope::session::Source;
use eframe::egui::{Key, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

fn window(network: &str) -> Harness<'static, Workbench> {
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.open(Source::Named(network.to_owned()), Vec::new());
    let mut harness = Harness::builder()
        .with_size(Vec2::new(1440.0, 900.0))
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    until(&mut harness, "the worker rests", |harness| harness.state().is_settled());
    harness
}

/// Draws frames until `done`.
fn until(
    harness: &mut Harness<'static, Workbench>,
    what: &str,
    done: impl Fn(&Harness<'static, Workbench>) -> bool,
) {
    harness.run_steps(2);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done(harness) {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
    }
    harness.run_steps(2);
}

fn selected(harness: &Harness<'_, Workbench>) -> Option<usize> {
    match harness.state().model().selected() {
        Some(Item::Message(message)) => Some(message.index()),
        _ => None,
    }
}

/// Waits until the numbers of message `index` are on screen.
fn shown(harness: &mut Harness<'static, Workbench>, index: usize) {
    until(harness, "the tables", |harness| {
        let answer = harness.state().model().explained.as_ref();
        answer.is_some_and(|(question, answer)| {
            question.message == MessageId::new(index) && answer.is_ok()
        })
    });
}

#[test]
fn arrow_keys_walk_through_the_messages_and_escape_leaves() {
    let mut harness = window("asia");
    harness.get_by_label("Step through").click();
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(0));
    shown(&mut harness, 0);
    harness.get_by_label_contains("Sender entry 0:");
    harness.key_press(Key::ArrowRight);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(1));
    shown(&mut harness, 1);
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(0));
    harness.key_press(Key::End);
    harness.run_steps(3);
    harness.get_by_label_contains("messages passed");
    harness.key_press(Key::Home);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(0));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.state().model().stepping.is_none());
    assert_eq!(selected(&harness), Some(0), "what was looked at stays selected");
}

#[test]
fn play_goes_to_the_end_and_rests_there() {
    let mut harness = window("asia");
    harness.key_press(Key::F8);
    harness.run_steps(3);
    harness.key_press(Key::Space);
    harness.run_steps(2);
    assert!(harness.state().model().stepping.is_some_and(|walk| walk.playing));
    // The time of the frames is not that of the clock: this takes no seconds.
    for _ in 0..60 * 20 {
        harness.step();
    }
    assert!(harness.state().model().stepping.is_some_and(|walk| !walk.playing));
    harness.get_by_label_contains("messages passed");
    until(&mut harness, "rest", |_| true);
    harness.run();
}

#[test]
fn evidence_changes_the_tables_that_are_shown() {
    let mut harness = window("asia");
    harness.key_press(Key::F8);
    harness.run_steps(2);
    harness.key_press(Key::End);
    harness.run_steps(2);
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(2);
    let last = selected(&harness).expect("the last message");
    shown(&mut harness, last);
    let numbers = |harness: &Harness<'_, Workbench>| {
        let (question, answer) = harness.state().model().explained.clone().expect("an answer");
        (question.evidence.len(), answer.expect("a message").sender_values.to_vec())
    };
    let (without, before) = numbers(&harness);
    assert_eq!(without, 0);
    for variable in ["xray", "dysp", "asia"] {
        harness.get_by_label_contains(&format!("{variable} = yes")).click();
        harness.run_steps(2);
    }
    until(&mut harness, "the tables with evidence", |harness| numbers(harness).0 == 3);
    assert!(harness.state().model().stepping.is_some(), "the walk goes on");
    assert_ne!(numbers(&harness).1, before);
}

#[test]
fn slow_motion_sweeps_over_the_trace_once() {
    let mut harness = window("asia");
    harness.key_press(Key::F9);
    harness.run_steps(3);
    harness.get_by_label("Pause");
    for _ in 0..60 * 130 {
        harness.step();
        if harness.state().model().stepping.is_some_and(|walk| !walk.playing) {
            break;
        }
    }
    assert!(harness.state().model().stepping.is_some_and(|walk| !walk.playing));
    harness.run();
}
