//! A network that was loaded, and its propagation.

use std::sync::Arc;

use crate::cancel::{CancelToken, Cancelled};
use crate::engine::cpu::choice::{self, Choice};
use crate::engine::cpu::state::Model;
use crate::engine::cpu::support;
use crate::engine::cpu::tree::Structure;
use crate::engine::{PropagationFailure, Propagator};
use crate::network::{Evidence, VariableId};
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, MessageId, Phase, Posteriors, Stage, Watch};

/// A compiled network with its tables in one precision.
pub(super) struct Loaded<T> {
    compiled: Arc<CompiledNetwork>,
    structure: Structure,
    whole: Model<T>,
    choice: Choice<T>,
    /// For each clique but the root the messages to its parent and from there.
    messages: Vec<Option<(MessageId, MessageId)>>,
    bytes: u64,
}

impl<T: Real> Loaded<T> {
    /// Makes the tables of `compiled`, which was forecast to take `bytes`.
    pub fn new(compiled: Arc<CompiledNetwork>, bytes: u64) -> Self {
        let (shape, messages) = super::shape(&compiled);
        let network = compiled.network();
        let nothing = vec![None; network.variables().len()];
        let structure = Structure::new(network, shape);
        let mut whole = Model::new(structure.build(network, &nothing));
        support::compact(&mut whole.tree, &mut whole.state);
        debug_assert!((whole.tree.bytes() + whole.state.bytes()) as u64 <= bytes / 2, "a bound");
        let choice = Choice::new(network);
        Self { structure, whole, choice, messages, bytes, compiled }
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
            let cost = choice::whole(&self.structure, &whole.tree, evidence);
            let spare = (self.bytes / 2) as usize;
            choice.prepare(&network, evidence, cost, spare, &CancelToken::new());
            let chosen = match choice.model() {
                Some((model, constant)) => (model, &[][..], constant),
                None => (whole, &*self.messages, Some(0.0)),
            };
            chosen.0.state.enter(&chosen.0.tree, evidence);
            chosen
        });
        let constant = constant.ok_or(PropagationFailure::Impossible)?;
        let messages = Messages { watch, ids };
        watch.stage(Stage::Collect, || collect(model, &messages))?;
        let ln_p_evidence = watch.stage(Stage::Distribute, || distribute(model, &messages))?;
        if ids.is_empty() {
            // The plan's messages were not needed.
            self.compiled.plan().ids().for_each(|id| watch.message(id, 0, || ()));
        }
        watch.check()?;
        let ln_p_evidence = if evidence.is_empty() { 0.0 } else { constant + ln_p_evidence };
        Ok(watch.stage(Stage::Read, || {
            Posteriors::new(&network, ln_p_evidence, |variable, states| {
                read(model, evidence, variable, states);
            })
        }))
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reports messages.
struct Messages<'a> {
    watch: &'a Watch,
    /// For each clique but the root the messages to its parent and from there; empty where the
    /// tree is not the one that the plan speaks of.
    ids: &'a [Option<(MessageId, MessageId)>],
}

impl Messages<'_> {
    /// Does `work`, the message between `clique` and its parent.
    fn of<R>(&self, clique: usize, phase: Phase, work: impl FnOnce() -> R) -> Result<R, Cancelled> {
        self.watch.check()?;
        let ids = self.ids.get(clique).copied().flatten();
        let id = ids.map(|(collect, distribute)| match phase {
            Phase::Collect => collect,
            Phase::Distribute => distribute,
        });
        Ok(match id {
            Some(id) => self.watch.message(id, 0, work),
            None => work(),
        })
    }
}

fn collect<T: Real>(
    model: &mut Model<T>,
    messages: &Messages<'_>,
) -> Result<(), PropagationFailure> {
    let Model { tree, state } = model;
    for clique in (1..tree.nodes.len()).rev() {
        messages.of(clique, Phase::Collect, || state.collect(tree, clique))??;
    }
    Ok(())
}

/// Distributes, and returns ln P(e).
fn distribute<T: Real>(
    model: &mut Model<T>,
    messages: &Messages<'_>,
) -> Result<f64, PropagationFailure> {
    let Model { tree, state } = model;
    messages.watch.check()?;
    let ln_p_evidence = state.turn(tree)?;
    for clique in 1..tree.nodes.len() {
        messages.of(clique, Phase::Distribute, || state.distribute(tree, clique))?;
    }
    Ok(ln_p_evidence)
}

fn read<T>(model: &Model<T>, evidence: &Evidence, variable: VariableId, states: &mut [f64]) {
    match evidence.observed(variable) {
        Some(observed) => {
            states.fill(0.0);
            states[observed] = 1.0;
        }
        None => model.state.read(&model.tree, variable, states),
    }
}
