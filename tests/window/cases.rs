//! The pane of cases, and long files of cases.

use cliquescope::app::state::command::{
    CaseCommand, CaseFileCommand, Command, EvidenceCommand, HistoryCommand, ViewCommand,
};
use cliquescope::app::state::long_case_file::LongCaseFile;
use cliquescope::app::state::pane::Pane;
use cliquescope::app::{Settings, Workbench};
use cliquescope::format::NetworkSource;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use crate::common::window::{open, settle, wait_for};
use crate::{document, evidence_count};

#[test]
fn undo_restores_a_removed_or_replaced_case() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let mut harness = open("asia");
    harness.state_mut().store_in(folder.path());
    let ctx = harness.ctx.clone();
    let run = |harness: &mut Harness<'_, Workbench>, command: Command| {
        harness.state_mut().run_command(&ctx, command);
        settle(harness);
    };
    let cases = |harness: &Harness<'_, Workbench>| -> Vec<(u64, String, usize)> {
        let document = document(harness);
        let cases = document.cases.iter();
        cases.map(|case| (case.number, case.name.clone(), case.evidence.len())).collect()
    };
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    run(&mut harness, Command::Case(CaseCommand::Add("ill".to_owned())));
    run(&mut harness, Command::Evidence(EvidenceCommand::Clear));
    run(&mut harness, Command::Case(CaseCommand::Add("well".to_owned())));
    let (ill, well) = ((1, "ill".to_owned(), 1), (2, "well".to_owned(), 0));
    assert_eq!(cases(&harness), [ill.clone(), well.clone()]);
    run(&mut harness, Command::Case(CaseCommand::Replace(1)));
    run(&mut harness, Command::Case(CaseCommand::Remove(1)));
    assert_eq!(cases(&harness), std::slice::from_ref(&well));
    run(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(cases(&harness), [(1, "ill".to_owned(), 0), well.clone()], "at its old position");
    run(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(cases(&harness), [ill.clone(), well.clone()]);
    run(&mut harness, Command::History(HistoryCommand::Redo));
    run(&mut harness, Command::History(HistoryCommand::Redo));
    assert_eq!(cases(&harness), std::slice::from_ref(&well));
    run(&mut harness, Command::History(HistoryCommand::Undo));
    run(&mut harness, Command::History(HistoryCommand::Undo));
    run(&mut harness, Command::History(HistoryCommand::Undo));
    assert_eq!(evidence_count(&harness), 1, "then the cleared evidence is restored");
    drop(harness);

    // The cases on disk are the cases on screen.
    let mut workbench = Workbench::new(Settings::default(), || {});
    workbench.store_in(folder.path());
    workbench.open(NetworkSource::Named("asia".to_owned()), Vec::new());
    let mut harness = Harness::builder()
        .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
    settle(&mut harness);
    let stored = cases(&harness).into_iter().map(|(_, name, findings)| (name, findings));
    let mut stored: Vec<_> = stored.collect();
    stored.sort();
    assert_eq!(stored, [("ill".to_owned(), 1), ("well".to_owned(), 0)]);
}

#[test]
fn undo_restores_the_name_of_a_case_and_redo_the_new_one() {
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    let name = |harness: &Harness<'_, Workbench>| document(harness).cases[0].name.clone();
    harness.state_mut().run_command(&ctx, CaseCommand::Add("ill".to_owned()));
    harness.get_by_label_contains("xray = yes").click();
    settle(&mut harness);
    harness.state_mut().run_command(&ctx, CaseCommand::Replace(1));
    harness.state_mut().run_command(&ctx, CaseCommand::Rename(1, "very ill".to_owned()));
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    assert_eq!((name(&harness).as_str(), document(&harness).cases[0].evidence.len()), ("ill", 1));
    harness.state_mut().run_command(&ctx, HistoryCommand::Undo);
    assert_eq!((name(&harness).as_str(), document(&harness).cases[0].evidence.len()), ("ill", 0));
    harness.state_mut().run_command(&ctx, HistoryCommand::Redo);
    harness.state_mut().run_command(&ctx, HistoryCommand::Redo);
    assert_eq!(name(&harness), "very ill");
    assert_eq!(document(&harness).cases[0].evidence.len(), 1);
}

#[test]
fn evidence_is_loaded_from_a_long_file_as_from_a_short_one() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    // A compressed file counts as long.
    let packed = |content: &str| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, content.as_bytes()).expect("memory can be written");
        packer.finish().expect("memory can be written")
    };
    let one = ("xray\nyes\n", 1, 0);
    let mistake_first = ("xray,smoke\nmaybe,yes\nyes,yes\nno,\n", 2, 2);
    let one_of_two = ("xray,smoke\nmaybe,yes\nyes,yes\n", 2, 0);
    for (content, findings, listed) in [one, mistake_first, one_of_two] {
        let mut said = Vec::new();
        for is_long in [false, true] {
            let path = folder.path().join(if is_long { "evidence.csv.gz" } else { "evidence.csv" });
            let bytes = if is_long { packed(content) } else { content.as_bytes().to_vec() };
            std::fs::write(&path, bytes).expect("a writable folder");
            let mut harness = open("asia");
            let ctx = harness.ctx.clone();
            harness.state_mut().run_command(&ctx, CaseFileCommand::LoadEvidence(path));
            wait_for(&mut harness, |workbench| {
                workbench
                    .model()
                    .document
                    .as_ref()
                    .is_some_and(|document| !document.evidence.is_empty())
            });
            assert_eq!(evidence_count(&harness), findings, "{content:?}, long: {is_long}");
            assert_eq!(document(&harness).cases.len(), listed, "{content:?}, long: {is_long}");
            assert!(document(&harness).long_case_file.is_none());
            let notices = harness.state().notices().map(|text| text.replace(".csv.gz", ".csv"));
            said.push(notices.collect::<Vec<_>>());
        }
        assert_eq!(said[0], said[1], "{content:?}");
    }
}

