//! One propagation: from evidence to posteriors.

use std::sync::Arc;

use rayon::ThreadPool;

use crate::engine::RunError;
use crate::engine::cpu::context::{ExecutionContext, MIN_PARALLEL_ENTRIES, pays_in_pool};
use crate::engine::cpu::helpers::worker;
use crate::engine::cpu::pass::report::{Messages, Report};
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::pass::traversal::PassContext;
use crate::engine::cpu::reuse::strategy::{Choice, FullTree, Strategy, StrategyChooser};
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tree::nodes::Tree;
use crate::engine::cpu::tree::structure::Structure;
use crate::engine::threads::Awake;
use crate::lowering::{Optimisation, Optimisations};
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{
    Activity, CompiledNetwork, Posteriors, Savings, Stage, Watch, WorkerClock,
};

/// The data that all propagations of a network read and none writes.
pub struct Shared<T> {
    pub compiled: Arc<CompiledNetwork>,
    /// The structure of the full tree.
    pub structure: Structure,
    pub full_tree: FilledTree<T>,
    /// The messages of the plan, by the cliques of the full tree.
    pub messages: Messages,
    /// The memory for reduced trees and for the messages of further threads, in bytes.
    pub spare_bytes: u64,
    pub optimisations: Optimisations,
}

/// What a sequence of propagations writes: messages and a cached reduced tree. Each propagation
/// reuses what the one before it left here. In a parallel batch, each thread has a state of its
/// own; the threads of a single propagation share one state.
pub struct ThreadState<T> {
    /// The messages in the full tree.
    pub full_tree_state: State,
    chooser: StrategyChooser<T>,
}

impl<T: Real> Shared<T> {
    /// The state of a thread that has not propagated anything.
    pub fn thread_state(&self) -> ThreadState<T> {
        let chooser = StrategyChooser::new(self.compiled.network());
        let full_tree_state = State::new(&self.full_tree.tree);
        ThreadState { full_tree_state, chooser }
    }

    /// The number of threads for a batch, at most `wanted`. The full-tree messages of all threads
    /// but the first must fit into half of the spare memory.
    pub fn thread_count(&self, wanted: usize) -> usize {
        let bytes = State::new(&self.full_tree.tree).bytes().max(1);
        wanted.min(1 + (self.spare_bytes / 2) as usize / bytes)
    }

    /// The memory that each of `threads` threads may use for a reduced tree, in bytes.
    pub fn reduced_tree_bytes(&self, threads: usize) -> usize {
        let share = if threads == 1 { self.spare_bytes } else { self.spare_bytes / 2 };
        share as usize / threads
    }

    /// The forecast time of a propagation of `evidence` from scratch, in nanoseconds. Forgets what
    /// earlier propagations left in `thread_state`, and builds the reduced tree if it would be
    /// used.
    pub fn forecast(
        &self,
        thread_state: &mut ThreadState<T>,
        evidence: &Evidence,
        context: ExecutionContext<'_>,
        watch: &Watch,
    ) -> f64 {
        thread_state.forget();
        let network = self.compiled.network();
        let ThreadState { full_tree_state: state, chooser } = thread_state;
        let mut full = FullTree { structure: &self.structure, filled: &self.full_tree, state };
        let best = chooser.find_best(network, &mut full, evidence, self.optimisations);
        let cancel = watch.cancel_token();
        let choice = chooser.choose(network, &self.structure, best, context, cancel);
        let strategy = chooser.prepare(network, evidence, choice, context);
        chooser.forecast(network, &mut full, evidence, strategy, context)
    }

    /// Propagates `evidence`, reusing what earlier propagations left in `thread_state`.
    ///
    /// # Errors
    /// If the evidence is impossible, if numbers are out of range, or if the propagation was
    /// cancelled.
    pub fn propagate(
        &self,
        thread_state: &mut ThreadState<T>,
        evidence: &Evidence,
        context: ExecutionContext<'_>,
        watch: &Watch,
    ) -> Result<Posteriors, RunError> {
        watch.check()?;
        if !self.optimisations.has(Optimisation::KeptMessages) {
            thread_state.forget();
        }
        let network = self.compiled.network();
        let from = watch.worker_clock();
        let ThreadState { full_tree_state: state, chooser } = &mut *thread_state;
        let mut full = FullTree { structure: &self.structure, filled: &self.full_tree, state };
        let best = chooser.find_best(network, &mut full, evidence, self.optimisations);
        let (structure, cancel) = (&self.structure, watch.cancel_token());
        let with_threads = |threads| ExecutionContext { threads, ..context };
        let pool_for = |cost| context.threads.filter(|threads| pays_in_pool(cost, threads));
        // If the propagation is expected to be long, the search for a tree is done in the pool too,
        // because the other threads wake meanwhile.
        let is_expected_short = pool_for(chooser.expected_cost(best.0)).is_none();
        let choose = |chooser: &mut StrategyChooser<T>, threads| {
            chooser.choose(network, structure, best, with_threads(threads), cancel)
        };
        let choice = is_expected_short.then(|| choose(chooser, None));
        let threads = choice.as_ref().map_or(context.threads, |choice| pool_for(choice.cost));
        watch.check()?;
        let finish = || {
            let choice = choice.unwrap_or_else(|| choose(&mut thread_state.chooser, threads));
            let context = with_threads(threads);
            self.propagate_chosen(thread_state, evidence, choice, context, (watch, from))
        };
        let Some(threads) = threads else { return finish() };
        let asked = watch.worker_clock();
        threads.install(|| {
            watch.note_activity(Activity::Start, worker(), asked);
            let _awake = self.keep_awake(threads);
            finish()
        })
    }

