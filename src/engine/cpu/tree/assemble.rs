//! Assembles a [`Tree`] from a [`Structure`]: the positions of tables in memory, the rows of each
//! table, and the tables in which findings are entered and posteriors are read.

use std::ops::Range;

use rayon::ThreadPool;

use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::share::in_parts;
use crate::engine::cpu::tree::division::{MAX_BLOCK, MIN_ENTRIES_PER_COPIED};
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::places::{BeliefTable, VariablePlaces};
use crate::engine::cpu::tree::rows::{GroupPort, ParentPort, ROW_HEAD, write_rows};
use crate::engine::cpu::tree::structure::Structure;
use crate::lowering::{Optimisation, Optimisations};
use crate::network::{FactorId, VariableId};
use crate::potential::write_mapping;

/// Time to write the rows or the permutation of a small clique, as a number of words that are
/// written in this time: a rough figure from Munin3. If it is wrong, only speed changes.
const CLIQUE_COST: usize = 500;

/// The input from which a clique's node is made.
pub struct NodeSource {
    /// Number of entries of the table. For a factored table, the number of entries that it would
    /// have if it were multiplied out.
    pub entries: usize,
    /// The factor groups of a factored table; otherwise empty.
    pub groups: Vec<GroupPort>,
    /// The node of the clique of the previous tree with the same table and ports, if there is one.
    /// The rows of this node are reused.
    pub reused: Option<Node>,
}

impl Structure {
    /// Assembles the tree. `sources` has one source per clique, in order; `places` is memory to
    /// reuse.
    pub fn assemble(
        &self,
        TableInputs { network, observed, threads, optimisations, .. }: TableInputs<'_>,
        sources: impl Iterator<Item = NodeSource>,
        mut places: Vec<VariablePlaces>,
    ) -> Tree {
        places.resize_with(network.variables().len(), VariablePlaces::default);
        places.iter_mut().for_each(VariablePlaces::clear);
        let mut nodes: Vec<Node> = Vec::with_capacity(self.layouts.len());
        let (mut above, mut below) = (0, 0);
        // By clique: the range of the table of the separator to the parent, in the tree's region
        // `below`. Set when the node of the parent is made; parents come before their children.
        let mut in_parent = vec![0..0; self.layouts.len()];
        // By variable: the number of entries of the smallest table of beliefs that holds it, among
        // the tables found so far.
        let mut smallest = vec![usize::MAX; network.variables().len()];
        // By clique: the factor groups if the rows must still be written; `None` if the rows are
        // reused.
        let mut groups_of_new = Vec::with_capacity(self.layouts.len());
        for (clique, source) in sources.enumerate() {
            let (node, groups) = self.node(clique, source, above, below, &mut in_parent);
            groups_of_new.push(groups);
            (above, below) = (node.above.end, node.below.end);
            self.add_places(clique, &node, &mut places, &mut smallest);
            nodes.push(node);
        }
        // Only conditional probability tables sum to one.
        if network.is_bayesian() && optimisations.has(Optimisation::MessagesOfOne) {
            self.find_messages_of_one(&mut nodes, observed);
        }
        self.add_indices(&mut nodes, groups_of_new, threads, optimisations);
        let mut tree = Tree { nodes, places, below, above, scratch: 0, stored: 0, optimisations };
        tree.update_derived();
        tree
    }

    /// Writes the permutations of all separators. Also writes the rows of the cliques for which a
    /// list of factor groups is given, and divides these rows into parts. Works on `threads` if
    /// there is much to write. The caller has allocated all memory: if each thread allocated, the
    /// peak would depend on what the allocator keeps for each thread.
    fn add_indices(
        &self,
        nodes: &mut [Node],
        groups: Vec<Option<Vec<GroupPort>>>,
        threads: Option<&ThreadPool>,
        optimisations: Optimisations,
    ) {
        let work = nodes.iter_mut().enumerate().zip(groups);
        let needs_work = |((_, node), groups): &((_, &mut Node), Option<_>)| {
            groups.is_some() || node.permutation.is_some()
        };
        let mut work: Vec<_> = work.filter(needs_work).collect();
        let threads = threads.filter(|_| optimisations.has(Optimisation::ParallelPreparation));
        let cost = |((_, node), groups): &((_, &mut Node), Option<_>)| {
            let rows = if groups.is_some() { node.words.capacity() } else { 0 };
            CLIQUE_COST + rows + node.permutation.as_ref().map_or(0, |p| p.starts.len())
        };
        in_parts(threads, &mut work, cost, |part| {
            for ((clique, node), groups) in part {
                node.write_permutation(|permutation| self.write_permutation(*clique, permutation));
                let Some(groups) = groups else { continue };
                let layout = &self.layouts[*clique];
                write_rows(layout, node.parent.is_some(), groups, &mut node.words);
                let rows_per_block = layout.rows_per_block(MAX_BLOCK);
                node.divide_rows(optimisations, rows_per_block, MIN_ENTRIES_PER_COPIED);
            }
        });
    }

