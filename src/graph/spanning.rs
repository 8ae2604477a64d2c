//! From an elimination to a rooted junction tree.

use crate::graph::{
    Clique, CliqueId, Elimination, JunctionTree, MoralGraph, Separator, table_entries,
};
use crate::network::VariableId;

/// The maximal cliques of `elimination`, joined by a maximum spanning tree over separator sizes.
///
/// Every maximum spanning tree over the numbers of shared variables has the running intersection
/// property, and all of them have the same separators. Among them this is one with the least sum
/// of the table sizes at the two ends of every edge, which is the number of entries that one
/// message each way touches.
///
/// Components are joined by an empty separator from the centre of each to the centre of the one
/// with the greatest radius, which adds least to the depth. The root is the centre of the whole;
/// of two, the one with the larger table, because the root's table is needed in one direction only.
///
/// Cliques are numbered depth first from the root, so that a subtree's cliques stand together,
/// and separator `s` lies above clique `s + 1`. No variables give one empty clique with 1 entry.
///
/// # Complexity
/// O(k^2 + sum over variables of the square of the number of cliques it is in) for k cliques.
#[must_use]
pub fn build_junction_tree(graph: &MoralGraph, elimination: &Elimination) -> JunctionTree {
    let entries = |variables: &[VariableId]| {
        table_entries(variables.iter().map(|v| graph.cardinalities()[v.index()]))
    };
    let mut cliques: Vec<Clique> = elimination
        .maximal_clusters()
        .into_iter()
        .map(|index| elimination.clusters[index].ones().map(VariableId::new).collect())
        .map(|variables: Vec<VariableId>| Clique { entries: entries(&variables), variables })
        .collect();
    if cliques.is_empty() {
        cliques.push(Clique { variables: Vec::new(), entries: 1 });
    }
    let mut links = Links::new(cliques.len());
    let components = span(&cliques, graph.len(), &mut links);
    let root = join(&components, &cliques, &mut links);

    let mut separators = Vec::with_capacity(cliques.len() - 1);
    let mut numbered = Vec::with_capacity(cliques.len());
    let mut stack = vec![(root, None)];
    while let Some((clique, above)) = stack.pop() {
        let child = CliqueId::new(numbered.len());
        if let Some((parent, parent_number)) = above {
            let variables: Vec<VariableId> = shared(&cliques[clique], &cliques[parent]).collect();
            let entries = entries(&variables);
            separators.push(Separator { variables, entries, parent: parent_number, child });
        }
        numbered.push(clique);
        let mut below: Vec<usize> = links.0[clique]
            .iter()
            .copied()
            .filter(|&next| above.is_none_or(|(parent, _)| parent != next))
            .collect();
        below.sort_unstable_by_key(|&next| std::cmp::Reverse(next));
        stack.extend(below.into_iter().map(|next| (next, Some((clique, child)))));
    }
    let cliques = numbered.into_iter().map(|clique| cliques[clique].clone()).collect();
    JunctionTree::new(cliques, separators, CliqueId::new(0))
}

/// The variables of both, ascending.
fn shared<'a>(a: &'a Clique, b: &'a Clique) -> impl Iterator<Item = VariableId> + 'a {
    a.variables.iter().copied().filter(|variable| b.variables.binary_search(variable).is_ok())
}

/// The neighbours of each clique in a tree, or a forest, that is being made.
struct Links(Vec<Vec<usize>>);

impl Links {
    fn new(cliques: usize) -> Self {
        Self(vec![Vec::new(); cliques])
    }

    fn join(&mut self, a: usize, b: usize) {
        self.0[a].push(b);
        self.0[b].push(a);
    }

    /// The longest of the shortest paths that start at `from`, its end first.
    fn longest_path(&self, from: usize) -> Vec<usize> {
        let mut reached = vec![(from, from)];
        let mut place = std::collections::HashMap::from([(from, 0)]);
        let mut next = 0;
        while let Some(&(clique, above)) = reached.get(next) {
            for &below in self.0[clique].iter().filter(|&&below| below != above) {
                place.insert(below, reached.len());
                reached.push((below, clique));
            }
            next += 1;
        }
        let (mut clique, mut above) = reached[reached.len() - 1];
        let mut path = vec![clique];
        while clique != from {
            (clique, above) = reached[place[&above]];
            path.push(clique);
        }
        path
    }
}

