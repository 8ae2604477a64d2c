//! Tables over several variables, and the index mappings between them.
//!
//! A table's index runs over its variables with the last the fastest: for variables X, Y, Z with
//! cardinalities x, y, z the entry of (i, j, k) stands at (i * y + j) * z + k.

mod mapping;
mod mapping_tables;
mod real;
mod scope;
mod table;

pub use mapping::{IndexMapping, Odometer, write_mapping};
pub use mapping_tables::MappingTables;
pub use real::{Entry, Precision, Real, ratio};
pub(crate) use real::{halves, rescale};
pub use scope::{Axis, Scope};
pub use table::Potential;
