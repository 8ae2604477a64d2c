//! Passes the messages of a propagation in order, on several threads if there is enough work.
//!
//! On one thread, collect goes through the cliques in reverse preorder, and distribute in preorder.
//! On any number of threads, a clique sends its message to its parent after all its children have
//! sent theirs, and sends messages to its children after it received the message from its parent.
//! Collect and distribute skip messages that are not stale.
//!
//! Cliques are numbered in preorder, so the cliques of a subtree are consecutive, and so are their
//! tables in each region. The messages of a subtree are therefore slices of the [`State`], and
//! `split_at_mut` divides the state between threads without a lock. The work is divided by
//! subtrees, and in large tables by [parts](crate::engine::cpu::tree::division) that do not depend
//! on the number of threads. So this number changes no bit of the result.
//!
//! [`at_clique`](super::at_clique) has the work at one clique.
//!
//! [`State`]: crate::engine::cpu::pass::state::State

use std::ops::Range;

use crate::engine::RunError;
use crate::engine::cpu::helpers::worker;
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::message::Clique;
use crate::engine::cpu::pass::report::{MessageTimer, Report};
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::lowering::Optimisation;
use crate::potential::Entry;
use crate::propagation::{Activity, Phase, WorkerClock};

/// Minimum cost of the stale messages in a subtree, in table entries, for dividing the subtree
/// between threads. Tuned on the paper's eight networks; if it is wrong, only speed changes.
const MIN_FORK_WORK: usize = 10_000;

/// Subtrees are divided between threads down to this many levels below the root. Each level takes
/// about a kilobyte of a thread's stack, which has 2 MiB; a chain of thousands of cliques would
/// exceed it. If the constant is smaller, fewer messages of very deep trees are passed at the same
/// time.
const MAX_FORK_DEPTH: u32 = 256;

/// The part of a [`State`](crate::engine::cpu::pass::state::State) that belongs to consecutive
/// cliques: a subtree, neighbouring subtrees, or the first cliques of these. The slices are parts
/// of the fields of the state with the same names.
///
/// Methods act on the *first clique* of the part, and on the cliques below it.
pub struct StatePart<'a> {
    /// The number of the first clique.
    pub first: usize,
    /// Where `up` and `beliefs` begin in the region below.
    pub below_start: usize,
    /// Where `unmasked` and `mask` begin in the region above.
    pub above_start: usize,
    /// Where `scratch` begins in all scratch memory.
    pub scratch_start: usize,
    /// Where `stored` begins among all stored messages.
    pub stored_start: usize,
    pub up: &'a mut [f64],
    pub beliefs: &'a mut [f64],
    pub unmasked: &'a mut [f64],
    pub mask: &'a [f64],
    /// Empty if it is not allocated.
    pub stored: &'a mut [f64],
    pub scratch: &'a mut [f64],
    pub cliques: &'a mut [CliqueState],
    /// How deep the recursion that divides subtrees between threads is, in levels of the tree.
    pub fork_depth: u32,
}

/// The data that all threads of a propagation read.
pub struct PassContext<'a, T> {
    pub filled: &'a FilledTree<T>,
    pub report: Report<'a>,
    /// Whether the work may be shared with other threads.
    pub forks: bool,
}

impl<T> PassContext<'_, T> {
    /// The clique with this number and its table.
    pub fn clique(&self, number: usize) -> Clique<'_, T> {
        let FilledTree { tree, tables } = self.filled;
        let skips_zeros = tree.optimisations.has(Optimisation::SkippedZeros);
        Clique { node: &tree.nodes[number], table: &tables[number], skips_zeros }
    }
}

/// `range` relative to `start`.
fn relative_to(range: &Range<usize>, start: usize) -> Range<usize> {
    range.start - start..range.end - start
}

