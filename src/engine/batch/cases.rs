//! Batches of cases on the CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use super::join_tree::JoinTree;
use super::kernel::{CASES_PER_GROUP, Numbers};
use super::order::Order;
use super::plan::{Operation, Plan};
use super::state::{Rooms, State};
use crate::cancel::Cancelled;
use crate::engine::BatchAnswers;
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Posteriors, Watch};

/// For an entry of a message that a term needs, in nanoseconds for a case, as all of these; rough
/// figures that need only tell a factor of two.
const LOAD: f64 = 0.06;
/// The same where messages take more than so many bytes, which no fast cache holds.
const FAR_LOAD: f64 = 0.12;
const FAR: usize = 8 << 20;
/// For a message.
const OPERATION: f64 = 5.0;
/// For a state of a posterior.
const STATE: f64 = 3.0;

/// What is needed to propagate many cases of one network.
pub struct BatchRunner<T> {
    plan: Plan<T>,
    rooms: Rooms,
    /// One for each thread.
    states: Vec<State<T>>,
    /// First state of each variable, and the end of the last.
    offsets: Arc<[usize]>,
    /// What the network took out of its factors.
    ln_scale: f64,
}

impl<T: Real> BatchRunner<T> {
    /// For up to `threads` threads, or as many as fit in so many bytes. `None` if there is no
    /// variable, if nothing is possible, or if there is no room.
    pub fn new(compiled: &CompiledNetwork, threads: usize, bytes: u64) -> Option<Self> {
        let network = compiled.network();
        let plan = Plan::new(&JoinTree::new(compiled, bytes)?, Order::DepthFirst);
        if plan.variables.is_empty() {
            return None;
        }
        let rooms = Rooms::new(&plan);
        let left = bytes.saturating_sub(plan.bytes() as u64);
        let fit = left / State::bytes(&plan, &rooms) as u64;
        let threads = threads.min(usize::try_from(fit).unwrap_or(usize::MAX));
        let states: Vec<_> = (0..threads).map(|_| State::new(&plan, &rooms)).collect();
        let offsets = Posteriors::offsets(network);
        let ln_scale = network.ln_scale();
        (threads > 0).then_some(Self { plan, rooms, states, offsets, ln_scale })
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> u64 {
        let of_state = State::bytes(&self.plan, &self.rooms);
        (self.plan.bytes() + self.states.len() * of_state) as u64
    }

    /// Forecasts what a case takes on one thread, in nanoseconds.
    pub fn nanoseconds(&self) -> f64 {
        let loads: usize = self.plan.operations.iter().map(Operation::loads).sum();
        let entries: usize = self.rooms.sizes.iter().sum();
        let of_load = if entries * size_of::<Numbers<T>>() > FAR { FAR_LOAD } else { LOAD };
        let states = self.offsets[self.offsets.len() - 1];
        loads as f64 * of_load
            + self.plan.operations.len() as f64 * OPERATION
            + states as f64 * STATE
    }

    /// Answers `cases`, with threads if there are to be several.
    pub fn run(
        &mut self,
        threads: Option<&ThreadPool>,
        cases: &[Evidence],
        watch: &Watch,
    ) -> Result<BatchAnswers, Cancelled> {
        let groups: Vec<&[Evidence]> = cases.chunks(CASES_PER_GROUP).collect();
        let next = AtomicUsize::new(0);
        let Self { plan, rooms, states, offsets, ln_scale } = self;
        let work = |state: &mut State<T>| -> Result<Vec<(usize, BatchAnswers)>, Cancelled> {
            let mut answers = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(group) = groups.get(number) else { return Ok(answers) };
                state.enter(plan, rooms, group);
                for operation in &plan.operations {
                    watch.check()?;
                    state.compute(plan, rooms, operation);
                }
                answers.push((number, state.answers(plan, rooms, offsets, *ln_scale, group)));
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
    use crate::engine::by_name;
    use crate::engine::fixtures::{load_options, networks};
    use crate::potential::Precision;
    use crate::propagation::{CompileOptions, compile};

    /// More than enough.
    const BYTES: u64 = 1 << 30;

    /// The answers of engine `sequential`, one after another.
    fn alone(compiled: &Arc<CompiledNetwork>, cases: &[Evidence]) -> BatchAnswers {
        let options = load_options(Precision::F64);
        let mut alone = by_name("sequential").unwrap().load(compiled, &options).unwrap();
        let watch = Watch::untimed(CancelToken::new());
        cases.iter().map(|case| alone.run(case, &watch)).collect()
    }

    fn check<T: Real>(compiled: &Arc<CompiledNetwork>, cases: &[Evidence], tolerance: f64) {
        let Some(mut lanes) = BatchRunner::<T>::new(compiled, 3, BYTES) else {
            assert!(compiled.network().variables().is_empty());
            return;
        };
        let expected = alone(compiled, cases);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let watch = Watch::untimed(CancelToken::new());
        for count in [0, 1, CASES_PER_GROUP, 5 * CASES_PER_GROUP + 1] {
            let many: Vec<Evidence> = cases.iter().cycle().take(count).cloned().collect();
            let found = lanes.run(Some(&threads), &many, &watch).unwrap();
            assert_eq!(found.len(), count);
            for (found, expected) in found.iter().zip(expected.iter().cycle()) {
                let (Ok(found), Ok(expected)) = (found, expected) else {
                    assert_eq!(found.as_ref().err(), expected.as_ref().err());
                    continue;
                };
                let pairs = found.values().iter().zip(expected.values());
                // Written so that what is not a number fails.
                assert!(pairs.clone().all(|(a, b)| (a - b).abs() <= tolerance));
                let (a, b) = (found.ln_p_evidence(), expected.ln_p_evidence());
                assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "ln P(e) {a}, {b}");
            }
            assert_eq!(lanes.run(None, &many, &watch), Ok(found), "threads change no bit");
        }
        watch.cancel();
        assert_eq!(lanes.run(Some(&threads), cases, &watch), Err(Cancelled));
        assert_eq!(lanes.run(None, cases, &watch), Err(Cancelled));
    }

    #[test]
    fn cases_in_lanes_are_answered_as_each_alone() {
        for (compiled, cases) in networks() {
            check::<f64>(&compiled, &cases, 1e-11);
            check::<f32>(&compiled, &cases, 1e-5);
        }
    }

    #[test]
    fn cases_of_a_markov_network_are_answered_too() {
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
        check::<f64>(&Arc::new(compiled), &[Evidence::none(), observed, soft], 1e-11);
    }

    #[test]
    fn what_does_not_fit_is_not_made() {
        let (compiled, _) = networks().swap_remove(3);
        let lanes = BatchRunner::<f64>::new(&compiled, 8, BYTES).unwrap();
        let (all, plan) = (lanes.bytes(), lanes.plan.bytes() as u64);
        // The tree is refused by a bound that is above what a plan of it takes.
        let entries = compiled.statistics().total_clique_entries;
        assert!(plan < super::super::join_tree::OF_ENTRY * entries);
        assert!(BatchRunner::<f64>::new(&compiled, 8, plan).is_none());
        let fewer = BatchRunner::<f64>::new(&compiled, 800, BYTES / 64).unwrap();
        assert!(fewer.bytes() <= BYTES / 64 && fewer.states.len() < 800);
        assert!(all <= BYTES);
    }
}
