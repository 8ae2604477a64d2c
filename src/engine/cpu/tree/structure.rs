//! The structure of a junction tree: cliques, separators and layouts, but no tables.

use std::cmp::Reverse;
use std::sync::Arc;

use rayon::ThreadPool;

use crate::engine::cpu::share::in_parts;
use crate::engine::cpu::tree::layout::{Layout, PortLayout};
use crate::lowering::{Optimisation, Optimisations, Shape};
use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// Time to lay out a clique, as a number of table entries that are made in this time: a rough
/// figure from Munin3. If it is wrong, only speed changes.
const LAYOUT_COST: usize = 1_500;

/// Minimum number of entries of a separator whose ends are [aligned](Structure::align). Smaller
/// separators stay in the cache, where the order in which a message is read matters less. Another
/// order within the fastest groups may also give sparse tables more rows. With half this number,
/// Mildew took 1.2 times as long on one thread and Munin4 0.92 times. If it is wrong, only speed
/// and memory change (and last bits of results).
const MIN_ALIGNED_ENTRIES: usize = 1 << 16;

/// A [`Shape`] and everything that is derived from it.
#[derive(Debug)]
pub struct Structure {
    pub shape: Shape,
    /// By clique: the variables that it shares with its parent.
    pub separators: Vec<Vec<VariableId>>,
    /// By clique: its children.
    pub children: Vec<Vec<usize>>,
    /// By clique: its variables that are in no other clique.
    pub private: Vec<Vec<VariableId>>,
    /// By clique: the order of its variables. A layout that did not change is shared with the
    /// previous tree.
    pub layouts: Vec<Arc<Layout>>,
    /// Whether messages are permuted by runs of entries, not entry by entry.
    has_runs: bool,
    /// By clique: the clique of the previous tree with the same variables, if there is one.
    previous: Vec<Option<usize>>,
}

impl Structure {
    /// Derives the structure of `shape`.
    ///
    /// Cliques that have the same variables and ports as a clique of the tree `previous` share the
    /// layout of that clique. If `previous` is given, the variables of every clique must be in
    /// ascending order in both trees. The cliques are laid out on `threads` if there are many.
    pub fn new(
        network: &Network,
        shape: Shape,
        previous: Option<&Self>,
        optimisations: Optimisations,
        threads: Option<&ThreadPool>,
    ) -> Self {
        let count = shape.cliques.len();
        let separators = shape.separators();
        let children = shape.children();
        let mut is_shared = vec![false; network.variables().len()];
        separators.iter().flatten().for_each(|v| is_shared[v.index()] = true);
        let not_shared = |clique: &Vec<VariableId>| {
            clique.iter().copied().filter(|v| !is_shared[v.index()]).collect()
        };
        let private: Vec<Vec<VariableId>> = shape.cliques.iter().map(not_shared).collect();
        let same_variables = match previous {
            Some(previous) => equal_cliques(network, &previous.shape.cliques, &shape.cliques),
            None => vec![None; count],
        };
        let layouts = Vec::new();
        let mut structure = Self {
            shape,
            separators,
            children,
            private,
            layouts,
            has_runs: optimisations.has(Optimisation::PermutedRuns),
            previous: same_variables,
        };
        let lay_out = |clique| {
            let known = previous.and_then(|previous| previous.layout_for(&structure, clique));
            known.unwrap_or_else(|| Arc::new(structure.layout(network, clique, optimisations)))
        };
        let mut layouts = vec![None; count];
        let threads = threads.filter(|_| optimisations.has(Optimisation::ParallelPreparation));
        let mut work: Vec<_> = layouts.iter_mut().enumerate().collect();
        in_parts(
            threads,
            &mut work,
            |_| LAYOUT_COST,
            |part| {
                part.iter_mut().for_each(|(clique, layout)| **layout = Some(lay_out(*clique)));
            },
        );
        structure.layouts = layouts.into_iter().flatten().collect();
        if structure.has_runs {
            structure.align(network, previous);
        }
        structure
    }

