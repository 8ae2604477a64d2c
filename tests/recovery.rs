//! Evidence survives a crash of the window. Cases and results are restored in the next run.
#![cfg(feature = "app")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cliquescope::app::state::command::{CaseCommand, Command, ExperimentCommand, ViewCommand};
use cliquescope::app::state::lessons::{LESSONS, LessonCommand};
use cliquescope::app::state::pane::Pane;
use cliquescope::app::{Settings, Workbench};
use cliquescope::cancel::CancelToken;
use cliquescope::experiment::{self, Progress, Setup, Subject};
use cliquescope::format::NetworkSource;
use common::window::{settle, show, wait_for};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

/// Opens `network` in a window that autosaves to `folder`.
fn window(folder: &Path, network: &str) -> Harness<'static, Workbench> {
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.autosave_in(folder);
    workbench.open(NetworkSource::Named(network.to_owned()), Vec::new());
    show(workbench)
}

/// The autosave files in `folder`.
fn autosaves(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    let paths = entries.map(|entry| entry.expect("a folder entry").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

/// Waits until the autosave in `folder` contains the text `part`. Returns a new folder with a copy
/// of the autosave, as a crash would leave it.
fn crashed(folder: &Path, part: &str) -> tempfile::TempDir {
    for _ in 0..10_000 {
        let text = autosaves(folder).first().and_then(|file| std::fs::read_to_string(file).ok());
        if let Some(text) = text.filter(|text| text.contains(part)) {
            let crash = tempfile::tempdir().expect("a folder for a test");
            std::fs::write(crash.path().join("1-1.json"), text).expect("a writable folder");
            return crash;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("no autosave contains {part}");
}

/// The number of variables with findings.
fn findings(harness: &Harness<'_, Workbench>) -> usize {
    harness.state().model().document.as_ref().map_or(0, |document| document.evidence.len())
}

fn title(harness: &Harness<'_, Workbench>) -> String {
    harness.state().model().document.as_ref().expect("a network is open").title()
}

#[test]
fn evidence_of_a_crashed_run_is_offered_and_restored() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let mut harness = window(folder.path(), "cancer");
    harness.get_by_label_contains("Xray = positive").click();
    settle(&mut harness);
    let crash = crashed(folder.path(), "positive");
    drop(harness);
    assert_eq!(autosaves(folder.path()), [] as [PathBuf; 0], "a normal end leaves no files");

    let mut harness = window(crash.path(), "asia");
    assert_eq!(
        (title(&harness).as_str(), findings(&harness)),
        ("asia", 0),
        "nothing is restored without asking"
    );
    harness.get_by_label_contains("cancer was open with 1 finding");
    harness.get_by_label("Restore the evidence of cancer").click();
    wait_for(&mut harness, |workbench| {
        let document = workbench.model().document.as_ref();
        document.is_some_and(|document| document.title() == "cancer" && !document.is_stale())
    });
    assert_eq!(findings(&harness), 1);
    assert!(harness.query_by_label_contains("An earlier run").is_none());
    drop(harness);
    assert_eq!(autosaves(crash.path()), [] as [PathBuf; 0]);
}

#[test]
fn restoring_during_a_lesson_leaves_the_lesson_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let mut harness = window(folder.path(), "cancer");
    harness.get_by_label_contains("Xray = positive").click();
    settle(&mut harness);
    let crash = crashed(folder.path(), "positive");
    drop(harness);

    let mut harness = window(crash.path(), "asia");
    let ctx = harness.ctx.clone();
    let start = LessonCommand::Start(Arc::clone(&LESSONS[0]));
    harness.state_mut().run_command(&ctx, start);
    settle(&mut harness);
    harness.get_by_label("Leave lesson");
    assert_eq!(harness.state().notices().count(), 0);
    harness.get_by_label("Restore the evidence of cancer").click();
    wait_for(&mut harness, |workbench| {
        let document = workbench.model().document.as_ref();
        document.is_some_and(|document| document.title() == "cancer" && !document.is_stale())
    });
    assert!(harness.query_by_label("Leave lesson").is_none());
    let notices: Vec<&str> = harness.state().notices().collect();
    assert!(notices[0].starts_with("You left the lesson"), "{notices:?}");
}

#[test]
fn the_offer_can_be_declined_or_left_for_later() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let mut harness = window(folder.path(), "asia");
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    let crash = crashed(folder.path(), "xray");
    drop(harness);
    // Neither restored nor discarded: it is offered again in the next run.
    drop(window(crash.path(), "asia"));
    let mut harness = window(crash.path(), "asia");
    harness.get_by_label("Discard it").click();
    harness.run_steps(2);
    assert!(harness.query_by_label_contains("An earlier run").is_none());
    drop(harness);
    assert!(window(crash.path(), "asia").query_by_label_contains("An earlier run").is_none());
}

#[test]
fn the_buttons_of_an_offer_are_inside_the_window_however_long_the_title_is() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let mut harness = window(folder.path(), "cancer");
    harness.get_by_label_contains("Xray = positive").click();
    settle(&mut harness);
    let crash = crashed(folder.path(), "positive");
    drop(harness);
    let autosave = autosaves(crash.path()).remove(0);
    let mut saved: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&autosave).expect("it was copied")).expect("JSON");
    let work = saved.as_object_mut().expect("an object");
    work.insert("title".to_owned(), "title".repeat(1 << 20).into());
    std::fs::write(&autosave, saved.to_string()).expect("a writable folder");
    let mut harness = window(crash.path(), "asia");
    harness.set_size(eframe::egui::vec2(800.0, 600.0));
    harness.run_steps(3);
    for label in ["Restore the evidence of", "Discard it"] {
        let button = harness.get_by_label_contains(label).rect();
        assert!(button.right() <= 800.0, "{label}: {button:?}");
    }
}

