//! The messages of one propagation through a [`Tree`], and the findings that enter it.

use std::f64::consts::LN_2;

use crate::engine::RunError;
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::kernel::sum;
use crate::engine::cpu::pass::message::Columns;
use crate::engine::cpu::pass::subtree::Part;
use crate::engine::cpu::reuse::change::{Change, Fresh};
use crate::engine::cpu::tree::nodes::{Node, Port, Tree};
use crate::network::{Evidence, Network, VariableId};
use crate::potential::{Axis, Entry, Real};
use crate::propagation::Posteriors;

/// A tree and the messages in it.
#[derive(Debug)]
pub struct Model<T> {
    pub tree: Tree<T>,
    pub state: State,
}

/// All that a propagation writes.
#[derive(Debug, Default)]
pub struct State {
    /// Messages from the children of every clique and weights of private variables, by clique.
    pub up: Vec<f64>,
    /// Beliefs at the same ports.
    pub beliefs: Vec<f64>,
    /// What every clique says of the separator above, without the findings entered there.
    pub raw: Vec<f64>,
    /// What the parent says of it.
    pub down: Vec<f64>,
    /// The findings that are entered there, where some are.
    pub mask: Vec<f64>,
    /// Room for the beliefs that parts of a large table give.
    pub spare: Vec<f64>,
    pub cliques: Vec<CliqueState>,
    /// The findings that all messages tell of; `None` where there are none, or not all.
    pub told: Option<Evidence>,
    /// What differs between those and the findings of the propagation at work.
    pub change: Change,
    /// Which messages have yet to be passed for `told` because the tree is a new one.
    pub fresh: Option<Fresh>,
    /// The posteriors for `told`.
    pub posteriors: Option<Posteriors>,
    /// The states to be entered into tables, and those of one table; kept for their room.
    pub observations: Vec<(Port, Axis, usize)>,
    pub states: Vec<(Axis, usize)>,
}

impl State {
    /// No messages in `tree`.
    pub fn new<T: Entry>(tree: &Tree<T>) -> Self {
        Self::default().renewed(tree)
    }

    /// No messages in `tree`, in the room of these.
    pub fn renewed<T: Entry>(self, tree: &Tree<T>) -> Self {
        self.laid_out(tree, |_| None)
    }

    /// No messages in `tree`, in the room of these, with what is `known` of its cliques.
    pub fn laid_out<T: Entry>(
        mut self,
        tree: &Tree<T>,
        mut known: impl FnMut(usize) -> Option<CliqueState>,
    ) -> Self {
        let of = |(clique, node): (usize, &Node<T>)| {
            let mut state = known(clique).unwrap_or_else(|| CliqueState::new(node));
            (state.is_masked, state.is_weighted) = (false, false);
            state
        };
        self.cliques.clear();
        self.cliques.extend(tree.nodes.iter().enumerate().map(of));
        // What a child has left out of its table is never sent, and cannot be. Of all else that is in
        // the way from before nothing is read until it is written.
        make_room(&mut self.up, tree.below);
        for private in tree.nodes.iter().filter_map(|node| node.private.clone()) {
            self.up[private].fill(1.0);
        }
        make_room(&mut self.beliefs, tree.below);
        make_room(&mut self.raw, tree.above);
        make_room(&mut self.down, tree.above);
        make_room(&mut self.mask, tree.above);
        make_room(&mut self.spare, tree.spare);
        (self.told, self.fresh, self.posteriors) = (None, None, None);
        self
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> usize {
        8 * (2 * self.up.len() + 3 * self.raw.len() + self.spare.len())
    }

    /// Forgets what was propagated before, so that everything is computed anew.
    pub fn forget(&mut self) {
        self.told = None;
    }

    /// Finds what a propagation of `evidence` has to compute.
    pub fn find_change<T>(
        &mut self,
        network: &Network,
        tree: &Tree<T>,
        evidence: &Evidence,
    ) -> &Change {
        self.change.find(network, tree, self.told.as_ref(), evidence);
        if let (Some(_), Some(fresh)) = (&self.told, &self.fresh) {
            self.change.add(fresh);
        }
        &self.change
    }

    /// The whole of it, to pass messages in.
    pub fn part(&mut self) -> Part<'_> {
        Part {
            first: 0,
            below: 0,
            above: 0,
            spare_start: 0,
            up: &mut self.up,
            beliefs: &mut self.beliefs,
            raw: &mut self.raw,
            down: &mut self.down,
            mask: &self.mask,
            spare: &mut self.spare,
            cliques: &mut self.cliques,
        }
    }