    /// Keeps `threads` awake, unless this optimisation is switched off.
    fn keep_awake(&self, threads: &ThreadPool) -> Option<Awake> {
        self.optimisations.has(Optimisation::AwakeThreads).then(|| Awake::new(threads))
    }

    /// As [`propagate`](Self::propagate), where `choice` is what
    /// [`choose`](StrategyChooser::choose) has just returned. The propagation began at `from`. If
    /// `context` has threads, one of them must make the call.
    fn propagate_chosen(
        &self,
        thread_state: &mut ThreadState<T>,
        evidence: &Evidence,
        choice: Choice,
        context: ExecutionContext<'_>,
        (watch, mut from): (&Watch, WorkerClock),
    ) -> Result<Posteriors, RunError> {
        let network = self.compiled.network();
        let ThreadState { full_tree_state, chooser } = thread_state;
        let from = &mut from;
        let mut made_entries = 0;
        let (filled, state, messages, ln_constant) =
            watch.stage_with_clock(Stage::Initialise, from, |_| {
                let strategy = chooser.prepare(network, evidence, choice, context);
                made_entries = chooser.made_entries;
                let cached = chooser.cached().filter(|_| strategy != Strategy::FullTree);
                let (filled, state, messages, ln_constant) = match cached {
                    Some(cached) => (&cached.filled, &mut cached.state, None, cached.ln_constant),
                    None => (&self.full_tree, full_tree_state, Some(&self.messages), Some(0.0)),
                };
                state.enter(&filled.tree, evidence);
                (filled, state, messages, ln_constant)
            });
        let ln_constant = ln_constant.ok_or(RunError::Impossible)?;
        let forks = context.threads.is_some() && state.work() >= MIN_PARALLEL_ENTRIES;
        // Since the preparation began, threads may have gone to sleep.
        let _awake = context.threads.filter(|_| forks).and_then(|threads| self.keep_awake(threads));
        let report = Report { watch, messages };
        let pass = PassContext { filled, report, forks };
        let is_full_tree = messages.is_some();
        watch.stage_with_clock(Stage::Collect, from, |from| {
            state.whole().collect_all(&pass, from)
        })?;
        watch.stage_with_clock(Stage::Distribute, from, |from| {
            state.whole().distribute_all(&pass, from)
        })?;
        let loss = state.loss();
        loss.check(T::PRECISION)?;
        let ln_p_evidence = state.ln_p_evidence(filled)?;
        let made_entries = (!is_full_tree).then_some(made_entries);
        if let Some(messages) = messages {
            watch.note_processed(|| messages.processed(&state.cliques));
        }
        watch.note_savings(savings(&self.compiled, &filled.tree, state, made_entries));
        watch.check()?;
        let is_certain = evidence.is_empty() && network.is_bayesian();
        let ln_p_evidence = if is_certain { 0.0 } else { ln_constant + ln_p_evidence };
        let posteriors = watch.stage_with_clock(Stage::Read, from, |_| {
            state.posteriors(network, &filled.tree, evidence, ln_p_evidence, forks)
        });
        if !loss.is_none() {
            // What underflow took from messages does not matter given this evidence, but it may
            // given the next. So these messages are not kept.
            state.forget();
        }
        Ok(posteriors)
    }
}

impl<T: Real> ThreadState<T> {
    /// Forgets all messages, but not the cached reduced tree.
    pub fn forget_messages(&mut self) {
        self.full_tree_state.forget();
        self.chooser.forget_messages();
    }

    /// Maximum memory of reduced trees so far, in bytes.
    pub fn reduced_tree_peak(&self) -> usize {
        self.chooser.peak_bytes
    }

    /// Forgets everything about earlier evidence, including the cached reduced tree.
    pub fn forget(&mut self) {
        self.full_tree_state.forget();
        self.chooser.forget();
    }
}

/// The work that a propagation saved, compared with all messages through full tables.
/// `made_entries` is the number of table entries that were made for a reduced tree; `None` if the
/// full tree was used.
fn savings(
    compiled: &CompiledNetwork,
    tree: &Tree,
    state: &State,
    made_entries: Option<usize>,
) -> Savings {
    let all = compiled.statistics().total_clique_entries;
    let messages = compiled.plan().messages().len();
    let passed = state.passed();
    let entries = tree.entries() as u64;
    let left_out = all.saturating_sub(entries);
    Savings {
        messages_skipped: messages.saturating_sub(passed),
        entries_sliced: if made_entries.is_some() { left_out } else { 0 },
        entries_zero: if made_entries.is_some() { 0 } else { left_out },
        entries_used: entries,
        entries_rebuilt: made_entries.unwrap_or(0) as u64,
    }
}
