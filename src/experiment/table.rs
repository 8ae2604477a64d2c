//! Tables of a record: typed columns of the same length.

use serde::{Deserialize, Serialize};

use super::Origin;

/// A table of typed columns of the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Name of the table. It is part of the name of its file, except for the first table of a
    /// record.
    pub name: String,
    /// The columns.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Heading. If it names a unit, the unit comes last, as in `median_us`.
    pub name: String,
    /// Where the numbers come from; `None` for text, and if the origin differs from row to row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Whether the numbers are differences, which are shown with their sign.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
    /// The cells, from top to bottom.
    pub cells: Cells,
}

/// The cells of a column; `None` is an empty cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// Text.
    Text(Vec<String>),
    /// Whole numbers.
    Count(Vec<Option<u64>>),
    /// Measured or computed numbers.
    Number(Vec<Option<f64>>),
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A measured or computed number.
    Number(f64),
    /// An empty cell.
    Empty,
}

impl Table {
    /// A table without columns.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), columns: Vec::new() }
    }

    /// Adds a column of text.
    ///
    /// # Panics
    /// If the column is longer or shorter than the others.
    #[must_use]
    pub fn text<S: Into<String>>(self, name: &str, cells: impl IntoIterator<Item = S>) -> Self {
        self.with(name, None, Cells::Text(cells.into_iter().map(Into::into).collect()))
    }

    /// Adds a column of whole numbers. `origin` is `None` if it differs from row to row.
    ///
    /// # Panics
    /// If the column is longer or shorter than the others.
    #[must_use]
    pub fn count<N: Into<Option<u64>>>(
        self,
        name: &str,
        origin: impl Into<Option<Origin>>,
        cells: impl IntoIterator<Item = N>,
    ) -> Self {
        self.with(name, origin.into(), Cells::Count(cells.into_iter().map(Into::into).collect()))
    }

    /// Adds a column of numbers. `origin` is `None` if it differs from row to row.
    ///
    /// # Panics
    /// If the column is longer or shorter than the others.
    #[must_use]
    pub fn number<N: Into<Option<f64>>>(
        self,
        name: &str,
        origin: impl Into<Option<Origin>>,
        cells: impl IntoIterator<Item = N>,
    ) -> Self {
        self.with(name, origin.into(), Cells::Number(cells.into_iter().map(Into::into).collect()))
    }

    fn with(mut self, name: &str, origin: Option<Origin>, cells: Cells) -> Self {
        assert!(
            self.columns.is_empty() || self.rows() == cells.len(),
            "column {name} has {} cells, the others {}",
            cells.len(),
            self.rows()
        );
        self.columns.push(Column { name: name.to_owned(), origin, signed: false, cells });
        self
    }

    /// The table with the numbers of its last column marked as differences.
    #[must_use]
    pub fn signed(mut self) -> Self {
        self.columns.iter_mut().rev().take(1).for_each(|column| column.signed = true);
        self
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// The column with this name.
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

    /// Whether there are no cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell in `row`; empty if there is no such row.
    #[must_use]
    pub fn cell(&self, row: usize) -> Cell {
        match self {
            Self::Text(cells) => cells.get(row).map_or(Cell::Empty, |t| Cell::Text(t.clone())),
            Self::Count(cells) => {
                cells.get(row).copied().flatten().map_or(Cell::Empty, Cell::Count)
            }
            Self::Number(cells) => {
                cells.get(row).copied().flatten().map_or(Cell::Empty, Cell::Number)
            }
        }
    }
}
