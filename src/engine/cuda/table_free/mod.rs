//! The form of engine `gpu` without tables of cliques, for junction trees of any size.
//!
//! As in the table-free form of engine `cpu`, the table of a clique is never stored:
//! [`lowering`](crate::lowering) plans the contractions of a propagation, and the GPU computes each
//! in a few launches. [`planner`] turns the contractions into a [`plan`]: launches, and the
//! [`records`] that they read. [`propagator`] restricts the factors to the evidence and reads the
//! results, and [`gpu`] launches `kernels/table_free.cu`. In tests, [`twin`] does the same as the
//! kernels on the CPU.
//!
//! Numbers are in single precision. The host scales factors and likelihoods by powers of two, and
//! the kernels scale all other tables. Posteriors and P(e) are summed in double precision. If
//! [`scale`] finds that single precision may not be enough for a case, the case is out of range,
//! and engine `cpu` computes it again in double precision.

mod gpu;
mod plan;
mod planner;
mod propagator;
mod records;
mod scale;
#[cfg(test)]
mod twin;

use std::sync::Arc;
use std::time::Duration;

use self::gpu::Gpu;
use self::plan::{Launch, Plan};
use self::propagator::TableFreePropagator;
use super::device::Device;
use super::semiring::Semiring;
use crate::engine::{Propagator, RunError};
use crate::lowering::Program;
use crate::network::Evidence;
use crate::propagation::{CompiledNetwork, Form, FormForecast};
use cudarc::driver::DriverError;

/// Forecast time of a product of entries in nanoseconds, on an H200. A rough figure: if it is
/// wrong, the slower form may be taken.
pub(super) const PRODUCT_NS: f64 = 0.002;

/// Forecast time of a launch in nanoseconds. This is also a rough figure, with the same effect.
const LAUNCH_NS: f64 = 3_000.0;

/// Why this form does not support a network, as a clause after "but".
pub(super) const TOO_MANY_TABLES: &str =
    "a clique has more factors and messages, or more entries, than the kernels can number";

/// The program of a network for some evidence, and its plan.
pub(super) struct Prepared {
    program: Program,
    plan: Plan,
    semiring: Semiring,
}

impl Prepared {
    /// The program and plan of `compiled` for its
    /// [least evidence](CompiledNetwork::least_evidence); `None` if a contraction has more inputs,
    /// or more entries, than the kernels support.
    pub fn new(compiled: &CompiledNetwork, semiring: Semiring) -> Option<Self> {
        Self::for_evidence(compiled, semiring, &compiled.least_evidence())
    }

    /// As [`new`](Self::new), for this `evidence`.
    fn for_evidence(
        compiled: &CompiledNetwork,
        semiring: Semiring,
        evidence: &Evidence,
    ) -> Option<Self> {
        let program = Program::new(compiled, evidence, semiring.optimisations());
        let plan = Plan::new(&program)?;
        Some(Self { program, plan, semiring })
    }

    /// The forecast of this form for `compiled`, which was prepared.
    pub fn forecast(&self, compiled: &CompiledNetwork) -> FormForecast {
        let operands = self.plan.operand_entries;
        FormForecast {
            form: Form::TableFree,
            // The host holds all operands in single precision, and one operand at a time in double
            // precision. As an upper bound, all are counted in both.
            bytes: self.plan.bytes() + 12 * operands + compiled.structure_bytes(0),
            device_bytes: self.plan.bytes(),
            load_ns: 0.0,
            run_ns: PRODUCT_NS * self.program.work() + LAUNCH_NS * self.plan.launches.len() as f64,
        }
    }

    /// Loads the network onto the GPU. `bytes`: the forecast memory.
    ///
    /// # Errors
    /// If the driver reports an error, for example because memory is short.
    pub fn load(
        self,
        compiled: &Arc<CompiledNetwork>,
        device: &'static Device,
        bytes: u64,
    ) -> Result<Box<dyn Propagator>, DriverError> {
        let gpu = Gpu::load(device, &self.plan, self.semiring)?;
        Ok(Box::new(TableFreePropagator::new(Arc::clone(compiled), self, gpu, bytes)))
    }
}

/// Runs the launches of a plan on the GPU, or in tests on the CPU twin.
trait Executor: Send {
    /// Replaces the plan. The contents of all tables are lost. After an error, there is no plan.
    fn set_plan(&mut self, plan: &Plan) -> Result<(), RunError>;

    /// Copies the entries of all operands to the start of the buffer of all tables.
    fn set_operands(&mut self, operands: &[f32]) -> Result<(), RunError>;

    /// Begins a run: forgets the ranges of tables that the kernels noted in the last run.
    fn start(&mut self) -> Result<(), RunError>;

    /// Enqueues a launch of the plan.
    fn launch(&mut self, launch: &Launch) -> Result<(), RunError>;

    /// Waits until all launches have ended.
    fn wait(&mut self) -> Result<(), RunError>;

    /// By number of a table: the bits that the kernels noted of its range before it was scaled; see
    /// [`Range::from_bits`](scale::Range::from_bits). Also returns the sum of each reading. Waits
    /// until all launches have ended.
    fn results(&mut self) -> Result<(Vec<[u32; 2]>, Vec<f64>), RunError>;

    /// Enqueues a time mark.
    fn mark(&mut self) -> Result<(), RunError>;

    /// Removes all marks, and returns for each mark the time since the first mark.
    fn take_marks(&mut self) -> Result<Vec<Duration>, RunError>;

    /// The time of as many launches of an empty kernel as `plan` has launches, and of copying the
    /// results; `None` in the twin, and if the driver fails.
    fn empty_run(&mut self, plan: &Plan) -> Option<Duration>;
}

#[cfg(test)]
pub(super) mod tests;
