//! The worker does what the newest request needs, and survives the failure of any step.

mod common;

use std::sync::{Arc, Barrier};

use cliquescope::cancel::{CancelToken, Cancelled};
use cliquescope::engine::{
    self, Engine, EngineInfo, LoadError, LoadOptions, PaperOptions, Propagator, QueryError,
    RunError, SEQUENTIAL,
};
use cliquescope::experiment::{ExperimentRequest, Progress};
use cliquescope::format::NetworkSource;
use cliquescope::graph::{Heuristic, Triangulation};
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, Forecast, MemoryLimit, Posteriors, Watch};
use cliquescope::session::{Failure, Request, Session, Step, Update};
use common::large::{hub_and_chain, limit_for_an_observed_hub};
use common::session::{
    engine_choice, evidence_of, last_propagation, request, sample, started_steps,
    updates_until_idle,
};

/// Waits until a propagation starts.
fn wait_for_propagation(session: &Session) {
    while !matches!(session.wait().1, Update::Propagating(_)) {}
}

fn compiled(updates: &[Update]) -> Option<Arc<CompiledNetwork>> {
    updates.iter().find_map(|update| match update {
        Update::Compiled(compiled) => Some(Arc::clone(compiled)),
        _ => None,
    })
}

#[test]
fn new_evidence_is_propagated_without_opening_the_network_again() {
    let session = Session::start(|| {});
    session.submit(request("asia", 1));
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates), [Step::Open, Step::Compile, Step::Load, Step::Prior]);
    assert_eq!(last_propagation(&updates).expect("posteriors").evidence, Evidence::none());

    let asia = sample("asia");
    let evidence = evidence_of(&asia, &[("xray", "yes")]);
    session.submit(Request { evidence: evidence.clone(), ..request("asia", 1) });
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates), [Step::Propagate]);
    let propagation = last_propagation(&updates).expect("posteriors");
    assert_eq!(propagation.evidence, evidence);
    let lung = asia.find("lung").expect("a variable of the sample");
    assert!((propagation.posteriors.of(lung)[0] - 0.488_711_29).abs() < 1e-6);
    // Messages that the finding does not affect are not computed again.
    let trace = &propagation.trace;
    assert!(!trace.messages.is_empty() && trace.savings.messages_skipped > 0);
    let all = trace.messages.len() + trace.savings.messages_skipped;
    assert_eq!(all, propagation.compiled.plan().messages().len());
}

#[test]
fn another_run_computes_all_messages_again() {
    let session = Session::start(|| {});
    session.submit(request("asia", 1));
    let messages =
        |updates: &[Update]| last_propagation(updates).expect("posteriors").trace.messages.len();
    let first = messages(&updates_until_idle(&session));
    assert!(first > 0);
    for run_serial in 1..3 {
        session.submit(Request { run_serial, ..request("asia", 1) });
        assert_eq!(messages(&updates_until_idle(&session)), first);
    }
}

#[test]
fn several_runs_are_reported_as_the_median_run_with_the_times_of_all() {
    let session = Session::start(|| {});
    session.submit(request("asia", 1));
    updates_until_idle(&session);
    session.submit(Request { run_serial: 1, runs: 5, ..request("asia", 1) });
    let updates = updates_until_idle(&session);
    let is_result = |update: &&Update| matches!(update, Update::Propagated(_));
    assert_eq!(updates.iter().filter(is_result).count(), 1, "one result for all runs");
    let propagation = last_propagation(&updates).expect("posteriors");
    let times = propagation.times.expect("the times of all runs");
    assert_eq!((times.runs, times.median), (5, propagation.trace.elapsed));
    assert!(times.min <= times.median && times.median <= times.max);
    // New evidence is propagated once.
    let evidence = evidence_of(&sample("asia"), &[("xray", "yes")]);
    session.submit(Request { evidence, run_serial: 1, runs: 5, ..request("asia", 1) });
    let propagation = last_propagation(&updates_until_idle(&session)).expect("posteriors");
    assert!(propagation.times.is_none());
}

