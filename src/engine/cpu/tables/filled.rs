//! A tree with the tables of its cliques.

use std::sync::Arc;

use crate::allocate;
use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tables::make::{TableRequest, make_tables};
use crate::engine::cpu::tables::table::CliqueTable;
use crate::engine::cpu::tree::assemble::NodeSource;
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::places::VariablePlaces;
use crate::engine::cpu::tree::rows::GroupPort;
use crate::engine::cpu::tree::structure::Structure;
use crate::network::FactorId;
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
    /// The factor groups of a new factored table, as rows see them; otherwise empty.
    pub groups: Vec<GroupPort>,
    /// The node of the clique of the previous tree with the same table and ports, if there is one.
    pub reused: Option<Node>,
}

impl<T: Entry> FilledTree<T> {
    /// Makes all tables of `structure`. With `may_factor`, tables are factored where this pays off.
    pub fn build(structure: &Structure, inputs: TableInputs<'_>, may_factor: bool) -> Self {
        // The calling thread allocates all tables, even those that other threads fill.
        let cliques = || structure.layouts.iter().zip(&structure.shape.factors);
        let plan = |(layout, factors): (&Arc<Layout>, &Vec<FactorId>)| {
            may_factor.then(|| FactoringPlan::new(inputs, layout, factors)).flatten()
        };
        let plans: Vec<Option<FactoringPlan>> = cliques().map(plan).collect();
        let requests = cliques().zip(&plans).map(|((layout, factors), plan)| {
            let plan = plan.as_ref().map(|plan| (plan, plan.memory()));
            let entries = if plan.is_some() { 0 } else { layout.entries() };
            TableRequest { layout, factors, sparse: None, plan, table: allocate::zeros(entries) }
        });
        let made = make_tables(inputs, requests.collect());
        let groups = structure.layouts.iter().zip(&plans).map(|(layout, plan)| {
            plan.as_ref().map_or_else(Vec::new, |plan| plan.ports(inputs.network, layout))
        });
        let cliques = made.into_iter().zip(groups);
        let cliques = cliques.map(|(table, groups)| ReadyClique { table, groups, reused: None });
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
