//! Shortens the critical path of a junction tree by changes that add no more work than they remove
//! from the path.
//!
//! In collect, a message waits for all messages of the subtree below it. However many processors
//! there are, collect takes at least as long as the most expensive path from the root to a leaf,
//! the critical path, and so does distribute.

use crate::graph::Clique;
use crate::graph::centre::{Centre, Forest};
use crate::network::VariableId;

/// The fixed cost of a message, in table entries. A thread takes about a microsecond to notice that
/// it can compute a message and to begin it; in this time it could read about this many entries.
/// Affects only the shape of the tree.
const MESSAGE_COST: u64 = 4096;

/// Once all traversals of a forest together have visited more than this number of cliques, at about
/// 10 ns each, [`shorten`] changes no further edge. The trees of the shipped networks are the same
/// without this limit. In larger trees, a path may stay longer than necessary, which affects only
/// how much of a propagation can run in parallel.
const MAX_VISITS: u64 = 1 << 25;

/// The cost of a clique on a path, in table entries.
pub(super) fn cost(clique: &Clique) -> u64 {
    clique.entries.saturating_add(MESSAGE_COST)
}

/// Attaches subtrees to other cliques as long as this shortens the critical path, or one of several
/// equally long critical paths. Returns the root that makes the critical path shortest.
///
/// Take an edge and two cliques that contain its separator, one clique on each side of the edge. A
/// new edge between these two cliques can replace the old one: the separators stay the same, and
/// the running intersection property still holds. The number of entries that a propagation touches
/// (at both ends of every edge) may grow, but by less than the critical path shrinks: the sum of
/// this number and of the length of the critical path never grows. The time of a single processor
/// depends on the number of entries, and the time of many processors on the critical path.
///
/// `holders[v]` are the cliques that contain variable `v`; `forest` is one tree over all `cliques`.
///
/// # Complexity
/// O((r + 1) d k (w log w + log k)) for k cliques of at most w variables, critical paths of at most
/// d cliques and r changes. A change visits at least k cliques, so [`MAX_VISITS`] limits r.
pub(super) fn shorten(cliques: &[Clique], holders: &[Vec<usize>], forest: &mut Forest) -> usize {
    let mut centre = forest.centre(0);
    while let Some(shorter) = reattach_one(cliques, holders, forest, centre) {
        centre = shorter;
    }
    centre.vertex
}

/// Replaces the first edge of the critical path, from the root down, whose replacement is an
/// improvement. Returns the new centre, or `None` if there is no such edge or more than
/// [`MAX_VISITS`] cliques were visited.
fn reattach_one(
    cliques: &[Clique],
    holders: &[Vec<usize>],
    forest: &mut Forest,
    centre: Centre,
) -> Option<Centre> {
    let entries = |(a, b): (usize, usize)| cliques[a].entries.saturating_add(cliques[b].entries);
    for edge in critical_path(cliques.len(), forest, centre) {
        if forest.visits() > MAX_VISITS {
            return None;
        }
        let (parent, child) = edge;
        let candidates = common_holders(cliques, holders, parent, child);
        if candidates.len() <= 2 {
            continue;
        }
        forest.remove_edge(parent, child);
        let above = most_central(forest, parent, &candidates);
        let below = most_central(forest, child, &candidates);
        for replacement in [(above, child), (above, below), (parent, below)] {
            forest.add_edge(replacement.0, replacement.1);
            let found = forest.centre(parent);
            let added = u128::from(entries(replacement).saturating_sub(entries(edge)));
            let is_shorter = found.radius.saturating_add(added) < centre.radius;
            // If two branches are equally long, shortening one shortens the diameter but not the
            // radius.
            let shortens_one_branch =
                found.radius == centre.radius && found.diameter < centre.diameter;
            if is_shorter || shortens_one_branch && added == 0 {
                return Some(found);
            }
            forest.remove_edge(replacement.0, replacement.1);
        }
        forest.add_edge(parent, child);
    }
    None
}

/// The edges of a longest path from the centre, in order, each with the end nearer to the centre
/// first.
fn critical_path(cliques: usize, forest: &mut Forest, centre: Centre) -> Vec<(usize, usize)> {
    let reached = forest.paths_from(centre.vertex);
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

/// The cliques that contain all variables that the neighbours `a` and `b` share, ascending; empty
/// if they share no variable.
fn common_holders(cliques: &[Clique], holders: &[Vec<usize>], a: usize, b: usize) -> Vec<usize> {
    let holds = |clique: usize, v: &VariableId| cliques[clique].variables.binary_search(v).is_ok();
    let shared: Vec<&VariableId> = cliques[a].variables.iter().filter(|v| holds(b, v)).collect();
    let Some(rarest) = shared.iter().min_by_key(|v| holders[v.index()].len()) else {
        return Vec::new();
    };
    let all = holders[rarest.index()].iter().copied();
    all.filter(|&clique| shared.iter().all(|v| holds(clique, v))).collect()
}

/// The candidate in the tree of `vertex` whose longest path in this tree is shortest. `candidates`
/// is ascending and contains `vertex`.
fn most_central(forest: &mut Forest, vertex: usize, candidates: &[usize]) -> usize {
    let paths = forest.longest_paths(vertex).into_iter();
    let candidates_here = paths.filter(|(v, _)| candidates.binary_search(v).is_ok());
    candidates_here.min_by_key(|&(v, path)| (path, v)).map_or(vertex, |(v, _)| v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clique(variables: &[usize], entries: u64) -> Clique {
        Clique { variables: variables.iter().map(|&v| VariableId::new(v)).collect(), entries }
    }

    /// The neighbours of each clique, and the root, after shortening a chain of `cliques`.
    fn shortened(cliques: &[Clique]) -> (Vec<Vec<usize>>, usize) {
        let mut holders = vec![Vec::new(); 10];
        for (index, clique) in cliques.iter().enumerate() {
            clique.variables.iter().for_each(|v| holders[v.index()].push(index));
        }
        let mut forest = Forest::new(cliques.iter().map(cost).collect());
        (1..cliques.len()).for_each(|c| forest.add_edge(c - 1, c));
        let root = shorten(cliques, &holders, &mut forest);
        let neighbours = |c: usize| {
            let mut all = forest.neighbours(c).to_vec();
            all.sort_unstable();
            all
        };
        ((0..cliques.len()).map(neighbours).collect(), root)
    }

    #[test]
    fn a_chain_becomes_a_star_if_that_costs_no_more() {
        let chain: Vec<Clique> = (0..5).map(|c| clique(&[0, c + 1], 10)).collect();
        let (neighbours, root) = shortened(&chain);
        assert_eq!(neighbours[root].len(), 4, "{neighbours:?}");
    }

    #[test]
    fn nothing_is_attached_to_a_table_that_costs_more_than_it_saves() {
        let chain = |entries| {
            [clique(&[1], 10), clique(&[1, 2, 3], entries), clique(&[2, 3], 10), clique(&[3], 10)]
        };
        let star = [vec![1], vec![0, 2, 3], vec![1], vec![1]];
        assert_eq!(shortened(&chain(1000)), (star.to_vec(), 1));
        let path = [vec![1], vec![0, 2], vec![1, 3], vec![2]];
        assert_eq!(shortened(&chain(1_000_000)), (path.to_vec(), 1));
    }
}
