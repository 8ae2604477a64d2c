//! If an engine's device fails, the default engine replaces that engine. The user's choice is kept.

mod common;

use std::sync::Arc;

use cliquescope::engine::LoadError;
use cliquescope::propagation::MemoryLimit;
use cliquescope::session::{EngineChoice, Failure, Propagation, Request, Session, Step, Update};
use common::failing_engine::{FailingEngine, FailureMode};
use common::session::{
    default_choice, evidence_of, last_propagation, sample, started_steps, updates_until_idle,
};

fn request(engine: EngineChoice, findings: &[(&str, &str)]) -> Request {
    let evidence = evidence_of(&sample("asia"), findings);
    Request { engine, evidence, ..common::session::request("asia", 1) }
}

/// The newest propagation in `updates`. Checks its P(lung = yes | e); the evidence must be either
/// `xray = yes` or empty.
fn checked_propagation(updates: &[Update]) -> Arc<Propagation> {
    let propagation =
        last_propagation(updates).unwrap_or_else(|| panic!("no posteriors: {updates:?}"));
    let lung = propagation.compiled.network().find("lung").expect("a variable of the sample");
    let expected = if propagation.evidence.is_empty() { 0.055 } else { 0.488_711_29 };
    assert!((propagation.posteriors.of(lung)[0] - expected).abs() < 1e-6);
    propagation
}

/// The reason of each fallback in `updates`. Checks that the default engine replaced `gpu-like`.
fn fallback_reasons(updates: &[Update]) -> Vec<&str> {
    let fell_back = |update| match update {
        &Update::FellBack { ref reason, wanted, engine } => {
            assert_eq!((wanted.engine.name(), engine), ("gpu-like", default_choice()));
            Some(reason.as_str())
        }
        _ => None,
    };
    updates.iter().filter_map(fell_back).collect()
}

const XRAY: [(&str, &str); 1] = [("xray", "yes")];

#[test]
fn an_engine_that_does_not_load_is_replaced_until_it_is_tried_again() {
    for (failure, part) in
        [(FailureMode::OutOfMemory, "out of memory"), (FailureMode::Unavailable, "unplugged")]
    {
        let engine = FailingEngine::new("gpu-like", failure);
        let session = Session::start(|| {});
        session.submit(request(engine.choice(), &[]));
        let updates = updates_until_idle(&session);
        let reasons = fallback_reasons(&updates);
        assert!(reasons.len() == 1 && reasons[0].contains(part), "{reasons:?}");
        assert_eq!(checked_propagation(&updates).engine, default_choice());

        session.submit(request(engine.choice(), &XRAY));
        let updates = updates_until_idle(&session);
        assert_eq!(
            started_steps(&updates),
            [Step::Propagate],
            "new evidence alone does not try the engine again"
        );
        checked_propagation(&updates);

        let rerun = |run_serial| Request { run_serial, ..request(engine.choice(), &XRAY) };
        session.submit(rerun(1));
        let updates = updates_until_idle(&session);
        assert_eq!(fallback_reasons(&updates).len(), 1);
        assert_eq!(checked_propagation(&updates).engine, default_choice());

        engine.repair();
        session.submit(rerun(2));
        let updates = updates_until_idle(&session);
        assert!(fallback_reasons(&updates).is_empty());
        assert_eq!(checked_propagation(&updates).engine, engine.choice());
        session.submit(rerun(3));
        let expected = [Step::Propagate, Step::Untraced];
        assert_eq!(
            started_steps(&updates_until_idle(&session)),
            expected,
            "the engine stays loaded"
        );
    }
}

#[test]
fn an_engine_is_replaced_if_its_device_is_lost_during_a_propagation() {
    let engine = FailingEngine::new("gpu-like", FailureMode::DeviceLost);
    let session = Session::start(|| {});
    session.submit(request(engine.choice(), &[]));
    let updates = updates_until_idle(&session);
    let prior = checked_propagation(&updates);
    assert_eq!(prior.engine, engine.choice());
    assert_eq!(Some(prior.took()), prior.untraced, "on a GPU the time without tracing is measured");
    let has_untraced_time = |update: &Update| match update {
        Update::Propagated(propagation) | Update::Untraced(propagation) => {
            Some(propagation.untraced.is_some())
        }
        _ => None,
    };
    let untraced: Vec<_> = updates.iter().filter_map(has_untraced_time).collect();
    assert_eq!(untraced, [false, true], "the posteriors are reported before the untraced time");
    session.submit(request(engine.choice(), &XRAY));
    let updates = updates_until_idle(&session);
    assert_eq!(fallback_reasons(&updates), ["the device is lost"]);
    let fallback = checked_propagation(&updates);
    assert_eq!((fallback.untraced, fallback.took()), (None, fallback.trace.elapsed));
    assert_eq!(
        started_steps(&updates),
        [Step::Propagate, Step::Load, Step::Prior, Step::Propagate]
    );
    assert_eq!(checked_propagation(&updates).engine, default_choice());

    // When a network is opened, even the same one, the engine is tried again.
    session.submit(Request { source_serial: 2, ..request(engine.choice(), &[]) });
    assert_eq!(checked_propagation(&updates_until_idle(&session)).engine, engine.choice());
}

