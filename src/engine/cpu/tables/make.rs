//! Makes the tables of a tree, on several threads if they are large together.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::engine::cpu::context::{MIN_PARALLEL_ENTRIES, TableInputs};
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tables::fill::TableBuilder;
use crate::engine::cpu::tables::multiply::SparseRows;
use crate::engine::cpu::tables::table::CliqueTable;
use crate::engine::cpu::tree::layout::Layout;
use crate::network::{Factor, FactorId};
use crate::potential::Entry;

/// A table to be made.
pub struct TableRequest<'a, T> {
    /// The layout of its clique.
    pub layout: &'a Layout,
    /// The factors to multiply.
    pub factors: &'a [FactorId],
    /// The rows to make, if entries that are always zero are left out.
    pub sparse: Option<SparseRows<'a>>,
    /// How to factor the table, with memory for it; `None` to make it in full.
    pub plan: Option<(&'a FactoringPlan, Vec<f64>)>,
    /// The memory to fill, as long as the table; empty if the table is factored.
    pub table: Vec<T>,
}

/// Makes the requested tables. Returns them in the order of the requests.
pub fn make_tables<T: Entry>(
    inputs: TableInputs<'_>,
    requests: Vec<TableRequest<'_, T>>,
) -> Vec<CliqueTable<T>> {
    let entries: usize = requests.iter().map(|request| request.table.len()).sum();
    let threads = inputs.threads.filter(|_| entries >= MIN_PARALLEL_ENTRIES);
    let make = |builder: &mut TableBuilder, request: TableRequest<'_, T>| {
        let TableRequest { layout, factors, sparse, plan, table: mut values } = request;
        if let Some((plan, memory)) = plan {
            let (factored, exponent) = plan.make(memory, builder, inputs, layout);
            return CliqueTable { values, exponent, factored: Some(factored) };
        }
        let factors: Vec<&Factor> = factors.iter().map(|&f| inputs.network.factor(f)).collect();
        let forks = threads.is_some();
        let exponent = builder.product(inputs, layout, &factors, sparse, &mut values, forks);
        CliqueTable { values, exponent, factored: None }
    };
    match threads {
        Some(threads) => {
            let requests = requests.into_par_iter().with_max_len(1);
            threads.install(|| requests.map_init(TableBuilder::default, make).collect())
        }
        None => {
            let mut builder = TableBuilder::default();
            requests.into_iter().map(|request| make(&mut builder, request)).collect()
        }
    }
}
