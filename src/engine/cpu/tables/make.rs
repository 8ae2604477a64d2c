//! Makes the tables of a tree, on several threads if the tables have many entries together.

use crate::engine::bounds::Bounds;
use crate::engine::cpu::context::{MIN_PARALLEL_ENTRIES, TableInputs};
use crate::engine::cpu::share::in_parts;
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tables::fill::{MAX_NEGATIVE_EXPONENT, TableBuilder};
use crate::engine::cpu::tables::multiply::SparseRows;
use crate::engine::cpu::tables::table::CliqueTable;
use crate::engine::cpu::tree::layout::Layout;
use crate::lowering::Optimisation;
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
    /// The memory to fill, with one element for each entry of the table; empty if the table is
    /// factored.
    pub table: Vec<T>,
}

/// Time to make a small table, as a number of entries that are made in this time: a rough figure
/// from Munin3. If it is wrong, only speed changes.
const REQUEST_COST: usize = 1_000;

/// Makes the requested tables. Returns them in the order of the requests.
pub fn make_tables<T: Entry>(
    inputs: TableInputs<'_>,
    requests: Vec<TableRequest<'_, T>>,
) -> Vec<CliqueTable<T>> {
    let entries: usize = requests.iter().map(|request| request.table.len()).sum();
    let has_threads = inputs.optimisations.has(Optimisation::ParallelPreparation);
    let threads = inputs.threads.filter(|_| has_threads);
    let forks = threads.is_some() && entries >= MIN_PARALLEL_ENTRIES;
    let make = |builder: &mut TableBuilder, request: TableRequest<'_, T>| {
        let TableRequest { layout, factors, sparse, plan, table: mut values } = request;
        if let Some((plan, memory)) = plan {
            let (factored, exponent) = plan.make(memory, builder, inputs, layout);
            let bounds = table_bounds::<f64>(inputs, factors, exponent);
            return CliqueTable { values, exponent, factored: Some(factored), bounds };
        }
        let tables: Vec<&Factor> = factors.iter().map(|&f| inputs.network.factor(f)).collect();
        let exponent = builder.product(inputs, layout, &tables, sparse, &mut values, forks);
        let bounds = table_bounds::<T>(inputs, factors, exponent);
        CliqueTable { values, exponent, factored: None, bounds }
    };
    let mut work: Vec<_> = requests.into_iter().map(|request| (Some(request), None)).collect();
    let cost = |(request, _): &(Option<TableRequest<'_, T>>, _)| {
        REQUEST_COST + request.as_ref().map_or(0, |request| request.table.len())
    };
    in_parts(threads, &mut work, cost, |part| {
        let mut builder = TableBuilder::default();
        for (request, made) in part {
            *made = request.take().map(|request| make(&mut builder, request));
        }
    });
    work.into_iter().filter_map(|(_, made)| made).collect()
}

/// The largest entry of a table is below two to the power of this, because of
/// [`NEAR_ONE`](crate::engine::cpu::vector::NEAR_ONE). In a factored table, this bounds only each
/// group, but values of factors are at most about one, so the product is far smaller.
const MAX_EXPONENT: i32 = 17;

/// The bounds of a table of type `T` that holds the product of `factors` divided by two to the
/// power of `exponent`.
fn table_bounds<T: Entry>(inputs: TableInputs<'_>, factors: &[FactorId], exponent: i32) -> Bounds {
    let smallest = |factor: &FactorId| inputs.smallest.get(factor.index()).copied().unwrap_or(0);
    let product: i32 = factors.iter().map(smallest).sum();
    let min = product - exponent;
    // The product is computed in double precision. Afterwards it is scaled up by at most two to the
    // power of MAX_NEGATIVE_EXPONENT, and with it the error of an entry that has underflowed.
    let scale = (-exponent).clamp(0, MAX_NEGATIVE_EXPONENT as i32);
    let in_double = (product < f64::LIMITS.normal || min < f64::LIMITS.normal)
        .then_some(f64::LIMITS.smallest + scale + MAX_EXPONENT);
    let stored = (min < T::LIMITS.normal).then_some(T::LIMITS.smallest);
    Bounds { min, max: MAX_EXPONENT, error: in_double.max(stored) }
}
