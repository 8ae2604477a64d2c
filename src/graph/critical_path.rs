//! A shorter critical path at no more work.
//!
//! A message waits for the messages of everything below it, so however many processors there are,
//! one way of a propagation takes at least as long as the most costly path from the root to a
//! leaf: the critical path. Both ways together it is walked twice.

use crate::graph::Clique;
use crate::graph::centre::{Centre, Forest};
use crate::network::VariableId;

/// What a message costs beyond the entries that it touches, in entries: finding the message to be
/// ready and starting on it takes about a microsecond, in which a processor reads this many.
const MESSAGE: u64 = 4096;

/// Cost of a clique on a path.
pub(super) fn cost(clique: &Clique) -> u64 {
    clique.entries.saturating_add(MESSAGE)
}

/// Hangs subtrees on other cliques as long as that shortens the critical path from the best root,
/// and returns that root.
///
/// An edge may go between any two cliques, one on either side of it, that hold its separator: the
/// separators stay the same, and with them the running intersection property. What a propagation touches, the entries
/// at both ends of every edge, may grow where that is no more than the path gets shorter; on one
/// processor the first counts and on many the second, and their sum never grows.
///
/// `holders[v]` are the cliques with variable `v`; `forest` is one tree over all `cliques`.
///
/// # Complexity
/// O(r d k) for k cliques, paths of d cliques and r changes.
pub(super) fn shorten(cliques: &[Clique], holders: &[Vec<usize>], forest: &mut Forest) -> usize {
    let mut centre = forest.centre(0);
    while let Some(shorter) = rehang_one(cliques, holders, forest, centre) {
        centre = shorter;
    }
    centre.vertex
}

/// Makes the first change on the critical path that pays, from the root on.
fn rehang_one(
    cliques: &[Clique],
    holders: &[Vec<usize>],
    forest: &mut Forest,
    centre: Centre,
) -> Option<Centre> {
    let entries = |(a, b): (usize, usize)| cliques[a].entries.saturating_add(cliques[b].entries);
    for edge in critical_path(cliques.len(), forest, centre) {
        let (parent, child) = edge;
        let candidates = common_holders(cliques, holders, parent, child);
        if candidates.len() <= 2 {
            continue;
        }
        forest.part(parent, child);
        let above = nearest(forest, parent, &candidates);
        let below = nearest(forest, child, &candidates);
        for other in [(above, child), (above, below), (parent, below)] {
            forest.join(other.0, other.1);
            let found = forest.centre(parent);
            let more = u128::from(entries(other).saturating_sub(entries(edge)));
            let shorter = found.radius.saturating_add(more) < centre.radius;
            // Where two paths are the longest, one is shortened before the other.
            let level = found.radius == centre.radius && found.diameter < centre.diameter;
            if shorter || level && more == 0 {
                return Some(found);
            }
            forest.part(other.0, other.1);
        }
        forest.join(parent, child);
    }
    None
}

/// The edges of a longest path from the centre, each as the end nearer to it and the other, from
/// the centre on.
fn critical_path(cliques: usize, forest: &Forest, centre: Centre) -> Vec<(usize, usize)> {
    let reached = forest.reach(centre.vertex);
    let mut place = vec![0; cliques];
    for (index, reached) in reached.iter().enumerate() {
        place[reached.vertex] = index;
    }
    let mut path = Vec::new();
    let furthest = reached.iter().max_by_key(|reached| reached.distance);
    let mut last = *furthest.expect("a vertex reaches itself");
    while last.vertex != centre.vertex {
        path.push((last.before, last.vertex));
        last = reached[place[last.before]];
    }
    path.reverse();
    path
}

/// The cliques that hold all that two neighbours share, in ascending order; none if they share
/// nothing.
fn common_holders(cliques: &[Clique], holders: &[Vec<usize>], a: usize, b: usize) -> Vec<usize> {
    let holds = |clique: usize, v: &VariableId| cliques[clique].variables.binary_search(v).is_ok();
    let shared: Vec<&VariableId> = cliques[a].variables.iter().filter(|v| holds(b, v)).collect();
    let Some(rarest) = shared.iter().min_by_key(|v| holders[v.index()].len()) else {
        return Vec::new();
    };
    let all = holders[rarest.index()].iter().copied();
    all.filter(|&clique| shared.iter().all(|v| holds(clique, v))).collect()
}

/// Of the `candidates` in the tree in which `vertex` is, itself one, that from which the longest
/// path in that tree is shortest.
fn nearest(forest: &Forest, vertex: usize, candidates: &[usize]) -> usize {
    let paths = forest.longest_paths(vertex).into_iter();
    let here = paths.filter(|(v, _)| candidates.binary_search(v).is_ok());
    here.min_by_key(|&(v, path)| (path, v)).map_or(vertex, |(v, _)| v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clique(variables: &[usize], entries: u64) -> Clique {
        Clique { variables: variables.iter().map(|&v| VariableId::new(v)).collect(), entries }
    }

    /// The neighbours and the root of what becomes of a chain of `cliques`.
    fn shortened(cliques: &[Clique]) -> (Vec<Vec<usize>>, usize) {
        let mut holders = vec![Vec::new(); 10];
        for (index, clique) in cliques.iter().enumerate() {
            clique.variables.iter().for_each(|v| holders[v.index()].push(index));
        }
        let mut forest = Forest::new(cliques.iter().map(cost).collect());
        (1..cliques.len()).for_each(|c| forest.join(c - 1, c));
        let root = shorten(cliques, &holders, &mut forest);
        let neighbours = |c: usize| {
            let mut all = forest.neighbours(c).to_vec();
            all.sort_unstable();
            all
        };
        ((0..cliques.len()).map(neighbours).collect(), root)
    }

    #[test]
    fn a_chain_becomes_a_star_where_that_costs_no_more() {
        let chain: Vec<Clique> = (0..5).map(|c| clique(&[0, c + 1], 10)).collect();
        let (neighbours, root) = shortened(&chain);
        assert_eq!(neighbours[root].len(), 4, "{neighbours:?}");
    }

    #[test]
    fn nothing_is_hung_on_a_table_that_costs_more_than_the_path_gets_shorter() {
        let chain = |entries| {
            [clique(&[1], 10), clique(&[1, 2, 3], entries), clique(&[2, 3], 10), clique(&[3], 10)]
        };
        let star = [vec![1], vec![0, 2, 3], vec![1], vec![1]];
        assert_eq!(shortened(&chain(1000)), (star.to_vec(), 1));
        let path = [vec![1], vec![0, 2], vec![1, 3], vec![2]];
        assert_eq!(shortened(&chain(1_000_000)), (path.to_vec(), 1));
    }
}
