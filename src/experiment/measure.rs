//! Timing propagations.

use std::sync::Arc;
use std::time::Duration;

use super::{ExperimentError, RecordedRun};
use crate::cancel::CancelToken;
use crate::clock::Instant;
use crate::engine::{
    self, Engine, EngineInfo, LoadError, LoadOptions, PaperOptions, PropagationError, Propagator,
};
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, MemoryLimit, MessageTrace, Watch};
use crate::statistics::Quantiles;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Propagations to time, after a warm-up.
    pub repeat: u32,
    /// After this time, no further propagation begins unless `min_repeat` requires it.
    pub time_limit: Duration,
    /// Minimum number of propagations to time, even beyond the time limit; never more than
    /// `repeat`.
    pub min_repeat: u32,
    /// Whether to trace a propagation afterwards, message by message.
    pub is_traced: bool,
}

/// The options for loading a network: single precision as in the paper, or the first precision of
/// an engine that does not support it.
pub(super) fn load_options(
    engine: &dyn Engine,
    threads: usize,
    paper: PaperOptions,
    memory: MemoryLimit,
) -> LoadOptions {
    let has_single = engine.precisions().contains(&Precision::F32);
    let precision = if has_single { Precision::F32 } else { engine.precisions()[0] };
    LoadOptions { precision, threads, memory, paper, ..LoadOptions::default() }
}

/// Loads `compiled` into `engine` and times propagations without evidence.
///
/// # Errors
/// If the engine cannot load the network, a propagation fails, or `cancel` is set.
pub(super) fn measure(
    compiled: &Arc<CompiledNetwork>,
    engine: &dyn Engine,
    options: &LoadOptions,
    effort: Effort,
    cancel: &CancelToken,
) -> Result<RecordedRun, ExperimentError> {
    Bench::load(compiled, engine, options, cancel)?.measure(effort, cancel)
}

/// A network loaded into an engine, to be timed.
pub(super) struct Bench {
    compiled: Arc<CompiledNetwork>,
    engine: &'static EngineInfo,
    loaded: Box<dyn Propagator>,
    options: LoadOptions,
    /// Whether a propagation has run since loading.
    is_warm: bool,
}

impl Bench {
    /// Loads `compiled` into `engine`.
    ///
    /// # Errors
    /// If the engine cannot load the network, or once `cancel` is set.
    pub fn load(
        compiled: &Arc<CompiledNetwork>,
        engine: &dyn Engine,
        options: &LoadOptions,
        cancel: &CancelToken,
    ) -> Result<Self, ExperimentError> {
        cancel.check()?;
        let failed = |error: LoadError| ExperimentError::Failed(error.to_string());
        Ok(Self {
            compiled: Arc::clone(compiled),
            engine: engine.info(),
            loaded: engine.load(compiled, options).map_err(failed)?,
            options: *options,
            is_warm: false,
        })
    }

    /// Switches to `engine` with `options` if the network need not be loaded again: only the block
    /// size and the memory limit may differ. Returns whether the switch was made.
    pub fn switch_to(&mut self, engine: &dyn Engine, options: &LoadOptions) -> bool {
        let block_size = options.paper.block_size;
        let paper = PaperOptions { block_size, ..self.options.paper };
        let with_new_size = LoadOptions { paper, memory: options.memory, ..self.options };
        let is_switched = self.engine == engine.info()
            && with_new_size == *options
            && self.loaded.gpu().is_some_and(|gpu| gpu.set_block_size(block_size));
        if is_switched {
            self.options = *options;
        }
        is_switched
    }

    /// Times propagations without evidence.
    ///
    /// # Errors
    /// If a propagation fails, or `cancel` is set.
    pub fn measure(
        &mut self,
        effort: Effort,
        cancel: &CancelToken,
    ) -> Result<RecordedRun, ExperimentError> {
        cancel.check()?;
        let times = self.times(effort, cancel)?;
        let propagate_us = Quantiles::of(&times).expect("at least one propagation is timed");
        let overhead = self.loaded.gpu().and_then(|gpu| gpu.launch_overhead(times.len() as u32));
        let microseconds = |time: Duration| thousandths(time.as_secs_f64() * 1e6);
        let trace = if effort.is_traced {
            Some(trace(&mut *self.loaded, &self.compiled, cancel)?)
        } else {
            None
        };
        Ok(RecordedRun {
            engine: self.engine.name.to_owned(),
            precision: self.options.precision,
            threads: self.loaded.threads(),
            paper: self.engine.capabilities.paper_options.then_some(self.options.paper),
            propagate_us: propagate_us.map(thousandths),
            overhead_us: overhead.map(microseconds),
            launch_us: overhead.and_then(|_| engine::launch_time()).map(microseconds),
            peak_bytes: self.loaded.peak_bytes(),
            trace,
        })
    }

    /// The time of each propagation, in microseconds.
    fn times(&mut self, effort: Effort, cancel: &CancelToken) -> Result<Vec<f64>, ExperimentError> {
        let repeat = effort.repeat.max(1) as usize;
        let min_repeat = repeat.min(effort.min_repeat.max(1) as usize);
        // Without a capacity of `repeat`, because the time limit may allow far fewer propagations.
        let mut times = Vec::new();
        let start = Instant::now();
        while times.len() < min_repeat
            || (times.len() < repeat && start.elapsed() <= effort.time_limit)
        {
            let watch = Watch::untimed(cancel.clone());
            self.loaded.forget();
            let started = Instant::now();
            propagate(&mut *self.loaded, &self.compiled, &watch)?;
            // The first propagation after loading is a warm-up.
            if std::mem::replace(&mut self.is_warm, true) {
                times.push(started.elapsed().as_secs_f64() * 1e6);
            }
        }
        Ok(times)
    }
}

/// The trace of a propagation after a traced warm-up.
fn trace(
    loaded: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    cancel: &CancelToken,
) -> Result<MessageTrace, ExperimentError> {
    let mut last = MessageTrace::default();
    // The first traced propagation sets up what an engine needs only for tracing.
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

/// Rounds to three decimals: further digits of a time are noise.
fn thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
