//! The form of engine `gpu` with tables: a whole propagation in one launch of a persistent kernel.
//!
//! Preparing a network: [`operations`] writes a propagation as sums of products that depend on one
//! another, and [`shortcuts`] shortens the critical path through these operations. [`tables`]
//! computes the potentials that the operations read. Each entry of the result of an operation is a
//! row: [`sparsity`] finds the rows that must be computed, and [`work_items`] cuts the operations
//! into work items. Many rows read the same [`parts`] of factors, so what depends only on a part is
//! computed once for all of them.
//! [`schedule`] divides the work items among the blocks, guided by their estimated [`costs`]. The
//! tables, the sparsity and the work items are computed on the threads of rayon, with the same
//! result for any number of threads. [`memory`] forecasts and counts the memory.
//!
//! Propagating: [`state_layout`] packs evidence, [`gpu`] launches the kernel, and [`propagator`]
//! reads the results in the format of [`words`]. If P(e) leaves open whether underflow has changed
//! an answer, [`interval`] decides it. In tests, [`twin`] does the same as the kernel on the CPU.
//! Batches of many cases go to [`cuda::batch`](super::batch).
//!
//! All of this is the same for both semirings. Operations and shortcuts rely only on two laws:
//! products distribute over sums, and adding zero changes nothing. Only the kernels and their twin
//! differ.

mod costs;
mod gpu;
mod interval;
mod memory;
mod operations;
mod parts;
mod propagator;
mod schedule;
mod shortcuts;
mod sparsity;
mod state_layout;
mod tables;
#[cfg(test)]
mod twin;
mod vertices;
mod words;
mod work_items;

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use self::gpu::{Gpu, Kernels};
use self::interval::Unnormalised;
use self::memory::Memory;
use self::operations::Operations;
use self::propagator::PersistentPropagator;
use self::state_layout::StateLayout;
use self::words::Results;
use self::work_items::WorkItems;
use super::device::Device;
use super::semiring::Semiring;
use crate::allocate::{self, shared_pool};
use crate::engine::cpu::Supports;
use crate::engine::factors::smallest_nonzero;
use crate::engine::{LoadOptions, Propagator, RunError, too_many_entries};
use crate::network::Network;
use crate::propagation::{CompiledNetwork, Form, FormForecast};
use cudarc::driver::DriverError;

/// Maximum number of blocks of a launch. Each block has a list of work items, so this bounds the
/// memory that the forecast counts for lists. An H200 runs 792 blocks at once.
const MAX_BLOCKS: usize = 4096;

/// Forecast time of loading in nanoseconds per table entry, on two cores: a rough figure, measured
/// on the paper's eight networks and also on Munin1 and Link. Like the next two constants, it
/// decides between the engine's two forms; if it is wrong, the slower form may be taken.
const LOAD_ENTRY_NS: f64 = 20.0;

/// Forecast time of a propagation in nanoseconds per table entry, on an H200.
const TABLE_ENTRY_NS: f64 = 0.005;

/// Forecast time of a propagation in nanoseconds, on an H200, apart from the time per table entry.
const RUN_NS: f64 = 20_000.0;

/// The operations of a network that this form supports.
pub(super) struct Prepared {
    operations: Operations,
    semiring: Semiring,
}

impl Prepared {
    /// The operations of `compiled`.
    ///
    /// # Errors
    /// If this form does not support the network: the reason, worded so that a message can put it
    /// after "but".
    pub fn new(compiled: &CompiledNetwork, semiring: Semiring) -> Result<Self, String> {
        match unsupported(compiled) {
            Some(reason) => Err(reason),
            None => Ok(Self { operations: operations(compiled), semiring }),
        }
    }

    /// The forecast of this form.
    pub fn forecast(&self, compiled: &CompiledNetwork) -> FormForecast {
        let entries = compiled.statistics().total_clique_entries as f64;
        let memory = Memory::forecast(compiled, &self.operations);
        FormForecast {
            form: Form::Tables,
            bytes: memory.peak.saturating_add(compiled.structure_bytes(0)),
            device_bytes: memory.device,
            load_ns: LOAD_ENTRY_NS * entries,
            run_ns: RUN_NS + TABLE_ENTRY_NS * entries,
        }
    }

    /// Loads the network onto the GPU; `None` if it has too many message entries, states or words
    /// of records, see [`WorkItems::new`].
    ///
    /// # Errors
    /// If the driver reports an error, for example because memory is short.
    pub fn load(
        self,
        compiled: &Arc<CompiledNetwork>,
        device: &'static Device,
        options: &LoadOptions,
    ) -> Result<Option<Box<dyn Propagator>>, DriverError> {
        let pool = shared_pool().unwrap_or_else(|| allocate::fail());
        let Self { operations, semiring } = self;
        let (kernels, program) = pool.install(|| {
            let program = || Program::new(compiled, operations, semiring);
            rayon::join(|| Kernels::load(device, semiring), program)
        });
        let Some((mut program, exponent)) = program else { return Ok(None) };
        let (memory, executor) = pool.install(|| {
            let memory = Memory::of(compiled.network(), &program);
            Ok::<_, DriverError>((memory, Gpu::load(device, kernels?, &mut program)?))
        })?;
        let compiled = Arc::clone(compiled);
        let propagator =
            PersistentPropagator::new(compiled, program, exponent, executor, memory, *options);
        Ok(Some(Box::new(propagator)))
    }
}

/// What all propagations of one network have in common.
struct Program {
    states: StateLayout,
    operations: Operations,
    items: WorkItems,
    /// Whether a nonzero entry of some table may have become zero when its factors were multiplied.
    has_tiny_entries: bool,
    semiring: Semiring,
}