#[test]
fn an_offer_stays_if_its_network_cannot_be_opened() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let network = folder.path().join("mine.bif");
    let text = "variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 0.5 0.5; }";
    std::fs::write(&network, text).expect("a writable folder");
    let mut harness =
        window(&folder.path().join("autosave"), network.to_str().expect("a UTF-8 path"));
    harness.get_by_label_contains("a = x").click();
    settle(&mut harness);
    let crash = crashed(&folder.path().join("autosave"), "\"state\"");
    drop(harness);
    std::fs::remove_file(&network).expect("the file exists");
    let mut harness = window(crash.path(), "asia");
    harness.get_by_label("Restore the evidence of mine").click();
    settle(&mut harness);
    assert_eq!(title(&harness), "asia");
    assert!(harness.query_by_label("Restore the evidence of mine").is_some());
    std::fs::write(&network, text).expect("a writable folder");
    harness.get_by_label("Restore the evidence of mine").click();
    wait_for(&mut harness, |workbench| {
        workbench.model().document.as_ref().is_some_and(|document| document.title() == "mine")
    });
    drop(harness);
    assert_eq!(autosaves(crash.path()), [] as [PathBuf; 0]);
}

#[test]
fn a_crashed_run_without_evidence_is_skipped() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let mut harness = window(folder.path(), "cancer");
    let without_evidence = crashed(folder.path(), "cancer");
    harness.get_by_label_contains("Xray = positive").click();
    settle(&mut harness);
    let with_evidence = crashed(folder.path(), "positive");
    drop(harness);
    // Two crashed runs: the older one had evidence, the newer one had none.
    std::thread::sleep(Duration::from_millis(20));
    let newer = std::fs::read(without_evidence.path().join("1-1.json")).expect("the file exists");
    std::fs::write(with_evidence.path().join("2-2.json"), newer).expect("a writable folder");
    let mut harness = window(with_evidence.path(), "asia");
    harness.get_by_label_contains("cancer was open with 1 finding");
    harness.get_by_label("Discard it").click();
    harness.run_steps(2);
    assert!(harness.query_by_label_contains("An earlier run").is_none());
    drop(harness);
    assert!(
        window(without_evidence.path(), "asia").query_by_label_contains("An earlier run").is_none()
    );
    assert_eq!(
        autosaves(without_evidence.path()),
        [] as [PathBuf; 0],
        "an autosave without evidence is removed"
    );
}

