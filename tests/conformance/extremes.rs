//! Very small and very large numbers, and unusual structures.

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::network::{Evidence, Network, VariableId};
use cliquescope::propagation::Watch;
use rand::RngExt;

use crate::brute_force;
use crate::fixtures::{compiled, network, observed, random_row, rng};
use crate::small::check_cases;
use crate::subject::{Subject, propagate};

/// A network of one cause, whose prior is `cause`, and its effects. All variables have two states.
/// For each effect, `effects` gives the probability of state 1 given state 0 of the cause, and
/// given state 1.
fn cause_and_effects(cause: [f64; 2], effects: &[[f64; 2]]) -> Arc<Network> {
    let tables: Vec<[f64; 4]> = effects.iter().map(|&[a, b]| [1.0 - a, a, 1.0 - b, b]).collect();
    let effects = tables.iter().map(|table| (2, &[0][..], &table[..]));
    let all: Vec<_> = std::iter::once((2, &[][..], &cause[..])).chain(effects).collect();
    network(&all)
}

/// Evidence that observes all effects in state 1.
fn all_effects(network: &Network) -> Evidence {
    let findings: Vec<(usize, usize)> = network.ids().skip(1).map(|v| (v.index(), 1)).collect();
    observed(network, &findings)
}

/// Random networks in which most variables have a single state, with findings on most variables.
/// Engine `cpu` once gave wrong answers if there were more than twenty findings and many of them
/// were on such variables.
pub fn many_single_state_variables(subject: &Subject) {
    let mut rng = rng(12);
    for _ in 0..40 {
        let states: Vec<usize> =
            (0..34).map(|_| if rng.random_bool(0.25) { 2 } else { 1 }).collect();
        let parents: Vec<Vec<usize>> = (0..34)
            .map(|v: usize| {
                let first = v.saturating_sub(8);
                let near = (first..v).filter(|_| rng.random_bool(0.3));
                near.take(4).collect()
            })
            .collect();
        let tables: Vec<Vec<f64>> = (0..34)
            .map(|v| {
                let rows: usize = parents[v].iter().map(|&parent| states[parent]).product();
                (0..rows).flat_map(|_| random_row(&mut rng, states[v])).collect()
            })
            .collect();
        let all: Vec<_> = (0..34).map(|v| (states[v], &parents[v][..], &tables[v][..])).collect();
        let network = network(&all);
        let cases: Vec<Evidence> = (0..4)
            .map(|_| {
                let known = (0..34).filter(|_| rng.random_bool(0.85)).collect::<Vec<usize>>();
                let findings: Vec<(usize, usize)> =
                    known.iter().map(|&v| (v, rng.random_range(0..states[v]))).collect();
                observed(&network, &findings)
            })
            .collect();
        check_cases(subject, &network, &cases);
    }
}

/// Sums of many terms must be accurate, for a case alone and in a batch. Equal terms are worst: in
/// single precision, many additions in a row round in the same direction.
pub fn variables_of_many_states(subject: &Subject) {
    let mut rng = rng(60);
    let mut random = |states: usize, rows: usize| -> Vec<f64> {
        (0..rows).flat_map(|_| random_row(&mut rng, states)).collect()
    };
    let equal = |states: usize, rows: usize| vec![1.0 / states as f64; states * rows];
    // Two causes and their effect.
    let tables = [random(60, 1), random(61, 1), random(60, 60 * 61)];
    let [cause, other, effect] = tables.each_ref().map(|table| &table[..]);
    check_many_states(subject, &[(60, &[], cause), (61, &[], other), (60, &[0, 1], effect)]);
    // A chain.
    for tables in [
        [random(1_000, 1), random(300, 1_000), random(3, 300)],
        [equal(1_000, 1), equal(300, 1_000), equal(3, 300)],
    ] {
        let [first, second, third] = tables.each_ref().map(|table| &table[..]);
        check_many_states(subject, &[(1_000, &[], first), (300, &[0], second), (3, &[1], third)]);
    }
}

/// Compares a network with brute force: without evidence, with the last variable observed, and with
/// a likelihood of the first.
fn check_many_states(subject: &Subject, variables: &[(usize, &[usize], &[f64])]) {
    let network = network(variables);
    let mut likelihood = Evidence::none();
    let weights: Vec<f64> = (0..variables[0].0).map(|state| 1.0 / (1 + state) as f64).collect();
    likelihood.set_likelihood(&network, VariableId::new(0), weights).unwrap();
    let observed = observed(&network, &[(variables.len() - 1, 1)]);
    let cases = [Evidence::none(), observed, likelihood];
    let truths = cases.each_ref().map(|case| brute_force::posteriors(&network, case).unwrap());
    let compiled = compiled(Arc::clone(&network));
    let mut propagator = subject.load(&compiled);
    let alone = cases.iter().map(|case| propagate(&mut *propagator, &compiled, case).unwrap());
    let alone: Vec<_> = alone.collect();
    // As many cases as engine `cpu` needs to compute them together.
    let count = if subject.engine().info().capabilities.batch { 600 } else { 3 };
    let batch: Vec<Evidence> = cases.iter().cycle().take(count).cloned().collect();
    let together = propagator.run_batch(&batch, &Watch::untimed(CancelToken::new())).unwrap();
    let together = together.into_iter().map(|answer| answer.unwrap());
    for (number, found) in alone.into_iter().chain(together).enumerate() {
        let truth = &truths[number % cases.len()];
        let context = format!("case {number}");
        subject.assert_close(&network, found.values(), &truth.posteriors, &context);
        subject.assert_close_ln(&network, found.ln_p_evidence(), truth.ln_p_evidence, &context);
    }
}

