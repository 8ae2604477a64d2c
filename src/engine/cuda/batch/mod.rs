//! Batches of cases on the GPU, by the plan of [`engine::batch`](crate::engine::batch). Each thread
//! of the GPU computes a few cases.
//!
//! While the GPU computes some cases, the threads of the host read the results of the previous
//! cases and pack the evidence of the next cases. [`buffers`] computes what the kernels read, and
//! [`gpu`] launches the kernels. In tests, [`twin`] does the same as the kernels on the CPU.

mod buffers;
mod gpu;
#[cfg(test)]
mod twin;

use std::f64::consts::LN_2;
use std::sync::Arc;

use rayon::prelude::*;

use self::buffers::Buffers;
use self::gpu::Gpu;
use super::device::device;
use crate::cancel::Cancelled;
use crate::engine::batch::{JoinTree, Order, Plan};
use crate::engine::threads::Threads;
use crate::engine::{BatchAnswers, RunError};
use crate::network::{Evidence, Finding};
use crate::propagation::{CompiledNetwork, Posteriors, Watch};

/// The number of buffer sets, each for the evidence and results of one launch. With two, the host
/// and the GPU work at the same time.
const BUFFER_SETS: usize = 2;

/// Runs a batch plan on the GPU, or in tests on the CPU twin.
trait Executor: Send {
    /// Maximum number of cases in a buffer set.
    fn capacity(&self) -> usize;

    /// Memory in use on the GPU, in bytes.
    fn bytes(&self) -> u64;

    /// The first `words` words of packed evidence of a buffer set, to be written case after case.
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

/// Propagates batches of cases of one network.
pub(super) struct BatchPropagator {
    buffers: Buffers,
    executor: Box<dyn Executor>,
    /// The threads that pack evidence and read results; `None` if they could not be created.
    threads: Option<Threads>,
}

impl BatchPropagator {
    /// Loads the network on the GPU. Allocates at most `bytes` on the GPU; the plan also takes at
    /// most `bytes` on the host. `None` if the network has no plan (see [`buffers()`]), or if the
    /// GPU has too little memory or fails.
    pub fn load(compiled: &CompiledNetwork, threads: usize, bytes: u64) -> Option<Self> {
        let buffers = buffers(compiled, bytes)?;
        let gpu = Gpu::load(device().ok()?, &buffers, bytes).ok()??;
        Some(Self::new(buffers, Box::new(gpu), threads))
    }

    fn new(buffers: Buffers, executor: Box<dyn Executor>, threads: usize) -> Self {
        let threads = Threads::new(threads.max(1));
        Self { buffers, executor, threads }
    }

    /// Memory in use on the GPU, in bytes.
    pub fn bytes(&self) -> u64 {
        self.executor.bytes()
    }

    /// Propagates each of `cases`.
    ///
    /// # Errors
    /// Only if `watch` was cancelled. If a case fails, its answer is the error. If a launch
    /// fails, its error is the answer to all remaining cases.
    pub fn run(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        let mut answers = Vec::with_capacity(cases.len());
        // The cases of each launch.
        let launches: Vec<&[Evidence]> = cases.chunks(self.executor.capacity()).collect();
        let mut exponents: [Vec<i64>; BUFFER_SETS] = Default::default();
        for next in 0..=launches.len() {
            watch.check()?;
            let mut started = Ok(());
            if let Some(cases) = launches.get(next) {
                started = self.start(next % BUFFER_SETS, cases, &mut exponents[next % BUFFER_SETS]);
            }
            if let Some(previous) = next.checked_sub(1) {
                let set = previous % BUFFER_SETS;
                answers.extend(self.answers(set, launches[previous], &exponents[set]));
            }
            if let Err(failure) = started {
                answers.resize(cases.len(), Err(failure));
                break;
            }
        }
        Ok(answers)
    }

    /// Packs `cases` into a buffer set and starts to propagate them. Sets `exponents` to what
    /// [`Buffers::pack`] returns for each case.
    fn start(
        &mut self,
        set: usize,
        cases: &[Evidence],
        exponents: &mut Vec<i64>,
    ) -> Result<(), RunError> {
        let (buffers, executor) = (&self.buffers, &mut self.executor);
        let is_likelihood = |(_, finding): (_, &Finding)| matches!(finding, Finding::Likelihood(_));
        let mut pack = || {
            let is_soft = cases.par_iter().any(|case| case.iter().any(is_likelihood));
            let words = buffers.packed_words(is_soft);
            let packed = executor.packed(set, words * cases.len()).par_chunks_mut(words);
            let pack = cases.par_iter().zip(packed);
            let pack = pack.map(|(case, words)| buffers.pack(case, is_soft, words));
            pack.collect_into_vec(exponents);
            is_soft
        };
        let is_soft = match &self.threads {
            Some(threads) => threads.install(pack),
            None => pack(),
        };
        self.executor.start(buffers, set, cases.len(), is_soft)
    }

