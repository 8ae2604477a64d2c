//! The table of a clique.

use crate::engine::bounds::Bounds;
use crate::engine::cpu::tables::factored::FactoredTable;

/// The table of a clique, in full, without zeros, or factored. The product of the clique's factors
/// is the table times two to the power of `exponent`.
#[derive(Debug, Default)]
pub struct CliqueTable<T> {
    /// The entries in the order of the clique's layout. If zeros were left out, these are only the
    /// entries of the rows. Empty if the table is factored.
    pub values: Vec<T>,
    /// The exponent of the power of two by which the entries must be multiplied.
    pub exponent: i32,
    /// The smaller tables that replace `values` if the table is factored.
    pub factored: Option<FactoredTable>,
    /// The bounds of the entries; for a factored table, of the entries it would have if it were
    /// multiplied out.
    pub bounds: Bounds,
}

impl<T> CliqueTable<T> {
    /// Bytes of the entries, or of the smaller tables if the table is factored.
    pub fn bytes(&self) -> usize {
        let factored = self.factored.as_ref();
        size_of_val::<[T]>(&self.values)
            + factored.map_or(0, |table| size_of_val::<[f64]>(&table.values))
    }
}
