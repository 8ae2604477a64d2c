//! Stepping and lessons in the window, driven by their accessible labels, without a display.
#![cfg(feature = "app")]

mod common;

use cliquescope::app::Workbench;
use cliquescope::app::state::command::Command;
use cliquescope::app::state::highlight::Item;
use cliquescope::app::state::lessons::{LESSONS, LessonCommand};
use cliquescope::app::widgets::targets;
use cliquescope::propagation::MessageId;
use common::window::{open, settle, wait_until};
use eframe::egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

fn selected(harness: &Harness<'_, Workbench>) -> Option<usize> {
    match harness.state().model().selected() {
        Some(Item::Message(message)) => Some(message.index()),
        _ => None,
    }
}

/// Waits until the numbers of message `index` are on screen.
fn shown(harness: &mut Harness<'static, Workbench>, index: usize) {
    wait_until(harness, "the tables", |harness| {
        let answer = harness.state().model().explained.as_ref();
        answer.is_some_and(|(question, answer)| {
            question.message == MessageId::new(index) && answer.is_ok()
        })
    });
}

#[test]
fn arrow_keys_walk_through_the_messages_and_escape_leaves() {
    let mut harness = open("asia");
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
fn escape_leaves_a_text_before_it_ends_the_walk() {
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
fn play_goes_to_the_end_and_rests_there() {
    let mut harness = open("asia");
    harness.key_press(Key::F8);
    harness.run_steps(3);
    harness.key_press(Key::Space);
    harness.run_steps(2);
    assert!(harness.state().model().stepping.is_some_and(|stepping| stepping.player.is_playing()));
    // The time of the frames is not that of the clock: this takes no seconds.
    for _ in 0..60 * 20 {
        harness.step();
    }
    assert!(harness.state().model().stepping.is_some_and(|stepping| !stepping.player.is_playing()));
    harness.get_by_label_contains("messages passed");
    wait_until(&mut harness, "rest", |_| true);
    harness.run();
}

#[test]
fn evidence_changes_the_tables_that_are_shown() {
    let mut harness = open("asia");
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
    wait_until(&mut harness, "the tables with evidence", |harness| numbers(harness).0 == 3);
    assert!(harness.state().model().stepping.is_some(), "the walk goes on");
    assert_ne!(numbers(&harness).1, before);
}

#[test]
fn slow_motion_sweeps_over_the_trace_once() {
    let mut harness = open("asia");
    harness.key_press(Key::F9);
    harness.run_steps(3);
    harness.get_by_label("Pause");
    harness.get_by_label_contains("Slow motion of cpu");
    for _ in 0..60 * 130 {
        harness.step();
        if harness.state().model().stepping.is_some_and(|stepping| !stepping.player.is_playing()) {
            break;
        }
    }
    assert!(harness.state().model().stepping.is_some_and(|stepping| !stepping.player.is_playing()));
    harness.run();
}

fn start(harness: &mut Harness<'static, Workbench>, lesson: usize) {
    let ctx = harness.ctx.clone();
    let start = Command::Lesson(LessonCommand::Start(lesson));
    harness.state_mut().run_command(&ctx, start);
    settle(harness);
}

fn evidence(harness: &Harness<'_, Workbench>) -> Vec<(String, usize)> {
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let name = |variable| document.network()[variable].name().to_owned();
    let observed = |variable| document.evidence.observed(variable);
    document.evidence.iter().filter_map(|(v, _)| Some((name(v), observed(v)?))).collect()
}

#[test]
fn every_lesson_can_be_taken_and_gives_back_what_was_there() {
    let mut harness = open("cancer");
    harness.get_by_label_contains("Smoker = True").click();
    settle(&mut harness);
    let before = evidence(&harness);
    assert_eq!(before.len(), 1);
    for (index, lesson) in LESSONS.iter().enumerate() {
        start(&mut harness, index);
        for (number, step) in lesson.steps.iter().enumerate() {
            let place = format!("Step {} of {}", number + 1, lesson.steps.len());
            harness.get_by_label(&place);
            if step.action.is_some() {
                if let Some(button) = harness.query_by_label("Do it for me") {
                    button.click();
                }
                wait_until(&mut harness, &step.text, |harness| {
                    harness.query_by_label("Done").is_some() && harness.state().is_settled()
                });
            }
            let last = number + 1 == lesson.steps.len();
            harness.get_by_label(if last { "Finish" } else { "Next" }).click();
            settle(&mut harness);
        }
        let document = harness.state().model().document.as_ref().expect("a network is open");
        assert_eq!(document.title(), "cancer", "after {}", lesson.id);
        assert_eq!(evidence(&harness), before);
        assert!(harness.state().model().stepping.is_none());
    }
    // Evidence from before the lessons can still be taken back.
    harness.key_press_modifiers(eframe::egui::Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert!(evidence(&harness).is_empty());
}

#[test]
fn a_lesson_is_left_and_taken_up_again() {
    let mut harness = open("cancer");
    start(&mut harness, 0);
    harness.get_by_label("Next").click();
    harness.run_steps(3);
    // Next does what the step asks for.
    harness.get_by_label("Next").click();
    settle(&mut harness);
    assert_eq!(evidence(&harness), [("xray".to_owned(), 0)]);
    harness.get_by_label("Leave").click();
    settle(&mut harness);
    let title = |harness: &Harness<'_, Workbench>| {
        harness.state().model().document.as_ref().map(|document| document.title())
    };
    assert_eq!(title(&harness).as_deref(), Some("cancer"));
    assert_eq!(harness.state().settings().lessons.get("asia"), Some(&2));

    start(&mut harness, 0);
    harness.get_by_label("Step 3 of 8");
    assert_eq!(evidence(&harness), [("xray".to_owned(), 0)]);
    harness.get_by_label("Keep this open").click();
    settle(&mut harness);
    assert_eq!(title(&harness).as_deref(), Some("asia"));
    assert!(harness.query_by_label("Step 3 of 8").is_none());
    harness.run();
}

#[test]
fn what_a_lesson_points_at_is_on_screen() {
    let mut harness = open("asia");
    for (index, lesson) in LESSONS.iter().enumerate().take(2) {
        start(&mut harness, index);
        for step in &lesson.steps {
            wait_until(&mut harness, &step.target, |harness| {
                targets::find(&harness.ctx, &step.target).is_some() && harness.state().is_settled()
            });
            let ctx = harness.ctx.clone();
            harness.state_mut().run_command(&ctx, LessonCommand::Next);
            harness.run_steps(3);
        }
    }
}

#[test]
fn a_window_with_a_lesson_rests() {
    let mut harness = open("asia");
    start(&mut harness, 0);
    harness.run();
}