/// State 0 of the cause is still possible, although hundreds of effects make it very improbable.
/// The weights of the two states differ by a factor of 1e315 in the first network and of 1e339 in
/// the second, more than the largest number of f64.
pub fn a_cause_contradicted_by_all_its_effects(subject: &Subject) {
    let network = cause_and_effects([0.5, 0.5], &[[0.1, 0.9]; 330]);
    let compiled = compiled(Arc::clone(&network));
    let mut propagator = subject.load(&compiled);
    let mut evidence = all_effects(&network);
    propagate(&mut *propagator, &compiled, &evidence).unwrap();
    // The propagator may reuse messages of the previous run.
    evidence.observe(&network, VariableId::new(0), 0);
    let expected = 0.5_f64.ln() + 330.0 * 0.1_f64.ln();
    let found = propagate(&mut *propagator, &compiled, &evidence).unwrap();
    subject.assert_close_ln(
        &network,
        found.ln_p_evidence(),
        expected,
        format_args!("after another case"),
    );

    let network = cause_and_effects([0.5, 0.5], &[[0.01, 0.99]; 170]);
    let compiled = crate::fixtures::compiled(Arc::clone(&network));
    let mut propagator = subject.load(&compiled);
    let mut evidence = all_effects(&network);
    evidence.observe(&network, VariableId::new(0), 0);
    let batch = vec![evidence; 40];
    let expected = 0.5_f64.ln() + 170.0 * 0.01_f64.ln();
    for answer in propagator.run_batch(&batch, &Watch::untimed(CancelToken::new())).unwrap() {
        let answer = answer.unwrap();
        subject.assert_close_ln(
            &network,
            answer.ln_p_evidence(),
            expected,
            format_args!("in a batch"),
        );
        assert_eq!(answer.of(VariableId::new(0)), [1.0, 0.0]);
    }
}

/// Effects that are equally unlikely for both states of the cause do not change its posterior. All
/// their probabilities are below the smallest normal number of f32.
pub fn effects_unlikely_under_every_cause(subject: &Subject) {
    for (count, unlikely) in [(8, 1e-60), (100, 1e-45), (100, 1e-39)] {
        let network = cause_and_effects([0.25, 0.75], &vec![[unlikely; 2]; count]);
        let compiled = compiled(Arc::clone(&network));
        let evidence = all_effects(&network);
        let found = propagate(&mut *subject.load(&compiled), &compiled, &evidence).unwrap();
        let expected = count as f64 * unlikely.ln();
        subject.assert_close_ln(
            &network,
            found.ln_p_evidence(),
            expected,
            format_args!("{unlikely}"),
        );
        let cause = found.of(VariableId::new(0));
        subject.assert_close(&network, cause, &[0.25, 0.75], format_args!("{count} of {unlikely}"));
    }
}

/// Likelihoods with weights near the smallest and largest numbers of f64.
pub fn likelihoods_near_the_limits_of_f64(subject: &Subject) {
    let network = network(&[(2, &[], &[1e-30, 1.0])]);
    let compiled = compiled(Arc::clone(&network));
    let mut propagator = subject.load(&compiled);
    for weight in [1e-300, 1.7e308] {
        let mut evidence = Evidence::none();
        evidence.set_likelihood(&network, VariableId::new(0), vec![weight, 0.0]).unwrap();
        let found = propagate(&mut *propagator, &compiled, &evidence).unwrap();
        let expected = weight.ln() + 1e-30_f64.ln();
        subject.assert_close_ln(
            &network,
            found.ln_p_evidence(),
            expected,
            format_args!("{weight}"),
        );
        assert_eq!(found.of(VariableId::new(0)), [1.0, 0.0]);
    }
}

/// A chain of 4,000 variables, or of 60 if the engine is exempt from [`LONG_CHAIN`], with a finding
/// at its end.
pub fn a_long_chain(subject: &Subject) {
    const STATES: usize = 10;
    let length = if subject.is_exempt(LONG_CHAIN) { 60 } else { 4_000 };
    let mut rng = rng(71);
    let tables: Vec<Vec<f64>> = (0..length)
        .map(|v| {
            let rows = if v == 0 { 1 } else { STATES };
            (0..rows).flat_map(|_| random_row(&mut rng, STATES)).collect()
        })
        .collect();
    let parents: Vec<Vec<usize>> =
        (0..length).map(|v: usize| v.checked_sub(1).into_iter().collect()).collect();
    let all: Vec<_> = (0..length).map(|v| (STATES, &parents[v][..], &tables[v][..])).collect();
    let network = network(&all);
    // The distribution of each variable follows from that of the variable before it. P(e) is the
    // probability of the observed state of the last variable.
    let mut belief = tables[0].clone();
    for table in &tables[1..] {
        let next = |state: usize| {
            belief.iter().enumerate().map(|(from, p)| p * table[from * STATES + state]).sum()
        };
        belief = (0..STATES).map(next).collect();
    }
    let compiled = compiled(network);
    let evidence = observed(compiled.network(), &[(length - 1, 2)]);
    let found = subject.propagate(&compiled, &evidence).expect("the evidence is possible");
    subject.assert_close_ln(
        compiled.network(),
        found.ln_p_evidence(),
        belief[2].ln(),
        "a long chain",
    );
    let none = subject.propagate(&compiled, &Evidence::none()).expect("no evidence is possible");
    subject.assert_close(
        compiled.network(),
        none.of(VariableId::new(length - 1)),
        &belief,
        "a long chain",
    );
}

/// The name under which an engine may skip most of [`a_long_chain`].
const LONG_CHAIN: &str = "a chain of 4,000 variables";
