//! Errors in the structure and the tables of a network.

use crate::network::RowError;
use crate::numbers::{counted, thousands};

/// Why variables and tables do not make a valid network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// Two variables have the same name.
    #[error("two variables are called '{0}'")]
    DuplicateVariable(String),
    /// A variable has no states.
    #[error("variable '{0}' has no states")]
    NoStates(String),
    /// Two states of a variable have the same label.
    #[error("variable '{variable}' has two states labelled '{state}'")]
    DuplicateState {
        /// The variable.
        variable: String,
        /// The label that occurs twice.
        state: String,
    },
    /// A variable has no table, or more than one.
    #[error("variable '{variable}' has {found} probability tables, expected one")]
    TableCount {
        /// The variable.
        variable: String,
        /// Number of tables of this variable.
        found: usize,
    },
    /// A parent is named twice, or a variable is its own parent.
    #[error("the table of '{child}' names '{parent}' more than once")]
    RepeatedParent {
        /// The child.
        child: String,
        /// The repeated variable.
        parent: String,
    },
    /// A table has the wrong number of entries.
    #[error(
        "the table of '{variable}' holds {}, expected {expected}",
        counted(*found, "number", "numbers")
    )]
    TableSize {
        /// The child.
        variable: String,
        /// Number of entries that the cardinalities imply.
        expected: EntryCount,
        /// Number of entries given.
        found: usize,
    },
    /// A row of a table is not a probability distribution.
    #[error("row {row} of the table of '{variable}': {error}")]
    Row {
        /// The child.
        variable: String,
        /// The row, counted from zero in the index order of [`Cpt`](crate::network::Cpt).
        row: usize,
        /// What is wrong with it.
        error: RowError,
    },
    /// The scope of a factor repeats a variable.
    #[error("factor {factor} names '{variable}' more than once")]
    RepeatedInFactor {
        /// Position of the factor, counted from zero.
        factor: usize,
        /// The variable.
        variable: String,
    },
    /// The table of a factor has the wrong number of entries.
    #[error(
        "the table of factor {factor} holds {}, expected {expected}",
        counted(*found, "number", "numbers")
    )]
    FactorSize {
        /// Position of the factor, counted from zero.
        factor: usize,
        /// Number of entries that the cardinalities imply.
        expected: EntryCount,
        /// Number of entries given.
        found: usize,
    },
    /// A factor has a value that is negative, infinite or not a number.
    #[error("factor {factor} has the value {value}, expected a finite number of at least zero")]
    FactorValue {
        /// Position of the factor, counted from zero.
        factor: usize,
        /// The value.
        value: f64,
    },
    /// The graph has a directed cycle. Holds the names of the variables on the cycle, along the
    /// arcs, with the first one repeated at the end.
    #[error("the arcs form a cycle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
}

/// The number of entries of a table; `None` if it does not fit into `usize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryCount(pub Option<usize>);

impl std::fmt::Display for EntryCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(count) => f.write_str(&thousands(count as u64)),
            None => write!(f, "more than 10^{}", usize::MAX.ilog10()),
        }
    }
}