    /// Lays out `clique`.
    fn layout(&self, network: &Network, clique: usize, optimisations: Optimisations) -> Layout {
        let separator = |clique: usize| &*self.separators[clique];
        let parent = self.shape.parents[clique];
        let ports = parent.map(|_| separator(clique)).into_iter();
        let ports = ports.chain(self.children[clique].iter().map(|&child| separator(child)));
        let private = Some(&*self.private[clique]).filter(|private| !private.is_empty());
        let ports: Vec<&[VariableId]> = ports.chain(private).collect();
        let variables = &self.shape.cliques[clique];
        Layout::new(network, variables, &ports, parent.is_some(), optimisations)
    }

    /// The port of `clique` in its parent; `None` for the root.
    pub fn port_in_parent(&self, clique: usize) -> Option<&PortLayout> {
        let parent = self.shape.parents[clique]?;
        let number = self.children[parent].iter().position(|&child| child == clique)?;
        let ports_above = usize::from(self.shape.parents[parent].is_some());
        self.layouts[parent].ports.get(number + ports_above)
    }

    /// If `clique` and its parent have the variables of their separator in different orders: the
    /// number of entries of a run that is consecutive in both orders.
    pub fn permuted_run(&self, clique: usize) -> Option<usize> {
        let (onto, from) = (self.port_in_parent(clique)?, &self.layouts[clique].ports[0].scope);
        (onto.scope != *from).then(|| {
            let slow = self.slow_count(from, &onto.scope);
            from.cardinalities()[slow..].iter().product()
        })
    }

    /// The number of variables of `from` before those that both scopes end with; all of them if
    /// messages are permuted entry by entry.
    pub fn slow_count(&self, from: &Scope, onto: &Scope) -> usize {
        let pairs = from.variables().iter().rev().zip(onto.variables().iter().rev());
        let same = pairs.take_while(|(from, onto)| self.has_runs && from == onto);
        from.variables().len() - same.count()
    }

    /// Orders the variables within the fastest groups of cliques, so that the two ends of a large
    /// separator have the same fastest variables as far as possible. Messages are then permuted by
    /// runs of entries, not entry by entry. Layouts that are shared with the tree `previous` stay
    /// as they are.
    ///
    /// The largest separators come first. The variables of a fastest group are in the same ports,
    /// so the rows of a full table stay the same. Only permutations, the rows of sparse tables and
    /// the last bits of results change.
    fn align(&mut self, network: &Network, previous: Option<&Self>) {
        let entries = |clique: usize| self.layouts[clique].ports[0].scope.entries();
        let mut by_size: Vec<(usize, usize)> = (1..self.layouts.len())
            .map(|clique| (entries(clique), clique))
            .filter(|(entries, _)| *entries >= MIN_ALIGNED_ENTRIES)
            .collect();
        by_size.sort_unstable_by_key(|&(entries, clique)| (Reverse(entries), clique));
        if by_size.is_empty() {
            return;
        }
        let group = |(clique, layout): (usize, &Arc<Layout>)| {
            let known = previous.and_then(|previous| self.counterpart(clique, previous));
            let is_new = known.is_none_or(|(_, has_same_ports)| !has_same_ports);
            FastestGroup::new(layout.inner.variables(), is_new)
        };
        let mut groups: Vec<FastestGroup> = self.layouts.iter().enumerate().map(group).collect();
        for (_, clique) in by_size {
            let parent = self.shape.parents[clique].expect("only the root has no parent");
            let in_parent = self.port_in_parent(clique).expect("only the root has no parent");
            let own = &self.layouts[clique].ports[0];
            let [one, other] =
                groups.get_disjoint_mut([parent, clique]).expect("a clique is not its own parent");
            align_ends((in_parent, one), (own, other));
        }
        for (layout, group) in self.layouts.iter_mut().zip(groups) {
            let inner = group.order();
            if inner != layout.inner.variables() {
                *layout = Arc::new(layout.with_inner(network, &inner));
            }
        }
    }

