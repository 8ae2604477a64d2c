//! The ways to propagate.
//!
//! An [`Engine`] is immutable and knows what it would need for a compiled network. Loading gives a
//! [`Propagator`], which owns the tables and is used from one thread at a time. All engines answer
//! alike; `tests/conformance` holds them to it.

pub mod algorithm;
mod batch;
mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod diagnosis;
mod draw;
mod factors;
#[cfg(test)]
mod fixtures;
mod options;
mod reference;
mod sequential;
mod threads;

use std::sync::Arc;
use std::time::Duration;

pub use diagnosis::ImpossibleEvidence;
pub use draw::draw;
pub use options::{LoadOptions, MappingLayout, PaperOptions, SECTOR, WARP, sectors};
pub use sequential::{Passing, Walk};

use crate::cancel::Cancelled;
use crate::network::Evidence;
use crate::numbers::thousands;
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast, Posteriors, TooLarge, Watch, human_bytes};

/// A way to propagate evidence through a junction tree.
pub trait Engine: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in a line.
    fn summary(&self) -> &'static str;

    /// Whether it can run on this machine.
    ///
    /// # Errors
    /// The reason why not, as a sentence for the user.
    fn availability(&self) -> Result<(), String> {
        Ok(())
    }

    /// The number types it can compute in, the default first.
    fn precisions(&self) -> &'static [Precision];

    /// What it would allocate for `compiled`. Allocates nothing.
    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast;

    /// Allocates and fills the tables for `compiled`.
    ///
    /// # Errors
    /// If the engine cannot run here, does not know the precision, or needs more memory than it may have.
    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError>;
}

/// A compiled network loaded into an engine.
pub trait Propagator: Send {
    /// Propagates `evidence`, and gives the posteriors of all variables.
    ///
    /// A call that was cancelled or failed leaves nothing behind. An engine may keep what earlier
    /// evidence and this have in common; beyond rounding no answer depends on it.
    ///
    /// # Errors
    /// [`RunError::Impossible`] if the evidence has probability zero,
    /// [`RunError::Cancelled`] once `watch` is cancelled,
    /// [`RunError::Device`] if the GPU failed.
    ///
    /// # Panics
    /// If `evidence` is not about the network that was loaded.
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError>;

    /// Propagates many cases, each by itself, and gives the answer to each in their order.
    ///
    /// An engine that gains from having several cases at once does it in its own way. `watch` tells
    /// when to stop; it counts no messages.
    ///
    /// # Errors
    /// Only if `watch` was cancelled. A case of probability zero is an answer of its own.
    ///
    /// # Panics
    /// If a case is not about the network that was loaded.
    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        one_at_a_time(cases, watch, |case, watch| self.run(case, watch))
    }

    /// Forgets what was made for earlier evidence and kept, so that the next run does all its work.
    ///
    /// It changes no result beyond rounding; who times a propagation calls it before.
    fn forget(&mut self) {}

    /// Bytes that it holds at most, while it runs.
    fn peak_bytes(&self) -> u64;

    /// Threads that it uses.
    fn threads(&self) -> usize {
        1
    }

    /// Has further runs use so many threads a block. `false` for engines that take no block size.
    fn set_block_size(&mut self, threads: u32) -> bool {
        let _ = threads;
        false
    }

    /// What launching costs: the time of one propagation's exact list of launches and copies when
    /// the kernels have empty bodies, the median of `repeat` runs. `None` for engines that launch nothing.
    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration> {
        let _ = repeat;
        None
    }

    /// What the stamps cost by which a kernel times messages: its time without and with them, without
    /// evidence, the medians of `repeat` runs by the device's clock. `None` for engines without stamps.
    fn kernel_times(&mut self, repeat: u32) -> Option<[Duration; 2]> {
        let _ = repeat;
        None
    }
}

/// The answer to each case of a batch, in their order.
pub type BatchAnswers = Vec<Result<Posteriors, RunError>>;

/// Answers each case by a run of its own.
fn one_at_a_time(
    cases: &[Evidence],
    watch: &Watch,
    mut run: impl FnMut(&Evidence, &Watch) -> Result<Posteriors, RunError>,
) -> Result<BatchAnswers, Cancelled> {
    let mut answers = Vec::with_capacity(cases.len());
    for case in cases {
        watch.check()?;
        match run(case, &watch.aside()) {
            Err(RunError::Cancelled) => return Err(Cancelled),
            answer => answers.push(answer),
        }
    }
    Ok(answers)
}

/// Asks for the impossible ones of `answers`, which came of computing many at once, each by a run of its
/// own: what is possible but very unlikely is lost there sooner.
fn rerun_impossible(
    answers: BatchAnswers,
    cases: &[Evidence],
    watch: &Watch,
    mut run: impl FnMut(&Evidence, &Watch) -> Result<Posteriors, RunError>,
) -> Result<BatchAnswers, Cancelled> {
    let again = |(answer, case): (_, &Evidence)| match answer {
        Err(RunError::Impossible) => {
            watch.check()?;
            match run(case, &watch.aside()) {
                Err(RunError::Cancelled) => Err(Cancelled),
                answer => Ok(answer),
            }
        }
        answer => Ok(answer),
    };
    answers.into_iter().zip(cases).map(again).collect()
}

/// Why one run gave no posteriors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// It was no longer wanted.
    Cancelled,
    /// The evidence has probability zero.
    Impossible,
    /// The GPU failed or is lost: what happened, as a sentence for the user. The propagator is of
    /// no more use; the network can be loaded anew, into another engine if need be.
    Device(String),
}

