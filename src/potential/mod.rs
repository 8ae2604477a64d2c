//! Tables over several variables, and the index mappings between them.
//!
//! In the index of a table the last variable varies fastest: for variables X, Y, Z with x, y, z
//! states, the entry for states (i, j, k) has index (i * y + j) * z + k.

mod mapping;
mod mapping_tables;
mod real;
mod scope;
mod table;

pub(crate) use mapping::SplitMapping;
pub use mapping::{IndexMapping, Odometer, write_mapping};
pub use mapping_tables::MappingTables;
pub(crate) use real::rescale;
pub use real::{Entry, Limits, Precision, Real, ratio};
pub use scope::{Axis, Scope};
pub use table::Potential;
