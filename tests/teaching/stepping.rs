//! Stepping through the messages, and slow motion.

use cliquescope::app::Workbench;
use cliquescope::app::state::highlight::Item;
use cliquescope::propagation::MessageId;
use eframe::egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use crate::common::window::{open, settle, wait_until};

/// The index of the selected message.
fn selected(harness: &Harness<'_, Workbench>) -> Option<usize> {
    match harness.state().model().selected() {
        Some(Item::Message(message)) => Some(message.index()),
        _ => None,
    }
}

/// Waits until the tables of message `index` are on screen.
fn wait_for_tables(harness: &mut Harness<'static, Workbench>, index: usize) {
    wait_until(harness, "the tables", |harness| {
        let answer = harness.state().model().explained.as_ref();
        answer.is_some_and(|(question, answer)| {
            question.message == MessageId::new(index) && answer.is_ok()
        })
    });
}

#[test]
fn arrow_keys_step_through_the_messages_and_escape_ends_stepping() {
    let mut harness = open("asia");
    harness.get_by_label("Step through").click();
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(0));
    wait_for_tables(&mut harness, 0);
    harness.get_by_label_contains("Sender entry 0:");
    harness.key_press(Key::ArrowRight);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(1));
    wait_for_tables(&mut harness, 1);
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(0));
    harness.key_press(Key::End);
    harness.run_steps(3);
    harness.get_by_label_contains("messages passed");
    assert_eq!(selected(&harness), Some(9), "the last message");
    harness.key_press(Key::Home);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(0));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.state().model().stepping.is_none());
    assert_eq!(selected(&harness), Some(0), "the message stays selected");
}

#[test]
fn arrow_keys_that_step_leave_the_focus_where_it_is() {
    let mut harness = open("asia");
    harness.get_by_label("Step through").click();
    harness.run_steps(3);
    harness.key_press(Key::E);
    harness.run_steps(3);
    let focused = |harness: &Harness<'_, Workbench>| harness.ctx.memory(|memory| memory.focused());
    let state = focused(&harness);
    assert!(state.is_some(), "E moves the focus to a state");
    for (key, message) in [(Key::ArrowRight, 1), (Key::ArrowRight, 2), (Key::ArrowLeft, 1)] {
        harness.key_press(key);
        harness.run_steps(3);
        assert_eq!((selected(&harness), focused(&harness)), (Some(message), state));
    }
}

#[test]
fn escape_leaves_a_text_field_before_it_ends_stepping() {
    let mut harness = open("asia");
    harness.get_by_label("Step through").click();
    harness.run_steps(3);
    harness.get_by_label("Find in the junction tree").focus();
    harness.run_steps(3);
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.state().model().stepping.is_some());
    assert_eq!(selected(&harness), Some(0));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.state().model().stepping.is_none());
}

#[test]
fn escape_closes_the_help_and_a_menu_before_it_ends_stepping() {
    let mut harness = open("asia");
    harness.get_by_label("Step through").click();
    harness.run_steps(3);
    harness.key_press(Key::F1);
    harness.run_steps(3);
    let has_help = |harness: &Harness<'_, Workbench>| {
        harness.query_by_label("observe it; click again to retract it").is_some()
    };
    assert!(has_help(&harness));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!has_help(&harness) && harness.state().model().stepping.is_some());
    harness.get_by_label("File").click();
    harness.run_steps(3);
    harness.get_by_label_contains("Open lesson");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("Open lesson").is_none());
    assert!(harness.state().model().stepping.is_some());
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.state().model().stepping.is_none());
}

#[test]
fn play_stops_after_the_last_message() {
    let mut harness = open("asia");
    harness.key_press(Key::F8);
    harness.run_steps(3);
    harness.key_press(Key::Space);
    harness.run_steps(2);
    assert!(harness.state().model().stepping.is_some_and(|stepping| stepping.player.is_playing()));
    // Frame time is simulated, so this takes little real time.
    for _ in 0..60 * 20 {
        harness.step();
    }
    assert!(harness.state().model().stepping.is_some_and(|stepping| !stepping.player.is_playing()));
    harness.get_by_label_contains("messages passed");
    harness.run();
}

