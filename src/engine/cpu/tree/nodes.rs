//! A junction tree with its tables, as this engine passes messages through it.

use crate::engine::cpu::pass::kernel::{ParentPort, ROW_HEAD, Rows};
use crate::engine::cpu::tables::factored::Factored;
use crate::engine::cpu::tree::entry_map::{Kept, States};
use crate::network::VariableId;
use crate::potential::{Axis, Entry};

/// Entries from which on a table is read by several threads.
const PIECE: usize = 32_768;

/// In how many parts a table of `entries` is summed onto tables of `below` entries on the way
/// down. Adding up the parts must cost little beside them.
pub fn parts(entries: usize, below: usize) -> usize {
    (entries / (8 * below).max(PIECE)).clamp(1, 8)
}

/// A junction tree with tables of `T`.
#[derive(Debug)]
pub struct Tree<T> {
    pub nodes: Vec<Node<T>>,
    /// Where findings on each variable are entered, and its posterior is read.
    pub places: Vec<Place>,
    /// Entries of the tables at all ports toward children, and of the private variables.
    pub below: usize,
    /// Entries of the tables at all ports toward parents.
    pub above: usize,
    /// Entries of the room for parts of all large tables.
    pub spare: usize,
}

/// Some of the rows of a large table: those that give certain entries of the separator above.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    /// The words that describe the rows.
    pub words: std::ops::Range<usize>,
    /// The first of the entries.
    pub above: usize,
}

/// A clique with its table.
#[derive(Debug, Default)]
pub struct Node<T> {
    /// The variables of the clique.
    pub variables: Vec<VariableId>,
    pub parent: Option<usize>,
    pub children: Vec<usize>,
    /// One past the last clique of the subtree below.
    pub end: usize,
    /// What a pass over the table costs, in entries.
    pub work: usize,
    pub port: Option<ParentPort>,
    /// Where the table of the separator above stands among those of all ports toward parents, in
    /// the order of this clique.
    pub above: std::ops::Range<usize>,
    /// The same separator among those of all ports toward children, in the order of the parent.
    pub in_parent: std::ops::Range<usize>,
    /// For each entry of the separator in the order of this clique its place in the parent's;
    /// `None` where the two orders are the same.
    pub permutation: Option<Box<[u32]>>,
    /// Where the tables of the ports toward children, and then that of the private variables,
    /// stand. What rows say of these ports counts from its start.
    pub below: std::ops::Range<usize>,
    /// The table of the private variables, if there are any.
    pub private: Option<std::ops::Range<usize>>,
    /// For each port toward a child, and then the private one, whether it is read by vectors.
    pub is_vector: Vec<bool>,
    /// Entries that the separator above has in all.
    pub full: usize,
    /// Which of them stand in [`above`](Self::above).
    pub above_kept: Kept,
    /// The states of those where they are few.
    pub states: States,
    /// Which of them stand in [`in_parent`](Self::in_parent).
    pub in_parent_kept: Kept,
    /// Which entries of the table of the private variables are left.
    pub private_kept: Kept,
    /// Whether the message to the parent is one everywhere while nothing is known below: all
    /// tables below sum out.
    pub sums_out: bool,
    /// Room for the parts of a large table on the way down.
    pub spare: std::ops::Range<usize>,
    /// The pieces of a large table on the way up; one or none if it is not large.
    pub pieces: Vec<Piece>,
    pub words: Vec<u32>,
    pub stride: usize,
    pub values: Vec<T>,
    /// The product that there is in place of `values`, if there is.
    pub factored: Option<Factored>,
    /// The table is `values` times two to this power.
    pub exponent: i32,
}

/// Where a variable stands in the tables that cliques exchange.
#[derive(Debug, Default)]
pub struct Place {
    /// The clique nearest to the root that holds it.
    pub top: usize,
    /// The separators that hold it, by the clique below, nearest to the root first; with its axis
    /// in the order of the clique below.
    pub separators: Vec<(usize, Axis)>,
    /// Its axis in the table of private variables of [`top`](Self::top), if it is there alone.
    pub private: Option<Axis>,
    /// The smallest table among those at ports toward children that holds it, and its axis there.
    pub home: Option<(Port, Axis)>,
}

/// A port at which beliefs are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// The port of the parent of this clique toward it.
    Above(usize),
    /// The private variables of this clique.
    Private(usize),
}

impl Place {
    /// Leaves nothing but room.
    pub fn clear(&mut self) {
        self.separators.clear();
        (self.top, self.private, self.home) = (0, None, None);
    }
}

