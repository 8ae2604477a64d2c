//! The messages of one propagation through a [`Tree`], and the findings that enter it.

use std::cmp::Reverse;
use std::f64::consts::LN_2;

use crate::engine::PropagationFailure;
use crate::engine::cpu::change::{Change, Fresh};
use crate::engine::cpu::compress::Kept;
use crate::engine::cpu::inherit::Twins;
use crate::engine::cpu::kernel::sum;
use crate::engine::cpu::message::{self, Columns};
use crate::engine::cpu::part::Part;
use crate::engine::cpu::tree::{Node, Port, Tree};
use crate::network::{Evidence, Finding, Network, VariableId};
use crate::potential::{Axis, Entry, Real};
use crate::propagation::Posteriors;

/// A tree and the messages in it.
#[derive(Debug)]
pub(super) struct Model<T> {
    pub tree: Tree<T>,
    pub state: State,
}

/// All that a propagation writes.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Messages from the children of every clique and weights of private variables, by clique.
    up: Vec<f64>,
    /// Beliefs at the same ports.
    beliefs: Vec<f64>,
    /// What every clique says of the separator above, without the findings entered there.
    raw: Vec<f64>,
    /// What the parent says of it.
    down: Vec<f64>,
    /// The findings that are entered there, where some are.
    mask: Vec<f64>,
    /// Room for the beliefs that parts of a large table give.
    spare: Vec<f64>,
    cliques: Vec<CliqueState>,
    /// The findings that all messages tell of; `None` where there are none, or not all.
    told: Option<Evidence>,
    /// What differs between those and the findings of the propagation at work.
    change: Change,
    /// Which messages have yet to be passed for `told` because the tree is a new one.
    fresh: Option<Fresh>,
    /// The posteriors for `told`.
    posteriors: Option<Posteriors>,
    /// The states to be entered into tables, and those of one table; kept for their room.
    observations: Vec<(Port, Axis, usize)>,
    states: Vec<(Axis, usize)>,
}

#[derive(Debug, Default)]
pub(super) struct CliqueState {
    /// All ports toward children and of private variables.
    pub all: Columns,
    /// Those at which something is to be multiplied.
    pub active: Columns,
    /// Whether a finding is entered at the separator above.
    pub is_masked: bool,
    /// Whether a finding is entered among the private variables.
    pub is_weighted: bool,
    /// Whether the message to the parent has to be computed from the table.
    pub is_needed: bool,
    /// Whether the message to the parent may differ from the one that is there.
    pub is_up_stale: bool,
    /// Whether the beliefs may differ from those that are there, by more than a factor.
    pub is_down_stale: bool,
    /// What all stale messages of the subtree toward the root cost, in entries of tables.
    pub work_up: usize,
    /// The same of those away from the root.
    pub work_down: usize,
    /// Exponents of the findings entered here.
    pub entered: i64,
    /// The exponent of the message to the parent, with all that went into it.
    pub exponent: i64,
}

