//! Stepping and lessons in the window, driven by their accessible labels, without a display.
#![cfg(feature = "app")]

mod common;

use std::path::Path;
use std::sync::Arc;

use cliquescope::app::state::command::{
    Command, DocumentCommand, EngineCommand, EvidenceCommand, ViewCommand,
};
use cliquescope::app::state::highlight::Item;
use cliquescope::app::state::lessons::{LESSONS, LessonCommand};
use cliquescope::app::widgets::targets;
use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use cliquescope::network::VariableId;
use cliquescope::propagation::MessageId;
use common::window::{open, settle, show, wait_until};
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable};

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
    harness.key_press(Key::Home);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(0));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.state().model().stepping.is_none());
    assert_eq!(selected(&harness), Some(0), "the message stays selected");
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
    for _ in 0..60 * 130 {
        harness.step();
        if harness.state().model().stepping.is_some_and(|stepping| !stepping.player.is_playing()) {
            break;
        }
    }
    assert!(harness.state().model().stepping.is_some_and(|stepping| !stepping.player.is_playing()));
    harness.run();
}

fn start_lesson(harness: &mut Harness<'static, Workbench>, lesson: usize) {
    let ctx = harness.ctx.clone();
    let start = Command::Lesson(LessonCommand::Start(Arc::clone(&LESSONS[lesson])));
    harness.state_mut().run_command(&ctx, start);
    settle(harness);
}

/// Presses the key for the next step until step `number` of `count` is shown.
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
    // Next does the task of the step, and stays at the step because numbers change there.
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
fn a_network_whose_file_is_gone_is_complete_again_after_a_lesson() {
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
fn the_window_stops_repainting_during_a_lesson() {
    let mut harness = open("asia");
    start_lesson(&mut harness, 0);
    harness.run();
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
    // The answer shows both numbers side by side.
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
fn a_step_that_opens_another_network_reports_no_mistakes() {
    let mut harness = open("asia");
    let lesson = LESSONS.iter().position(|lesson| lesson.id == "elimination").expect("shipped");
    start_lesson(&mut harness, lesson);
    go_to_step(&mut harness, 5, 8);
    // The numbers in the text of this step.
    let elimination = harness.state().model().hand_elimination().expect("begun");
    let last = elimination.done.steps().last().expect("a variable is eliminated");
    assert_eq!((last.fill_edges.len(), last.cluster.len(), last.entries), (4, 5, 32));
    go_to_step(&mut harness, 7, 8);
    harness.get_by_label("Show the answer").click();
    harness.run_steps(3);
    harness.get_by_label("Do it for me").click();
    settle(&mut harness);
    harness.get_by_label("Done");
    assert!(harness.query_by_label_contains("The lesson has a mistake").is_none());
}

/// The title of the open network.
fn title(harness: &Harness<'_, Workbench>) -> String {
    harness.state().model().document.as_ref().expect("a network is open").title()
}

/// Opens the sample `name`, as the user does it.
fn open_sample(harness: &mut Harness<'static, Workbench>, name: &str) {
    let ctx = harness.ctx.clone();
    let open = DocumentCommand::Open(NetworkSource::Named(name.to_owned()));
    harness.state_mut().run_command(&ctx, open);
    settle(harness);
    assert_eq!(title(harness), name);
}

/// Presses the keys of undo or, if `shift` is Shift, of redo. Returns the title and the evidence of
/// the network that is open then.
fn press_undo(
    harness: &mut Harness<'static, Workbench>,
    shift: Modifiers,
) -> (String, Vec<(String, usize)>) {
    harness.key_press_modifiers(Modifiers::COMMAND | shift, Key::Z);
    settle(harness);
    (title(harness), evidence(harness))
}

#[test]
fn opening_a_network_during_a_lesson_leaves_the_lesson_and_loses_nothing() {
    let mut harness = open("cancer");
    harness.get_by_label_contains("Smoker = True").click();
    settle(&mut harness);
    start_lesson(&mut harness, 0);
    go_to_step(&mut harness, 3, 7);
    open_sample(&mut harness, "child");
    assert!(harness.query_by_label("Leave lesson").is_none());
    harness.get_by_label_contains("BirthAsphyxia = yes").click();
    settle(&mut harness);
    let birth = vec![("BirthAsphyxia".to_owned(), 0)];
    harness.key_press(Key::PageUp);
    settle(&mut harness);
    assert_eq!((title(&harness), evidence(&harness)), ("child".to_owned(), birth.clone()));

    let none = Modifiers::NONE;
    assert_eq!(press_undo(&mut harness, none), ("child".to_owned(), Vec::new()));
    let smoker = vec![("Smoker".to_owned(), 0)];
    assert_eq!(press_undo(&mut harness, none), ("cancer".to_owned(), smoker.clone()));
    assert_eq!(press_undo(&mut harness, none), ("cancer".to_owned(), Vec::new()));
    for expected in [("cancer", smoker), ("child", Vec::new()), ("child", birth)] {
        let (title, evidence) = press_undo(&mut harness, Modifiers::SHIFT);
        assert_eq!((title.as_str(), evidence), expected);
    }
    // The lesson continues where it was left.
    start_lesson(&mut harness, 0);
    harness.get_by_label("Step 3 of 7");
}

#[test]
fn a_step_says_which_network_of_the_lesson_it_needs_and_back_keeps_the_findings() {
    let mut harness = open("asia");
    let lesson = LESSONS.iter().position(|lesson| lesson.id == "elimination").expect("shipped");
    start_lesson(&mut harness, lesson);
    go_to_step(&mut harness, 2, 8);
    open_sample(&mut harness, "child");
    harness.get_by_label("This step needs the network asia, but child is open.");
    assert!(harness.query_by_label_contains("mistake").is_none());
    let ctx = harness.ctx.clone();
    let observe = EvidenceCommand::Toggle(VariableId::new(0), 1);
    harness.state_mut().run_command(&ctx, observe);
    settle(&mut harness);
    let finding = evidence(&harness);
    assert_eq!(finding.len(), 1);
    harness.key_press(Key::PageUp);
    settle(&mut harness);
    assert!(harness.query_by_label_contains("This step needs the network").is_none());
    assert_eq!(title(&harness), "asia");
    assert_eq!(press_undo(&mut harness, Modifiers::NONE), ("child".to_owned(), finding.clone()));
    let empty = ("asia".to_owned(), Vec::new());
    assert_eq!(press_undo(&mut harness, Modifiers::SHIFT), empty);

    // The changes made before the lesson come before those made in it.
    harness.get_by_label("Keep this open").click();
    settle(&mut harness);
    assert_eq!(press_undo(&mut harness, Modifiers::NONE), ("child".to_owned(), finding));
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

#[test]
fn a_lesson_file_can_be_opened_and_its_mistakes_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("class.json");
    let network = include_bytes!("../networks/cancer.bif.gz");
    std::fs::write(folder.path().join("clinic.bif.gz"), network).expect("written");
    let example = include_str!("../assets/lessons/example.json");
    std::fs::write(&file, example.replace("\"cancer\"", "\"clinic.bif.gz\"")).expect("written");
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    let open_file = |harness: &mut Harness<'static, Workbench>| {
        harness.state_mut().run_command(&ctx, LessonCommand::OpenFile(file.clone()));
        settle(harness);
    };
    open_file(&mut harness);
    harness.get_by_label("Smoking and lung cancer");
    harness.get_by_label("Step 1 of 3");
    assert_eq!(title(&harness), "clinic");
    assert_eq!(harness.state().model().opened_lessons.len(), 1);
    harness.get_by_label("Leave lesson").click();
    settle(&mut harness);
    assert_eq!(title(&harness), "asia");

    // This mistake can be seen in the file.
    std::fs::write(&file, example.replace("\"text\"", "\"txt\"")).expect("written");
    open_file(&mut harness);
    harness.get_by_label_contains("class.json:6:");
    harness.get_by_label_contains("unknown field `txt`");
    assert!(harness.query_by_label("Leave lesson").is_none());

    // This mistake is found only when the network is open.
    std::fs::write(&file, example.replace("Smoker", "Smokes")).expect("written");
    open_file(&mut harness);
    harness.get_by_label("Next").click();
    settle(&mut harness);
    harness.get_by_label_contains("the network has no variable 'Smokes'");
}

#[test]
fn an_elimination_order_is_chosen_by_clicks_and_taken_back() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    let elimination = cliquescope::app::state::pane::Pane::Elimination;
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(elimination));
    harness.run_steps(4);
    harness.get_by_label("0 of 8 variables eliminated");
    harness.get_by_label_contains("Eliminate either: adds 8 fill edges").click();
    harness.run_steps(3);
    harness.get_by_label("1 of 8 variables eliminated");
    let total = |harness: &Harness<'_, Workbench>| {
        harness.state().model().hand_elimination().expect("begun").done.cost().total
    };
    assert_eq!(total(&harness), 64);
    harness.get_by_label("Take back").click();
    harness.run_steps(3);
    assert_eq!(total(&harness), 0);
    harness.get_by_label("Finish with min-fill").click();
    harness.run_steps(3);
    assert_eq!(total(&harness), 40);
    harness.get_by_label("Your order is as good as the best known one.");
    harness.get_by_label("Start again").click();
    harness.run_steps(3);
    assert_eq!(total(&harness), 0);
}

