//! A bound on the number of messages over the same separator that are multiplied at once.
//!
//! A clique's table is read once with the messages of all its children, and the product of these
//! messages is not rescaled. The largest entry of each message is near one. But if the messages
//! favour different states, every entry of a product of a few hundred messages can underflow. So
//! some children are moved below siblings that have the same separator. Each clique then multiplies
//! fewer messages, and rescales its own message. The result is again a junction tree, because all
//! these siblings contain the variables of the separator.
//!
//! Only the number of children with the same separator is bounded. Children with different
//! separators stay where they are, however many there are: moving one of them below another could
//! break the running intersection property.

use std::collections::BTreeMap;

use crate::engine::cpu::tree::structure::Shape;
use crate::network::VariableId;

/// Maximum number of children with the same separator that stay below their parent, and also the
/// maximum number of siblings that are moved below one clique. A clique can have both over the same
/// separator: children of its own that stay, and siblings that were moved. So at most twice
/// this many messages over one separator are multiplied, and their product must not underflow.
const MAX_SIBLINGS: usize = 8;

impl Shape {
    /// The same cliques, in preorder, after some were moved. Of the children of a clique that have
    /// the same separator, the first [`MAX_SIBLINGS`] stay below the clique. The others are moved
    /// below these or below one another, at most [`MAX_SIBLINGS`] below each. Afterwards, a clique
    /// has at most 2 [`MAX_SIBLINGS`] children with the same separator. The number of its children
    /// with different separators is not bounded.
    ///
    /// Also returns, for each clique of the result, its number in `self`.
    pub fn with_bounded_fan_out(mut self) -> (Self, Vec<usize>) {
        let mut counts = vec![0; self.cliques.len()];
        self.parents.iter().flatten().for_each(|&parent| counts[parent] += 1);
        if counts.iter().all(|&count| count <= MAX_SIBLINGS) {
            return self.in_preorder();
        }
        let mut children: Vec<BTreeMap<Vec<VariableId>, Vec<usize>>> =
            vec![BTreeMap::new(); self.cliques.len()];
        for clique in 0..self.cliques.len() {
            if let Some(parent) = self.parents[clique]
                && counts[parent] > MAX_SIBLINGS
            {
                children[parent].entry(self.separator(clique)).or_default().push(clique);
            }
        }
        for siblings in children.iter().flat_map(BTreeMap::values) {
            // The siblings become a forest. Its roots are the first `MAX_SIBLINGS`, and each
            // sibling has at most `MAX_SIBLINGS` others directly below it.
            for (index, &clique) in siblings.iter().enumerate().skip(MAX_SIBLINGS) {
                self.parents[clique] = Some(siblings[index / MAX_SIBLINGS - 1]);
            }
        }
        self.in_preorder()
    }

    /// The same tree with its cliques in preorder, so that each subtree is a range that begins with
    /// its root. Also returns, for each clique of the result, its number in `self`.
    fn in_preorder(mut self) -> (Self, Vec<usize>) {
        let mut children = vec![Vec::new(); self.cliques.len()];
        let mut stack = Vec::new();
        for (clique, parent) in self.parents.iter().enumerate() {
            match parent {
                Some(parent) => children[*parent].push(clique),
                None => stack.push((clique, None)),
            }
        }
        let mut order = Vec::with_capacity(self.cliques.len());
        let mut ordered = Self::default();
        while let Some((clique, parent)) = stack.pop() {
            let number = order.len();
            stack.extend(children[clique].iter().rev().map(|&child| (child, Some(number))));
            ordered.cliques.push(std::mem::take(&mut self.cliques[clique]));
            ordered.factors.push(std::mem::take(&mut self.factors[clique]));
            ordered.parents.push(parent);
            order.push(clique);
        }
        (ordered, order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::FactorId;

    fn ids(indices: &[usize]) -> Vec<VariableId> {
        indices.iter().map(|&index| VariableId::new(index)).collect()
    }

    /// A root clique of variables 0 and 1, and one child per effect. Every fiftieth effect depends
    /// on variable 1, the others on variable 0.
    fn star(effects: usize) -> Shape {
        let mut shape = Shape { cliques: vec![ids(&[0, 1])], parents: vec![None], factors: vec![] };
        for effect in 0..effects {
            shape.cliques.push(ids(&[usize::from(effect % 50 == 0), 2 + effect]));
            shape.parents.push(Some(0));
        }
        shape.factors =
            (0..shape.cliques.len()).map(|clique| vec![FactorId::new(clique)]).collect();
        shape
    }

    #[test]
    fn many_children_with_the_same_separator_are_moved_below_one_another() {
        let before = star(400);
        let (after, order) = star(400).with_bounded_fan_out();
        let mut count = vec![BTreeMap::new(); after.cliques.len()];
        let mut depth = vec![0; after.cliques.len()];
        for clique in 1..after.cliques.len() {
            let parent = after.parents[clique].unwrap();
            assert!(parent < clique);
            assert_eq!(after.cliques[clique], before.cliques[order[clique]]);
            assert_eq!(after.factors[clique], before.factors[order[clique]]);
            assert_eq!(after.separator(clique), before.separator(order[clique]));
            *count[parent].entry(after.separator(clique)).or_insert(0) += 1;
            depth[clique] = depth[parent] + 1;
        }
        assert!(count.iter().flat_map(BTreeMap::values).all(|&children| children <= MAX_SIBLINGS));
        assert!(depth.iter().all(|&depth| depth <= 4));
    }

    #[test]
    fn every_subtree_is_a_range() {
        let (shape, _) = star(400).with_bounded_fan_out();
        let mut end: Vec<usize> = (1..=shape.cliques.len()).collect();
        let mut size = vec![1; shape.cliques.len()];
        for clique in (1..shape.cliques.len()).rev() {
            let parent = shape.parents[clique].unwrap();
            end[parent] = end[parent].max(end[clique]);
            size[parent] += size[clique];
        }
        for clique in 0..shape.cliques.len() {
            assert_eq!(end[clique] - clique, size[clique]);
        }
    }

    #[test]
    fn many_children_with_different_separators_stay_where_they_are() {
        let pairs = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b)));
        let children = pairs.enumerate().map(|(child, (a, b))| ids(&[a, b, 5 + child]));
        let cliques: Vec<_> = [ids(&[0, 1, 2, 3, 4])].into_iter().chain(children).collect();
        let parents: Vec<_> = (0..cliques.len()).map(|c| (c > 0).then_some(0)).collect();
        let factors = vec![Vec::new(); cliques.len()];
        let shape = Shape { cliques, parents: parents.clone(), factors };
        assert!(shape.cliques.len() > 1 + MAX_SIBLINGS);
        assert_eq!(shape.with_bounded_fan_out().0.parents, parents);
    }

    #[test]
    fn few_children_stay_where_they_are() {
        let (shape, order) = star(8).with_bounded_fan_out();
        assert_eq!(order, (0..9).collect::<Vec<_>>());
        assert_eq!(shape.parents, star(8).parents);
    }
}
