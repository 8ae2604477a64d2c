//! Passes messages in a subtree, on several threads if there is enough work.
//!
//! Cliques are numbered in preorder, so the cliques of a subtree are consecutive, and so are their
//! tables in each region. A subtree's messages are therefore slices that nothing else refers to,
//! and the subtrees of two children can be given to two threads without a lock: the compiler checks
//! that they share nothing mutable. The computation is the same, to the last bit, whatever the
//! number of threads.

use std::ops::Range;

use crate::engine::RunError;
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::message::{self, Clique};
use crate::engine::cpu::pass::report::{MessageTimer, Report};
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tree::nodes::Tree;
use crate::potential::Entry;
use crate::propagation::{Phase, WorkerClock};

/// Minimum work, in table entries, for a subtree to be divided between threads. Tuned on
/// the paper's eight networks; if it is wrong, only speed changes.
const MIN_FORK_WORK: usize = 40_000;

/// The messages of `cliques`, which are consecutive from number `first` on. In a whole subtree,
/// clique `first` is the root. The slices are parts of the fields of
/// [`State`](crate::engine::cpu::pass::state::State) with the same names.
pub struct Subtree<'a> {
    pub first: usize,
    /// Where `up` and `beliefs` begin in the region below.
    pub below: usize,
    /// Where `unmasked`, `down` and `mask` begin in the region above.
    pub above: usize,
    /// Where `scratch` begins in all scratch memory.
    pub scratch_start: usize,
    pub up: &'a mut [f64],
    pub beliefs: &'a mut [f64],
    pub unmasked: &'a mut [f64],
    pub down: &'a mut [f64],
    pub mask: &'a [f64],
    pub scratch: &'a mut [f64],
    pub cliques: &'a mut [CliqueState],
}

/// The data that all threads share.
pub struct PassContext<'a, T> {
    pub filled: &'a FilledTree<T>,
    pub report: Report<'a>,
    /// Whether there are threads to share the work with.
    pub forks: bool,
    /// Whether messages only say what is possible: every entry is 0 or 1.
    pub is_boolean: bool,
}

impl<T> PassContext<'_, T> {
    fn clique(&self, number: usize) -> Clique<'_, T> {
        Clique { node: &self.filled.tree.nodes[number], table: &self.filled.tables[number] }
    }
}

/// Replaces positive values by one.
fn to_boolean(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = f64::from(*value > 0.0));
}

/// `range` relative to `start`.
fn relative_to(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start - start..range.end - start
}

