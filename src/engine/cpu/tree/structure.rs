//! The structure of a junction tree: cliques, separators and layouts, but no tables.

use std::sync::Arc;

use rayon::ThreadPool;

use crate::engine::cpu::share::in_parts;
use crate::engine::cpu::tree::layout::{Layout, PortLayout};
use crate::lowering::{Optimisation, Optimisations};
use crate::network::{FactorId, Network, VariableId};
use crate::potential::Scope;

/// Time to lay out a clique, as a number of table entries that are made in this time: a rough
/// figure from Munin3. If it is wrong, only speed changes.
const LAYOUT_COST: usize = 1_500;

/// The cliques of a tree, with their variables, parents and factors.
///
/// Clique 0 is the root, and every clique comes before its children. The separator between a clique
/// and its parent has the number of the clique.
#[derive(Debug, Default)]
pub struct Shape {
    /// By clique: its variables. Observed variables may have been removed.
    pub cliques: Vec<Vec<VariableId>>,
    /// By clique: its parent; `None` for the root only.
    pub parents: Vec<Option<usize>>,
    /// By clique: the factors that are multiplied into its table.
    pub factors: Vec<Vec<FactorId>>,
}

impl Shape {
    /// The variables that `clique` shares with its parent.
    pub fn separator(&self, clique: usize) -> Vec<VariableId> {
        let Some(parent) = self.parents[clique] else { return Vec::new() };
        let above = &self.cliques[parent];
        self.cliques[clique].iter().copied().filter(|v| above.contains(v)).collect()
    }
}

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
        let separators: Vec<Vec<VariableId>> = (0..count).map(|c| shape.separator(c)).collect();
        let mut children = vec![Vec::new(); count];
        for (clique, parent) in shape.parents.iter().enumerate() {
            if let Some(parent) = *parent {
                children[parent].push(clique);
            }
        }
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
        let mut structure =
            Self { shape, separators, children, private, layouts, previous: same_variables };
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

    /// Whether `clique` and its parent have the variables of their separator in different orders.
    pub fn is_permuted(&self, clique: usize) -> bool {
        let in_parent = self.port_in_parent(clique);
        in_parent.is_some_and(|port| port.scope != self.layouts[clique].ports[0].scope)
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