#[test]
fn cases_are_answered_last_and_once_each() {
    let session = Session::start(|| {});
    let asia = sample("asia");
    let seen = evidence_of(&asia, &[("xray", "yes")]);
    let never = evidence_of(&asia, &[("tub", "yes"), ("either", "no")]);
    let answers = |updates: &[Update]| -> Vec<(Evidence, Option<f64>)> {
        let lung = asia.find("lung").expect("a variable of the sample");
        let answered = |update: &Update| match update {
            Update::Answered(case, answer) => {
                Some((case.clone(), answer.as_ref().ok().map(|found| found.of(lung)[0])))
            }
            _ => None,
        };
        updates.iter().filter_map(answered).collect()
    };
    let cases: Arc<[Evidence]> = [seen.clone(), never.clone(), seen.clone()].into();
    let with_cases = Request { cases, ..request("asia", 1) };
    session.submit(with_cases.clone());
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates)[3..], [Step::Prior, Step::Compare, Step::Compare]);
    let found = answers(&updates);
    assert_eq!(found.len(), 2);
    assert!(found[0].0 == seen && (found[0].1.expect("possible") - 0.488_711_29).abs() < 1e-6);
    assert_eq!(found[1], (never, None), "an impossible case has an answer too");

    // The answers stay valid for other evidence. Another engine computes them again.
    let evidence = evidence_of(&asia, &[("smoke", "no")]);
    session.submit(Request { evidence, ..with_cases.clone() });
    assert_eq!(started_steps(&updates_until_idle(&session)), [Step::Propagate]);
    let sequential = engine::by_name("sequential").expect("an engine of this name");
    session.submit(Request { engine: engine_choice(sequential), ..with_cases.clone() });
    assert_eq!(answers(&updates_until_idle(&session)).len(), 2);

    // Cases that are removed from the request and added again are answered again.
    session.submit(Request {
        cases: [].into(),
        engine: engine_choice(sequential),
        ..with_cases.clone()
    });
    updates_until_idle(&session);
    session.submit(Request { engine: engine_choice(sequential), ..with_cases });
    assert_eq!(answers(&updates_until_idle(&session)).len(), 2);
}

#[test]
fn the_newest_request_replaces_the_others() {
    let session = Session::start(|| {});
    let munin = sample("munin3");
    let variable = &munin.variables()[0];
    session.submit(request("munin3", 1));
    let mut last = Evidence::none();
    for turn in 0..200 {
        let state = &variable.states()[turn % variable.cardinality()];
        last = evidence_of(&munin, &[(variable.name(), state)]);
        session.submit(Request { evidence: last.clone(), ..request("munin3", 1) });
    }
    let updates = updates_until_idle(&session);
    assert_eq!(last_propagation(&updates).expect("posteriors").evidence, last);
    let propagations =
        started_steps(&updates).iter().filter(|step| **step == Step::Propagate).count();
    assert!(propagations < 50, "{propagations} of 200 were started: requests queue up");
}

#[test]
fn the_open_network_stays_if_another_cannot_be_read() {
    let session = Session::start(|| {});
    session.submit(request("asia", 1));
    updates_until_idle(&session);
    session.submit(request("no such file", 2));
    let updates = updates_until_idle(&session);
    assert!(matches!(updates.last(), Some(Update::Failed(Step::Open, Failure::Open(_)))));

    let evidence = evidence_of(&sample("asia"), &[("smoke", "no")]);
    session.submit(Request { evidence, ..request("asia", 1) });
    assert_eq!(started_steps(&updates_until_idle(&session)), [Step::Propagate]);
}

#[test]
fn a_network_that_is_too_large_is_rejected_and_runs_with_more_memory() {
    let session = Session::start(|| {});
    let memory = Some(MemoryLimit::from_bytes(1000));
    session.submit(Request { memory, ..request("alarm", 1) });
    let updates = updates_until_idle(&session);
    let Some(Update::Failed(Step::Load, Failure::Load(LoadError::TooLarge(refusal)))) =
        updates.last()
    else {
        panic!("{updates:?}");
    };
    assert!(refusal.forecast.bytes > 1000);
    assert!(
        updates.iter().any(|update| matches!(update, Update::Compiled(_))),
        "the tree is shown"
    );

    session.submit(request("alarm", 1));
    assert_eq!(started_steps(&updates_until_idle(&session)), [Step::Load, Step::Prior]);
}

