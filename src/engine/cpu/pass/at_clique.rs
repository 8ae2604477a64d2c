//! The work at the first clique of a [`StatePart`]: its message to its parent, the message that it
//! receives, its beliefs, and the bounds of all these.
//! [`traversal`](super::traversal) does this work at each clique, in order.

use crate::engine::RunError;
use crate::engine::bounds::{Bounds, Loss, ProductBounds, no_message};
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::downward;
use crate::engine::cpu::pass::exchange::send_findings;
use crate::engine::cpu::pass::message::{self, Clique};
use crate::engine::cpu::pass::traversal::{PassContext, StatePart};
use crate::engine::cpu::tree::nodes::Tree;
use crate::potential::Entry;
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
        let (mut up_bounds, mut raised) = (state.entered_bounds, None);
        if state.is_needed {
            let below = &self.up[..node.below.len()];
            let unmasked = &mut self.unmasked[..node.above.len()];
            let clique = context.clique(self.first);
            let ports = &state.active;
            let helpers = context.report.helpers(self.first, Phase::Collect, context.forks);
            let largest = message::collect(clique, ports, below, mask, unmasked, helpers);
            let bounds = (largest, products, state.entered_bounds);
            let sent = message::send(node, bounds, mask, unmasked, up, helpers)?;
            exponent += i64::from(clique.table.exponent - sent.scale);
            (up_bounds, raised) = (sent.bounds, sent.raised);
            let exponent_of = |&child: &usize| self.cliques[child - self.first].exponent;
            exponent += node.children.iter().map(exponent_of).sum::<i64>();
        } else if let Some(mask) = mask {
            send_findings(node, mask, up);
        }
        let state = &mut self.cliques[0];
        (state.exponent, state.up_bounds, state.raised) = (exponent, up_bounds, raised);
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

    /// Computes the message from the parent to the first clique. `belief` is the parent's belief
    /// over the separator, in the order of the parent. `bounds` are the bounds of the products that
    /// the entries of `belief` are sums of.
    ///
    /// # Errors
    /// If the message is out of range.
    pub fn receive<T>(
        &mut self,
        context: &PassContext<'_, T>,
        belief: &[f64],
        bounds: Bounds,
    ) -> Result<(), RunError> {
        let node = &context.filled.tree.nodes[self.first];
        let unmasked = self.cliques[0].is_needed.then(|| &self.unmasked[..node.above.len()]);
        let down = &mut self.down[..node.above.len()];
        let helpers = context.report.helpers(self.first, Phase::Distribute, context.forks);
        let CliqueState { up_bounds, entered_bounds, raised, .. } = self.cliques[0];
        // `unmasked` is at most the largest entry of the message to the parent, divided by the
        // smallest product of likelihoods.
        let largest_unmasked = up_bounds.max - entered_bounds.min;
        let known_min = match (unmasked, raised) {
            (None, _) => bounds.known_min(),
            (Some(_), None) => bounds.known_min().map(|min| min - largest_unmasked),
            (Some(_), Some(_)) => None,
        };
        let found = message::receive(node, belief, unmasked, down, known_min, helpers);
        let state = &mut self.cliques[0];
        state.down_bounds = found.ok_or(RunError::OutOfRange)?;
        state.loss = match (unmasked, state.raised) {
            (Some(unmasked), Some(level)) => message::raised_share(node, belief, unmasked, level),
            _ => Loss::default(),
        };
        Ok(())
    }

    /// Computes the first clique's beliefs at all ports below.
    ///
    /// # Errors
    /// If the clique is the root, and the evidence is impossible or numbers are out of range.
    pub fn compute_beliefs<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
    ) -> Result<(), RunError> {
        let node = &context.filled.tree.nodes[self.first];
        let helpers = || context.report.helpers(self.first, Phase::Distribute, context.forks);
        if !node.below.is_empty() {
            let (below, down) = (&self.up[..node.below.len()], &self.down[..node.above.len()]);
            let (beliefs, state) = (&mut self.beliefs[..node.below.len()], &self.cliques[0]);
            let scratch = &mut self.scratch[..node.scratch.len()];
            let ports = (&state.ports, &state.active);
            let clique = context.clique(self.first);
            downward::distribute(clique, ports, below, down, beliefs, scratch, helpers());
        }
        let from_parent = node.parent.map(|_| self.cliques[0].down_bounds);
        let products = self.product_bounds(context, from_parent);
        self.cliques[0].belief_bounds = products;
        if products.error.is_none() && from_parent.is_some() {
            return Ok(());
        }
        let Some(port) = node.smallest_table() else { return Ok(()) };
        let total = message::total(&self.beliefs[port], helpers());
        let state = &mut self.cliques[0];
        if from_parent.is_none() {
            state.loss = Loss::default();
            if total == 0.0 {
                return Err(no_message(products.error));
            }
        }
        state.loss.add_error(products, node.entries, total);
        Ok(())
    }
}
