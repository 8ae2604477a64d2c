//! Impossible evidence, refused loads and cancelled runs. A propagator still works after a failed
//! run.

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, ImpossibleEvidence, LoadError, LoadOptions, PropagationError};
use cliquescope::network::{Evidence, Network};
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, MemoryLimit, Stage, Watch};

use crate::fixtures::{compiled, network, observed, observed_named, sample};
use crate::markov::markov;
use crate::subject::{Subject, propagate};

/// The names of the variables in the conflict.
fn names(network: &Network, error: &ImpossibleEvidence) -> Vec<String> {
    error.conflict.iter().map(|&variable| network[variable].name().to_owned()).collect()
}

/// Propagates impossible `evidence`, checks that the propagator still works, and returns the error.
fn impossible(
    subject: &Subject,
    compiled: &std::sync::Arc<CompiledNetwork>,
    evidence: &Evidence,
) -> ImpossibleEvidence {
    let mut propagator = subject.load(compiled);
    let before = propagate(&mut *propagator, compiled, &Evidence::none()).unwrap();
    let error = match propagate(&mut *propagator, compiled, evidence) {
        Err(PropagationError::Impossible(error)) => error,
        other => panic!("{evidence:?} gives {other:?}"),
    };
    let after = propagate(&mut *propagator, compiled, &Evidence::none()).unwrap();
    assert_eq!(before, after, "impossible evidence does not affect later runs");
    error
}

pub fn the_conflicting_findings_are_named(subject: &Subject) {
    let compiled = sample("asia");
    let network = compiled.network();
    let explain = |findings: &[(&str, &str)]| {
        let error = impossible(subject, &compiled, &observed_named(network, findings));
        assert_eq!(error.culprit(), None);
        (names(network, &error), error.to_string())
    };
    let (conflict, text) = explain(&[("tub", "yes"), ("either", "no")]);
    assert_eq!(conflict, ["tub", "either"]);
    assert_eq!(text, "the evidence is impossible: either=no contradicts tub=yes");

    // Unrelated findings are not named.
    let (conflict, _) = explain(&[
        ("asia", "yes"),
        ("smoke", "no"),
        ("lung", "yes"),
        ("bronc", "yes"),
        ("either", "no"),
        ("xray", "yes"),
        ("dysp", "no"),
    ]);
    assert_eq!(conflict, ["lung", "either"]);

    let (conflict, text) =
        explain(&[("tub", "no"), ("lung", "no"), ("smoke", "yes"), ("either", "yes")]);
    assert_eq!(conflict, ["tub", "lung", "either"]);
    assert_eq!(
        text,
        "the evidence is impossible: these findings cannot hold together: \
         tub=no, lung=no, either=yes"
    );
}

pub fn a_finding_impossible_on_its_own_is_named(subject: &Subject) {
    // X1 is never in state s1, whatever X0 is.
    let network =
        network(&[(2, &[], &[0.5, 0.5]), (2, &[0], &[1.0, 0.0, 1.0, 0.0]), (2, &[], &[0.5, 0.5])]);
    let evidence = observed(&network, &[(0, 1), (1, 1), (2, 0)]);
    let error = impossible(subject, &compiled(network.clone()), &evidence);
    assert_eq!(names(&network, &error), ["X1"]);
    assert_eq!(error.culprit(), network.find("X1"));
    assert_eq!(error.to_string(), "the evidence is impossible: X1=s1 has probability 0 by itself");
}

pub fn a_conflicting_likelihood_is_named(subject: &Subject) {
    let compiled = sample("asia");
    let network = compiled.network();
    let mut evidence = observed_named(network, &[("smoke", "yes"), ("tub", "yes")]);
    evidence.set_likelihood_named(network, "either", [0.0, 3.0]).unwrap();
    let error = impossible(subject, &compiled, &evidence);
    assert_eq!(
        error.to_string(),
        "the evidence is impossible: likelihood of either contradicts tub=yes"
    );
}

pub fn explaining_a_conflict_does_not_change_the_trace(subject: &Subject) {
    let compiled = sample("asia");
    let evidence = observed_named(compiled.network(), &[("tub", "yes"), ("either", "no")]);
    let mut propagator = subject.load(&compiled);
    let alone = Watch::timed(compiled.plan(), CancelToken::new());
    propagator.run(&evidence, &alone).unwrap_err();
    let watch = Watch::timed(compiled.plan(), CancelToken::new());
    engine::propagate(&mut *propagator, &compiled, &evidence, &watch).unwrap_err();
    assert!(watch.is_finished());
    assert_eq!(watch.progress(), alone.progress());
    assert_eq!(watch.trace().messages.len(), alone.trace().messages.len());
}

