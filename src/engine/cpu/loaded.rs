//! A network that was loaded, and its propagation.

use std::sync::Arc;

use rayon::ThreadPool;

use crate::cancel::Cancelled;
use crate::engine::batch::{Cases, LANES};
use crate::engine::cpu::context::Means;
use crate::engine::cpu::parallel_cases;
use crate::engine::cpu::pass::report::Messages;
use crate::engine::cpu::tables::make::Sources;
use crate::engine::cpu::tables::sparsity;
use crate::engine::cpu::tree::structure::Structure;
use crate::engine::cpu::worker::{Lane, Shared};
use crate::engine::threads::Threads;
use crate::engine::{BatchAnswers, Propagator, RunError, one_at_a_time, rerun_impossible};
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Posteriors, Watch};

/// Cases of a batch of which propagating them alone is forecast.
const SAMPLES: usize = 4;

/// For making what propagates many cases, in nanoseconds for each entry of the cliques.
const MAKE_MANY: f64 = 50.0;

/// A compiled network with its tables in one precision.
pub struct Loaded<T> {
    shared: Shared<T>,
    /// One to propagate in, and more once there were cases for several threads at once.
    lanes: Vec<Lane<T>>,
    /// Several threads, if there are to be several.
    threads: Option<Threads>,
    /// What propagates many cases, where it was made and pays.
    many: Option<Cases<T>>,
    /// What that is forecast to take for a case, in nanoseconds, once it was made; infinite if it
    /// cannot be.
    of_many: Option<f64>,
    /// Bytes that it may take.
    bytes_of_many: u64,
}

impl<T: Real> Loaded<T> {
    /// Makes the tables of `compiled`, which was forecast to take `bytes` of at most `limit`.
    ///
    /// A machine that gives no `threads` is worked on with one.
    pub fn new(compiled: Arc<CompiledNetwork>, threads: usize, bytes: u64, limit: u64) -> Self {
        let (shape, messages) = super::shape(&compiled);
        let network = compiled.network();
        let nothing = vec![None; network.variables().len()];
        let structure = Structure::new(network, shape, None);
        let threads = (threads > 1).then(|| Threads::new(threads)).flatten();
        let sources = Sources { network, observed: &nothing, threads: threads.as_deref() };
        let tree = sparsity::build(&structure, sources);
        let messages = Messages::new(&tree, &messages);
        let shared = Shared { compiled, structure, tree, messages, bytes };
        let lane = shared.lane();
        let held = shared.tree.bytes() + lane.state.bytes();
        debug_assert!(held as u64 <= bytes / 2, "a bound");
        let bytes_of_many = limit.saturating_sub(bytes);
        Self { shared, lanes: vec![lane], threads, many: None, of_many: None, bytes_of_many }
    }
}

impl<T: Real> Loaded<T> {
    /// Whether the lanes of [`many`](Self::many), which are made if need be, are forecast to answer
    /// `cases` sooner than one propagation after another. It depends on the cases alone, so that the
    /// answers are the same to the last bit whenever they are asked for.
    fn is_for_many(&mut self, cases: &[Evidence], watch: &Watch) -> bool {
        if cases.len() < 2 * LANES {
            return false;
        }
        let making = parallel_cases::making(cases);
        let means = Means { threads: None, bytes: self.shared.spare_bytes(1), making };
        let samples = cases.iter().step_by(cases.len().div_ceil(SAMPLES));
        let of_sample = |case| self.shared.forecast(&mut self.lanes[0], case, means, watch);
        let forecasts: Vec<f64> = samples.map(of_sample).collect();
        let alone = forecasts.iter().sum::<f64>() / forecasts.len() as f64;
        let is_sooner = |of_many: f64| {
            let filled = cases.len() as f64 / cases.len().next_multiple_of(LANES) as f64;
            of_many < alone * filled
        };
        if self.many.is_none() && self.of_many.is_none_or(is_sooner) {
            let entries = self.shared.compiled.statistics().total_clique_entries;
            if entries as f64 * MAKE_MANY > alone * cases.len() as f64 {
                return false;
            }
            let threads = self.threads();
            self.many = Cases::new(&self.shared.compiled, threads, self.bytes_of_many);
            self.of_many = Some(self.many.as_ref().map_or(f64::INFINITY, Cases::nanoseconds));
        }
        if !self.of_many.is_some_and(is_sooner) {
            self.many = None;
        }
        self.many.is_some()
    }
}

impl<T: Real> Propagator for Loaded<T> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        let bytes = self.shared.spare_bytes(1);
        self.lanes.truncate(1);
        let means = Means { threads: self.threads.as_deref(), bytes, making: 1.0 };
        self.shared.run(&mut self.lanes[0], evidence, means, watch)
    }

    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        watch.check()?;
        if self.is_for_many(cases, watch)
            && let Some(many) = &mut self.many
        {
            let answers = many.run(self.threads.as_deref(), cases, watch)?;
            return rerun_impossible(answers, cases, watch, |case, watch| {
                self.forget();
                self.run(case, watch)
            });
        }
        let lanes = self.shared.lanes(self.threads().min(cases.len()));
        match &self.threads {
            Some(threads) if lanes > 1 => {
                self.lanes.resize_with(lanes, || self.shared.lane());
                threads.install(|| parallel_cases::run(&self.shared, &mut self.lanes, cases, watch))
            }
            _ => one_at_a_time(cases, watch, |case, watch| self.run(case, watch)),
        }
    }

    fn forget(&mut self) {
        self.lanes.iter_mut().for_each(Lane::forget);
    }

    fn peak_bytes(&self) -> u64 {
        self.shared.bytes + self.many.as_ref().map_or(0, Cases::bytes)
    }

    fn threads(&self) -> usize {
        self.threads.as_deref().map_or(1, ThreadPool::current_num_threads)
    }
}
