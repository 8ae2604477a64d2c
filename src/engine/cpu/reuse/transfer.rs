//! Transfers messages from the previous reduced tree to the new one.

use std::ops::Range;

use rayon::ThreadPool;

use crate::engine::cpu::pass::exchange::send_permuted;
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::reuse::change::{Change, MissingMessages};
use crate::engine::cpu::reuse::reused::ReusedCliques;
use crate::engine::cpu::tree::nodes::Tree;
use crate::network::{Evidence, Network};

/// Minimum number of message entries for dividing them between two threads. Tuned on the paper's
/// eight networks; if it is wrong, only speed changes.
const MIN_FORK_ENTRIES: usize = 100_000;

impl State {
    /// Makes a state for the new `tree`, in the memory of `spare`, and finds what a propagation of
    /// `evidence` has to compute there. `self` is the state of the tree `previous`. Its messages
    /// and beliefs are copied if they are valid for `evidence` in the new tree, on `threads` if
    /// there is much to copy. Afterwards, `self` can only be used as spare memory.
    pub fn transfer(
        &mut self,
        previous: &Tree,
        (tree, reused): (&Tree, &ReusedCliques),
        spare: Self,
        (network, evidence): (&Network, &Evidence),
        threads: Option<&ThreadPool>,
    ) -> Self {
        let mut state = spare.reset_with(tree, |clique| {
            let previous = reused.with_same_ports(clique);
            previous.map(|clique| std::mem::take(&mut self.cliques[clique]))
        });
        (state.propagated, state.posteriors) = (self.propagated.take(), self.posteriors.take());
        let Some(propagated) = &state.propagated else {
            state.find_change(network, tree, evidence);
            return state;
        };
        let is_new = |clique| reused.with_same_ports(clique).is_none();
        let mut missing = MissingMessages {
            up: reused.is_subtree_reused.iter().map(|reused| !reused).collect(),
            down: (0..tree.nodes.len()).map(is_new).collect(),
        };
        // A finding may be entered at another clique than in the previous tree, so messages toward
        // the root that depend on findings are not transferred.
        let findings = propagated.iter().chain(evidence.iter());
        missing.add_findings(tree, findings.map(|(variable, _)| variable));
        state.missing = Some(missing);
        state.find_change(network, tree, evidence);
        let Self { up, unmasked, beliefs, change, .. } = &mut state;
        let threads = threads.filter(|_| tree.above + tree.below >= MIN_FORK_ENTRIES);
        let forks = threads.is_some();
        let transfer = Transfer { previous, from: self, tree, reused, change, forks };
        let all = 0..tree.nodes.len();
        let mut copy = || {
            transfer.copy(all.clone(), unmasked, beliefs);
            transfer.send_up(all.clone(), unmasked, up);
        };
        match threads {
            Some(threads) => threads.install(copy),
            None => copy(),
        }
        state
    }
}

/// A transfer of messages between two trees.
struct Transfer<'a> {
    previous: &'a Tree,
    /// The messages in `previous`.
    from: &'a State,
    tree: &'a Tree,
    reused: &'a ReusedCliques,
    /// The messages and beliefs that will be computed again, and so are not copied.
    change: &'a Change,
    /// Whether there are threads to share the work with.
    forks: bool,
}

