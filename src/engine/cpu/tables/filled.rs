//! A tree with the tables of its cliques.

use crate::allocate;
use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::tables::make::{TableRequest, make_tables};
use crate::engine::cpu::tables::table::CliqueTable;
use crate::engine::cpu::tree::assemble::NodeSource;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::places::VariablePlaces;
use crate::engine::cpu::tree::rows::GroupPort;
use crate::engine::cpu::tree::structure::Structure;
use crate::potential::Entry;

/// A tree and the tables of its cliques.
#[derive(Debug)]
pub struct FilledTree<T> {
    pub tree: Tree,
    /// By clique.
    pub tables: Vec<CliqueTable<T>>,
}

/// A clique with its table, ready to be put into a tree.
pub struct ReadyClique<T> {
    /// The table, newly made or reused.
    pub table: CliqueTable<T>,
    /// For a new factored table, its factor groups, from which its rows are written; otherwise
    /// empty.
    pub groups: Vec<GroupPort>,
    /// The node of the clique of the previous tree with the same table and ports, if there is one.
    pub reused: Option<Node>,
}

impl<T: Entry> FilledTree<T> {
    /// Makes all tables of `structure`, each with all its entries.
    pub fn build(structure: &Structure, inputs: TableInputs<'_>) -> Self {
        // The calling thread allocates all tables, even those that other threads fill.
        let cliques = structure.layouts.iter().zip(&structure.shape.factors);
        let requests = cliques.map(|(layout, factors)| {
            let table = allocate::zeros(layout.entries());
            TableRequest { layout, factors, sparse: None, plan: None, table }
        });
        let made = make_tables(inputs, requests.collect()).into_iter();
        let cliques = made.map(|table| ReadyClique { table, groups: Vec::new(), reused: None });
        Self::assemble(structure, inputs, cliques, Vec::new())
    }

    /// Puts a tree together from its cliques, given in order. `places` is memory to reuse.
    pub fn assemble(
        structure: &Structure,
        inputs: TableInputs<'_>,
        cliques: impl Iterator<Item = ReadyClique<T>>,
        places: Vec<VariablePlaces>,
    ) -> Self {
        let mut tables = Vec::with_capacity(structure.layouts.len());
        let sources = cliques.zip(&structure.layouts).map(
            |(ReadyClique { table, groups, reused }, layout)| {
                let is_factored = table.factored.is_some();
                let entries = if is_factored { layout.entries() } else { table.values.len() };
                tables.push(table);
                NodeSource { entries, groups, reused }
            },
        );
        let tree = structure.assemble(inputs, sources, places);
        Self { tree, tables }
    }

    /// Bytes of the tables and of the tree; see [`Tree::bytes`].
    pub fn bytes(&self) -> usize {
        self.tree.bytes() + self.tables.iter().map(CliqueTable::bytes).sum::<usize>()
    }
}
