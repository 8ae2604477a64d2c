//! The strip of a lesson, and what it points at.

use cliquescope::app::Workbench;
use cliquescope::app::state::lessons::{LESSONS, LessonCommand};
use cliquescope::app::widgets::targets;
use eframe::egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use crate::common::window::{open, settle, wait_until};
use crate::{go_to_step, start_lesson};

#[test]
fn the_targets_of_the_first_two_lessons_are_on_screen() {
    let mut harness = open("asia");
    for (index, lesson) in LESSONS.iter().enumerate().take(2) {
        start_lesson(&mut harness, index);
        for step in &lesson.steps {
            let target = step.target.as_deref().expect("shipped lessons point at something");
            wait_until(&mut harness, target, |harness| {
                targets::find(&harness.ctx, target).is_some() && harness.state().is_settled()
            });
            let ctx = harness.ctx.clone();
            harness.state_mut().run_command(&ctx, LessonCommand::ShowAnswer);
            harness.state_mut().run_command(&ctx, LessonCommand::DoIt);
            settle(&mut harness);
            harness.state_mut().run_command(&ctx, LessonCommand::Next);
            harness.run_steps(3);
        }
    }
}

#[test]
fn the_strip_covers_no_pane_and_next_stays_in_place() {
    let mut harness = open("asia");
    start_lesson(&mut harness, 0);
    let place = |harness: &Harness<'_, Workbench>| harness.get_by_label("Next").rect();
    let first = place(&harness);
    for (number, step) in (2..).zip(&LESSONS[0].steps[1..]) {
        go_to_step(&mut harness, number, 7);
        harness.key_press(Key::PageUp);
        settle(&mut harness);
        harness.get_by_label(&format!("Step {} of 7", number - 1));
        go_to_step(&mut harness, number, 7);
        let next = if step == LESSONS[0].steps.last().unwrap() { "Finish" } else { "Next" };
        assert_eq!(harness.get_by_label(next).rect(), first, "{}", step.text);
        let strip = harness.get_by_label("Leave lesson").rect().bottom();
        for pane in ["Variables", "Junction tree", "Network"] {
            let pane = targets::find(&harness.ctx, pane).expect("a pane in front");
            assert!(pane.top() > strip, "{}", step.text);
        }
    }
}

#[test]
fn the_strip_is_as_high_as_its_content() {
    let mut harness = open("asia");
    let height = |harness: &mut Harness<'static, Workbench>| {
        harness.run_steps(4);
        targets::find(&harness.ctx, "Variables").expect("a pane in front").top()
    };
    let without = height(&mut harness);
    start_lesson(&mut harness, 0);
    go_to_step(&mut harness, 7, 7);
    let short = height(&mut harness) - without;
    let leave = harness.get_by_label("Leave lesson").rect().bottom();
    assert!(short < 110.0, "two lines of text take {short} points, the buttons end at {leave}");
    let lesson = LESSONS.iter().position(|lesson| lesson.id == "gpu-time").expect("shipped");
    start_lesson(&mut harness, lesson);
    go_to_step(&mut harness, 6, 8);
    harness.get_by_label("Show the answer").click();
    let memory = |harness: &Harness<'_, Workbench>| {
        targets::find(&harness.ctx, "memory of a message").map(|rect| rect.top())
    };
    wait_until(&mut harness, "the tables of the message", |harness| memory(harness).is_some());
    harness.run_steps(4);
    let answer = harness.get_by_label_contains("conjecture").rect().bottom();
    let pane = memory(&harness).expect("the pane is in front");
    assert!(answer < pane, "the answer ends at {answer}, the pane is at {pane}");
}

#[test]
fn the_text_is_larger_in_a_wide_window() {
    let mut harness = open("asia");
    start_lesson(&mut harness, 0);
    let mut height = |width: f32| {
        harness.set_size(eframe::egui::vec2(width, 900.0));
        harness.run_steps(4);
        harness.get_by_label("Step 1 of 7").rect().height()
    };
    let [usual, wide] = [1280.0, 1920.0].map(&mut height);
    assert!(wide > 1.25 * usual, "{usual} and {wide}");
}

#[test]
fn the_state_to_click_is_framed_in_the_list_or_else_in_the_network() {
    let mut harness = open("asia");
    start_lesson(&mut harness, 0);
    go_to_step(&mut harness, 2, 7);
    let state = |harness: &Harness<'_, Workbench>| targets::find(&harness.ctx, "state");
    let list = targets::find(&harness.ctx, "Variables").expect("the list");
    assert!(list.contains_rect(state(&harness).expect("the state")));
    harness.get_by_label("Collapse all").click();
    harness.run_steps(4);
    let network = targets::find(&harness.ctx, "Network").expect("the network");
    assert!(network.contains_rect(state(&harness).expect("the state")));
}
