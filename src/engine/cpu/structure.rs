//! All of a junction tree that does not depend on numbers, and how a tree is made of it.

use std::sync::Arc;

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::engine::cpu::factored::{PartPort, Plan};
use crate::engine::cpu::fill::AT_ONCE;
use crate::engine::cpu::kernel::{ParentPort, ROW_HEAD};
use crate::engine::cpu::layout::{LONGEST_ROW, Layout};
use crate::engine::cpu::loaded::WORTH_THREADS;
use crate::engine::cpu::support::GAP;
use crate::engine::cpu::tables::{self, Made, Sources, Unmade};
use crate::engine::cpu::tree::{Node, Place, Port, Tree, parts};
use crate::network::{FactorId, Network, VariableId};
use crate::potential::{Entry, Scope, write_mapping};

/// Which cliques there are and what belongs into each, without tables.
///
/// Clique 0 is the root and every clique stands before its children; the separator above clique
/// `c` is called `c` too.
#[derive(Debug, Default)]
pub(super) struct Shape {
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

/// The table of a clique, to be put in its place.
pub(super) struct Ready<T> {
    pub made: Made<T>,
    /// The clique in another tree where all its ports were the same.
    pub node: Option<Node<T>>,
}

/// All of a tree that does not depend on numbers.
#[derive(Debug)]
pub(super) struct Structure {
    shape: Shape,
    separators: Vec<Vec<VariableId>>,
    children: Vec<Vec<usize>>,
    private: Vec<Vec<VariableId>>,
    layouts: Vec<Arc<Layout>>,
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

    /// The tree with the tables of `sources`, which may be left products if `leaves_products`.
    pub fn build<T: Entry>(&self, sources: Sources<'_>, leaves_products: bool) -> Tree<T> {
        // All are in memory of this thread, whichever fills them: they outlast the call.
        let unmade = self.layouts.iter().zip(&self.shape.families).map(|(layout, factors)| {
            let plan = leaves_products.then(|| Plan::new(sources.network, layout, factors));
            let plan = plan.flatten();
            let entries = if plan.is_some() { 0 } else { layout.entries() };
            Unmade { layout, factors, left: None, plan, table: vec![T::ZERO; entries] }
        });
        let tables = tables::make(sources, unmade.collect());
        let ready = |made| Ready { made, node: None };
        self.assemble(sources, tables.into_iter().map(ready), Vec::new())
    }

    /// The tree with these tables, in the room of `places`.
    pub fn assemble<T: Entry>(
        &self,
        Sources { network, observed, threads }: Sources<'_>,
        tables: impl Iterator<Item = Ready<T>>,
        mut places: Vec<Place>,
    ) -> Tree<T> {
        places.resize_with(network.variables().len(), Place::default);
        places.iter_mut().for_each(Place::clear);
        let mut nodes: Vec<Node<T>> = Vec::with_capacity(self.layouts.len());
        let (mut above, mut below) = (0, 0);
        // Where each separator stands in its parent's region; filled in by the parent.
        let mut in_parent = vec![0..0; self.layouts.len()];
        // Entries of the table from which each variable is read.
        let mut smallest = vec![usize::MAX; network.variables().len()];
        // The parts of the products that rows have yet to be made for.
        let mut fresh = Vec::with_capacity(self.layouts.len());
        for (clique, table) in tables.enumerate() {
            let (node, parts) = self.node(clique, table, above, below, &mut in_parent);
            fresh.push(parts);
            (above, below) = (node.above.end, node.below.end);
            self.place(clique, &node, &mut places, &mut smallest);
            nodes.push(node);
        }
        // Only probability tables sum to one.
        if network.is_bayesian() {
            self.sum_out(&mut nodes, observed);
        }
        self.make_rows(&mut nodes, fresh, threads);
        let mut tree = Tree { nodes, places, below, above, spare: 0 };
        tree.divide();
        tree
    }

