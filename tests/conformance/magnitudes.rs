//! Networks and evidence with numbers of very different magnitudes. The answers are compared with
//! sums over all configurations.
//!
//! An engine must return the right posteriors whatever the magnitudes are, and call evidence
//! impossible only where a zero makes it so.

use std::fmt::Display;
use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{PropagationError, propagate_batch};
use cliquescope::network::{Evidence, Factor, Network, Variable, VariableId};
use cliquescope::propagation::{CompiledNetwork, Posteriors, Watch};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::exact::Exact;
use crate::fixtures::{compiled, network, observed, rng};
use crate::subject::{Subject, propagate};

/// Random numbers from 10^-`decades` to one with a uniformly distributed logarithm. With
/// probability `zeros`, a number is zero instead.
#[derive(Clone, Copy)]
struct Spread {
    decades: f64,
    zeros: f64,
}

impl Spread {
    fn draw(self, rng: &mut Pcg64Mcg) -> f64 {
        if rng.random_bool(self.zeros) {
            return 0.0;
        }
        10_f64.powf(-self.decades * rng.random_range(0.0..1.0))
    }
}

/// A random network of 3 to 6 variables with 2 or 3 states. In every row of a table, one state has
/// weight one, and `spread` gives the weights of the others; then the row is normalised.
fn random_network(rng: &mut Pcg64Mcg, spread: Spread) -> Arc<Network> {
    let count = rng.random_range(3..=6);
    let states: Vec<usize> = (0..count).map(|_| rng.random_range(2..=3)).collect();
    let parents: Vec<Vec<usize>> =
        (0..count).map(|v| (0..v).filter(|_| rng.random_bool(0.5)).take(3).collect()).collect();
    let mut row = |states: usize| {
        let certain = rng.random_range(0..states);
        let weight = |state| if state == certain { 1.0 } else { spread.draw(rng) };
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

/// A random Markov network of 3 to 6 variables with 2 or 3 states, and 3 to 7 factors of 1 to 3
/// variables. One value of each factor is one; `spread` gives the others.
fn random_markov_network(rng: &mut Pcg64Mcg, spread: Spread) -> Arc<Network> {
    let count = rng.random_range(3..=6);
    let states: Vec<usize> = (0..count).map(|_| rng.random_range(2..=3)).collect();
    let variables = states.iter().enumerate().map(|(v, &states)| {
        Variable::new(format!("X{v}"), (0..states).map(|state| format!("s{state}")))
    });
    let variables = variables.collect();
    let mut factor = || {
        let mut scope: Vec<usize> = (0..count).collect();
        while scope.len() > 3 || (scope.len() > 1 && rng.random_bool(0.3)) {
            scope.remove(rng.random_range(0..scope.len()));
        }
        let entries = scope.iter().map(|&v| states[v]).product();
        let mut values: Vec<f64> = (0..entries).map(|_| spread.draw(rng)).collect();
        values[rng.random_range(0..entries)] = 1.0;
        Factor::new(scope.into_iter().map(VariableId::new).collect(), values)
    };
    let factors = (0..3 + count % 5).map(|_| factor()).collect();
    Arc::new(Network::markov("small", variables, factors).unwrap())
}

/// Random observations on about half of the variables, and a likelihood on some of the others.
fn random_evidence(rng: &mut Pcg64Mcg, network: &Network, spread: Spread) -> Evidence {
    let mut evidence = Evidence::none();
    for variable in network.ids() {
        let states = network[variable].cardinality();
        if rng.random_bool(0.5) {
            evidence.observe(network, variable, rng.random_range(0..states));
        } else if rng.random_bool(0.3) {
            let weights: Vec<f64> = (0..states).map(|_| spread.draw(rng)).collect();
            if weights.iter().any(|weight| *weight > 0.0) {
                evidence.set_likelihood(network, variable, weights).unwrap();
            }
        }
    }
    evidence
}

/// Checks an answer; `None` means that the evidence was called impossible.
pub fn check(
    subject: &Subject,
    network: &Network,
    exact: &Exact,
    found: Option<&Posteriors>,
    context: impl Display + Copy,
) {
    let Some(found) = found else {
        let ln = exact.ln_p_evidence();
        assert!(exact.is_impossible(), "{context}: called impossible, but ln P(e) is {ln:e}");
        return;
    };
    assert!(!exact.is_impossible(), "{context}: a zero makes the evidence impossible");
    subject.assert_close_ln(network, found.ln_p_evidence(), exact.ln_p_evidence(), context);
    for variable in network.ids() {
        subject.assert_close(network, found.of(variable), &exact.posterior(variable), context);
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

/// Checks the cases one after another in the same propagator, each in a new propagator, and all of
/// them in a batch.
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
    let rare_zeros = Spread { decades, zeros: 0.05 };
    check_networks(subject, rare_zeros, random_network);
}

/// Checks 25 networks made by `make`, each with six cases.
fn check_networks(
    subject: &Subject,
    spread: Spread,
    make: fn(&mut Pcg64Mcg, Spread) -> Arc<Network>,
) {
    let Spread { decades, zeros } = spread;
    let mut rng = rng(decades as u64);
    for number in 0..25 {
        let network = make(&mut rng, spread);
        let cases: Vec<Evidence> =
            (0..6).map(|_| random_evidence(&mut rng, &network, spread)).collect();
        let compiled = compiled(Arc::clone(&network));
        let context = format!("1e-{decades}, zeros {zeros}, network {number}");
        check_cases(subject, &compiled, &cases, &context);
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

/// The entries may be subnormal numbers of f64. These have fewer digits, but the expected answers
/// are computed from the same entries.
pub fn entries_down_to_the_smallest_numbers(subject: &Subject) {
    check_random(subject, 323.0);
}

/// Engines may leave the zeros out of tables that have many. They must not leave out entries that
/// are only small.
pub fn entries_down_to_1e_300_among_zeros(subject: &Subject) {
    for zeros in [0.3, 0.6] {
        let spread = Spread { decades: 300.0, zeros };
        check_networks(subject, spread, random_network);
        check_networks(subject, spread, random_markov_network);
    }
}

/// In the clique of C and D, the nonzero products of the factors are too small for double
/// precision: 1e-342 for d0 and 1e-511 for d1. The factor of A and D nevertheless makes d1 nearly
/// certain.
pub fn products_too_small_for_double_precision(subject: &Subject) {
    let names = ["A", "B", "C", "D"].into_iter().zip([3_usize, 3, 2, 2]);
    let variables = names.map(|(name, states)| {
        Variable::new(name, (0..states).map(|state| format!("{}{state}", name.to_lowercase())))
    });
    let factor = |scope: &[usize], values: &[f64]| {
        Factor::new(scope.iter().copied().map(VariableId::new).collect(), values.to_vec())
    };
    let factors = vec![
        factor(&[3, 2], &[1e-177, 0.0, 1e-292, 0.0]),
        factor(&[0, 3], &[1e-217, 1.0, 0.0, 1.0, 0.0, 1.0]),
        factor(&[2], &[1e-23, 1.0]),
        factor(&[3, 2], &[1e-142, 1.0, 1e-196, 1.0]),
    ];
    let network = Arc::new(Network::markov("small", variables.collect(), factors).unwrap());
    check_cases(subject, &compiled(network), &[Evidence::none()], "one network");
}

/// P(e) is below the normal numbers of double precision, or just above them, although every table
/// and every finding is within the range.
pub fn sums_below_the_normal_numbers(subject: &Subject) {
    let network = network(&[
        (2, &[], &[0.0, 1.0]),
        (2, &[0], &[0.0, 1.0, 1e-273, 1.0]),
        (2, &[0, 1], &[0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]),
    ]);
    let case = |power: i32| {
        let mut evidence = observed(&network, &[(1, 0)]);
        let weights = vec![1.0, 10_f64.powi(-power)];
        evidence.set_likelihood(&network, VariableId::new(2), weights).unwrap();
        evidence
    };
    let cases: Vec<Evidence> = (20..80).step_by(3).map(case).collect();
    check_cases(subject, &compiled(Arc::clone(&network)), &cases, "one network");
}

/// The message through the separator D to the clique of A, B and D is a quotient of numbers outside
/// the range of doubles, because the likelihood of D opposes the values of the factors.
pub fn quotients_below_the_smallest_number(subject: &Subject) {
    let states = [("A", 2), ("B", 3), ("C", 3), ("D", 3), ("E", 2)];
    let variables = states.map(|(name, states)| {
        Variable::new(name, (0..states).map(|state| format!("{}{state}", name.to_lowercase())))
    });
    let factor = |scope: &[usize], values: &[f64]| {
        Factor::new(scope.iter().copied().map(VariableId::new).collect(), values.to_vec())
    };
    let mut c_e_d = vec![1.0; 18];
    (c_e_d[0], c_e_d[3], c_e_d[12]) = (0.0, 1e-226, 0.0);
    let factors = vec![
        factor(&[3, 2], &[1.0, 0.0, 0.0, 1e-211, 0.0, 0.0, 0.0, 0.0, 0.0]),
        factor(&[2, 4, 3], &c_e_d),
        factor(&[1, 0, 3], &{
            let mut values = vec![1.0; 18];
            values[6..12].copy_from_slice(&[0.0, 1e-165, 0.0, 1.0, 0.0, 0.0]);
            values
        }),
    ];
    let network = Arc::new(Network::markov("small", variables.into(), factors).unwrap());
    let mut evidence = observed(&network, &[(1, 1)]);
    let weights = vec![2.5e-204, 5.3e-55, 5.8e-36];
    evidence.set_likelihood(&network, VariableId::new(3), weights).unwrap();
    check_cases(subject, &compiled(network), &[evidence], "one network");
}

/// In single precision, the message from the clique of B and C has an error that is small before it
/// is multiplied by the likelihood of C, and large afterwards.
pub fn likelihoods_that_favour_what_underflowed(subject: &Subject) {
    let states = [("A", 3), ("B", 2), ("C", 3)];
    let variables = states.map(|(name, states)| {
        Variable::new(name, (0..states).map(|state| format!("{}{state}", name.to_lowercase())))
    });
    let factor = |scope: &[usize], values: &[f64]| {
        Factor::new(scope.iter().copied().map(VariableId::new).collect(), values.to_vec())
    };
    let factors = vec![
        factor(&[0, 2], &[0.0, 0.0, 0.0, 0.0, 1e-68, 0.0, 1.0, 0.0, 0.0]),
        factor(&[1, 2], &[1e-119, 0.0, 1.0, 1.0, 1.0, 0.0]),
        factor(&[1, 2], &[1e-51, 1.0, 0.0, 0.0, 1e-244, 1.0]),
    ];
    let network = Arc::new(Network::markov("small", variables.into(), factors).unwrap());
    let mut evidence = Evidence::none();
    let weights = vec![1.3e-209, 4.6e-38, 5.9e-189];
    evidence.set_likelihood(&network, VariableId::new(2), weights).unwrap();
    check_cases(subject, &compiled(network), &[evidence], "one network");
}

/// The evidence is possible, but two factors alone multiply to 1e-488, which is too small even for
/// double precision. If such numbers become zero in the messages to the root, a message from the
/// root may exclude every nonzero entry that is left in another clique.
pub fn underflow_that_may_leave_a_clique_all_zero(subject: &Subject) {
    let variables = (0..8).map(|v| Variable::new(format!("X{v}"), ["0", "1"])).collect();
    // All values are one except these.
    let factor = |scope: &[usize], others: &[(usize, f64)]| {
        let mut values = vec![1.0; 1 << scope.len()];
        others.iter().for_each(|&(entry, value)| values[entry] = value);
        Factor::new(scope.iter().copied().map(VariableId::new).collect(), values)
    };
    let factors = vec![
        factor(&[0], &[(0, 1e-278)]),
        factor(&[0, 1], &[(0, 1e-210)]),
        factor(&[0, 1, 2, 4], &[(13, 0.0)]),
        factor(&[2, 4, 5], &[]),
        factor(&[0, 3, 5, 6], &[(3, 1e-284)]),
        factor(&[1, 3, 6, 7], &[(3, 1e-31)]),
        factor(&[3, 4, 5], &[]),
    ];
    let network = Arc::new(Network::markov("small", variables, factors).unwrap());
    let evidence = observed(&network, &[(0, 0), (1, 0), (6, 1), (7, 1)]);
    check_cases(subject, &compiled(network), &[evidence], "one network");
}

/// The large values of a factor are about 10^600 times the others, but another factor excludes the
/// large ones.
pub fn factor_values_whose_ratio_overflows_f64(subject: &Subject) {
    let variables = ["A", "B"].map(|name| Variable::new(name, ["0".to_owned(), "1".to_owned()]));
    let id = VariableId::new;
    let factors = vec![
        Factor::new(vec![id(0), id(1)], vec![1e300, 2e-300, 1e300, 6e-300]),
        Factor::new(vec![id(1)], vec![0.0, 1e200]),
    ];
    let network = Arc::new(Network::markov("small", variables.into(), factors).unwrap());
    let compiled = compiled(network);
    let answer = possible(subject.propagate(&compiled, &Evidence::none())).expect("possible");
    let (network, ln) = (compiled.network(), 8_f64.ln() - 100.0 * 10_f64.ln());
    subject.assert_close_ln(network, answer.ln_p_evidence(), ln, "the sum");
    subject.assert_close(network, answer.of(id(0)), &[0.25, 0.75], "A");
    subject.assert_close(network, answer.of(id(1)), &[0.0, 1.0], "B");
}

/// The weights of a likelihood differ by a factor of at least 10^408. If it is a likelihood of A, a
/// zero excludes the larger one.
pub fn weights_whose_ratio_overflows_f64(subject: &Subject) {
    let variables = ["A", "B"].map(|name| Variable::new(name, ["0".to_owned(), "1".to_owned()]));
    let id = VariableId::new;
    let factors = vec![
        Factor::new(vec![id(0)], vec![1.0, 0.0]),
        Factor::new(vec![id(0), id(1)], vec![0.25, 0.5, 0.5, 1.0]),
    ];
    let network = Arc::new(Network::markov("small", variables.into(), factors).unwrap());
    let weights = vec![1e-134, 1e274];
    let likelihood = |variable| {
        let mut evidence = Evidence::none();
        evidence.set_likelihood(&network, VariableId::new(variable), weights.clone()).unwrap();
        evidence
    };
    let mut both = likelihood(0);
    both.set_likelihood(&network, VariableId::new(1), vec![1e300, 1e-300]).unwrap();
    let cases = [likelihood(0), likelihood(1), both];
    check_cases(subject, &compiled(Arc::clone(&network)), &cases, "one network");
}

/// A class and its features. All features are observed, but not the class. Each feature of the
/// first half favours one class by `odds` to one, and each feature of the second half the other
/// class by the same odds, so that both classes are equally probable.
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

fn assert_even(subject: &Subject, network: &Network, found: &Posteriors, odds: f64, context: &str) {
    subject.assert_close(network, found.of(VariableId::new(0)), &[0.5, 0.5], context);
    let features = network.variables().len() - 1;
    let each = odds.ln() - 2.0 * (1.0 + odds).ln();
    subject.assert_close_ln(network, found.ln_p_evidence(), features as f64 / 2.0 * each, context);
}

/// The evidence first favours one class and then the other, each by odds far beyond the range of
/// f64.
pub fn hundreds_of_features_for_and_against_a_class(subject: &Subject) {
    for (features, odds) in [(400, 99.0), (1000, 99.0), (1000, 1e6)] {
        let (compiled, evidence) = for_and_against(features, odds);
        let found = subject.propagate(&compiled, &evidence).unwrap();
        let context = format!("{features} features");
        assert_even(subject, compiled.network(), &found, odds, &context);
    }
}

/// Each of many cases has the right answer, including the only case with even odds.
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
        assert_even(subject, network, answers[77].as_ref().unwrap(), odds, "among 127");
        for (case, answer) in cases.iter().zip(&answers) {
            let answer = answer.as_ref().unwrap();
            let exact = Exact::new(network, case);
            check(subject, network, &exact, Some(answer), "of 127");
        }
    }
}

/// A network of moderate size and without small entries. In single precision, the weights of the
/// two probable classes can underflow, so that only a third class is left, which is far less
/// probable.
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

/// A chain in which every variable but the last is observed. Given the variable before it, each
/// observed state has probability `unlikely`.
pub fn a_chain_of_10_000_variables(subject: &Subject) {
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
        let ln = found.ln_p_evidence();
        subject.assert_close_ln(&network, ln, expected, format_args!("{unlikely}"));
        let row = &table[..2];
        subject.assert_close(&network, found.of(last), row, format_args!("{unlikely}"));
    }
}