    /// The layout in this tree that can be reused for `new_clique` of the tree `new`: the layout of
    /// the clique with the same variables, if all its ports are the same too.
    fn layout_for(&self, new: &Self, new_clique: usize) -> Option<Arc<Layout>> {
        let clique = new.previous[new_clique]?;
        let (children, new_children) = (&self.children[clique], &new.children[new_clique]);
        let has_same_separator = |(&child, &new_child): (&usize, &usize)| {
            self.separators[child] == new.separators[new_child]
        };
        let has_parent = self.shape.parents[clique].is_some();
        let is_same = has_parent == new.shape.parents[new_clique].is_some()
            && self.separators[clique] == new.separators[new_clique]
            && self.private[clique] == new.private[new_clique]
            && children.len() == new_children.len()
            && children.iter().zip(new_children).all(has_same_separator);
        is_same.then(|| Arc::clone(&self.layouts[clique]))
    }

    /// The number of the clique of `previous` with the same variables as `clique`, and whether all
    /// ports of the two cliques are the same too. `previous` is the tree that was given to
    /// [`new`](Self::new), or this tree itself.
    pub fn counterpart(&self, clique: usize, previous: &Self) -> Option<(usize, bool)> {
        if std::ptr::eq(self, previous) {
            return Some((clique, true));
        }
        let other = self.previous[clique]?;
        Some((other, Arc::ptr_eq(&self.layouts[clique], &previous.layouts[other])))
    }

    /// Total entries of the tables of all cliques if the variables that are `observed` (by
    /// variable) are removed from the cliques.
    pub fn entries_without(&self, observed: &[bool]) -> f64 {
        let entries = |layout: &Arc<Layout>| {
            let states = |scope: &Scope| {
                let pairs = scope.variables().iter().zip(scope.cardinalities());
                let remaining = pairs.filter(|(variable, _)| !observed[variable.index()]);
                remaining.map(|(_, &states)| states as f64).product::<f64>()
            };
            states(&layout.outer) * states(&layout.inner)
        };
        self.layouts.iter().map(entries).sum()
    }
}

/// The variables of a clique's fastest group while their order is chosen.
struct FastestGroup {
    /// Variables that may still be placed, in their old order.
    free: Vec<VariableId>,
    /// The variables that are placed at the end, the last one first.
    placed: Vec<VariableId>,
}

impl FastestGroup {
    /// A group of `variables`, whose order may change only if the group `is_new`.
    fn new(variables: &[VariableId], is_new: bool) -> Self {
        let (free, placed) = if is_new {
            (variables.to_vec(), Vec::new())
        } else {
            (Vec::new(), variables.iter().rev().copied().collect())
        };
        Self { free, placed }
    }

    /// What `port` has at position `at`, counted from the end, if its clique has this fastest
    /// group.
    fn place(&self, port: &PortLayout, at: usize) -> Place {
        let count = port.scope.variables().len();
        if !port.is_vector || at >= self.free.len() + self.placed.len() {
            return Place::Taken(port.scope.variables()[count - 1 - at]);
        }
        self.placed.get(at).map_or(Place::Free, |&variable| Place::Taken(variable))
    }

    /// Puts `variable` before those that are placed. Returns whether it was free.
    fn put(&mut self, variable: VariableId) -> bool {
        let position = self.free.iter().position(|v| *v == variable);
        self.placed.extend(position.map(|position| self.free.remove(position)));
        position.is_some()
    }

    /// All variables, the slowest first.
    fn order(mut self) -> Vec<VariableId> {
        self.free.extend(self.placed.iter().rev());
        self.free
    }
}

/// A position in the scope of a port.
enum Place {
    /// The variable there.
    Taken(VariableId),
    /// A free variable of the fastest group may be placed there.
    Free,
}

/// Places variables of the fastest groups at both ends of a separator, so that as many variables as
/// possible are the same at the end of both scopes.
fn align_ends(
    (one_port, one): (&PortLayout, &mut FastestGroup),
    (other_port, other): (&PortLayout, &mut FastestGroup),
) {
    for at in 0..one_port.scope.variables().len() {
        let is_same = match (one.place(one_port, at), other.place(other_port, at)) {
            (Place::Taken(a), Place::Taken(b)) => a == b,
            (Place::Taken(variable), Place::Free) => other.put(variable),
            (Place::Free, Place::Taken(variable)) => one.put(variable),
            (Place::Free, Place::Free) => {
                let last = one.free.iter().rev().copied().find(|v| other.free.contains(v));
                last.is_some_and(|variable| one.put(variable) && other.put(variable))
            }
        };
        if !is_same {
            break;
        }
    }
}

