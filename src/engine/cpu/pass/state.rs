//! The messages of one propagation through a tree.

use std::f64::consts::LN_2;

use crate::allocate;
use crate::engine::RunError;
use crate::engine::bounds::Loss;
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::traversal::StatePart;
use crate::engine::cpu::reuse::change::{Change, MissingMessages};
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tree::nodes::Tree;
use crate::engine::cpu::tree::places::BeliefTable;
use crate::engine::cpu::vector::sum;
use crate::engine::threads::map_dynamic;
use crate::network::{Evidence, Network, VariableId};
use crate::potential::{Axis, Entry, Real};
use crate::propagation::Posteriors;

/// All data that a propagation writes. [`message`](crate::engine::cpu::pass::message) defines the
/// messages, and [`Tree`] the regions above and below.
#[derive(Debug, Default)]
pub struct State {
    /// In the region below: messages from children, and weights of private variables.
    pub up: Vec<f64>,
    /// In the region below: beliefs.
    pub beliefs: Vec<f64>,
    /// In the region above: messages to parents without the findings entered at the separator.
    pub unmasked: Vec<f64>,
    /// In the region above: the product of the findings entered at each separator, if there are
    /// any.
    pub mask: Vec<f64>,
    /// Messages from parents, multiplied by powers of two. [`Node::stored`] has the ranges. Empty
    /// until findings change for the first time, or if there is no memory for it.
    ///
    /// [`Node::stored`]: crate::engine::cpu::tree::nodes::Node::stored
    pub stored: Vec<f64>,
    /// Memory in which threads that sum parts of a large table keep copies of the tables onto which
    /// they sum.
    pub scratch: Vec<f64>,
    /// By clique.
    pub cliques: Vec<CliqueState>,
    /// The evidence that all messages are for; `None` if there are no messages, or if a propagation
    /// did not finish.
    pub propagated: Option<Evidence>,
    /// What differs between `propagated` and the evidence of the current propagation.
    pub change: Change,
    /// The messages that are missing although `propagated` is set, because the tree is new.
    pub missing: Option<MissingMessages>,
    /// The posteriors given `propagated`.
    pub posteriors: Option<Posteriors>,
    /// A buffer for the observations to enter: the table, the variable's axis in the table and the
    /// observed state. Here, [`BeliefTable::Separator`] with the number of a clique means the mask
    /// of the separator above the clique, in the order of the clique, and [`BeliefTable::Private`]
    /// means the weights.
    pub observations: Vec<(BeliefTable, Axis, usize)>,
    /// A buffer for the observations of one table: axes and observed states.
    pub states: Vec<(Axis, usize)>,
}

impl State {
    /// A state without messages for `tree`.
    pub fn new(tree: &Tree) -> Self {
        Self::default().reset(tree)
    }

    /// A state without messages for `tree`, in the memory of this one.
    pub fn reset(self, tree: &Tree) -> Self {
        self.reset_with(tree, |_| None)
    }

    /// As [`reset`](Self::reset), but takes the state of a clique from `known` if that returns one.
    pub fn reset_with(
        mut self,
        tree: &Tree,
        mut known: impl FnMut(usize) -> Option<CliqueState>,
    ) -> Self {
        let cliques = tree.nodes.iter().enumerate().map(|(clique, node)| {
            let mut state = known(clique).unwrap_or_else(|| CliqueState::new(node));
            (state.is_masked, state.is_weighted, state.is_stored) = (false, false, false);
            state
        });
        self.cliques.clear();
        self.cliques.extend(cliques);
        // Entries of `up` that only the parent's end of a separator holds receive no message. They
        // are impossible and must be zero. Only the full tree has such entries, because no other
        // tree is compressed, and its state is in new memory. All other entries, except weights,
        // are written before they are read.
        resize(&mut self.up, tree.below);
        for private in tree.nodes.iter().filter_map(|node| node.private.clone()) {
            self.up[private].fill(1.0);
        }
        resize(&mut self.beliefs, tree.below);
        resize(&mut self.unmasked, tree.above);
        resize(&mut self.mask, tree.above);
        resize(&mut self.scratch, tree.scratch);
        (self.propagated, self.missing, self.posteriors) = (None, None, None);
        self
    }