/// Why this form does not support a network, however much memory there is; `None` if it does. A
/// clique may have more entries than a record can number, a variable may have more states than the
/// staging buffer holds, or an entry of a message may be outside the range of a [`words::Word`].
/// Only networks with very many factors or cliques leave this range.
fn unsupported(compiled: &CompiledNetwork) -> Option<String> {
    let largest = compiled.statistics().max_clique_entries;
    if let Some(reason) = too_many_entries("clique", largest, work_items::NO_SOURCE) {
        return Some(reason);
    }
    let network = compiled.network();
    let limit = work_items::STAGING;
    if let Some(variable) = network.variables().iter().find(|v| v.cardinality() > limit) {
        let (name, states) = (variable.name(), variable.cardinality());
        return Some(format!("variable {name} has {states} states; the limit is {limit}"));
    }
    // An upper bound on the binary logarithm of the largest sum.
    let largest_sum: f64 =
        compiled.tree().cliques().iter().map(|clique| 1.0 + (clique.entries as f64).log2()).sum();
    let power = largest_sum.max(smallest_power(network));
    (power >= words::MAX_POWER).then(|| {
        let limit = words::MAX_POWER;
        format!(
            "numbers in its messages can be as large as 2^{power:.0} or as small as 2^-{power:.0}; \
             the limits are 2^{limit} and 2^-{limit}"
        )
    })
}

/// Without evidence, no message entry other than zero is below two to the power of minus this.
fn smallest_power(network: &Network) -> f64 {
    network.factors().map(|factor| -smallest_nonzero(factor.values()).log2()).sum()
}

/// The operations of a network, which must not be [`unsupported`].
fn operations(compiled: &CompiledNetwork) -> Operations {
    let row_fits =
        |entries: usize, factors: &[usize]| work_items::row_fits(entries, factors.iter().copied());
    Operations::new(compiled, &row_fits)
}

impl Program {
    /// The program of a network, and the exponent of the power of two to multiply P(e) by, to undo
    /// the scaling of potentials. `None` if there are too many message entries, states or words of
    /// records, see [`WorkItems::new`].
    fn new(
        compiled: &CompiledNetwork,
        operations: Operations,
        semiring: Semiring,
    ) -> Option<(Self, i64)> {
        let network = compiled.network();
        let fill = || tables::fill(network, &operations.potentials);
        let ((tables, exponent), supports) =
            rayon::join(fill, || Supports::find(compiled, None, true));
        let has_tiny_entries = tables.iter().any(|table| table.has_tiny_entries);
        let items = WorkItems::new(network, &operations, &tables, &supports)?;
        let states = StateLayout::new(compiled);
        Some((Self { states, operations, items, has_tiny_entries, semiring }, exponent))
    }
}

/// The times of a work item, in nanoseconds of the GPU's clock, and the block that computed it.
#[derive(Clone, Copy, Debug, Default)]
struct Timestamps {
    /// When the block began the work item.
    began: u64,
    /// When the block had copied all inputs to shared memory; equal to `began` if the evidence
    /// excludes a state that all rows have in common.
    ready: u64,
    /// When the block completed the work item.
    end: u64,
    block: u32,
}

/// What a launch computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// Propagates.
    Plain,
    /// Propagates and takes timestamps, which is slower.
    Timestamped,
    /// Propagates and raises every sum; see [`interval`].
    Raised,
    /// Only writes the word of P(e), for which the host waits.
    Empty,
}

/// Runs the schedule of a program on the GPU, or in tests on the CPU twin.
trait Executor: Send {
    /// A lock that must be held from the start of a run until its results have arrived; `None` if
    /// runs of different executors may overlap.
    fn lock(&self) -> Option<MutexGuard<'static, ()>> {
        None
    }

    /// The words of packed evidence for the next run. Write them before [`Executor::start`] if
    /// there is evidence.
    fn evidence(&mut self) -> &mut [u32];

    /// Starts a run, which must not be [`Variant::Empty`]. Its results may arrive after this
    /// returns.
    fn start(
        &mut self,
        program: &Program,
        has_evidence: bool,
        variant: Variant,
    ) -> Result<(), RunError>;

    /// Makes a raised run with the evidence of the last run, and waits for it. Returns what the
    /// last and the raised run computed. All results of the last run must have been read.
    fn raise(
        &mut self,
        program: &Program,
        has_evidence: bool,
    ) -> Result<[Unnormalised<'_>; 2], RunError>;

    /// The results of the last run: the posteriors of all variables and P(e).
    fn results(&self) -> Results<'_>;

    /// Call this once all results of the last run have been read.
    fn finish_reading(&mut self);

    /// The numbers of the reports in the order in which the reports are expected to arrive.
    fn report_order(&self) -> &[usize];

    /// Whether the last run has not ended yet, so that missing results may still arrive.
    fn is_running(&self) -> Result<bool, RunError>;

    /// The times of all work items of the last run that was [`Variant::Timestamped`].
    fn timestamps(&mut self, program: &Program) -> Result<Vec<Timestamps>, RunError>;

    /// Number of blocks of a launch.
    fn blocks(&self) -> usize;

    /// The median time of `repeat` runs with an empty kernel; `None` in the twin, and if the driver
    /// fails.
    fn empty_run(&mut self, repeat: u32) -> Option<Duration>;

    /// The times of the kernel without and with timestamps, each the median of `repeat` runs;
    /// `None` in the twin, and if the driver fails.
    fn kernel_times(&mut self, repeat: u32) -> Option<[Duration; 2]>;
}

#[cfg(test)]
mod explain;
#[cfg(test)]
pub(super) mod tests;