/// For each of `cliques`, the number of the clique among `others` with the same variables, if there
/// is one. The variables of each clique must be in ascending order.
fn equal_cliques(
    network: &Network,
    others: &[Vec<VariableId>],
    cliques: &[Vec<VariableId>],
) -> Vec<Option<usize>> {
    // For each variable, a linked list of the `others` that begin with this variable. `first` has,
    // by variable, the head of the list; `next` has, by clique, the clique that follows.
    let mut first = vec![None; network.variables().len()];
    let mut next = vec![None; others.len()];
    for (number, other) in others.iter().enumerate() {
        let first = other.first().map(|v| &mut first[v.index()]);
        next[number] = first.and_then(|first| first.replace(number));
    }
    let find = |clique: &Vec<VariableId>| {
        let first = first[clique.first()?.index()];
        std::iter::successors(first, |&at| next[at]).find(|&at| others[at] == *clique)
    };
    cliques.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cpu::context::TableInputs;
    use crate::engine::cpu::tables::filled::FilledTree;
    use crate::network::Variable;
    use crate::potential::IndexMapping;

    #[test]
    fn the_ends_of_a_large_separator_have_the_same_fastest_variable() {
        let variables = [16, 16, 16, 16, 2, 2, 3].into_iter().enumerate().map(|(v, states)| {
            Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
        });
        let network = Network::markov("test", variables.collect(), vec![]).expect("it is valid");
        // The separator above clique 1 has variables 0 to 3. The fastest groups of its two cliques
        // are 2 and 3 in clique 0, and 1 and 2 in clique 1.
        let cliques: [&[usize]; 4] = [&[0, 1, 2, 3, 4], &[0, 1, 2, 3, 5], &[0, 3, 5], &[2, 3, 4]];
        let shape = || Shape {
            cliques: cliques.map(|c| c.iter().map(|&v| VariableId::new(v)).collect()).into(),
            parents: vec![None, Some(0), Some(1), Some(0)],
            factors: vec![vec![]; 4],
            origins: vec![None; 4],
        };
        let structure =
            |optimisations| Structure::new(&network, shape(), None, optimisations, None);
        let follow = |previous| {
            // Clique 1 gets another private variable, so it is new, and clique 0 is not.
            let mut shape = shape();
            shape.cliques[1].push(VariableId::new(6));
            Structure::new(&network, shape, Some(previous), Optimisations::default(), None)
        };
        let all = Optimisations::default();
        let without = structure(all.without(Optimisation::PermutedRuns));
        assert_eq!(without.permuted_run(1), Some(1));
        let aligned = structure(all);
        assert_eq!(aligned.permuted_run(1), Some(16));
        let new = follow(&aligned);
        assert_eq!(new.permuted_run(1), Some(16));
        assert_eq!(
            (0..4).map(|c| new.counterpart(c, &aligned).is_some()).collect::<Vec<_>>(),
            [true, false, true, true]
        );
        assert!(Arc::ptr_eq(&new.layouts[0], &aligned.layouts[0]));
        // A shared layout is not aligned.
        let unaligned = follow(&without);
        assert_eq!(unaligned.layouts[0].inner, without.layouts[0].inner);
        let observed = vec![None; 7];
        let inputs = TableInputs::of_structure(&network, &observed, all);
        for structure in [aligned, without, new, unaligned] {
            let tree = FilledTree::<f64>::build(&structure, inputs).tree;
            let permutation = tree.nodes[1].permutation.as_ref().expect("the orders differ");
            let onto = structure.port_in_parent(1).expect("the clique has a parent");
            let mapping = IndexMapping::new(&structure.layouts[1].ports[0].scope, &onto.scope);
            let positions = (0..mapping.entries().len()).map(|entry| permutation.position(entry));
            assert!(positions.eq(mapping.entries().iter().map(|&position| position as usize)));
        }
    }
}