#[test]
fn several_runs_are_done_although_the_engine_is_replaced_first() {
    let repeated = |engine: EngineChoice, findings: &[(&str, &str)]| Request {
        run_serial: 1,
        runs: 5,
        ..request(engine, findings)
    };
    for failure in [FailureMode::Unavailable, FailureMode::DeviceLostAtRun(4)] {
        for findings in [&[][..], &XRAY] {
            let engine = FailingEngine::new("gpu-like", failure).choice();
            let session = Session::start(|| {});
            session.submit(request(engine, findings));
            assert_eq!(checked_propagation(&updates_until_idle(&session)).times, None);
            session.submit(repeated(engine, findings));
            let updates = updates_until_idle(&session);
            assert_eq!(fallback_reasons(&updates).len(), 1, "{failure:?}");
            let propagation = checked_propagation(&updates);
            assert_eq!(propagation.engine, default_choice());
            assert_eq!(propagation.times.map(|times| times.runs), Some(5), "{failure:?}");
            // The same network, opened again, is propagated once.
            session.submit(Request { source_serial: 2, ..repeated(engine, findings) });
            assert_eq!(checked_propagation(&updates_until_idle(&session)).times, None);
        }
    }
}

#[test]
fn the_fallback_engine_has_no_fallback() {
    let session = Session::start(|| {});
    let lost = FailingEngine::new(default_choice().engine.name(), FailureMode::DeviceLost);
    session.submit(request(lost.choice(), &XRAY));
    let updates = updates_until_idle(&session);
    let Some(Update::Failed(Step::Propagate, failure @ Failure::Device(_))) = updates.last() else {
        panic!("{updates:?}");
    };
    assert_eq!(failure.to_string(), "the GPU failed while propagating: the device is lost");
    assert!(fallback_reasons(&updates).is_empty());
}

#[test]
fn a_network_above_the_memory_limit_is_rejected_without_a_fallback() {
    let engine = FailingEngine::new("gpu-like", FailureMode::DeviceLost);
    let session = Session::start(|| {});
    let memory = Some(MemoryLimit::from_bytes(1200));
    session.submit(Request { memory, ..request(engine.choice(), &[]) });
    let updates = updates_until_idle(&session);
    let Some(Update::Failed(Step::Load, Failure::Load(LoadError::TooLarge(_)))) = updates.last()
    else {
        panic!("{updates:?}");
    };
    assert!(fallback_reasons(&updates).is_empty());
}

#[test]
fn the_worker_survives_panics_in_a_run_and_when_the_propagator_is_dropped() {
    let engine = FailingEngine::new("gpu-like", FailureMode::Panic);
    let session = Session::start(|| {});
    for _ in 0..3 {
        session.submit(request(engine.choice(), &XRAY));
        let updates = updates_until_idle(&session);
        let Some(Update::Failed(Step::Propagate, Failure::Panicked(message))) = updates.last()
        else {
            panic!("{updates:?}");
        };
        assert_eq!(message, "the engine has a defect");
        session.submit(request(default_choice(), &XRAY));
        checked_propagation(&updates_until_idle(&session));
        session.submit(request(default_choice(), &[]));
        updates_until_idle(&session);
    }
}

#[cfg(feature = "app")]
#[test]
fn the_window_shows_the_fallback_engine_and_tries_the_chosen_one_again() {
    use cliquescope::app::state::command::EngineCommand;
    use egui_kittest::kittest::Queryable;

    let mut harness = common::window::open("asia");
    let engine = FailingEngine::new("gpu-like", FailureMode::DeviceLost);
    let ctx = harness.ctx.clone();
    harness.state_mut().run_command(&ctx, EngineCommand::SetEngine(engine.choice()));
    common::window::settle(&mut harness);
    assert!(harness.query_by_label_contains("instead of").is_none());
    harness.get_by_label_contains("xray = yes").click();
    common::window::settle(&mut harness);
    harness.get_by_label("engine cpu instead of gpu-like");
    harness.get_by_label_contains("lung = yes: 48.87%");
    assert_eq!(harness.state().model().compute.engine, engine.choice(), "the choice is kept");
    assert!(harness.state().model().failure.is_none());
    engine.repair();
    harness.get_by_label("Propagate").click();
    // The posteriors on screen are already right, so waiting for them would return at once.
    common::window::wait_for(&mut harness, |workbench| {
        let result = workbench.model().document.as_ref().and_then(|open| open.result.as_ref());
        result.is_some_and(|result| result.engine == engine.choice())
    });
    assert!(harness.query_by_label_contains("instead of").is_none());
}
