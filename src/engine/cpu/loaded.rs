//! A network that was loaded, and its propagation.

use std::sync::Arc;

use rayon::ThreadPool;

use crate::cancel::Cancelled;
use crate::engine::batch::{Cases, LANES};
use crate::engine::cpu::batch;
use crate::engine::cpu::choice::Choice;
use crate::engine::cpu::part::Work;
use crate::engine::cpu::report::{Messages, Report};
use crate::engine::cpu::state::State;
use crate::engine::cpu::structure::Structure;
use crate::engine::cpu::support;
use crate::engine::cpu::tables::Sources;
use crate::engine::cpu::tree::Tree;
use crate::engine::threads::Threads;
use crate::engine::{BatchAnswers, PropagationFailure, Propagator, ask_again, one_at_a_time};
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Posteriors, Savings, Stage, Watch};

/// Cases of a batch of which propagating them alone is forecast.
const SAMPLES: usize = 4;

/// For making what propagates many cases, in nanoseconds for each entry of the cliques.
const MAKE_MANY: f64 = 50.0;

/// Entries of tables from which on a propagation is worth waking threads for.
pub(super) const WORTH_THREADS: usize = 150_000;

/// A compiled network with its tables in one precision.
pub(super) struct Loaded<T> {
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

/// What all propagations of a network look at and none changes.
pub(super) struct Shared<T> {
    compiled: Arc<CompiledNetwork>,
    structure: Structure,
    /// The whole tree.
    tree: Tree<T>,
    messages: Messages,
    /// Bytes that all may take together, half of them for the whole tree and one propagation there.
    bytes: u64,
}

/// What one propagation writes, and keeps for the next.
pub(super) struct Lane<T> {
    /// The messages in the whole tree.
    state: State,
    choice: Choice<T>,
    /// Nothing is kept of evidence before.
    is_fresh: bool,
}

/// What one propagation may use.
#[derive(Clone, Copy)]
pub(super) struct Means<'a> {
    pub threads: Option<&'a ThreadPool>,
    /// Bytes for the tree of what evidence leaves.
    pub bytes: usize,
    /// The share of what making a tree costs that is counted.
    pub making: f64,
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
        let tree = support::build(&structure, sources);
        let messages = Messages::new(&tree, &messages);
        let shared = Shared { compiled, structure, tree, messages, bytes };
        let lane = shared.lane();
        let held = shared.tree.bytes() + lane.state.bytes();
        debug_assert!(held as u64 <= bytes / 2, "a bound");
        let bytes_of_many = limit.saturating_sub(bytes);
        Self { shared, lanes: vec![lane], threads, many: None, of_many: None, bytes_of_many }
    }
}

impl<T: Real> Shared<T> {
    /// A lane more.
    pub fn lane(&self) -> Lane<T> {
        let choice = Choice::new(self.compiled.network());
        Lane { state: State::new(&self.tree), choice, is_fresh: true }
    }

    /// How many lanes fit into a quarter of the memory, of at most `wanted`.
    pub fn lanes(&self, wanted: usize) -> usize {
        let bytes = State::new(&self.tree).bytes().max(1);
        wanted.min(1 + (self.bytes / 4) as usize / bytes)
    }

    /// Bytes that each of `lanes` has for the tree of what evidence leaves.
    pub fn spare_bytes(&self, lanes: usize) -> usize {
        let share = if lanes == 1 { self.bytes / 2 } else { self.bytes / 4 };
        share as usize / lanes
    }

    /// Forecasts a propagation of `evidence`, in nanoseconds.
    fn forecast(
        &self,
        lane: &mut Lane<T>,
        evidence: &Evidence,
        means: Means<'_>,
        watch: &Watch,
    ) -> f64 {
        lane.forget();
        let network = self.compiled.network();
        let Lane { state, choice, .. } = lane;
        let whole = (&self.structure, &self.tree, &mut *state);
        let uses_kept = choice.prepare(network, whole, evidence, means, watch.cancel_token());
        let whole = (&self.structure, &self.tree, state);
        choice.forecast(network, whole, evidence, uses_kept, means.making)
    }

