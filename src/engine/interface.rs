//! The interface of engines to their callers.

use std::sync::Arc;
use std::time::Duration;

use super::{EngineInfo, LoadError, LoadOptions, RunError, one_at_a_time};
use crate::cancel::Cancelled;
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast, Form, FormForecast, Posteriors, Watch};

/// A way to compute posteriors from evidence.
pub trait Engine: Send + Sync {
    /// The engine's name and capabilities.
    fn info(&self) -> &'static EngineInfo;

    /// The engine's name on the command line.
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// What the engine is, in one line.
    fn summary(&self) -> &'static str {
        self.info().summary
    }

    /// The number types that the engine supports, the default first.
    fn precisions(&self) -> &'static [Precision] {
        self.info().capabilities.precisions
    }

    /// Checks that the engine can run on this machine. The first check of a GPU may take a second.
    ///
    /// # Errors
    /// The reason why the engine cannot run, phrased for the user.
    fn availability(&self) -> Result<(), String> {
        Ok(())
    }

    /// What [`availability`](Self::availability) returns, without waiting for it: `None` while a
    /// thread checks, which the first call starts.
    fn known_availability(&self) -> Option<Result<(), String>> {
        Some(self.availability())
    }

    /// What [`load`](Self::load) would allocate for `compiled`, and what a propagation without
    /// findings would add. The forecast itself allocates no tables of numbers. To find out which
    /// entries are zero, engine `cpu` may need about the time of a propagation, and memory of at
    /// least a byte for each table entry.
    ///
    /// # Panics
    /// If the machine has not enough memory for this.
    /// [`or_error`](crate::allocate::or_error) turns this panic into an error.
    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast;

    /// The forms in a [`forecast`](Self::forecast) other than `form`, the form in which the network
    /// is loaded. An engine may override this to skip work that only the forecast of `form` needs.
    ///
    /// # Panics
    /// As [`forecast`](Self::forecast).
    fn other_forms(
        &self,
        compiled: &CompiledNetwork,
        precision: Precision,
        form: Form,
    ) -> Vec<FormForecast> {
        self.forecast(compiled, precision).other_forms(Some(form)).collect()
    }

    /// Loads `compiled`: allocates and fills the tables that the engine keeps.
    ///
    /// # Errors
    /// If the engine cannot run here, does not support the precision or the network, or needs more
    /// memory than `options.memory` or than the machine has, or if the GPU fails.
    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError>;
}

/// A compiled network loaded into an engine.
pub trait Propagator: Send {
    /// Propagates `evidence` and returns the posteriors of all variables.
    ///
    /// A cancelled call, or one with impossible evidence, does not affect later calls. An engine
    /// may reuse messages of earlier runs that `evidence` does not change. This changes no
    /// posterior beyond rounding.
    ///
    /// # Errors
    /// [`RunError::Impossible`] if the evidence has probability zero, [`RunError::Cancelled`] once
    /// `watch` is cancelled, [`RunError::OutOfRange`] if numbers are out of range and computing the
    /// case again would need too much memory or time, [`RunError::Device`] if the GPU failed,
    /// [`RunError::OutOfMemory`] if the machine has less memory than the forecast.
    ///
    /// # Panics
    /// If `evidence` names variables or states that the loaded network does not have, or does not
    /// [observe](CompiledNetwork::admits) the variables without which the network was compiled.
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError>;

    /// Propagates each of `cases` separately and returns their answers in the same order.
    ///
    /// Engines with the [`batch`](super::Capabilities::batch) capability compute many cases
    /// together. `watch` can cancel the call. It neither times nor counts messages of a batch.
    ///
    /// # Errors
    /// Only if `watch` was cancelled. Any other error of [`run`](Self::run) is the answer to the
    /// cases that it concerns.
    ///
    /// # Panics
    /// If a case names variables or states that the loaded network does not have, or does not
    /// [observe](CompiledNetwork::admits) the variables without which the network was compiled.
    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        one_at_a_time(cases, watch, |case, watch| self.run(case, watch))
    }

    /// Drops everything kept from earlier runs that depends on their evidence, so that the next run
    /// reuses none of it.
    ///
    /// Call this before timing a propagation. No posterior changes beyond rounding.
    fn forget(&mut self) {}

    /// Maximum memory in use at any time, including during a run, in bytes. This may be an upper
    /// bound.
    fn peak_bytes(&self) -> u64;

    /// The form in which the network is held; `None` for an engine that has only one.
    fn form(&self) -> Option<Form> {
        None
    }

    /// Number of workers: threads of the CPU, or blocks of a persistent kernel.
    fn threads(&self) -> usize {
        1
    }

    /// The functions that only propagators on a GPU have; `None` for a propagator on the CPU.
    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        None
    }
}

/// The functions that only a propagator on a GPU has.
pub trait GpuPropagator {
    /// Sets the threads per block for further runs. Returns `false` if the engine does not have the
    /// [`paper_options`](super::Capabilities::paper_options) capability.
    fn set_block_size(&mut self, threads: u32) -> bool {
        let _ = threads;
        false
    }

    /// The time of all launches and copies of one propagation with empty kernels: the median of
    /// `repeat` runs, or `None` if the driver reports an error.
    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration>;

    /// Peak memory of the host in bytes, without the memory for computing cases again on the CPU.
    /// It may be reached while the GPU holds little, so [`Propagator::peak_bytes`], the peak of
    /// both together, can be less than the sum of both peaks.
    fn host_bytes(&self) -> u64;

    /// Peak memory of GPUs in bytes.
    fn device_bytes(&self) -> u64;

    /// Two times of the kernel for a propagation without evidence: first without timestamps, then
    /// with the timestamps that trace messages. Each is the median of `repeat` runs by the device's
    /// clock. `None` if the engine's kernel takes no timestamps, or if the driver reports an error.
    fn kernel_times(&mut self, repeat: u32) -> Option<[Duration; 2]> {
        let _ = repeat;
        None
    }

    /// Number of GPUs in use for batches; 0 before the first batch whose cases are propagated
    /// together.
    fn gpus_of_batch(&self) -> usize {
        0
    }
}

/// The answer to each case of a batch, in the order of the cases.
pub type BatchAnswers = Vec<Result<Posteriors, RunError>>;
