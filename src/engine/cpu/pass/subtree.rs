//! Passing messages in a part of the tree, on several threads.
//!
//! Cliques are numbered so that those of a subtree follow each other, and so do their tables.
//! A subtree's messages are therefore slices that nobody else holds, and the subtrees of two
//! children are given to two threads without a lock: the compiler checks that they share nothing.
//! What is computed does not depend on the number of threads, down to the last bit.

use std::ops::Range;

use crate::engine::RunError;
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::message;
use crate::engine::cpu::pass::report::{Lane, Report};
use crate::engine::cpu::tree::nodes::Tree;
use crate::potential::Entry;
use crate::propagation::{Phase, WorkerClock};

/// A subtree of less work than this, in entries of tables, stays on one thread.
pub const WORTH_A_THREAD: usize = 40_000;

/// What a propagation writes at the cliques from number `first` on.
pub struct Part<'a> {
    pub first: usize,
    /// Where the first of `up` and `beliefs` stands in the whole.
    pub below: usize,
    /// Where the first of `raw`, `down` and `mask` stands in the whole.
    pub above: usize,
    /// Where the first of `spare` stands in the whole.
    pub spare_start: usize,
    pub up: &'a mut [f64],
    pub beliefs: &'a mut [f64],
    pub raw: &'a mut [f64],
    pub down: &'a mut [f64],
    pub mask: &'a [f64],
    pub spare: &'a mut [f64],
    pub cliques: &'a mut [CliqueState],
}

/// What all threads look at.
pub struct Work<'a, T> {
    pub tree: &'a Tree<T>,
    pub report: Report<'a>,
    /// Whether there are threads to share work with.
    pub forks: bool,
    /// Whether messages are to say only what can be, 0 or 1.
    pub is_support: bool,
}

/// Leaves of `values` only whether they are more than nothing.
fn support(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = f64::from(*value > 0.0));
}

fn within(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start - start..range.end - start
}