impl CliqueState {
    fn new<T: Entry>(node: &Node<T>) -> Self {
        let mut state = Self::default();
        for (child, &is_vector) in node.is_vector.iter().enumerate() {
            state.all.push(node.word(child), is_vector);
        }
        state.active.scalars.reserve(state.all.scalars.len());
        state.active.vectors.reserve(state.all.vectors.len());
        state
    }
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
    fn laid_out<T: Entry>(
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

    /// The messages in `tree`, in `room`, of which those that hold for `evidence` are taken over from
    /// these in the tree `before`. What is left of these is room again.
    pub fn inherit<T: Entry>(
        &mut self,
        before: &Tree<T>,
        (tree, twins): (&Tree<T>, &Twins),
        room: Self,
        network: &Network,
        evidence: &Evidence,
    ) -> Self {
        let mut state = room.laid_out(tree, |clique| {
            twins.alike(clique).map(|clique| std::mem::take(&mut self.cliques[clique]))
        });
        (state.told, state.posteriors) = (self.told.take(), self.posteriors.take());
        let Some(told) = &state.told else {
            state.find_change(network, tree, evidence);
            return state;
        };
        let mut fresh = Fresh {
            up: twins.same_below.iter().map(|is| !is).collect(),
            down: (0..tree.nodes.len()).map(|clique| twins.alike(clique).is_none()).collect(),
        };
        // A finding may be entered at another clique than it was.
        for (variable, _) in told.iter().chain(evidence.iter()) {
            fresh.find_places(tree, variable);
        }
        state.fresh = Some(fresh);
        state.find_change(network, tree, evidence);
        let Self { up, raw, beliefs, change, .. } = &mut state;
        for (clique, node) in tree.nodes.iter().enumerate() {
            let Some(twin) = twins.alike(clique) else { continue };
            let twin = &before.nodes[twin];
            if change.needed[clique] && !change.up[clique] {
                let raw = &mut raw[node.above.clone()];
                raw.copy_from_slice(&self.raw[twin.above.clone()]);
                message::send_up(node, raw, None, &mut up[node.in_parent.clone()]);
            }
            if !change.down[clique] {
                let beliefs = &mut beliefs[node.below.clone()];
                beliefs.copy_from_slice(&self.beliefs[twin.below.clone()]);
            }
        }
        state
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

    /// Enters the findings of `evidence` in place of those before, where they differ as it was
    /// [found](Self::find_change).
    pub fn enter<T: Entry>(&mut self, tree: &Tree<T>, evidence: &Evidence) {
        let change = std::mem::take(&mut self.change);
        for (clique, node) in tree.nodes.iter().enumerate() {
            let state = &mut self.cliques[clique];
            state.is_masked &= !change.mask[clique];
            if change.weights[clique] && std::mem::take(&mut state.is_weighted) {
                self.up[node.private.clone().expect("it was weighted")].fill(1.0);
            }
            state.is_needed = change.needed[clique];
            state.is_up_stale = change.up[clique];
            state.is_down_stale = change.down[clique];
            state.entered = 0;
        }
        self.sum_work(tree);
        // A variable that was taken out of the tree has its finding in the tables.
        let findings = || evidence.iter().filter(|(v, _)| tree.places[v.index()].home.is_some());
        for (variable, finding) in findings() {
            if let &Finding::Observed(state) = finding {
                self.observe(tree, &change, variable, state);
            }
        }
        self.enter_observations(tree);
        for (variable, finding) in findings() {
            if let Finding::Likelihood(_) = finding {
                self.enter_likelihood(tree, &change, variable, finding);
            }
        }
        self.change = change;
        // Until they are all passed, messages tell of neither evidence.
        self.told = None;
    }

    fn sum_work<T>(&mut self, tree: &Tree<T>) {
        for (clique, node) in tree.nodes.iter().enumerate().rev() {
            let of = |state: &CliqueState| (state.work_up, state.work_down);
            let below = node.children.iter().map(|&child| of(&self.cliques[child]));
            let (up, down) = below.fold((0, 0), |sum, work| (sum.0 + work.0, sum.1 + work.1));
            let state = &mut self.cliques[clique];
            let own = |is_stale: bool| if is_stale { node.work } else { 0 };
            state.work_up = up + own(state.is_up_stale && state.is_needed);
            state.work_down = down + own(state.is_down_stale);
        }
    }

    /// Notes the tables in which a variable is observed. Nothing happens there to what agrees with it,
    /// and what does not is skipped, so an observation is entered wherever the variable turns up.
    fn observe<T>(&mut self, tree: &Tree<T>, change: &Change, variable: VariableId, state: usize) {
        let place = &tree.places[variable.index()];
        if let Some(axis) = place.private {
            if change.weights[place.top] {
                self.observations.push((Port::Private(place.top), axis, state));
            }
            return;
        }
        let stale = place.separators.iter().filter(|(clique, _)| change.mask[*clique]);
        self.observations.extend(stale.map(|&(clique, axis)| (Port::Above(clique), axis, state)));
    }

    /// Enters what was noted, all that is known of a table at once.
    fn enter_observations<T>(&mut self, tree: &Tree<T>) {
        let mut observations = std::mem::take(&mut self.observations);
        observations.sort_unstable_by_key(|(port, axis, _)| (*port, Reverse(axis.stride)));
        for group in observations.chunk_by(|(one, ..), (other, ..)| one == other) {
            self.states.clear();
            self.states.extend(group.iter().map(|&(_, axis, state)| (axis, state)));
            let (table, kept) = match group[0].0 {
                Port::Above(clique) => {
                    let node = &tree.nodes[clique];
                    self.cliques[clique].is_masked = true;
                    let table = &mut self.mask[node.above.clone()];
                    if node.states.write(&self.states, table) {
                        continue;
                    }
                    (table, &node.above_kept)
                }
                Port::Private(clique) => {
                    let node = &tree.nodes[clique];
                    self.cliques[clique].is_weighted = true;
                    let range = node.private.clone().expect("it has private variables");
                    (&mut self.up[range], &node.private_kept)
                }
            };
            table.fill(0.0);
            kept.runs_of(&self.states, table.len(), &mut |run| table[run].fill(1.0));
        }
        observations.clear();
        self.observations = observations;
    }

    /// Enters a likelihood where the variable turns up first: it counts once.
    fn enter_likelihood<T: Entry>(
        &mut self,
        tree: &Tree<T>,
        change: &Change,
        variable: VariableId,
        finding: &Finding,
    ) {
        let place = &tree.places[variable.index()];
        let (clique, axis) = match place.private {
            Some(axis) => (place.top, axis),
            None => place.separators[0],
        };
        let scale = finding_scale(finding, axis.cardinality);
        let state = &mut self.cliques[clique];
        state.entered -= i64::from(scale);
        let node = &tree.nodes[clique];
        if place.private.is_some() {
            if change.weights[clique] {
                state.is_weighted = true;
                let range = node.private.clone().expect("it has private variables");
                weigh(&mut self.up[range], &node.private_kept, axis, finding, scale);
            }
        } else if change.mask[clique] {
            let table = &mut self.mask[node.above.clone()];
            if !std::mem::replace(&mut state.is_masked, true) {
                table.fill(1.0);
            }
            weigh(table, &node.above_kept, axis, finding, scale);
        }
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
    pub fn ln_p_evidence<T: Entry>(&self, tree: &Tree<T>) -> Result<f64, PropagationFailure> {
        let root = &tree.nodes[0];
        let first = root.children.first().map(|&child| tree.nodes[child].in_parent.clone());
        let total: f64 = match first.or(root.private.clone()) {
            Some(port) => sum(&self.beliefs[port]),
            None => sum(&root.values),
        };
        let scale = total.scale_exponent().ok_or(PropagationFailure::Impossible)?;
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

/// Multiplies the entries of each state of one variable by the finding's weight.
fn weigh(table: &mut [f64], kept: &Kept, axis: Axis, finding: &Finding, scale: i32) {
    for (state, run) in kept.runs(axis, table.len()) {
        let weight = finding.weight(state).scale(scale);
        table[run].iter_mut().for_each(|value| *value *= weight);
    }
}

/// The exponent of the power of two that brings the largest weight of `finding` into [1, 2).
fn finding_scale(finding: &Finding, states: usize) -> i32 {
    match finding {
        Finding::Observed(_) => 0,
        Finding::Likelihood(weights) => {
            weights[..states].iter().copied().fold(0.0, f64::max).scale_exponent().unwrap_or(0)
        }
    }
}
