//! Numbers of very different magnitudes, compared with sums over all configurations.
//!
//! An engine must return the right posteriors whatever the magnitudes are, and call evidence
//! impossible only where a zero makes it so.

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{PropagationError, propagate_batch};
use cliquescope::network::{Evidence, Network, VariableId};
use cliquescope::propagation::{CompiledNetwork, Posteriors, Watch};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::exact::Exact;
use crate::fixtures::{compiled, network, rng};
use crate::subject::{Subject, propagate};

/// A number from 10^-`decades` to one with a uniformly distributed logarithm; rarely zero instead.
fn spread(rng: &mut Pcg64Mcg, decades: f64) -> f64 {
    if rng.random_bool(0.05) { 0.0 } else { 10_f64.powf(-decades * rng.random_range(0.0..1.0)) }
}

/// A random network of 3 to 6 variables with 2 or 3 states. Every row of a table has one state that
/// is nearly certain; the probabilities of the others are spread over `decades` decades.
fn random_network(rng: &mut Pcg64Mcg, decades: f64) -> Arc<Network> {
    let count = rng.random_range(3..=6);
    let states: Vec<usize> = (0..count).map(|_| rng.random_range(2..=3)).collect();
    let parents: Vec<Vec<usize>> =
        (0..count).map(|v| (0..v).filter(|_| rng.random_bool(0.5)).take(3).collect()).collect();
    let mut row = |states: usize| {
        let certain = rng.random_range(0..states);
        let weight = |state| if state == certain { 1.0 } else { spread(rng, decades) };
        let weights: Vec<f64> = (0..states).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(move |weight| weight / sum).collect::<Vec<f64>>()
    };
    let tables: Vec<Vec<f64>> = (0..count)
        .map(|v| {
            let rows: usize = parents[v].iter().map(|&p| states[p]).product();
            (0..rows).flat_map(|_| row(states[v])).collect()
        })
        .collect();
    let all: Vec<_> = (0..count).map(|v| (states[v], &*parents[v], &*tables[v])).collect();
    network(&all)
}

/// Random observations on about half of the variables, and a likelihood on some of the others.
fn random_evidence(rng: &mut Pcg64Mcg, network: &Network, decades: f64) -> Evidence {
    let mut evidence = Evidence::none();
    for variable in network.ids() {
        let states = network[variable].cardinality();
        if rng.random_bool(0.5) {
            evidence.observe(network, variable, rng.random_range(0..states));
        } else if rng.random_bool(0.3) {
            let weights: Vec<f64> = (0..states).map(|_| spread(rng, decades)).collect();
            if weights.iter().any(|weight| *weight > 0.0) {
                evidence.set_likelihood(network, variable, weights).unwrap();
            }
        }
    }
    evidence
}

/// Checks an answer; `None` means that the evidence was called impossible.
fn check(
    subject: &Subject,
    network: &Network,
    exact: &Exact,
    found: Option<&Posteriors>,
    context: &str,
) {
    let Some(found) = found else {
        assert!(exact.is_impossible(), "{context}: {:e} is not impossible", exact.ln_p_evidence());
        return;
    };
    assert!(!exact.is_impossible(), "{context}: a zero makes the evidence impossible");
    subject.assert_close_ln(found.ln_p_evidence(), exact.ln_p_evidence(), context);
    for variable in network.ids() {
        subject.assert_close(found.of(variable), &exact.posterior(variable), context);
    }
}

