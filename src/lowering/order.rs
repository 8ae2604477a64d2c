//! The order in which the cliques of a program are contracted.
//!
//! In collect, a clique comes after its children, and in distribute after its parent. The cliques
//! of one level of the tree do not depend on one another, so threads can contract them at the same
//! time. A level is divided into groups, so that the memory of a program is limited and does not
//! depend on the number of threads.

use std::cmp::Reverse;

use super::{LoweredTree, Optimisation, Optimisations, PlannedStep, Step};
use crate::propagation::Phase;

/// The contractions of a group together may need this many entries, even if the largest contraction
/// needs fewer: 4 MiB in double precision. If it is smaller, less is computed at the same time; if
/// it is larger, small networks need more memory.
const MIN_GROUP_ENTRIES: usize = 1 << 19;

/// The cliques in the order in which they are contracted, in groups.
#[derive(Clone, Debug)]
pub struct ContractionOrder {
    cliques: Vec<usize>,
    groups: Vec<Group>,
}

/// A group of consecutive cliques of the order.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// One past the last clique of the group, as a position in the order.
    end: usize,
    /// As [`CliqueGroup::work`].
    work: f64,
    /// Number of entries that the contractions need together: their outputs in distribute, and
    /// their scratch memory. In collect, the outputs are the messages to parents, whose memory is
    /// needed in any case.
    entries: usize,
}

/// Cliques that do not depend on one another.
#[derive(Clone, Copy, Debug)]
pub struct CliqueGroup<'a> {
    /// The cliques by number, those with the most work first.
    pub cliques: &'a [usize],
    /// Number of multiplications and additions of all their contractions together.
    pub work: f64,
}

impl ContractionOrder {
    /// The order of the contractions `planned` for the cliques of `tree` in `phase`. The root is
    /// left out in collect. No contraction of the program needs more than `largest` entries.
    pub(super) fn new(
        tree: &LoweredTree,
        planned: &[Option<PlannedStep>],
        phase: Phase,
        largest: usize,
        optimisations: Optimisations,
    ) -> Self {
        // By clique: its distance from the root. Parents come before their children.
        let mut levels: Vec<usize> = Vec::with_capacity(tree.len());
        for clique in tree.iter() {
            levels.push(clique.parent.map_or(0, |parent| levels[parent] + 1));
        }
        let step = |clique: usize| planned[clique].as_ref().map(|planned| &*planned.step);
        let work: Vec<f64> =
            (0..tree.len()).map(|clique| step(clique).map_or(0.0, Step::work)).collect();
        let entries = |clique: usize| {
            step(clique).map_or(0, |step| match phase {
                Phase::Collect => step.scratch_entries(),
                Phase::Distribute => step.entries(),
            })
        };
        let mut cliques: Vec<usize> = match phase {
            Phase::Collect => (1..tree.len()).rev().collect(),
            Phase::Distribute => (0..tree.len()).collect(),
        };
        let is_grouped = optimisations.has(Optimisation::ParallelSubtrees);
        if is_grouped {
            let by_work = |clique: usize| Reverse(work[clique] as u64);
            match phase {
                Phase::Collect => cliques.sort_by_key(|&c| (Reverse(levels[c]), by_work(c))),
                Phase::Distribute => cliques.sort_by_key(|&c| (levels[c], by_work(c))),
            }
        }
        let max_entries = largest.max(MIN_GROUP_ENTRIES);
        let mut groups: Vec<Group> = Vec::new();
        let mut level = None;
        for (position, &clique) in cliques.iter().enumerate() {
            let (own, end) = (entries(clique), position + 1);
            let last = groups.last_mut().filter(|_| is_grouped && level == Some(levels[clique]));
            match last.filter(|last| last.entries.saturating_add(own) <= max_entries) {
                Some(last) => {
                    *last =
                        Group { end, work: last.work + work[clique], entries: last.entries + own };
                }
                None => groups.push(Group { end, work: work[clique], entries: own }),
            }
            level = Some(levels[clique]);
        }
        Self { cliques, groups }
    }

    /// The groups, in the order in which they are contracted.
    pub fn groups(&self) -> impl Iterator<Item = CliqueGroup<'_>> {
        self.groups.iter().scan(0, |start, group| {
            let cliques = &self.cliques[*start..group.end];
            *start = group.end;
            Some(CliqueGroup { cliques, work: group.work })
        })
    }

    /// Maximum number of entries that the contractions of a group need together, apart from
    /// messages to parents.
    pub fn entries(&self) -> usize {
        self.groups.iter().map(|group| group.entries).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cancel::CancelToken;
    use crate::format::open;
    use crate::lowering::Program;
    use crate::network::Evidence;
    use crate::propagation::{CompileOptions, compile};

    fn program(name: &str, optimisations: Optimisations) -> Program {
        let network = Arc::clone(&open(name).expect("a shipped network").network);
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
        let compiled = compiled.expect("it is not cancelled");
        Program::new(&compiled, &Evidence::none(), optimisations)
    }

    #[test]
    fn cliques_of_a_group_do_not_depend_on_one_another() {
        for (name, all_levels_fit) in [("alarm", true), ("barley", false)] {
            let program = program(name, Optimisations::default());
            let tree = &program.tree;
            for (order, is_collect) in
                [(&program.collect_order, true), (&program.distribute_order, false)]
            {
                // By clique: the number of its group. The root takes no part in collect.
                let mut group_of = vec![usize::MAX; tree.len()];
                for (number, group) in order.groups().enumerate() {
                    for &clique in group.cliques {
                        assert_eq!(group_of[clique], usize::MAX, "{name}: a clique in two groups");
                        group_of[clique] = number;
                    }
                }
                for (clique, lowered) in tree.iter().enumerate().skip(1) {
                    let parent = lowered.parent.expect("only the root has no parent");
                    match is_collect {
                        true => assert!(parent == 0 || group_of[clique] < group_of[parent]),
                        false => assert!(group_of[parent] < group_of[clique]),
                    }
                }
                assert_eq!(group_of[0] == usize::MAX, is_collect);
                assert!(group_of[1..].iter().all(|&group| group != usize::MAX));
                let steps = program.collect.iter().chain(&program.distribute).flatten();
                let largest = steps.map(|planned| planned.step.entries()).max().unwrap_or(0);
                assert!(order.entries() <= largest.max(MIN_GROUP_ENTRIES));
                let groups = order.groups().count();
                assert!(groups < group_of.len() / 2, "{name}: {groups} groups");
                assert_eq!(largest < MIN_GROUP_ENTRIES, all_levels_fit);
            }
        }
    }

    #[test]
    fn each_clique_is_a_group_if_cliques_are_not_contracted_at_the_same_time() {
        let off = Optimisations::default().without(Optimisation::ParallelSubtrees);
        let program = program("alarm", off);
        assert_eq!(program.collect_order.groups().count(), program.tree.len() - 1);
        let groups = program.distribute_order.groups();
        assert!(groups.enumerate().all(|(clique, group)| group.cliques == [clique]));
    }
}