pub fn too_little_memory_is_refused(subject: &Subject) {
    let compiled = sample("alarm");
    let forecast = subject.engine().forecast(&compiled, subject.precision);
    let load = |bytes: u64| {
        let memory = MemoryLimit::from_bytes(bytes);
        subject.engine().load(&compiled, &LoadOptions { memory, ..subject.load_options() })
    };
    let least = match subject.form {
        Some(_) => subject.forecast_bytes(&compiled),
        None => forecast.bytes,
    };
    assert!(load(least).is_ok());
    match load(least - 1).map(|_| ()) {
        Err(LoadError::TooLarge(refusal)) => {
            assert_eq!(refusal.forecast.bytes, least);
            assert_eq!(refusal.limit.bytes(), least - 1);
        }
        other => panic!("{other:?}"),
    }
}

pub fn a_table_beyond_the_index_range_is_refused_whatever_the_memory(subject: &Subject) {
    if subject.engine().info().capabilities.any_size {
        return;
    }
    // Two cliques of 34 variables and 2^34 entries each, which share 33 variables.
    let pairs = (0..35_usize).flat_map(|a| (a + 1..35).map(move |b| [a, b]));
    let pairs: Vec<[usize; 2]> = pairs.filter(|&pair| pair != [0, 34]).collect();
    let factors: Vec<_> = pairs.iter().map(|pair| (&pair[..], &[0.25; 4][..])).collect();
    let compiled = compiled(markov(&[2; 35], &factors));
    let forecast = subject.engine().forecast(&compiled, subject.precision);
    assert!(forecast.bytes >= 4 << 34, "{forecast:?}");
    let memory = MemoryLimit::from_bytes(u64::MAX);
    assert!(!forecast.fits(memory), "{forecast:?}");
    let loaded =
        subject.engine().load(&compiled, &LoadOptions { memory, ..subject.load_options() });
    let refusal = loaded.err().expect("a refusal").to_string();
    assert!(refusal.contains("it supports at most"), "{refusal}");
}

pub fn an_unsupported_precision_is_refused(subject: &Subject) {
    let compiled = sample("asia");
    for precision in Precision::ALL {
        let options = LoadOptions { precision, ..subject.load_options() };
        let loaded = subject.engine().load(&compiled, &options).map(|_| ());
        if subject.engine().precisions().contains(&precision) {
            assert_eq!(loaded, Ok(()));
        } else {
            let engine = subject.engine;
            assert_eq!(loaded, Err(LoadError::Precision { engine, precision }));
        }
    }
}

pub fn a_run_can_be_cancelled_before_it_starts(subject: &Subject) {
    let compiled = sample("alarm");
    let evidence = observed(compiled.network(), &[(2, 0)]);
    let mut propagator = subject.load(&compiled);
    let expected = propagate(&mut *propagator, &compiled, &evidence);
    let token = CancelToken::new();
    token.cancel();
    let watch = Watch::timed(compiled.plan(), token);
    let result = engine::propagate(&mut *propagator, &compiled, &Evidence::none(), &watch);
    assert!(matches!(result, Err(PropagationError::Cancelled(_))), "{result:?}");
    assert!(watch.is_finished());
    assert!(watch.trace().messages.is_empty());
    assert_eq!(propagate(&mut *propagator, &compiled, &evidence), expected);
}

/// Another thread cancels as soon as it sees that the tables are initialised. The run may finish
/// first, so it is repeated until a cancellation comes in time.
pub fn a_run_can_be_cancelled_while_it_runs(subject: &Subject) {
    let name = subject.required(&["barley", "alarm"]).next().expect("a network that takes a while");
    let compiled = sample(name);
    let evidence = observed(compiled.network(), &[(2, 0)]);
    let mut propagator = subject.load(&compiled);
    let expected = propagate(&mut *propagator, &compiled, &evidence).unwrap();
    let initialised =
        |watch: &Watch| watch.trace().stages.iter().any(|timing| timing.stage == Stage::Initialise);
    let cancelled_in_time = (0..200).any(|_| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !watch.is_finished() {
                    if initialised(&watch) {
                        watch.cancel();
                    }
                    std::thread::yield_now();
                }
            });
            engine::propagate(&mut *propagator, &compiled, &Evidence::none(), &watch)
        });
        if let Err(error) = &result {
            assert!(matches!(error, PropagationError::Cancelled(_)), "{error:?}");
            assert!(initialised(&watch));
        }
        assert_eq!(propagate(&mut *propagator, &compiled, &evidence).unwrap(), expected);
        result.is_err()
    });
    assert!(cancelled_in_time, "all runs of {name} finished before they were cancelled");
}