/// The posteriors that a propagation returned; `None` for impossible evidence.
fn possible(answer: Result<Posteriors, PropagationError>) -> Option<Posteriors> {
    match answer {
        Ok(posteriors) => Some(posteriors),
        Err(PropagationError::Impossible(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Checks each case alone, one after another in the same propagator, and all of them in a batch.
fn check_cases(
    subject: &Subject,
    compiled: &Arc<CompiledNetwork>,
    cases: &[Evidence],
    context: &str,
) {
    let network = compiled.network();
    let exact: Vec<Exact> = cases.iter().map(|case| Exact::new(network, case)).collect();
    let mut propagator = subject.load(compiled);
    for (number, (case, exact)) in cases.iter().zip(&exact).enumerate() {
        let found = possible(propagate(&mut *propagator, compiled, case));
        check(subject, network, exact, found.as_ref(), &format!("{context}, case {number}"));
        let found = possible(subject.propagate(compiled, case));
        check(subject, network, exact, found.as_ref(), &format!("{context}, case {number} alone"));
    }
    // Enough cases for engines that propagate many together.
    let batch: Vec<Evidence> = cases.iter().cycle().take(40).cloned().collect();
    let watch = Watch::untimed(CancelToken::new());
    let answers = propagate_batch(&mut *subject.load(compiled), compiled, &batch, &watch).unwrap();
    for (number, (found, exact)) in answers.iter().zip(exact.iter().cycle()).enumerate() {
        check(
            subject,
            network,
            exact,
            found.as_ref().ok(),
            &format!("{context}, {number} of a batch"),
        );
    }
}

fn check_random(subject: &Subject, decades: f64) {
    let mut rng = rng(decades as u64);
    for number in 0..25 {
        let network = random_network(&mut rng, decades);
        let cases: Vec<Evidence> =
            (0..6).map(|_| random_evidence(&mut rng, &network, decades)).collect();
        let compiled = compiled(Arc::clone(&network));
        check_cases(subject, &compiled, &cases, &format!("1e-{decades}, network {number}"));
    }
}

pub fn entries_down_to_1e_6(subject: &Subject) {
    check_random(subject, 6.0);
}

pub fn entries_down_to_1e_30(subject: &Subject) {
    check_random(subject, 30.0);
}

pub fn entries_down_to_1e_100(subject: &Subject) {
    check_random(subject, 100.0);
}

pub fn entries_down_to_1e_300(subject: &Subject) {
    check_random(subject, 300.0);
}

/// The smallest numbers of f64 have fewer digits, but are exact as entries of a table.
pub fn entries_down_to_the_smallest_numbers(subject: &Subject) {
    check_random(subject, 323.0);
}

/// A class and its features. The first half of the observations favours one class by `odds` to one
/// each, and the second half the other class, so that both are equally probable.
fn for_and_against(features: usize, odds: f64) -> (Arc<CompiledNetwork>, Evidence) {
    let (likely, unlikely) = (odds / (1.0 + odds), 1.0 / (1.0 + odds));
    let [one, other] = [[likely, unlikely], [unlikely, likely]];
    let tables = [[one, other].concat(), [other, one].concat()];
    let features = (0..features).map(|f| (2, &[0][..], &*tables[2 * f / features]));
    let class = [0.5, 0.5];
    let all: Vec<_> = std::iter::once((2, &[][..], &class[..])).chain(features).collect();
    let network = network(&all);
    let mut evidence = Evidence::none();
    network.ids().skip(1).for_each(|feature| evidence.observe(&network, feature, 0));
    (compiled(network), evidence)
}

fn assert_even(subject: &Subject, found: &Posteriors, features: usize, odds: f64, context: &str) {
    subject.assert_close(found.of(VariableId::new(0)), &[0.5, 0.5], context);
    let each = odds.ln() - 2.0 * (1.0 + odds).ln();
    subject.assert_close_ln(found.ln_p_evidence(), features as f64 / 2.0 * each, context);
}

/// The evidence first favours one class and then the other, each by odds far beyond the range of
/// f64.
pub fn hundreds_of_features_for_and_against_a_class(subject: &Subject) {
    for (features, odds) in [(400, 99.0), (1000, 99.0), (1000, 1e6)] {
        let (compiled, evidence) = for_and_against(features, odds);
        let found = subject.propagate(&compiled, &evidence).unwrap();
        assert_even(subject, &found, features, odds, &format!("{features} features"));
    }
}

/// One case among many has the same answer as alone.
pub fn a_case_among_many_has_its_own_answer(subject: &Subject) {
    for odds in [99.0, 1e4] {
        let (compiled, evidence) = for_and_against(60, odds);
        let network = compiled.network();
        let cases: Vec<Evidence> = (0..127)
            .map(|case| {
                let mut evidence = evidence.clone();
                if case != 77 {
                    evidence.observe(network, VariableId::new(1 + case % 60), 1);
                }
                evidence
            })
            .collect();
        let watch = Watch::untimed(CancelToken::new());
        let answers = subject.load(&compiled).run_batch(&cases, &watch).unwrap();
        assert_even(subject, answers[77].as_ref().unwrap(), 60, odds, "among 127");
        for (case, answer) in cases.iter().zip(&answers) {
            let answer = answer.as_ref().unwrap();
            let exact = Exact::new(network, case);
            check(subject, network, &exact, Some(answer), "of 127");
        }
    }
}

/// In a network of moderate size and without small entries, all that makes two classes probable
/// underflows in single precision, and a third class is left that is far less probable.
pub fn moderate_entries_that_underflow_together(subject: &Subject) {
    let rows = |given: [f64; 3]| given.map(|p| [p, 1.0 - p]).concat();
    let tables = [rows([1e-3, 0.9, 0.0226]), rows([0.9, 1e-3, 0.0226])];
    let class = [0.25, 0.25, 0.5];
    let features = (0..60).map(|f| (2, &[0][..], &*tables[f / 30]));
    let all: Vec<_> = std::iter::once((3, &[][..], &class[..])).chain(features).collect();
    let network = network(&all);
    let observed = |count: usize| {
        let mut evidence = Evidence::none();
        let features = network.ids().skip(1).take(count);
        features.for_each(|feature| evidence.observe(&network, feature, 0));
        evidence
    };
    let cases = [60, 59, 55, 52].map(observed);
    check_cases(subject, &compiled(Arc::clone(&network)), &cases, "60 features");
}

/// A chain in which every variable but the last is observed, in a state of probability `unlikely`.
pub fn a_chain_of_10_000_observations(subject: &Subject) {
    const NAME: &str = "a chain of 10,000 variables";
    if subject.is_exempt(NAME) {
        return;
    }
    for unlikely in [0.4, 1e-5, 1e-300] {
        let table = [1.0 - unlikely, unlikely, unlikely, 1.0 - unlikely];
        let first = (2, &[][..], &[0.25, 0.75][..]);
        let parents: Vec<[usize; 1]> = (0..9_999).map(|v| [v]).collect();
        let others = parents.iter().map(|parent| (2, &parent[..], &table[..]));
        let all: Vec<_> = std::iter::once(first).chain(others).collect();
        let network = network(&all);
        let compiled = compiled(Arc::clone(&network));
        let mut evidence = Evidence::none();
        let last = VariableId::new(9_999);
        for variable in network.ids().filter(|v| *v != last) {
            evidence.observe(&network, variable, variable.index() % 2);
        }
        let found = subject.propagate(&compiled, &evidence).unwrap();
        let expected = 0.25_f64.ln() + 9_998.0 * unlikely.ln();
        subject.assert_close_ln(found.ln_p_evidence(), expected, format_args!("{unlikely}"));
        let row = &table[..2];
        subject.assert_close(found.of(last), row, format_args!("{unlikely}"));
    }
}
