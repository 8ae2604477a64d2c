//! Batches of cases on the CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use super::join_tree::JoinTree;
use super::kernel::{CASES_PER_GROUP, PerCase};
use super::order::Order;
use super::plan::{Operation, Plan};
use super::state::{Buffers, GroupState};
use crate::allocate;
use crate::cancel::Cancelled;
use crate::engine::BatchAnswers;
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Posteriors, Watch};

// The following forecast times are in nanoseconds per case on one core. They are rough figures from
// the paper's eight networks, with both cores of a virtual machine at work, and need only be right
// within a factor of two. If one is wrong, engine `cpu` may propagate a batch in the slower of two
// ways that take about the same time.

/// Per entry of a message that a term reads.
const LOAD: f64 = 0.2;

/// As [`LOAD`], if the buffers of a group take more than [`MAX_CACHED_BYTES`].
const UNCACHED_LOAD: f64 = 0.45;

/// Maximum size of a group's buffers, in bytes, for them to fit into a fast cache.
const MAX_CACHED_BYTES: usize = 8 << 20;

/// Per message that is computed.
const OPERATION: f64 = 5.0;

/// Per state of a posterior.
const STATE: f64 = 3.0;

/// Propagates batches of cases of one network.
pub struct BatchRunner<T> {
    plan: Plan<T>,
    buffers: Buffers,
    /// One per thread.
    states: Vec<GroupState<T>>,
    /// By variable: the position of its first state among the states of all variables. One more
    /// position marks the end.
    offsets: Arc<[usize]>,
    /// See [`Network::ln_scale`](crate::network::Network::ln_scale).
    ln_scale: f64,
}

impl<T: Real> BatchRunner<T> {
    /// A runner with a state for each of `threads`, or with fewer states if not all fit into
    /// `bytes`. `None` if the network has no variable, if [`JoinTree::new`] returns `None`, if a
    /// constant of the plan is below the normal numbers of `T`, or if not even one state fits.
    pub fn new(compiled: &CompiledNetwork, threads: usize, bytes: u64) -> Option<Self> {
        let network = compiled.network();
        // The plan is made on a thread of its own. On this thread, the lists of configurations,
        // which only planning needs, would lie between the engine's tables: a batch of Munin4 in
        // single precision took 7 MB more.
        let plan = allocate::on_own_thread(|| {
            let tree = JoinTree::new(compiled, bytes)?;
            Some(Plan::<T>::new(tree, Order::DepthFirst))
        })?;
        // Constants must be normal numbers of `T`.
        let is_normal =
            |operation: &Operation| operation.smallest.log2() >= f64::from(T::LIMITS.normal);
        if plan.variables.is_empty() || !plan.operations.iter().all(is_normal) {
            return None;
        }
        let buffers = Buffers::new(&plan);
        let bytes_of_states = bytes.saturating_sub((plan.bytes() + buffers.bytes()) as u64);
        let max_threads = bytes_of_states / GroupState::bytes(&plan, &buffers) as u64;
        let threads = threads.min(usize::try_from(max_threads).unwrap_or(usize::MAX));
        let states: Vec<_> = (0..threads).map(|_| GroupState::new(&plan, &buffers)).collect();
        let offsets = Posteriors::offsets(network);
        let ln_scale = network.ln_scale();
        (threads > 0).then_some(Self { plan, buffers, states, offsets, ln_scale })
    }

    /// Bytes of the plan, of the assignment of buffers and of all states.
    fn bytes(&self) -> u64 {
        let state = GroupState::bytes(&self.plan, &self.buffers);
        (self.plan.bytes() + self.buffers.bytes() + self.states.len() * state) as u64
    }

    /// Maximum memory so far, in bytes: of all that the runner keeps, or while the plan was made.
    pub fn peak_bytes(&self) -> u64 {
        self.bytes().max(self.plan.max_bytes as u64)
    }

    /// The forecast time of one case on one thread, in nanoseconds.
    pub fn nanoseconds_per_case(&self) -> f64 {
        let loads: usize = self.plan.operations.iter().map(Operation::loads).sum();
        let bytes = self.buffers.entries() * size_of::<PerCase<T>>();
        let load = if bytes > MAX_CACHED_BYTES { UNCACHED_LOAD } else { LOAD };
        let states = self.offsets[self.offsets.len() - 1];
        loads as f64 * load + self.plan.operations.len() as f64 * OPERATION + states as f64 * STATE
    }

