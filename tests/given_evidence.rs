//! The tree given the evidence gives the same answers as the whole network.

mod common;

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{
    self, CaseQuery, LoadError, LoadOptions, PropagationError, QueryError, default_engine,
    propagate, query_cases,
};
use cliquescope::graph::{KnownOrders, MoralGraph, TriangulationOptions, predicates};
use cliquescope::network::{Cpt, Evidence, Factor, Network, Variable, VariableId};
use cliquescope::propagation::{
    CompileOptions, CompiledNetwork, Form, MemoryLimit, Posteriors, Watch, compile,
};
use common::large::{hub_and_chain, limit_for_an_observed_hub};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Compiles without a search for a better tree.
fn compiled(network: &Arc<Network>, observed: Vec<VariableId>) -> Arc<CompiledNetwork> {
    let options = CompileOptions { observed, ..compile_options() };
    Arc::new(compile(Arc::clone(network), &options, &CancelToken::new()).expect("not cancelled"))
}

fn compile_options() -> CompileOptions {
    let triangulation = TriangulationOptions { restarts: 0, steps: 0, ..Default::default() };
    CompileOptions { triangulation, ..CompileOptions::default() }
}

fn load_options() -> LoadOptions {
    LoadOptions { threads: 1, memory: MemoryLimit::from_bytes(1 << 30), ..LoadOptions::default() }
}

fn watch() -> Watch {
    Watch::untimed(CancelToken::new())
}

/// A random scope of at most `limit` of the variables before `end`.
fn scope(rng: &mut Pcg64Mcg, end: usize, limit: usize) -> Vec<VariableId> {
    let mut scope: Vec<usize> = (0..end).filter(|_| rng.random_bool(0.4)).collect();
    while scope.len() > limit {
        scope.remove(rng.random_range(0..scope.len()));
    }
    scope.into_iter().map(VariableId::new).collect()
}

/// A random network, Bayesian or not, with some zeros.
fn random_network(rng: &mut Pcg64Mcg, is_bayesian: bool) -> Arc<Network> {
    let count = rng.random_range(4..=10);
    let states: Vec<usize> = (0..count).map(|_| rng.random_range(1..=4)).collect();
    let variables: Vec<Variable> = (0..count)
        .map(|v| Variable::new(format!("X{v}"), (0..states[v]).map(|state| format!("s{state}"))))
        .collect();
    let values = |rng: &mut Pcg64Mcg, entries: usize| -> Vec<f64> {
        let value = |_| if rng.random_bool(0.1) { 0.0 } else { rng.random_range(0.01..1.0) };
        (0..entries).map(value).collect()
    };
    let entries = |scope: &[VariableId]| scope.iter().map(|v| states[v.index()]).product::<usize>();
    let network = if is_bayesian {
        let cpt = |v: usize| {
            let parents = scope(rng, v, 3);
            let mut table = values(rng, entries(&parents) * states[v]);
            for row in table.chunks_mut(states[v]) {
                row[0] += 0.1;
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|p| *p /= sum);
            }
            Cpt::new(VariableId::new(v), parents, table)
        };
        let cpts = (0..count).map(cpt).collect();
        Network::new("random", variables, cpts)
    } else {
        let factor = |_| {
            let scope = scope(rng, count, 3);
            let table = values(rng, entries(&scope));
            Factor::new(scope, table)
        };
        let factors = (0..count + 3).map(factor).collect();
        Network::markov("random", variables, factors)
    };
    Arc::new(network.expect("a valid network"))
}

/// Observations and likelihoods on about half of the variables, possibly contradictory.
fn random_evidence(rng: &mut Pcg64Mcg, network: &Network) -> Evidence {
    let mut evidence = Evidence::none();
    for variable in network.ids() {
        let states = network[variable].cardinality();
        if rng.random_bool(0.35) {
            evidence.observe(network, variable, rng.random_range(0..states));
        } else if rng.random_bool(0.2) {
            let weights: Vec<f64> = (0..states).map(|_| rng.random_range(0.1..3.0)).collect();
            evidence.set_likelihood(network, variable, weights).expect("valid weights");
        }
    }
    evidence
}

/// Checks that the answers agree to 1e-12.
fn assert_same(found: &Posteriors, expected: &Posteriors) {
    for (found, expected) in found.values().iter().zip(expected.values()) {
        assert!((found - expected).abs() <= 1e-12, "{found} is not {expected}");
    }
    let (found, expected) = (found.ln_p_evidence(), expected.ln_p_evidence());
    let tolerance = 1e-12 * (1.0 + expected.abs());
    assert!((found - expected).abs() <= tolerance, "ln P(e) is {found}, not {expected}");
}

