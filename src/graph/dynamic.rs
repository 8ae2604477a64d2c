//! A graph from which vertices are removed and to which edges are added.
//!
//! Neighbours are kept in lists, which are short on average in any network that can be compiled. A
//! bit matrix answers whether two vertices are neighbours. Its memory grows with the square of the
//! number of vertices, so a large graph has a hash map instead, which grows with the number of
//! edges.

use std::collections::HashMap;

use fixedbitset::FixedBitSet;

use crate::graph::MoralGraph;

/// Maximum number of vertices of a graph with a bit matrix, which then takes 8 MiB. The matrix is
/// several times as fast as the hash map. Affects only time and memory.
const MAX_MATRIX: usize = 8192;

/// Bytes of the bit matrix of a graph with `vertices` vertices; zero for a large graph.
pub(super) fn matrix_bytes(vertices: usize) -> u64 {
    if vertices <= MAX_MATRIX { (vertices * vertices / 8) as u64 } else { 0 }
}

/// The graph of the remaining vertices.
///
/// The order of the neighbours in each list depends only on the original graph and on the sequence
/// of changes, not on how neighbours are looked up.
#[derive(Clone)]
pub(super) struct DynamicGraph {
    /// The neighbours of each vertex.
    neighbours: Vec<Vec<u32>>,
    edges: Edges,
}

/// Which vertices are neighbours.
#[derive(Clone)]
enum Edges {
    /// Bit `a * n + b` for n vertices: whether `a` and `b` are neighbours. A vertex that was
    /// removed keeps its bits.
    Matrix(FixedBitSet),
    /// For each pair of neighbours in ascending order: the place of the second in the list of the
    /// first, and the place of the first in the list of the second.
    Places(HashMap<[u32; 2], [u32; 2]>),
}

/// `a` and `b` in ascending order.
fn pair(a: u32, b: u32) -> [u32; 2] {
    if a < b { [a, b] } else { [b, a] }
}

impl DynamicGraph {
    /// All of `graph`.
    pub fn new(graph: &MoralGraph) -> Self {
        Self::with_matrix(graph, graph.len() <= MAX_MATRIX)
    }

    /// All of `graph`, with a bit matrix or with a hash map.
    fn with_matrix(graph: &MoralGraph, has_matrix: bool) -> Self {
        let n = graph.len();
        let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut matrix = FixedBitSet::with_capacity(if has_matrix { n * n } else { 0 });
        let mut places = HashMap::with_capacity(if has_matrix { 0 } else { graph.edge_count() });
        for (a, b) in graph.edges() {
            let (a, b) = (a.index(), b.index());
            if has_matrix {
                matrix.insert(a * n + b);
                matrix.insert(b * n + a);
            } else {
                let place = [neighbours[a].len() as u32, neighbours[b].len() as u32];
                places.insert([a as u32, b as u32], place);
            }
            neighbours[a].push(b as u32);
            neighbours[b].push(a as u32);
        }
        let edges = if has_matrix { Edges::Matrix(matrix) } else { Edges::Places(places) };
        Self { neighbours, edges }
    }

    /// Number of vertices, including those that were removed.
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// The neighbours of `v`.
    pub fn neighbours(&self, v: u32) -> &[u32] {
        &self.neighbours[v as usize]
    }

    /// Number of neighbours of `v`.
    pub fn degree(&self, v: u32) -> usize {
        self.neighbours[v as usize].len()
    }

    /// Whether the remaining vertices `a` and `b` are neighbours.
    pub fn are_neighbours(&self, a: u32, b: u32) -> bool {
        match &self.edges {
            Edges::Matrix(bits) => bits.contains(a as usize * self.neighbours.len() + b as usize),
            Edges::Places(places) => places.contains_key(&pair(a, b)),
        }
    }

    /// Adds the edge between `a` and `b`, which are not neighbours.
    pub fn connect(&mut self, a: u32, b: u32) {
        let n = self.neighbours.len();
        match &mut self.edges {
            Edges::Matrix(bits) => {
                bits.insert(a as usize * n + b as usize);
                bits.insert(b as usize * n + a as usize);
            }
            Edges::Places(places) => {
                let [low, high] = pair(a, b);
                let place = [low, high].map(|v| self.neighbours[v as usize].len() as u32);
                places.insert([low, high], place);
            }
        }
        self.neighbours[a as usize].push(b);
        self.neighbours[b as usize].push(a);
    }

    /// Removes `v`, and returns its neighbours.
    pub fn remove(&mut self, v: u32) -> Vec<u32> {
        let around = std::mem::take(&mut self.neighbours[v as usize]);
        for &a in &around {
            let list = &mut self.neighbours[a as usize];
            let place = match &mut self.edges {
                Edges::Matrix(_) => list.iter().position(|&x| x == v),
                Edges::Places(places) => {
                    places.remove(&pair(a, v)).map(|at| at[usize::from(a > v)] as usize)
                }
            };
            let place = place.expect("edges go both ways");
            list.swap_remove(place);
            if let (Edges::Places(places), Some(&moved)) = (&mut self.edges, list.get(place)) {
                let at = places.get_mut(&pair(a, moved)).expect("a neighbour of a");
                at[usize::from(a > moved)] = place as u32;
            }
        }
        around
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::network::VariableId;

    #[test]
    fn the_matrix_and_the_hash_map_give_the_same_lists() {
        let mut random = Pcg64Mcg::seed_from_u64(29);
        for _ in 0..40 {
            let n = random.random_range(2..20_usize);
            let edges: Vec<Vec<VariableId>> = (0..random.random_range(0..40))
                .map(|_| (0..2).map(|_| VariableId::new(random.random_range(0..n))).collect())
                .collect();
            let graph = MoralGraph::new(vec![2; n], &edges);
            let mut both = [true, false].map(|matrix| DynamicGraph::with_matrix(&graph, matrix));
            let mut remaining: Vec<u32> = (0..n as u32).collect();
            while remaining.len() > 1 {
                let [a, b] = [0, 1].map(|_| remaining[random.random_range(0..remaining.len())]);
                if a != b && !both[0].are_neighbours(a, b) {
                    both.iter_mut().for_each(|graph| graph.connect(a, b));
                }
                if random.random_bool(0.5) {
                    remaining.retain(|&v| v != a);
                    let [one, other] = both.each_mut().map(|graph| graph.remove(a));
                    assert_eq!(one, other);
                }
                let [one, other] = &both;
                assert_eq!(one.neighbours, other.neighbours);
                for &a in &remaining {
                    for &b in remaining.iter().filter(|&&b| b != a) {
                        assert_eq!(one.are_neighbours(a, b), other.are_neighbours(a, b));
                        assert_eq!(one.are_neighbours(a, b), one.neighbours(a).contains(&b));
                    }
                }
            }
        }
    }
}
