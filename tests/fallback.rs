//! Where an engine's device fails the default engine stands in, and what was chosen is kept.

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

/// The last posteriors, which must be those of `xray = yes` or of no evidence.
fn checked(updates: &[Update]) -> Arc<Propagation> {
    let propagation =
        last_propagation(updates).unwrap_or_else(|| panic!("no posteriors: {updates:?}"));
    let lung = propagation.compiled.network().find("lung").expect("a variable of the sample");
    let expected = if propagation.evidence.is_empty() { 0.055 } else { 0.488_711_29 };
    assert!((propagation.posteriors.of(lung)[0] - expected).abs() < 1e-6);
    propagation
}

fn reasons(updates: &[Update]) -> Vec<&str> {
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
fn what_does_not_load_is_stood_in_for_until_it_is_tried_again() {
    for (breaks, part) in
        [(FailureMode::OutOfMemory, "out of memory"), (FailureMode::Unavailable, "unplugged")]
    {
        let engine = FailingEngine::new("gpu-like", breaks);
        let session = Session::start(|| {});
        session.submit(request(engine.choice(), &[]));
        let updates = updates_until_idle(&session);
        let reasons = reasons(&updates);
        assert!(reasons.len() == 1 && reasons[0].contains(part), "{reasons:?}");
        assert_eq!(checked(&updates).engine, default_choice());

        session.submit(request(engine.choice(), &XRAY));
        let updates = updates_until_idle(&session);
        assert_eq!(
            started_steps(&updates),
            [Step::Propagate],
            "evidence alone tries nothing again"
        );
        checked(&updates);

        let again = |run_serial| Request { run_serial, ..request(engine.choice(), &XRAY) };
        session.submit(again(1));
        let updates = updates_until_idle(&session);
        assert_eq!(self::reasons(&updates).len(), 1);
        assert_eq!(checked(&updates).engine, default_choice());

        engine.repair();
        session.submit(again(2));
        let updates = updates_until_idle(&session);
        assert!(self::reasons(&updates).is_empty());
        assert_eq!(checked(&updates).engine, engine.choice());
        session.submit(again(3));
        let expected = [Step::Propagate, Step::Untraced];
        assert_eq!(started_steps(&updates_until_idle(&session)), expected, "it stays loaded");
    }
}

#[test]
fn a_device_that_is_lost_in_a_propagation_is_stood_in_for() {
    let engine = FailingEngine::new("gpu-like", FailureMode::DeviceLost);
    let session = Session::start(|| {});
    session.submit(request(engine.choice(), &[]));
    let updates = updates_until_idle(&session);
    let prior = checked(&updates);
    assert_eq!(prior.engine, engine.choice());
    assert_eq!(Some(prior.took()), prior.untraced, "on a device the timing of messages costs");
    let told = |update: &Update| match update {
        Update::Propagated(propagation) | Update::Untraced(propagation) => {
            Some(propagation.untraced.is_some())
        }
        _ => None,
    };
    let told: Vec<_> = updates.iter().filter_map(told).collect();
    assert_eq!(told, [false, true], "posteriors do not wait for what timing costs");
    session.submit(request(engine.choice(), &XRAY));
    let updates = updates_until_idle(&session);
    assert_eq!(reasons(&updates), ["the device is lost"]);
    let stand_in = checked(&updates);
    assert_eq!((stand_in.untraced, stand_in.took()), (None, stand_in.trace.elapsed));
    assert_eq!(
        started_steps(&updates),
        [Step::Propagate, Step::Load, Step::Prior, Step::Propagate]
    );
    assert_eq!(checked(&updates).engine, default_choice());

    // Another network is another try.
    session.submit(Request { source_serial: 2, ..request(engine.choice(), &[]) });
    assert_eq!(checked(&updates_until_idle(&session)).engine, engine.choice());
}

#[test]
fn nothing_stands_in_for_the_engine_that_stands_in() {
    let session = Session::start(|| {});
    let lost = FailingEngine::new(default_choice().engine.name(), FailureMode::DeviceLost);
    session.submit(request(lost.choice(), &XRAY));
    let updates = updates_until_idle(&session);
    let Some(Update::Failed(Step::Propagate, failure @ Failure::Device(_))) = updates.last() else {
        panic!("{updates:?}");
    };
    assert_eq!(failure.to_string(), "the GPU failed while propagating: the device is lost");
    assert!(reasons(&updates).is_empty());
}

#[test]
fn what_is_too_large_for_the_limit_is_refused_and_not_computed_elsewhere() {
    let engine = FailingEngine::new("gpu-like", FailureMode::DeviceLost);
    let session = Session::start(|| {});
    let memory = Some(MemoryLimit::from_bytes(10));
    session.submit(Request { memory, ..request(engine.choice(), &[]) });
    let updates = updates_until_idle(&session);
    assert!(matches!(
        updates.last(),
        Some(Update::Failed(Step::Load, Failure::Load(LoadError::TooLarge(_))))
    ));
    assert!(reasons(&updates).is_empty());
}

#[test]
fn the_worker_outlives_a_panic_and_another_in_its_wake() {
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
        checked(&updates_until_idle(&session));
        session.submit(request(default_choice(), &[]));
        updates_until_idle(&session);
    }
}

#[cfg(feature = "app")]
#[test]
fn the_window_says_what_stands_in_and_tries_again() {
    use cliquescope::app::state::command::EngineCommand;
    use egui_kittest::kittest::Queryable;

    let mut harness = common::window::open("asia");
    let engine = FailingEngine::new("gpu-like", FailureMode::DeviceLost);
    let ctx = harness.ctx.clone();
    harness.state_mut().ask(&ctx, EngineCommand::SetEngine(engine.choice()));
    common::window::settle(&mut harness);
    assert!(harness.query_by_label_contains("instead of").is_none());
    harness.get_by_label_contains("xray = yes").click();
    common::window::settle(&mut harness);
    harness.get_by_label("cpu instead of gpu-like");
    harness.get_by_label_contains("lung = yes: 48.87%");
    assert_eq!(harness.state().model().compute.engine, engine.choice(), "the choice is kept");
    assert!(harness.state().model().failure.is_none());
    engine.repair();
    harness.get_by_label("Propagate").click();
    // The posteriors on screen are right already, so the window has nothing to settle.
    common::window::wait_for(&mut harness, |workbench| {
        let result = workbench.model().document.as_ref().and_then(|open| open.result.as_ref());
        result.is_some_and(|result| result.engine == engine.choice())
    });
    assert!(harness.query_by_label_contains("instead of").is_none());
}
