//! The shape of a junction tree: its cliques, how they are joined, and the factors of each. The
//! lowerings of engines `cpu` and `gpu` and of the batch engine start here.
//!
//! # Fan-out
//! A message is computed from a product of messages. Engine `cpu` with tables scales each message
//! to a parent so that its largest entry is near one, but does not rescale products of messages. If
//! the messages favour different states, every entry of a product of a few hundred messages can
//! underflow. So some children are moved below siblings that have the same separator
//! ([`Shape::with_bounded_siblings`]), and each clique then multiplies fewer messages. The result
//! is again a junction tree, because all these siblings contain the variables of the separator.
//!
//! Children with different separators stay where they are, however many there are: moving one of
//! them below another could break the running intersection property. An operation of engine `gpu`
//! with tables multiplies only a few messages, whatever their separators. So cliques without
//! factors are put between a clique and its children ([`Shape::with_grouped_children`]).

use std::collections::BTreeMap;

use crate::graph::{CliqueId, SeparatorId};
use crate::network::{FactorId, VariableId};
use crate::propagation::{CompiledNetwork, MessageId, Phase};

/// Maximum number of children with the same separator that stay below their parent, and also the
/// maximum number of siblings that are moved below one clique. A clique can have both over the same
/// separator: children of its own that stay, and siblings that were moved. So at most twice
/// this many messages over one separator are multiplied, and their product must not underflow.
const MAX_SIBLINGS: usize = 8;

/// The cliques of a tree, with their variables, parents and factors.
///
/// Clique 0 is the root, and every clique comes before its children. The separator between a clique
/// and its parent has the number of the clique.
#[derive(Debug, Default)]
pub struct Shape {
    /// By clique: its variables, in ascending order. Observed variables may have been removed.
    pub cliques: Vec<Vec<VariableId>>,
    /// By clique: its parent; `None` for the root only.
    pub parents: Vec<Option<usize>>,
    /// By clique: the factors assigned to it.
    pub factors: Vec<Vec<FactorId>>,
    /// By clique: the clique of the compiled tree that it comes from; `None` for an added clique,
    /// and for all cliques of a reduced tree.
    pub origins: Vec<Option<Origin>>,
}

/// The clique of a compiled network that a clique of a [`Shape`] comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The clique in the compiled tree.
    pub clique: CliqueId,
    /// The separator to its parent; `None` for the root. The clique may have another parent in the
    /// shape, but shares the same variables with it.
    pub separator: Option<SeparatorId>,
    /// The plan's messages over this separator, to the parent and from it; `None` for the root.
    pub messages: Option<(MessageId, MessageId)>,
}

impl Shape {
    /// The tree of `compiled`.
    pub fn of(compiled: &CompiledNetwork) -> Self {
        let (tree, plan) = (compiled.tree(), compiled.plan());
        // By separator: the messages over it. The plan collects before it distributes.
        let mut messages = vec![None; tree.separators().len()];
        for id in plan.ids() {
            let over = &mut messages[plan[id].separator.index()];
            *over = match plan[id].phase {
                Phase::Collect => Some((id, id)),
                Phase::Distribute => over.map(|(collect, _)| (collect, id)),
            };
        }
        let mut shape = Self::default();
        // By clique of the compiled tree: its number in the shape.
        let mut numbers = vec![0; tree.cliques().len()];
        // The plan distributes in preorder, so a parent is numbered before its children.
        let receivers = plan.distribute().iter().map(|message| message.to);
        for clique in [tree.root()].into_iter().chain(receivers) {
            let link = tree.parent(clique);
            let separator = link.map(|link| link.separator);
            let messages = separator.and_then(|separator| messages[separator.index()]);
            let parent = link.map(|link| numbers[link.clique.index()]);
            let number = shape.push(parent, tree[clique].variables.clone());
            shape.origins[number] = Some(Origin { clique, separator, messages });
            numbers[clique.index()] = number;
        }
        for factor in compiled.network().factor_ids() {
            shape.factors[numbers[compiled.factor_home(factor).index()]].push(factor);
        }
        shape
    }

