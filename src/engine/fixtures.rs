//! Networks and evidence for tests that compare engines, or kernels with their twins.

use std::sync::Arc;
#[cfg(feature = "cuda")]
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::cancel::CancelToken;
use crate::engine::LoadOptions;
#[cfg(feature = "cuda")]
use crate::engine::{Propagator, RunError, by_name};
use crate::format;
use crate::graph::{Triangulation, TriangulationOptions};
use crate::network::{Cpt, Evidence, Factor, Network, Variable, VariableId};
use crate::potential::Precision;
use crate::propagation::{CompileOptions, CompiledNetwork, MemoryLimit, compile};
#[cfg(feature = "cuda")]
use crate::propagation::{Posteriors, Watch};

/// Compiled networks, each with some cases: networks shipped with the program, and unusual ones.
pub(in crate::engine) fn networks() -> Vec<(Arc<CompiledNetwork>, Vec<Evidence>)> {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let shipped = ["asia", "child", "insurance", "alarm", "pigs"]
        .map(|name| format::sample(name).expect("a sample of this name").open().network);
    let unusual = [
        network(&[], &[]),
        network(&[4], &[&[]]),
        network(&[1, 3, 2, 1], &[&[], &[0], &[], &[2]]),
        network(&[2; 30], &[&[][..]; 30]),
        // One cause with 40 effects.
        network(&[3; 41], &std::iter::once(&[][..]).chain([&[0][..]; 40]).collect::<Vec<_>>()),
        network(&[12, 11, 3, 2, 5], &[&[], &[], &[0, 1], &[1, 2], &[0, 2, 3]]),
        // A variable in no factor, and factors whose product is out of the range of single
        // precision.
        markov(&[700], vec![]),
        markov(&[2, 3], opposed(600)),
    ];
    let networks = shipped.into_iter().chain(unusual);
    let with_cases = networks.map(|network| {
        let cases = (0..4).map(|case| evidence(&mut rng, &network, case)).collect();
        (network, cases)
    });
    let options = CompileOptions {
        triangulation: TriangulationOptions {
            method: Triangulation::Auto,
            restarts: 0,
            ..Default::default()
        },
        ..Default::default()
    };
    let compiled = |(network, cases)| {
        (Arc::new(compile(network, &options, &CancelToken::new()).unwrap()), cases)
    };
    with_cases.chain([unlikely()]).map(compiled).collect()
}

/// A chain and a star of 100,000 variables, each with two cases. One entry of a CPT is zero, so
/// that engines search for what is possible. Single precision holds all entries exactly. Otherwise,
/// the rounding errors of 100,000 CPTs could add up.
#[cfg(feature = "cuda")]
pub(in crate::engine) fn long_networks() -> [(Arc<CompiledNetwork>, Vec<Evidence>); 2] {
    const VARIABLES: usize = 100_000;
    let parents: [fn(usize) -> usize; 2] = [|v| v - 1, |_| 0];
    parents.map(|parent| {
        let id = VariableId::new;
        let variables = (0..VARIABLES).map(|v| Variable::new(format!("X{v}"), ["no", "yes"]));
        let coin = Cpt::new(id(0), vec![], vec![0.5, 0.5]);
        let others = (1..VARIABLES).map(|v| {
            let given_no = if v == VARIABLES / 2 { [1.0, 0.0] } else { [0.75, 0.25] };
            Cpt::new(id(v), vec![id(parent(v))], [given_no, [0.375, 0.625]].concat())
        });
        let cpts = std::iter::once(coin).chain(others).collect();
        let network = Arc::new(Network::new("long", variables.collect(), cpts).unwrap());
        let mut last = Evidence::none();
        last.observe(&network, id(VARIABLES - 1), 1);
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
        (Arc::new(compiled), vec![Evidence::none(), last])
    })
}

/// `count` random cases, each with a fifth of the variables observed.
#[cfg(feature = "cuda")]
pub(in crate::engine) fn random_cases(compiled: &CompiledNetwork, count: usize) -> Vec<Evidence> {
    let mut rng = Pcg64Mcg::seed_from_u64(20);
    let network = compiled.network();
    let draw = |_| Evidence::drawn(network, network.variables().len() / 5, &mut rng);
    (0..count).map(draw).collect()
}

