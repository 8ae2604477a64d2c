//! Engine `cpu`: junction tree propagation that only reads the cliques' tables.
//!
//! HUGIN in place writes every clique's table twice. Here a table is read once on the way up and
//! once on the way down and nothing of its size is written: on the way up its product with the
//! children's messages is summed onto the separator above, and one pass on the way down gives the
//! beliefs of all separators below and of the variables that are in no other clique, see
//! [`message`]. Posteriors are read from the smallest of these.

mod kernel;
mod layout;
mod message;
mod state;
mod support;
mod tree;

use std::sync::Arc;

use super::{Engine, LoadError, LoadOptions, PropagationFailure, Propagator};
use crate::network::Evidence;
use crate::potential::{Precision, Real};
use crate::propagation::{CompiledNetwork, Forecast, MessageId, Phase, Posteriors, Stage, Watch};
use state::State;
use tree::{Shape, Tree};

/// See the module.
pub(super) struct Cpu;

impl Engine for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn summary(&self) -> &'static str {
        "read-only tables, vector instructions, zeros left out"
    }

    fn availability(&self) -> Result<(), String> {
        Ok(())
    }

    fn precisions(&self) -> &'static [Precision] {
        &[Precision::F64, Precision::F32]
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        Forecast::new(self.name(), precision, compiled, bytes(compiled, precision))
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        super::check_precision(self, options.precision)?;
        let forecast = self.forecast(compiled, options.precision);
        let bytes = forecast.bytes;
        forecast.check(options.memory)?;
        Ok(match options.precision {
            Precision::F32 => Box::new(Loaded::<f32>::new(Arc::clone(compiled), bytes)),
            Precision::F64 => Box::new(Loaded::<f64>::new(Arc::clone(compiled), bytes)),
        })
    }
}

/// The most that is held: tables are laid out, but none is made.
fn bytes(compiled: &CompiledNetwork, precision: Precision) -> u64 {
    let tree = compiled.tree();
    if tree.cliques().iter().any(|clique| clique.entries > u64::from(u32::MAX)) {
        // Entries have indices of 32 bits.
        return u64::MAX;
    }
    tree::forecast(compiled.network(), &shape(compiled).0, precision.bytes() as usize) as u64
}

/// A compiled network with its tables in one precision.
struct Loaded<T> {
    compiled: Arc<CompiledNetwork>,
    tree: Tree<T>,
    state: State,
    /// For each clique but the root the messages to its parent and from there.
    messages: Vec<Option<(MessageId, MessageId)>>,
    bytes: u64,
}

impl<T: Real> Loaded<T> {
    fn new(compiled: Arc<CompiledNetwork>, bytes: u64) -> Self {
        let (shape, messages) = shape(&compiled);
        let network = compiled.network();
        let mut tree = Tree::new(network, &shape, &vec![None; network.variables().len()]);
        let mut state = State::new(&tree);
        support::compact(&mut tree, &mut state);
        debug_assert!((tree.bytes() + state.bytes()) as u64 <= bytes, "the forecast is a bound");
        Self { compiled, tree, state, messages, bytes }
    }

    fn collect(&mut self, watch: &Watch) -> Result<(), PropagationFailure> {
        for clique in (1..self.tree.nodes.len()).rev() {
            watch.check()?;
            let (message, _) = self.messages[clique].expect("it is not the root");
            watch.message(message, 0, || self.state.collect(&self.tree, clique))?;
        }
        Ok(())
    }

    fn distribute(&mut self, watch: &Watch) -> Result<f64, PropagationFailure> {
        watch.check()?;
        let ln_p_evidence = self.state.turn(&self.tree)?;
        for clique in 1..self.tree.nodes.len() {
            watch.check()?;
            let (_, message) = self.messages[clique].expect("it is not the root");
            watch.message(message, 0, || self.state.distribute(&self.tree, clique));
        }
        Ok(ln_p_evidence)
    }
}

impl<T: Real> Propagator for Loaded<T> {
    fn run(
        &mut self,
        evidence: &Evidence,
        watch: &Watch,
    ) -> Result<Posteriors, PropagationFailure> {
        watch.check()?;
        watch.stage(Stage::Initialise, || self.state.enter(&self.tree, evidence));
        watch.stage(Stage::Collect, || self.collect(watch))?;
        let ln_p_evidence = watch.stage(Stage::Distribute, || self.distribute(watch))?;
        watch.check()?;
        let ln_p_evidence = if evidence.is_empty() { 0.0 } else { ln_p_evidence };
        Ok(watch.stage(Stage::Read, || {
            Posteriors::new(self.compiled.network(), ln_p_evidence, |variable, states| {
                match evidence.observed(variable) {
                    Some(observed) => {
                        states.fill(0.0);
                        states[observed] = 1.0;
                    }
                    None => self.state.read(&self.tree, variable, states),
                }
            })
        }))
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }
}

/// The shape of a compiled network's tree, every clique before its children, and for each clique
/// the two messages between it and its parent.
fn shape(compiled: &CompiledNetwork) -> (Shape, Vec<Option<(MessageId, MessageId)>>) {
    let (tree, plan) = (compiled.tree(), compiled.plan());
    // The plan's order of distribution is a preorder.
    let mut number = vec![0; tree.cliques().len()];
    let mut shape = Shape::default();
    shape.cliques.push(tree[tree.root()].variables.clone());
    shape.parents.push(None);
    let mut messages = vec![None];
    let mut collect = vec![None; tree.separators().len()];
    for id in plan.ids().filter(|&id| plan[id].phase == Phase::Collect) {
        collect[plan[id].separator.index()] = Some(id);
    }
    for id in plan.ids().filter(|&id| plan[id].phase == Phase::Distribute) {
        let message = &plan[id];
        number[message.to.index()] = shape.cliques.len();
        shape.cliques.push(tree[message.to].variables.clone());
        shape.parents.push(Some(number[message.from.index()]));
        messages.push(collect[message.separator.index()].map(|collect| (collect, id)));
    }
    shape.families = vec![Vec::new(); shape.cliques.len()];
    for variable in compiled.network().ids() {
        let clique = compiled.family_home(variable);
        shape.families[number[clique.index()]].push(variable);
    }
    (shape, messages)
}
