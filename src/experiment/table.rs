//! Tables of a record: typed columns of the same length.

use serde::{Deserialize, Serialize};

use super::Origin;

/// Rows of cells in typed columns of the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Its name, as part of a file's name.
    pub name: String,
    /// The columns.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its heading, with the unit at the end, as `propagate_us`.
    pub name: String,
    /// Where its numbers come from, where that is the same for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The cells.
    pub cells: Cells,
}

/// The cells of a column; `None` where there is nothing to be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// Words.
    Text(Vec<String>),
    /// Counts.
    Count(Vec<Option<u64>>),
    /// Measures.
    Number(Vec<Option<f64>>),
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count.
    Count(u64),
    /// A measure.
    Number(f64),
    /// Nothing.
    Nothing,
}

impl Table {
    /// A table without columns.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), columns: Vec::new() }
    }

    /// Adds a column of words.
    #[must_use]
    pub fn text<S: Into<String>>(self, name: &str, cells: impl IntoIterator<Item = S>) -> Self {
        self.with(name, None, Cells::Text(cells.into_iter().map(Into::into).collect()))
    }

    /// Adds a column of counts, all of one origin.
    #[must_use]
    pub fn count<N: Into<Option<u64>>>(
        self,
        name: &str,
        origin: impl Into<Option<Origin>>,
        cells: impl IntoIterator<Item = N>,
    ) -> Self {
        self.with(name, origin.into(), Cells::Count(cells.into_iter().map(Into::into).collect()))
    }

    /// Adds a column of measures, all of one origin unless that is `None`.
    #[must_use]
    pub fn number<N: Into<Option<f64>>>(
        self,
        name: &str,
        origin: impl Into<Option<Origin>>,
        cells: impl IntoIterator<Item = N>,
    ) -> Self {
        self.with(name, origin.into(), Cells::Number(cells.into_iter().map(Into::into).collect()))
    }

    /// # Panics
    /// If the column is longer or shorter than the others.
    fn with(mut self, name: &str, origin: Option<Origin>, cells: Cells) -> Self {
        assert!(self.columns.is_empty() || self.rows() == cells.len(), "column {name} is uneven");
        self.columns.push(Column { name: name.to_owned(), origin, cells });
        self
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// The column called `name`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl Cells {
    /// Number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Count(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell in `row`; nothing where there is none.
    #[must_use]
    pub fn cell(&self, row: usize) -> Cell {
        match self {
            Self::Text(cells) => cells.get(row).map_or(Cell::Nothing, |t| Cell::Text(t.clone())),
            Self::Count(cells) => {
                cells.get(row).copied().flatten().map_or(Cell::Nothing, Cell::Count)
            }
            Self::Number(cells) => {
                cells.get(row).copied().flatten().map_or(Cell::Nothing, Cell::Number)
            }
        }
    }
}
