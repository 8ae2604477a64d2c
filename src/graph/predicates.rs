//! The specification of a junction tree, as functions that can be called.
//!
//! Each predicate looks only at the result. Apart from [`table_entries`], it shares no code with
//! the functions that produce the result. Messages name variables and cliques by index, because
//! nothing in this module knows their names. Tests call the predicates on every shipped network,
//! and debug builds on everything that is compiled.

use std::collections::{BinaryHeap, HashSet};
use std::fmt::Display;

use fixedbitset::FixedBitSet;

use crate::graph::{Clique, CliqueId, JunctionTree, MoralGraph, table_entries};
use crate::network::VariableId;

/// What does not hold, with the variables, cliques or separators concerned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(String);

/// A predicate's answer.
pub type Verdict = Result<(), Violation>;

/// A violation with the message `otherwise` unless `holds`.
fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Violation(otherwise())) }
}

/// `tree` is a junction tree of `graph` with `fill_edges` added: the graph is chordal, the cliques
/// of the tree are its maximal cliques, the running intersection property holds, and the separators
/// and table sizes are correct.
///
/// # Errors
/// The first predicate that does not hold.
pub fn is_junction_tree(
    graph: &MoralGraph,
    fill_edges: &[(VariableId, VariableId)],
    tree: &JunctionTree,
) -> Verdict {
    is_chordal(graph, fill_edges)?;
    cliques_are_complete(graph, fill_edges, tree)?;
    cliques_are_maximal(tree)?;
    edges_are_covered(graph, fill_edges, tree)?;
    running_intersection_holds(graph.len(), tree)?;
    separators_are_intersections(tree)?;
    entries_are_products(graph.cardinalities(), tree)
}

/// `order` holds each variable of `graph` exactly once.
///
/// # Errors
/// The first variable that is missing, occurs twice, or is not in the graph.
pub fn is_elimination_order(graph: &MoralGraph, order: &[VariableId]) -> Verdict {
    let mut seen = FixedBitSet::with_capacity(graph.len());
    for variable in order {
        let index = variable.index();
        require(index < graph.len(), || format!("variable {index} is not in the graph"))?;
        require(!seen.put(index), || format!("variable {index} occurs twice in the order"))?;
    }
    let missing = seen.zeroes().next();
    match missing {
        Some(index) => Err(Violation(format!("variable {index} is missing from the order"))),
        None => Ok(()),
    }
}

/// Every cycle of four or more variables has a chord in `graph` with `fill_edges` added.
///
/// The method is maximum cardinality search (Tarjan and Yannakakis 1984, section 2): visit a
/// variable with a maximum number of visited neighbours, until all variables are visited. The graph
/// is chordal if and only if these visited neighbours form a clique each time.
///
/// # Errors
/// Two neighbours of a variable that should be joined by an edge but are not.
///
/// # Complexity
/// O((n + m) log (n + m)) for n variables and m edges.
pub fn is_chordal(graph: &MoralGraph, fill_edges: &[(VariableId, VariableId)]) -> Verdict {
    let neighbours = neighbours(graph, fill_edges);
    let mut time: Vec<Option<usize>> = vec![None; neighbours.len()];
    let mut count = vec![0_usize; neighbours.len()];
    // The variables with their numbers of visited neighbours, some of which are out of date.
    let mut open: BinaryHeap<(usize, usize)> = (0..neighbours.len()).map(|v| (0, v)).collect();
    let mut now = 0;
    while let Some((visited, next)) = open.pop() {
        if time[next].is_some() || visited < count[next] {
            continue;
        }
        let before: Vec<usize> =
            neighbours[next].iter().copied().filter(|&v| time[v].is_some()).collect();
        if let Some(&last) = before.iter().max_by_key(|&&v| time[v]) {
            for &other in before.iter().filter(|&&v| v != last) {
                require(neighbours[last].binary_search(&other).is_ok(), || {
                    format!(
                        "not chordal: variables {other} and {last} lie on a cycle with {next} that \
                         has no chord"
                    )
                })?;
            }
        }
        time[next] = Some(now);
        now += 1;
        for &v in neighbours[next].iter().filter(|&&v| time[v].is_none()) {
            count[v] += 1;
            open.push((count[v], v));
        }
    }
    Ok(())
}

