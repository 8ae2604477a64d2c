//! Networks that are too large for the memory limit, as a whole or given the evidence.

use std::sync::Arc;

use cliquescope::engine::{self, LoadError, QueryError};
use cliquescope::network::Evidence;
use cliquescope::propagation::MemoryLimit;
use cliquescope::session::{Failure, Request, Session, Step, Update};

use crate::common::large::{hub_and_chain, limit_for_an_observed_hub};
use crate::common::session::{
    engine_choice, evidence_of, last_propagation, request, started_steps, updates_until_idle,
};
use crate::compiled;

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

    // The same tree serves another state of the hub, and more findings. A case that needs another
    // tree gets a tree of its own; here, that tree is too large.
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
    // The second set of findings observes other variables, so the network is compiled
    // anew.
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
