//! Laws of probability that hold for every network, and long products that must not underflow.

use std::f64::consts::LN_2;
use std::sync::Arc;

use cliquescope::graph::{CliqueId, Heuristic, JunctionTree, Separator, Triangulation};
use cliquescope::network::{Evidence, Network, VariableId};
use cliquescope::propagation::CompiledNetwork;

use crate::fixtures::{compiled, compiled_by, network, observed, sample};
use crate::subject::{Subject, most_probable, probable_evidence, propagate};

const MEDIUM: &[&str] = &["child", "insurance", "alarm", "pigs"];

/// The cliques and separators of `tree`, with the clique `root` as the root.
fn rerooted(tree: &JunctionTree, root: CliqueId) -> JunctionTree {
    let mut separators: Vec<Separator> = tree.separators().to_vec();
    let mut clique = root;
    while let Some(link) = tree.parent(clique) {
        let edge = &mut separators[link.separator.index()];
        std::mem::swap(&mut edge.parent, &mut edge.child);
        clique = link.clique;
    }
    JunctionTree::new(tree.cliques().to_vec(), separators, root)
}

/// Asserts that both compiled networks give the same posteriors and ln P(e).
fn assert_same(
    subject: &Subject,
    compiled: &Arc<CompiledNetwork>,
    other: &Arc<CompiledNetwork>,
    evidence: &Evidence,
    context: &str,
) {
    let expected = subject.propagate(compiled, evidence).unwrap();
    let found = subject.propagate(other, evidence).unwrap();
    let network = compiled.network();
    subject.assert_close(network, found.values(), expected.values(), context);
    subject.assert_close_ln(network, found.ln_p_evidence(), expected.ln_p_evidence(), context);
}

pub fn invariance_to_the_root(subject: &Subject) {
    for name in subject.required(MEDIUM) {
        let compiled = sample(name);
        let evidence = probable_evidence(subject, &compiled);
        let cliques = compiled.tree().cliques().len();
        for root in compiled.tree().clique_ids().step_by(cliques.div_ceil(6)) {
            let tree = rerooted(compiled.tree(), root);
            let other = CompiledNetwork::with_tree(Arc::clone(compiled.network()), tree);
            let context = format!("{name} with root {root:?}");
            assert_same(subject, &compiled, &Arc::new(other), &evidence, &context);
        }
    }
}

pub fn invariance_to_the_triangulation(subject: &Subject) {
    use Heuristic::{MinDegree, MinFill, MinWeight, WeightedMinFill};
    for name in subject.required(MEDIUM) {
        let compiled = sample(name);
        let evidence = probable_evidence(subject, &compiled);
        for heuristic in [MinDegree, MinFill, MinWeight, WeightedMinFill] {
            for seed in [0, 1] {
                let network = Arc::clone(compiled.network());
                let other = compiled_by(network, Triangulation::By(heuristic), seed);
                let context = format!("{name} by {heuristic:?}, seed {seed}");
                assert_same(subject, &compiled, &other, &evidence, &context);
            }
        }
    }
}

/// ln P(a, b) = ln P(a) + ln P(b | a).
pub fn chain_rule(subject: &Subject) {
    for name in subject.required(&["asia", "alarm", "water", "pigs"]) {
        let compiled = sample(name);
        let mut propagator = subject.load(&compiled);
        let mut evidence = Evidence::none();
        let mut before = propagate(&mut *propagator, &compiled, &evidence).unwrap();
        for variable in compiled.network().ids().step_by(3).take(8) {
            let state = most_probable(before.of(variable));
            evidence.observe(compiled.network(), variable, state);
            let after = propagate(&mut *propagator, &compiled, &evidence).unwrap();
            let expected = before.ln_p_evidence() + before.of(variable)[state].ln();
            subject.assert_close_ln(
                compiled.network(),
                after.ln_p_evidence(),
                expected,
                format_args!("{name}"),
            );
            before = after;
        }
    }
}

/// P(a) is the sum over b of P(a | b) P(b).
pub fn total_probability(subject: &Subject) {
    for name in subject.required(&["asia", "insurance", "alarm", "water", "mildew"]) {
        let compiled = sample(name);
        let network = compiled.network();
        let mut propagator = subject.load(&compiled);
        let prior = propagate(&mut *propagator, &compiled, &Evidence::none()).unwrap();
        let given = VariableId::new(network.variables().len() / 2);
        let mut sums = vec![0.0; prior.values().len()];
        for (state, &probability) in prior.of(given).iter().enumerate() {
            if probability > 0.0 {
                let evidence = observed(network, &[(given.index(), state)]);
                let posterior = propagate(&mut *propagator, &compiled, &evidence).unwrap();
                let terms = sums.iter_mut().zip(posterior.values());
                terms.for_each(|(sum, conditional)| *sum += probability * conditional);
            }
        }
        subject.assert_close(network, &sums, prior.values(), format_args!("{name} over {given:?}"));
    }
}