    /// Bytes of all messages, beliefs and masks, and of the scratch memory, without the stored
    /// messages from parents.
    pub fn bytes(&self) -> usize {
        8 * (2 * (self.up.len() + self.unmasked.len()) + self.scratch.len())
    }

    /// Bytes of the stored messages from parents.
    pub fn stored_bytes(&self) -> usize {
        size_of_val(&*self.stored)
    }

    /// Bytes of the memory that has been allocated for the numbers that [`bytes`](Self::bytes)
    /// counts. After a larger tree, this is more than the current tree needs.
    pub fn capacity_bytes(&self) -> usize {
        let Self { up, beliefs, unmasked, mask, scratch, .. } = self;
        let all = [up, beliefs, unmasked, mask, scratch];
        all.map(|values| size_of::<f64>() * values.capacity()).iter().sum()
    }

    /// Forgets the messages of earlier propagations, so that the next one computes all messages.
    pub fn forget(&mut self) {
        self.propagated = None;
    }

    /// Finds what a propagation of `evidence` has to compute.
    pub fn find_change(&mut self, network: &Network, tree: &Tree, evidence: &Evidence) -> &Change {
        self.change.find(network, tree, self.propagated.as_ref(), evidence);
        if let (Some(_), Some(missing)) = (&self.propagated, &self.missing) {
            self.change.add_missing(missing);
        }
        &self.change
    }

    /// The whole state as a part, for passing the messages of the tree.
    pub fn whole(&mut self) -> StatePart<'_> {
        StatePart {
            first: 0,
            below_start: 0,
            above_start: 0,
            scratch_start: 0,
            stored_start: 0,
            up: &mut self.up,
            beliefs: &mut self.beliefs,
            unmasked: &mut self.unmasked,
            mask: &self.mask,
            stored: &mut self.stored,
            scratch: &mut self.scratch,
            cliques: &mut self.cliques,
            fork_depth: 0,
        }
    }

    /// Number of messages that the last propagation computed from a clique's table.
    pub fn passed(&self) -> usize {
        let passed = |state: &CliqueState| {
            usize::from(state.is_needed && state.is_up_stale) + usize::from(state.is_down_stale)
        };
        self.cliques.iter().skip(1).map(passed).sum()
    }

    /// The cost of collect or of distribute in the current propagation, whichever is larger, in
    /// table entries.
    pub fn work(&self) -> usize {
        self.cliques[0].work_up.max(self.cliques[0].work_down)
    }

    /// The posteriors given `evidence`, which is remembered as propagated. All messages must have
    /// been passed. If the pass `forks`, the threads of the caller's pool share the work.
    pub fn posteriors(
        &mut self,
        network: &Network,
        tree: &Tree,
        evidence: &Evidence,
        ln_p_evidence: f64,
        forks: bool,
    ) -> Posteriors {
        let read = |variable, states: &mut [f64]| match evidence.observed(variable) {
            Some(observed) => {
                states.fill(0.0);
                states[observed] = 1.0;
            }
            None => self.read(tree, variable, states),
        };
        let is_stale =
            |v: &VariableId| self.posteriors.is_none() || self.change.posterior[v.index()];
        let stale = || network.ids().filter(is_stale);
        let values = if forks {
            let stale: Vec<VariableId> = stale().collect();
            let parts = parts_to_read(&stale, |variable| tree.belief_entries(variable));
            read_in_parts(network, parts, &read)
        } else {
            Vec::new()
        };
        let mut values = values.into_iter();
        let read = |variable, states: &mut [f64]| {
            if forks {
                states.fill_with(|| values.next().expect("each state was read"));
            } else {
                read(variable, states);
            }
        };
        let found = match &self.posteriors {
            Some(before) => before.updated(network, ln_p_evidence, stale(), read),
            None => Posteriors::new(network, ln_p_evidence, read),
        };
        (self.propagated, self.missing) = (Some(evidence.clone()), None);
        self.posteriors = Some(found.clone());
        found
    }

    /// The probability mass that may have been lost or added in the messages.
    pub fn loss(&self) -> Loss {
        let mut loss = Loss::default();
        self.cliques.iter().for_each(|clique| loss.add_loss(clique.loss));
        loss
    }

    /// ln P(e), without the constant of a reduced tree.
    ///
    /// P(e) is the sum of any of the root's belief tables, times two to the power of all exponents
    /// that went into the table. A root without belief tables is the only clique and has no
    /// variables, so P(e) is then the only entry of the root's own table.
    ///
    /// # Errors
    /// If the evidence is impossible.
    pub fn ln_p_evidence<T: Entry>(&self, filled: &FilledTree<T>) -> Result<f64, RunError> {
        let (root, table) = (&filled.tree.nodes[0], &filled.tables[0]);
        let is_alone = root.tables.is_empty();
        let total = if is_alone { sum(&table.values) } else { self.cliques[0].total };
        let scale = total.scale_exponent().ok_or(RunError::Impossible)?;
        let below: i64 = root.children.iter().map(|&child| self.cliques[child].exponent).sum();
        let exponent =
            below + self.cliques[0].entered_exponent + i64::from(table.exponent) - i64::from(scale);
        Ok(total.scale(scale).ln() + exponent as f64 * LN_2)
    }

    /// Writes the unnormalised posterior of a variable that is in the tree into `states`.
    fn read(&self, tree: &Tree, variable: VariableId, states: &mut [f64]) {
        states.fill(0.0);
        let home = tree.places[variable.index()].home;
        let (table, axis) = home.expect("every variable is in a belief table");
        let (range, map) = tree.beliefs(table);
        map.add_marginal(axis, &self.beliefs[range], states);
    }
}

