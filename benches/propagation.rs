//! Time of one propagation with all posteriors, by engine, precision and network.
//!
//! `cargo bench --no-default-features --bench propagation -- NETWORK` runs one network alone.

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, LoadOptions};
use cliquescope::format;
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompileOptions, MemoryLimit, Watch, compile};

const NETWORKS: &[&str] =
    &["alarm", "water", "mildew", "barley", "pigs", "diabetes", "munin2", "munin3", "munin4"];

fn main() {
    divan::main();
}

#[divan::bench(args = NETWORKS, sample_count = 50, sample_size = 1)]
fn cpu_f64(bencher: divan::Bencher, network: &str) {
    propagation(bencher, "cpu", Precision::F64, network);
}

#[divan::bench(args = NETWORKS, sample_count = 50, sample_size = 1)]
fn cpu_f32(bencher: divan::Bencher, network: &str) {
    propagation(bencher, "cpu", Precision::F32, network);
}

#[divan::bench(args = NETWORKS, sample_count = 5, sample_size = 1)]
fn sequential_f64(bencher: divan::Bencher, network: &str) {
    propagation(bencher, "sequential", Precision::F64, network);
}

#[divan::bench(args = NETWORKS, sample_count = 5, sample_size = 1)]
fn sequential_f32(bencher: divan::Bencher, network: &str) {
    propagation(bencher, "sequential", Precision::F32, network);
}

/// Times propagations of `network` without evidence, on one thread.
fn propagation(bencher: divan::Bencher, engine: &str, precision: Precision, network: &str) {
    let network = format::sample(network).expect("a sample of this name").open().network;
    let cancel = CancelToken::new();
    let compiled =
        compile(network, &CompileOptions::default(), &cancel).expect("it is not cancelled");
    let compiled = Arc::new(compiled);
    let memory = MemoryLimit::half_of_available();
    let options = LoadOptions { precision, threads: 1, memory, ..LoadOptions::default() };
    let engine = engine::by_name(engine).expect("an engine of this name");
    let mut propagator = engine.load(&compiled, &options).expect("the network fits");
    let watch = Watch::untimed(cancel);
    bencher.bench_local(|| {
        propagator.forget();
        propagator.run(&Evidence::none(), &watch).expect("empty evidence is possible")
    });
}
