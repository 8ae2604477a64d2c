//! A tree is put together: tables into a [`Structure`], with the words that describe their rows and
//! the places where findings are entered and posteriors are read.

use std::sync::Arc;

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::engine::cpu::context::WORTH_THREADS;
use crate::engine::cpu::pass::kernel::{ParentPort, ROW_HEAD};
use crate::engine::cpu::tables::factored::{PartPort, Plan};
use crate::engine::cpu::tables::make::{self as tables, Made, Sources, Unmade};
use crate::engine::cpu::tree::layout::{LONGEST_ROW, Layout};
use crate::engine::cpu::tree::nodes::{Node, Place, Port, Tree};
use crate::engine::cpu::tree::structure::Structure;
use crate::network::VariableId;
use crate::potential::{Entry, write_mapping};

/// The table of a clique, to be put in its place.
pub struct Ready<T> {
    pub made: Made<T>,
    /// The clique in another tree where all its ports were the same.
    pub node: Option<Node<T>>,
}

impl Structure {
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

/// The rows of a full table into `words`. After the ports come the `parts` of a product.
pub fn rows(layout: &Layout, has_parent: bool, parts: &[PartPort], words: &mut Vec<u32>) {
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
