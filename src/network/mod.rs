//! Discrete Bayesian and Markov networks: variables, tables, and evidence.
//!
//! Everything here is about the model and nothing about how it is solved or where it came from.
//! A [`Network`] that exists is valid: its graph has no directed cycle, every variable has one
//! table of the right size, and every row of every table sums to one; or, in a Markov network, every
//! factor has a table of the right size.

mod annotations;
mod cpt;
mod draw;
mod evidence;
mod factor;
mod model;
mod variable;

pub use annotations::{Annotation, Annotations, Attribute};
pub use cpt::{Cpt, ROUNDING_TOLERANCE, ROW_TOLERANCE, RowError, Scale, normalise_row};
pub use draw::state_at;
pub use evidence::{Evidence, EvidenceError, Finding};
pub use factor::{Factor, FactorId};
pub use model::{Network, NetworkError};
pub use variable::{Variable, VariableId};
