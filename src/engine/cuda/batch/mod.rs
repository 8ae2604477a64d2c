//! Batches of cases on the GPU, by the plan of [`engine::batch`](crate::engine::batch). Each thread
//! of the GPU computes a few cases.
//!
//! A large batch is divided among all GPUs of the machine ([`queue`]). Each of them has a copy of
//! the plan and buffers of its own, and a thread of the host that drives it ([`driver`]). While the
//! GPUs compute some cases, the host reads the results of earlier cases and packs the evidence of
//! the next cases. [`work_items`], [`steps`] and [`buffers`] hold what the kernels read, and
//! [`gpu`] launches the kernels. In tests, [`twin`] does the same as the kernels on the CPU.
//!
//! # Underflow
//!
//! A product of single precision may underflow: numbers below 2^-126 lose digits or become zero,
//! which is an error of at most 2^-150. A *row* is a sum of terms and gives one entry of a message.
//! The kernel *raises* each row that multiplies entries of messages: it adds at least what the row
//! can have lost. Each multiplication loses at most 2^-150. Later multiplications enlarge this
//! loss by at most the largest numbers that they multiply by. These are known, because the kernel
//! scales the messages that it multiplies. All numbers are non-negative, so no entry of any message
//! is too small, nor is P(e), apart from rounding. Rows of constants alone have no products; a
//! network in which one of these constants is too small for single precision has no batches here.
//!
//! An amount that raising adds to an entry of a message increases P(e) by at most the amount times
//! the entry of the message in the other direction over the same edge. The other message is not too
//! small either, and the kernel knows its largest entry. For each message, the kernel multiplies
//! what was added to the message by the largest entry of the other one. The sum of these products
//! over all messages bounds what was added to P(e). It also bounds what was added to the
//! unnormalised posterior of each variable, of which P(e) is the sum. Normalising can double the
//! error. So if twice the sum exceeds the [tolerance](crate::engine::bounds::tolerance) times P(e),
//! the case is out of range.
//!
//! How improbable the evidence is does not matter. What matters is how far its parts contradict
//! each other: by how much the largest entries of the two messages of an edge, multiplied, exceed
//! P(e).

mod buffers;
mod driver;
mod gpu;
mod queue;
mod steps;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;
mod work_items;

use std::sync::{Mutex, PoisonError};

use rayon::ThreadPool;
use rayon::prelude::*;

use self::buffers::{Buffers, GROUP};
use self::driver::{Batch, GpuState, Progress};
use self::gpu::Gpu;
use self::queue::Queue;
use super::device::{device, device_count, numbered_device};
use crate::allocate::{KeepFreedMemory, thread_pool};
use crate::cancel::Cancelled;
use crate::engine::batch::{JoinTree, Kind, Operation, Order, Plan};
use crate::engine::threads::Threads;
use crate::engine::{BatchAnswers, RunError};
use crate::network::Evidence;
use crate::propagation::{CompiledNetwork, Watch};

/// Maximum number of buffer sets of a GPU, each for the evidence, messages and results of one part
/// of a batch. While a kernel of one part ends, and while the host reads the results of another,
/// the others keep the GPU busy. With two sets, an H200 computed 0.88 times as many cases per
/// second for Munin3, and 0.98 times as many for Barley.
const MAX_SETS: usize = 4;

/// Parts of a batch are not made smaller than this to give every buffer set one: starting the
/// kernels of small parts takes longer than running them. The capacity of a set may force smaller
/// parts, and the last part may be smaller. This affects only speed.
const MIN_PART: usize = 512;

/// Maximum number of threads that pack evidence and read results, for each of several GPUs. With
/// more threads than cores, the drivers wait for a core, which delays everything else: for Munin3,
/// four H200 in a machine with 64 cores computed three times as many cases per second with 8
/// threads for each GPU as with 16. This affects only speed.
const THREADS_PER_GPU: usize = 8;

/// Why a batch fails if no GPU is left, and none has reported a failure.
const NO_GPU: &str = "no GPU is left";

/// Runs a batch plan on the GPU, or in tests on the CPU twin.
trait Executor: Send {
    /// Number of buffer sets, at most [`MAX_SETS`].
    fn sets(&self) -> usize;

    /// Maximum number of cases in a buffer set.
    fn capacity(&self) -> usize;

    /// Memory in use on the GPU, in bytes.
    fn bytes(&self) -> u64;

