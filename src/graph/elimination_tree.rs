//! An elimination order as a tree that can be changed locally.
//!
//! The cluster of a vertex is the vertex with its neighbours at the time it is eliminated. The
//! parent of the vertex is the vertex of this cluster that is eliminated next. Every order in which
//! children come before their parents gives the same clusters (Liu 1990, "The role of elimination
//! trees in sparse factorization", section 3), so the tree holds all that matters about an order.
//!
//! Exchanging a vertex with its parent (a rotation) changes only their two clusters, because the
//! graph after eliminating both is the same. By rotations, any tree of the graph can be turned into
//! any other. A rotation visits only the children of the two vertices and of the parent's parent,
//! with a few operations on bit sets over all vertices.

use crate::graph::MoralGraph;
use crate::network::VariableId;

/// Stands for the parent of a root, which has none.
const NONE: u32 = u32::MAX;

/// Number of binary places of a logarithm; see [`log2`].
const LOG_PLACES: u32 = 32;

/// Number of binary places of the size of a table in a sum.
const ENTRY_PLACES: u32 = 20;

/// A table counts as at most 2 to this power entries, so that a sum of table sizes stays below
/// 2^128. No machine can propagate larger tables.
const MAX_LOG: u64 = 90;

/// The [exponent](EliminationTree::set_exponent) at which a table counts as the number of its
/// entries.
pub(super) const WHOLE: u64 = 256;

/// The elimination tree of a graph with its clusters and their sizes.
///
/// Table sizes are kept as logarithms in fixed-point numbers, and the sum of the sizes as an
/// integer. So nothing overflows, rounding does not depend on the path of a walk, and moving back
/// restores the total exactly. The total differs from the exact sum in the eighth digit.
#[derive(Clone)]
pub(super) struct EliminationTree {
    /// Number of 64-bit words in a set of vertices.
    words: usize,
    /// The logarithm of the number of states of each vertex.
    logs: Vec<u64>,
    /// Sets of vertices, `words` words each: the neighbours of each vertex in the graph.
    neighbours: Vec<u64>,
    /// Sets of vertices, `words` words each: the cluster of each vertex without the vertex.
    residues: Vec<u64>,
    clusters: Vec<Cluster>,
    children: Vec<Vec<u32>>,
    /// See [`set_exponent`](Self::set_exponent).
    exponent: u64,
    /// Sum of the contributions of all clusters.
    total: u128,
    /// Buffer for the residue under construction.
    scratch: Vec<u64>,
}

/// The size of the cluster of a vertex, and its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cluster {
    /// Number of vertices.
    size: u32,
    /// The parent of the vertex; [`NONE`] for a root.
    parent: u32,
    /// The logarithm of the number of entries of the table.
    log: u64,
    /// What the table contributes to the total: 0 if another cluster contains this one.
    contribution: u128,
}

impl EliminationTree {
    /// The tree of eliminating `graph` in `order`, which contains every vertex once.
    pub fn new(graph: &MoralGraph, order: &[VariableId]) -> Self {
        let n = graph.len();
        let words = n.div_ceil(64);
        let mut neighbours = vec![0; n * words];
        for (a, b) in graph.edges() {
            insert(&mut neighbours[a.index() * words..][..words], b.index());
            insert(&mut neighbours[b.index() * words..][..words], a.index());
        }
        let empty = Cluster { size: 0, parent: NONE, log: 0, contribution: 0 };
        let mut tree = Self {
            words,
            logs: graph.cardinalities().iter().map(|&states| log2(states as u64)).collect(),
            residues: neighbours.clone(),
            neighbours,
            clusters: vec![empty; n],
            children: vec![Vec::new(); n],
            exponent: WHOLE,
            total: 0,
            scratch: vec![0; words],
        };
        let mut position = vec![0; n];
        for (at, v) in order.iter().enumerate() {
            position[v.index()] = at;
        }
        let mut eliminated = vec![0_u64; words];
        for v in order.iter().map(|v| v.index()) {
            let mut residue = tree.residues[v * words..][..words].to_vec();
            for child in &tree.children[v] {
                let below = &tree.residues[*child as usize * words..][..words];
                residue.iter_mut().zip(below).for_each(|(word, below)| *word |= below);
            }
            insert(&mut eliminated, v);
            residue.iter_mut().zip(&eliminated).for_each(|(word, eliminated)| *word &= !eliminated);
            let parent = ones(&residue).min_by_key(|&a| position[a]);
            let cluster = &mut tree.clusters[v];
            cluster.size = 1;
            cluster.log = tree.logs[v];
            for a in ones(&residue) {
                cluster.size += 1;
                cluster.log += tree.logs[a];
            }
            if let Some(parent) = parent {
                cluster.parent = parent as u32;
                tree.children[parent].push(v as u32);
            }
            tree.residues[v * words..][..words].copy_from_slice(&residue);
            tree.total += tree.measure(v);
        }
        tree
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.logs.len()
    }