#[test]
fn cases_and_results_are_restored_in_the_next_run() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let start = || {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.store_in(folder.path());
        workbench.open(NetworkSource::Named("asia".to_owned()), Vec::new());
        show(workbench)
    };
    let names = |harness: &Harness<'_, Workbench>| -> Vec<String> {
        let document = harness.state().model().document.as_ref().expect("a network is open");
        document.cases.iter().map(|case| case.name.clone()).collect()
    };
    let result = folder.path().join("opened.json");
    std::fs::write(&result, record_json()).expect("a writable folder");
    let mut harness = start();
    let ctx = harness.ctx.clone();
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    for name in ["ill", "forgotten"] {
        harness.state_mut().run_command(&ctx, CaseCommand::Add(name.to_owned()));
        harness.state_mut().run_command(&ctx, ExperimentCommand::OpenResult(result.clone()));
    }
    let document = harness.state().model().document.as_ref().expect("a network is open");
    let numbers: Vec<u64> = document.cases.iter().map(|case| case.number).collect();
    let results: Vec<u64> =
        harness.state().model().experiments.results.iter().map(|result| result.number).collect();
    let changes = [
        Command::Case(CaseCommand::Remove(numbers[1])),
        Command::Case(CaseCommand::Rename(numbers[0], "very ill".to_owned())),
        Command::Experiment(ExperimentCommand::RemoveResult(results[0])),
        Command::Experiment(ExperimentCommand::RenameResult(results[1], "mine".to_owned())),
    ];
    for change in changes {
        harness.state_mut().run_command(&ctx, change);
    }
    // Each network has its own cases.
    harness.state_mut().open(NetworkSource::Named("cancer".to_owned()), Vec::new());
    settle(&mut harness);
    assert!(names(&harness).is_empty());
    drop(harness);

    let mut harness = start();
    assert_eq!(names(&harness), ["very ill"]);
    let results = &harness.state().model().experiments.results;
    assert_eq!(results.iter().map(|result| result.name.as_str()).collect::<Vec<_>>(), ["mine"]);
    assert_eq!(results[0].record.experiment, "fig4");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, ViewCommand::Show(Pane::Cases));
    harness.run_steps(3);
    harness.get_by_label("Recall very ill").click();
    settle(&mut harness);
    assert_eq!(findings(&harness), 1);
}

/// A small experiment result as JSON.
fn record_json() -> String {
    let experiment = experiment::by_name("fig4").expect("an experiment of this name");
    let setup = Setup::new(vec![Subject::sample("cancer").expect("a sample")]);
    let record = experiment.run(&setup, &Progress::new(CancelToken::new()));
    record.expect("a small network").files("x").remove(0).1
}

#[test]
fn an_autosave_that_cannot_be_parsed_is_not_offered() {
    let crash = tempfile::tempdir().expect("a folder for a test");
    std::fs::write(crash.path().join("1-1.json"), "{\"half\": ").expect("a writable folder");
    let harness = window(crash.path(), "asia");
    assert!(harness.query_by_label_contains("An earlier run").is_none());
}

#[test]
fn autosaving_leaves_the_network_file_unchanged() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let network = folder.path().join("mine.bif");
    let text = "variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 0.5 0.5; }";
    std::fs::write(&network, text).expect("a writable folder");
    let before = std::fs::metadata(&network).expect("the file exists");
    let mut harness =
        window(&folder.path().join("autosave"), network.to_str().expect("a UTF-8 path"));
    harness.get_by_label_contains("a = x").click();
    settle(&mut harness);
    drop(harness);
    assert_eq!(std::fs::read_to_string(&network).expect("the file exists"), text);
    let after = std::fs::metadata(&network).expect("the file exists");
    assert_eq!(before.modified().expect("a time"), after.modified().expect("a time"));
}
