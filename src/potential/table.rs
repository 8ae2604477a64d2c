//! A potential: a non-negative function of several variables as a table.

use crate::network::VariableId;

/// A table of non-negative numbers over some variables, the last variable the fastest index.
#[derive(Clone, Debug, PartialEq)]
pub struct Potential {
    variables: Vec<VariableId>,
    cardinalities: Vec<usize>,
    values: Vec<f64>,
}