/// `count` random networks of up to seven variables, each with four cases.
#[cfg(feature = "cuda")]
pub(in crate::engine) fn small_networks(
    count: usize,
) -> Vec<(Arc<CompiledNetwork>, Vec<Evidence>)> {
    let mut rng = Pcg64Mcg::seed_from_u64(17);
    let mut random = |_| {
        let variables = rng.random_range(2..8);
        let states: Vec<usize> = (0..variables).map(|_| rng.random_range(1..4)).collect();
        let parents: Vec<Vec<usize>> =
            (0..variables).map(|v| (0..v).filter(|_| rng.random_bool(0.4)).collect()).collect();
        let parents: Vec<&[usize]> = parents.iter().map(Vec::as_slice).collect();
        let network = network(&states, &parents);
        let cases = (0..4).map(|case| evidence(&mut rng, &network, case)).collect();
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
        (Arc::new(compiled.unwrap()), cases)
    };
    (0..count).map(&mut random).collect()
}

/// A network in which one effect needs all six causes, with evidence that makes each cause very
/// unlikely.
fn unlikely() -> (Arc<Network>, Vec<Evidence>) {
    let id = VariableId::new;
    let coins = (0..6).map(|cause| Cpt::new(id(cause), vec![], vec![0.5, 0.5]));
    let rows = (0..64).flat_map(|row| if row == 63 { [0.0, 1.0] } else { [1.0, 0.0] });
    let all = Cpt::new(id(6), (0..6).map(id).collect(), rows.collect());
    let variables = (0..7).map(|v| Variable::new(format!("X{v}"), ["no", "yes"]));
    let network = Network::new("unlikely", variables.collect(), coins.chain([all]).collect());
    let network = Arc::new(network.unwrap());
    let cases = [1e-4, 1e-6, 1e-7].map(|weight| {
        let mut evidence = Evidence::none();
        evidence.observe(&network, id(6), 1);
        (0..6).for_each(|v| evidence.set_likelihood(&network, id(v), vec![1.0, weight]).unwrap());
        evidence
    });
    (network, cases.into())
}

/// A Markov network with these cardinalities and factors.
pub(in crate::engine) fn markov(cardinalities: &[usize], factors: Vec<Factor>) -> Arc<Network> {
    let variables = cardinalities.iter().enumerate().map(|(v, &states)| {
        Variable::new(format!("X{v}"), (0..states).map(|state| format!("s{state}")))
    });
    Arc::new(Network::markov("made up", variables.collect(), factors).unwrap())
}

/// `count` factors of one variable that alternately favour either state.
fn opposed(count: usize) -> Vec<Factor> {
    let values = |n| if n % 2 == 0 { vec![0.1, 1.0] } else { vec![1.0, 0.1] };
    (0..count).map(|n| Factor::new(vec![VariableId::new(0)], values(n))).collect()
}

/// A network with these cardinalities and parents, and random tables.
pub(in crate::engine) fn network(cardinalities: &[usize], parents: &[&[usize]]) -> Arc<Network> {
    let mut rng = Pcg64Mcg::seed_from_u64(cardinalities.len() as u64);
    let variables = cardinalities.iter().enumerate().map(|(v, &states)| {
        Variable::new(format!("X{v}"), (0..states).map(|state| format!("s{state}")))
    });
    let cpts = cardinalities.iter().enumerate().map(|(v, &states)| {
        let rows: usize = parents[v].iter().map(|&p| cardinalities[p]).product();
        let row = |_| {
            let weights: Vec<f64> = (0..states).map(|_| rng.random_range(0.01..1.0)).collect();
            let sum: f64 = weights.iter().sum();
            weights.into_iter().map(move |weight| weight / sum)
        };
        let values = (0..rows).flat_map(row).collect();
        let parents = parents[v].iter().map(|&p| VariableId::new(p)).collect();
        Cpt::new(VariableId::new(v), parents, values)
    });
    Arc::new(Network::new("made up", variables.collect(), cpts.collect()).unwrap())
}