impl Part<'_> {
    /// The cliques before number `clique`, and those from there on.
    fn split_at<T>(&mut self, tree: &Tree<T>, clique: usize) -> (Part<'_>, Part<'_>) {
        let Some(node) = tree.nodes.get(clique) else {
            unreachable!("a part is split before one of its cliques")
        };
        let (below, above, spare) = (node.below.start, node.above.start, node.spare.start);
        let (up, up_after) = self.up.split_at_mut(below - self.below);
        let (beliefs, beliefs_after) = self.beliefs.split_at_mut(below - self.below);
        let (raw, raw_after) = self.raw.split_at_mut(above - self.above);
        let (down, down_after) = self.down.split_at_mut(above - self.above);
        let (mask, mask_after) = self.mask.split_at(above - self.above);
        let (room, room_after) = self.spare.split_at_mut(spare - self.spare_start);
        let (cliques, cliques_after) = self.cliques.split_at_mut(clique - self.first);
        let before = Part { up, beliefs, raw, down, mask, spare: room, cliques, ..*self };
        let after = Part {
            first: clique,
            below,
            above,
            spare_start: spare,
            up: up_after,
            beliefs: beliefs_after,
            raw: raw_after,
            down: down_after,
            mask: mask_after,
            spare: room_after,
            cliques: cliques_after,
        };
        (before, after)
    }

    /// Passes all stale messages of the whole tree toward the root, the first of them from the moment
    /// `from` on.
    pub fn collect_all<T: Entry>(
        &mut self,
        work: &Work<'_, T>,
        from: &mut WorkerClock,
    ) -> Result<(), RunError> {
        if work.forks {
            return self.collect(work, None);
        }
        let mut lane = work.report.lane_from(*from);
        self.collect_below(work, &mut lane)?;
        *from = lane.end();
        self.activate(work.tree);
        Ok(())
    }

    /// Passes all stale messages of the whole tree away from the root, the first of them from the
    /// moment `from` on.
    pub fn distribute_all<T: Entry>(
        &mut self,
        work: &Work<'_, T>,
        from: &mut WorkerClock,
    ) -> Result<(), RunError> {
        if work.forks {
            return self.distribute(work, None);
        }
        if self.cliques[0].is_down_stale {
            // This is part of no message.
            self.spread(work);
            *from = work.report.watch.worker_clock();
        }
        let mut lane = work.report.lane_from(*from);
        self.distribute_below(work, &mut lane)?;
        *from = lane.end();
        Ok(())
    }

    /// Passes all stale messages of this part, the subtree below its first clique, toward that clique;
    /// and that clique's own, into `up`, if it has a parent.
    fn collect<T: Entry>(
        &mut self,
        work: &Work<'_, T>,
        up: Option<&mut [f64]>,
    ) -> Result<(), RunError> {
        let tree = work.tree;
        let first = self.first;
        let node = &tree.nodes[first];
        if !work.forks || self.cliques[0].work_up < WORTH_A_THREAD {
            self.collect_below(work, &mut work.report.lane())?;
        } else if let Some(&child) = node.children.first() {
            let (own, rest) = self.split_at(tree, child);
            let slots = &mut own.up[..];
            collect_children(rest, work, &node.children, slots, own.below)?;
        }
        match up {
            Some(_) if !self.cliques[0].is_up_stale => Ok(()),
            Some(up) => {
                work.report.lane().message(first, Phase::Collect, || self.send_up(work, up))?
            }
            None => {
                self.activate(tree);
                Ok(())
            }
        }
    }

    /// Passes the stale messages of all cliques below the first toward it, on one thread.
    fn collect_below<T: Entry>(
        &mut self,
        work: &Work<'_, T>,
        lane: &mut Lane<'_>,
    ) -> Result<(), RunError> {
        let (tree, first) = (work.tree, self.first);
        for clique in (first + 1..tree.nodes[first].end).rev() {
            if !self.cliques[clique - first].is_up_stale {
                continue;
            }
            let parent = tree.nodes[clique].in_parent.clone();
            let (before, mut after) = self.split_at(tree, clique);
            let up = &mut before.up[within(&parent, before.below)];
            lane.message(clique, Phase::Collect, || after.send_up(work, up))??;
        }
        Ok(())
    }

    /// Passes the message of the first clique to its parent.
    fn send_up<T: Entry>(&mut self, work: &Work<'_, T>, up: &mut [f64]) -> Result<(), RunError> {
        let tree = work.tree;
        self.activate(tree);
        let node = &tree.nodes[self.first];
        let state = &self.cliques[0];
        let mask = state.is_masked.then(|| &self.mask[..node.above.len()]);
        let mut exponent = state.entered;
        if state.is_needed {
            let below = &self.up[..node.below.len()];
            let raw = &mut self.raw[..node.above.len()];
            let scale = message::collect(node, &state.active, below, mask, raw, up, work.forks);
            exponent += i64::from(scale.ok_or(RunError::Impossible)?);
            if work.is_support {
                support(raw);
                support(up);
            }
            let of = |&child: &usize| self.cliques[child - self.first].exponent;
            exponent += node.children.iter().map(of).sum::<i64>();
        } else if let Some(mask) = mask {
            message::send_findings(node, mask, up);
        }
        self.cliques[0].exponent = exponent;
        Ok(())
    }

    /// Finds the ports of the first clique at which something is to be multiplied.
    fn activate<T: Entry>(&mut self, tree: &Tree<T>) {
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

    /// Passes the stale messages of this part, the subtree below its first clique, away from that
    /// clique; and first the one into it, from `belief`, if it has a parent.
    fn distribute<T: Entry>(
        &mut self,
        work: &Work<'_, T>,
        belief: Option<&[f64]>,
    ) -> Result<(), RunError> {
        let tree = work.tree;
        let first = self.first;
        let node = &tree.nodes[first];
        match belief {
            Some(_) if !self.cliques[0].is_down_stale => {}
            Some(belief) => work.report.lane().message(first, Phase::Distribute, || {
                self.receive(work, belief);
                self.spread(work);
            })?,
            None if !self.cliques[0].is_down_stale => {}
            None => self.spread(work),
        }
        if !work.forks || self.cliques[0].work_down < WORTH_A_THREAD {
            self.distribute_below(work, &mut work.report.lane())?;
        } else if let Some(&child) = node.children.first() {
            let (own, rest) = self.split_at(tree, child);
            distribute_children(rest, work, &node.children, own.beliefs, own.below)?;
        }
        Ok(())
    }

    /// Passes the stale messages from the first clique into all below it, on one thread.
    fn distribute_below<T: Entry>(
        &mut self,
        work: &Work<'_, T>,
        lane: &mut Lane<'_>,
    ) -> Result<(), RunError> {
        let (tree, first) = (work.tree, self.first);
        for clique in first + 1..tree.nodes[first].end {
            if !self.cliques[clique - first].is_down_stale {
                continue;
            }
            let parent = tree.nodes[clique].in_parent.clone();
            let (before, mut after) = self.split_at(tree, clique);
            let belief = &before.beliefs[within(&parent, before.below)];
            lane.message(clique, Phase::Distribute, || {
                after.receive(work, belief);
                after.spread(work);
            })?;
        }
        Ok(())
    }

    /// Receives the message of the parent, in the first clique.
    fn receive<T>(&mut self, work: &Work<'_, T>, belief: &[f64]) {
        let node = &work.tree.nodes[self.first];
        let raw = self.cliques[0].is_needed.then(|| &self.raw[..node.above.len()]);
        let down = &mut self.down[..node.above.len()];
        message::receive(node, belief, raw, down);
        if work.is_support {
            support(down);
        }
    }

    /// Finds the beliefs at all ports of the first clique.
    fn spread<T: Entry>(&mut self, work: &Work<'_, T>) {
        let node = &work.tree.nodes[self.first];
        if !node.below.is_empty() {
            let (below, down) = (&self.up[..node.below.len()], &self.down[..node.above.len()]);
            let (beliefs, state) = (&mut self.beliefs[..node.below.len()], &self.cliques[0]);
            let spare = &mut self.spare[..node.spare.len()];
            let columns = (&state.all, &state.active);
            message::distribute(node, columns, below, down, beliefs, spare, work.forks);
        }
    }
}

