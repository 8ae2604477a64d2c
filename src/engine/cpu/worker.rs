//! One propagation: from evidence to posteriors.

use std::sync::Arc;

use crate::engine::RunError;
use crate::engine::cpu::context::{ExecutionContext, MIN_PARALLEL_ENTRIES};
use crate::engine::cpu::pass::report::{Messages, Report};
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::pass::subtree::PassContext;
use crate::engine::cpu::reuse::strategy::{FullTree, Strategy, StrategyChooser};
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tree::nodes::Tree;
use crate::engine::cpu::tree::structure::Structure;
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Posteriors, Savings, Stage, Watch};

/// The data that all propagations of a network share. They only read it.
pub struct Shared<T> {
    pub compiled: Arc<CompiledNetwork>,
    /// The structure of the full tree.
    pub structure: Structure,
    pub full_tree: FilledTree<T>,
    /// The messages of the plan, by the cliques of the full tree.
    pub messages: Messages,
    /// The forecast memory of the engine, in bytes. Half of it is for the full tree and one
    /// propagation through that tree.
    pub bytes: u64,
}

/// The data that one propagation writes, and keeps for the next propagation on the same thread.
pub struct Worker<T> {
    /// The messages in the full tree.
    pub state: State,
    chooser: StrategyChooser<T>,
    /// Whether nothing is kept from earlier evidence, so that the next propagation computes
    /// everything.
    is_fresh: bool,
}

impl<T: Real> Shared<T> {
    /// A new worker.
    pub fn worker(&self) -> Worker<T> {
        let chooser = StrategyChooser::new(self.compiled.network());
        Worker { state: State::new(&self.full_tree.tree), chooser, is_fresh: true }
    }

    /// The number of workers for a batch: at most `wanted`, at least one. All but the first must
    /// fit into a quarter of the forecast memory.
    pub fn worker_count(&self, wanted: usize) -> usize {
        let bytes = State::new(&self.full_tree.tree).bytes().max(1);
        wanted.min(1 + (self.bytes / 4) as usize / bytes)
    }

    /// The memory that each of `workers` may use for a reduced tree, in bytes.
    pub fn reduced_tree_bytes(&self, workers: usize) -> usize {
        let share = if workers == 1 { self.bytes / 2 } else { self.bytes / 4 };
        share as usize / workers
    }

    /// The forecast time of a propagation of `evidence`, in nanoseconds.
    pub fn forecast(
        &self,
        worker: &mut Worker<T>,
        evidence: &Evidence,
        context: ExecutionContext<'_>,
        watch: &Watch,
    ) -> f64 {
        worker.forget();
        let network = self.compiled.network();
        let Worker { state, chooser, .. } = worker;
        let mut full = FullTree { structure: &self.structure, filled: &self.full_tree, state };
        let strategy = chooser.prepare(network, &mut full, evidence, context, watch.cancel_token());
        chooser.forecast(network, &mut full, evidence, strategy, context.build_share)
    }

    /// Propagates `evidence`.
    ///
    /// # Errors
    /// If the evidence is impossible or the propagation was cancelled.
    pub fn run(
        &self,
        worker: &mut Worker<T>,
        evidence: &Evidence,
        context: ExecutionContext<'_>,
        watch: &Watch,
    ) -> Result<Posteriors, RunError> {
        let was_fresh = std::mem::replace(&mut worker.is_fresh, false);
        match self.run_with_cached(worker, evidence, context, watch) {
            // The evidence may be possible all the same: a state that was very unlikely given
            // earlier evidence may have underflowed to zero in the messages that were kept. Only a
            // propagation from scratch can tell.
            Err(RunError::Impossible) if !was_fresh => {
                worker.forget();
                self.run(worker, evidence, context, watch)
            }
            answer => answer,
        }
    }

    /// Propagates `evidence`, reusing what earlier propagations kept.
    fn run_with_cached(
        &self,
        worker: &mut Worker<T>,
        evidence: &Evidence,
        context: ExecutionContext<'_>,
        watch: &Watch,
    ) -> Result<Posteriors, RunError> {
        watch.check()?;
        let network = self.compiled.network();
        let Worker { state, chooser, .. } = worker;
        let from = &mut watch.worker_clock();
        let mut made_entries = 0;
        let (filled, state, messages, ln_constant) =
            watch.stage_with_clock(Stage::Initialise, from, |_| {
                let filled = &self.full_tree;
                let mut full = FullTree { structure: &self.structure, filled, state: &mut *state };
                let cancel = watch.cancel_token();
                let strategy = chooser.prepare(network, &mut full, evidence, context, cancel);
                made_entries = chooser.made_entries;
                let cached = chooser.cached().filter(|_| strategy != Strategy::FullTree);
                let chosen = match cached {
                    Some(cached) => (&cached.filled, &mut cached.state, None, cached.ln_constant),
                    None => (filled, state, Some(&self.messages), Some(0.0)),
                };
                chosen.1.enter(&chosen.0.tree, evidence);
                chosen
            });
        let ln_constant = ln_constant.ok_or(RunError::Impossible)?;
        let threads = context.threads.filter(|_| state.work() >= MIN_PARALLEL_ENTRIES);
        let report = Report { watch, messages };
        let pass = PassContext { filled, report, forks: threads.is_some(), is_boolean: false };
        let mut propagate = || -> Result<f64, RunError> {
            watch.stage_with_clock(Stage::Collect, from, |from| {
                state.whole().collect_all(&pass, from)
            })?;
            watch.stage_with_clock(Stage::Distribute, from, |from| {
                state.whole().distribute_all(&pass, from)
            })?;
            state.ln_p_evidence(filled)
        };
        let ln_p_evidence = match threads {
            Some(threads) => threads.install(propagate),
            None => propagate(),
        }?;
        let made_entries = messages.is_none().then_some(made_entries);
        watch.note_savings(savings(&self.compiled, &filled.tree, state, made_entries));
        watch.check()?;
        let is_certain = evidence.is_empty() && network.is_bayesian();
        let ln_p_evidence = if is_certain { 0.0 } else { ln_constant + ln_p_evidence };
        Ok(watch.stage_with_clock(Stage::Read, from, |_| {
            state.posteriors(network, &filled.tree, evidence, ln_p_evidence)
        }))
    }
}

impl<T: Real> Worker<T> {
    /// Forgets all messages, but not the cached reduced tree.
    pub fn forget_messages(&mut self) {
        self.state.forget();
        self.chooser.forget_messages();
    }

    /// Forgets everything about earlier evidence.
    pub fn forget(&mut self) {
        self.state.forget();
        self.chooser.forget();
        self.is_fresh = true;
    }
}

/// The work that a propagation saved. `made_entries` is the number of table entries that were made
/// for a reduced tree; `None` if the full tree was used.
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
