//! Markov networks, compared with brute force.

use std::sync::Arc;

use cliquescope::format;
use cliquescope::network::{Factor, Network, Variable, VariableId};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::fixtures::rng;
use crate::small::check;
use crate::subject::Subject;

/// A Markov network given by the number of states of each variable and the scope and values of each
/// factor.
pub fn markov(cardinalities: &[usize], factors: &[(&[usize], &[f64])]) -> Arc<Network> {
    let variables = cardinalities.iter().enumerate().map(|(index, &states)| {
        Variable::new(format!("v{index}"), (0..states).map(|state| state.to_string()))
    });
    let factors = factors.iter().map(|(scope, values)| {
        Factor::new(scope.iter().map(|&v| VariableId::new(v)).collect(), values.to_vec())
    });
    Arc::new(Network::markov("m", variables.collect(), factors.collect()).unwrap())
}

/// Random values between a tenth of `size` and three times `size`; about one in ten is zero
/// instead.
fn random_values(rng: &mut Pcg64Mcg, entries: usize, size: f64) -> Vec<f64> {
    let value = |_| if rng.random_bool(0.1) { 0.0 } else { rng.random_range(0.1..3.0) * size };
    (0..entries).map(value).collect()
}

pub fn a_grid(subject: &Subject) {
    let mut rng = rng(3);
    let at = |row: usize, column: usize| 3 * row + column;
    let mut scopes = Vec::new();
    for (row, column) in (0..3).flat_map(|row| (0..3).map(move |column| (row, column))) {
        scopes.extend((column < 2).then(|| [at(row, column), at(row, column + 1)]));
        scopes.extend((row < 2).then(|| [at(row + 1, column), at(row, column)]));
    }
    let values: Vec<_> = scopes.iter().map(|_| random_values(&mut rng, 4, 1.0)).collect();
    let factors: Vec<_> = scopes.iter().zip(&values).map(|(s, v)| (&s[..], &v[..])).collect();
    check(subject, &markov(&[2; 9], &factors));
}

/// Repeated, nested and empty scopes, a variable in no factor, and very large and small values.
pub fn overlapping_and_empty_scopes(subject: &Subject) {
    let mut rng = rng(4);
    let mut values = |entries, size| random_values(&mut rng, entries, size);
    let (a, b, c, d) = (values(6, 1e30), values(6, 1e-200), values(2, 7.0), values(12, 1e3));
    check(
        subject,
        &markov(
            &[2, 3, 2, 2, 2],
            &[
                (&[0, 1], &a),
                (&[1, 0], &b),
                (&[0], &c),
                (&[], &[1e-40]),
                (&[0, 1, 2], &d),
                (&[], &[3.0]),
                (&[3], &[0.25, 5.0]),
            ],
        ),
    );
}

/// The entries of the product of all factors are near 1e-300, far below the range of f32, but
/// within a factor of six of each other.
pub fn products_of_many_factors_do_not_underflow(subject: &Subject) {
    let alternating: Vec<(&[usize], &[f64])> = (0..600)
        .map(|n| (&[0][..], if n % 2 == 0 { &[0.1, 1.0][..] } else { &[1.0, 0.1][..] }))
        .chain([(&[0, 1][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..])])
        .collect();
    check(subject, &markov(&[2, 3], &alternating));
    let one_after_another: Vec<(&[usize], &[f64])> = (0..600)
        .map(|n| (&[0][..], if n < 300 { &[0.1, 1.0][..] } else { &[1.0, 0.1][..] }))
        .collect();
    check(subject, &markov(&[2, 3], &one_after_another));
}

/// A single variable with many states and no factor.
pub fn many_states_in_no_factor(subject: &Subject) {
    for states in [513, 700, 768] {
        check(subject, &markov(&[states], &[]));
    }
}

pub fn zero_everywhere(subject: &Subject) {
    check(
        subject,
        &markov(&[2, 2], &[(&[0, 1], &[1.0, 0.0, 0.0, 1.0]), (&[0, 1], &[0.0, 2.0, 3.0, 0.0])]),
    );
    check(subject, &markov(&[2, 2], &[(&[0], &[1.0, 2.0]), (&[], &[0.0])]));
}

pub fn no_factors(subject: &Subject) {
    check(subject, &markov(&[2, 3], &[]));
}

/// A Markov network whose factors are the tables of a Bayesian network.
pub fn a_bayesian_network_as_factors(subject: &Subject) {
    let network = format::open("asia").unwrap().network;
    let factors = network.factors().cloned().collect();
    let factors = Network::markov("asia", network.variables().to_vec(), factors).unwrap();
    assert!(!factors.is_bayesian());
    check(subject, &Arc::new(factors));
}