    /// Sum of the sizes of the tables of the maximal clusters, where a table of s entries counts as
    /// s to the power of `exponent` / [`WHOLE`]. The sum has [`ENTRY_PLACES`] binary places.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Sets the exponent of the total. With a smaller exponent, large tables weigh less against
    /// small ones. The exponent of a new tree is [`WHOLE`].
    pub fn set_exponent(&mut self, exponent: u64) {
        self.exponent = exponent;
        self.total = (0..self.len()).map(|v| self.measure(v)).sum();
    }

    /// What [`total`](Self::total) is with the exponent [`WHOLE`].
    pub fn whole_total(&self) -> u128 {
        let maximal = self.clusters.iter().filter(|cluster| cluster.contribution > 0);
        maximal.map(|cluster| exp2(cluster.log)).sum()
    }

    /// The parent of `v`.
    pub fn parent(&self, v: usize) -> Option<usize> {
        let parent = self.clusters[v].parent;
        (parent != NONE).then_some(parent as usize)
    }

    /// The children of `v`.
    pub fn children(&self, v: usize) -> &[u32] {
        &self.children[v]
    }

    /// An order with this tree: children before parents.
    pub fn order(&self) -> Vec<VariableId> {
        let mut order = Vec::with_capacity(self.len());
        let mut stack: Vec<usize> =
            (0..self.len()).filter(|&v| self.clusters[v].parent == NONE).collect();
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
        let p = self.clusters[v].parent as usize;
        self.total -= self.clusters[v].contribution + self.clusters[p].contribution;
        self.exchange_edges(v, p);
        self.exchange_clusters(v, p);
        self.total += self.measure(p) + self.measure(v);
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
            if self.residues[child as usize * words + p / 64] >> (p % 64) & 1 == 1 {
                children_of_v.swap_remove(index);
                self.clusters[child as usize].parent = p as u32;
                children_of_p.push(child);
            } else {
                index += 1;
            }
        }
        children_of_v.push(p as u32);
        self.children[p] = children_of_p;
        self.children[v] = children_of_v;

