//! A network that was loaded, and its propagation.

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::engine::cpu::choice::{self, Choice};
use crate::engine::cpu::part::Work;
use crate::engine::cpu::report::Report;
use crate::engine::cpu::state::{Model, State};
use crate::engine::cpu::support;
use crate::engine::cpu::tree::{Structure, Tree};
use crate::engine::{PropagationFailure, Propagator};
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, MessageId, Posteriors, Savings, Stage, Watch};

/// Entries of tables from which on a propagation is worth waking threads for.
const WORTH_THREADS: usize = 150_000;

/// A compiled network with its tables in one precision.
pub(super) struct Loaded<T> {
    compiled: Arc<CompiledNetwork>,
    structure: Structure,
    whole: Model<T>,
    choice: Choice<T>,
    /// For each clique but the root the messages to its parent and from there.
    messages: Vec<Option<(MessageId, MessageId)>>,
    /// Several threads, if there are to be several.
    threads: Option<ThreadPool>,
    bytes: u64,
}

impl<T: Real> Loaded<T> {
    /// Makes the tables of `compiled`, which was forecast to take `bytes`.
    ///
    /// A machine that gives no `threads` is worked on with one.
    pub fn new(compiled: Arc<CompiledNetwork>, threads: usize, bytes: u64) -> Self {
        let (shape, messages) = super::shape(&compiled);
        let network = compiled.network();
        let nothing = vec![None; network.variables().len()];
        let structure = Structure::new(network, shape);
        let mut whole = Model::new(structure.build(network, &nothing));
        support::compact(&mut whole);
        debug_assert!((whole.tree.bytes() + whole.state.bytes()) as u64 <= bytes / 2, "a bound");
        let choice = Choice::new(network);
        let threads = (threads > 1)
            .then(|| ThreadPoolBuilder::new().num_threads(threads).build().ok())
            .flatten();
        Self { structure, whole, choice, messages, threads, bytes, compiled }
    }
}

impl<T: Real> Propagator for Loaded<T> {
    fn run(
        &mut self,
        evidence: &Evidence,
        watch: &Watch,
    ) -> Result<Posteriors, PropagationFailure> {
        watch.check()?;
        let network = Arc::clone(self.compiled.network());
        let (whole, choice) = (&mut self.whole, &mut self.choice);
        let (model, ids, constant) = watch.stage(Stage::Initialise, || {
            let cost = || choice::whole(&self.structure, &whole.tree, evidence);
            let spare = (self.bytes / 2) as usize;
            choice.prepare(&network, evidence, cost, spare, watch.cancel_token());
            let chosen = match choice.model() {
                Some((model, constant)) => (model, &[][..], constant),
                None => (whole, &*self.messages, Some(0.0)),
            };
            chosen.0.state.enter(&chosen.0.tree, evidence);
            chosen
        });
        let constant = constant.ok_or(PropagationFailure::Impossible)?;
        let threads = self.threads.as_ref().filter(|_| model.tree.nodes[0].work >= WORTH_THREADS);
        let Model { tree, state } = model;
        let work = Work { tree, report: Report { watch, ids }, forks: threads.is_some() };
        let mut propagate = || -> Result<f64, PropagationFailure> {
            watch.stage(Stage::Collect, || state.part().collect(&work, None))?;
            watch.stage(Stage::Distribute, || state.part().distribute(&work, None))?;
            state.ln_p_evidence(tree)
        };
        let ln_p_evidence = match threads {
            Some(threads) => threads.install(propagate),
            None => propagate(),
        }?;
        watch.note_savings(savings(&self.compiled, tree, state, ids.is_empty()));
        watch.check()?;
        let ln_p_evidence = if evidence.is_empty() { 0.0 } else { constant + ln_p_evidence };
        Ok(watch.stage(Stage::Read, || {
            Posteriors::new(&network, ln_p_evidence, |variable, states| {
                match evidence.observed(variable) {
                    Some(observed) => {
                        states.fill(0.0);
                        states[observed] = 1.0;
                    }
                    None => state.read(tree, variable, states),
                }
            })
        }))
    }

    fn forget(&mut self) {
        self.choice.forget();
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }

    fn threads(&self) -> usize {
        self.threads.as_ref().map_or(1, ThreadPool::current_num_threads)
    }
}

/// What did not have to be done.
fn savings<T: Real>(
    compiled: &CompiledNetwork,
    tree: &Tree<T>,
    state: &State,
    is_reduced: bool,
) -> Savings {
    let all = compiled.statistics().total_clique_entries;
    let messages = compiled.plan().messages().len();
    let passed = state.needed() + tree.nodes.len() - 1;
    let entries: u64 = tree.nodes.iter().map(|node| node.values.len() as u64).sum();
    let left_out = all.saturating_sub(entries);
    Savings {
        messages_skipped: messages.saturating_sub(passed),
        entries_sliced: if is_reduced { left_out } else { 0 },
        entries_zero: if is_reduced { 0 } else { left_out },
        entries_left: entries,
    }
}
