//! The tables of cliques and separators, with their exponents and bounds.

use std::ops::Range;

use super::message;
use crate::allocate;
use crate::engine::RunError;
use crate::engine::bounds::{Bounds, Loss, no_message};
use crate::engine::factors::{FactorProduct, smallest_exponents};
use crate::potential::{Real, Scope, rescale};
use crate::propagation::CompiledNetwork;

/// The initial entries of a clique's table are stored multiplied by two to the power of this.
/// Entries mostly become smaller during a propagation, so most of the range of single precision is
/// left below 2 to this power. A larger value risks overflow, and a smaller one loses unlikely
/// states sooner.
const PEAK: i32 = 96;

/// A clique's table is rescaled to a largest entry near 2 to the power of [`PEAK`] when the
/// exponent of its largest entry leaves this range. With a narrower range, tables are rescaled more
/// often; with a wider one, unlikely states are lost sooner.
const EXPONENTS_OF_LARGEST: Range<i32> = PEAK - 24..PEAK + 8;

/// The tables of all cliques or of all separators.
pub(super) struct Tables<T> {
    /// The entries, table after table.
    pub(super) values: Vec<T>,
    /// For each table the range of its entries in `values`.
    pub(super) ranges: Vec<Range<usize>>,
    /// For each table the exponent of the power of two to multiply its entries by.
    pub(super) exponents: Vec<i64>,
    /// For each table the bounds of its entries. Those of separators are not used.
    pub(super) bounds: Vec<Bounds>,
}

impl<T: Real> Tables<T> {
    /// Tables of these sizes with this exponent, filled with `value`.
    pub(super) fn new(sizes: impl ExactSizeIterator<Item = u64>, value: T, exponent: i64) -> Self {
        let exponents = vec![exponent; sizes.len()];
        let bounds = vec![Bounds::ONE; sizes.len()];
        let mut end = 0;
        let ranges: Vec<Range<usize>> = sizes
            .map(|size| {
                let start = end;
                end += usize::try_from(size).expect("a table in memory has a usize index");
                start..end
            })
            .collect();
        let mut values = allocate::with_capacity(end);
        values.resize(end, value);
        Self { values, ranges, exponents, bounds }
    }

    /// Table number `index`.
    pub(super) fn table(&self, index: usize) -> &[T] {
        &self.values[self.ranges[index].clone()]
    }

    /// Table number `index`, to be changed.
    pub(super) fn table_mut(&mut self, index: usize) -> &mut [T] {
        &mut self.values[self.ranges[index].clone()]
    }

    /// Copies all tables of `other`, which have the same sizes, with their exponents and bounds.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.values.copy_from_slice(&other.values);
        self.exponents.copy_from_slice(&other.exponents);
        self.bounds.copy_from_slice(&other.bounds);
    }

    /// Stores the bounds that table `index` will have once its entries are multiplied by numbers
    /// with the bounds `factor`. Call this before the multiplication.
    pub(super) fn multiply_bounds(&mut self, index: usize, factor: Bounds) {
        let before = self.bounds[index];
        let mut after = before.times::<T>(factor);
        if after.error > before.error {
            // The smallest entry is usually larger than its bound. Finding it takes time, but is
            // rarely necessary.
            let measured = Bounds::of(self.table(index).iter().map(|value| value.to_f64()));
            after = Bounds { error: before.error, ..measured }.times::<T>(factor);
        }
        self.bounds[index] = after;
    }

    /// Rescales table `index` if the exponent of its largest entry, `largest`, is not in
    /// [`EXPONENTS_OF_LARGEST`].
    ///
    /// # Errors
    /// If `largest` is zero or not finite.
    pub(super) fn keep_in_range(&mut self, index: usize, largest: T) -> Result<(), RunError> {
        let bounds = self.bounds[index];
        let error = if largest > T::ZERO { Some(0) } else { bounds.error };
        let exponent = -largest.scale_exponent().ok_or_else(|| no_message(error))?;
        let mut bounds = Bounds { max: exponent + 1, ..bounds };
        if !EXPONENTS_OF_LARGEST.contains(&exponent) {
            rescale(self.table_mut(index), PEAK - exponent);
            self.exponents[index] -= i64::from(PEAK - exponent);
            bounds = bounds.scaled::<T>(PEAK - exponent);
        }
        self.bounds[index] = bounds;
        Ok(())
    }

    /// The loss of belief in table `index`, which has received all messages.
    pub(super) fn loss(&self, index: usize) -> Loss {
        let mut loss = Loss::default();
        let (bounds, table) = (self.bounds[index], self.table(index));
        if bounds.error.is_some() {
            loss.add_error(bounds, table.len(), message::total(table));
        }
        loss
    }

    /// Size of all entries in bytes.
    pub(super) fn bytes(&self) -> u64 {
        std::mem::size_of_val(&*self.values) as u64
    }
}

/// The tables of the cliques before any message: the table of a clique is the product of the
/// factors assigned to it. `scopes`: by clique, the scope of its table.
pub(super) fn initial_tables<T: Real>(compiled: &CompiledNetwork, scopes: &[Scope]) -> Tables<T> {
    let sizes = compiled.tree().cliques().iter().map(|clique| clique.entries);
    let mut tables = Tables::new(sizes, T::ZERO, i64::from(-PEAK));
    let network = compiled.network();
    let smallest = smallest_exponents(network);
    for factor in network.factor_ids() {
        let bounds = &mut tables.bounds[compiled.factor_home(factor).index()];
        bounds.min += smallest[factor.index()];
    }
    let peak = 1.0.scale(PEAK);
    for (clique, product) in FactorProduct::for_cliques(compiled, scopes).iter().enumerate() {
        let mut entries = tables.table_mut(clique).iter_mut();
        let exponent = product.entries(|value| {
            if let Some(entry) = entries.next() {
                *entry = T::from_f64(value * peak);
            }
        });
        tables.exponents[clique] += i64::from(exponent);
        let bounds = Bounds { min: tables.bounds[clique].min - exponent, ..Bounds::ONE };
        let largest = Bounds::of(tables.table(clique).iter().map(|value| value.to_f64())).max;
        let scaled = bounds.stored::<f64>().scaled::<T>(PEAK).stored::<T>();
        tables.bounds[clique] = Bounds { max: largest, ..scaled };
    }
    tables
}
