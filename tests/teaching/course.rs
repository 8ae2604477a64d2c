//! Lessons from the first step to the last.

use std::path::Path;
use std::sync::Arc;

use cliquescope::app::state::command::{Command, EngineCommand, ViewCommand};
use cliquescope::app::state::lessons::LESSONS;
use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::common::window::{open, settle, show, wait_until};
use crate::{evidence, go_to_step, start_lesson, title};

#[test]
fn every_lesson_can_be_completed_and_then_restores_the_document() {
    let mut harness = open("cancer");
    harness.get_by_label_contains("Smoker = True").click();
    settle(&mut harness);
    let before = evidence(&harness);
    assert_eq!(before.len(), 1);
    for (index, lesson) in LESSONS.iter().enumerate() {
        start_lesson(&mut harness, index);
        for (number, step) in lesson.steps.iter().enumerate() {
            let progress = format!("Step {} of {}", number + 1, lesson.steps.len());
            harness.get_by_label(&progress);
            if let Some(question) = &step.question {
                harness.get_by_label(&question.options[0]).click();
                harness.run_steps(3);
            }
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
    // Evidence from before the lessons can still be undone.
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert!(evidence(&harness).is_empty());
}

#[test]
fn a_lesson_can_be_left_and_resumed() {
    let mut harness = open("cancer");
    start_lesson(&mut harness, 0);
    harness.get_by_label("Next").click();
    harness.run_steps(3);
    // In this step there is more to see once the task is done. So the first press of Next only does
    // the task, and the second one goes on.
    harness.get_by_label("Next").click();
    settle(&mut harness);
    harness.get_by_label("Step 2 of 7");
    assert_eq!(evidence(&harness), [("xray".to_owned(), 0)]);
    harness.get_by_label("Next").click();
    settle(&mut harness);
    harness.get_by_label("Leave lesson").click();
    settle(&mut harness);
    assert_eq!(title(&harness), "cancer");
    assert_eq!(harness.state().settings().lessons.get("asia"), Some(&2));

    start_lesson(&mut harness, 0);
    harness.get_by_label("Step 3 of 7");
    assert_eq!(evidence(&harness), [("xray".to_owned(), 0)]);
    harness.get_by_label("Keep this open").click();
    settle(&mut harness);
    assert_eq!(title(&harness), "asia");
    assert!(harness.query_by_label("Step 3 of 7").is_none());
    harness.run();
}

#[test]
fn a_network_whose_file_is_gone_can_be_propagated_after_a_lesson() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.bif");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/small.bif");
    std::fs::copy(fixture, &path).unwrap();
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.open(NetworkSource::File(path.clone()), Vec::new());
    let mut harness = show(workbench);
    start_lesson(&mut harness, 0);
    std::fs::remove_file(&path).unwrap();
    harness.get_by_label("Leave lesson").click();
    settle(&mut harness);
    let ctx = harness.ctx.clone();
    let propagate = Command::Engine(EngineCommand::Propagate);
    harness.state_mut().run_command(&ctx, propagate);
    settle(&mut harness);
    let model = harness.state().model();
    assert_eq!(model.failure, None);
    let document = model.document.as_ref().expect("a network is open");
    let compiled = model.compiled().expect("it is compiled");
    assert!(Arc::ptr_eq(&document.read.network, compiled.network()));
    assert!(!document.is_stale());
}

#[test]
fn the_window_stops_repainting_during_a_lesson() {
    let mut harness = open("asia");
    start_lesson(&mut harness, 0);
    harness.run();
}

#[test]
fn a_question_is_answered_before_the_answer_is_shown() {
    let mut harness = open("asia");
    start_lesson(&mut harness, 0);
    go_to_step(&mut harness, 4, 7);
    let because = "the visit makes tuberculosis more likely";
    assert!(harness.query_by_label_contains(because).is_none());
    assert!(harness.get_by_label("Next").accesskit_node().is_disabled());
    harness.key_press(Key::PageDown);
    settle(&mut harness);
    harness.get_by_label("Step 4 of 7");
    assert_eq!(evidence(&harness).len(), 1, "the task is not done for the user");
    harness.get_by_label("It rises.").click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains(because).is_none(), "the task is not done");
    harness.get_by_label("Do it for me").click();
    settle(&mut harness);
    harness.get_by_label_contains(because);
    harness.get_by_label_contains("Not quite: It falls.");
    harness.get_by_label("✔ It falls.");
    harness.get_by_label("✖ It rises.");
    // The answer shows the three numbers side by side.
    harness.get_by_label("X-ray and Asia");
    for number in ["5.5%", "48.9%", "37.1%"] {
        assert!(harness.query_all_by_label(number).next().is_some(), "{number}");
    }
}

