//! Leaving out of the tables that cliques exchange what no row points at.
//!
//! Where a clique keeps a hundredth of its entries, the separators around it keep few as well. The
//! entries that are left keep their order, so a row's run of entries stays a run.

use std::ops::Range;

use crate::engine::cpu::pass::kernel::ROW_HEAD;
use crate::engine::cpu::tree::entry_map::Kept;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::potential::Entry;

/// Entries of the port that `word` points into which rows touch, from `start` of what it counts from.
fn touched<T>(node: &Node<T>, word: usize, is_vector: bool, port: Range<usize>) -> Vec<bool> {
    let mut touched = vec![false; port.len()];
    for row in node.words.chunks_exact(node.stride) {
        let at = row[word] as usize - port.start;
        let length = if is_vector { row[1] as usize } else { 1 };
        touched[at..at + length].fill(true);
    }
    touched
}

impl<T: Entry> Tree<T> {
    /// Leaves out what no row points at. To be done once, after the tables have lost their zeros.
    pub fn compress(&mut self) {
        let (mut above, mut below) = (0, 0);
        for clique in 0..self.nodes.len() {
            self.compress_above(clique, &mut above);
            self.compress_below(clique, &mut below);
        }
        (self.above, self.below) = (above, below);
        for clique in 1..self.nodes.len() {
            self.compress_permutation(clique);
        }
        for &(clique, axis) in self.places.iter().flat_map(|place| &place.separators) {
            let node = &mut self.nodes[clique];
            let states = node.above_kept.states(axis);
            node.states.0.extend(states.map(|states| (axis, states)));
        }
    }

    fn compress_above(&mut self, clique: usize, end: &mut usize) {
        let node = &mut self.nodes[clique];
        if let Some(port) = node.port {
            let kept = Kept::new(&touched(node, port.word, port.is_vector, 0..node.above.len()));
            let length = kept.place(node.above.len());
            for row in node.words.chunks_exact_mut(node.stride) {
                row[port.word] = kept.place(row[port.word] as usize) as u32;
            }
            (node.full, node.above_kept) = (node.above.len(), kept);
            node.above = *end..*end + length;
            *end = node.above.end;
        } else {
            node.above = *end..*end;
        }
    }

    fn compress_below(&mut self, clique: usize, end: &mut usize) {
        let first = *end;
        for number in 0..self.nodes[clique].is_vector.len() {
            let node = &self.nodes[clique];
            let child = node.children.get(number).copied();
            let port = match child {
                Some(child) => self.nodes[child].in_parent.clone(),
                None => node.private.clone().expect("the last port is the private one"),
            };
            let port = port.start - node.below.start..port.end - node.below.start;
            let word = ROW_HEAD + usize::from(node.parent.is_some()) + number;
            let kept = Kept::new(&touched(node, word, node.is_vector[number], port.clone()));
            // One entry more, for what the other end keeps and this one does not.
            let spare = usize::from(child.is_some() && kept.0.is_some());
            let range = *end..*end + kept.place(port.len()) + spare;
            *end = range.end;
            let node = &mut self.nodes[clique];
            for row in node.words.chunks_exact_mut(node.stride) {
                let place = kept.place(row[word] as usize - port.start) + range.start - first;
                row[word] = place as u32;
            }
            match child {
                Some(child) => {
                    let child = &mut self.nodes[child];
                    (child.in_parent, child.in_parent_kept) = (range, kept);
                }
                None => (node.private, node.private_kept) = (Some(range), kept),
            }
        }
        self.nodes[clique].below = first..*end;
    }

    fn compress_permutation(&mut self, clique: usize) {
        let node = &mut self.nodes[clique];
        let (own, others) = (&node.above_kept, &node.in_parent_kept);
        if own.0.is_none() && others.0.is_none() {
            return;
        }
        let nowhere = node.in_parent.len() - 1;
        let place = |entry: usize| {
            let there = node.permutation.as_ref().map_or(entry, |order| order[entry] as usize);
            if others.has(there) { others.place(there) } else { nowhere }
        };
        let entries = (0..node.full).filter(|&entry| own.has(entry));
        node.permutation = Some(entries.map(|entry| place(entry) as u32).collect());
    }
}