#[test]
fn a_variable_under_the_pointer_is_forgotten_when_a_smaller_network_is_opened() {
    let mut harness = open("child");
    let ctx = harness.ctx.clone();
    let elimination = cliquescope::app::state::pane::Pane::Elimination;
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(elimination));
    harness.run_steps(4);
    let last = harness.get_by_label_contains("Eliminate Grunting:").rect();
    harness.hover_at(last.center());
    harness.run_steps(3);
    let hovered = harness.state().model().hovered().cloned();
    assert!(matches!(hovered, Some(Item::Variable(variable)) if variable.index() >= 5));
    let cancer = DocumentCommand::Open(NetworkSource::Named("cancer".to_owned()));
    harness.state_mut().run_command(&ctx, cancer);
    settle(&mut harness);
    harness.get_by_label("0 of 5 variables eliminated");
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
    let slow_motion = "Slow motion of gpu-paper f32, naive, 128 threads per block, recorded on ";
    harness.get_by_label_contains(slow_motion);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let traces = document.traces_to_compare();
    assert!(traces.iter().all(|(title, _)| title.contains("recorded on")));
    let [paper, fastest] = [traces[0].1, traces[1].1];
    assert!(paper.elapsed > 10 * fastest.elapsed);
    assert_eq!(document.stretch(paper), 1.0);
    let ratio = paper.elapsed.as_secs_f64() / fastest.elapsed.as_secs_f64();
    assert!((document.stretch(fastest) / ratio - 1.0).abs() < 1e-3);
    // Stepping along the plan is about this machine again.
    harness.get_by_label("Message by message").click();
    settle(&mut harness);
    let document = harness.state().model().document.as_ref().expect("a network is open");
    assert!(document.shown.is_none() && document.second_shown.is_none());
}