#[test]
fn cases_are_answered_while_visible_and_can_be_saved_and_loaded() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("two.csv");
    std::fs::write(&path, "xray,tub,either\nyes,,\n,yes,no\n").expect("a writable folder");
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, CaseFileCommand::OpenCases(path));
    harness.get_by_label_contains("smoke = yes").click();
    settle(&mut harness);
    harness.state_mut().run_command(&ctx, CaseCommand::Add("smoker".to_owned()));
    harness.run_steps(3);
    let answers = |workbench: &Workbench| {
        let document = workbench.model().document.as_ref().expect("a network is open");
        document.cases.iter().filter(|case| case.answer.is_some()).count()
    };
    assert_eq!(answers(harness.state()), 0, "the pane is hidden");
    harness.get_by_label("Cases").click();
    wait_for(&mut harness, |workbench| answers(workbench) == 3);
    harness.get_by_label("impossible");
    harness.get_by_label("48.9%");
    // A case with the same evidence as another case gets that case's answer.
    harness.state_mut().run_command(&ctx, CaseCommand::Add("again".to_owned()));
    harness.run_steps(3);
    wait_for(&mut harness, |workbench| answers(workbench) == 4);
    // Another pane that fills the window hides the pane of cases.
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(Pane::JunctionTree));
    harness.state_mut().run_command(&ctx, EvidenceCommand::Clear);
    settle(&mut harness);
    harness.state_mut().run_command(&ctx, CaseCommand::Add("hidden".to_owned()));
    harness.run_steps(3);
    harness.get_by_label_contains("The evidence is now case 'hidden'");
    assert_eq!(answers(harness.state()), 4);
    harness.state_mut().run_command(&ctx, ViewCommand::Restore);
    wait_for(&mut harness, |workbench| answers(workbench) == 5);
    // A case can be recalled even if the current evidence is impossible.
    harness.get_by_label("Recall two 2").click();
    settle(&mut harness);
    assert!(harness.state().model().failure.is_some());
    harness.get_by_label("Recall smoker").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2, "recalling a case can be undone");

    let saved = folder.path().join("all.json");
    harness.state_mut().run_command(&ctx, CaseFileCommand::SaveCases(saved.clone()));
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, CaseFileCommand::LoadEvidence(saved));
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1, "the first case was entered");
    for name in ["two 1", "two 2", "smoker"] {
        harness.get_by_label(&format!("Recall {name}"));
    }
}