#[test]
fn the_tree_given_the_evidence_answers_as_the_whole_tree() {
    let mut rng = Pcg64Mcg::seed_from_u64(16);
    let (mut answered, mut impossible) = (0, 0);
    for round in 0..300 {
        let network = random_network(&mut rng, round % 2 == 0);
        let evidence = random_evidence(&mut rng, &network);
        let whole = compiled(&network, Vec::new());
        // The tree may be compiled for only some of the observed variables.
        let mut observed = evidence.observed_variables();
        if round % 3 == 0 {
            observed.retain(|_| rng.random_bool(0.5));
        }
        let part = compiled(&network, observed.clone());
        assert_eq!(part.observed(), observed);
        let verdict =
            predicates::is_junction_tree(part.moral_graph(), part.fill_edges(), part.tree());
        assert_eq!(verdict, Ok(()));
        assert_eq!(predicates::are_alone(&observed, part.tree()), Ok(()));
        let answer = |compiled: &Arc<CompiledNetwork>| {
            let mut propagator = default_engine().load(compiled, &load_options()).expect("it fits");
            propagate(&mut *propagator, compiled, &evidence, &watch())
        };
        match (answer(&part), answer(&whole)) {
            (Ok(found), Ok(expected)) => {
                assert_same(&found, &expected);
                answered += 1;
            }
            (
                Err(PropagationError::Impossible(found)),
                Err(PropagationError::Impossible(expected)),
            ) => {
                assert_eq!(found, expected, "the same conflict is named");
                impossible += 1;
            }
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }
    assert!(answered > 100 && impossible > 20, "{answered} answered, {impossible} impossible");
}

#[test]
fn a_known_order_of_the_whole_network_is_used_for_the_tree_given_the_evidence() {
    // A chain, for which many orders are equally good.
    let id = VariableId::new;
    let variables = (0..10).map(|v| Variable::new(format!("X{v}"), ["no", "yes"]));
    let pairs = (1..10).map(|v| Factor::new(vec![id(v - 1), id(v)], vec![1.0, 2.0, 3.0, 4.0]));
    let network = Network::markov("chain", variables.collect(), pairs.collect()).expect("valid");
    let network = Arc::new(network);
    let order: Vec<VariableId> = (0..10).rev().map(id).collect();
    let known = Arc::new(KnownOrders::of(&MoralGraph::of_network(&network), &order, 9 * 4));
    let order_with = |known| {
        let options = compile_options();
        let triangulation = TriangulationOptions { known, ..options.triangulation };
        let options = CompileOptions { triangulation, observed: vec![id(4)] };
        let part = compile(Arc::clone(&network), &options, &CancelToken::new());
        part.expect("not cancelled").elimination_order().into_owned()
    };
    assert_eq!(order_with(Some(known)), order);
    assert_ne!(order_with(None), order);
}

#[test]
fn engines_that_need_the_whole_tree_say_so() {
    let network = cliquescope::format::open("asia").expect("a sample opens").network;
    let part = compiled(&network, vec![network.find("xray").expect("a variable")]);
    for engine in engine::all() {
        let forecast = engine.forecast(&part, engine.precisions()[0]);
        if engine.info().capabilities.observed {
            assert_eq!(forecast.unsupported, None, "{}", engine.name());
            let forms: Vec<Form> = forecast.forms.iter().map(|form| form.form).collect();
            assert!(forms.is_empty() || forms == [Form::TableFree], "{}", engine.name());
        } else {
            let reason = forecast.unsupported.expect("a reason");
            assert!(reason.contains("built for given evidence"), "{}: {reason}", engine.name());
        }
    }
}

#[test]
#[should_panic(expected = "does not observe the variables")]
fn evidence_that_does_not_suit_the_tree_panics() {
    let network = cliquescope::format::open("asia").expect("a sample opens").network;
    let part = compiled(&network, vec![network.find("xray").expect("a variable")]);
    let mut propagator = default_engine().load(&part, &load_options()).expect("it fits");
    let _ = propagator.run(&Evidence::none(), &watch());
}

/// The answers of `query_cases` within `memory`.
fn answers(
    network: &Arc<Network>,
    cases: &[Evidence],
    memory: MemoryLimit,
) -> Result<Vec<Result<Posteriors, QueryError>>, QueryError> {
    let load = LoadOptions { memory, ..load_options() };
    query_cases(default_engine(), network, cases, &compile_options(), &load, &CancelToken::new())
}

#[test]
fn a_network_that_fits_only_given_the_evidence_is_queried() {
    let network = hub_and_chain().open().expect("it can be read").network;
    let hub = VariableId::new(0);
    let limit = limit_for_an_observed_hub();
    let (mut first, mut second, mut other) = (Evidence::none(), Evidence::none(), Evidence::none());
    first.observe(&network, hub, 7);
    second.observe(&network, hub, 70);
    other.observe(&network, VariableId::new(3), 1);
    let both = [first.clone(), second.clone()];
    let enough = MemoryLimit::from_bytes(1 << 30);

    let expected = answers(&network, &both, enough).expect("the whole network fits");
    for (found, expected) in answers(&network, &both, limit)
        .expect("the network without the hub fits")
        .iter()
        .zip(&expected)
    {
        assert_same(found.as_ref().expect("possible"), expected.as_ref().expect("possible"));
    }
    // These cases observe no variable in common and the whole network is too large, so each case
    // gets a tree of its own.
    let mut with_more = second.clone();
    with_more.observe(&network, VariableId::new(5), 2);
    let mixed = answers(&network, &[first, other.clone(), with_more], limit).expect("two fit");
    assert_same(mixed[0].as_ref().expect("possible"), expected[0].as_ref().expect("possible"));
    let Err(QueryError::Load(LoadError::TooLarge(refusal))) = &mixed[1] else {
        panic!("{:?}", mixed[1]);
    };
    assert_eq!(refusal.forecast.observed, 1);
    assert!(mixed[2].is_ok());

    for too_large in [&[Evidence::none()][..], &[other.clone()], &[other, Evidence::none()]] {
        let refused = answers(&network, too_large, limit);
        assert!(matches!(refused, Err(QueryError::Load(LoadError::TooLarge(_)))), "{refused:?}");
    }
}

#[test]
fn many_cases_are_answered_though_the_graph_of_the_whole_network_is_too_large() {
    // Each variable has a factor with each of two random others, so triangulating the whole graph
    // takes many fill edges.
    const VARIABLES: usize = 2000;
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let id = VariableId::new;
    let mut factors = Vec::new();
    for v in 0..VARIABLES {
        for step in [rng.random_range(1..VARIABLES / 2), rng.random_range(VARIABLES / 2..VARIABLES)]
        {
            let values = (0..4).map(|_| rng.random_range(0.5..1.0)).collect();
            let mut scope = vec![id(v), id((v + step) % VARIABLES)];
            scope.sort_unstable();
            factors.push(Factor::new(scope, values));
        }
    }
    let variables = (0..VARIABLES).map(|v| Variable::new(format!("X{v}"), ["no", "yes"]));
    let network = Network::markov("random", variables.collect(), factors).expect("valid");
    let network = Arc::new(network);
    let mut evidence = Evidence::none();
    network.ids().filter(|v| v.index() % 10 > 0).for_each(|v| evidence.observe(&network, v, 1));

    let memory = MemoryLimit::from_bytes(9_000_000);
    let alone = answers(&network, std::slice::from_ref(&evidence), memory).expect("it fits");
    let whole = answers(&network, &[Evidence::none()], memory);
    assert!(matches!(whole, Err(QueryError::Load(LoadError::GraphTooLarge(_)))), "{whole:?}");
    // `runs` says that very many cases follow, so the whole network would pay off if it fitted into
    // memory.
    let load = LoadOptions { memory, runs: u32::MAX, ..load_options() };
    let (compile, cancel) = (compile_options(), CancelToken::new());
    let mut query = CaseQuery::new(default_engine(), &network, &compile, &load, &cancel);
    let found = query.answer(&[evidence]).expect("the part without the observed variables fits");
    assert_same(found[0].as_ref().expect("possible"), alone[0].as_ref().expect("possible"));
}

#[test]
fn a_conflict_is_named_where_only_the_tree_given_the_evidence_fits() {
    // A factor for each pair of variables, so the whole network is one clique of 8^17 entries.
    let id = VariableId::new;
    let mut factors = Vec::new();
    for b in 0..17 {
        let equal = |n: usize| f64::from(u8::from(n / 8 == n % 8));
        let one = |_: usize| 1.0;
        for a in 0..b {
            // Variables 0 and 1 are equal.
            let value: &dyn Fn(usize) -> f64 = if b == 1 { &equal } else { &one };
            factors.push(Factor::new(vec![id(a), id(b)], (0..64).map(value).collect()));
        }
    }
    let variables = (0..17).map(|v| Variable::new(format!("X{v}"), (0..8).map(|s| s.to_string())));
    let network = Network::markov("pairs", variables.collect(), factors).expect("valid");
    let network = Arc::new(network);
    let mut evidence = Evidence::none();
    (0..13).for_each(|v| evidence.observe(&network, id(v), v % 2));
    let enough = MemoryLimit::from_bytes(1 << 30);
    let found = answers(&network, std::slice::from_ref(&evidence), enough).expect("it fits");
    let Err(QueryError::Propagation(PropagationError::Impossible(conflict))) = &found[0] else {
        panic!("{:?}", found[0]);
    };
    assert!(conflict.conflict.contains(&id(0)) && conflict.conflict.contains(&id(1)));
    evidence.observe(&network, id(1), 0);
    assert!(answers(&network, &[evidence], enough).expect("it fits")[0].is_ok());
}