    /// Waits for the results of `cases`, which were started in a buffer set.
    fn answers(&mut self, set: usize, cases: &[Evidence], exponents: &[i64]) -> BatchAnswers {
        let buffers = &self.buffers;
        let results = match self.executor.results(set) {
            Ok(results) => results,
            Err(failure) => return vec![Err(failure); cases.len()],
        };
        let read = || {
            let results = results.par_chunks(buffers.result_words());
            results
                .zip(exponents)
                .map(|(words, &exponent)| answer(buffers, words, exponent))
                .collect()
        };
        match &self.threads {
            Some(threads) => threads.install(read),
            None => read(),
        }
    }
}

/// The plan of a network in the form that the kernels read. `None` if [`JoinTree::new`] returns
/// `None`, for example because `bytes` are too few, or if the network has no variables.
fn buffers(compiled: &CompiledNetwork, bytes: u64) -> Option<Buffers> {
    let plan = Plan::new(&JoinTree::new(compiled, bytes)?, Order::Levels);
    (!plan.variables.is_empty()).then(|| Buffers::new(compiled.network(), plan))
}

/// The posteriors of a case, computed from the words of its result. `exponent`: what
/// [`Buffers::pack`] returned for the case.
///
/// # Errors
/// [`RunError::Impossible`] if the numbers of a variable sum to less than the smallest normal
/// `f32`.
fn answer(buffers: &Buffers, words: &[f32], exponent: i64) -> Result<Posteriors, RunError> {
    let (states, power) = words.split_at(buffers.states());
    let mut values: Vec<f64> = states.iter().map(|&value| f64::from(value)).collect();
    let p_evidence: f64 = values[..buffers.offsets[1]].iter().sum();
    for range in buffers.offsets.windows(2) {
        let values = &mut values[range[0]..range[1]];
        let sum: f64 = values.iter().sum();
        if sum < f64::from(f32::MIN_POSITIVE) {
            return Err(RunError::Impossible);
        }
        let scale = 1.0 / sum;
        values.iter_mut().for_each(|value| *value *= scale);
    }
    let exponent = buffers.exponent + exponent + i64::from(power[0].to_bits() as i32);
    let ln = p_evidence.ln() + exponent as f64 * LN_2 + buffers.ln_scale;
    Ok(Posteriors::from_values(Arc::clone(&buffers.offsets), values, ln))
}

#[cfg(test)]
mod tests {
    use super::twin::Twin;
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::by_name;
    use crate::engine::cuda::device::tests::has_gpu;
    use crate::engine::cuda::fixtures::{assert_near, load_options, networks};
    use crate::potential::Precision;

    /// Enough cases for several groups and both buffer sets; the last group is not full.
    const MANY: usize = 85;

    fn twin(compiled: &CompiledNetwork) -> Option<BatchPropagator> {
        let buffers = buffers(compiled, 1 << 30)?;
        let twin = Twin::new(&buffers, 64);
        Some(BatchPropagator::new(buffers, Box::new(twin), 2))
    }

    #[test]
    fn the_twin_agrees_with_single_runs_of_the_sequential_engine() {
        for (compiled, cases) in networks() {
            let Some(mut twin) = twin(&compiled) else {
                assert!(compiled.network().variables().is_empty());
                continue;
            };
            let options = load_options(Precision::F64);
            let mut single = by_name("sequential").unwrap().load(&compiled, &options).unwrap();
            let watch = Watch::untimed(CancelToken::new());
            let expected: Vec<_> = cases.iter().map(|case| single.run(case, &watch)).collect();
            let many: Vec<Evidence> = cases.iter().cycle().take(MANY).cloned().collect();
            let found = twin.run(&many, &watch).unwrap();
            assert_eq!(found.len(), MANY);
            found.iter().zip(expected.iter().cycle()).for_each(|(a, b)| assert_near(a, b));
            // A single case, without and with likelihoods.
            for which in [0, 2] {
                let found = twin.run(&cases[which..=which], &watch).unwrap();
                assert_near(&found[0], &expected[which]);
            }
            assert_eq!(twin.run(&[], &watch), Ok(Vec::new()));
            watch.cancel();
            assert_eq!(twin.run(&many, &watch), Err(Cancelled));
        }
    }

    #[test]
    fn the_gpu_agrees_with_the_twin() {
        if !has_gpu("batch: the_gpu_agrees_with_the_twin") {
            return;
        }
        for (compiled, cases) in networks() {
            let Some(mut twin) = twin(&compiled) else { continue };
            let mut gpu = BatchPropagator::load(&compiled, 2, 1 << 32).unwrap();
            let watch = Watch::untimed(CancelToken::new());
            for count in [1, 33, 5000] {
                let many: Vec<Evidence> = cases.iter().cycle().take(count).cloned().collect();
                let found = gpu.run(&many, &watch).unwrap();
                assert_eq!(found.len(), count);
                let expected = twin.run(&many[..count.min(MANY)], &watch).unwrap();
                expected.iter().zip(&found).for_each(|(b, a)| assert_near(a, b));
                // The answer to a case does not depend on the position of the case in the batch.
                let period = cases.len();
                assert!(found.iter().zip(found.iter().skip(period)).all(|(a, b)| a == b));
                assert_eq!(gpu.run(&many, &watch), Ok(found), "two runs are bit-equal");
            }
        }
    }
}