impl From<Cancelled> for RunError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Why evidence has no posteriors, for the user.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PropagationError {
    /// It was no longer wanted.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The evidence has probability zero.
    #[error(transparent)]
    Impossible(#[from] ImpossibleEvidence),
    /// The GPU failed or is lost.
    #[error("the GPU failed while propagating: {0}")]
    Device(String),
}

/// Why an engine does not load a network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The engine cannot run on this machine.
    #[error("engine {engine} cannot run here: {reason}")]
    Unavailable {
        /// The engine.
        engine: &'static str,
        /// Why not.
        reason: String,
    },
    /// The engine does not compute in this precision.
    #[error("engine {engine} does not compute in {precision}")]
    Precision {
        /// The engine.
        engine: &'static str,
        /// The precision asked for.
        precision: Precision,
    },
    /// The network needs more memory than it may have, or is none for the engine.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The GPU has too little free memory, or failed.
    #[error(
        "engine {engine} needs {} of GPU memory, of which {} is free: {reason}",
        human_bytes(*.needed),
        human_bytes(*.free)
    )]
    Device {
        /// The engine.
        engine: &'static str,
        /// Bytes that the network needs there.
        needed: u64,
        /// Bytes that are free there.
        free: u64,
        /// What the driver says.
        reason: String,
    },
}

impl LoadError {
    /// Whether the engine or its device is to blame, not the request: another engine may do.
    #[must_use]
    pub fn another_engine_may_load(&self) -> bool {
        match self {
            Self::Device { .. } | Self::Unavailable { .. } => true,
            Self::TooLarge(refusal) => refusal.forecast.unsupported.is_some(),
            Self::Precision { .. } => false,
        }
    }
}

/// Refuses a precision that `engine` does not know.
fn check_precision(engine: &dyn Engine, precision: Precision) -> Result<(), LoadError> {
    if engine.precisions().contains(&precision) {
        Ok(())
    } else {
        Err(LoadError::Precision { engine: engine.name(), precision })
    }
}

/// What keeps an engine from a table of `entries` that numbers up to `most` of them.
fn too_many_entries(table: &str, entries: u64, most: u32) -> Option<String> {
    let is_beyond = entries > u64::from(most);
    is_beyond
        .then(|| format!("it numbers up to {} entries of a {table}", thousands(u64::from(most))))
}

/// The forecast for `engine`, which needs `bytes`; they are not computed if the network is
/// `unsupported`.
fn forecast(
    engine: &dyn Engine,
    compiled: &CompiledNetwork,
    precision: Precision,
    unsupported: Option<String>,
    bytes: impl FnOnce() -> u64,
) -> Forecast {
    match unsupported {
        Some(reason) => Forecast::unsupported(engine.name(), precision, compiled, reason),
        None => Forecast::new(engine.name(), precision, compiled, bytes()),
    }
}

/// Refuses what `engine` cannot load as `options` say, and otherwise gives the bytes that it needs.
fn admit(
    engine: &dyn Engine,
    compiled: &CompiledNetwork,
    options: &LoadOptions,
) -> Result<u64, LoadError> {
    check_precision(engine, options.precision)?;
    let forecast = engine.forecast(compiled, options.precision);
    let bytes = forecast.bytes;
    forecast.check(options.memory)?;
    Ok(bytes)
}

/// Propagates `evidence` through what `propagator` was loaded with, and where the evidence turns
/// out to be impossible finds out which findings made it so.
///
/// # Errors
/// If the evidence is impossible or the watch was cancelled.
pub fn propagate(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    watch: &Watch,
) -> Result<Posteriors, PropagationError> {
    watch.begin();
    let result = propagator.run(evidence, watch);
    watch.finish();
    match result {
        Ok(posteriors) => Ok(posteriors),
        Err(RunError::Cancelled) => Err(Cancelled.into()),
        Err(RunError::Device(reason)) => Err(PropagationError::Device(reason)),
        Err(RunError::Impossible) => {
            Err(diagnosis::explain(propagator, compiled.network(), evidence, watch)?.into())
        }
    }
}

/// Propagates many cases as [`Propagator::run_batch`], and finds out of those that turn out to be
/// impossible which findings made them so.
///
/// # Errors
/// If the watch was cancelled or the GPU failed. Impossible cases are answers.
pub fn propagate_batch(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    cases: &[Evidence],
    watch: &Watch,
) -> Result<Vec<Result<Posteriors, ImpossibleEvidence>>, PropagationError> {
    let answers = propagator.run_batch(cases, watch)?;
    let mut explain = |(case, answer): (&Evidence, Result<_, _>)| match answer {
        Ok(posteriors) => Ok(Ok(posteriors)),
        Err(RunError::Cancelled) => Err(Cancelled.into()),
        Err(RunError::Device(reason)) => Err(PropagationError::Device(reason)),
        Err(RunError::Impossible) => {
            diagnosis::explain(propagator, compiled.network(), case, watch).map(Err)
        }
    };
    cases.iter().zip(answers).map(&mut explain).collect()
}

/// What one kernel launch costs on this machine's GPU; `None` where there is none.
#[must_use]
pub fn launch_time() -> Option<Duration> {
    #[cfg(feature = "cuda")]
    return cuda::launch_time();
    #[cfg(not(feature = "cuda"))]
    None
}

/// All engines, whether or not they can run here.
#[must_use]
pub fn all() -> &'static [&'static dyn Engine] {
    &[
        &cpu::Cpu,
        &sequential::Sequential,
        #[cfg(feature = "cuda")]
        &cuda::GpuPersistent,
        #[cfg(feature = "cuda")]
        &cuda::GpuPaper,
        &reference::Reference,
    ]
}

/// The engine that is used where none is asked for.
#[must_use]
pub fn default_engine() -> &'static dyn Engine {
    all()[0]
}

/// The engine called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Engine> {
    all().iter().copied().find(|engine| engine.name() == name)
}
