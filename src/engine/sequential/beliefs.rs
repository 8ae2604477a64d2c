//! What the cliques believe in the middle of a propagation.

use std::sync::Arc;

use super::message;
use crate::graph::CliqueId;
use crate::network::VariableId;
use crate::potential::Scope;
use crate::propagation::CompiledNetwork;

/// The beliefs after some messages of a propagation.
///
/// The belief of a clique is its table, normalised: the product of its factors and findings and of
/// all that it has received. Only its marginals are kept, one for each variable of the clique.
/// Before the last message, two cliques may disagree about a variable that both contain.
#[derive(Clone, Debug)]
pub struct Beliefs {
    compiled: Arc<CompiledNetwork>,
    passed: usize,
    /// For each clique, the index in `values` of its first number.
    starts: Arc<[usize]>,
    /// For each variable, the clique in which its findings are entered.
    homes: Arc<[CliqueId]>,
    /// Clique after clique, variable after variable in the order of the clique's scope, a number
    /// for each state.
    values: Vec<f64>,
}

impl Beliefs {
    /// Beliefs that are all zero, before the first message. `homes` gives, for each variable, the
    /// clique in which its findings are entered.
    pub(super) fn new(compiled: &Arc<CompiledNetwork>, homes: Arc<[CliqueId]>) -> Self {
        let network = compiled.network();
        let mut end = 0;
        let starts = compiled.tree().cliques().iter().map(|clique| {
            let start = end;
            end += clique.variables.iter().map(|&id| network[id].cardinality()).sum::<usize>();
            start
        });
        let starts: Arc<[usize]> = starts.collect();
        Self { compiled: Arc::clone(compiled), passed: 0, starts, homes, values: vec![0.0; end] }
    }

    /// The number of messages passed.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.passed
    }

    /// Whether all messages are passed, so that all cliques agree and the beliefs are the
    /// posteriors.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.passed == self.compiled.plan().messages().len()
    }

    /// The compiled network that is propagated.
    #[must_use]
    pub fn compiled(&self) -> &Arc<CompiledNetwork> {
        &self.compiled
    }

    /// The belief of `clique` about each of its variables, in the order of its scope: a probability
    /// for each state, or zeros if the evidence is impossible.
    pub fn of_clique(&self, clique: CliqueId) -> impl Iterator<Item = (VariableId, &[f64])> {
        let mut start = self.starts[clique.index()];
        self.compiled.tree()[clique].variables.iter().map(move |&variable| {
            let end = start + self.compiled.network()[variable].cardinality();
            let states = &self.values[start..end];
            start = end;
            (variable, states)
        })
    }

    /// The belief about `variable` in the smallest clique that contains it, where its findings are
    /// entered: a probability for each state, or zeros if the evidence is impossible.
    ///
    /// # Panics
    /// If the network has no such variable.
    #[must_use]
    pub fn of(&self, variable: VariableId) -> &[f64] {
        let mut all = self.of_clique(self.homes[variable.index()]);
        let found = all.find(|(other, _)| *other == variable);
        found.expect("findings are entered in a clique that contains the variable").1
    }

    /// Sets the number of messages passed.
    pub(super) fn set_passed(&mut self, passed: usize) {
        self.passed = passed;
    }

    /// Computes the belief of `clique` from its `table`.
    pub(super) fn update(&mut self, clique: CliqueId, table: &[f64]) {
        let network = self.compiled.network();
        let variables = &self.compiled.tree()[clique].variables;
        let scope = Scope::of(network, variables.iter().copied());
        let mut start = self.starts[clique.index()];
        for &variable in variables {
            let axis = scope.axis(variable).expect("the scope contains its variable");
            let states = &mut self.values[start..start + axis.cardinality];
            message::marginal(table, axis, states);
            let total: f64 = states.iter().sum();
            if total > 0.0 {
                states.iter_mut().for_each(|state| *state /= total);
            }
            start += axis.cardinality;
        }
    }
}