    /// The first `words` words of packed evidence of a buffer set, to be written case after case.
    /// Waits until no launch reads them any more.
    fn packed(&mut self, set: usize, words: usize) -> &mut [u32];

    /// Starts to propagate the first `cases` cases of a buffer set; [`Executor::results`] waits for
    /// the results. `is_soft`: whether the evidence was packed as weights, see [`Buffers::pack`].
    fn start(
        &mut self,
        buffers: &Buffers,
        set: usize,
        cases: usize,
        is_soft: bool,
    ) -> Result<(), RunError>;

    /// Waits for the results of a buffer set and returns them, case after case.
    fn results(&mut self, set: usize) -> Result<&[f32], RunError>;
}

/// Propagates batches of cases of one network on all GPUs of the machine.
pub(super) struct BatchPropagator {
    buffers: Buffers,
    /// The GPUs in use.
    gpus: Vec<GpuState>,
    /// Maximum memory on each of the other GPUs, in bytes, until the network is loaded there;
    /// `None` afterwards, or if there are no other GPUs.
    further: Option<u64>,
    /// The error of the GPU that was the last to fail.
    failure: Option<RunError>,
    /// If there are several GPUs: the drivers, one thread for each GPU on which the network was
    /// loaded. A driver launches the kernels of its GPU, and waits for it and for `threads`.
    drivers: Option<ThreadPool>,
    /// The threads that pack evidence and read results.
    threads: Threads,
    /// For the results, which take gigabytes.
    _keep: KeepFreedMemory,
}

impl BatchPropagator {
    /// Loads the network on the first GPU. The plan on the host and all GPUs together take at most
    /// `bytes`, without the pinned memory for evidence and results. `None` if the network has no
    /// plan (see [`buffers()`]), if there is no memory for the threads, or if the GPU has too
    /// little memory or fails.
    pub fn load(compiled: &CompiledNetwork, threads: usize, bytes: u64) -> Option<Self> {
        let count = device_count().max(1);
        let threads = match count {
            1 => threads.max(1),
            // Some of the threads are drivers.
            _ => threads.saturating_sub(count).clamp(1, THREADS_PER_GPU * count),
        };
        let threads = Threads::new(threads)?;
        let mut buffers = buffers(compiled, bytes)?;
        let bytes = bytes.checked_sub(buffers.host_bytes as u64)? / count as u64;
        let gpu = Gpu::load(device().ok()?, &buffers, bytes).ok()??;
        let further = (count > 1).then_some(bytes);
        if further.is_none() {
            buffers.drop_lists();
        }
        Some(Self::new(buffers, vec![Box::new(gpu)], further, threads))
    }

    fn new(
        buffers: Buffers,
        executors: Vec<Box<dyn Executor>>,
        further: Option<u64>,
        threads: Threads,
    ) -> Self {
        let _keep = KeepFreedMemory::new();
        let (gpus, failure, drivers) = (Vec::new(), None, None);
        let mut propagator = Self { buffers, gpus, further, failure, drivers, threads, _keep };
        propagator.add_gpus(executors);
        propagator
    }

    /// Adds GPUs, and starts a driver for each if there are several. If there is no memory for
    /// these threads, only the first GPU is used.
    fn add_gpus(&mut self, executors: Vec<Box<dyn Executor>>) {
        self.gpus.extend(executors.into_iter().map(GpuState::new));
        let count = self.gpus.len();
        self.drivers = (count > 1).then(|| thread_pool(count)).flatten();
        if self.drivers.is_none() {
            self.gpus.truncate(1);
        }
    }

    /// Memory in use on all GPUs, in bytes.
    pub fn device_bytes(&self) -> u64 {
        self.gpus.iter().map(|gpu| gpu.executor.bytes()).sum()
    }

    /// Maximum memory on the host so far, in bytes: of the plan while it was made, and of the
    /// evidence and results of all buffer sets.
    pub fn host_bytes(&self) -> u64 {
        let cases = |gpu: &GpuState| gpu.executor.sets() * gpu.executor.capacity();
        let cases: usize = self.gpus.iter().map(cases).sum();
        (self.buffers.host_bytes + cases * self.buffers.set_bytes()) as u64
    }

    /// Number of GPUs in use.
    pub fn gpus(&self) -> usize {
        self.gpus.len()
    }

