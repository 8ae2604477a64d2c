//! Handing messages over from one tree to the next.

use std::ops::Range;

use rayon::ThreadPool;

use crate::engine::cpu::pass::message;
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::reuse::change::{Change, Fresh};
use crate::engine::cpu::reuse::reused::Twins;
use crate::engine::cpu::tree::nodes::Tree;
use crate::network::{Evidence, Network};
use crate::potential::Entry;

/// Fewer entries of messages than these stay on one thread.
const WORTH_A_THREAD: usize = 100_000;

impl State {
    /// The messages in `tree`, in `room`, of which those that hold for `evidence` are taken over from
    /// these in the tree `before`, on `threads` if there are many. What is left of these is room again.
    pub fn inherit<T: Entry>(
        &mut self,
        before: &Tree<T>,
        (tree, twins): (&Tree<T>, &Twins),
        room: Self,
        (network, evidence): (&Network, &Evidence),
        threads: Option<&ThreadPool>,
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
        let threads = threads.filter(|_| tree.above + tree.below >= WORTH_A_THREAD);
        let forks = threads.is_some();
        let giving = HandOver { before, given: self, tree, twins, change, forks };
        let all = 0..tree.nodes.len();
        let mut hand_over = || {
            giving.copy(all.clone(), raw, beliefs);
            giving.send_up(all.clone(), raw, up);
        };
        match threads {
            Some(threads) => threads.install(hand_over),
            None => hand_over(),
        }
        state
    }
}

/// What is handed over, and to where.
struct HandOver<'a, T> {
    before: &'a Tree<T>,
    /// The messages there.
    given: &'a State,
    tree: &'a Tree<T>,
    twins: &'a Twins,
    /// What is computed anew.
    change: &'a Change,
    /// Whether there are threads to share it with.
    forks: bool,
}

impl<T: Entry> HandOver<'_, T> {
    /// Copies what `cliques` say of the separators above and what they believe, into the tables of these
    /// cliques alone.
    fn copy(&self, cliques: Range<usize>, raw: &mut [f64], beliefs: &mut [f64]) {
        let (above, below) = self.starts(cliques.start);
        if let Some(middle) = self.middle(&cliques) {
            let (middle_above, middle_below) = self.starts(middle);
            let (raw, raw_after) = raw.split_at_mut(middle_above - above);
            let (beliefs, beliefs_after) = beliefs.split_at_mut(middle_below - below);
            rayon::join(
                || self.copy(cliques.start..middle, raw, beliefs),
                || self.copy(middle..cliques.end, raw_after, beliefs_after),
            );
            return;
        }
        for clique in cliques {
            let Some(twin) = self.twins.alike(clique) else { continue };
            let (node, twin) = (&self.tree.nodes[clique], &self.before.nodes[twin]);
            if self.sends(clique) {
                let raw = &mut raw[node.above.start - above..node.above.end - above];
                raw.copy_from_slice(&self.given.raw[twin.above.clone()]);
            }
            if !self.change.down[clique] {
                let beliefs = &mut beliefs[node.below.start - below..node.below.end - below];
                beliefs.copy_from_slice(&self.given.beliefs[twin.below.clone()]);
            }
        }
    }

    /// Sends what was copied to `cliques` from their children, into `up` of these cliques alone.
    fn send_up(&self, cliques: Range<usize>, raw: &[f64], up: &mut [f64]) {
        let below = self.starts(cliques.start).1;
        if let Some(middle) = self.middle(&cliques) {
            let (up, up_after) = up.split_at_mut(self.starts(middle).1 - below);
            rayon::join(
                || self.send_up(cliques.start..middle, raw, up),
                || self.send_up(middle..cliques.end, raw, up_after),
            );
            return;
        }
        let nodes = &self.tree.nodes;
        for &child in nodes[cliques].iter().flat_map(|node| &node.children) {
            if self.sends(child) {
                let node = &nodes[child];
                let up = &mut up[node.in_parent.start - below..node.in_parent.end - below];
                message::send_up(node, &raw[node.above.clone()], None, up);
            }
        }
    }

    /// Whether the message of `clique` to its parent is taken over.
    fn sends(&self, clique: usize) -> bool {
        let Change { needed, up, .. } = self.change;
        self.twins.alike(clique).is_some() && needed[clique] && !up[clique]
    }

    /// Where the tables of `clique` begin, above and below.
    fn starts(&self, clique: usize) -> (usize, usize) {
        let node = &self.tree.nodes[clique];
        (node.above.start, node.below.start)
    }

    /// Where `cliques` are parted so that two threads have about as much to copy, if that is worth it.
    fn middle(&self, cliques: &Range<usize>) -> Option<usize> {
        let nodes = &self.tree.nodes[cliques.clone()];
        let (first, last) = (nodes.first()?, nodes.last()?);
        let (start, end) = (first.above.start + first.below.start, last.above.end + last.below.end);
        if !self.forks || end - start < WORTH_A_THREAD {
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
    use crate::engine::cpu::tables::make::{Shelf, Sources};
    use crate::engine::cpu::tree::reduce::{Reduced, reduce};
    use crate::engine::threads::Threads;
    use crate::format::open;

    #[test]
    fn what_threads_take_over_is_the_same() {
        let network = open("diabetes").expect("it is shipped").network;
        let observed = |every: usize, but: usize| -> Vec<Option<usize>> {
            let count = network.variables().len();
            (0..count).map(|v| (v % every == 0 && v != but).then_some(0)).collect()
        };
        let (then, now) = (observed(9, usize::MAX), observed(9, 99));
        let reduced = |observed: &[Option<usize>], before: Option<&Reduced>| {
            let is_observed: Vec<bool> = observed.iter().map(Option::is_some).collect();
            let cancel = CancelToken::new();
            let found = reduce(&network, &is_observed, u64::MAX, 8, before, None, &cancel);
            found.expect("there is no limit")
        };
        let before = reduced(&then, None);
        let after = reduced(&now, Some(&before));
        let twins = Twins::new(&network, (&before.structure, &then), (&after.structure, &now));
        let tree = |reduced: &Reduced, observed: &[Option<usize>]| {
            let sources = Sources { network: &network, observed, threads: None };
            reduced.structure.rebuild(sources, None, &mut Shelf::<f64>::new())
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
        let handed_over = |threads: Option<&ThreadPool>| {
            let mut given = State::new(&old);
            given.raw.iter_mut().zip(1..).for_each(|(raw, at)| *raw = f64::from(at));
            given.beliefs.iter_mut().zip(1..).for_each(|(belief, at)| *belief = f64::from(at));
            given.told = Some(evidence(&then));
            let found = (&*network, &evidence(&now));
            given.inherit(&old, (&new, &twins), State::default(), found, threads)
        };
        let threads = Threads::new(2).expect("there are threads");
        let (one, two) = (handed_over(None), handed_over(Some(&threads)));
        assert!(new.above + new.below > 2 * WORTH_A_THREAD, "it is shared out");
        let taken = |values: &[f64]| values.iter().filter(|value| **value > 1.0).count();
        assert!(taken(&one.raw) > WORTH_A_THREAD && taken(&one.up) > WORTH_A_THREAD / 2);
        assert_eq!((&one.raw, &one.up, &one.beliefs), (&two.raw, &two.up, &two.beliefs));
    }
}