    /// Describes the rows of the cliques that are `fresh`, each with the parts of its product, and cuts
    /// them into pieces; on `threads` if there are many.
    fn make_rows<T: Entry>(
        &self,
        nodes: &mut [Node<T>],
        fresh: Vec<Option<Vec<PartPort>>>,
        threads: Option<&ThreadPool>,
    ) {
        let work = nodes.iter_mut().zip(&self.layouts).zip(fresh);
        let work = work.filter_map(|((node, layout), parts)| Some((node, layout, parts?)));
        let make = |(node, layout, parts): (&mut Node<T>, &Arc<Layout>, Vec<PartPort>)| {
            rows(layout, node.parent.is_some(), &parts, &mut node.words);
            node.pieces = node.cut();
        };
        let work: Vec<_> = work.collect();
        let words: usize = work.iter().map(|(node, ..)| node.words.capacity()).sum();
        match threads.filter(|_| words >= WORTH_THREADS) {
            Some(threads) => {
                threads.install(|| work.into_par_iter().with_max_len(1).for_each(make));
            }
            None => work.into_iter().for_each(make),
        }
    }

    /// Bytes of full tables of numbers of `width` bytes, and bytes beside them: what describes them,
    /// what one propagation takes, and what making them takes, and leaving out zeros if that is done.
    pub fn bytes(&self, width: usize, compacts: bool) -> (usize, usize) {
        let (mut held, mut values, mut making, mut compacting) = (0, 0, 0, 0);
        for (clique, layout) in self.layouts.iter().enumerate() {
            let entries = layout.entries();
            let rows = layout.rows();
            let words = rows * (ROW_HEAD + layout.ports.len());
            let ports = layout.ports.iter().map(|port| port.scope.entries());
            let above = if self.shape.parents[clique].is_some() { 32 } else { 0 };
            let below = layout.ports.len() - usize::from(above > 0);
            let tables = ports.clone().take(layout.ports.len() - below).sum::<usize>() * above
                + ports.skip(layout.ports.len() - below).sum::<usize>() * 24;
            values += entries * width;
            held += words * 4 + tables;
            let ports = layout.ports.iter().map(|port| port.scope.entries());
            let tables: usize = ports.skip(layout.ports.len() - below).sum();
            held += (parts(entries, tables) - 1) * tables * 8;
            let compacted = (rows + entries / GAP) * (ROW_HEAD + layout.ports.len()) * 4;
            if compacts {
                compacting = compacting.max(entries * width + compacted);
            }
            if self.shape.families[clique].len() > AT_ONCE {
                making += entries * 8;
            }
        }
        (values, held + making.max(compacting))
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

    /// A clique whose ports stand from `above` and `below` on. If it has no rows there are room for
    /// them and the parts of its product.
    fn node<T: Entry>(
        &self,
        clique: usize,
        Ready { made, node }: Ready<T>,
        above: usize,
        below: usize,
        in_parent: &mut [std::ops::Range<usize>],
    ) -> (Node<T>, Option<Vec<PartPort>>) {
        let layout = &self.layouts[clique];
        let parent = self.shape.parents[clique];
        let first = usize::from(parent.is_some());
        let (mut start, mut end) = (below, below);
        for (child, port) in layout.ports[first..].iter().enumerate() {
            start = end;
            end += port.scope.entries();
            if let Some(&child) = self.children[clique].get(child) {
                in_parent[child] = start..end;
            }
        }
        let private = (!self.private[clique].is_empty()).then_some(start..end);
        let Made { values, exponent, factored } = made;
        let entries = layout.ports.first().map_or(1, |port| port.scope.entries());
        let (factored, parts) = factored.unzip();
        let parts = node.is_none().then(|| parts.unwrap_or_default());
        let mut node = node.unwrap_or_else(|| {
            let parts = parts.as_deref().unwrap_or_default();
            let stride = ROW_HEAD + layout.ports.len() + parts.len();
            Node {
                variables: self.shape.cliques[clique].clone(),
                port: parent.map(|_| ParentPort {
                    word: ROW_HEAD,
                    start: 0,
                    is_vector: layout.ports[0].is_vector,
                }),
                is_vector: layout.ports[first..].iter().map(|port| port.is_vector).collect(),
                words: Vec::with_capacity(layout.rows() * stride),
                stride,
                factored: factored.map(|product| product.met_by(layout.ports.len(), parts)),
                ..Node::default()
            }
        });
        node.children.clear();
        node.children.extend_from_slice(&self.children[clique]);
        node.parent = parent;
        node.above = above..above + if parent.is_some() { entries } else { 0 };
        node.in_parent = in_parent[clique].clone();
        node.permutation = parent.and_then(|parent| self.permutation(clique, parent));
        (node.below, node.private) = (below..end, private);
        node.sums_out = false;
        (node.values, node.exponent) = (values, exponent);
        (node, parts)
    }

    fn permutation(&self, clique: usize, parent: usize) -> Option<Box<[u32]>> {
        let from = &self.layouts[clique].ports[0].scope;
        let number = self.children[parent].iter().position(|&child| child == clique);
        let port = number? + usize::from(self.shape.parents[parent].is_some());
        let onto = &self.layouts[parent].ports[port].scope;
        if from == onto {
            return None;
        }
        let mut permutation = Vec::new();
        write_mapping(from, onto, &mut permutation);
        Some(permutation.into())
    }

    /// Notes where the variables of a clique stand.
    fn place<T>(
        &self,
        clique: usize,
        node: &Node<T>,
        places: &mut [Place],
        smallest: &mut [usize],
    ) {
        let layout = &self.layouts[clique];
        let above = &self.separators[clique];
        for &variable in &self.shape.cliques[clique] {
            let place = &mut places[variable.index()];
            if above.contains(&variable) {
                let axis = layout.ports[0].scope.axis(variable);
                place.separators.push((clique, axis.expect("the separator holds it")));
            } else {
                place.top = clique;
            }
        }
        let first = usize::from(node.parent.is_some());
        let tables = node.children.iter().map(|&child| Port::Above(child));
        let tables = tables.chain([Port::Private(clique)]);
        for (port, table) in layout.ports[first..].iter().zip(tables) {
            let entries = port.scope.entries();
            for &variable in port.scope.variables() {
                let place = &mut places[variable.index()];
                let axis = port.scope.axis(variable).expect("the port holds it");
                let least = &mut smallest[variable.index()];
                if entries < *least {
                    (*least, place.home) = (entries, Some((table, axis)));
                }
            }
        }
        for &variable in &self.private[clique] {
            let scope = &layout.ports[layout.ports.len() - 1].scope;
            places[variable.index()].private = scope.axis(variable);
        }
    }

    /// Finds the messages to parents that are one everywhere: no variable of the separator has its
    /// table below, so every table below sums to one over a variable that is only there; and no
    /// table below is that of an observed variable, which does not sum out.
    fn sum_out<T>(&self, nodes: &mut [Node<T>], observed: &[Option<usize>]) {
        nodes.iter_mut().skip(1).for_each(|node| node.sums_out = true);
        for (clique, families) in self.shape.families.iter().enumerate() {
            for factor in families {
                let variable = &VariableId::new(factor.index());
                let is_observed = observed[variable.index()].is_some();
                let mut at = clique;
                while is_observed || self.separators[at].contains(variable) {
                    nodes[at].sums_out = false;
                    let Some(parent) = nodes[at].parent else { break };
                    at = parent;
                }
            }
        }
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

/// The rows of a full table into `words`. After the ports come the `parts` of a product.
pub(super) fn rows(layout: &Layout, has_parent: bool, parts: &[PartPort], words: &mut Vec<u32>) {
    let row = layout.row();
    let (outer, pieces) = (layout.outer.entries(), row.div_ceil(LONGEST_ROW));
    // The table of the port above stands alone, those below one after another.
    let mut end = 0;
    let ports = layout.ports.iter().enumerate().map(|(number, port)| {
        let is_above = number == 0 && has_parent;
        let start = if is_above { 0 } else { end };
        end += if is_above { 0 } else { port.scope.entries() };
        (&port.scope, start, port.is_vector)
    });
    let columns = ports.chain(parts.iter().map(|part| (&part.scope, part.start, part.is_vector)));
    let stride = ROW_HEAD + layout.ports.len() + parts.len();
    words.resize(outer * pieces * stride, 0);
    for (number, row_words) in words.chunks_exact_mut(stride).enumerate() {
        let start = number % pieces * LONGEST_ROW;
        row_words[0] = (number / pieces * row + start) as u32;
        row_words[1] = (row - start).min(LONGEST_ROW) as u32;
    }
    // Column by column, where each run along the fastest group begins.
    let mut offsets = Vec::with_capacity(outer);
    for (word, (scope, first, is_vector)) in (ROW_HEAD..).zip(columns) {
        offsets.clear();
        write_mapping(&layout.outer, scope, &mut offsets);
        for (run, offset) in words.chunks_exact_mut(stride * pieces).zip(&offsets) {
            for (piece, row_words) in run.chunks_exact_mut(stride).enumerate() {
                let along = if is_vector { piece * LONGEST_ROW } else { 0 };
                row_words[word] = offset + (first + along) as u32;
            }
        }
    }
}
