//! A bound on how many messages are multiplied at once.
//!
//! A clique's table is read once with the messages of all children, whose product has no scale of
//! its own in between. Each message has its largest entry near one, but a few hundred that speak for
//! opposite states multiply to less than the smallest number everywhere. Children with the same
//! separator are therefore hung below each other: each then takes up a few messages, and what it
//! passes on is scaled anew. That is again a junction tree, because the separator's variables are in
//! each of them.

use std::collections::BTreeMap;

use crate::engine::cpu::tree::structure::Shape;
use crate::network::VariableId;

/// Children of one clique that have the same separator, at most.
const CHILDREN: usize = 8;

impl Shape {
    /// The same cliques with at most [`CHILDREN`] children over any one separator, in preorder.
    ///
    /// Also gives, for each clique, its number before.
    pub fn with_bounded_fan_out(mut self) -> (Self, Vec<usize>) {
        let mut counts = vec![0; self.cliques.len()];
        self.parents.iter().flatten().for_each(|&parent| counts[parent] += 1);
        if counts.iter().all(|&count| count <= CHILDREN) {
            return self.in_preorder();
        }
        let mut children: Vec<BTreeMap<Vec<VariableId>, Vec<usize>>> =
            vec![BTreeMap::new(); self.cliques.len()];
        for clique in 0..self.cliques.len() {
            if let Some(parent) = self.parents[clique]
                && counts[parent] > CHILDREN
            {
                children[parent].entry(self.separator(clique)).or_default().push(clique);
            }
        }
        for siblings in children.iter().flat_map(BTreeMap::values) {
            for (index, &clique) in siblings.iter().enumerate().skip(CHILDREN) {
                self.parents[clique] = Some(siblings[index / CHILDREN - 1]);
            }
        }
        self.in_preorder()
    }

    /// Numbers the cliques such that each subtree is a run that begins with its root.
    fn in_preorder(mut self) -> (Self, Vec<usize>) {
        let mut children = vec![Vec::new(); self.cliques.len()];
        let mut open = Vec::new();
        for (clique, parent) in self.parents.iter().enumerate() {
            match parent {
                Some(parent) => children[*parent].push(clique),
                None => open.push((clique, None)),
            }
        }
        let mut order = Vec::with_capacity(self.cliques.len());
        let mut ordered = Self::default();
        while let Some((clique, parent)) = open.pop() {
            let number = order.len();
            open.extend(children[clique].iter().rev().map(|&child| (child, Some(number))));
            ordered.cliques.push(std::mem::take(&mut self.cliques[clique]));
            ordered.families.push(std::mem::take(&mut self.families[clique]));
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

    /// A cause 0 and another variable 1, with many effects of the cause and a few of the other.
    fn star(effects: usize) -> Shape {
        let mut shape =
            Shape { cliques: vec![ids(&[0, 1])], parents: vec![None], families: vec![] };
        for effect in 0..effects {
            shape.cliques.push(ids(&[usize::from(effect % 50 == 0), 2 + effect]));
            shape.parents.push(Some(0));
        }
        shape.families =
            (0..shape.cliques.len()).map(|clique| vec![FactorId::new(clique)]).collect();
        shape
    }

    #[test]
    fn a_star_becomes_a_bushy_tree_over_the_same_separators() {
        let before = star(400);
        let (after, order) = star(400).with_bounded_fan_out();
        let mut count = vec![BTreeMap::new(); after.cliques.len()];
        let mut depth = vec![0; after.cliques.len()];
        for clique in 1..after.cliques.len() {
            let parent = after.parents[clique].unwrap();
            assert!(parent < clique);
            assert_eq!(after.cliques[clique], before.cliques[order[clique]]);
            assert_eq!(after.families[clique], before.families[order[clique]]);
            assert_eq!(after.separator(clique), before.separator(order[clique]));
            *count[parent].entry(after.separator(clique)).or_insert(0) += 1;
            depth[clique] = depth[parent] + 1;
        }
        assert!(count.iter().flat_map(BTreeMap::values).all(|&children| children <= CHILDREN));
        assert!(depth.iter().all(|&depth| depth <= 4));
    }

    #[test]
    fn every_subtree_is_a_run() {
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
    fn few_children_stay_where_they_are() {
        let (shape, order) = star(8).with_bounded_fan_out();
        assert_eq!(order, (0..9).collect::<Vec<_>>());
        assert_eq!(shape.parents, star(8).parents);
    }
}