        let grandparent = self.clusters[p].parent;
        self.clusters[v].parent = grandparent;
        self.clusters[p].parent = v as u32;
        if grandparent != NONE {
            let siblings = &mut self.children[grandparent as usize];
            let place = siblings.iter().position(|&c| c as usize == p).expect("p is its child");
            siblings[place] = v as u32;
        }
    }

    /// Computes the clusters of `v` and `p`, and their sizes, after
    /// [`exchange_edges`](Self::exchange_edges).
    ///
    /// The new residue of p is made of v, the neighbours of p that are eliminated later, and the
    /// residues of the children of p without p. Eliminating v now leaves the graph that eliminating
    /// p left before, so the new residue of v is the former residue of p.
    #[inline]
    fn exchange_clusters(&mut self, v: usize, p: usize) {
        let words = self.words;
        let residue = &mut self.scratch[..words];
        let former = &self.residues[p * words..][..words];
        let neighbours = &self.neighbours[p * words..][..words];
        for (word, (neighbours, former)) in residue.iter_mut().zip(neighbours.iter().zip(former)) {
            *word = neighbours & former;
        }
        for &child in &self.children[p] {
            let below = &self.residues[child as usize * words..][..words];
            residue.iter_mut().zip(below).for_each(|(word, below)| *word |= below);
        }
        remove(residue, p);

        // The new cluster of p is its former cluster with v, without the vertices that are dropped.
        let (mut size, mut log) = (self.clusters[p].size + 1, self.clusters[p].log + self.logs[v]);
        for (index, (former, word)) in former.iter().zip(&*residue).enumerate() {
            let mut dropped = former & !word;
            while dropped != 0 {
                size -= 1;
                log -= self.logs[index * 64 + dropped.trailing_zeros() as usize];
                dropped &= dropped - 1;
            }
        }
        insert(residue, v);

        self.clusters[v].size = self.clusters[p].size;
        self.clusters[v].log = self.clusters[p].log - self.logs[p] + self.logs[v];
        (self.clusters[p].size, self.clusters[p].log) = (size, log);
        self.residues.copy_within(p * words..(p + 1) * words, v * words);
        self.residues[p * words..][..words].copy_from_slice(&self.scratch);
    }

    /// Computes what the cluster of `v` contributes to the [total](Self::total): 0 if another
    /// cluster contains it. If any cluster contains it, the cluster of a child does.
    fn measure(&mut self, v: usize) -> u128 {
        let Cluster { size, log, .. } = self.clusters[v];
        let contains = |child: &u32| self.clusters[*child as usize].size == size + 1;
        let is_contained = self.children[v].iter().any(contains);
        let contribution = if is_contained { 0 } else { exp2(log * self.exponent / WHOLE) };
        self.clusters[v].contribution = contribution;
        contribution
    }
}

/// The logarithm of `number` to base 2, rounded down to a multiple of 2^-32, times 2^32.
///
/// Computed with integers only, so that it is the same on every machine.
fn log2(number: u64) -> u64 {
    let whole = number.ilog2();
    // The number scaled to [1, 2), with 62 binary places.
    let mut scaled = (u128::from(number) << 62) >> whole;
    let mut log = u64::from(whole);
    for _ in 0..LOG_PLACES {
        scaled = (scaled * scaled) >> 62;
        let bit = (scaled >> 63) as u64;
        scaled >>= bit;
        log = log << 1 | bit;
    }
    log
}

/// 2 to the power of `log` / 2^32, with [`ENTRY_PLACES`] binary places. An exponent above
/// [`MAX_LOG`] counts as [`MAX_LOG`].
fn exp2(log: u64) -> u128 {
    /// ln 2, with 32 binary places.
    const LN_2: u64 = 2_977_044_471;
    let log = log.min(MAX_LOG << LOG_PLACES);
    let (coarse, fine, rest) = (log >> 26 & 63, log >> 20 & 63, log & 0xf_ffff);
    let power = (COARSE_POWERS[coarse as usize] * FINE_POWERS[fine as usize]) >> 31;
    // 2^x is nearly 1 + x ln 2 for small x.
    let power = power + ((power * ((rest * LN_2) >> 32)) >> 32);
    u128::from(power) << (log >> LOG_PLACES) >> (31 - ENTRY_PLACES)
}

/// 2 to the power of i / 64, with 31 binary places.
static COARSE_POWERS: [u64; 64] = powers_of_two(1);

/// 2 to the power of i / 4096, with 31 binary places.
static FINE_POWERS: [u64; 64] = powers_of_two(64);

/// 2 to the power of i / (64 * `denominator`) for i in 0..64, with 31 binary places.
const fn powers_of_two(denominator: u128) -> [u64; 64] {
    // The root of 2 of degree 64 * `denominator`, with 62 binary places, by repeated square roots.
    let mut root = 2_u128 << 62;
    let mut degree = 1;
    while degree < 64 * denominator {
        root = (root << 62).isqrt();
        degree *= 2;
    }
    let mut powers = [0; 64];
    let mut power = 1_u128 << 62;
    let mut index = 0;
    while index < 64 {
        powers[index] = (power >> 31) as u64;
        power = (power * root) >> 62;
        index += 1;
    }
    powers
}

fn insert(set: &mut [u64], v: usize) {
    set[v / 64] |= 1 << (v % 64);
}

fn remove(set: &mut [u64], v: usize) {
    set[v / 64] &= !(1 << (v % 64));
}

/// The members of `set`, ascending.
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
mod tests;