/// A network of a class and its features, and evidence of state 0 of every feature. For each
/// feature, `features` has the probabilities of state 0 given each state of the class.
#[cfg(feature = "cuda")]
pub(in crate::engine) fn class_given_features<const STATES: usize>(
    features: &[[f64; STATES]],
) -> (Arc<CompiledNetwork>, Evidence) {
    let variable = |name: String, states: usize| {
        Variable::new(name, (0..states).map(|state| format!("s{state}")))
    };
    let mut variables = vec![variable("class".to_owned(), STATES)];
    variables.extend((0..features.len()).map(|number| variable(format!("F{number}"), 2)));
    let class = VariableId::new(0);
    let mut cpts = vec![Cpt::new(class, vec![], vec![1.0 / STATES as f64; STATES])];
    for (number, given) in features.iter().enumerate() {
        let values = given.iter().flat_map(|&p| [p, 1.0 - p]).collect();
        cpts.push(Cpt::new(VariableId::new(1 + number), vec![class], values));
    }
    let network = Arc::new(Network::new("class", variables, cpts).unwrap());
    let mut evidence = Evidence::none();
    network.ids().skip(1).for_each(|feature| evidence.observe(&network, feature, 0));
    let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
    (Arc::new(compiled), evidence)
}

/// The evidence of case number `case`. Case 0 has none. The other cases observe about a fifth of
/// the variables, which may be impossible evidence. Case 2 also has likelihoods.
fn evidence(rng: &mut Pcg64Mcg, network: &Network, case: usize) -> Evidence {
    let mut evidence = Evidence::none();
    for variable in network.ids() {
        let states = network[variable].cardinality();
        if case > 0 && rng.random_bool(0.2) {
            evidence.observe(network, variable, rng.random_range(0..states));
        } else if case == 2 && rng.random_bool(0.3) {
            let weights: Vec<f64> = (0..states).map(|_| rng.random_range(0.1..30.0)).collect();
            evidence.set_likelihood(network, variable, weights).unwrap();
        }
    }
    evidence
}

/// Load options for tests: one thread, and enough memory for each of the [`networks`].
pub(in crate::engine) fn load_options(precision: Precision) -> LoadOptions {
    LoadOptions {
        precision,
        threads: 1,
        memory: MemoryLimit::from_bytes(16 << 30),
        ..LoadOptions::default()
    }
}

/// Checks that `propagator` agrees with engine `sequential`, which computes in double precision.
#[cfg(feature = "cuda")]
pub(in crate::engine) fn assert_agrees_with_sequential(
    compiled: &Arc<CompiledNetwork>,
    cases: &[Evidence],
    propagator: &mut dyn Propagator,
) {
    let sequential = by_name("sequential").unwrap();
    let mut expected = sequential.load(compiled, &load_options(Precision::F64)).unwrap();
    for evidence in cases {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        let found = propagator.run(evidence, &watch);
        assert_near(&found, &expected.run(evidence, &watch.untimed_child()));
    }
}

/// Checks that `gpu` gives the same answers with and without tracing, that these answers agree with
/// the answers of `twin`, and that the launch overhead of `gpu` is not zero.
#[cfg(feature = "cuda")]
pub(in crate::engine) fn assert_agrees_with_twin(
    compiled: &CompiledNetwork,
    cases: &[Evidence],
    gpu: &mut dyn Propagator,
    twin: &mut dyn Propagator,
) {
    for evidence in cases {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        let traced = gpu.run(evidence, &watch);
        let plain = gpu.run(evidence, &watch.untimed_child());
        assert_eq!(traced, plain, "tracing changes nothing");
        assert_near(&plain, &twin.run(evidence, &watch.untimed_child()));
    }
    assert!(gpu.gpu().and_then(|gpu| gpu.launch_overhead(3)).unwrap() > Duration::ZERO);
}

/// Checks that two runs agree within 1e-5, a tolerance for single precision, or fail with the same
/// error. Where one calls the evidence impossible, the other may leave the case to double
/// precision.
#[cfg(feature = "cuda")]
pub(in crate::engine) fn assert_near(
    found: &Result<Posteriors, RunError>,
    expected: &Result<Posteriors, RunError>,
) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            let pairs = found.values().iter().zip(expected.values());
            // This form of the condition is false for NaN.
            let near = pairs.clone().all(|(a, b)| (a - b).abs() <= 1e-5);
            assert!(
                near,
                "{:?}",
                pairs.max_by(|a, b| { (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()) })
            );
            let (a, b) = (found.ln_p_evidence(), expected.ln_p_evidence());
            assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "ln P(e) is {a}, expected {b}");
        }
        (Err(RunError::Impossible), Err(RunError::OutOfRange))
        | (Err(RunError::OutOfRange), Err(RunError::Impossible)) => {}
        (found, expected) => assert_eq!(found.as_ref().err(), expected.as_ref().err()),
    }
}
