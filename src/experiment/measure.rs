//! Timing propagations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{ExperimentError, Quantiles, RecordedRun};
use crate::cancel::CancelToken;
use crate::engine::{self, Engine, LoadOptions, PaperOptions, PropagationError, Propagator};
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, MemoryLimit, MessageTrace, Watch};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Propagations that are counted, after one that is not.
    pub repeat: u32,
    /// No further one begins after this long; three are counted in any case, or all if fewer.
    pub at_most: Duration,
    /// Whether one more is watched message by message.
    pub traced: bool,
}

/// What an engine is asked for. The paper computes in single precision throughout.
pub(super) fn load_options(
    engine: &dyn Engine,
    threads: usize,
    paper: PaperOptions,
    memory: MemoryLimit,
) -> LoadOptions {
    let single = engine.precisions().contains(&Precision::F32);
    let precision = if single { Precision::F32 } else { engine.precisions()[0] };
    LoadOptions { precision, threads, memory, paper }
}

/// Loads `compiled` into `engine` and times propagations without evidence.
pub(super) fn measure(
    compiled: &Arc<CompiledNetwork>,
    engine: &dyn Engine,
    options: &LoadOptions,
    effort: Effort,
    cancel: &CancelToken,
) -> Result<RecordedRun, ExperimentError> {
    let failed = |error: &dyn std::fmt::Display| ExperimentError::Failed(error.to_string());
    cancel.check()?;
    let mut loaded = engine.load(compiled, options).map_err(|error| failed(&error))?;
    cancel.check()?;
    let times = times(&mut *loaded, compiled, effort, cancel)?;
    let propagate_us = Quantiles::of(&times).expect("one propagation is timed at least");
    let overhead = loaded.launch_overhead(effort.repeat);
    let microseconds = |time: Duration| thousandths(time.as_secs_f64() * 1e6);
    let trace = if effort.traced { Some(trace(&mut *loaded, compiled, cancel)?) } else { None };
    Ok(RecordedRun {
        engine: engine.name().to_owned(),
        precision: options.precision,
        threads: loaded.threads(),
        paper: (engine.name() == "gpu-paper").then_some(options.paper),
        propagate_us: propagate_us.map(thousandths),
        overhead_us: overhead.map(microseconds),
        launch_us: overhead.and_then(|_| engine::launch_time()).map(microseconds),
        peak_bytes: loaded.peak_bytes(),
        trace,
    })
}

/// Microseconds of each propagation.
fn times(
    loaded: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    effort: Effort,
    cancel: &CancelToken,
) -> Result<Vec<f64>, ExperimentError> {
    let mut times = Vec::with_capacity(effort.repeat as usize);
    let began = Instant::now();
    for round in 0..=effort.repeat.max(1) {
        if round > 3 && began.elapsed() > effort.at_most {
            break;
        }
        let watch = Watch::untimed(cancel.clone());
        loaded.forget();
        let started = Instant::now();
        propagate(loaded, compiled, &watch)?;
        // The first one warms up.
        if round > 0 {
            times.push(started.elapsed().as_secs_f64() * 1e6);
        }
    }
    Ok(times)
}

/// One propagation message by message.
fn trace(
    loaded: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    cancel: &CancelToken,
) -> Result<MessageTrace, ExperimentError> {
    let mut last = MessageTrace::default();
    // What an engine makes for watching alone, it makes once.
    for _ in 0..2 {
        let watch = Watch::timed(compiled.plan(), cancel.clone());
        loaded.forget();
        propagate(loaded, compiled, &watch)?;
        last = watch.trace();
    }
    Ok(last)
}

fn propagate(
    loaded: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    watch: &Watch,
) -> Result<(), ExperimentError> {
    match engine::propagate(loaded, compiled, &Evidence::none(), watch) {
        Ok(_) => Ok(()),
        Err(PropagationError::Cancelled(cancelled)) => Err(cancelled.into()),
        Err(error) => Err(ExperimentError::Failed(error.to_string())),
    }
}

/// Further digits of a time say nothing.
fn thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
