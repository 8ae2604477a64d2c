//! The middle of a tree, and one tree with short paths from several.

use std::cmp::Reverse;

/// The neighbours of each vertex in a forest that is being made, and what each vertex costs.
///
/// A path is as long as the costs of its vertices, both ends included, sum to.
pub(super) struct Forest {
    neighbours: Vec<Vec<usize>>,
    costs: Vec<u64>,
}

/// The middle of one of a forest's trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Centre {
    /// The vertex from which the longest path is shortest; the most costly of several, then the
    /// first.
    pub vertex: usize,
    /// The length of that path.
    pub radius: u128,
    /// The length of the longest path from anywhere.
    pub diameter: u128,
}

/// A vertex as it is reached from another.
#[derive(Clone, Copy)]
pub(super) struct Reached {
    pub vertex: usize,
    /// The one before it on the way; itself at the start.
    pub before: usize,
    /// Length of the path to it.
    pub distance: u128,
}

impl Forest {
    /// Vertices that cost this much, and no edge.
    pub fn new(costs: Vec<u64>) -> Self {
        Self { neighbours: vec![Vec::new(); costs.len()], costs }
    }

    /// Adds an edge.
    pub fn join(&mut self, a: usize, b: usize) {
        self.neighbours[a].push(b);
        self.neighbours[b].push(a);
    }

    /// Takes an edge away.
    pub fn part(&mut self, a: usize, b: usize) {
        self.neighbours[a].retain(|&v| v != b);
        self.neighbours[b].retain(|&v| v != a);
    }

    /// The neighbours of a vertex.
    pub fn neighbours(&self, vertex: usize) -> &[usize] {
        &self.neighbours[vertex]
    }

    /// Joins the trees in which `vertices` are, one of each.
    ///
    /// Every tree is joined centre to centre to one with the greatest radius, because each must
    /// reach the others from somewhere, and from its centre it reaches its own vertices soonest.
    pub fn join_all(&mut self, vertices: &[usize]) {
        let centres: Vec<Centre> = vertices.iter().map(|&v| self.centre(v)).collect();
        let widest = (0..centres.len()).max_by_key(|&tree| (centres[tree].radius, Reverse(tree)));
        let hub = widest.expect("there is at least one tree");
        for (tree, centre) in centres.iter().enumerate() {
            if tree != hub {
                self.join(centre.vertex, centres[hub].vertex);
            }
        }
    }

    /// The centre of the tree in which `vertex` is.
    pub fn centre(&self, vertex: usize) -> Centre {
        let longest = self.longest_paths(vertex);
        let least = longest.iter().min_by_key(|&&(v, path)| (path, Reverse(self.costs[v]), v));
        let &(vertex, radius) = least.expect("a tree has a vertex");
        let diameter = longest.iter().map(|&(_, path)| path).max().unwrap_or(radius);
        Centre { vertex, radius, diameter }
    }

    /// The vertices of the tree in which `vertex` is, each with the length of the longest path
    /// from it.
    ///
    /// One of these ends where a longest path of the tree does, and one end of any longest path is
    /// among the vertices that are furthest from anywhere.
    pub fn longest_paths(&self, vertex: usize) -> Vec<(usize, u128)> {
        let furthest = |reached: &[Reached]| {
            let last = reached.iter().max_by_key(|r| (r.distance, Reverse(r.vertex)));
            last.expect("a vertex reaches itself").vertex
        };
        let one = furthest(&self.reach(vertex));
        let from_one = self.reach(one);
        let other = furthest(&from_one);
        let mut from_other = vec![0; self.costs.len()];
        for reached in self.reach(other) {
            from_other[reached.vertex] = reached.distance;
        }
        from_one.iter().map(|r| (r.vertex, r.distance.max(from_other[r.vertex]))).collect()
    }

    /// All vertices of the tree in which `from` is, each after the one before it on the way.
    pub fn reach(&self, from: usize) -> Vec<Reached> {
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
            forest.join(a, b);
        }
        forest
    }

    fn longest(forest: &Forest, from: usize) -> u128 {
        forest.reach(from).iter().map(|reached| reached.distance).max().unwrap()
    }

    #[test]
    fn the_centre_of_a_path_is_its_middle() {
        let odd = forest(&[1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(odd.centre(0), Centre { vertex: 2, radius: 3, diameter: 5 });
        let path = [(0, 1), (1, 2), (2, 3)];
        assert_eq!(forest(&[1; 4], &path).centre(3).vertex, 1, "the first of two");
        assert_eq!(forest(&[1, 2, 3, 1], &path).centre(3).vertex, 2, "the more costly of two");
    }

    #[test]
    fn no_vertex_is_nearer_to_all_than_the_centre() {
        let mut random = Pcg64Mcg::seed_from_u64(23);
        for n in 1..60_usize {
            let costs: Vec<u64> = (0..n).map(|_| random.random_range(0..50)).collect();
            let edges: Vec<(usize, usize)> =
                (1..n).map(|v| (v, random.random_range(v.saturating_sub(6)..v))).collect();
            let forest = forest(&costs, &edges);
            let centre = forest.centre(random.random_range(0..n));
            assert_eq!(centre.radius, longest(&forest, centre.vertex));
            assert_eq!(Some(centre.radius), (0..n).map(|v| longest(&forest, v)).min());
            assert_eq!(Some(centre.diameter), (0..n).map(|v| longest(&forest, v)).max());
        }
    }

    #[test]
    fn trees_are_joined_without_longer_paths_than_there_must_be() {
        // A path of seven, a path of three, and two single vertices.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (7, 8), (8, 9)];
        let mut forest = forest(&[1; 12], &edges);
        forest.join_all(&[7, 0, 10, 11]);
        assert_eq!(forest.centre(11), Centre { vertex: 3, radius: 4, diameter: 7 });
    }

    #[test]
    fn two_trees_of_one_radius_make_one_that_is_one_deeper() {
        let mut forest = forest(&[1; 6], &[(0, 1), (1, 2), (3, 4), (4, 5)]);
        forest.join_all(&[0, 3]);
        assert_eq!(forest.centre(0).radius, 3);
    }
}