impl StatePart<'_> {
    /// Splits the part before `clique`. The second part begins with this clique.
    fn split_at(&mut self, tree: &Tree, clique: usize) -> (StatePart<'_>, StatePart<'_>) {
        let Some(node) = tree.nodes.get(clique) else {
            unreachable!("a part is split before one of its cliques")
        };
        let (below_start, above_start) = (node.below.start, node.above.start);
        let (scratch_start, stored_start) = (node.scratch.start, node.stored.start);
        let below_entries = below_start - self.below_start;
        let above_entries = above_start - self.above_start;
        let (up, up_after) = self.up.split_at_mut(below_entries);
        let (beliefs, beliefs_after) = self.beliefs.split_at_mut(below_entries);
        let (unmasked, unmasked_after) = self.unmasked.split_at_mut(above_entries);
        let (mask, mask_after) = self.mask.split_at(above_entries);
        let (scratch, scratch_after) =
            self.scratch.split_at_mut(scratch_start - self.scratch_start);
        let stored_entries = (stored_start - self.stored_start).min(self.stored.len());
        let (stored, stored_after) = self.stored.split_at_mut(stored_entries);
        let (cliques, cliques_after) = self.cliques.split_at_mut(clique - self.first);
        let before = StatePart { up, beliefs, unmasked, mask, stored, scratch, cliques, ..*self };
        let after = StatePart {
            first: clique,
            below_start,
            above_start,
            scratch_start,
            stored_start,
            up: up_after,
            beliefs: beliefs_after,
            unmasked: unmasked_after,
            mask: mask_after,
            stored: stored_after,
            scratch: scratch_after,
            cliques: cliques_after,
            fork_depth: self.fork_depth,
        };
        (before, after)
    }

    /// Collects in the whole tree: passes all stale messages toward the root. If the pass stays on
    /// one thread, the time of the first message is counted from `from`, and `from` is then set to
    /// the end of the last message.
    ///
    /// # Errors
    /// If the evidence is impossible, or numbers are out of range, or the propagation was
    /// cancelled.
    pub fn collect_all<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        from: &mut WorkerClock,
    ) -> Result<(), RunError> {
        if context.forks {
            self.collect_to_first(context)?;
        } else {
            let mut timer = context.report.timer_from(*from);
            self.collect_on_this_thread(context, &mut timer)?;
            *from = timer.end();
        }
        self.find_active(&context.filled.tree);
        Ok(())
    }

    /// Distributes in the whole tree: passes all stale messages away from the root. If the pass
    /// stays on one thread, the time of the first message is counted from `from` or from the end of
    /// the root's computation, and `from` is then set to the end of the last message.
    ///
    /// # Errors
    /// If the evidence is impossible, or numbers are out of range, or the propagation was
    /// cancelled.
    pub fn distribute_all<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        from: &mut WorkerClock,
    ) -> Result<(), RunError> {
        let root_is_stale = self.cliques[0].is_down_stale;
        if root_is_stale {
            // In distribute, no message goes to the root, so this time belongs to no message.
            let (worker, watch) = (worker(), context.report.watch);
            watch.activity(Activity::Root, worker, || self.compute_root_beliefs(context))?;
        }
        if context.forks {
            return self.distribute_from_first(context);
        }
        if root_is_stale {
            *from = context.report.watch.worker_clock();
        }
        let mut timer = context.report.timer_from(*from);
        self.distribute_on_this_thread(context, &mut timer)?;
        *from = timer.end();
        Ok(())
    }

    /// Whether to divide the subtree of the first clique between threads, given the cost of its
    /// stale messages.
    fn may_fork<T>(&self, context: &PassContext<'_, T>, work: usize) -> bool {
        let optimisations = context.filled.tree.optimisations;
        context.forks
            && work >= MIN_FORK_WORK
            && self.fork_depth < MAX_FORK_DEPTH
            && optimisations.has(Optimisation::ParallelSubtrees)
    }

    /// Passes all stale messages below the first clique toward this clique, on several threads if
    /// that pays off.
    fn collect_to_first<T: Entry>(&mut self, context: &PassContext<'_, T>) -> Result<(), RunError> {
        let tree = &context.filled.tree;
        let children = &tree.nodes[self.first].children;
        if !self.may_fork(context, self.cliques[0].work_up) {
            return self.collect_on_this_thread(context, &mut context.report.timer());
        }
        let Some(&child) = children.first() else { return Ok(()) };
        let (own, below) = self.split_at(tree, child);
        collect_children(below, context, children, own.up, own.below_start)
    }

    /// Passes all stale messages below the first clique toward this clique, on this thread.
    fn collect_on_this_thread<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        timer: &mut MessageTimer<'_>,
    ) -> Result<(), RunError> {
        let (tree, first) = (&context.filled.tree, self.first);
        for clique in (first + 1..tree.nodes[first].end).rev() {
            if !self.cliques[clique - first].is_up_stale {
                continue;
            }
            let in_parent = tree.nodes[clique].in_parent.clone();
            let (before, mut sender) = self.split_at(tree, clique);
            let up = &mut before.up[relative_to(&in_parent, before.below_start)];
            timer.message(clique, Phase::Collect, || sender.send_up(context, up))??;
        }
        Ok(())
    }

    /// Passes all stale messages below the first clique away from this clique, on several threads
    /// if that pays off.
    fn distribute_from_first<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
    ) -> Result<(), RunError> {
        let tree = &context.filled.tree;
        let children = &tree.nodes[self.first].children;
        if !self.may_fork(context, self.cliques[0].work_down) {
            return self.distribute_on_this_thread(context, &mut context.report.timer());
        }
        let Some(&child) = children.first() else { return Ok(()) };
        let (own, below) = self.split_at(tree, child);
        let parent =
            ParentBeliefs { values: own.beliefs, start: own.below_start, state: &own.cliques[0] };
        distribute_children(below, context, children, parent)
    }

    /// Passes all stale messages below the first clique away from this clique, on this thread.
    fn distribute_on_this_thread<T: Entry>(
        &mut self,
        context: &PassContext<'_, T>,
        timer: &mut MessageTimer<'_>,
    ) -> Result<(), RunError> {
        let (tree, first) = (&context.filled.tree, self.first);
        for clique in first + 1..tree.nodes[first].end {
            if !self.cliques[clique - first].is_down_stale {
                continue;
            }
            let Node { in_parent, parent, .. } = &tree.nodes[clique];
            let (before, mut receiver) = self.split_at(tree, clique);
            let belief = &before.beliefs[relative_to(in_parent, before.below_start)];
            let parent = parent.expect("only the root has no parent") - before.first;
            let parent = &before.cliques[parent];
            timer.message(clique, Phase::Distribute, || {
                receiver.compute_beliefs(context, belief, parent)
            })??;
        }
        Ok(())
    }
}