pub fn a_scaled_likelihood_gives_the_same_posteriors(subject: &Subject) {
    for name in subject.required(&["asia", "alarm", "water"]) {
        let compiled = sample(name);
        let network = compiled.network();
        let variable = VariableId::new(3);
        let weights: Vec<f64> =
            (1..=network[variable].cardinality()).map(|state| 0.3 / state as f64).collect();
        let run = |factor: f64| {
            let mut evidence = observed(network, &[(0, 0)]);
            let scaled: Vec<f64> = weights.iter().map(|weight| weight * factor).collect();
            evidence.set_likelihood(network, variable, scaled).unwrap();
            subject.propagate(&compiled, &evidence).unwrap()
        };
        let expected = run(1.0);
        for factor in [3.0, 1e-3, 1e6, 1e-200, 1e200] {
            let found = run(factor);
            subject.assert_close(
                network,
                found.values(),
                expected.values(),
                format_args!("{name}"),
            );
            let shifted = expected.ln_p_evidence() + factor.ln();
            subject.assert_close_ln(
                network,
                found.ln_p_evidence(),
                shifted,
                format_args!("{name}"),
            );
        }
    }
}

pub fn a_one_hot_likelihood_equals_an_observation(subject: &Subject) {
    for name in subject.required(&["asia", "alarm", "water"]) {
        let compiled = sample(name);
        let network = compiled.network();
        let variable = VariableId::new(2);
        let states = network[variable].cardinality();
        for state in 0..states {
            let mut likelihood = Evidence::none();
            let mut weights = vec![0.0; states];
            weights[state] = 1.0;
            likelihood.set_likelihood(network, variable, weights).unwrap();
            let finding = observed(network, &[(variable.index(), state)]);
            let found = subject.propagate(&compiled, &likelihood);
            assert_eq!(found.is_ok(), subject.propagate(&compiled, &finding).is_ok());
            if let (Ok(found), Ok(expected)) = (found, subject.propagate(&compiled, &finding)) {
                subject.assert_close(
                    network,
                    found.values(),
                    expected.values(),
                    format_args!("{name}"),
                );
                let ln = expected.ln_p_evidence();
                subject.assert_close_ln(network, found.ln_p_evidence(), ln, format_args!("{name}"));
            }
        }
    }
}

/// One cause with 400 observed effects: P(e) is about 2.7e-399, which is below the range of f64.
pub fn many_findings_do_not_underflow(subject: &Subject) {
    let effect = &[0.1, 0.9, 0.101, 0.899][..];
    let mut variables: Vec<(usize, &[usize], &[f64])> = vec![(2, &[], &[0.5, 0.5])];
    variables.extend(vec![(2, &[0][..], effect); 400]);
    let network = network(&variables);
    let findings: Vec<(usize, usize)> = (1..=400).map(|effect| (effect, 0)).collect();
    let found = subject.propagate(&compiled(network.clone()), &observed(&network, &findings));
    let found = found.unwrap();
    // The evidence makes the second state 1.01^400 times as likely as the first.
    let odds = 1.01_f64.powi(400);
    let expected = [1.0 / (1.0 + odds), odds / (1.0 + odds)];
    subject.assert_close(&network, found.of(VariableId::new(0)), &expected, "the cause");
    let ln = 400.0 * 0.1_f64.ln() + ((1.0 + odds) / 2.0).ln();
    subject.assert_close_ln(&network, found.ln_p_evidence(), ln, "the effects");
}

/// One cause with 400 observed effects that alternately favour either state, each ten thousand to
/// one. The weights of both states shrink to about 1e-800 of their initial values, and neither may
/// become zero.
pub fn opposed_findings_do_not_underflow(subject: &Subject) {
    let effect = &[0.0001, 0.9999, 0.9999, 0.0001][..];
    let mut variables: Vec<(usize, &[usize], &[f64])> = vec![(2, &[], &[0.25, 0.75])];
    variables.extend(vec![(2, &[0][..], effect); 400]);
    let network = network(&variables);
    let findings: Vec<(usize, usize)> = (1..=400).map(|effect| (effect, effect % 2)).collect();
    let found = subject.propagate(&compiled(network.clone()), &observed(&network, &findings));
    let found = found.unwrap();
    subject.assert_close(&network, found.of(VariableId::new(0)), &[0.25, 0.75], "the cause");
    let ln = 200.0 * (0.0001_f64 * 0.9999).ln();
    subject.assert_close_ln(&network, found.ln_p_evidence(), ln, "the effects");
}