/// One or two cliques in the middle of a component, and how far its furthest clique is.
struct Component {
    centre: Vec<usize>,
    radius: usize,
}

impl Component {
    /// The component of `links` in which `clique` is.
    fn around(clique: usize, links: &Links) -> Self {
        let one_end = links.longest_path(clique)[0];
        let diameter = links.longest_path(one_end);
        let middle = diameter.len() / 2;
        let centre = if diameter.len() % 2 == 1 {
            vec![diameter[middle]]
        } else {
            vec![diameter[middle - 1], diameter[middle]]
        };
        Self { centre, radius: middle }
    }

    /// The centre with the largest table.
    fn root(&self, cliques: &[Clique]) -> usize {
        let best =
            self.centre.iter().copied().max_by_key(|&c| (cliques[c].entries, std::cmp::Reverse(c)));
        best.expect("a component has a centre")
    }
}

/// Joins the cliques of every component by Prim's algorithm; returns one clique of each.
fn span(cliques: &[Clique], variables: usize, links: &mut Links) -> Vec<usize> {
    let mut holders = vec![Vec::new(); variables];
    for (index, clique) in cliques.iter().enumerate() {
        for variable in &clique.variables {
            holders[variable.index()].push(index);
        }
    }
    // For every clique outside the tree its best link into it: how many variables are shared, and
    // with which clique. None are shared with a clique that no link has been found for.
    let mut best: Vec<(usize, usize)> = vec![(0, 0); cliques.len()];
    let mut outside: Vec<usize> = (0..cliques.len()).collect();
    let mut shared = vec![0_usize; cliques.len()];
    let mut starts = Vec::new();
    while !outside.is_empty() {
        // More shared variables first, then the smaller table at the near end; the far end's is
        // the same for all links of one clique and is compared between cliques.
        let rank = |&clique: &usize| {
            let (size, near) = best[clique];
            let cost = if size == 0 { 0 } else { cost(cliques, clique, near) };
            (size, std::cmp::Reverse((cost, clique)))
        };
        let (place, clique) = outside
            .iter()
            .copied()
            .enumerate()
            .max_by_key(|(_, clique)| rank(clique))
            .expect("the loop ends when none is outside");
        outside.swap_remove(place);
        let (size, near) = best[clique];
        if size == 0 {
            starts.push(clique);
        } else {
            links.join(clique, near);
        }
        let touched = cliques[clique].variables.iter().flat_map(|v| &holders[v.index()]);
        touched.clone().for_each(|&other| shared[other] += 1);
        for &other in touched {
            let size = std::mem::take(&mut shared[other]);
            let (best_size, near) = best[other];
            let closer = || cost(cliques, other, clique) < cost(cliques, other, near);
            if size > best_size || (size == best_size && size > 0 && closer()) {
                best[other] = (size, clique);
            }
        }
    }
    starts
}

/// Entries at both ends of an edge.
fn cost(cliques: &[Clique], a: usize, b: usize) -> u64 {
    cliques[a].entries.saturating_add(cliques[b].entries)
}

/// Joins the components in which `starts` are to one tree; returns its root.
fn join(starts: &[usize], cliques: &[Clique], links: &mut Links) -> usize {
    let components: Vec<Component> =
        starts.iter().map(|&start| Component::around(start, links)).collect();
    let widest = components
        .iter()
        .enumerate()
        .max_by_key(|(index, component)| (component.radius, std::cmp::Reverse(*index)))
        .map(|(index, _)| index)
        .expect("there is at least one clique");
    let hub = components[widest].root(cliques);
    for (index, component) in components.iter().enumerate() {
        if index != widest {
            links.join(component.root(cliques), hub);
        }
    }
    Component::around(hub, links).root(cliques)
}