impl Subtree<'_> {
    /// Divides the cliques and their messages before clique number `clique`.
    fn split_at(&mut self, tree: &Tree, clique: usize) -> (Subtree<'_>, Subtree<'_>) {
        let Some(node) = tree.nodes.get(clique) else {
            unreachable!("a subtree is split before one of its cliques")
        };
        let (below, above) = (node.below.start, node.above.start);
        let scratch_start = node.scratch.start;
        let (up, up_after) = self.up.split_at_mut(below - self.below);
        let (beliefs, beliefs_after) = self.beliefs.split_at_mut(below - self.below);
        let (unmasked, unmasked_after) = self.unmasked.split_at_mut(above - self.above);
        let (down, down_after) = self.down.split_at_mut(above - self.above);
        let (mask, mask_after) = self.mask.split_at(above - self.above);
        let (scratch, scratch_after) =
            self.scratch.split_at_mut(scratch_start - self.scratch_start);
        let (cliques, cliques_after) = self.cliques.split_at_mut(clique - self.first);
        let before = Subtree { up, beliefs, unmasked, down, mask, scratch, cliques, ..*self };
        let after = Subtree {
            first: clique,
            below,
            above,
            scratch_start,
            up: up_after,
            beliefs: beliefs_after,
            unmasked: unmasked_after,
            down: down_after,
            mask: mask_after,
            scratch: scratch_after,
            cliques: cliques_after,
        };
        (before, after)
    }

    /// Passes all stale messages of the whole tree toward the root. On one thread, the
    /// time of the first message is counted from `from`, and `from` is then set to the end of the
    /// last message.
    ///
    /// # Errors
    /// If the evidence is impossible or the propagation was cancelled.
    pub fn collect_all<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        from: &mut WorkerClock,
    ) -> Result<(), RunError> {
        if context.forks {
            return self.collect(context, None);
        }
        let mut timer = context.report.timer_from(*from);
        self.collect_below(context, &mut timer)?;
        *from = timer.end();
        self.find_active(&context.filled.tree);
        Ok(())
    }

    /// Passes all stale messages of the whole tree away from the root. On one thread, the
    /// time of the first message is counted from `from`, and `from` is then set to the end of the
    /// last message.
    ///
    /// # Errors
    /// If the propagation was cancelled.
    pub fn distribute_all<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        from: &mut WorkerClock,
    ) -> Result<(), RunError> {
        if context.forks {
            return self.distribute(context, None);
        }
        if self.cliques[0].is_down_stale {
            // The root computes its beliefs, which is part of no message.
            self.compute_beliefs(context);
            *from = context.report.watch.worker_clock();
        }
        let mut timer = context.report.timer_from(*from);
        self.distribute_below(context, &mut timer)?;
        *from = timer.end();
        Ok(())
    }

    /// Passes all stale messages below the first clique toward that clique. Then passes the
    /// clique's own message into `up`, the parent's table; `None` for the root.
    fn collect<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        up: Option<&mut [f64]>,
    ) -> Result<(), RunError> {
        let tree = &context.filled.tree;
        let first = self.first;
        let node = &tree.nodes[first];
        if !context.forks || self.cliques[0].work_up < MIN_FORK_WORK {
            self.collect_below(context, &mut context.report.timer())?;
        } else if let Some(&child) = node.children.first() {
            let (own, rest) = self.split_at(tree, child);
            let slots = &mut own.up[..];
            collect_children(rest, context, &node.children, slots, own.below)?;
        }
        match up {
            Some(_) if !self.cliques[0].is_up_stale => Ok(()),
            Some(up) => context
                .report
                .timer()
                .message(first, Phase::Collect, || self.send_up(context, up))?,
            None => {
                self.find_active(tree);
                Ok(())
            }
        }
    }

    /// Passes all stale messages below the first clique toward that clique, on one thread.
    fn collect_below<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        timer: &mut MessageTimer<'_>,
    ) -> Result<(), RunError> {
        let (tree, first) = (&context.filled.tree, self.first);
        for clique in (first + 1..tree.nodes[first].end).rev() {
            if !self.cliques[clique - first].is_up_stale {
                continue;
            }
            let parent = tree.nodes[clique].in_parent.clone();
            let (before, mut after) = self.split_at(tree, clique);
            let up = &mut before.up[relative_to(&parent, before.below)];
            timer.message(clique, Phase::Collect, || after.send_up(context, up))??;
        }
        Ok(())
    }

    /// Computes the message of the first clique to its parent.
    fn send_up<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        up: &mut [f64],
    ) -> Result<(), RunError> {
        let tree = &context.filled.tree;
        self.find_active(tree);
        let node = &tree.nodes[self.first];
        let state = &self.cliques[0];
        let mask = state.is_masked.then(|| &self.mask[..node.above.len()]);
        let mut exponent = state.entered;
        if state.is_needed {
            let below = &self.up[..node.below.len()];
            let unmasked = &mut self.unmasked[..node.above.len()];
            let clique = context.clique(self.first);
            let ports = &state.active;
            let scale = message::collect(clique, ports, below, mask, unmasked, up, context.forks);
            exponent += i64::from(scale.ok_or(RunError::Impossible)?);
            if context.is_boolean {
                to_boolean(unmasked);
                to_boolean(up);
            }
            let exponent_of = |&child: &usize| self.cliques[child - self.first].exponent;
            exponent += node.children.iter().map(exponent_of).sum::<i64>();
        } else if let Some(mask) = mask {
            message::send_findings(node, mask, up);
        }
        self.cliques[0].exponent = exponent;
        Ok(())
    }

    /// Finds the ports of the first clique whose messages or weights are not one everywhere.
    fn find_active(&mut self, tree: &Tree) {
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

    /// Passes the message from the parent into the first clique if it is stale, and then all stale
    /// messages below. `belief` is the parent's belief over the separator; `None` for the root.
    fn distribute<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        belief: Option<&[f64]>,
    ) -> Result<(), RunError> {
        let tree = &context.filled.tree;
        let first = self.first;
        let node = &tree.nodes[first];
        match belief {
            Some(_) if !self.cliques[0].is_down_stale => {}
            Some(belief) => context.report.timer().message(first, Phase::Distribute, || {
                self.receive(context, belief);
                self.compute_beliefs(context);
            })?,
            None if !self.cliques[0].is_down_stale => {}
            None => self.compute_beliefs(context),
        }
        if !context.forks || self.cliques[0].work_down < MIN_FORK_WORK {
            self.distribute_below(context, &mut context.report.timer())?;
        } else if let Some(&child) = node.children.first() {
            let (own, rest) = self.split_at(tree, child);
            distribute_children(rest, context, &node.children, own.beliefs, own.below)?;
        }
        Ok(())
    }

    /// Passes all stale messages below the first clique away from that clique, on one thread.
    fn distribute_below<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        timer: &mut MessageTimer<'_>,
    ) -> Result<(), RunError> {
        let (tree, first) = (&context.filled.tree, self.first);
        for clique in first + 1..tree.nodes[first].end {
            if !self.cliques[clique - first].is_down_stale {
                continue;
            }
            let parent = tree.nodes[clique].in_parent.clone();
            let (before, mut after) = self.split_at(tree, clique);
            let belief = &before.beliefs[relative_to(&parent, before.below)];
            timer.message(clique, Phase::Distribute, || {
                after.receive(context, belief);
                after.compute_beliefs(context);
            })?;
        }
        Ok(())
    }

    /// Computes the message from the parent into the first clique.
    fn receive<T>(&mut self, context: &PassContext<'_, T>, belief: &[f64]) {
        let node = &context.filled.tree.nodes[self.first];
        let unmasked = self.cliques[0].is_needed.then(|| &self.unmasked[..node.above.len()]);
        let down = &mut self.down[..node.above.len()];
        message::receive(node, belief, unmasked, down);
        if context.is_boolean {
            to_boolean(down);
        }
    }

    /// Computes the first clique's beliefs at all ports below.
    fn compute_beliefs<T: Entry>(&mut self, context: &PassContext<'_, T>) {
        let node = &context.filled.tree.nodes[self.first];
        if !node.below.is_empty() {
            let (below, down) = (&self.up[..node.below.len()], &self.down[..node.above.len()]);
            let (beliefs, state) = (&mut self.beliefs[..node.below.len()], &self.cliques[0]);
            let scratch = &mut self.scratch[..node.scratch.len()];
            let ports = (&state.ports, &state.active);
            let clique = context.clique(self.first);
            message::distribute(clique, ports, below, down, beliefs, scratch, context.forks);
        }
    }
}

