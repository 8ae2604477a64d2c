//! The engines: ways to compute posteriors from evidence.
//!
//! An [`Engine`] is immutable and forecasts what it needs for a compiled network. Loading the
//! network gives a [`Propagator`], which owns the tables and is used by one thread at a time. The
//! [`Capabilities`] of an engine say, as data, what the engine can do. All engines give the same
//! posteriors within their [`ErrorBound`]s; `tests/conformance` checks this.

mod accuracy;
mod batch;
mod bounds;
mod capabilities;
mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod diagnosis;
mod draw;
mod error;
mod factors;
#[cfg(test)]
mod fixtures;
mod interface;
mod lanes;
mod load;
pub mod message_steps;
mod options;
mod query;
mod recompute;
mod reference;
mod sequential;
mod simd;
mod threads;
mod wide;

use std::time::Duration;

pub use crate::allocate::OutOfMemory;
#[doc(hidden)]
pub use crate::lowering::{Optimisation, Optimisations};
pub use accuracy::ErrorBound;
pub use capabilities::{
    Algorithm, CPU, Capabilities, Device, EngineInfo, GPU, GPU_PAPER, REFERENCE, SEQUENTIAL,
};
pub use diagnosis::ImpossibleEvidence;
pub use draw::draw;
pub use error::{LoadError, PropagationError, QueryError, RunError};
pub use interface::{BatchAnswers, Engine, GpuPropagator, Propagator};
use load::{admit, check_precision, forecast, too_many_entries};
pub use options::{LoadOptions, MappingLayout, PaperOptions, SECTOR, WARP, sectors};
pub use query::{CaseQuery, propagate, propagate_batch, query, query_cases};
use query::{one_at_a_time, rerun_out_of_range};
use recompute::recomputing;
pub use sequential::{Beliefs, MessageDetail, Stepper};

/// The engines of this build, whether or not they can run on this machine. The default comes first.
#[must_use]
pub fn all() -> &'static [&'static dyn Engine] {
    &[
        &cpu::Cpu,
        &sequential::Sequential,
        #[cfg(feature = "cuda")]
        &cuda::GpuEngine,
        #[cfg(feature = "cuda")]
        &cuda::GpuPaper,
        &reference::Reference,
    ]
}

/// The engine used unless another is chosen.
#[must_use]
pub fn default_engine() -> &'static dyn Engine {
    all()[0]
}

/// The engine called `name`, if this build has it.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Engine> {
    all().iter().copied().find(|engine| engine.name() == name)
}

/// The time of one launch of an empty kernel on this machine's GPU; `None` if there is no GPU, if
/// this build has no engine for GPUs, or if the driver reports an error.
#[must_use]
pub fn launch_time() -> Option<Duration> {
    #[cfg(feature = "cuda")]
    return cuda::launch_time();
    #[cfg(not(feature = "cuda"))]
    None
}

/// Number of multiprocessors of this machine's GPU; `None` if there is no GPU, if this build has no
/// engine for GPUs, or if the driver reports an error.
#[must_use]
pub fn multiprocessors() -> Option<u32> {
    #[cfg(feature = "cuda")]
    return cuda::gpu_info().map(|gpu| gpu.multiprocessors);
    #[cfg(not(feature = "cuda"))]
    None
}
