//! An elimination order as a tree that can be changed locally.
//!
//! The cluster of a vertex is the vertex with its neighbours at the time it is eliminated. The
//! parent of the vertex is the vertex of this cluster that is eliminated next. Every order in which
//! children come before their parents gives the same clusters (Liu 1990, "The role of elimination
//! trees in sparse factorization", section 3), so the tree holds all that matters about an order.
//!
//! Exchanging a vertex with its parent (a rotation) changes only their two clusters, because the
//! graph after eliminating both is the same. Rotations reach the tree of every order. Each visits
//! only the children of the two vertices, with a few operations on bit sets over all vertices.

use crate::graph::MoralGraph;
use crate::network::VariableId;

/// Stands for the parent of a root, which has none.
const NONE: u32 = u32::MAX;

/// Tables with more entries count as this many, so that sums and differences of sizes stay finite.
const MAX_ENTRIES: f64 = 1e290;

/// The elimination tree of a graph with its clusters and their sizes.
#[derive(Clone)]
pub(super) struct EliminationTree {
    /// Number of 64-bit words in a set of vertices.
    words: usize,
    /// The factor that each vertex contributes to the size of a table.
    weights: Vec<f64>,
    /// Sets of vertices, `words` words each: the neighbours of each vertex in the graph.
    neighbours: Vec<u64>,
    /// Sets of vertices, `words` words each: the cluster of each vertex.
    clusters: Vec<u64>,
    /// Number of vertices in each cluster.
    sizes: Vec<u32>,
    /// Entries of each cluster's table.
    entries: Vec<f64>,
    /// For each vertex, whether no other cluster contains its cluster.
    maximal: Vec<bool>,
    /// The parent of each vertex; [`NONE`] for a root.
    parents: Vec<u32>,
    children: Vec<Vec<u32>>,
    /// Sum of the entries of the maximal clusters.
    total: f64,
    /// Buffer for the cluster under construction.
    scratch: Vec<u64>,
}

