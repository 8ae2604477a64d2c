//! When the cliques of a program are contracted.
//!
//! In collect, a clique comes after its children, and in distribute after its parent. The cliques
//! at the same depth of the tree do not depend on one another, so threads can contract them at the
//! same time. They are divided into groups that need a limited amount of memory together. The
//! forecast of memory therefore holds for any number of threads.

use std::cmp::Reverse;

use super::{LoweredTree, Optimisation, Optimisations, PlannedStep};
use crate::propagation::Phase;

/// The contractions of a group may need this many entries together, or as many as the largest
/// contraction if that is more. In double precision this is 4 MiB. If it is smaller, fewer cliques
/// are contracted at the same time; if it is larger, the forecast for small networks is higher.
const GROUP_ENTRIES: usize = 1 << 19;

/// Memory that each clique of a group takes for lists, counted as a number of entries of 8 bytes.
const LIST_ENTRIES: usize = 24;

/// Time to contract a clique, apart from its multiplications and additions, as a number of these: a
/// rough figure from Pigs. If it is wrong, only speed changes.
const CLIQUE_WORK: f64 = 1_000.0;

/// The cliques in the order in which they are contracted, in groups.
#[derive(Clone, Debug)]
pub struct ContractionSchedule {
    cliques: Vec<usize>,
    groups: Vec<GroupEnd>,
}

/// A group of consecutive cliques of the schedule.
#[derive(Clone, Copy, Debug)]
struct GroupEnd {
    /// One past the last clique of the group, as a position in the schedule.
    end: usize,
    /// As [`CliqueGroup::work`].
    work: f64,
    /// Number of entries that the contractions need together: their outputs in distribute, and
    /// their scratch memory and lists. In collect, the outputs are the messages to parents, whose
    /// memory is needed in any case.
    entries: usize,
}

/// Cliques that do not depend on one another.
#[derive(Clone, Copy, Debug)]
pub struct CliqueGroup<'a> {
    /// The cliques by number, those with the most work first.
    pub cliques: &'a [usize],
    /// The time of all their contractions together, as a number of multiplications and additions.
    pub work: f64,
}

impl ContractionSchedule {
    /// The schedule of the contractions `planned` for the cliques of `tree` in `phase`. The root is
    /// left out in collect. No contraction of the program needs more than `largest` entries.
    pub(super) fn new(
        tree: &LoweredTree,
        planned: &[Option<PlannedStep>],
        phase: Phase,
        largest: usize,
        optimisations: Optimisations,
    ) -> Self {
        // By clique: its distance from the root. Parents come before their children.
        let mut depths: Vec<usize> = Vec::with_capacity(tree.len());
        for clique in tree.iter() {
            depths.push(clique.parent.map_or(0, |parent| depths[parent] + 1));
        }
        let step = |clique: usize| planned[clique].as_ref().map(|planned| &*planned.step);
        let work = |clique: usize| step(clique).map_or(0.0, |step| CLIQUE_WORK + step.work());
        let work: Vec<f64> = (0..tree.len()).map(work).collect();
        let entries = |clique: usize| {
            let entries = step(clique).map_or(0, |step| match phase {
                Phase::Collect => step.scratch_entries(),
                Phase::Distribute => step.entries(),
            });
            entries.saturating_add(LIST_ENTRIES)
        };
        let mut cliques: Vec<usize> = match phase {
            Phase::Collect => (1..tree.len()).rev().collect(),
            Phase::Distribute => (0..tree.len()).collect(),
        };
        let is_grouped = optimisations.has(Optimisation::ParallelSubtrees);
        if is_grouped {
            let by_work = |clique: usize| Reverse(work[clique] as u64);
            match phase {
                Phase::Collect => cliques.sort_by_key(|&c| (Reverse(depths[c]), by_work(c))),
                Phase::Distribute => cliques.sort_by_key(|&c| (depths[c], by_work(c))),
            }
        }
        let max_entries = largest.max(GROUP_ENTRIES);
        let mut groups: Vec<GroupEnd> = Vec::new();
        let mut depth = None;
        for (position, &clique) in cliques.iter().enumerate() {
            let (own, end) = (entries(clique), position + 1);
            let last = groups.last_mut().filter(|_| is_grouped && depth == Some(depths[clique]));
            match last.filter(|last| last.entries.saturating_add(own) <= max_entries) {
                Some(last) => {
                    last.end = end;
                    last.work += work[clique];
                    last.entries = last.entries.saturating_add(own);
                }
                None => groups.push(GroupEnd { end, work: work[clique], entries: own }),
            }
            depth = Some(depths[clique]);
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

    /// The work of all groups.
    pub fn work(&self) -> f64 {
        self.groups.iter().map(|group| group.work).sum()
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
        for (name, is_small) in [("alarm", true), ("barley", false)] {
            let program = program(name, Optimisations::default());
            let tree = &program.tree;
            let steps = program.collect.iter().chain(&program.distribute).flatten();
            let largest = steps.map(|planned| planned.step.entries()).max().unwrap_or(0);
            assert_eq!(largest < GROUP_ENTRIES, is_small);
            let mut split_depths = 0;
            for (schedule, planned, is_collect) in [
                (&program.collect_schedule, &program.collect, true),
                (&program.distribute_schedule, &program.distribute, false),
            ] {
                // By clique: the number of its group. The root takes no part in collect.
                let mut group_of = vec![usize::MAX; tree.len()];
                let work = |clique: usize| planned[clique].as_ref().map_or(0.0, |p| p.step.work());
                for (number, group) in schedule.groups().enumerate() {
                    for &clique in group.cliques {
                        assert_eq!(group_of[clique], usize::MAX, "{name}: a clique in two groups");
                        group_of[clique] = number;
                    }
                    assert!(group.cliques.is_sorted_by(|&a, &b| work(a) >= work(b)), "{name}");
                }
                for (clique, lowered) in tree.iter().enumerate().skip(1) {
                    let parent = lowered.parent.expect("only the root has no parent");
                    match is_collect {
                        true => assert!(parent == 0 || group_of[clique] < group_of[parent]),
                        false => assert!(group_of[parent] < group_of[clique]),
                    }
                    let mut siblings = tree[parent].children.iter();
                    split_depths +=
                        usize::from(siblings.any(|&other| group_of[other] != group_of[clique]));
                }
                assert_eq!(group_of[0] == usize::MAX, is_collect);
                assert!(group_of[1..].iter().all(|&group| group != usize::MAX));
                assert!(schedule.entries() <= largest.max(GROUP_ENTRIES) + LIST_ENTRIES);
                let groups = schedule.groups().count();
                assert!(groups < group_of.len() * 2 / 3, "{name}: {groups} groups");
                let computed = planned.iter().flatten();
                let sum: f64 = computed.map(|planned| CLIQUE_WORK + planned.step.work()).sum();
                assert!((schedule.work() - sum).abs() <= 1e-9 * sum);
            }
            assert_eq!(split_depths == 0, is_small, "{name}");
        }
    }

    #[test]
    fn each_clique_is_a_group_if_cliques_are_not_contracted_at_the_same_time() {
        let off = Optimisations::default().without(Optimisation::ParallelSubtrees);
        let program = program("alarm", off);
        assert_eq!(program.collect_schedule.groups().count(), program.tree.len() - 1);
        let groups = program.distribute_schedule.groups();
        assert!(groups.enumerate().all(|(clique, group)| group.cliques == [clique]));
    }
}