    /// Adds a clique of these `variables` without factors. Returns its number.
    pub fn push(&mut self, parent: Option<usize>, variables: Vec<VariableId>) -> usize {
        self.cliques.push(variables);
        self.parents.push(parent);
        self.factors.push(Vec::new());
        self.origins.push(None);
        self.cliques.len() - 1
    }

    /// By clique of the compiled tree: its number. All cliques of this tree must be in the shape.
    pub fn clique_numbers(&self) -> Vec<usize> {
        let mut numbers = vec![usize::MAX; self.origins.iter().flatten().count()];
        for (number, origin) in self.origins.iter().enumerate() {
            origin.iter().for_each(|origin| numbers[origin.clique.index()] = number);
        }
        numbers
    }

    /// The variables that `clique` shares with its parent.
    pub fn separator(&self, clique: usize) -> Vec<VariableId> {
        let Some(parent) = self.parents[clique] else { return Vec::new() };
        let above = &self.cliques[parent];
        self.cliques[clique].iter().copied().filter(|v| above.contains(v)).collect()
    }

    /// By clique: its [separator](Self::separator).
    pub fn separators(&self) -> Vec<Vec<VariableId>> {
        (0..self.cliques.len()).map(|clique| self.separator(clique)).collect()
    }

    /// By clique: its children, in ascending order.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.cliques.len()];
        for (clique, parent) in self.parents.iter().enumerate() {
            if let Some(parent) = *parent {
                children[parent].push(clique);
            }
        }
        children
    }

    /// The same cliques, in preorder, after some were moved. Of the children of a clique that have
    /// the same separator, the first [`MAX_SIBLINGS`] stay below the clique. The others are moved
    /// below these or below one another, at most [`MAX_SIBLINGS`] below each. Afterwards, a clique
    /// has at most 2 [`MAX_SIBLINGS`] children with the same separator. The number of its children
    /// with different separators is not bounded.
    pub fn with_bounded_siblings(mut self) -> Self {
        for siblings in self.children().iter().filter(|children| children.len() > MAX_SIBLINGS) {
            let mut groups: BTreeMap<Vec<VariableId>, Vec<usize>> = BTreeMap::new();
            for &clique in siblings {
                groups.entry(self.separator(clique)).or_default().push(clique);
            }
            for group in groups.into_values() {
                // The siblings become a forest. Its roots are the first `MAX_SIBLINGS`, and each
                // sibling has at most `MAX_SIBLINGS` others directly below it.
                for (index, &clique) in group.iter().enumerate().skip(MAX_SIBLINGS) {
                    self.parents[clique] = Some(group[index / MAX_SIBLINGS - 1]);
                }
            }
        }
        let children = self.children();
        self.in_preorder(&children).0
    }

    /// The same cliques and others without factors, in preorder, so that no clique has more than
    /// `max` children, which must be at least two. If a clique has more children, they are
    /// grouped, and a clique over their separators is put between each group and the clique. This
    /// is repeated until the clique has few enough.
    ///
    /// Children with the same separator are placed together, so that the product of their messages
    /// is small. Also returns, for each clique of the result, its number in `self`. An added clique
    /// has a number that no clique of `self` has.
    #[cfg(feature = "cuda")]
    pub fn with_grouped_children(mut self, max: usize) -> (Self, Vec<usize>) {
        assert!(max >= 2, "groups of one clique would never become fewer");
        let mut separators = self.separators();
        let mut children = self.children();
        for clique in 0..self.cliques.len() {
            let mut below = std::mem::take(&mut children[clique]);
            below.sort_by(|&a, &b| separators[a].cmp(&separators[b]));
            while below.len() > max {
                let mut above = Vec::new();
                for group in below.chunks(max) {
                    // A group of a single child needs no clique.
                    if let &[single] = group {
                        above.push(single);
                        continue;
                    }
                    let of_group = group.iter().flat_map(|&child| &separators[child]);
                    let mut variables: Vec<VariableId> = of_group.copied().collect();
                    variables.sort_unstable();
                    variables.dedup();
                    separators.push(variables.clone());
                    let between = self.push(Some(clique), variables);
                    children.push(group.to_vec());
                    above.push(between);
                }
                below = above;
            }
            children[clique] = below;
        }
        self.in_preorder(&children)
    }

    /// The same tree with its cliques in preorder, so that each subtree is a range that begins with
    /// its root. `children`: by clique, its children in the order that they will have; the parents
    /// in `self` are not read. Also returns, for each clique of the result, its number in `self`.
    fn in_preorder(mut self, children: &[Vec<usize>]) -> (Self, Vec<usize>) {
        let count = self.cliques.len();
        let mut order = Vec::with_capacity(count);
        let mut ordered = Self {
            cliques: Vec::with_capacity(count),
            parents: Vec::with_capacity(count),
            factors: Vec::with_capacity(count),
            origins: Vec::with_capacity(count),
        };
        let mut stack = vec![(0, None)];
        while let Some((clique, parent)) = stack.pop() {
            let number = order.len();
            stack.extend(children[clique].iter().rev().map(|&child| (child, Some(number))));
            ordered.cliques.push(std::mem::take(&mut self.cliques[clique]));
            ordered.factors.push(std::mem::take(&mut self.factors[clique]));
            ordered.origins.push(self.origins[clique]);
            ordered.parents.push(parent);
            order.push(clique);
        }
        debug_assert_eq!(order.len(), count, "every clique is below clique 0");
        (ordered, order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::format::open;
    use crate::propagation::{CompileOptions, compile};

    fn ids(indices: &[usize]) -> Vec<VariableId> {
        indices.iter().map(|&index| VariableId::new(index)).collect()
    }

    /// A root clique of variables 0 and 1, and one child per effect. Every fiftieth effect depends
    /// on variable 1, the others on variable 0.
    fn star(effects: usize) -> Shape {
        let mut shape = Shape::default();
        shape.push(None, ids(&[0, 1]));
        for effect in 0..effects {
            shape.push(Some(0), ids(&[usize::from(effect % 50 == 0), 2 + effect]));
        }
        for clique in 0..shape.cliques.len() {
            shape.factors[clique] = vec![FactorId::new(clique)];
            let clique_id = CliqueId::new(clique);
            shape.origins[clique] =
                Some(Origin { clique: clique_id, separator: None, messages: None });
        }
        shape
    }

    /// A root clique of five variables, and a child for each pair of them.
    fn pairs() -> Shape {
        let mut shape = Shape::default();
        shape.push(None, ids(&[0, 1, 2, 3, 4]));
        let pairs = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b)));
        for (child, (a, b)) in pairs.enumerate() {
            shape.push(Some(0), ids(&[a, b, 5 + child]));
        }
        shape
    }

    /// Checks that every subtree of `shape` is a range that begins with its root.
    fn check_preorder(shape: &Shape) {
        let mut end: Vec<usize> = (1..=shape.cliques.len()).collect();
        let mut size = vec![1; shape.cliques.len()];
        for clique in (1..shape.cliques.len()).rev() {
            let parent = shape.parents[clique].expect("only the root has no parent");
            assert!(parent < clique);
            end[parent] = end[parent].max(end[clique]);
            size[parent] += size[clique];
        }
        for clique in 0..shape.cliques.len() {
            assert_eq!(end[clique] - clique, size[clique]);
        }
    }

    #[test]
    fn many_children_with_the_same_separator_are_moved_below_one_another() {
        let before = star(400);
        let after = star(400).with_bounded_siblings();
        check_preorder(&after);
        let mut count = vec![BTreeMap::new(); after.cliques.len()];
        let mut depth = vec![0; after.cliques.len()];
        for clique in 1..after.cliques.len() {
            let parent = after.parents[clique].unwrap();
            let same = after.factors[clique][0].index();
            assert_eq!(after.origins[clique].map(|origin| origin.clique.index()), Some(same));
            assert_eq!(after.cliques[clique], before.cliques[same]);
            assert_eq!(after.separator(clique), before.separator(same));
            *count[parent].entry(after.separator(clique)).or_insert(0) += 1;
            depth[clique] = depth[parent] + 1;
        }
        assert!(count.iter().flat_map(BTreeMap::values).all(|&children| children <= MAX_SIBLINGS));
        assert!(depth.iter().all(|&depth| depth <= 4));
    }

    #[test]
    fn many_children_with_different_separators_stay_where_they_are() {
        let (shape, parents) = (pairs(), pairs().parents);
        assert!(shape.cliques.len() > 1 + MAX_SIBLINGS);
        assert_eq!(shape.with_bounded_siblings().parents, parents);
    }

    #[test]
    fn few_children_stay_where_they_are() {
        let shape = star(8).with_bounded_siblings();
        assert_eq!((shape.cliques, shape.parents), (star(8).cliques, star(8).parents));
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn no_clique_has_many_children_after_they_were_grouped() {
        for (before, same) in [(star(400), star(400)), (pairs(), pairs())] {
            let (after, order) = before.with_grouped_children(5);
            check_preorder(&after);
            assert!(after.children().iter().all(|children| children.len() <= 5));
            let is_added = |clique: &usize| order[*clique] >= same.cliques.len();
            // If children with different separators were mixed, about twenty added cliques of the
            // star would have both variables.
            let has_two = |clique: &usize| after.cliques[*clique].len() == 2;
            let mixed = (0..order.len()).filter(is_added).filter(has_two).count();
            assert!(same.cliques.len() != 401 || (1..5).contains(&mixed), "{mixed} cliques");
            let mut found = vec![0; same.cliques.len()];
            for (clique, &before) in order.iter().enumerate() {
                let separator = after.separator(clique);
                if let Some(found) = found.get_mut(before) {
                    *found += 1;
                    assert_eq!(after.cliques[clique], same.cliques[before]);
                    assert_eq!(after.factors[clique], same.factors[before]);
                    assert_eq!(separator, same.separator(before));
                } else {
                    assert_eq!(after.cliques[clique], separator);
                    assert!(after.factors[clique].is_empty());
                }
            }
            assert!(found.into_iter().all(|times| times == 1));
        }
    }

    #[test]
    fn every_clique_of_a_compiled_tree_knows_where_it_comes_from() {
        for name in ["alarm", "pigs"] {
            let network = open(name).expect("a sample of this name").network;
            let factors = network.factor_count();
            let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
            let compiled = compiled.expect("it is small");
            let (tree, plan) = (compiled.tree(), compiled.plan());
            for shape in [Shape::of(&compiled), Shape::of(&compiled).with_bounded_siblings()] {
                check_preorder(&shape);
                assert_eq!(shape.clique_numbers().len(), tree.cliques().len());
                assert_eq!(shape.factors.concat().len(), factors);
                for (clique, origin) in shape.origins.iter().enumerate() {
                    let origin = origin.expect("no clique was added");
                    assert_eq!(shape.clique_numbers()[origin.clique.index()], clique);
                    assert_eq!(tree[origin.clique].variables, shape.cliques[clique]);
                    let homes = shape.factors[clique].iter().map(|&f| compiled.factor_home(f));
                    assert!(homes.into_iter().all(|home| home == origin.clique));
                    assert_eq!(origin.separator.is_some(), clique > 0);
                    assert_eq!(origin.messages.is_some(), clique > 0);
                    let Some((separator, (up, down))) = origin.separator.zip(origin.messages)
                    else {
                        continue;
                    };
                    assert_eq!(tree[separator].variables, shape.separator(clique));
                    assert_eq!(tree[separator].child, origin.clique);
                    let found = [up, down].map(|id| (plan[id].phase, plan[id].separator));
                    assert_eq!(
                        found,
                        [(Phase::Collect, separator), (Phase::Distribute, separator)]
                    );
                }
            }
        }
    }
}
