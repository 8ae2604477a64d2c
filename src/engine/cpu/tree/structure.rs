//! All of a junction tree that does not depend on numbers.

use std::sync::Arc;

use crate::engine::cpu::tree::layout::Layout;
use crate::network::{FactorId, Network, VariableId};
use crate::potential::Scope;

/// Which cliques there are and what belongs into each, without tables.
///
/// Clique 0 is the root and every clique stands before its children; the separator above clique
/// `c` is called `c` too.
#[derive(Debug, Default)]
pub struct Shape {
    /// The variables of each clique. Observed variables may be left out.
    pub cliques: Vec<Vec<VariableId>>,
    /// The parent of each clique; `None` for the root alone.
    pub parents: Vec<Option<usize>>,
    /// The factors that are multiplied into each clique.
    pub families: Vec<Vec<FactorId>>,
}

impl Shape {
    /// The variables that `clique` shares with its parent.
    pub fn separator(&self, clique: usize) -> Vec<VariableId> {
        let Some(parent) = self.parents[clique] else { return Vec::new() };
        let above = &self.cliques[parent];
        self.cliques[clique].iter().copied().filter(|v| above.contains(v)).collect()
    }
}

/// All of a tree that does not depend on numbers.
#[derive(Debug)]
pub struct Structure {
    pub shape: Shape,
    /// The variables that each clique shares with its parent.
    pub separators: Vec<Vec<VariableId>>,
    pub children: Vec<Vec<usize>>,
    /// The variables of each clique that are in no other.
    pub private: Vec<Vec<VariableId>>,
    pub layouts: Vec<Arc<Layout>>,
    /// For each clique that of the tree before with the same variables.
    like: Vec<Option<usize>>,
}

impl Structure {
    /// The cliques of `shape` in order.
    ///
    /// What is the same in the tree `before` is taken over from there, for which the variables of all
    /// cliques have to be in ascending order in both.
    pub fn new(network: &Network, shape: Shape, before: Option<&Self>) -> Self {
        let count = shape.cliques.len();
        let separators: Vec<Vec<VariableId>> = (0..count).map(|c| shape.separator(c)).collect();
        let mut children = vec![Vec::new(); count];
        for (clique, parent) in shape.parents.iter().enumerate() {
            if let Some(parent) = *parent {
                children[parent].push(clique);
            }
        }
        let mut shared = vec![false; network.variables().len()];
        separators.iter().flatten().for_each(|v| shared[v.index()] = true);
        let alone = |clique: &Vec<VariableId>| {
            clique.iter().copied().filter(|v| !shared[v.index()]).collect()
        };
        let private: Vec<Vec<VariableId>> = shape.cliques.iter().map(alone).collect();
        let like = match before {
            Some(before) => alike(network, &before.shape.cliques, &shape.cliques),
            None => vec![None; count],
        };
        let mut structure =
            Self { shape, separators, children, private, layouts: Vec::with_capacity(count), like };
        for clique in 0..count {
            let known = before.and_then(|before| before.layout_like(&structure, clique));
            let layout = known.unwrap_or_else(|| Arc::new(structure.layout(network, clique)));
            structure.layouts.push(layout);
        }
        structure
    }

    fn layout(&self, network: &Network, clique: usize) -> Layout {
        let separator = |clique: usize| &*self.separators[clique];
        let ports = self.shape.parents[clique].map(|_| separator(clique)).into_iter();
        let ports = ports.chain(self.children[clique].iter().map(|&child| separator(child)));
        let private = Some(&*self.private[clique]).filter(|private| !private.is_empty());
        let ports: Vec<&[VariableId]> = ports.chain(private).collect();
        Layout::new(network, &self.shape.cliques[clique], &ports)
    }

    /// The layout here of a clique of another tree, if it has all ports in common with one of this.
    fn layout_like(&self, other: &Self, clique: usize) -> Option<Arc<Layout>> {
        let own = other.like[clique]?;
        let (children, others) = (&self.children[own], &other.children[clique]);
        let has_same_separator =
            |(&a, &b): (&usize, &usize)| self.separators[a] == other.separators[b];
        let is_same = self.shape.parents[own].is_some() == other.shape.parents[clique].is_some()
            && self.separators[own] == other.separators[clique]
            && self.private[own] == other.private[clique]
            && children.len() == others.len()
            && children.iter().zip(others).all(has_same_separator);
        is_same.then(|| Arc::clone(&self.layouts[own]))
    }

    /// The clique of the tree before, `before` or this itself, with the same variables, and whether
    /// all its ports are the same too.
    pub fn like(&self, clique: usize, before: &Self) -> Option<(usize, bool)> {
        if std::ptr::eq(self, before) {
            return Some((clique, true));
        }
        let like = self.like[clique]?;
        Some((like, Arc::ptr_eq(&self.layouts[clique], &before.layouts[like])))
    }

    /// Entries of the tables of all cliques without the variables that are `observed`.
    pub fn entries_without(&self, observed: &[bool]) -> f64 {
        let of = |layout: &Arc<Layout>| {
            let states = |scope: &Scope| {
                let left = scope.variables().iter().zip(scope.cardinalities());
                let left = left.filter(|(variable, _)| !observed[variable.index()]);
                left.map(|(_, &states)| states as f64).product::<f64>()
            };
            states(&layout.outer) * states(&layout.inner)
        };
        self.layouts.iter().map(of).sum()
    }

    /// The variables of every clique.
    pub fn cliques(&self) -> &[Vec<VariableId>] {
        &self.shape.cliques
    }

    /// The children of a clique.
    pub fn children(&self, clique: usize) -> &[usize] {
        &self.children[clique]
    }

    /// The factors of every clique.
    pub fn families(&self) -> &[Vec<FactorId>] {
        &self.shape.families
    }

    /// The order of every clique's variables.
    pub fn layouts(&self) -> &[Arc<Layout>] {
        &self.layouts
    }
}

/// For each of `cliques` that of `others` with the same variables. All are in ascending order.
fn alike(
    network: &Network,
    others: &[Vec<VariableId>],
    cliques: &[Vec<VariableId>],
) -> Vec<Option<usize>> {
    // Those that begin with the same variable in chains.
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
