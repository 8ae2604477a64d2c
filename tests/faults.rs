//! Engines that panic or lose their device, and a file that becomes a pipe. The program must say
//! what happened, and lose nothing that the user made.

mod common;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{CaseQuery, LoadOptions, default_engine, query_cases};
use cliquescope::network::Evidence;
use cliquescope::propagation::CompileOptions;
use cliquescope::session::{Failure, Request, Session, Step, Update};
use common::failing_engine::{FailingEngine, FailureMode};
use common::session::{
    default_choice, evidence_of, last_propagation, request, sample, updates_until_idle,
};

/// All states of all variables of Asia, each as the only finding of a case.
fn cases() -> Vec<Evidence> {
    let network = sample("asia");
    let finding = |v| (0..2).map(move |state| (v, state));
    let case = |(v, state)| {
        let mut case = Evidence::none();
        case.observe(&network, v, state);
        case
    };
    network.ids().flat_map(finding).map(case).collect()
}

#[test]
fn cases_are_answered_in_order_if_the_device_is_lost_in_the_middle_of_a_batch() {
    let asia = sample("asia");
    let (compile, load, cancel) =
        (CompileOptions::default(), LoadOptions::default(), CancelToken::new());
    let cases = cases();
    let expected = query_cases(default_engine(), &asia, &cases, &compile, &load, &cancel).unwrap();
    for lost_at in [1, 4, 5, 16, 17] {
        let engine = FailingEngine::new("gpu-like", FailureMode::DeviceLostAtRun(lost_at));
        let mut query = CaseQuery::new(engine, &asia, &compile, &load, &cancel);
        let mut answers = Vec::new();
        for block in cases.chunks(4) {
            answers.extend(query.answer(block).unwrap());
        }
        assert_eq!(answers.len(), expected.len());
        for (number, (answer, expected)) in answers.iter().zip(&expected).enumerate() {
            let (answer, expected) = (answer.as_ref().unwrap(), expected.as_ref().unwrap());
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
            let mut values = answer.values().iter().zip(expected.values());
            assert!(values.all(close), "lost at {lost_at}, case {number}");
        }
        let reason = (lost_at <= cases.len()).then_some("the device is lost");
        assert_eq!(query.device_failure(), reason);
    }
}

/// Panics of a [`FailingEngine`], with the step of the worker that each interrupts. For a request
/// with evidence and cases, the worker propagates without evidence, then with the evidence, then
/// (on a GPU) again with the evidence but without timing messages, and then each case.
const PANICS: [(FailureMode, Step); 6] = [
    (FailureMode::PanicInLoad, Step::Load),
    (FailureMode::PanicAtRun(1), Step::Prior),
    (FailureMode::PanicAtRun(2), Step::Propagate),
    (FailureMode::Panic, Step::Propagate),
    (FailureMode::PanicAtRun(3), Step::Untraced),
    (FailureMode::PanicAtRun(4), Step::Compare),
];

#[test]
fn a_panic_of_an_engine_at_any_step_becomes_an_update_and_the_worker_continues() {
    let asia = sample("asia");
    let evidence = evidence_of(&asia, &[("xray", "yes")]);
    let cases: Vec<Evidence> = vec![evidence_of(&asia, &[("smoke", "yes")])];
    for (failure, expected) in PANICS {
        let engine = FailingEngine::new("gpu-like", failure);
        let session = Session::start(|| {});
        let wanted = Request {
            evidence: evidence.clone(),
            cases: cases.clone().into(),
            engine: engine.choice(),
            ..request("asia", 1)
        };
        session.submit(wanted.clone());
        let updates = updates_until_idle(&session);
        let Some(Update::Failed(step, Failure::Panicked(message))) = updates.last() else {
            panic!("{failure:?}: {updates:?}");
        };
        assert_eq!((*step, message.as_str()), (expected, "the engine has a defect"));
        session.submit(Request { engine: default_choice(), ..wanted });
        let updates = updates_until_idle(&session);
        assert!(matches!(updates.last(), Some(Update::Idle)), "{failure:?}: {updates:?}");
        let answered = |update: &Update| matches!(update, Update::Answered(_, Ok(_)));
        assert!(updates.iter().any(answered), "{failure:?}: {updates:?}");
        let propagation = last_propagation(&updates).expect("posteriors");
        assert_eq!(propagation.evidence, evidence);
    }
}