/// Collects in the subtrees of `children`, into `slots`, which begins at `start` of the whole.
fn collect_children<T: Entry>(
    mut part: Part<'_>,
    work: &Work<'_, T>,
    children: &[usize],
    slots: &mut [f64],
    start: usize,
) -> Result<(), RunError> {
    let nodes = &work.tree.nodes;
    if let [child] = children {
        return part.collect(work, Some(&mut slots[within(&nodes[*child].in_parent, start)]));
    }
    let (left, right) = children.split_at(children.len() / 2);
    let middle = nodes[right[0]].in_parent.start;
    let (left_slots, right_slots) = slots.split_at_mut(middle - start);
    let (before, after) = part.split_at(work.tree, right[0]);
    let (left, right) = rayon::join(
        || collect_children(before, work, left, left_slots, start),
        || collect_children(after, work, right, right_slots, middle),
    );
    left.and(right)
}

/// Distributes in the subtrees of `children`, from `slots`, which begins at `start` of the whole.
fn distribute_children<T: Entry>(
    mut part: Part<'_>,
    work: &Work<'_, T>,
    children: &[usize],
    slots: &[f64],
    start: usize,
) -> Result<(), RunError> {
    let nodes = &work.tree.nodes;
    if let [child] = children {
        return part.distribute(work, Some(&slots[within(&nodes[*child].in_parent, start)]));
    }
    let (left, right) = children.split_at(children.len() / 2);
    let (before, after) = part.split_at(work.tree, right[0]);
    let (left, right) = rayon::join(
        || distribute_children(before, work, left, slots, start),
        || distribute_children(after, work, right, slots, start),
    );
    left.and(right)
}
