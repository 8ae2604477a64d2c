//! The engines on a GPU, on machines with and without one.
#![cfg(feature = "cuda")]

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::cuda::GpuEngine;
use cliquescope::engine::{self, Engine, LoadError, LoadOptions};
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompileOptions, MemoryLimit, Watch, compile};

fn gpu_engines() -> Vec<&'static dyn Engine> {
    let engines = engine::all().iter().copied();
    engines.filter(|engine| engine.name().starts_with("gpu")).collect()
}

#[test]
fn an_engine_either_runs_or_gives_the_reason_and_does_not_load() {
    assert!(!gpu_engines().is_empty());
    let network = cliquescope::format::open("asia").unwrap().network;
    let compiled =
        Arc::new(compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap());
    for engine in gpu_engines() {
        let options = LoadOptions {
            precision: Precision::F32,
            threads: 1,
            memory: MemoryLimit::from_bytes(1 << 30),
            ..LoadOptions::default()
        };
        // The answer does not change while the program runs.
        assert_eq!(engine.availability(), engine.availability());
        let loaded = engine.load(&compiled, &options);
        match engine.availability() {
            Ok(()) => {
                let watch = Watch::timed(compiled.plan(), CancelToken::new());
                let posteriors = loaded.unwrap().run(&Evidence::none(), &watch).unwrap();
                assert!(posteriors.ln_p_evidence().abs() < 1e-5);
            }
            Err(reason) => {
                assert!(!reason.is_empty());
                let expected = LoadError::Unavailable { engine: engine.name(), reason };
                assert_eq!(loaded.map(|_| ()), Err(expected));
            }
        }
    }
}

#[test]
fn max_product_gives_the_largest_probability_or_the_reason() {
    let network = cliquescope::format::open("asia").unwrap().network;
    let compiled =
        Arc::new(compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap());
    let options = LoadOptions { precision: Precision::F32, ..LoadOptions::default() };
    let loaded = GpuEngine.load_max_product(&compiled, &options);
    if let Err(reason) = GpuEngine.availability() {
        assert_eq!(
            loaded.map(|_| ()),
            Err(LoadError::Unavailable { engine: GpuEngine.name(), reason })
        );
        return;
    }
    let watch = Watch::untimed(CancelToken::new());
    let found = loaded.unwrap().run(&Evidence::none(), &watch).unwrap();
    // No visit to Asia, no smoking, none of the illnesses, nothing on the X-ray, no dyspnoea.
    let largest: f64 = 0.99 * 0.5 * 0.99 * 0.99 * 0.7 * 0.95 * 0.9;
    assert!((found.ln_p_evidence() - largest.ln()).abs() < 1e-5);
}