impl EliminationTree {
    /// The tree of eliminating `graph` in `order`, which contains every vertex once.
    ///
    /// The size of a table is the product over its vertices of `weight(number of states)`.
    pub fn new(graph: &MoralGraph, order: &[VariableId], weight: impl Fn(f64) -> f64) -> Self {
        let n = graph.len();
        let words = n.div_ceil(64);
        let mut neighbours = vec![0; n * words];
        for (v, row) in graph.adjacency().iter().enumerate() {
            row.ones().for_each(|a| neighbours[v * words + a / 64] |= 1 << (a % 64));
        }
        let mut tree = Self {
            words,
            weights: graph.cardinalities().iter().map(|&states| weight(states as f64)).collect(),
            clusters: neighbours.clone(),
            neighbours,
            sizes: vec![0; n],
            entries: vec![0.0; n],
            maximal: vec![true; n],
            parents: vec![NONE; n],
            children: vec![Vec::new(); n],
            total: 0.0,
            scratch: vec![0; words],
        };
        let mut position = vec![0; n];
        for (at, v) in order.iter().enumerate() {
            position[v.index()] = at;
        }
        let mut eliminated = vec![0_u64; words];
        for v in order.iter().map(|v| v.index()) {
            let mut cluster = tree.clusters[v * words..][..words].to_vec();
            for child in &tree.children[v] {
                let below = &tree.clusters[*child as usize * words..][..words];
                cluster.iter_mut().zip(below).for_each(|(word, below)| *word |= below);
            }
            cluster.iter_mut().zip(&eliminated).for_each(|(word, eliminated)| *word &= !eliminated);
            insert(&mut cluster, v);
            insert(&mut eliminated, v);
            let parent = ones(&cluster).filter(|&a| a != v).min_by_key(|&a| position[a]);
            if let Some(parent) = parent {
                tree.parents[v] = parent as u32;
                tree.children[parent].push(v as u32);
            }
            tree.clusters[v * words..][..words].copy_from_slice(&cluster);
            (tree.sizes[v], tree.entries[v]) = tree.measure(&cluster);
            tree.maximal[v] = tree.is_maximal(v);
            tree.total += tree.contribution(v);
        }
        tree
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Sum of the entries of the maximal clusters.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The parent of `v`.
    pub fn parent(&self, v: usize) -> Option<usize> {
        let parent = self.parents[v];
        (parent != NONE).then_some(parent as usize)
    }

    /// The children of `v`.
    pub fn children(&self, v: usize) -> &[u32] {
        &self.children[v]
    }

    /// An order with this tree: children before parents.
    pub fn order(&self) -> Vec<VariableId> {
        let mut order = Vec::with_capacity(self.len());
        let mut stack: Vec<usize> = (0..self.len()).filter(|&v| self.parents[v] == NONE).collect();
        while let Some(v) = stack.pop() {
            order.push(VariableId::new(v));
            stack.extend(self.children[v].iter().map(|&child| child as usize));
        }
        order.reverse();
        order
    }

    /// Exchanges `v` with its parent. Rotating the former parent undoes it.
    ///
    /// # Panics
    /// If `v` has no parent.
    pub fn rotate(&mut self, v: usize) {
        let p = self.parents[v] as usize;
        self.total -= self.contribution(v) + self.contribution(p);
        self.exchange_edges(v, p);
        self.exchange_clusters(v, p);
        self.maximal[p] = self.is_maximal(p);
        self.maximal[v] = self.is_maximal(v);
        self.total += self.contribution(v) + self.contribution(p);
    }

    /// Makes `p`, the parent of `v`, a child of `v`.
    ///
    /// As p is now eliminated before v, the children of v whose clusters contain p become children
    /// of p. The former parent of p becomes the parent of v.
    #[inline]
    fn exchange_edges(&mut self, v: usize, p: usize) {
        let words = self.words;
        let mut children_of_p = std::mem::take(&mut self.children[p]);
        let mut children_of_v = std::mem::take(&mut self.children[v]);
        let place = children_of_p.iter().position(|&c| c as usize == v).expect("a child of p");
        children_of_p.swap_remove(place);
        let mut index = 0;
        while let Some(&child) = children_of_v.get(index) {
            let cluster = &self.clusters[child as usize * words..][..words];
            if contains(cluster, p) {
                children_of_v.swap_remove(index);
                self.parents[child as usize] = p as u32;
                children_of_p.push(child);
            } else {
                index += 1;
            }
        }
        children_of_v.push(p as u32);
        self.children[p] = children_of_p;
        self.children[v] = children_of_v;

        let g = self.parents[p];
        self.parents[v] = g;
        self.parents[p] = v as u32;
        if g != NONE {
            let siblings = &mut self.children[g as usize];
            let place = siblings.iter().position(|&c| c as usize == p).expect("a child of g");
            siblings[place] = v as u32;
        }
    }

    /// Computes the clusters of `v` and `p`, and their sizes, after
    /// [`exchange_edges`](Self::exchange_edges).
    ///
    /// The new cluster of p is made of p, v, the neighbours of p that are eliminated later, and the
    /// clusters of the children of p without these children. Eliminating v now leaves the graph
    /// that eliminating p left before, so the new cluster of v is the former cluster of p with v in
    /// place of p.
    #[inline]
    fn exchange_clusters(&mut self, v: usize, p: usize) {
        let words = self.words;
        let mut cluster = std::mem::take(&mut self.scratch);
        let former = &self.clusters[p * words..][..words];
        let neighbours = &self.neighbours[p * words..][..words];
        for (word, (neighbours, former)) in cluster.iter_mut().zip(neighbours.iter().zip(former)) {
            *word = neighbours & former;
        }
        insert(&mut cluster, v);
        insert(&mut cluster, p);
        for &child in &self.children[p] {
            let below = &self.clusters[child as usize * words..][..words];
            cluster.iter_mut().zip(below).for_each(|(word, below)| *word |= below);
        }
        for &child in &self.children[p] {
            remove(&mut cluster, child as usize);
        }

        self.clusters.copy_within(p * words..(p + 1) * words, v * words);
        let cluster_of_v = &mut self.clusters[v * words..][..words];
        remove(cluster_of_v, p);
        insert(cluster_of_v, v);
        self.clusters[p * words..][..words].copy_from_slice(&cluster);
        self.sizes[v] = self.sizes[p];
        self.entries[v] = self.measure(&self.clusters[v * words..][..words]).1;
        (self.sizes[p], self.entries[p]) = self.measure(&cluster);
        self.scratch = cluster;
    }

    /// What the cluster of `v` contributes to the total.
    fn contribution(&self, v: usize) -> f64 {
        if self.maximal[v] { self.entries[v] } else { 0.0 }
    }

    /// Whether no other cluster contains the cluster of `v`. If one does, a child's cluster does.
    fn is_maximal(&self, v: usize) -> bool {
        let size = self.sizes[v] + 1;
        self.children[v].iter().all(|&child| self.sizes[child as usize] != size)
    }

    /// The number of vertices of a cluster, and the number of its table entries.
    fn measure(&self, cluster: &[u64]) -> (u32, f64) {
        let mut size = 0;
        let mut entries = 1.0_f64;
        for v in ones(cluster) {
            size += 1;
            entries *= self.weights[v];
        }
        (size, entries.min(MAX_ENTRIES))
    }
}

fn contains(set: &[u64], v: usize) -> bool {
    set[v / 64] >> (v % 64) & 1 == 1
}

fn insert(set: &mut [u64], v: usize) {
    set[v / 64] |= 1 << (v % 64);
}

fn remove(set: &mut [u64], v: usize) {
    set[v / 64] &= !(1 << (v % 64));
}

fn ones(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(index, &word)| {
        std::iter::successors((word != 0).then_some(word), |&rest| {
            let rest = rest & (rest - 1);
            (rest != 0).then_some(rest)
        })
        .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Applies random rotations and compares each tree with one built from its order.
    #[test]
    fn a_rotated_tree_equals_the_tree_built_from_its_order() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for n in [2, 5, 12, 70, 130] {
            let pairs = (0..2 * n).map(|_| {
                (0..2).map(|_| VariableId::new(random.random_range(0..n))).collect::<Vec<_>>()
            });
            let edges: Vec<Vec<VariableId>> = pairs.collect();
            let states = (0..n).map(|_| random.random_range(1..=4)).collect();
            let graph = MoralGraph::new(states, &edges);
            let order: Vec<VariableId> = (0..n).map(VariableId::new).collect();
            let mut tree = EliminationTree::new(&graph, &order, f64::sqrt);
            for _ in 0..300 {
                let v = random.random_range(0..n);
                let Some(p) = tree.parent(v) else { continue };
                let before = tree.clone();
                tree.rotate(v);
                assert_eq!(tree.parent(p), Some(v));
                assert_equal(&tree, &EliminationTree::new(&graph, &tree.order(), f64::sqrt));
                if random.random_bool(0.3) {
                    tree.rotate(p);
                    assert_equal(&tree, &before);
                }
            }
        }
    }

    fn assert_equal(one: &EliminationTree, other: &EliminationTree) {
        assert_eq!(one.clusters, other.clusters);
        assert_eq!(one.parents, other.parents);
        assert_eq!(one.maximal, other.maximal);
        assert!((one.total - other.total).abs() <= 1e-9 * one.total);
        let sorted = |tree: &EliminationTree| {
            let lists = tree.children.iter().cloned();
            lists
                .map(|mut list| {
                    list.sort_unstable();
                    list
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(sorted(one), sorted(other));
    }
}