#[test]
fn a_file_without_cases_is_reported_and_the_file_of_the_network_is_never_replaced() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let (own, empty) = (folder.path().join("own.bif"), folder.path().join("empty.csv"));
    let text = "variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 0.5 0.5; }";
    std::fs::write(&own, text).expect("a writable folder");
    std::fs::write(&empty, "a\n").expect("a writable folder");
    let mut harness = open(&own.display().to_string());
    let ctx = harness.ctx.clone();
    let mut is_reported = |command: CaseFileCommand, text: &str| {
        // Draws enough frames for the notices of the previous command to disappear.
        harness.run_steps(100);
        assert_eq!(harness.query_all_by_label_contains(text).count(), 0);
        harness.state_mut().run_command(&ctx, command);
        harness.run_steps(3);
        harness.query_all_by_label_contains(text).count() > 0
    };
    for command in
        [CaseFileCommand::OpenCases(empty.clone()), CaseFileCommand::LoadEvidence(empty.clone())]
    {
        assert!(is_reported(command, "The file has no cases"));
    }
    // The file of the network is not written even while it is missing, because another program may
    // be about to write it again.
    for is_missing in [false, true] {
        if is_missing {
            std::fs::remove_file(&own).expect("the file of the network");
        }
        let command = CaseFileCommand::SaveEvidence(own.clone());
        assert!(is_reported(command, "is the open network"));
        assert_eq!(std::fs::read_to_string(&own).ok().as_deref(), (!is_missing).then_some(text));
    }
}

#[test]
fn the_cases_of_a_long_file_are_read_as_they_are_shown() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("many.csv");
    let row = |number: usize| match number {
        4 => "maybe,\n".to_owned(),
        _ => format!("{},{}\n", ["yes", "no"][number % 2], ["", "yes"][number % 3 % 2]),
    };
    let rows: String = (1..=3000).map(row).collect();
    std::fs::write(&path, format!("smoke,xray\n{rows}")).expect("a writable folder");
    let mut harness = open("asia");
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, CaseFileCommand::LoadEvidence(path.clone()));
    fn file(workbench: &Workbench) -> Option<&LongCaseFile> {
        workbench.model().document.as_ref()?.long_case_file.as_ref()
    }
    let is_read =
        |workbench: &Workbench| file(workbench).is_some_and(|file| file.case(0).is_some());
    wait_for(&mut harness, is_read);
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 2, "the first case was entered");
    harness.get_by_label("3,000 cases");
    harness.get_by_label("Enter case 2 of the file").click();
    settle(&mut harness);
    assert_eq!(evidence_count(&harness), 1);
    harness.get_by_label_contains("no state 'maybe'");
    harness.get_by_label("Add case 3 of the file").click();
    harness.run_steps(3);
    harness.get_by_label("Recall many 3");
    // Cases far away are read on request, and the range that was requested last is kept. The pane
    // of cases is hidden meanwhile, because it requests the cases on screen.
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(Pane::Network));
    harness.run_steps(2);
    for range in [1000..1010, 2000..2010, 2990..3000] {
        harness.state_mut().run_command(&ctx, CaseFileCommand::ReadCases(range));
    }
    wait_for(&mut harness, |workbench| file(workbench).is_some_and(|file| file.has(&(2990..3000))));
    std::fs::write(&path, "smoke\nyes\n").expect("a writable folder");
    harness.state_mut().run_command(&ctx, CaseFileCommand::ReadCases(0..10));
    wait_for(&mut harness, |workbench| file(workbench).is_none());
    harness.state_mut().run_command(&ctx, ViewCommand::ToggleMaximised(Pane::Network));
    harness.run_steps(2);
    harness.get_by_label("Recall many 3");
    assert_eq!(harness.query_all_by_label("3,000 cases").count(), 0);
}
