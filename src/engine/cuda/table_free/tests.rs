use std::sync::Arc;

use super::twin::Twin;
use super::*;
use crate::cancel::CancelToken;
use crate::engine::cuda::GpuEngine;
use crate::engine::cuda::device::tests::has_gpu;
use crate::engine::cuda::fixtures::{
    assert_agrees_with_sequential, assert_agrees_with_twin, load_options, long_networks, networks,
    random_cases,
};
use crate::engine::fixtures::markov;
use crate::engine::{Engine, LoadOptions, Propagator, by_name, recomputing};
use crate::format;
use crate::network::{Evidence, Factor, VariableId};
use crate::potential::Precision;
use crate::propagation::{CompileOptions, CompiledNetwork, Watch, compile};

fn twin(compiled: &Arc<CompiledNetwork>) -> TableFreePropagator<Twin> {
    twin_for(compiled, Semiring::SumProduct)
}

/// The twin of the kernels for max-product.
pub(in crate::engine::cuda) fn max_product_twin(
    compiled: &Arc<CompiledNetwork>,
) -> Box<dyn Propagator> {
    Box::new(twin_for(compiled, Semiring::MaxProduct))
}

fn twin_for(compiled: &Arc<CompiledNetwork>, semiring: Semiring) -> TableFreePropagator<Twin> {
    let prepared = Prepared::new(compiled, semiring).expect("it is within the kernels' limits");
    let twin = Twin::new(&prepared.plan, semiring);
    TableFreePropagator::new(Arc::clone(compiled), prepared, twin, 0)
}

/// The twin. Cases that are out of range in single precision are computed again on the CPU.
fn answering_twin(compiled: &Arc<CompiledNetwork>) -> Box<dyn Propagator> {
    recomputing(Box::new(twin(compiled)), compiled, &load_options(Precision::F32))
}

#[test]
fn the_twin_agrees_with_the_sequential_engine() {
    for (compiled, cases) in networks() {
        assert_agrees_with_sequential(&compiled, &cases, &mut *answering_twin(&compiled));
    }
}

#[test]
fn the_twin_propagates_100_000_variables() {
    for (compiled, cases) in long_networks() {
        assert_agrees_with_sequential(&compiled, &cases, &mut twin(&compiled));
    }
}

fn sample(name: &str) -> Arc<CompiledNetwork> {
    let network = format::sample(name).expect("a sample of this name").open().network;
    let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
    Arc::new(compiled.expect("it is not cancelled"))
}

#[test]
fn all_kinds_of_launches_together_agree_with_engine_cpu_on_large_cliques() {
    let compiled = sample("mildew");
    let mut twin = twin(&compiled);
    let launches = &twin.prepared.plan.launches;
    let kinds: [fn(&Launch) -> bool; 5] = [
        |launch| matches!(launch, Launch::Contract { .. }),
        |launch| matches!(launch, Launch::SumRows { .. }),
        |launch| matches!(launch, Launch::Rescale { .. }),
        |launch| matches!(launch, Launch::Divide { .. }),
        |launch| matches!(launch, Launch::Read { .. }),
    ];
    for (number, kind) in kinds.into_iter().enumerate() {
        assert!(launches.iter().any(kind), "kind {number}");
    }
    let watch = Watch::timed(compiled.plan(), CancelToken::new());
    let found = twin.run(&Evidence::none(), &watch).expect("it is possible");
    let engine = by_name("cpu").expect("an engine of this name");
    let options = LoadOptions::default();
    let mut cpu = engine.load(&compiled, &options).expect("it fits");
    let untimed = Watch::untimed(CancelToken::new());
    let expected = cpu.run(&Evidence::none(), &untimed).expect("it is possible");
    for (found, expected) in found.values().iter().zip(expected.values()) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
    assert_eq!(watch.trace().messages.len(), compiled.plan().messages().len());
}

#[test]
fn two_runs_are_bit_equal_and_a_new_plan_replaces_the_old() {
    let compiled = sample("alarm");
    let network = compiled.network();
    let mut twin = twin(&compiled);
    let watch = Watch::untimed(CancelToken::new());
    let before = twin.run(&Evidence::none(), &watch).expect("it is possible");
    let mut evidence = Evidence::none();
    evidence.observe(network, network.ids().next().expect("a variable"), 0);
    twin.run(&evidence, &watch).expect("it is possible");
    assert!(twin.peak_bytes() >= twin.prepared.plan.bytes(), "the new plan counts");
    let after = twin.run(&Evidence::none(), &watch).expect("it is possible");
    assert_eq!(before, after);
}

/// Engine `gpu` in the form without tables.
fn load(compiled: &Arc<CompiledNetwork>) -> Box<dyn Propagator> {
    let options = LoadOptions { form: Some(Form::TableFree), ..load_options(Precision::F32) };
    GpuEngine.load(compiled, &options).expect("the GPU has enough memory")
}

#[test]
fn the_gpu_agrees_with_the_twin() {
    if !has_gpu("the_gpu_agrees_with_the_twin") {
        return;
    }
    for (compiled, cases) in networks() {
        let mut gpu = load(&compiled);
        assert_eq!(gpu.form(), Some(Form::TableFree));
        let mut twin = answering_twin(&compiled);
        assert_agrees_with_twin(&compiled, &cases, gpu.as_mut(), &mut *twin);
    }
}

#[test]
fn the_gpu_agrees_with_the_sequential_engine_on_large_cliques() {
    if !has_gpu("the_gpu_agrees_with_the_sequential_engine_on_large_cliques") {
        return;
    }
    for name in ["mildew", "water", "barley", "munin4", "pigs"] {
        let compiled = sample(name);
        let mut gpu = load(&compiled);
        let cases = random_cases(&compiled, 5);
        assert_agrees_with_sequential(&compiled, &cases, &mut *gpu);
        let watch = Watch::untimed(CancelToken::new());
        assert_eq!(gpu.run(&cases[0], &watch), gpu.run(&cases[0], &watch), "{name}");
        eprintln!("{name}: 5 cases agree");
    }
}

#[test]
fn a_case_beyond_single_precision_is_out_of_range() {
    // The first factors make one state so unlikely that its probability is zero in single
    // precision; the others do the same to the other state.
    let values = |number| if number < 60 { [1.0, 1e-3] } else { [1e-3, 1.0] };
    let factor = |number| Factor::new(vec![VariableId::new(0)], values(number).to_vec());
    let network = markov(&[2], (0..120).map(factor).collect());
    let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
    let mut twin = twin(&Arc::new(compiled.expect("it is not cancelled")));
    let answer = twin.run(&Evidence::none(), &Watch::untimed(CancelToken::new()));
    assert_eq!(answer, Err(RunError::OutOfRange));
}
