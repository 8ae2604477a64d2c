//! Networks and evidence for the tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use cliquescope::cancel::CancelToken;
use cliquescope::format;
use cliquescope::graph::{Triangulation, TriangulationOptions};
use cliquescope::network::{Cpt, Evidence, Network, Variable, VariableId};
use cliquescope::propagation::{CompileOptions, CompiledNetwork, compile};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The sample called `name`, compiled once for all tests.
pub fn sample(name: &str) -> Arc<CompiledNetwork> {
    type Cell = Arc<OnceLock<Arc<CompiledNetwork>>>;
    static COMPILED: Mutex<BTreeMap<String, Cell>> = Mutex::new(BTreeMap::new());
    let cell = Arc::clone(COMPILED.lock().unwrap().entry(name.to_owned()).or_default());
    let compiled = cell.get_or_init(|| {
        let read = format::sample(name).expect("a sample of this name").open();
        compiled(read.network)
    });
    Arc::clone(compiled)
}

/// `network`, compiled without a search for better trees, so that the tree is always the same.
pub fn compiled(network: Arc<Network>) -> Arc<CompiledNetwork> {
    compiled_by(network, Triangulation::Auto, 0)
}

/// `network`, compiled by `method` with ties broken by `seed`.
pub fn compiled_by(
    network: Arc<Network>,
    method: Triangulation,
    seed: u64,
) -> Arc<CompiledNetwork> {
    let triangulation =
        TriangulationOptions { method, seed, restarts: 0, steps: 0, ..Default::default() };
    let options = CompileOptions { triangulation, ..CompileOptions::default() };
    Arc::new(compile(network, &options, &CancelToken::new()).unwrap())
}

/// A network of variables given as `(states, parents, table)`. They are called X0, X1, ... and have
/// states s0, s1, ...
pub fn network(variables: &[(usize, &[usize], &[f64])]) -> Arc<Network> {
    let id = VariableId::new;
    let names = variables.iter().enumerate();
    let named = names.map(|(v, (states, _, _))| {
        Variable::new(format!("X{v}"), (0..*states).map(|state| format!("s{state}")))
    });
    let cpts = variables.iter().enumerate().map(|(v, (_, parents, table))| {
        Cpt::new(id(v), parents.iter().map(|&p| id(p)).collect(), table.to_vec())
    });
    Arc::new(Network::new("small", named.collect(), cpts.collect()).unwrap())
}

/// Evidence that observes variables in states. `states` holds indices of variables and their
/// states.
pub fn observed(network: &Network, states: &[(usize, usize)]) -> Evidence {
    let mut evidence = Evidence::none();
    for &(variable, state) in states {
        evidence.observe(network, VariableId::new(variable), state);
    }
    evidence
}

/// Evidence that observes variables in states. `findings` holds names of variables and their
/// states.
pub fn observed_named(network: &Network, findings: &[(&str, &str)]) -> Evidence {
    let mut evidence = Evidence::none();
    for (variable, state) in findings {
        evidence.observe_named(network, variable, state).unwrap();
    }
    evidence
}

pub fn rng(seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed)
}

/// A random network of 4 to 9 variables with 1 to 4 states and at most 3 parents. Some
/// probabilities are zero.
pub fn random_network(rng: &mut Pcg64Mcg) -> Arc<Network> {
    let count = rng.random_range(4..=9);
    let states: Vec<usize> = (0..count).map(|_| rng.random_range(1..=4)).collect();
    let parents: Vec<Vec<usize>> =
        (0..count).map(|v| (0..v).filter(|_| rng.random_bool(0.35)).take(3).collect()).collect();
    let tables: Vec<Vec<f64>> = (0..count)
        .map(|v| {
            let rows: usize = parents[v].iter().map(|&p| states[p]).product();
            (0..rows).flat_map(|_| random_row(rng, states[v])).collect()
        })
        .collect();
    let variables: Vec<(usize, &[usize], &[f64])> =
        (0..count).map(|v| (states[v], &*parents[v], &*tables[v])).collect();
    network(&variables)
}

/// A random distribution over `states` states, some of which may have probability zero.
pub fn random_row(rng: &mut Pcg64Mcg, states: usize) -> Vec<f64> {
    let nonzero = rng.random_range(0..states);
    let weights = (0..states).map(|state| {
        let zero = state != nonzero && rng.random_bool(0.15);
        if zero { 0.0 } else { rng.random_range(0.01..1.0) }
    });
    let weights: Vec<f64> = weights.collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Random observations and likelihoods on about a third of the variables, possibly contradictory.
pub fn random_evidence(rng: &mut Pcg64Mcg, network: &Network) -> Evidence {
    let mut evidence = Evidence::none();
    for variable in network.ids() {
        let states = network[variable].cardinality();
        if rng.random_bool(0.2) {
            evidence.observe(network, variable, rng.random_range(0..states));
        } else if rng.random_bool(0.15) {
            let weights: Vec<f64> = (0..states).map(|_| rng.random_range(0.0..3.0)).collect();
            evidence.set_likelihood(network, variable, weights).unwrap();
        }
    }
    evidence
}
