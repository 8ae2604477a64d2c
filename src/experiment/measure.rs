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

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Propagations that are counted, after one that is not.
    pub repeat: u32,
    /// No further one begins after this long.
    pub at_most: Duration,
    /// So many are counted however long they take, or all if fewer.
    pub at_least: u32,
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
    Bench::load(compiled, engine, options, cancel)?.measure(effort, cancel)
}

/// A network that is loaded into an engine to be timed.
pub(super) struct Bench {
    compiled: Arc<CompiledNetwork>,
    engine: &'static EngineInfo,
    loaded: Box<dyn Propagator>,
    options: LoadOptions,
    warm: bool,
}

impl Bench {
    /// Loads `compiled` into `engine`.
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
            warm: false,
        })
    }

    /// Whether `engine` with `options` can be timed without loading anything anew: only the block
    /// size is another, if that. From then on it is that one.
    pub fn turns_to(&mut self, engine: &dyn Engine, options: &LoadOptions) -> bool {
        let block_size = options.paper.block_size;
        let paper = PaperOptions { block_size, ..self.options.paper };
        let alike = LoadOptions { paper, memory: options.memory, ..self.options };
        let turned = self.engine == engine.info()
            && alike == *options
            && self.loaded.gpu().is_some_and(|gpu| gpu.set_block_size(block_size));
        if turned {
            self.options = *options;
        }
        turned
    }

    /// Times propagations without evidence.
    pub fn measure(
        &mut self,
        effort: Effort,
        cancel: &CancelToken,
    ) -> Result<RecordedRun, ExperimentError> {
        cancel.check()?;
        let times = self.times(effort, cancel)?;
        let propagate_us = Quantiles::of(&times).expect("one propagation is timed at least");
        let overhead = self.loaded.gpu().and_then(|gpu| gpu.launch_overhead(times.len() as u32));
        let microseconds = |time: Duration| thousandths(time.as_secs_f64() * 1e6);
        let trace = if effort.traced {
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

    /// Microseconds of each propagation.
    fn times(&mut self, effort: Effort, cancel: &CancelToken) -> Result<Vec<f64>, ExperimentError> {
        let repeat = effort.repeat.max(1) as usize;
        let at_least = repeat.min(effort.at_least.max(1) as usize);
        let mut times = Vec::with_capacity(repeat);
        let began = Instant::now();
        while times.len() < at_least || (times.len() < repeat && began.elapsed() <= effort.at_most)
        {
            let watch = Watch::untimed(cancel.clone());
            self.loaded.forget();
            let started = Instant::now();
            propagate(&mut *self.loaded, &self.compiled, &watch)?;
            // The first one since loading warms up.
            if std::mem::replace(&mut self.warm, true) {
                times.push(started.elapsed().as_secs_f64() * 1e6);
            }
        }
        Ok(times)
    }
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