/// Minimum cost of the posteriors that a thread reads at a time, in table entries: several
/// microseconds of work. A rough figure; if it is wrong, only speed changes.
const MIN_READ_COST: usize = 8_192;

/// Cost of reading a posterior, apart from the entries of its table, in table entries. A rough
/// figure; if it is wrong, only speed changes.
const COST_PER_POSTERIOR: usize = 256;

/// Divides `variables` into parts for threads to read. `entries` is the number of table entries
/// that are read for a variable.
fn parts_to_read(
    variables: &[VariableId],
    entries: impl Fn(VariableId) -> usize,
) -> Vec<&[VariableId]> {
    let (mut parts, mut start, mut cost) = (Vec::new(), 0, 0);
    for (&variable, end) in variables.iter().zip(1..) {
        cost += COST_PER_POSTERIOR + entries(variable);
        if cost >= MIN_READ_COST || end == variables.len() {
            parts.push(&variables[start..end]);
            (start, cost) = (end, 0);
        }
    }
    parts
}

/// What `read` writes for each variable of `parts`, one after another. The threads of the caller's
/// pool share the work.
fn read_in_parts(
    network: &Network,
    parts: Vec<&[VariableId]>,
    read: &(impl Fn(VariableId, &mut [f64]) + Sync),
) -> Vec<f64> {
    let read_part = |variables: &[VariableId]| {
        let states = |variable: &VariableId| network[*variable].cardinality();
        let mut values = vec![0.0; variables.iter().map(states).sum()];
        let mut rest = &mut *values;
        for variable in variables {
            let (own, after) = std::mem::take(&mut rest).split_at_mut(states(variable));
            read(*variable, own);
            rest = after;
        }
        values
    };
    map_dynamic(parts, read_part).concat()
}

/// Sets the length of `values`; the content is arbitrary, except that newly allocated memory is
/// zero. The operating system provides new memory page by page, when a thread first writes it.
fn resize(values: &mut Vec<f64>, entries: usize) {
    if values.capacity() < entries {
        // Slack for a larger next tree. Where the operating system provides memory page by page, it
        // takes none until it is written.
        let slack = if values.capacity() > 0 { entries / 2 } else { 0 };
        // The old memory is freed first, so that both are never held at the same time.
        *values = Vec::new();
        *values = allocate::zeros(entries + slack);
        values.truncate(entries);
    } else {
        values.resize(entries, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posteriors_are_read_in_parts_that_are_worth_a_thread() {
        let variables: Vec<VariableId> = (0..40).map(VariableId::new).collect();
        // The first variable is enough for a part, and then 7 and 32 small ones are.
        let entries = |variable: VariableId| match variable.index() {
            0 => 10_000,
            1..=7 => 1_000,
            _ => 0,
        };
        let parts = parts_to_read(&variables, entries);
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [1, 7, 32]);
        assert_eq!(parts.concat(), variables);
        let parts = parts_to_read(&variables[..39], entries);
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [1, 7, 31]);
        assert!(parts_to_read(&[], entries).is_empty());
    }
}