/// Collects in the subtrees of `children`, which `part` consists of, and passes the children's
/// messages to their parent.
///
/// `parent_up` receives the messages. It begins at `start` in the region below.
fn collect_children<T: Entry>(
    mut part: StatePart<'_>,
    context: &PassContext<'_, T>,
    children: &[usize],
    parent_up: &mut [f64],
    start: usize,
) -> Result<(), RunError> {
    let tree = &context.filled.tree;
    if let &[child] = children {
        part.fork_depth += 1;
        part.collect_to_first(context)?;
        if part.cliques[0].is_up_stale {
            let up = &mut parent_up[relative_to(&tree.nodes[child].in_parent, start)];
            let mut timer = context.report.timer();
            timer.message(child, Phase::Collect, || part.send_up(context, up))??;
        }
        return Ok(());
    }
    let (left, right) = children.split_at(children.len() / 2);
    let middle = tree.nodes[right[0]].in_parent.start;
    let (left_up, right_up) = parent_up.split_at_mut(middle - start);
    let (left_part, right_part) = part.split_at(tree, right[0]);
    let (left, right) = rayon::join(
        || collect_children(left_part, context, left, left_up, start),
        || collect_children(right_part, context, right, right_up, middle),
    );
    left.and(right)
}

/// A clique's beliefs over its separators below.
#[derive(Clone, Copy)]
struct ParentBeliefs<'a> {
    values: &'a [f64],
    /// Where the values begin in the region below.
    start: usize,
    /// The state of the clique.
    state: &'a CliqueState,
}

/// Passes the messages of `parent` to `children`, and distributes in their subtrees, which `part`
/// consists of.
fn distribute_children<T: Entry>(
    mut part: StatePart<'_>,
    context: &PassContext<'_, T>,
    children: &[usize],
    parent: ParentBeliefs<'_>,
) -> Result<(), RunError> {
    let tree = &context.filled.tree;
    if let &[child] = children {
        part.fork_depth += 1;
        if part.cliques[0].is_down_stale {
            let in_parent = relative_to(&tree.nodes[child].in_parent, parent.start);
            let belief = &parent.values[in_parent];
            let mut timer = context.report.timer();
            timer.message(child, Phase::Distribute, || {
                part.compute_beliefs(context, belief, parent.state)
            })??;
        }
        return part.distribute_from_first(context);
    }
    let (left, right) = children.split_at(children.len() / 2);
    let (left_part, right_part) = part.split_at(tree, right[0]);
    let (left, right) = rayon::join(
        || distribute_children(left_part, context, left, parent),
        || distribute_children(right_part, context, right, parent),
    );
    left.and(right)
}
