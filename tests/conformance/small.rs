//! Small networks, compared with brute force.

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::PropagationError;
use cliquescope::network::{Evidence, Network, VariableId};
use cliquescope::propagation::Watch;
use rand::RngExt;

use crate::fixtures::{compiled, network, random_evidence, random_network, random_row, rng};
use crate::subject::{Subject, propagate};
use crate::{brute_force, fixtures};

/// Compares with brute force without evidence, for each single observation, for some pairs
/// of observations and for random evidence.
pub fn check(subject: &Subject, network: &Arc<Network>) {
    let findings: Vec<(usize, usize)> = network
        .ids()
        .flat_map(|v| (0..network[v].cardinality()).map(move |state| (v.index(), state)))
        .collect();
    let mut cases = vec![Evidence::none()];
    for (index, &first) in findings.iter().enumerate() {
        cases.push(fixtures::observed(network, &[first]));
        let others = findings[index + 1..].iter().filter(|second| second.0 != first.0);
        cases.extend(others.take(12).map(|&second| fixtures::observed(network, &[first, second])));
    }
    let mut rng = rng(7);
    cases.extend((0..20).map(|_| random_evidence(&mut rng, network)));
    check_cases(subject, network, &cases);
}

/// Compares with brute force for each case. If a case is impossible, the conflict must be minimal.
pub fn check_cases(subject: &Subject, network: &Arc<Network>, cases: &[Evidence]) {
    let compiled = compiled(Arc::clone(network));
    let mut propagator = subject.load(&compiled);
    for evidence in cases {
        let found = propagate(&mut *propagator, &compiled, evidence);
        match (found, brute_force::posteriors(network, evidence)) {
            (Ok(found), Some(truth)) => {
                subject.assert_close(
                    network,
                    found.values(),
                    &truth.posteriors,
                    format_args!("{evidence:?}"),
                );
                let (found, expected) = (found.ln_p_evidence(), truth.ln_p_evidence);
                subject.assert_close_ln(network, found, expected, format_args!("{evidence:?}"));
            }
            (Err(PropagationError::Impossible(error)), None) => {
                check_conflict(network, evidence, &error.conflict);
            }
            (found, truth) => {
                let verdict = if truth.is_some() { "possible" } else { "impossible" };
                panic!("{evidence:?}: {found:?}, but the evidence is {verdict}");
            }
        }
    }
}

/// Checks that a conflict is impossible, and possible without any one of its findings.
fn check_conflict(network: &Network, evidence: &Evidence, conflict: &[VariableId]) {
    let is_possible = |variables: &[VariableId]| {
        brute_force::posteriors(network, &evidence.restricted_to(variables)).is_some()
    };
    assert!(!is_possible(conflict), "{conflict:?} of {evidence:?}");
    for left_out in conflict {
        let others: Vec<_> = conflict.iter().copied().filter(|v| v != left_out).collect();
        assert!(is_possible(&others), "{conflict:?} of {evidence:?} is not minimal");
    }
}

pub fn chain(subject: &Subject) {
    let step = &[0.9, 0.1, 0.2, 0.8][..];
    check(
        subject,
        &network(&[(2, &[], &[0.3, 0.7]), (2, &[0], step), (2, &[1], step), (2, &[2], step)]),
    );
}

/// The observed effect needs all of its six causes, and likelihoods make each cause very unlikely.
pub fn very_unlikely_evidence_is_possible(subject: &Subject) {
    let coin = || (2, &[][..], &[0.5, 0.5][..]);
    let all: Vec<f64> =
        (0..64).flat_map(|row| if row == 63 { [0.0, 1.0] } else { [1.0, 0.0] }).collect();
    let of_causes = (2, &[0, 1, 2, 3, 4, 5][..], &all[..]);
    let network = network(&[coin(), coin(), coin(), coin(), coin(), coin(), of_causes]);
    let cases = [1e-4, 1e-6, 1e-7].map(|unlikely| {
        let mut evidence = fixtures::observed(&network, &[(6, 1)]);
        for cause in 0..6 {
            let cause = VariableId::new(cause);
            evidence.set_likelihood(&network, cause, vec![1.0, unlikely]).unwrap();
        }
        evidence
    });
    check_cases(subject, &network, &cases);
    // Some engines propagate a batch by another algorithm than a single case.
    let compiled = compiled(network);
    let mut propagator = subject.load(&compiled);
    let batch: Vec<Evidence> = cases.iter().cycle().take(100).cloned().collect();
    let answers = propagator.run_batch(&batch, &Watch::untimed(CancelToken::new())).unwrap();
    for (case, answer) in batch.iter().zip(&answers) {
        let alone = propagate(&mut *propagator, &compiled, case).unwrap();
        let together = answer.as_ref().unwrap();
        subject.assert_close(
            compiled.network(),
            together.values(),
            alone.values(),
            format_args!("{case:?}"),
        );
    }
}

