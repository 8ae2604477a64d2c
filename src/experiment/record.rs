//! What an experiment gives: tables and figures, from which files and pictures are made alike.

use serde::{Deserialize, Serialize};

use super::Provenance;

/// Version of the records that are written; others are refused.
pub(super) const FORMAT: u32 = 1;

/// What an experiment gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the file.
    pub format: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// Its title.
    pub title: String,
    /// When, by what and where it ran.
    pub provenance: Provenance,
    /// Where what could not be measured there was recorded, each as
    /// `recorded on NVIDIA H200 on 2026-11-21`; none where all is live.
    pub recorded: Vec<String>,
    /// The least and the greatest number of propagations that a time in it is the median of; `None`
    /// if it holds no times, or was made before these were noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagations: Option<[usize; 2]>,
    /// What was asked for, each with its name.
    pub settings: Vec<(String, String)>,
    /// What there is to say of the result, a sentence or two each.
    pub notes: Vec<String>,
    /// The numbers.
    pub tables: Vec<Table>,
    /// The pictures.
    pub figures: Vec<Figure>,
}

/// Where numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Counted, not measured: the same on every machine.
    Exact,
    /// Measured where and when the experiment ran.
    Live,
    /// Measured earlier, elsewhere; see [`Record::recorded`].
    Recorded,
    /// Computed by a model.
    Predicted,
    /// Printed in the paper.
    Paper,
}

impl Origin {
    /// The origin in a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Live => "live",
            Self::Recorded => "recorded",
            Self::Predicted => "predicted",
            Self::Paper => "paper",
        }
    }
}

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

/// Panels that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Panels that stand side by side; more of them go below.
    pub across: usize,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// Axes with series of points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// What it shows, as a network's name.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series; bars at the same x are stacked in their order if they are of one stack.
    pub series: Vec<Series>,
    /// Lines across the panel.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
}

/// How an axis is divided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By powers of ten.
    Log,
    /// By name: what stands at 0, at 1 and so on.
    Categories(Vec<String>),
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What they are, as it stands in the legend.
    pub label: String,
    /// Where they come from.
    pub origin: Origin,
    /// How they are drawn.
    pub shape: Shape,
    /// The points.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A dot for each point.
    Points,
    /// A line through dots.
    Line,
    /// A bar for each point. Stacks of different numbers stand beside one another; the bars of one
    /// stack lie on one another.
    Bars {
        /// Number of the stack.
        stack: usize,
    },
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis; the length of a bar.
    pub y: f64,
    /// What stands beside it, as a network's name; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
}

/// A line across a panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// What it marks.
    pub label: String,
    /// Where that comes from.
    pub origin: Origin,
    /// Where it stands.
    pub at: At,
}

/// Where a mark stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// An upright line.
    X(f64),
    /// A level line.
    Y(f64),
    /// A line where y is x times this.
    Slope(f64),
}

impl Record {
    /// Reads a record that was written as JSON.
    ///
    /// # Errors
    /// If it is something else, or of another version; in words.
    pub fn read(text: &str) -> Result<Self, String> {
        let record: Self =
            serde_json::from_str(text).map_err(|error| format!("not a record: {error}"))?;
        if record.is_readable() {
            Ok(record)
        } else {
            let found = record.format;
            Err(format!("a record of version {found}; expected version {FORMAT}"))
        }
    }

    /// Whether it is of the version that this program knows.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.format == FORMAT
    }

    /// Notes that a time in it is the median of so many propagations.
    pub(super) fn count(&mut self, propagations: usize) {
        let [least, most] = self.propagations.unwrap_or([propagations; 2]);
        self.propagations = Some([least.min(propagations), most.max(propagations)]);
    }

    /// Notes that some of it comes from a recording.
    pub(super) fn credit(&mut self, credit: &str) {
        if !self.recorded.iter().any(|known| known == credit) {
            self.recorded.push(credit.to_owned());
        }
    }

    /// Adds something that there is to say.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The files that the record is written to, each with its name and its content: as JSON, which
    /// can be read again, as SVG, and each table as CSV. All names begin with `stem`.
    #[must_use]
    pub fn files(&self, stem: &str) -> Vec<(String, String)> {
        let json = serde_json::to_string_pretty(self).expect("a record is JSON");
        let mut files = vec![(format!("{stem}.json"), json + "\n")];
        if !self.figures.is_empty() {
            files.push((format!("{stem}.svg"), self.svg()));
        }
        for (index, table) in self.tables.iter().enumerate() {
            let more = if index == 0 { String::new() } else { format!("-{}", table.name) };
            files.push((format!("{stem}{more}.csv"), table.csv()));
        }
        files.push((format!("{stem}-about.csv"), self.about().csv()));
        files
    }

    /// Whether times in it were measured where the experiment was run, or there are none that were
    /// recorded elsewhere.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let panels = self.figures.iter().flat_map(|figure| &figure.panels);
        let series = panels.flat_map(|panel| &panel.series).map(|series| Some(series.origin));
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        let mut origins = series.chain(columns.map(|column| column.origin));
        self.recorded.is_empty() || origins.any(|origin| origin == Some(Origin::Live))
    }

    /// The table called `name`.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
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

impl Axis {
    /// An axis divided evenly from zero.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear }
    }

    /// An axis divided by powers of ten.
    #[must_use]
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log }
    }

    /// An axis of names.
    #[must_use]
    pub fn of<S: Into<String>>(label: &str, names: impl IntoIterator<Item = S>) -> Self {
        let scale = Scale::Categories(names.into_iter().map(Into::into).collect());
        Self { label: label.to_owned(), scale }
    }
}

impl Series {
    /// A series of points without words beside them.
    #[must_use]
    pub fn new(
        label: impl Into<String>,
        origin: Origin,
        shape: Shape,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let point = |(x, y)| Point { x, y, label: String::new() };
        Self { label: label.into(), origin, shape, points: points.into_iter().map(point).collect() }
    }
}
