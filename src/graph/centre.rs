//! The centre of a tree, and joining several trees into one with short paths.

use std::cmp::Reverse;

/// A forest under construction: the neighbours and the cost of each vertex.
///
/// The length of a path is the sum of the costs of its vertices, both ends included.
pub(super) struct Forest {
    neighbours: Vec<Vec<usize>>,
    costs: Vec<u64>,
    /// Buffer for a distance of each vertex.
    distances: Vec<u128>,
    /// Number of vertices visited by all traversals so far.
    visits: u64,
}

/// The centre of one tree of a forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Centre {
    /// The vertex whose longest path is shortest. Of several such vertices, the one with the
    /// highest cost, and then the smallest index.
    pub vertex: usize,
    /// The length of the longest path from the centre.
    pub radius: u128,
    /// The length of the longest path in the tree.
    pub diameter: u128,
}

/// A vertex reached by a traversal.
#[derive(Clone, Copy)]
pub(super) struct Reached {
    pub vertex: usize,
    /// The previous vertex on the path; the vertex itself at the start.
    pub before: usize,
    /// Length of the path from the start.
    pub distance: u128,
}

impl Forest {
    /// A forest without edges whose vertices have these costs.
    pub fn new(costs: Vec<u64>) -> Self {
        let (neighbours, distances) = (vec![Vec::new(); costs.len()], vec![0; costs.len()]);
        Self { neighbours, costs, distances, visits: 0 }
    }

    /// Adds an edge.
    pub fn add_edge(&mut self, a: usize, b: usize) {
        self.neighbours[a].push(b);
        self.neighbours[b].push(a);
    }

    /// Removes an edge.
    pub fn remove_edge(&mut self, a: usize, b: usize) {
        self.neighbours[a].retain(|&v| v != b);
        self.neighbours[b].retain(|&v| v != a);
    }

    /// Number of vertices visited so far by all searches for paths and centres.
    pub fn visits(&self) -> u64 {
        self.visits
    }

    /// The neighbours of a vertex.
    pub fn neighbours(&self, vertex: usize) -> &[usize] {
        &self.neighbours[vertex]
    }

    /// Joins the trees that contain `vertices`, one vertex from each tree, into one tree.
    ///
    /// Connects the centre of a tree with the largest radius to the centres of all other trees,
    /// which keeps the longest path of the result short.
    pub fn join_all(&mut self, vertices: &[usize]) {
        let centres: Vec<Centre> = vertices.iter().map(|&v| self.centre(v)).collect();
        let widest = (0..centres.len()).max_by_key(|&tree| (centres[tree].radius, Reverse(tree)));
        let hub = widest.expect("there is at least one tree");
        for (tree, centre) in centres.iter().enumerate() {
            if tree != hub {
                self.add_edge(centre.vertex, centres[hub].vertex);
            }
        }
    }

    /// The centre of the tree that contains `vertex`.
    pub fn centre(&mut self, vertex: usize) -> Centre {
        let longest = self.longest_paths(vertex);
        let least = longest.iter().min_by_key(|&&(v, path)| (path, Reverse(self.costs[v]), v));
        let &(vertex, radius) = least.expect("a tree has a vertex");
        let diameter = longest.iter().map(|&(_, path)| path).max().unwrap_or(radius);
        Centre { vertex, radius, diameter }
    }

    /// The vertices of the tree that contains `vertex`, each with the length of its longest path.
    ///
    /// Whatever vertex a search starts from, the vertex that is furthest away is an end of a
    /// longest path of the tree. For every vertex, one of the two ends of this path is furthest
    /// away.
    pub fn longest_paths(&mut self, vertex: usize) -> Vec<(usize, u128)> {
        let furthest = |reached: &[Reached]| {
            let last = reached.iter().max_by_key(|r| (r.distance, Reverse(r.vertex)));
            last.expect("a vertex reaches itself").vertex
        };
        let first_end = furthest(&self.paths_from(vertex));
        let from_first = self.paths_from(first_end);
        let second_end = furthest(&from_first);
        for reached in self.paths_from(second_end) {
            self.distances[reached.vertex] = reached.distance;
        }
        from_first.iter().map(|r| (r.vertex, r.distance.max(self.distances[r.vertex]))).collect()
    }

    /// All vertices of the tree that contains `from`, each after its predecessor on the path from
    /// `from`.
    pub fn paths_from(&mut self, from: usize) -> Vec<Reached> {
        let start = Reached { vertex: from, before: from, distance: u128::from(self.costs[from]) };
        let mut reached = vec![start];
        let mut next = 0;
        while let Some(&Reached { vertex, before, distance }) = reached.get(next) {
            let onward = self.neighbours[vertex].iter().filter(|&&v| v != before);
            reached.extend(onward.map(|&v| Reached {
                vertex: v,
                before: vertex,
                distance: distance + u128::from(self.costs[v]),
            }));
            next += 1;
        }
        self.visits += reached.len() as u64;
        reached
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn forest(costs: &[u64], edges: &[(usize, usize)]) -> Forest {
        let mut forest = Forest::new(costs.to_vec());
        for &(a, b) in edges {
            forest.add_edge(a, b);
        }
        forest
    }

    fn longest(forest: &mut Forest, from: usize) -> u128 {
        forest.paths_from(from).iter().map(|reached| reached.distance).max().unwrap()
    }

    #[test]
    fn the_centre_of_a_path_is_its_middle() {
        let mut odd = forest(&[1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(odd.centre(0), Centre { vertex: 2, radius: 3, diameter: 5 });
        let path = [(0, 1), (1, 2), (2, 3)];
        assert_eq!(forest(&[1; 4], &path).centre(3).vertex, 1, "the first of two");
        assert_eq!(forest(&[1, 2, 3, 1], &path).centre(3).vertex, 2, "the more costly of two");
    }

    #[test]
    fn the_centre_has_the_shortest_longest_path() {
        let mut random = Pcg64Mcg::seed_from_u64(23);
        for n in 1..60_usize {
            let costs: Vec<u64> = (0..n).map(|_| random.random_range(0..50)).collect();
            let edges: Vec<(usize, usize)> =
                (1..n).map(|v| (v, random.random_range(v.saturating_sub(6)..v))).collect();
            let mut forest = forest(&costs, &edges);
            let centre = forest.centre(random.random_range(0..n));
            assert_eq!(centre.radius, longest(&mut forest, centre.vertex));
            assert_eq!(Some(centre.radius), (0..n).map(|v| longest(&mut forest, v)).min());
            assert_eq!(Some(centre.diameter), (0..n).map(|v| longest(&mut forest, v)).max());
        }
    }

    #[test]
    fn joining_shorter_trees_does_not_lengthen_the_longest_path() {
        // A path of seven, a path of three, and two single vertices.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (7, 8), (8, 9)];
        let mut forest = forest(&[1; 12], &edges);
        forest.join_all(&[7, 0, 10, 11]);
        assert_eq!(forest.centre(11), Centre { vertex: 3, radius: 4, diameter: 7 });
    }

    #[test]
    fn joining_two_trees_of_equal_radius_adds_one_to_the_radius() {
        let mut forest = forest(&[1; 6], &[(0, 1), (1, 2), (3, 4), (4, 5)]);
        forest.join_all(&[0, 3]);
        assert_eq!(forest.centre(0).radius, 3);
    }
}