#[test]
fn a_network_that_is_too_large_runs_once_the_evidence_makes_it_small() {
    let session = Session::start(|| {});
    let whole = Request {
        source: hub_and_chain(),
        memory: Some(limit_for_an_observed_hub()),
        ..request("hub", 1)
    };
    let network = hub_and_chain().open().expect("it can be read").network;
    let is_refused = |updates: &[Update], step: Step| {
        matches!(
            updates.last(),
            Some(Update::Failed(failed, Failure::Load(LoadError::TooLarge(_)))) if *failed == step
        )
    };
    session.submit(whole.clone());
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates), [Step::Open, Step::Compile, Step::Load]);
    assert!(is_refused(&updates, Step::Load), "{updates:?}");
    let whole_tree = compiled(&updates).expect("the tree is shown");
    assert!(whole_tree.observed().is_empty());

    // A finding that does not help.
    let other = Request { evidence: evidence_of(&network, &[("x3", "1")]), ..whole.clone() };
    session.submit(other);
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates), [Step::Reduce]);
    assert!(is_refused(&updates, Step::Reduce), "{updates:?}");

    let given = |findings: &[(&str, &str)]| Request {
        evidence: evidence_of(&network, findings),
        ..whole.clone()
    };
    session.submit(given(&[("x0", "7")]));
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates), [Step::Reduce, Step::Propagate]);
    let hub = network.find("x0").expect("the hub");
    assert_eq!(compiled(&updates).expect("the tree is shown").observed(), [hub]);
    let propagation = last_propagation(&updates).expect("posteriors");
    assert_eq!(propagation.compiled.observed(), [hub]);
    assert!(!propagation.trace.messages.is_empty());
    let expected = engine::query(&network, &propagation.evidence).expect("it fits");
    assert_eq!(propagation.posteriors, expected);

    // The same tree serves another state of the hub, and more findings. A case that it does not
    // serve gets its own.
    let cases: Arc<[Evidence]> =
        [evidence_of(&network, &[("x0", "9")]), evidence_of(&network, &[("x3", "1")])].into();
    session.submit(Request { cases, ..given(&[("x0", "8"), ("x3", "1")]) });
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates), [Step::Propagate, Step::Compare, Step::Compare]);
    let answers = updates.iter().filter_map(|update| match update {
        Update::Answered(_, answer) => Some(answer),
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    assert!(answers[0].is_ok());
    assert!(matches!(answers[1], Err(QueryError::Load(LoadError::TooLarge(_)))), "{answers:?}");

    session.submit(whole.clone());
    let updates = updates_until_idle(&session);
    assert!(is_refused(&updates, Step::Load), "{updates:?}");
    assert!(Arc::ptr_eq(&compiled(&updates).expect("the whole tree is shown again"), &whole_tree));

    session.submit(Request { memory: Some(MemoryLimit::from_bytes(1 << 30)), ..whole });
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates), [Step::Load, Step::Prior]);
}

#[test]
fn an_engine_that_needs_the_whole_tree_is_replaced_while_the_evidence_makes_it_small() {
    let session = Session::start(|| {});
    let sequential = engine_choice(engine::by_name("sequential").expect("an engine of this name"));
    let network = hub_and_chain().open().expect("it can be read").network;
    // The second set of findings observes other variables, so it is compiled anew.
    for (turn, findings) in
        [[("x0", "7"), ("x1", "1")], [("x0", "8"), ("x2", "1")]].iter().enumerate()
    {
        session.submit(Request {
            source: hub_and_chain(),
            engine: sequential,
            memory: Some(limit_for_an_observed_hub()),
            evidence: evidence_of(&network, findings),
            ..request("hub", 1)
        });
        let updates = updates_until_idle(&session);
        let propagation = last_propagation(&updates).expect("posteriors");
        assert_eq!(propagation.engine, sequential.fallback());
        let reasons = updates.iter().filter_map(|update| match update {
            Update::FellBack { reason, .. } => Some(reason),
            _ => None,
        });
        let reasons: Vec<&String> = reasons.collect();
        assert_eq!(reasons.len(), usize::from(turn == 0), "the user is told once");
        assert!(reasons.iter().all(|reason| reason.contains("built for given evidence")));
    }
}

