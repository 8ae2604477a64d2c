//! The worker is cancelled, interrupted or ended while an engine runs, or the engine panics.

use std::sync::{Arc, Barrier};

use cliquescope::engine::{
    Engine, EngineInfo, LoadError, LoadOptions, Propagator, RunError, SEQUENTIAL,
};
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, Forecast, Posteriors, Watch};
use cliquescope::session::{Failure, Request, Session, Step, Update};

use crate::common::session::{
    engine_choice, evidence_of, last_propagation, request, sample, started_steps,
    updates_until_idle,
};
use crate::wait_for_propagation;

/// An engine that calls functions given by a test.
struct Fake {
    load: fn(),
    run: Run,
}

/// What a [`Fake`] calls to propagate.
type Run = fn(&CompiledNetwork, &Evidence, &Watch) -> Result<Posteriors, RunError>;

static FAKE: EngineInfo =
    EngineInfo { name: "fake", summary: "for tests", capabilities: SEQUENTIAL.capabilities };

impl Engine for Fake {
    fn info(&self) -> &'static EngineInfo {
        &FAKE
    }

    fn availability(&self) -> Result<(), String> {
        Ok(())
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        Forecast::new("fake", precision, compiled, 0)
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        _: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        (self.load)();
        Ok(Box::new(FakePropagator(Arc::clone(compiled), self.run)))
    }
}

struct FakePropagator(Arc<CompiledNetwork>, Run);

impl Propagator for FakePropagator {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        (self.1)(&self.0, evidence, watch)
    }

    fn peak_bytes(&self) -> u64 {
        0
    }
}

/// Runs until it is cancelled.
static STUCK: Fake = Fake { load: || {}, run: |_, _, watch| until_cancelled(watch) };

/// Runs until it is cancelled if there is evidence, and returns at once otherwise.
static STUCK_WITH_EVIDENCE: Fake = Fake {
    load: || {},
    run: |compiled, evidence, watch| match evidence.is_empty() {
        true => Ok(Posteriors::new(compiled.network(), 0.0, |_, states| states.fill(1.0))),
        false => until_cancelled(watch),
    },
};

/// Blocks the load of [`SLOW_TO_LOAD`] until the test also waits on this barrier.
static LOADING: Barrier = Barrier::new(2);

static SLOW_TO_LOAD: Fake = Fake {
    load: || {
        LOADING.wait();
    },
    run: |_, _, _| panic!("a propagation starts although the load was cancelled"),
};

static PANICKING: Fake = Fake { load: || {}, run: |_, _, _| panic!("the engine has a defect") };

fn until_cancelled(watch: &Watch) -> Result<Posteriors, RunError> {
    loop {
        watch.check()?;
        std::thread::yield_now();
    }
}

#[test]
fn the_user_can_cancel_the_running_step() {
    let session = Session::start(|| {});
    session.submit(Request { engine: engine_choice(&STUCK), ..request("asia", 1) });
    wait_for_propagation(&session);
    session.cancel();
    let updates = updates_until_idle(&session);
    assert!(matches!(updates.last(), Some(Update::Cancelled(Step::Prior))), "{updates:?}");

    session.submit(request("asia", 1));
    assert_eq!(started_steps(&updates_until_idle(&session)), [Step::Load, Step::Prior]);
}

#[test]
fn choosing_another_engine_interrupts_one_that_hangs() {
    let session = Session::start(|| {});
    session.submit(Request { engine: engine_choice(&STUCK), ..request("asia", 1) });
    wait_for_propagation(&session);
    session.submit(request("asia", 1));
    assert!(last_propagation(&updates_until_idle(&session)).is_some());
}

#[test]
fn a_panic_becomes_an_update_and_the_worker_continues() {
    let session = Session::start(|| {});
    session.submit(Request { engine: engine_choice(&PANICKING), ..request("asia", 1) });
    let updates = updates_until_idle(&session);
    let Some(Update::Failed(Step::Prior, Failure::Panicked(message))) = updates.last() else {
        panic!("{updates:?}");
    };
    assert_eq!(message, "the engine has a defect");

    session.submit(request("asia", 1));
    assert!(last_propagation(&updates_until_idle(&session)).is_some());
}

#[test]
fn newer_evidence_interrupts_a_propagation() {
    let session = Session::start(|| {});
    let asia = sample("asia");
    let stuck = Request { engine: engine_choice(&STUCK_WITH_EVIDENCE), ..request("asia", 1) };
    session.submit(stuck.clone());
    updates_until_idle(&session);
    session.submit(Request { evidence: evidence_of(&asia, &[("smoke", "no")]), ..stuck.clone() });
    wait_for_propagation(&session);
    session.submit(stuck);
    // The posteriors for this evidence are known, so nothing is left to do.
    let updates = updates_until_idle(&session);
    assert!(matches!(updates.last(), Some(Update::Idle)), "{updates:?}");
}

#[test]
fn new_evidence_after_cancelled_or_failed_runs_is_propagated_once() {
    let session = Session::start(|| {});
    let asia = sample("asia");
    let with_runs = |run_serial, findings: &[(&str, &str)]| Request {
        evidence: evidence_of(&asia, findings),
        run_serial,
        runs: 5,
        ..request("asia", 1)
    };
    let is_run_once = |request: Request| {
        session.submit(request);
        let propagation = last_propagation(&updates_until_idle(&session)).expect("posteriors");
        propagation.times.is_none()
    };
    let engine = engine_choice(&STUCK_WITH_EVIDENCE);
    session.submit(Request { engine, ..request("asia", 1) });
    updates_until_idle(&session);
    session.submit(Request { engine, ..with_runs(1, &[("smoke", "no")]) });
    while !matches!(session.wait().1, Update::Started(Step::Propagate)) {}
    session.cancel();
    let updates = updates_until_idle(&session);
    assert!(matches!(updates.last(), Some(Update::Cancelled(Step::Propagate))), "{updates:?}");
    assert!(is_run_once(with_runs(1, &[("smoke", "yes")])), "the user cancelled the runs");

    session.submit(with_runs(2, &[("tub", "yes"), ("either", "no")]));
    let updates = updates_until_idle(&session);
    let impossible = |update: &Update| matches!(update, Update::Failed(_, Failure::Impossible(_)));
    assert!(updates.last().is_some_and(impossible), "{updates:?}");
    assert!(is_run_once(with_runs(2, &[("tub", "yes")])), "the runs failed");
}

#[test]
fn cancelling_during_an_uninterruptible_step_stops_after_it() {
    let session = Session::start(|| {});
    session.submit(Request { engine: engine_choice(&SLOW_TO_LOAD), ..request("asia", 1) });
    while !matches!(session.wait().1, Update::Started(Step::Load)) {}
    session.cancel();
    LOADING.wait();
    let updates = updates_until_idle(&session);
    assert!(matches!(updates.last(), Some(Update::Cancelled(Step::Load))), "{updates:?}");
}

#[test]
fn a_busy_worker_ends_when_its_handle_is_dropped() {
    let held_by_worker = Arc::new(());
    let clone = Arc::clone(&held_by_worker);
    let session = Session::start(move || {
        let _ = &clone;
    });
    session.submit(Request { engine: engine_choice(&STUCK), ..request("asia", 1) });
    wait_for_propagation(&session);
    drop(session);
    // The worker drops its wake function when it ends.
    while Arc::strong_count(&held_by_worker) > 1 {
        std::thread::yield_now();
    }
}