    /// Number of messages that were computed from a table.
    pub fn passed(&self) -> usize {
        let of = |state: &CliqueState| {
            usize::from(state.is_needed && state.is_up_stale) + usize::from(state.is_down_stale)
        };
        self.cliques.iter().skip(1).map(of).sum()
    }

    /// What the messages of the propagation at work cost, in entries of tables: those toward the
    /// root and those away from it, whichever are more.
    pub fn work(&self) -> usize {
        self.cliques[0].work_up.max(self.cliques[0].work_down)
    }

    /// The posteriors for `evidence`, once all messages were passed.
    pub fn posteriors<T>(
        &mut self,
        network: &Network,
        tree: &Tree<T>,
        evidence: &Evidence,
        ln_p_evidence: f64,
    ) -> Posteriors {
        let read = |variable, states: &mut [f64]| match evidence.observed(variable) {
            Some(observed) => {
                states.fill(0.0);
                states[observed] = 1.0;
            }
            None => self.read(tree, variable, states),
        };
        let found = match &self.posteriors {
            Some(before) => {
                let stale = |v: &VariableId| self.change.posterior[v.index()];
                before.updated(network, ln_p_evidence, network.ids().filter(stale), read)
            }
            None => Posteriors::new(network, ln_p_evidence, read),
        };
        (self.told, self.fresh) = (Some(evidence.clone()), None);
        self.posteriors = Some(found.clone());
        found
    }

    /// What `clique` multiplies its table by: the ports that matter, the tables at the ports below
    /// and that above.
    pub fn inputs<T>(&self, tree: &Tree<T>, clique: usize) -> (&Columns, &[f64], &[f64]) {
        let node = &tree.nodes[clique];
        let active = &self.cliques[clique].active;
        (active, &self.up[node.below.clone()], &self.down[node.above.clone()])
    }

    /// The belief at any port of the root, summed, with its exponent, as ln P(e).
    pub fn ln_p_evidence<T: Entry>(&self, tree: &Tree<T>) -> Result<f64, RunError> {
        let root = &tree.nodes[0];
        let first = root.children.first().map(|&child| tree.nodes[child].in_parent.clone());
        let total: f64 = match first.or(root.private.clone()) {
            Some(port) => sum(&self.beliefs[port]),
            None => sum(&root.values),
        };
        let scale = total.scale_exponent().ok_or(RunError::Impossible)?;
        let below: i64 = root.children.iter().map(|&child| self.cliques[child].exponent).sum();
        let exponent =
            below + self.cliques[0].entered + i64::from(root.exponent) - i64::from(scale);
        Ok(total.scale(scale).ln() + exponent as f64 * LN_2)
    }

    /// The marginal of a variable that is in the tree, up to a factor.
    fn read<T>(&self, tree: &Tree<T>, variable: VariableId, states: &mut [f64]) {
        states.fill(0.0);
        let home = tree.places[variable.index()].home;
        let (port, axis) = home.expect("every variable is at a port");
        let (range, kept) = match port {
            Port::Above(clique) => {
                let node = &tree.nodes[clique];
                (node.in_parent.clone(), &node.in_parent_kept)
            }
            Port::Private(clique) => {
                let node = &tree.nodes[clique];
                (node.private.clone().expect("it has private variables"), &node.private_kept)
            }
        };
        kept.marginal(axis, &self.beliefs[range], states);
    }
}

/// Gives `values` so many entries, whatever they are. Pages that are new are taken as they are
/// written, and then by all threads.
fn make_room(values: &mut Vec<f64>, entries: usize) {
    if values.capacity() < entries {
        *values = vec![0.0; entries];
    } else {
        values.resize(entries, 0.0);
    }
}
