//! What the host does for each GPU during a batch.

use std::f64::consts::LN_2;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::buffers::Buffers;
use super::queue::{Queue, Step};
use super::{Executor, MAX_SETS};
use crate::engine::bounds::Loss;
use crate::engine::threads::Threads;
use crate::engine::{BatchAnswers, RunError};
use crate::network::{Evidence, Finding};
use crate::potential::Precision;
use crate::propagation::{Posteriors, Watch};

/// A batch while it is computed.
pub struct Batch<'a> {
    pub buffers: &'a Buffers,
    pub cases: &'a [Evidence],
    pub progress: Mutex<Progress>,
    /// The threads that pack evidence and read results.
    pub threads: &'a Threads,
    pub watch: &'a Watch,
}

/// The parts of a batch that wait or run, and the answers so far.
pub struct Progress {
    pub queue: Queue,
    /// The answers to parts of the batch, each with the number of the first case.
    pub parts: Vec<(usize, BatchAnswers)>,
    /// The error of the GPU that was the last to fail.
    pub failure: Option<RunError>,
}

impl Progress {
    pub fn new(queue: Queue) -> Self {
        Self { queue, parts: Vec::new(), failure: None }
    }
}

/// A GPU on which the network is loaded.
pub struct GpuState {
    pub executor: Box<dyn Executor>,
    /// What [`Buffers::pack`] returned for each case of each buffer set.
    exponents: [Vec<Option<i64>>; MAX_SETS],
}

impl GpuState {
    pub fn new(executor: Box<dyn Executor>) -> Self {
        Self { executor, exponents: Default::default() }
    }
}

impl Batch<'_> {
    /// The progress so far. A driver locks it for a moment only.
    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The progress after all drivers have returned.
    pub fn into_progress(self) -> Progress {
        self.progress.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out the steps of the GPU with this number until nothing is left for it to do, until
    /// it fails, or until the watch is cancelled.
    pub fn drive(&self, gpu: usize, state: &mut GpuState) {
        while self.watch.check().is_ok() {
            let Some(step) = self.progress().queue.next_step(gpu) else { break };
            let result = match step {
                Step::Start(set, cases) => self.start(state, set, &self.cases[cases]),
                Step::Read(set, cases) => self.read(state, set).map(|part| {
                    let mut progress = self.progress();
                    progress.queue.finish(gpu);
                    progress.parts.push((cases.start, part));
                }),
            };
            if let Err(failure) = result {
                let mut progress = self.progress();
                progress.queue.lose(gpu);
                progress.failure = Some(failure);
            }
        }
    }

    /// Packs `cases` into a buffer set and starts to propagate them.
    fn start(&self, gpu: &mut GpuState, set: usize, cases: &[Evidence]) -> Result<(), RunError> {
        let GpuState { executor, exponents } = gpu;
        let buffers = self.buffers;
        let exponents = &mut exponents[set];
        let is_likelihood = |(_, finding): (_, &Finding)| matches!(finding, Finding::Likelihood(_));
        let is_soft = self.threads.install(|| {
            let is_soft = cases.par_iter().any(|case| case.iter().any(is_likelihood));
            let words = buffers.packed_words(is_soft);
            let packed = executor.packed(set, words * cases.len()).par_chunks_mut(words);
            let pack = cases.par_iter().zip(packed);
            let pack = pack.map(|(case, words)| buffers.pack(case, is_soft, words));
            pack.collect_into_vec(exponents);
            is_soft
        });
        executor.start(buffers, set, cases.len(), is_soft)
    }

    /// Waits for the results of the cases that were started in a buffer set.
    fn read(&self, gpu: &mut GpuState, set: usize) -> Result<BatchAnswers, RunError> {
        let results = gpu.executor.results(set)?.par_chunks(self.buffers.result_words());
        let answers = results
            .zip(&gpu.exponents[set])
            .map(|(words, &exponent)| answer(self.buffers, words, exponent));
        Ok(self.threads.install(|| answers.collect()))
    }
}

/// Minimum sum of a variable's unnormalised posterior. With a smaller sum, its entries may have
/// lost digits in single precision.
const MIN_SUM: f64 = 1e-36;

/// The posteriors of a case, computed from the words of its result. `exponent`: what
/// [`Buffers::pack`] returned for the case.
///
/// # Errors
/// [`RunError::OutOfRange`] if underflow may have changed the answer, or if the evidence is
/// impossible: a P(e) of zero may be an underflow.
fn answer(buffers: &Buffers, words: &[f32], exponent: Option<i64>) -> Result<Posteriors, RunError> {
    let (states, last) = words.split_at(buffers.states());
    let &[power, added] = last else { unreachable!("two words after the posteriors") };
    let (exponent, added) = (exponent.ok_or(RunError::OutOfRange)?, f64::from(added));
    let mut loss = Loss::default();
    loss.add(added, 1.0);
    loss.check(Precision::F32)?;
    let mut values: Vec<f64> = states.iter().map(|&value| f64::from(value)).collect();
    let p_evidence: f64 = values[..buffers.offsets[1]].iter().sum();
    for range in buffers.offsets.windows(2) {
        let values = &mut values[range[0]..range[1]];
        let sum: f64 = values.iter().sum();
        if sum < MIN_SUM {
            return Err(RunError::OutOfRange);
        }
        let scale = 1.0 / sum;
        // What raising alone may have caused counts as zero.
        let normalised = |value: f64| if value > added { value } else { 0.0 };
        values.iter_mut().for_each(|value| *value = normalised(*value * scale));
    }
    let exponent = buffers.exponent + exponent + i64::from(power.to_bits() as i32);
    let ln = p_evidence.ln() + exponent as f64 * LN_2 + buffers.ln_scale;
    Ok(Posteriors::from_values(Arc::clone(&buffers.offsets), values, ln))
}