    /// Propagates `evidence` in `lane`.
    pub fn run(
        &self,
        lane: &mut Lane<T>,
        evidence: &Evidence,
        means: Means<'_>,
        watch: &Watch,
    ) -> Result<Posteriors, PropagationFailure> {
        let was_fresh = std::mem::replace(&mut lane.is_fresh, false);
        match self.run_with_kept(lane, evidence, means, watch) {
            // What was very unlikely before may be missing in what is kept.
            Err(PropagationFailure::Impossible) if !was_fresh => {
                lane.forget();
                self.run(lane, evidence, means, watch)
            }
            answer => answer,
        }
    }

    fn run_with_kept(
        &self,
        lane: &mut Lane<T>,
        evidence: &Evidence,
        means: Means<'_>,
        watch: &Watch,
    ) -> Result<Posteriors, PropagationFailure> {
        watch.check()?;
        let network = self.compiled.network();
        let Lane { state, choice, .. } = lane;
        let from = &mut watch.moment();
        let mut made = 0;
        let (tree, state, messages, constant) = watch.stage_from(Stage::Initialise, from, |_| {
            let whole = (&self.structure, &self.tree, &mut *state);
            let uses_kept = choice.prepare(network, whole, evidence, means, watch.cancel_token());
            made = choice.made;
            let chosen = match choice.kept().filter(|_| uses_kept) {
                Some((model, constant)) => (&model.tree, &mut model.state, None, constant),
                None => (&self.tree, state, Some(&self.messages), Some(0.0)),
            };
            chosen.1.enter(chosen.0, evidence);
            chosen
        });
        let constant = constant.ok_or(PropagationFailure::Impossible)?;
        let threads = means.threads.filter(|_| state.work() >= WORTH_THREADS);
        let work = Work {
            tree,
            report: Report { watch, messages },
            forks: threads.is_some(),
            is_support: false,
        };
        let mut propagate = || -> Result<f64, PropagationFailure> {
            watch.stage_from(Stage::Collect, from, |from| state.part().collect_all(&work, from))?;
            watch.stage_from(Stage::Distribute, from, |from| {
                state.part().distribute_all(&work, from)
            })?;
            state.ln_p_evidence(tree)
        };
        let ln_p_evidence = match threads {
            Some(threads) => threads.install(propagate),
            None => propagate(),
        }?;
        let made = messages.is_none().then_some(made);
        watch.note_savings(savings(&self.compiled, tree, state, made));
        watch.check()?;
        let is_certain = evidence.is_empty() && network.is_bayesian();
        let ln_p_evidence = if is_certain { 0.0 } else { constant + ln_p_evidence };
        Ok(watch.stage_from(Stage::Read, from, |_| {
            state.posteriors(network, tree, evidence, ln_p_evidence)
        }))
    }
}

impl<T: Real> Lane<T> {
    /// Forgets the messages that were passed before.
    pub fn forget_messages(&mut self) {
        self.state.forget();
        self.choice.forget_messages();
    }

    /// Forgets everything that was made for evidence before.
    pub fn forget(&mut self) {
        self.state.forget();
        self.choice.forget();
        self.is_fresh = true;
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
        let making = batch::making(cases);
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
    fn run(
        &mut self,
        evidence: &Evidence,
        watch: &Watch,
    ) -> Result<Posteriors, PropagationFailure> {
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
            return ask_again(answers, cases, watch, |case, watch| {
                self.forget();
                self.run(case, watch)
            });
        }
        let lanes = self.shared.lanes(self.threads().min(cases.len()));
        match &self.threads {
            Some(threads) if lanes > 1 => {
                self.lanes.resize_with(lanes, || self.shared.lane());
                threads.install(|| batch::run(&self.shared, &mut self.lanes, cases, watch))
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

/// What did not have to be done, in the whole tree or in one of what evidence leaves, for which so many
/// entries were `made`.
fn savings<T: Real>(
    compiled: &CompiledNetwork,
    tree: &Tree<T>,
    state: &State,
    made: Option<usize>,
) -> Savings {
    let all = compiled.statistics().total_clique_entries;
    let messages = compiled.plan().messages().len();
    let passed = state.passed();
    let entries: u64 = tree.nodes.iter().map(|node| node.entries() as u64).sum();
    let left_out = all.saturating_sub(entries);
    Savings {
        messages_skipped: messages.saturating_sub(passed),
        entries_sliced: if made.is_some() { left_out } else { 0 },
        entries_zero: if made.is_some() { 0 } else { left_out },
        entries_left: entries,
        entries_made: made.unwrap_or(0) as u64,
    }
}