/// The variables of every clique are pairwise joined in `graph` with `fill_edges` added.
///
/// # Errors
/// The first clique with two variables that are not neighbours, and these variables.
pub fn cliques_are_complete(
    graph: &MoralGraph,
    fill_edges: &[(VariableId, VariableId)],
    tree: &JunctionTree,
) -> Verdict {
    let neighbours = neighbours(graph, fill_edges);
    for id in tree.clique_ids() {
        let variables = &tree[id].variables;
        for (index, a) in variables.iter().enumerate() {
            let neighbours = &neighbours[a.index()];
            let mut later = variables[index + 1..].iter();
            let apart = later.find(|b| neighbours.binary_search(&b.index()).is_err());
            if let Some(b) = apart {
                return Err(Violation(format!(
                    "clique {} holds variables {} and {}, which are not neighbours",
                    id.index(),
                    a.index(),
                    b.index()
                )));
            }
        }
    }
    Ok(())
}

/// No clique is contained in another.
///
/// # Errors
/// The first clique that is contained in another, and that other clique.
pub fn cliques_are_maximal(tree: &JunctionTree) -> Verdict {
    let holders = Holders::of(tree);
    for id in tree.clique_ids() {
        let other = holders.of_all(&tree[id].variables, tree).find(|&other| other != id);
        require(other.is_none(), || {
            let other = other.map_or(0, CliqueId::index);
            format!("clique {} is contained in clique {other}", id.index())
        })?;
    }
    Ok(())
}

/// Every variable, and every edge of `graph` with `fill_edges` added, lies inside a clique.
///
/// # Errors
/// The first variable or edge that does not.
pub fn edges_are_covered(
    graph: &MoralGraph,
    fill_edges: &[(VariableId, VariableId)],
    tree: &JunctionTree,
) -> Verdict {
    let variables = (0..graph.len()).map(|v| vec![VariableId::new(v)]);
    let neighbours = neighbours(graph, fill_edges);
    let edges = neighbours.iter().enumerate().flat_map(|(a, list)| {
        list.iter().filter(move |&&b| b > a).map(move |&b| [a, b].map(VariableId::new).to_vec())
    });
    families_are_covered(variables.chain(edges), tree)
}

/// Every one of `families`, the sets of variables that share a table, lies inside a clique.
///
/// # Errors
/// The first family that does not.
pub fn families_are_covered<Family: IntoIterator<Item = VariableId>>(
    families: impl IntoIterator<Item = Family>,
    tree: &JunctionTree,
) -> Verdict {
    let holders = Holders::of(tree);
    for family in families {
        let family: Vec<VariableId> = family.into_iter().collect();
        require(holders.of_all(&family, tree).next().is_some(), || {
            let noun = if family.len() == 1 { "variable" } else { "variables" };
            format!("no clique holds {noun} {}", listed(family.iter().map(|v| v.index())))
        })?;
    }
    Ok(())
}

/// Each of `variables` is in a clique, and no clique holds one of them with another variable.
///
/// # Errors
/// The first clique that holds such a variable with another one, or the first variable that is in
/// no clique.
pub fn are_alone(variables: &[VariableId], tree: &JunctionTree) -> Verdict {
    let all: HashSet<&VariableId> = variables.iter().collect();
    for id in tree.clique_ids() {
        let clique = &tree[id].variables;
        let alone = clique.iter().find(|variable| all.contains(variable));
        require(alone.is_none() || clique.len() == 1, || {
            let alone = alone.map_or(0, |variable| variable.index());
            format!("clique {} holds variable {alone} with others", id.index())
        })?;
    }
    families_are_covered(variables.iter().map(|&variable| [variable]), tree)
}