/// First come all findings that favour one state, then all findings that favour the other. Each
/// half favours its state 1e48 to one, which a table of single precision can still hold.
pub fn opposed_findings_in_the_worst_order(subject: &Subject) {
    const EACH_WAY: usize = 24;
    let effect = &[0.01, 0.99, 0.99, 0.01][..];
    let mut variables: Vec<(usize, &[usize], &[f64])> = vec![(2, &[], &[0.25, 0.75])];
    variables.extend(vec![(2, &[0][..], effect); 2 * EACH_WAY]);
    let network = network(&variables);
    let state = |effect: usize| usize::from(effect > EACH_WAY);
    let findings: Vec<(usize, usize)> = (1..=2 * EACH_WAY).map(|e| (e, state(e))).collect();
    let found = subject.propagate(&compiled(network.clone()), &observed(&network, &findings));
    let found = found.unwrap();
    subject.assert_close(&network, found.of(VariableId::new(0)), &[0.25, 0.75], "the cause");
    let ln = EACH_WAY as f64 * (0.01_f64 * 0.99).ln();
    subject.assert_close_ln(&network, found.ln_p_evidence(), ln, "the effects");
}

/// A hidden Markov model of 300 steps with a finding at each, compared with the forward recursion.
pub fn long_chains_do_not_underflow(subject: &Subject) {
    let (step, sensor) = ([0.9, 0.1, 0.3, 0.7], [0.02, 0.98, 0.05, 0.95]);
    const STEPS: usize = 300;
    let parents: Vec<[usize; 1]> = (0..STEPS).map(|t| [2 * t]).collect();
    let mut variables: Vec<(usize, &[usize], &[f64])> = Vec::new();
    for t in 0..STEPS {
        if t == 0 {
            variables.push((2, &[], &[0.6, 0.4]));
        } else {
            variables.push((2, &parents[t - 1], &step));
        }
        variables.push((2, &parents[t], &sensor));
    }
    let network = network(&variables);
    // The less likely reading, except at every seventh step.
    let reading = |t: usize| usize::from(t.is_multiple_of(7));
    let findings: Vec<(usize, usize)> = (0..STEPS).map(|t| (2 * t + 1, reading(t))).collect();
    let found =
        subject.propagate(&compiled(network.clone()), &observed(&network, &findings)).unwrap();

    let mut ln = 0.0;
    let mut belief = [0.6, 0.4];
    for t in 0..STEPS {
        if t > 0 {
            let next = |s: usize| belief[0] * step[s] + belief[1] * step[2 + s];
            belief = [next(0), next(1)];
        }
        let seen = [belief[0] * sensor[reading(t)], belief[1] * sensor[2 + reading(t)]];
        let sum = seen[0] + seen[1];
        belief = [seen[0] / sum, seen[1] / sum];
        ln += sum.ln();
    }
    assert!(ln < -745.0, "P(e) is below the range of f64");
    subject.assert_close(
        &network,
        found.of(VariableId::new(2 * STEPS - 2)),
        &belief,
        "the last step",
    );
    subject.assert_close_ln(&network, found.ln_p_evidence(), ln, "the readings");
}

/// Two to the power of `exponent`, including subnormal numbers, for which `powi` may underflow.
fn power_of_two(exponent: i32) -> f64 {
    match u64::try_from(exponent + 1023) {
        Ok(biased @ 1..) => f64::from_bits(biased << 52),
        _ => f64::from_bits(1 << (exponent + 1074)),
    }
}

/// Weights from the whole range of f64.
pub fn extreme_likelihoods(subject: &Subject) {
    let compiled = sample("asia");
    let network: &Network = compiled.network();
    let plain = subject.propagate(&compiled, &Evidence::none()).unwrap();
    let mut evidence = Evidence::none();
    for (index, variable) in network.ids().enumerate() {
        let power = [-1022, 1000, 1020, -900, 3, 1023, -1074, 512][index];
        evidence.set_likelihood(network, variable, [power_of_two(power); 2]).unwrap();
    }
    let found = subject.propagate(&compiled, &evidence).unwrap();
    subject.assert_close(network, found.values(), plain.values(), "equal weights change nothing");
    let power = -1022 + 1000 + 1020 - 900 + 3 + 1023 - 1074 + 512;
    subject.assert_close_ln(
        network,
        found.ln_p_evidence(),
        f64::from(power) * LN_2,
        "equal weights",
    );
}
