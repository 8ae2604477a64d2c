//! One propagation.

use std::sync::Arc;

use crate::engine::RunError;
use crate::engine::cpu::context::{Means, WORTH_THREADS};
use crate::engine::cpu::pass::report::{Messages, Report};
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::pass::subtree::Work;
use crate::engine::cpu::reuse::strategy::Choice;
use crate::engine::cpu::tree::nodes::Tree;
use crate::engine::cpu::tree::structure::Structure;
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Posteriors, Savings, Stage, Watch};

/// What all propagations of a network look at and none changes.
pub struct Shared<T> {
    pub compiled: Arc<CompiledNetwork>,
    pub structure: Structure,
    /// The whole tree.
    pub tree: Tree<T>,
    pub messages: Messages,
    /// Bytes that all may take together, half of them for the whole tree and one propagation there.
    pub bytes: u64,
}

/// What one propagation writes, and keeps for the next.
pub struct Lane<T> {
    /// The messages in the whole tree.
    pub state: State,
    pub choice: Choice<T>,
    /// Nothing is kept of evidence before.
    pub is_fresh: bool,
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
    pub fn forecast(
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
    ) -> Result<Posteriors, RunError> {
        let was_fresh = std::mem::replace(&mut lane.is_fresh, false);
        match self.run_with_kept(lane, evidence, means, watch) {
            // What was very unlikely before may be missing in what is kept.
            Err(RunError::Impossible) if !was_fresh => {
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
    ) -> Result<Posteriors, RunError> {
        watch.check()?;
        let network = self.compiled.network();
        let Lane { state, choice, .. } = lane;
        let from = &mut watch.worker_clock();
        let mut made = 0;
        let (tree, state, messages, constant) =
            watch.stage_with_clock(Stage::Initialise, from, |_| {
                let whole = (&self.structure, &self.tree, &mut *state);
                let uses_kept =
                    choice.prepare(network, whole, evidence, means, watch.cancel_token());
                made = choice.made;
                let chosen = match choice.kept().filter(|_| uses_kept) {
                    Some((model, constant)) => (&model.tree, &mut model.state, None, constant),
                    None => (&self.tree, state, Some(&self.messages), Some(0.0)),
                };
                chosen.1.enter(chosen.0, evidence);
                chosen
            });
        let constant = constant.ok_or(RunError::Impossible)?;
        let threads = means.threads.filter(|_| state.work() >= WORTH_THREADS);
        let work = Work {
            tree,
            report: Report { watch, messages },
            forks: threads.is_some(),
            is_support: false,
        };
        let mut propagate = || -> Result<f64, RunError> {
            watch.stage_with_clock(Stage::Collect, from, |from| {
                state.part().collect_all(&work, from)
            })?;
            watch.stage_with_clock(Stage::Distribute, from, |from| {
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
        Ok(watch.stage_with_clock(Stage::Read, from, |_| {
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
        entries_used: entries,
        entries_rebuilt: made.unwrap_or(0) as u64,
    }
}
