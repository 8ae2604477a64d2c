//! Networks and files that are opened during a lesson, and lesson files.

use cliquescope::app::Workbench;
use cliquescope::app::state::command::{DocumentCommand, EvidenceCommand, ViewCommand};
use cliquescope::app::state::lessons::{LESSONS, LessonCommand};
use cliquescope::app::state::pane::Pane;
use cliquescope::app::widgets::targets;
use cliquescope::format::NetworkSource;
use cliquescope::network::VariableId;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use crate::common::window::{open, settle};
use crate::{evidence, go_to_step, start_lesson, title};

/// The notices about mistakes in a lesson.
fn mistakes(harness: &Harness<'_, Workbench>) -> Vec<String> {
    let is_mistake = |text: &&str| text.contains("The lesson has a mistake");
    harness.state().notices().filter(is_mistake).map(str::to_owned).collect()
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
    assert!(mistakes(&harness).is_empty(), "{:?}", mistakes(&harness));
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
    assert!(mistakes(&harness).is_empty(), "{:?}", mistakes(&harness));
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

    // Undo now takes back the changes of the lesson first, then those made before it.
    harness.get_by_label("Keep this open").click();
    settle(&mut harness);
    assert_eq!(press_undo(&mut harness, Modifiers::NONE), ("child".to_owned(), finding));
}

#[test]
fn a_lesson_file_can_be_opened_and_its_mistakes_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("class.json");
    let network = include_bytes!("../../networks/cancer.bif.gz");
    std::fs::write(folder.path().join("clinic.bif.gz"), network).expect("written");
    let example = include_str!("../../assets/lessons/example.json");
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
    let mistakes = mistakes(&harness);
    assert!(mistakes[0].contains("the network has no variable 'Smokes'"), "{mistakes:?}");
}

#[test]
fn a_lesson_shows_its_pane_and_the_state_to_click_in_a_larger_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("alarm.json");
    let lesson = r#"{"title": "Alarm", "network": "alarm", "steps": [
        {"text": "Look.", "target": "Network"},
        {"text": "Click.", "target": "state", "action": {"observe": ["BP", "LOW"]}}]}"#;
    std::fs::write(&file, lesson).expect("written");
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::Show(Pane::Experiments));
    harness.run_steps(3);
    harness.state_mut().run_command(&ctx, LessonCommand::OpenFile(file));
    settle(&mut harness);
    // Network and Experiments are tabs of the same group once this network is open.
    assert_eq!(title(&harness), "alarm");
    assert!(targets::find(&ctx, "Network").is_some());
    harness.get_by_label("Next").click();
    settle(&mut harness);
    // The list of this network is folded, and this variable is at its end.
    let list = targets::find(&ctx, "Variables").expect("the list");
    let state = targets::find(&ctx, "state").expect("the state");
    assert!(list.contains_rect(state), "{state:?} in {list:?}");
}
