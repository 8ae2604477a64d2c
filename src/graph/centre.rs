//! The middle of a tree, and one shallow tree from several.

use std::cmp::Reverse;

/// The neighbours of each vertex in a forest that is being made.
pub(super) struct Forest {
    neighbours: Vec<Vec<usize>>,
}

/// The middle of one of a forest's trees.
struct Centre {
    /// One vertex, or two neighbours.
    vertices: Vec<usize>,
    /// Edges from the first of them to the furthest vertex.
    radius: usize,
}

impl Forest {
    /// `vertices` vertices and no edge.
    pub fn new(vertices: usize) -> Self {
        Self { neighbours: vec![Vec::new(); vertices] }
    }

    /// Adds an edge.
    pub fn join(&mut self, a: usize, b: usize) {
        self.neighbours[a].push(b);
        self.neighbours[b].push(a);
    }

    /// The neighbours of a vertex.
    pub fn neighbours(&self, vertex: usize) -> &[usize] {
        &self.neighbours[vertex]
    }

    /// Joins the trees in which `vertices` are, one of each, and returns the centre of the whole.
    ///
    /// Every tree is joined centre to centre to one with the greatest radius. No other way gives
    /// a smaller radius, because each tree must reach the others from somewhere, and from its
    /// centre it reaches its own vertices soonest. Of two middle vertices the one with the larger
    /// `weight` is taken, then the first.
    pub fn join_all(&mut self, vertices: &[usize], weight: impl Fn(usize) -> u64) -> usize {
        let heaviest = |centre: &Centre| {
            let candidates = centre.vertices.iter().copied();
            candidates.max_by_key(|&v| (weight(v), Reverse(v))).expect("a tree has a centre")
        };
        let mut place = vec![0; self.neighbours.len()];
        let centres: Vec<Centre> = vertices.iter().map(|&v| self.centre(v, &mut place)).collect();
        let widest = (0..centres.len()).max_by_key(|&tree| (centres[tree].radius, Reverse(tree)));
        let hub = widest.expect("there is at least one tree");
        for (tree, centre) in centres.iter().enumerate() {
            if tree != hub {
                self.join(heaviest(centre), heaviest(&centres[hub]));
            }
        }
        heaviest(&self.centre(vertices[hub], &mut place))
    }

    /// The centre of the tree in which `vertex` is: the middle of any longest path.
    ///
    /// `place` is scratch, one item a vertex.
    fn centre(&self, vertex: usize, place: &mut [usize]) -> Centre {
        let end = self.longest_path(vertex, place)[0];
        let path = self.longest_path(end, place);
        let middle = path.len() / 2;
        let vertices = &path[middle - usize::from(path.len().is_multiple_of(2))..=middle];
        Centre { vertices: vertices.to_vec(), radius: middle }
    }

    /// A longest path among those that start at `from`; its other end comes first.
    fn longest_path(&self, from: usize, place: &mut [usize]) -> Vec<usize> {
        // Breadth first, so that the last vertex reached is one of the furthest. Each stands with
        // the one before it.
        let mut reached = vec![(from, from)];
        let mut next = 0;
        while let Some(&(vertex, before)) = reached.get(next) {
            place[vertex] = next;
            let onward = self.neighbours[vertex].iter().filter(|&&v| v != before);
            reached.extend(onward.map(|&v| (v, vertex)));
            next += 1;
        }
        let (mut vertex, mut before) = reached[reached.len() - 1];
        let mut path = vec![vertex];
        while vertex != from {
            (vertex, before) = reached[place[before]];
            path.push(vertex);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest(vertices: usize, edges: &[(usize, usize)]) -> Forest {
        let mut forest = Forest::new(vertices);
        for &(a, b) in edges {
            forest.join(a, b);
        }
        forest
    }

    fn depth(forest: &Forest, root: usize) -> usize {
        forest.longest_path(root, &mut vec![0; forest.neighbours.len()]).len() - 1
    }

    #[test]
    fn the_centre_of_a_path_is_its_middle() {
        let mut odd = forest(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(odd.join_all(&[0], |_| 1), 2);
        let mut even = forest(4, &[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(even.join_all(&[3], |_| 1), 1, "the first of two that weigh the same");
        assert_eq!(even.join_all(&[3], |v| v as u64), 2, "the heavier of two");
    }

    #[test]
    fn a_single_vertex_is_its_own_centre() {
        assert_eq!(Forest::new(1).join_all(&[0], |_| 1), 0);
    }

    #[test]
    fn trees_are_joined_without_becoming_deeper_than_they_must() {
        // A path of seven, a path of three, and two single vertices.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (7, 8), (8, 9)];
        let mut forest = forest(12, &edges);
        let root = forest.join_all(&[7, 0, 10, 11], |_| 1);
        assert_eq!((root, depth(&forest, root)), (3, 3));
    }

    #[test]
    fn two_trees_of_one_radius_make_one_that_is_one_deeper() {
        let mut forest = forest(6, &[(0, 1), (1, 2), (3, 4), (4, 5)]);
        let root = forest.join_all(&[0, 3], |v| v as u64);
        assert_eq!((root, depth(&forest, root)), (4, 2));
    }
}