impl<T: Entry> Node<T> {
    pub fn rows(&self) -> Rows<'_, T> {
        Rows { words: &self.words, stride: self.stride, values: &self.values }
    }

    /// The word of a row that points into the table of child number `child`; one past the children
    /// is the table of the private variables.
    pub fn word(&self, child: usize) -> u32 {
        (ROW_HEAD + usize::from(self.parent.is_some()) + child) as u32
    }
}

impl<T> Node<T> {
    /// Entries of the table, whether it was made or is a product.
    pub fn entries(&self) -> usize {
        self.factored.as_ref().map_or(self.values.len(), |product| product.entries)
    }

    /// Cuts the rows where those before and those after give different entries.
    pub fn cut(&self) -> Vec<Piece> {
        let Some(port) = self.port.filter(|_| self.entries() >= 2 * PIECE) else {
            return Vec::new();
        };
        let rows = || self.words.chunks_exact(self.stride);
        let first = |row: &[u32]| row[port.word] as usize;
        // For every row the least entry that it or a later one gives.
        let mut least: Vec<usize> = rows().map(first).collect();
        for row in (1..least.len()).rev() {
            least[row - 1] = least[row - 1].min(least[row]);
        }
        let mut pieces = vec![Piece { words: 0..0, above: 0 }];
        let (mut entries, mut end) = (0, 0);
        for (number, row) in rows().enumerate() {
            let words = number * self.stride;
            if entries >= PIECE && end <= least[number] {
                entries = 0;
                pieces.push(Piece { words: words..words, above: least[number] });
            }
            end = end.max(first(row) + if port.is_vector { row[1] as usize } else { 1 });
            entries += row[1] as usize;
            let last = pieces.len() - 1;
            pieces[last].words.end = words + self.stride;
        }
        pieces
    }
}

impl<T> Tree<T> {
    /// `clique` and all those between it and the root, without the root.
    pub fn path_to_root(&self, clique: usize) -> impl Iterator<Item = usize> {
        let parent = |&clique: &usize| self.nodes[clique].parent;
        std::iter::successors(Some(clique), parent).filter(|&clique| clique > 0)
    }
}

impl Tree<u8> {
    /// The tree with these tables, each with its exponent. They have the rows that there are.
    pub fn with_tables<T>(self, tables: Vec<(Vec<T>, i32)>) -> Tree<T> {
        let nodes = self.nodes.into_iter().zip(tables).map(|(node, (values, exponent))| Node {
            variables: node.variables,
            parent: node.parent,
            children: node.children,
            end: node.end,
            work: node.work,
            port: node.port,
            above: node.above,
            in_parent: node.in_parent,
            permutation: node.permutation,
            below: node.below,
            private: node.private,
            is_vector: node.is_vector,
            full: node.full,
            above_kept: node.above_kept,
            states: node.states,
            in_parent_kept: node.in_parent_kept,
            private_kept: node.private_kept,
            sums_out: node.sums_out,
            spare: node.spare,
            pieces: node.pieces,
            words: node.words,
            stride: node.stride,
            values,
            factored: node.factored,
            exponent,
        });
        let nodes = nodes.collect();
        let Self { places, below, above, spare, .. } = self;
        Tree { nodes, places, below, above, spare }
    }
}

impl<T: Entry> Tree<T> {
    /// Divides the work among threads; to be done again when tables change, once they are
    /// [cut](Node::cut).
    pub fn divide(&mut self) {
        self.spare = 0;
        for node in &mut self.nodes {
            let parts = parts(node.entries(), node.below.len());
            node.spare = self.spare..self.spare + (parts - 1) * node.below.len();
            self.spare = node.spare.end;
            node.work = node.entries() + node.words.len() + node.above.len();
        }
        for clique in (0..self.nodes.len()).rev() {
            let last = self.nodes[clique].children.last();
            self.nodes[clique].end = last.map_or(clique + 1, |&last| self.nodes[last].end);
        }
    }

    /// Bytes of tables and of what describes them.
    pub fn bytes(&self) -> usize {
        let of = |node: &Node<T>| {
            size_of_val::<[T]>(&node.values)
                + node.factored.as_ref().map_or(0, |product| size_of_val::<[f64]>(&product.values))
                + size_of_val::<[u32]>(&node.words)
                + node.permutation.as_ref().map_or(0, |p| size_of_val::<[u32]>(p))
                + node.above_kept.bytes()
                + node.states.bytes()
                + node.in_parent_kept.bytes()
                + node.private_kept.bytes()
        };
        self.nodes.iter().map(of).sum()
    }
}
