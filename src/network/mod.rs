//! Discrete Bayesian and Markov networks: variables, tables, and evidence.
//!
//! This module is only about the model, not about inference or files.
//!
//! Every [`Network`] is valid by construction. No two variables have the same name, and no two
//! states of a variable the same label. In a Bayesian network the graph has no directed cycle,
//! every variable has one table of the right size, and every row of a table sums to one. In a
//! Markov network every factor has a table of the right size with finite, non-negative values.

mod annotations;
mod cpt;
mod draw;
mod error;
mod evidence;
mod factor;
mod model;
mod row;
mod topology;
mod validate;
mod variable;

pub use annotations::{Annotation, Annotations, Attribute};
pub use cpt::Cpt;
pub use draw::state_at;
pub use error::NetworkError;
pub use evidence::{Evidence, EvidenceError, Finding};
pub use factor::{Factor, FactorId};
pub use model::Network;
pub use row::{ROUNDING_TOLERANCE, ROW_TOLERANCE, RowError, Scale, normalise_row};
pub use variable::{Variable, VariableId};