pub fn zeros(subject: &Subject) {
    check(
        subject,
        &network(&[
            (3, &[], &[0.5, 0.5, 0.0]),
            (2, &[0], &[1.0, 0.0, 0.25, 0.75, 0.5, 0.5]),
            (2, &[0], &[0.0, 1.0, 0.5, 0.5, 1.0, 0.0]),
            (2, &[1, 2], &[1.0, 0.0, 0.0, 1.0, 0.5, 0.5, 0.0, 1.0]),
        ]),
    );
}

/// X2 is the exclusive or of X0 and X1, and X3 equals X2.
pub fn deterministic(subject: &Subject) {
    check(
        subject,
        &network(&[
            (2, &[], &[0.5, 0.5]),
            (2, &[], &[0.125, 0.875]),
            (2, &[0, 1], &[1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]),
            (2, &[2], &[1.0, 0.0, 0.0, 1.0]),
        ]),
    );
}

pub fn one_state_variables(subject: &Subject) {
    check(
        subject,
        &network(&[
            (1, &[], &[1.0]),
            (2, &[0], &[0.25, 0.75]),
            (1, &[1], &[1.0, 1.0]),
            (3, &[2, 1], &[0.2, 0.3, 0.5, 0.6, 0.3, 0.1]),
            (1, &[0, 2], &[1.0]),
        ]),
    );
    check(subject, &network(&[(1, &[], &[1.0])]));
}

pub fn disconnected_parts(subject: &Subject) {
    let step = &[0.9, 0.1, 0.2, 0.8][..];
    check(
        subject,
        &network(&[
            (2, &[], &[0.3, 0.7]),
            (2, &[0], step),
            (2, &[], &[0.0, 1.0]),
            (2, &[2], step),
            (3, &[], &[0.2, 0.3, 0.5]),
            (2, &[4], &[1.0, 0.0, 0.5, 0.5, 0.25, 0.75]),
        ]),
    );
}

pub fn isolated_variables(subject: &Subject) {
    check(
        subject,
        &network(&[
            (2, &[], &[0.3, 0.7]),
            (3, &[], &[0.0, 0.4, 0.6]),
            (1, &[], &[1.0]),
            (4, &[], &[0.1, 0.2, 0.3, 0.4]),
        ]),
    );
}

pub fn single_variable(subject: &Subject) {
    check(subject, &network(&[(4, &[], &[0.1, 0.0, 0.6, 0.3])]));
}

pub fn parents_with_many_states(subject: &Subject) {
    let mut rng = rng(3);
    let (a, b) = (random_row(&mut rng, 12), random_row(&mut rng, 11));
    let c: Vec<f64> = (0..132).flat_map(|_| random_row(&mut rng, 3)).collect();
    let d: Vec<f64> = (0..33).flat_map(|_| random_row(&mut rng, 2)).collect();
    check(subject, &network(&[(12, &[], &a), (11, &[], &b), (3, &[0, 1], &c), (2, &[1, 2], &d)]));
}

/// One cause with eight effects. The cause is the last variable.
pub fn star(subject: &Subject) {
    let effect = &[0.9, 0.1, 0.2, 0.8, 0.5, 0.5][..];
    let mut variables: Vec<(usize, &[usize], &[f64])> = vec![(2, &[8], effect); 8];
    variables.push((3, &[], &[0.2, 0.3, 0.5]));
    check(subject, &network(&variables));
}

pub fn empty_network(subject: &Subject) {
    let compiled = compiled(network(&[]));
    let found = subject.propagate(&compiled, &Evidence::none()).unwrap();
    assert!(found.values().is_empty());
    subject.assert_close_ln(compiled.network(), found.ln_p_evidence(), 0.0, "no variables");
}

pub fn random_networks(subject: &Subject) {
    let mut rng = rng(1);
    for _ in 0..40 {
        let network = random_network(&mut rng);
        let cases = rng.random_range(4..8);
        let cases: Vec<Evidence> =
            (0..cases).map(|_| random_evidence(&mut rng, &network)).collect();
        check_cases(subject, &network, &cases);
    }
}