#[test]
fn new_evidence_updates_the_tables_on_screen() {
    let mut harness = open("asia");
    harness.key_press(Key::F8);
    harness.run_steps(2);
    harness.key_press(Key::End);
    harness.run_steps(2);
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(2);
    let last = selected(&harness).expect("the last message");
    wait_for_tables(&mut harness, last);
    let numbers = |harness: &Harness<'_, Workbench>| {
        let (question, answer) = harness.state().model().explained.clone().expect("an answer");
        let detail = answer.expect("a message").detail;
        (question.evidence.len(), detail.sender_values.to_vec())
    };
    let (without, before) = numbers(&harness);
    assert_eq!(without, 0);
    for variable in ["xray", "dysp", "asia"] {
        harness.get_by_label_contains(&format!("{variable} = yes")).click();
        harness.run_steps(2);
    }
    wait_until(&mut harness, "the tables with evidence", |harness| numbers(harness).0 == 3);
    assert!(harness.state().model().stepping.is_some(), "stepping continues");
    assert_ne!(numbers(&harness).1, before);
}

#[test]
fn while_stepping_the_beliefs_so_far_are_shown_and_marked() {
    let mut harness = open("asia");
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    harness.key_press(Key::F8);
    harness.run_steps(2);
    let passed = |harness: &Harness<'_, Workbench>| {
        harness.state().model().beliefs_so_far().map(|beliefs| beliefs.passed())
    };
    wait_until(&mut harness, "the beliefs before all messages", |h| passed(h) == Some(0));
    harness.run_steps(2);
    // The finding is known where it was entered, but no message has carried it anywhere.
    harness.get_by_label_contains("xray = yes: 100.00% so far");
    harness.get_by_label_contains("smoke = yes: 50.00% so far");
    harness.get_by_label_contains("Network: yes of smoke: 50.00% so far");
    assert_eq!(harness.query_all_by_label("So far, after 0 of 10 messages").count(), 2);
    // Details of the first message: what sender and receiver believe.
    let sections = harness.query_all_by_label_contains("Beliefs of C");
    assert_eq!(sections.count(), 2);
    harness.key_press(Key::ArrowRight);
    wait_until(&mut harness, "the beliefs after one message", |h| passed(h) == Some(1));
    harness.run_steps(2);
    assert_eq!(harness.query_all_by_label("So far, after 1 of 10 messages").count(), 2);
    harness.key_press(Key::End);
    harness.run_steps(3);
    wait_until(&mut harness, "the posteriors", |harness| passed(harness).is_none());
    harness.run_steps(2);
    harness.get_by_label_contains("lung = yes: 48.87%");
    assert!(harness.query_by_label_contains("So far, after").is_none());
}

#[test]
fn slow_motion_plays_the_trace_once() {
    let mut harness = open("asia");
    harness.key_press(Key::F9);
    harness.run_steps(3);
    harness.get_by_label("Pause");
    harness.get_by_label_contains("Slow motion of cpu");
    // In the list of variables and above the network.
    let finals = |harness: &Harness<'_, Workbench>| {
        harness.query_all_by_label("Final posteriors, after all messages").count()
    };
    assert_eq!(finals(&harness), 2);
    for _ in 0..60 * 130 {
        harness.step();
        if harness.state().model().stepping.is_some_and(|stepping| !stepping.player.is_playing()) {
            break;
        }
    }
    assert!(harness.state().model().stepping.is_some_and(|stepping| !stepping.player.is_playing()));
    harness.run();
    assert_eq!(finals(&harness), 0, "at the end, they are the posteriors of that moment");
}