impl Transfer<'_> {
    /// Copies the messages and beliefs of `cliques`. `unmasked` is a part of the new tree's region
    /// above, and `beliefs` a part of its region below. Both begin with the tables of the first of
    /// these cliques.
    fn copy(&self, cliques: Range<usize>, unmasked: &mut [f64], beliefs: &mut [f64]) {
        let (above, below) = self.starts(cliques.start);
        if let Some(middle) = self.middle(&cliques) {
            let (middle_above, middle_below) = self.starts(middle);
            let (unmasked, unmasked_after) = unmasked.split_at_mut(middle_above - above);
            let (beliefs, beliefs_after) = beliefs.split_at_mut(middle_below - below);
            rayon::join(
                || self.copy(cliques.start..middle, unmasked, beliefs),
                || self.copy(middle..cliques.end, unmasked_after, beliefs_after),
            );
            return;
        }
        for clique in cliques {
            let Some(old) = self.reused.with_same_ports(clique) else { continue };
            let (node, old) = (&self.tree.nodes[clique], &self.previous.nodes[old]);
            if self.copies_message(clique) {
                let unmasked = &mut unmasked[node.above.start - above..node.above.end - above];
                unmasked.copy_from_slice(&self.from.unmasked[old.above.clone()]);
            }
            if !self.change.down[clique] {
                let beliefs = &mut beliefs[node.below.start - below..node.below.end - below];
                beliefs.copy_from_slice(&self.from.beliefs[old.below.clone()]);
            }
        }
    }

    /// Sends the copied messages to `cliques` from their children. `unmasked` is the whole region
    /// above. `up` is a part of the region below, and begins with the tables of the first of these
    /// cliques.
    fn send_up(&self, cliques: Range<usize>, unmasked: &[f64], up: &mut [f64]) {
        let below = self.starts(cliques.start).1;
        if let Some(middle) = self.middle(&cliques) {
            let (up, up_after) = up.split_at_mut(self.starts(middle).1 - below);
            rayon::join(
                || self.send_up(cliques.start..middle, unmasked, up),
                || self.send_up(middle..cliques.end, unmasked, up_after),
            );
            return;
        }
        let nodes = &self.tree.nodes;
        for &child in nodes[cliques].iter().flat_map(|node| &node.children) {
            if self.copies_message(child) {
                let node = &nodes[child];
                let up = &mut up[node.in_parent.start - below..node.in_parent.end - below];
                let unmasked = &unmasked[node.above.clone()];
                send_permuted(node.permutation.as_ref(), unmasked, None, up);
            }
        }
    }

    /// Whether the message of `clique` to its parent is copied.
    fn copies_message(&self, clique: usize) -> bool {
        let Change { needed, up, .. } = self.change;
        self.reused.with_same_ports(clique).is_some() && needed[clique] && !up[clique]
    }

    /// Where the tables of `clique` begin in the regions above and below of the new tree; see
    /// [`Node`](crate::engine::cpu::tree::nodes::Node).
    fn starts(&self, clique: usize) -> (usize, usize) {
        let node = &self.tree.nodes[clique];
        (node.above.start, node.below.start)
    }

    /// The clique before which `cliques` are divided between two threads, so that both threads copy
    /// about the same number of entries; `None` if dividing `cliques` does not pay off.
    fn middle(&self, cliques: &Range<usize>) -> Option<usize> {
        let nodes = &self.tree.nodes[cliques.clone()];
        let (first, last) = (nodes.first()?, nodes.last()?);
        let (start, end) = (first.above.start + first.below.start, last.above.end + last.below.end);
        if !self.forks || end - start < MIN_FORK_ENTRIES {
            return None;
        }
        let half = start + (end - start) / 2;
        let middle = nodes.partition_point(|node| node.above.start + node.below.start < half);
        (middle > 0 && middle < nodes.len()).then(|| cliques.start + middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::cpu::context::TableInputs;
    use crate::engine::cpu::tables::filled::FilledTree;
    use crate::engine::cpu::tables::pool::ReusePool;
    use crate::engine::cpu::tree::reduce::{ReducedTree, Search, reduce};
    use crate::engine::threads::Threads;
    use crate::format::open;
    use crate::lowering::Optimisations;

    #[test]
    fn several_threads_transfer_the_same_messages() {
        let network = open("diabetes").expect("a sample of this name").network;
        let observed = |every: usize, except: usize| -> Vec<Option<usize>> {
            let count = network.variables().len();
            (0..count).map(|v| (v % every == 0 && v != except).then_some(0)).collect()
        };
        let (then, now) = (observed(9, usize::MAX), observed(9, 99));
        let reduced = |observed: &[Option<usize>], previous: Option<&ReducedTree>| {
            let is_observed: Vec<bool> = observed.iter().map(Option::is_some).collect();
            let cancel = CancelToken::new();
            let found = reduce(&network, &is_observed, previous, Search::unlimited(&cancel));
            found.expect("there is no limit")
        };
        let before = reduced(&then, None);
        let after = reduced(&now, Some(&before));
        let reused =
            ReusedCliques::new(&network, (&before.structure, &then), (&after.structure, &now));
        let tree = |reduced: &ReducedTree, observed: &[Option<usize>]| {
            let optimisations = Optimisations::default();
            let smallest = &[];
            let inputs =
                TableInputs { network: &network, observed, smallest, threads: None, optimisations };
            let mut pool = ReusePool::<f64>::new();
            FilledTree::rebuild(&reduced.structure, inputs, None, &mut pool).tree
        };
        let (old, new) = (tree(&before, &then), tree(&after, &now));
        let evidence = |observed: &[Option<usize>]| {
            let mut evidence = Evidence::none();
            for (variable, state) in network.ids().zip(observed) {
                if let Some(state) = *state {
                    evidence.observe(&network, variable, state);
                }
            }
            evidence
        };
        let transferred = |threads: Option<&ThreadPool>| {
            let mut from = State::new(&old);
            from.unmasked.iter_mut().zip(1..).for_each(|(entry, at)| *entry = f64::from(at));
            from.beliefs.iter_mut().zip(1..).for_each(|(belief, at)| *belief = f64::from(at));
            from.propagated = Some(evidence(&then));
            let now = (&*network, &evidence(&now));
            from.transfer(&old, (&new, &reused), State::default(), now, threads)
        };
        let threads = Threads::new(2).expect("two threads start");
        let (one, two) = (transferred(None), transferred(Some(&threads)));
        assert!(new.above + new.below > 2 * MIN_FORK_ENTRIES, "two threads share the work");
        let count = |values: &[f64]| values.iter().filter(|value| **value > 1.0).count();
        assert!(count(&one.unmasked) > MIN_FORK_ENTRIES && count(&one.up) > MIN_FORK_ENTRIES / 2);
        assert_eq!((&one.unmasked, &one.up, &one.beliefs), (&two.unmasked, &two.up, &two.beliefs));
    }
}
