//! Sparsity: leaves out the entries of tables that are not possible.
//!
//! [`supports`](crate::engine::cpu::table_free::supports) finds out which configurations of the
//! separators are possible. An entry of a clique's table is left out if a factor is zero there, or
//! if its part on a separator is not possible. Where factors are not zero is found with boolean
//! tables, which have one byte per entry. They are products of factors with
//! [ones](crate::network::Network::with_ones) in place of nonzero values, because a product of the
//! factors themselves may be zero by underflow.
//!
//! Only then are the numbers computed, for the entries that remain, which [`sparse_table`] lists.
//! This order saves time, because the first write to new memory takes longer than all other steps.

mod sparse_table;

use rayon::ThreadPool;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator,
};

use crate::allocate;
use crate::engine::cpu::context::{MIN_PARALLEL_ENTRIES, TableInputs};
use crate::engine::cpu::memory::{Products, factor_bytes};
use crate::engine::cpu::table_free::supports::Supports;
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tables::make::{TableRequest, make_tables};
use crate::engine::cpu::tables::multiply::SparseRows;
use crate::engine::cpu::tree::assemble::NodeSource;
use crate::engine::cpu::tree::division::MIN_SPARSE_ENTRIES_PER_COPIED;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::rows::{ROW_HEAD, write_rows};
use crate::engine::cpu::tree::structure::Structure;
use crate::lowering::{Optimisation, Program};
use crate::potential::Entry;
use crate::propagation::CompiledNetwork;

pub use sparse_table::MAX_GAP;
use sparse_table::{PortSupports, SparseSize, SparseTable};

/// A tree whose rows are laid out, and how each of its tables is made.
///
/// It holds no probabilities, so the memory of the tree is known before any table is allocated.
pub struct TreePlan {
    tree: Tree,
    /// By clique.
    tables: Vec<TablePlan>,
    /// The peak of the memory in use while the plan was made, in bytes.
    planning_bytes: usize,
}

/// How the table of a clique is made.
enum TablePlan {
    /// With all its entries.
    Full,
    /// As a product of smaller tables.
    Factored(FactoringPlan),
    /// Without entries that are not possible.
    Sparse {
        /// By row: its first entry in the full table.
        starts: Vec<u32>,
        /// For each entry of the rows: 1 if the entry is possible, otherwise 0.
        possible: Vec<u8>,
    },
}

impl TreePlan {
    /// The plan for the tree of `structure`: entries that are not possible are left out of the
    /// tables for which this pays off, unless this optimisation is switched off. Works
    /// on the threads of `inputs` if there is much to do.
    ///
    /// `program`: the contractions of `compiled` without evidence, if they were planned;
    /// `structure`: the structure of its full tree, with the origin of every clique.
    pub fn new(
        compiled: &CompiledNetwork,
        program: Option<&Program>,
        structure: &Structure,
        inputs: TableInputs<'_>,
    ) -> Self {
        let optimisations = inputs.optimisations;
        if !optimisations.has(Optimisation::Sparsity) || !inputs.network.has_zeros() {
            return Self::of_full_tables(structure, inputs);
        }
        let entries: usize = structure.layouts.iter().map(|layout| layout.entries()).sum();
        let threads = inputs.threads.filter(|_| entries >= MIN_PARALLEL_ENTRIES);
        let supports = match threads {
            Some(threads) => threads.install(|| Supports::find(compiled, program, true)),
            None => Supports::find(compiled, program, false),
        };
        let ones = inputs.network.with_ones();
        let boolean = FilledTree::<u8>::build(structure, TableInputs { network: &ones, ..inputs });
        drop(ones);
        let port_supports = |clique| PortSupports::new(&supports, structure, clique);
        let sparse = find_sparsity(&boolean, &port_supports, threads);
        let sparse_bytes: usize = sparse.iter().flatten().map(SparseTable::bytes).sum();
        let mut products = Products::default();
        let cliques = structure.layouts.iter().zip(&structure.shape.factors);
        cliques.for_each(|(layout, factors)| products.add(layout.entries(), factors.len()));
        let filling_bytes = products.bytes() + factor_bytes(inputs.network);
        let temporary_bytes = supports.bytes() + filling_bytes.max(sparse_bytes);
        let planning_bytes = supports.peak_bytes.max(boolean.bytes() + temporary_bytes);
        let mut tree = boolean.tree;
        drop(boolean.tables);
        let cliques = tree.nodes.iter_mut().zip(&structure.layouts).zip(&structure.shape.factors);
        let tables = cliques.zip(sparse).map(|(((node, layout), factors), sparse)| {
            match (sparse, FactoringPlan::new(inputs, layout, factors)) {
                (Some(SparseTable { words, starts, possible, .. }), _) => {
                    (node.words, node.entries) = (words, possible.len());
                    TablePlan::Sparse { starts, possible }
                }
                (None, Some(plan)) => {
                    let groups = plan.ports(inputs.network, layout);
                    node.stride = ROW_HEAD + layout.ports.len() + groups.len();
                    node.words = allocate::with_capacity(layout.row_count() * node.stride);
                    write_rows(layout, node.parent.is_some(), &groups, &mut node.words);
                    TablePlan::Factored(plan)
                }
                (None, None) => TablePlan::Full,
            }
        });
        let tables = tables.collect();
        if optimisations.has(Optimisation::CompressedSeparators) {
            tree.compress();
        }
        // The rows of a sparse table follow no regular pattern, so each is a block.
        let per_copied = MIN_SPARSE_ENTRIES_PER_COPIED;
        tree.nodes.iter_mut().for_each(|node| node.divide_rows(optimisations, 1, per_copied));
        tree.update_derived();
        Self { tree, tables, planning_bytes }
    }

