//! The work at the first clique of a [`StatePart`]: its message to its parent, its beliefs, and the
//! bounds of both.
//! [`traversal`](super::traversal) does this work at each clique, in order.

use std::ops::Range;

use crate::engine::RunError;
use crate::engine::bounds::{Bounds, Loss, ProductBounds, no_message};
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::downward::{self, DownwardPorts, FromParent, Outputs};
use crate::engine::cpu::pass::exchange::send_findings;
use crate::engine::cpu::pass::message::{self, Clique, ParentMessage};
use crate::engine::cpu::pass::traversal::{PassContext, StatePart};
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::rows::SumWords;
use crate::engine::cpu::vector::NEAR_ONE;
use crate::potential::{Entry, Real};
use crate::propagation::Phase;

impl StatePart<'_> {
    /// Computes the message of the first clique to its parent. `up` is the table of the separator
    /// in the order of the parent.
    ///
    /// # Errors
    /// If the evidence is impossible or numbers are out of range.
    pub fn send_up<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        up: &mut [f64],
    ) -> Result<(), RunError> {
        let tree = &context.filled.tree;
        self.find_active(tree);
        let products = self.product_bounds(context, None);
        let node = &tree.nodes[self.first];
        let state = &self.cliques[0];
        let mask = state.is_masked.then(|| &self.mask[..node.above.len()]);
        let mut exponent = state.entered_exponent;
        let (mut up_bounds, mut raised, mut sent_scale) = (state.entered_bounds, None, 0);
        if state.is_needed {
            let below = &self.up[..node.below.len()];
            let unmasked = &mut self.unmasked[..node.above.len()];
            let clique = context.clique(self.first);
            let ports = &state.active;
            let helpers = context.report.helpers(self.first, Phase::Collect, context.forks);
            let largest = message::collect(clique, ports, below, mask, unmasked, helpers);
            let bounds = (largest, products, state.entered_bounds);
            let sent = message::send(node, bounds, mask, unmasked, up, helpers)?;
            sent_scale = sent.scale;
            exponent += i64::from(clique.table.exponent - sent.scale);
            (up_bounds, raised) = (sent.bounds, sent.raised);
            let exponent_of = |&child: &usize| self.cliques[child - self.first].exponent;
            exponent += node.children.iter().map(exponent_of).sum::<i64>();
        } else if let Some(mask) = mask {
            send_findings(node, mask, up);
        }
        let state = &mut self.cliques[0];
        (state.exponent, state.sent_scale) = (exponent, sent_scale);
        (state.up_bounds, state.raised) = (up_bounds, raised);
        Ok(())
    }

    /// The bounds of the products of an entry of the first clique's table, the findings, the
    /// messages from active children, and the message from the parent if it is given.
    fn product_bounds<T: Entry>(
        &self,
        context: &PassContext<'_, T>,
        from_parent: Option<Bounds>,
    ) -> Bounds {
        let Clique { node, table, .. } = context.clique(self.first);
        let mut products = ProductBounds::default();
        products.add(table.bounds);
        products.add(self.cliques[0].entered_bounds);
        for &child in &node.children {
            let child = &self.cliques[child - self.first];
            if child.is_needed || child.is_masked {
                products.add(child.up_bounds);
            }
        }
        if let Some(from_parent) = from_parent {
            products.add(from_parent);
        }
        products.in_type::<f64>()
    }

    /// Finds the active ports of the first clique.
    pub fn find_active(&mut self, tree: &Tree) {
        let node = &tree.nodes[self.first];
        let mut active = std::mem::take(&mut self.cliques[0].active);
        active.clear();
        for (number, &is_vector) in node.is_vector.iter().enumerate() {
            let is_active = match node.children.get(number) {
                Some(&child) => {
                    let child = &self.cliques[child - self.first];
                    child.is_needed || child.is_masked
                }
                None => self.cliques[0].is_weighted,
            };
            if is_active {
                active.push(node.word(number), is_vector);
            }
        }
        self.cliques[0].active = active;
    }

    /// Computes the beliefs of the first clique at the ports below. It must not be the root.
    /// `belief` is the parent's belief over the separator, in the order of the parent, and `parent`
    /// is the state of the parent. If the message from the parent is stored, they are not read.
    ///
    /// # Errors
    /// If numbers are out of range.
    pub fn compute_beliefs<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        belief: &[f64],
        parent: &CliqueState,
    ) -> Result<(), RunError> {
        let node = &context.filled.tree.nodes[self.first];
        let CliqueState { up_bounds, entered_bounds, raised, is_needed, is_stored, .. } =
            self.cliques[0];
        let unmasked = is_needed.then_some(&self.unmasked[..node.above.len()]);
        let belief_at = |entry: usize| match (unmasked, &node.permutation) {
            (Some(unmasked), _) if is_stored => self.stored[entry] * unmasked[entry],
            (_, None) => belief[entry],
            (_, Some(order)) => belief[order.position(entry)],
        };
        self.cliques[0].loss = match (unmasked, raised) {
            (Some(unmasked), Some(level)) => message::raised_share(unmasked, level, belief_at),
            _ => Loss::default(),
        };
        let left_out = LeftOut::find(node, self.first, self.cliques);
        let Some(smallest) = left_out.smallest_table(node) else { return Ok(()) };
        if is_stored {
            return self.compute_beliefs_without_parent(context, &left_out, smallest);
        }
        // `unmasked` is at most the largest entry of the message to the parent, divided by the
        // smallest product of likelihoods.
        let largest_unmasked = up_bounds.max - entered_bounds.min;
        let known_min = match (unmasked, raised) {
            (None, _) => parent.belief_bounds.known_min(),
            (Some(_), None) => parent.belief_bounds.known_min().map(|min| min - largest_unmasked),
            (Some(_), Some(_)) => None,
        };
        let scale = parent.belief_scale;
        let finds_smallest = ParentMessage::needs_smallest(scale, known_min);
        let mask = self.cliques[0].is_masked.then(|| &self.mask[..node.above.len()]);
        let mut message = ParentMessage { belief, unmasked, mask, scale, finds_smallest };
        let helpers = context.report.helpers(self.first, Phase::Distribute, context.forks);
        let clique = context.clique(self.first);
        let below = &self.up[..node.below.len()];
        let beliefs = &mut self.beliefs[..node.below.len()];
        let scratch = &mut self.scratch[..node.scratch.len()];
        let stored_entries = node.stored.len().min(self.stored.len());
        let stored = &mut self.stored[..stored_entries];
        let state = &mut self.cliques[0];
        let ports = left_out.ports(state);
        let mut distribute = |message| {
            let stored = (!stored.is_empty()).then_some(&mut *stored);
            let outputs = Outputs { beliefs: &mut *beliefs, scratch: &mut *scratch, stored };
            let from_parent = Some(FromParent::Computed(message));
            downward::distribute(clique, ports, below, from_parent, outputs, helpers)
        };
        let mut received = distribute(message);
        let needed = message.needed_scale(received.range.largest).ok_or(RunError::OutOfRange)?;
        if needed != scale {
            (message.scale, message.finds_smallest) = (needed, true);
            received = distribute(message);
        }
        let from_parent = message.bounds(received.range, known_min);
        state.is_stored = !stored.is_empty() && !received.has_zeros;
        state.stored_bounds = from_parent;
        // The message to this clique was multiplied by a power of two, and `unmasked`, by which it
        // was divided, by another. The beliefs differ from the parent's by both. An `unmasked`
        // that is one everywhere was not computed from the table, so the table's power counts.
        let own_scale = if is_needed { state.sent_scale } else { clique.table.exponent };
        state.belief_scale = scale - needed + own_scale;
        let products = self.product_bounds(context, Some(from_parent));
        let state = &mut self.cliques[0];
        state.belief_bounds = products;
        if products.error.is_some() {
            let total = message::total(&self.beliefs[smallest], helpers);
            state.loss.add_error(products, node.entries, total);
        }
        Ok(())
    }

    /// Computes the beliefs of the first clique, which is the root, at the ports below.
    ///
    /// # Errors
    /// If the evidence is impossible or numbers are out of range.
    pub fn compute_root_beliefs<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
    ) -> Result<(), RunError> {
        let node = &context.filled.tree.nodes[self.first];
        self.cliques[0].loss = Loss::default();
        let left_out = LeftOut::find(node, self.first, self.cliques);
        match left_out.smallest_table(node) {
            Some(smallest) => self.compute_beliefs_without_parent(context, &left_out, smallest),
            None => Ok(()),
        }
    }

    /// Computes the beliefs of the first clique at the ports that are not `left_out`, if it is the
    /// root or if the message from its parent is stored. `smallest` is the smallest table at these
    /// ports.
    ///
    /// # Errors
    /// If the evidence is impossible or numbers are out of range.
    fn compute_beliefs_without_parent<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        left_out: &LeftOut,
        smallest: Range<usize>,
    ) -> Result<(), RunError> {
        let node = &context.filled.tree.nodes[self.first];
        let CliqueState { is_stored, stored_bounds, .. } = self.cliques[0];
        let products = self.product_bounds(context, is_stored.then_some(stored_bounds));
        let helpers = context.report.helpers(self.first, Phase::Distribute, context.forks);
        let clique = context.clique(self.first);
        let below = &self.up[..node.below.len()];
        let beliefs = &mut self.beliefs[..node.below.len()];
        let scratch = &mut self.scratch[..node.scratch.len()];
        let state = &mut self.cliques[0];
        let ports = left_out.ports(state);
        let from_parent = is_stored.then(|| FromParent::Stored(&self.stored[..node.stored.len()]));
        let outputs = Outputs { beliefs: &mut *beliefs, scratch, stored: None };
        downward::distribute(clique, ports, below, from_parent, outputs, helpers);
        let total = message::total(&beliefs[smallest], helpers);
        let scale = total.scale_exponent().ok_or_else(|| no_message(products.error))?;
        state.belief_bounds = products;
        state.belief_scale = if NEAR_ONE.contains(&scale) { 0 } else { scale };
        state.total = total;
        state.loss.add_error(products, node.entries, total);
        Ok(())
    }
}