    /// Answers `cases`, in order; on `threads` if they are given. A case whose answer is
    /// `RunError::OutOfRange` may also be impossible: the runner cannot tell.
    ///
    /// # Errors
    /// If the batch was cancelled.
    pub fn run(
        &mut self,
        threads: Option<&ThreadPool>,
        cases: &[Evidence],
        watch: &Watch,
    ) -> Result<BatchAnswers, Cancelled> {
        let groups: Vec<&[Evidence]> = cases.chunks(CASES_PER_GROUP).collect();
        let next = AtomicUsize::new(0);
        let Self { plan, buffers, states, offsets, ln_scale } = self;
        let work = |state: &mut GroupState<T>| -> Result<Vec<(usize, BatchAnswers)>, Cancelled> {
            let mut answers = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(group) = groups.get(number) else { return Ok(answers) };
                state.enter(plan, buffers, group);
                for operation in &plan.operations {
                    watch.check()?;
                    state.compute(plan, buffers, operation);
                }
                answers.push((number, state.answers(plan, buffers, offsets, *ln_scale, group)));
            }
        };
        let states = &mut states[..];
        let found: Result<Vec<_>, Cancelled> = match threads {
            Some(threads) => {
                threads.install(|| states.par_iter_mut().with_max_len(1).map(work).collect())
            }
            None => states.iter_mut().take(1).map(work).collect(),
        };
        let mut answers: Vec<_> = found?.into_iter().flatten().collect();
        answers.sort_unstable_by_key(|&(number, _)| number);
        Ok(answers.into_iter().flat_map(|(_, answers)| answers).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::fixtures::{load_options, networks};
    use crate::engine::{RunError, by_name};
    use crate::potential::Precision;
    use crate::propagation::{CompileOptions, compile};

    /// A memory limit in bytes, above what any of the networks needs.
    const BYTES: u64 = 1 << 30;

    /// The answers of engine `sequential`, case by case.
    fn expected_answers(compiled: &Arc<CompiledNetwork>, cases: &[Evidence]) -> BatchAnswers {
        let options = load_options(Precision::F64);
        let mut propagator = by_name("sequential").unwrap().load(compiled, &options).unwrap();
        let watch = Watch::untimed(CancelToken::new());
        cases.iter().map(|case| propagator.run(case, &watch)).collect()
    }

    /// Asserts that a runner's answers are near the answers of engine `sequential`, that threads
    /// change no bit, and that a cancelled batch has no answers.
    fn assert_agrees_with_sequential<T: Real>(
        compiled: &Arc<CompiledNetwork>,
        cases: &[Evidence],
        tolerance: f64,
    ) {
        let Some(mut runner) = BatchRunner::<T>::new(compiled, 3, BYTES) else {
            // There is no runner without variables, or if the product of a clique's factors may
            // underflow.
            let network = compiled.network();
            assert!(network.variables().is_empty() || !network.is_bayesian());
            return;
        };
        let expected = expected_answers(compiled, cases);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let watch = Watch::untimed(CancelToken::new());
        for count in [0, 1, CASES_PER_GROUP, 5 * CASES_PER_GROUP + 1] {
            let batch: Vec<Evidence> = cases.iter().cycle().take(count).cloned().collect();
            let found = runner.run(Some(&threads), &batch, &watch).unwrap();
            assert_eq!(found.len(), count);
            for (found, expected) in found.iter().zip(expected.iter().cycle()) {
                let (Ok(found), Ok(expected)) = (found, expected) else {
                    // The runner cannot tell why a total is zero.
                    assert_eq!(found.as_ref().err(), Some(&RunError::OutOfRange));
                    assert_eq!(expected.as_ref().err(), Some(&RunError::Impossible));
                    continue;
                };
                let pairs = found.values().iter().zip(expected.values());
                // Also fails for NaN.
                assert!(pairs.clone().all(|(a, b)| (a - b).abs() <= tolerance));
                let (a, b) = (found.ln_p_evidence(), expected.ln_p_evidence());
                assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "ln P(e) {a}, {b}");
            }
            assert_eq!(runner.run(None, &batch, &watch), Ok(found), "threads change no bit");
        }
        watch.cancel();
        assert_eq!(runner.run(Some(&threads), cases, &watch), Err(Cancelled));
        assert_eq!(runner.run(None, cases, &watch), Err(Cancelled));
    }

    #[test]
    fn a_batch_has_the_answers_of_its_cases() {
        for (compiled, cases) in networks() {
            assert_agrees_with_sequential::<f64>(&compiled, &cases, 1e-11);
            assert_agrees_with_sequential::<f32>(&compiled, &cases, 1e-5);
        }
    }

    #[test]
    fn a_batch_of_a_markov_network_has_the_answers_of_its_cases() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/markov.uai");
        let network = crate::format::open(path).unwrap().network;
        assert!(!network.is_bayesian());
        let variable = network.ids().next().unwrap();
        let options = CompileOptions::default();
        let compiled = compile(Arc::clone(&network), &options, &CancelToken::new()).unwrap();
        let mut observed = Evidence::none();
        observed.observe(&network, variable, 1);
        let mut soft = Evidence::none();
        let weights: Vec<f64> = (0..network[variable].cardinality()).map(|s| s as f64).collect();
        soft.set_likelihood(&network, variable, weights).unwrap();
        let cases = [Evidence::none(), observed, soft];
        assert_agrees_with_sequential::<f64>(&Arc::new(compiled), &cases, 1e-11);
    }

    #[test]
    fn a_runner_stays_within_its_memory_limit() {
        // The fourth network is Alarm.
        let (compiled, _) = networks().swap_remove(3);
        let runner = BatchRunner::<f64>::new(&compiled, 8, BYTES).unwrap();
        let (all, plan) = (runner.bytes(), runner.plan.bytes() as u64);
        // A tree is refused if an upper bound on its bytes and those of its plan exceeds the limit.
        let entries = compiled.statistics().total_clique_entries;
        assert!(plan < super::super::join_tree::BYTES_PER_ENTRY * entries);
        assert!(BatchRunner::<f64>::new(&compiled, 8, plan).is_none());
        let fewer = BatchRunner::<f64>::new(&compiled, 800, BYTES / 64).unwrap();
        assert!(fewer.bytes() <= BYTES / 64 && fewer.states.len() < 800);
        assert!(all <= BYTES);
    }
}