/// For each variable, the cliques that contain it are connected (the running intersection
/// property). `variables` is the number of variables.
///
/// # Errors
/// The first variable whose cliques are not connected, and two of these cliques.
///
/// # Panics
/// If a clique holds a variable whose index is not less than `variables`.
pub fn running_intersection_holds(variables: usize, tree: &JunctionTree) -> Verdict {
    // A connected part of a rooted tree has exactly one clique whose parent is not in that part.
    let mut top: Vec<Option<CliqueId>> = vec![None; variables];
    for id in tree.clique_ids() {
        for &variable in &tree[id].variables {
            let above = tree.parent(id).map(|link| &tree[link.clique]);
            if above.is_some_and(|parent| holds(parent, variable)) {
                continue;
            }
            if let Some(other) = top[variable.index()].replace(id) {
                return Err(Violation(format!(
                    "variable {} is in cliques {} and {} but not in all between them",
                    variable.index(),
                    other.index(),
                    id.index()
                )));
            }
        }
    }
    Ok(())
}

/// Every separator contains exactly the variables that its two ends share, ascending.
///
/// # Errors
/// The first separator that does not, with its variables and the variables that its ends share.
pub fn separators_are_intersections(tree: &JunctionTree) -> Verdict {
    for (index, separator) in tree.separators().iter().enumerate() {
        let (parent, child) = (&tree[separator.parent], &tree[separator.child]);
        let shared = parent.variables.iter().filter(|&&variable| holds(child, variable));
        require(shared.clone().eq(&separator.variables), || {
            format!(
                "separator {index} holds variables {}, but its ends share {}",
                listed(separator.variables.iter().map(|v| v.index())),
                listed(shared.map(|v| v.index()))
            )
        })?;
    }
    Ok(())
}

/// The table sizes are the products of the cardinalities; `cardinalities[v]` is the number of
/// states of variable `v`.
///
/// # Errors
/// The first clique or separator with another size.
pub fn entries_are_products(cardinalities: &[usize], tree: &JunctionTree) -> Verdict {
    let check = |what: &str, index: usize, variables: &[VariableId], entries: u64| {
        let product = table_entries(variables.iter().map(|v| cardinalities[v.index()]));
        require(product == entries, || {
            format!("{what} {index} claims {entries} entries, but has {product}")
        })
    };
    for (index, clique) in tree.cliques().iter().enumerate() {
        check("clique", index, &clique.variables, clique.entries)?;
    }
    for (index, separator) in tree.separators().iter().enumerate() {
        check("separator", index, &separator.variables, separator.entries)?;
    }
    Ok(())
}

/// The neighbours of each variable in `graph` with `fill_edges` added, ascending.
fn neighbours(graph: &MoralGraph, fill_edges: &[(VariableId, VariableId)]) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); graph.len()];
    for (a, b) in graph.edges().chain(fill_edges.iter().copied()) {
        neighbours[a.index()].push(b.index());
        neighbours[b.index()].push(a.index());
    }
    for list in &mut neighbours {
        list.sort_unstable();
        // An edge may be given several times.
        list.dedup();
    }
    neighbours
}

fn holds(clique: &Clique, variable: VariableId) -> bool {
    clique.variables.contains(&variable)
}

/// The items, separated by commas.
fn listed(items: impl Iterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    if items.is_empty() { "(none)".to_owned() } else { items.join(", ") }
}

/// The cliques that contain each variable.
struct Holders(Vec<Vec<CliqueId>>);

impl Holders {
    fn of(tree: &JunctionTree) -> Self {
        let mut holders = Vec::new();
        for id in tree.clique_ids() {
            for variable in &tree[id].variables {
                if holders.len() <= variable.index() {
                    holders.resize(variable.index() + 1, Vec::new());
                }
                holders[variable.index()].push(id);
            }
        }
        Self(holders)
    }

    /// The cliques that hold all of `variables`.
    fn of_all<'a>(
        &'a self,
        variables: &'a [VariableId],
        tree: &'a JunctionTree,
    ) -> impl Iterator<Item = CliqueId> + 'a {
        let of_variable = |v: &VariableId| self.0.get(v.index()).map_or(&[][..], Vec::as_slice);
        let rarest = variables.iter().map(of_variable).min_by_key(|holders| holders.len());
        // Every clique contains the empty set.
        let candidates: Box<dyn Iterator<Item = CliqueId>> = match rarest {
            Some(holders) => Box::new(holders.iter().copied()),
            None => Box::new(tree.clique_ids()),
        };
        candidates.filter(|&id| variables.iter().all(|&variable| holds(&tree[id], variable)))
    }
}

#[cfg(test)]
mod tests;