    /// Propagates each of `cases`.
    ///
    /// # Errors
    /// Only if `watch` was cancelled. If a case fails, its answer is the error. The cases of a GPU
    /// that fails are computed by the others. If no GPU is left, the answers to all remaining cases
    /// are the last failure.
    pub fn run(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        if cases.len() > self.sets() * self.capacity() {
            self.load_further_gpus();
        }
        let (count, sets) = (self.gpus.len(), self.sets());
        let part = part_size(cases.len(), self.capacity(), count * sets);
        let progress = Progress::new(Queue::new(cases.len(), part, count, sets));
        let Self { buffers, gpus, drivers, threads, .. } = self;
        let batch = Batch { buffers, cases, progress: Mutex::new(progress), threads, watch };
        let states: Vec<Mutex<&mut GpuState>> = gpus.iter_mut().map(Mutex::new).collect();
        let drive = |gpu: usize| {
            if let Some(state) = states.get(gpu) {
                batch.drive(gpu, &mut state.lock().unwrap_or_else(PoisonError::into_inner));
            }
        };
        // Repeated if a GPU failed after the others had finished.
        while watch.check().is_ok() && batch.progress().queue.can_continue() {
            match drivers {
                // While a driver waits for `threads`, rayon may let it carry out other work of its
                // pool, but nothing that was broadcast to another thread.
                Some(drivers) => drop(drivers.broadcast(|context| drive(context.index()))),
                None => drive(0),
            }
        }
        let Progress { queue, mut parts, failure } = batch.into_progress();
        let mut number = 0..count;
        gpus.retain(|_| number.next().is_some_and(|gpu| !queue.is_lost(gpu)));
        self.failure = failure.or(self.failure.take());
        watch.check()?;
        let failure = || self.failure.clone().unwrap_or(RunError::Device(NO_GPU.to_owned()));
        parts.extend(queue.rest().map(|range| (range.start, vec![Err(failure()); range.len()])));
        parts.sort_unstable_by_key(|(start, _)| *start);
        Ok(parts.into_iter().flat_map(|(_, part)| part).collect())
    }

    /// Number of buffer sets that each GPU in use has.
    fn sets(&self) -> usize {
        self.gpus.iter().map(|gpu| gpu.executor.sets()).min().unwrap_or(1)
    }

    /// Number of cases that a buffer set of each GPU in use can hold.
    fn capacity(&self) -> usize {
        self.gpus.iter().map(|gpu| gpu.executor.capacity()).min().unwrap_or(1)
    }

    /// Loads the network on all GPUs but the first. GPUs on which this fails are not used.
    fn load_further_gpus(&mut self) {
        let Some(bytes) = self.further.take() else { return };
        let buffers = &self.buffers;
        let load = |number: usize| {
            let gpu = Gpu::load(numbered_device(number).ok()?, buffers, bytes).ok()??;
            Some(Box::new(gpu) as Box<dyn Executor>)
        };
        let load = || (1..device_count()).into_par_iter().filter_map(load).collect();
        let executors: Vec<_> = self.threads.install(load);
        self.buffers.drop_lists();
        self.add_gpus(executors);
    }
}

/// Maximum number of cases of a part of a batch. The batch is divided evenly among the `sets`
/// buffer sets of all GPUs. A part has at least [`MIN_PART`] cases, is rounded up to whole groups,
/// and has at most the capacity of a set.
fn part_size(cases: usize, capacity: usize, sets: usize) -> usize {
    let part = cases.div_ceil(sets.max(1)).max(MIN_PART).next_multiple_of(GROUP);
    part.clamp(1, capacity)
}

/// The plan of a network in the form that the kernels read. `None` if [`JoinTree::new`] returns
/// `None`, for example because `bytes` are too few, if the network has no variables, if a row of
/// constants alone has a constant that is too small for single precision, or if there are too many
/// steps for 32-bit numbers.
fn buffers(compiled: &CompiledNetwork, bytes: u64) -> Option<Buffers> {
    let plan = Plan::new(JoinTree::new(compiled, bytes)?, Order::Levels);
    let is_tiny = |operation: &Operation| {
        operation.kind == Kind::Constant && operation.smallest < f64::from(f32::MIN_POSITIVE)
    };
    let is_supported = !plan.variables.is_empty() && !plan.operations.iter().any(is_tiny);
    let buffers = is_supported.then(|| Buffers::new(compiled.network(), plan))?;
    (buffers.steps.len() <= u32::MAX as usize).then_some(buffers)
}