    /// The plan in which no entry of a table is left out.
    fn of_full_tables(structure: &Structure, inputs: TableInputs<'_>) -> Self {
        let cliques = structure.layouts.iter().zip(&structure.shape.factors);
        let plans = cliques.map(|(layout, factors)| FactoringPlan::new(inputs, layout, factors));
        let plan = |plan: Option<_>| plan.map_or(TablePlan::Full, TablePlan::Factored);
        let tables: Vec<TablePlan> = plans.map(plan).collect();
        let sources = structure.layouts.iter().zip(&tables).map(|(layout, table)| {
            let groups = match table {
                TablePlan::Factored(plan) => plan.ports(inputs.network, layout),
                TablePlan::Full | TablePlan::Sparse { .. } => Vec::new(),
            };
            NodeSource { entries: layout.entries(), groups, reused: None }
        });
        let tree = structure.assemble(inputs, sources, Vec::new());
        Self { tree, tables, planning_bytes: 0 }
    }

    /// The memory for making the tree, with table entries of `width` bytes, and for one propagation
    /// in it.
    pub fn bytes(&self, structure: &Structure, width: usize) -> usize {
        let (mut held, mut patterns, mut products) = (self.tree.bytes(), 0, Products::default());
        for (clique, table) in self.tables.iter().enumerate() {
            let layout = &structure.layouts[clique];
            held += match table {
                TablePlan::Full => layout.entries() * width,
                TablePlan::Factored(plan) => plan.bytes(),
                TablePlan::Sparse { starts, possible } => {
                    patterns += size_of_val::<[u32]>(starts) + possible.len();
                    possible.len() * width
                }
            };
            if !matches!(table, TablePlan::Factored(_)) {
                products.add(layout.entries(), structure.shape.factors[clique].len());
            }
        }
        let masks = size_of::<f64>() * self.tree.above;
        let tree = &self.tree;
        // The message from the parent of a clique that is not divided is in memory as a whole.
        let whole = tree.nodes.iter().filter(|node| node.parts_down.parts.is_empty());
        let whole = whole.map(|node| node.above.len()).max().unwrap_or(0);
        let messages = size_of::<f64>() * (tree.above + 2 * tree.below + tree.scratch + whole);
        (held + messages + masks.max(patterns + products.bytes())).max(self.planning_bytes)
    }

    /// Makes the tables. Large tables are made on the threads of `inputs`.
    pub fn fill<T: Entry>(self, structure: &Structure, inputs: TableInputs<'_>) -> FilledTree<T> {
        let Self { tree, tables, .. } = self;
        let requests = tables.iter().enumerate().map(|(clique, table)| {
            let layout = &*structure.layouts[clique];
            let factors = &*structure.shape.factors[clique];
            let (entries, sparse, plan) = match table {
                TablePlan::Full => (layout.entries(), None, None),
                TablePlan::Factored(plan) => (0, None, Some((plan, plan.memory()))),
                TablePlan::Sparse { starts, possible } => {
                    let Node { words, stride, .. } = &tree.nodes[clique];
                    let rows = SparseRows { starts, words, stride: *stride, possible };
                    (possible.len(), Some(rows), None)
                }
            };
            TableRequest { layout, factors, sparse, plan, table: allocate::zeros(entries) }
        });
        let tables = make_tables(inputs, requests.collect());
        FilledTree { tree, tables }
    }
}

/// The entries of each clique's table that are possible; `None` for a clique for which leaving out
/// the others does not pay off. `supports`: what the separators of a clique say about its entries.
fn find_sparsity(
    boolean: &FilledTree<u8>,
    supports: &(impl Fn(usize) -> PortSupports + Sync),
    threads: Option<&ThreadPool>,
) -> Vec<Option<SparseTable>> {
    let nodes = &boolean.tree.nodes;
    let size = |clique: usize| SparseSize::find(boolean, &supports(clique), clique);
    let sizes: Vec<_> = match threads {
        Some(threads) => {
            threads.install(|| (0..nodes.len()).into_par_iter().with_max_len(1).map(size).collect())
        }
        None => (0..nodes.len()).map(size).collect(),
    };
    // One thread allocates all memory. If each thread allocated, the peak would depend on what the
    // allocator keeps for each thread.
    let new = |(size, node): (&Option<SparseSize>, &Node)| {
        size.as_ref().map(|size| SparseTable::with_capacity(size, node.stride))
    };
    let mut found: Vec<Option<SparseTable>> = sizes.iter().zip(nodes).map(new).collect();
    let fill = |(clique, table): (usize, &mut Option<SparseTable>)| {
        if let Some(table) = table {
            table.fill(boolean, &supports(clique), clique);
        }
    };
    match threads {
        Some(threads) => threads.install(|| {
            found.par_iter_mut().enumerate().with_max_len(1).for_each(fill);
        }),
        None => found.iter_mut().enumerate().for_each(fill),
    }
    found
}