#[test]
fn a_case_whose_numbers_are_out_of_range_does_not_keep_others_from_being_answered() {
    let asia = sample("asia");
    let cases: Vec<Evidence> =
        ["yes", "no"].map(|state| evidence_of(&asia, &[("smoke", state)])).into();
    // Without evidence, the worker propagates once with and once without timing messages. The
    // third propagation is that of the first case.
    let engine = FailingEngine::new("gpu-like", FailureMode::OutOfRangeAtRun(3));
    let session = Session::start(|| {});
    let wanted =
        Request { cases: cases.clone().into(), engine: engine.choice(), ..request("asia", 1) };
    session.submit(wanted);
    let updates = updates_until_idle(&session);
    let answered = updates.iter().filter_map(|update| match update {
        Update::Answered(case, answer) => Some((case.clone(), answer.is_ok())),
        _ => None,
    });
    let [first, second] = cases.try_into().expect("two cases");
    assert_eq!(answered.collect::<Vec<_>>(), [(first, false), (second, true)], "{updates:?}");
}

#[cfg(feature = "app")]
mod window {
    use std::path::Path;

    use cliquescope::app::state::command::{
        CaseCommand, DocumentCommand, EngineCommand, ViewCommand,
    };
    use cliquescope::app::state::pane::Pane;
    use cliquescope::app::{Settings, Workbench};
    use cliquescope::format::NetworkSource;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::common::window::{settle, show, wait_for};
    use super::*;

    /// Asia with a finding and a case, in a window whose stored cases and autosave are in `folder`.
    fn window_with_work(folder: &Path) -> Harness<'static, Workbench> {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.store_in(folder);
        workbench.autosave_in(&folder.join("unfinished"));
        workbench.open(NetworkSource::Named("asia".to_owned()), Vec::new());
        let mut harness = show(workbench);
        harness.get_by_label_contains("xray = yes").click();
        settle(&mut harness);
        let ctx = harness.ctx.clone();
        harness.state_mut().run_command(&ctx, CaseCommand::Add("ill".to_owned()));
        // Only cases on screen are answered.
        harness.state_mut().run_command(&ctx, ViewCommand::Show(Pane::Cases));
        settle(&mut harness);
        harness
    }

    /// Checks that the work of [`window_with_work`] is there.
    fn assert_work_is_kept(harness: &Harness<'_, Workbench>) {
        let document = harness.state().model().document.as_ref().expect("a network is open");
        assert_eq!((document.title().as_str(), document.evidence.len()), ("asia", 1));
        assert_eq!(document.cases.len(), 1);
        assert_eq!(document.cases[0].name, "ill");
    }

    #[test]
    fn a_panic_of_an_engine_at_any_step_is_shown_and_loses_no_work() {
        for (failure, step) in PANICS {
            let folder = tempfile::tempdir().unwrap();
            let mut harness = window_with_work(folder.path());
            let engine = FailingEngine::new("gpu-like", failure);
            let ctx = harness.ctx.clone();
            harness.state_mut().run_command(&ctx, EngineCommand::SetEngine(engine.choice()));
            wait_for(&mut harness, |workbench| workbench.model().failure.is_some());
            harness.get_by_label_contains("internal error: the engine has a defect");
            assert_work_is_kept(&harness);
            harness.state_mut().run_command(&ctx, EngineCommand::SetEngine(default_choice()));
            wait_for(&mut harness, |workbench| {
                let document = workbench.model().document.as_ref();
                let result = document.and_then(|document| document.result.as_ref());
                result.is_some_and(|result| result.engine == default_choice())
            });
            settle(&mut harness);
            harness.get_by_label_contains("lung = yes: 48.87%");
            assert_work_is_kept(&harness);
            drop(harness);
            let next = window_with_work(folder.path());
            let document = next.state().model().document.as_ref().expect("a network is open");
            assert_eq!(document.cases.len(), 2, "{step:?}: the case is stored");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_became_a_pipe_is_refused_when_it_is_reloaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("asia.bif");
        let text = "variable a { type discrete [ 2 ] { x, y }; } \
                    probability ( a ) { table 0.5 0.5; }";
        std::fs::write(&path, text).unwrap();
        let mut harness = super::common::window::open(path.to_str().unwrap());
        harness.get_by_label_contains("a = x").click();
        settle(&mut harness);
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: there is no mkfifo");
            return;
        }
        let ctx = harness.ctx.clone();
        harness.state_mut().run_command(&ctx, DocumentCommand::Reload);
        settle(&mut harness);
        harness.get_by_label_contains("this is a pipe or a device, expected a file");
        let document = harness.state().model().document.as_ref().expect("a network is open");
        assert_eq!(document.evidence.len(), 1);
    }
}