#[test]
fn going_back_restores_the_network_and_the_evidence_of_the_step() {
    let mut harness = open("asia");
    start_lesson(&mut harness, 0);
    go_to_step(&mut harness, 6, 7);
    assert_eq!(evidence(&harness).len(), 2);
    let back_to = |harness: &mut Harness<'static, Workbench>, number: usize, count: usize| {
        harness.key_press(Key::PageUp);
        settle(harness);
        harness.get_by_label(&format!("Step {number} of {count}"));
    };
    back_to(&mut harness, 5, 7);
    assert!(harness.state().model().stepping.is_some());
    back_to(&mut harness, 4, 7);
    assert_eq!(evidence(&harness).len(), 2, "the task of this step is done");
    assert!(harness.state().model().stepping.is_none());
    back_to(&mut harness, 3, 7);
    assert_eq!(evidence(&harness).len(), 1);
    back_to(&mut harness, 2, 7);
    back_to(&mut harness, 1, 7);
    assert_eq!(evidence(&harness).len(), 0);
    harness.get_by_label_contains("The probability of lung cancer, lung = yes, is 5.5%.");
    go_to_step(&mut harness, 3, 7);
    for number in ["5.5%", "48.9%"] {
        assert!(harness.query_all_by_label(number).next().is_some(), "{number}");
    }

    let lesson = LESSONS.iter().position(|lesson| lesson.id == "elimination").expect("shipped");
    start_lesson(&mut harness, lesson);
    go_to_step(&mut harness, 8, 8);
    back_to(&mut harness, 7, 8);
    assert_eq!(title(&harness), "child");
    back_to(&mut harness, 6, 8);
    assert_eq!(title(&harness), "asia");
}

#[test]
fn going_back_steps_through_the_messages_again() {
    let mut harness = open("asia");
    start_lesson(&mut harness, 0);
    go_to_step(&mut harness, 7, 7);
    harness.key_press(Key::Escape);
    settle(&mut harness);
    assert!(harness.state().model().stepping.is_none());
    harness.key_press(Key::PageUp);
    settle(&mut harness);
    harness.get_by_label("Step 6 of 7");
    // The task of this step is to go to the end.
    harness.get_by_label("Done");
    let stepping = harness.state().model().stepping.expect("stepping goes on");
    assert_eq!(stepping.messages_passed(), Some(10));
}

#[test]
fn the_lesson_about_the_gpu_plays_recorded_runs_on_scales_of_their_own() {
    let mut harness = open("asia");
    let lesson = LESSONS.iter().position(|lesson| lesson.id == "gpu-time").expect("shipped");
    start_lesson(&mut harness, lesson);
    go_to_step(&mut harness, 6, 8);
    harness.get_by_label("Show the answer").click();
    harness.run_steps(3);
    harness.get_by_label_contains(
        "We found the interleaved layout faster on 0 of 8 networks (recorded on ",
    );
    harness.get_by_label_contains("conjecture");
    go_to_step(&mut harness, 7, 8);
    harness.get_by_label("Recorded GPU runs").click();
    settle(&mut harness);
    harness.get_by_label("Done");
    harness.get_by_label_contains("Recorded runs, each on a time scale of its own");
    // The runs are the climax of the lesson: they get all the room.
    harness.get_by_label("Restore");
    let slow_motion = "Slow motion of gpu-paper f32, naive, 128 threads per block, recorded on ";
    harness.get_by_label_contains(slow_motion);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let traces = document.traces_to_compare();
    assert!(traces.iter().all(|played| played.title.contains("recorded on")));
    let [paper, fastest] = [traces[0].trace, traces[1].trace];
    assert!(paper.elapsed > 10 * fastest.elapsed);
    assert_eq!(document.stretch(paper), 1.0);
    let ratio = paper.elapsed.as_secs_f64() / fastest.elapsed.as_secs_f64();
    assert!((document.stretch(fastest) / ratio - 1.0).abs() < 1e-3);
    // Stepping message by message does not show the recorded runs any more.
    harness.get_by_label("Message by message").click();
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    assert!(document.shown.is_none() && document.second_shown.is_none());
    // A recorded run that the user chose is shown again.
    let chosen = document.recorded[0];
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::ShowRecording(Some(chosen)));
    for button in ["Recorded GPU runs", "Message by message"] {
        settle(&mut harness);
        harness.get_by_label(button).click();
    }
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    assert!(document.shown == Some(chosen) && document.second_shown.is_none());
}