#[test]
fn impossible_evidence_is_explained_and_can_be_retracted() {
    let session = Session::start(|| {});
    let asia = sample("asia");
    let evidence = evidence_of(&asia, &[("tub", "yes"), ("either", "no"), ("smoke", "no")]);
    session.submit(Request { evidence, ..request("asia", 1) });
    let updates = updates_until_idle(&session);
    let Some(Update::Failed(Step::Propagate, Failure::Impossible(impossible))) = updates.last()
    else {
        panic!("{updates:?}");
    };
    let conflict: Vec<&str> =
        impossible.conflict.iter().map(|&variable| asia[variable].name()).collect();
    assert_eq!(conflict, ["tub", "either"]);

    let evidence = evidence_of(&asia, &[("tub", "yes")]);
    session.submit(Request { evidence, ..request("asia", 1) });
    assert!(last_propagation(&updates_until_idle(&session)).is_some());
}

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
fn updates_say_which_network_they_are_about() {
    let session = Session::start(|| {});
    session.submit(request("no such file", 7));
    loop {
        let (serial, update) = session.wait();
        assert_eq!(serial, 7);
        if matches!(update, Update::Failed(..)) {
            break;
        }
    }
    session.submit(request("asia", 8));
    assert!(matches!(session.wait(), (8, Update::Started(Step::Open))));
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

#[test]
fn the_background_search_finds_a_tree_that_the_worker_then_compiles() {
    let mut session = Session::start(|| {});
    let mut wanted = request("insurance", 1);
    wanted.compile.triangulation.method = Triangulation::By(Heuristic::MinDegree);
    session.submit(wanted.clone());
    let updates = updates_until_idle(&session);
    let compiled = compiled(&updates).expect("it compiles");
    let before = compiled.statistics().total_clique_entries;
    let progress = session.improve(1, &compiled, 1);
    let orders = loop {
        match session.wait() {
            (1, Update::Improved(orders)) => break orders,
            (1, Update::ImprovementEnded) => panic!("the search found no better tree"),
            _ => {}
        }
    };
    let entries = orders.entries(compiled.moral_graph()).expect("an order of this graph");
    assert!(entries < before && progress.best() <= entries);
    wanted.compile.triangulation.method = Triangulation::Auto;
    wanted.compile.triangulation.known = Some(orders);
    session.submit(wanted);
    let updates = updates_until_idle(&session);
    let better = self::compiled(&updates).expect("it compiles again");
    assert_eq!(better.statistics().total_clique_entries, entries);
    session.stop_improving();
}

#[test]
fn an_unknown_experiment_fails_with_its_name_and_a_cancelled_one_says_so() {
    let session = Session::start(|| {});
    let start = |request: ExperimentRequest| {
        let cancel = CancelToken::new();
        let progress = Progress::new(cancel.clone());
        session.start_measuring_job("experiment", cancel, move || request.run(&progress))
    };
    let request = ExperimentRequest {
        experiment: "fig99".to_owned(),
        networks: vec![NetworkSource::Named("asia".to_owned())],
        triangulation: Triangulation::Auto,
        engine: "gpu".to_owned(),
        baseline: "sequential".to_owned(),
        repeat: 1,
        threads: 1,
        memory: None,
        paper: PaperOptions::default(),
        threshold: 8,
    };
    let Some(Ok(Err(error))) = start(request.clone()).wait() else {
        panic!("an unknown experiment must fail")
    };
    assert!(error.to_string().contains("fig99"), "{error}");
    let many = vec![NetworkSource::Named("munin4".to_owned()); 50];
    let job = start(ExperimentRequest { experiment: "fig4".to_owned(), networks: many, ..request });
    job.cancel();
    let Some(Ok(Err(error))) = job.wait() else { panic!("a cancelled experiment must fail") };
    assert_eq!(error, Cancelled.into());
}