/// Collects in the subtrees of `children`. `slots` are the tables that receive the children's
/// messages; they begin at `start` in the region below.
fn collect_children<T: Entry>(
    mut subtree: Subtree<'_>,
    context: &PassContext<'_, T>,
    children: &[usize],
    slots: &mut [f64],
    start: usize,
) -> Result<(), RunError> {
    let nodes = &context.filled.tree.nodes;
    if let [child] = children {
        return subtree
            .collect(context, Some(&mut slots[relative_to(&nodes[*child].in_parent, start)]));
    }
    let (left, right) = children.split_at(children.len() / 2);
    let middle = nodes[right[0]].in_parent.start;
    let (left_slots, right_slots) = slots.split_at_mut(middle - start);
    let (before, after) = subtree.split_at(&context.filled.tree, right[0]);
    let (left, right) = rayon::join(
        || collect_children(before, context, left, left_slots, start),
        || collect_children(after, context, right, right_slots, middle),
    );
    left.and(right)
}

/// Distributes in the subtrees of `children`. `slots` are the parent's beliefs that the children
/// receive; they begin at `start` in the region below.
fn distribute_children<T: Entry>(
    mut subtree: Subtree<'_>,
    context: &PassContext<'_, T>,
    children: &[usize],
    slots: &[f64],
    start: usize,
) -> Result<(), RunError> {
    let nodes = &context.filled.tree.nodes;
    if let [child] = children {
        return subtree
            .distribute(context, Some(&slots[relative_to(&nodes[*child].in_parent, start)]));
    }
    let (left, right) = children.split_at(children.len() / 2);
    let (before, after) = subtree.split_at(&context.filled.tree, right[0]);
    let (left, right) = rayon::join(
        || distribute_children(before, context, left, slots, start),
        || distribute_children(after, context, right, slots, start),
    );
    left.and(right)
}