/// The ports to children for which the message from the clique is stored. No beliefs are needed
/// there.
#[derive(Default)]
struct LeftOut {
    /// By port below: whether it is left out. Empty if no port is.
    is_left_out: Vec<bool>,
    /// The words of the other ports, if any port is left out.
    others: SumWords,
}

impl LeftOut {
    /// The ports of `node` that are left out. `cliques` are the states of the cliques from this
    /// one, number `first`, on.
    fn find(node: &Node, first: usize, cliques: &[CliqueState]) -> Self {
        let is_stored = |child: &usize| cliques[child - first].is_stored;
        if !node.children.iter().any(is_stored) {
            return Self::default();
        }
        let mut is_left_out: Vec<bool> = node.children.iter().map(is_stored).collect();
        is_left_out.resize(node.tables.len(), false);
        let others = node.sum_words(|port| !is_left_out[port]);
        Self { is_left_out, others }
    }

    /// The ports below the clique with this `state`.
    fn ports<'a>(&'a self, state: &'a CliqueState) -> DownwardPorts<'a> {
        let onto = if self.is_left_out.is_empty() { &state.ports } else { &self.others };
        DownwardPorts { onto, is_left_out: &self.is_left_out, active: &state.active }
    }

    /// The range of the smallest table of beliefs that is computed, as in
    /// [`tables`](Node::tables); `None` if no table is.
    fn smallest_table(&self, node: &Node) -> Option<Range<usize>> {
        let is_computed = |port: usize| self.is_left_out.get(port) != Some(&true);
        let tables = node.tables.iter().enumerate().filter(|(port, _)| is_computed(*port));
        tables.map(|(_, table)| table).min_by_key(|table| table.len()).cloned()
    }
}