    /// The node of `clique`, with tables that begin at `above` and `below` in the regions of these
    /// names. It has memory for a permutation, and a new node for its rows, but nothing is written
    /// there yet. The factor groups of a new node are also returned.
    ///
    /// `in_parent` has, by clique, the range of the separator's table in the region below. The
    /// range of `clique` must be there; the ranges of its children are written.
    fn node(
        &self,
        clique: usize,
        NodeSource { entries, groups, reused }: NodeSource,
        above: usize,
        below: usize,
        in_parent: &mut [Range<usize>],
    ) -> (Node, Option<Vec<GroupPort>>) {
        let layout = &self.layouts[clique];
        let parent = self.shape.parents[clique];
        let ports_above = usize::from(parent.is_some());
        let separator_entries = parent.map_or(0, |_| layout.ports[0].scope.entries());
        let groups = reused.is_none().then_some(groups);
        let mut node = reused.unwrap_or_else(|| {
            let stride = ROW_HEAD + layout.ports.len() + groups.as_ref().map_or(0, Vec::len);
            Node {
                variables: self.shape.cliques[clique].clone(),
                port: parent
                    .map(|_| ParentPort { word: ROW_HEAD, is_vector: layout.ports[0].is_vector }),
                is_vector: layout.ports[ports_above..].iter().map(|port| port.is_vector).collect(),
                words: Vec::with_capacity(layout.row_count() * stride),
                stride,
                ..Node::default()
            }
        });
        node.entries = entries;
        node.children.clear();
        node.children.extend_from_slice(&self.children[clique]);
        node.parent = parent;
        node.above = above..above + separator_entries;
        node.in_parent = in_parent[clique].clone();
        node.allocate_permutation(self.permuted_run(clique));
        (node.below, node.private) = self.ranges_below(clique, below, in_parent);
        let ports = self.layouts[clique].ports[ports_above..].iter();
        let ends = ports.scan(0, |end, port| {
            let start = *end;
            *end += port.scope.entries();
            Some(start..*end)
        });
        node.tables = ends.collect();
        node.message_is_one = false;
        (node, groups)
    }

    /// The range of all tables at ports below `clique`, which begins at `start` in the region
    /// below; and the range of the table of the private variables, if there are any. Writes the
    /// ranges of the children's separators into `in_parent`.
    fn ranges_below(
        &self,
        clique: usize,
        start: usize,
        in_parent: &mut [Range<usize>],
    ) -> (Range<usize>, Option<Range<usize>>) {
        let children = &self.children[clique];
        let ports_above = usize::from(self.shape.parents[clique].is_some());
        let mut end = start;
        let mut private = None;
        for (number, port) in self.layouts[clique].ports[ports_above..].iter().enumerate() {
            let table = end..end + port.scope.entries();
            end = table.end;
            match children.get(number) {
                Some(&child) => in_parent[child] = table,
                None => private = Some(table),
            }
        }
        (start..end, private)
    }

    /// Writes, for each run of the separator in the order of `clique`, the position of its first
    /// entry in the order of its parent.
    fn write_permutation(&self, clique: usize, permutation: &mut Vec<u32>) {
        let from = &self.layouts[clique].ports[0].scope;
        let onto = self.port_in_parent(clique).expect("a clique with a permutation has a parent");
        let [slow, _] = from.split_at(self.slow_count(from, &onto.scope));
        write_mapping(&slow, &onto.scope, permutation);
    }

    /// Adds `clique` and its tables to the places of its variables. `smallest` has, by variable,
    /// the number of entries of the smallest table of beliefs found so far.
    fn add_places(
        &self,
        clique: usize,
        node: &Node,
        places: &mut [VariablePlaces],
        smallest: &mut [usize],
    ) {
        let layout = &self.layouts[clique];
        let separator = &self.separators[clique];
        for &variable in &self.shape.cliques[clique] {
            let place = &mut places[variable.index()];
            if separator.contains(&variable) {
                let axis = layout.ports[0].scope.axis(variable);
                place.separators.push((clique, axis.expect("the separator holds it")));
            } else {
                place.top = clique;
            }
        }
        let ports_above = usize::from(node.parent.is_some());
        let tables = node.children.iter().map(|&child| BeliefTable::Separator(child));
        let tables = tables.chain([BeliefTable::Private(clique)]);
        for (port, table) in layout.ports[ports_above..].iter().zip(tables) {
            let entries = port.scope.entries();
            for &variable in port.scope.variables() {
                let place = &mut places[variable.index()];
                let axis = port.scope.axis(variable).expect("the port holds it");
                let smallest = &mut smallest[variable.index()];
                if entries < *smallest {
                    (*smallest, place.home) = (entries, Some((table, axis)));
                }
            }
        }
        for &variable in &self.private[clique] {
            let scope = &layout.ports[layout.ports.len() - 1].scope;
            places[variable.index()].private = scope.axis(variable);
        }
    }

    /// Finds the cliques whose message to the parent is one everywhere without evidence.
    ///
    /// The message is one if no variable of the separator has its conditional probability table in
    /// the subtree, because each table in the subtree then sums to one over a variable that is only
    /// in the subtree. The table of an observed variable that was removed from the cliques does not
    /// sum to one, because only one of the variable's states is left. `observed` has the states of
    /// these variables.
    fn find_messages_of_one(&self, nodes: &mut [Node], observed: &[Option<usize>]) {
        nodes.iter_mut().skip(1).for_each(|node| node.message_is_one = true);
        for (clique, factors) in self.shape.factors.iter().enumerate() {
            for factor in factors {
                let variable = &VariableId::new(factor.index());
                let mut at = clique;
                while self.separators[at].contains(variable) {
                    nodes[at].message_is_one = false;
                    let Some(parent) = nodes[at].parent else { break };
                    at = parent;
                }
            }
        }
        // By clique: whether its subtree has the table of an observed variable.
        let is_observed = |factor: &FactorId| observed[factor.index()].is_some();
        let mut has_observed: Vec<bool> =
            self.shape.factors.iter().map(|factors| factors.iter().any(is_observed)).collect();
        for clique in (1..nodes.len()).rev() {
            if !has_observed[clique] {
                continue;
            }
            nodes[clique].message_is_one = false;
            has_observed[nodes[clique].parent.unwrap_or(0)] = true;
        }
    }
}
