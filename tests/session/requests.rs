//! Which steps a request needs, and what the updates report.

use std::sync::Arc;

use cliquescope::cancel::{CancelToken, Cancelled};
use cliquescope::engine::{self, PaperOptions};
use cliquescope::experiment::{ExperimentRequest, Progress};
use cliquescope::format::NetworkSource;
use cliquescope::graph::{Heuristic, Triangulation};
use cliquescope::network::Evidence;
use cliquescope::session::{Failure, Request, Session, Step, Update};

use crate::common::session::{
    engine_choice, evidence_of, last_propagation, request, sample, started_steps,
    updates_until_idle,
};
use crate::compiled;

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
    let possible = evidence_of(&asia, &[("xray", "yes")]);
    let impossible = evidence_of(&asia, &[("tub", "yes"), ("either", "no")]);
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
    let cases: Arc<[Evidence]> = [possible.clone(), impossible.clone(), possible.clone()].into();
    let with_cases = Request { cases, ..request("asia", 1) };
    session.submit(with_cases.clone());
    let updates = updates_until_idle(&session);
    assert_eq!(started_steps(&updates)[3..], [Step::Prior, Step::Compare, Step::Compare]);
    let found = answers(&updates);
    assert_eq!(found.len(), 2);
    assert!(found[0].0 == possible && (found[0].1.expect("possible") - 0.488_711_29).abs() < 1e-6);
    assert_eq!(found[1], (impossible, None), "an impossible case has an answer too");

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
            (1, Update::ImprovementEnded(_)) => panic!("the search found no better tree"),
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
    let networks = vec![NetworkSource::Named("munin4".to_owned()); 50];
    let job = start(ExperimentRequest { experiment: "fig4".to_owned(), networks, ..request });
    job.cancel();
    let Some(Ok(Err(error))) = job.wait() else { panic!("a cancelled experiment must fail") };
    assert_eq!(error, Cancelled.into());
}
