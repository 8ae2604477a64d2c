//! The result of an experiment: tables and figures, from which all files are made.

use serde::{Deserialize, Serialize};

use super::{Figure, Provenance, Table};

/// Version of the records that this program writes and reads.
pub(super) const FORMAT: u32 = 1;

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the file format.
    pub format: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// Title of the experiment.
    pub title: String,
    /// When, by which program and on which machine the experiment ran.
    pub provenance: Provenance,
    /// Where the recorded numbers come from, such as `recorded on NVIDIA H200 on 2026-11-21`. Empty
    /// if no numbers are from a recording.
    pub recorded: Vec<String>,
    /// The smallest and the largest number of propagations that a median time was taken from.
    /// `None` if the record holds no times, or was written by a version without this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagations: Option<[usize; 2]>,
    /// Settings of the experiment, as name and value.
    pub settings: Vec<(String, String)>,
    /// Remarks on the result, each in a few sentences.
    pub notes: Vec<String>,
    /// The numbers.
    pub tables: Vec<Table>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// Where numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Counted, not measured: the same on every machine.
    Exact,
    /// Measured when the experiment ran, on the machine where it ran.
    Live,
    /// Measured earlier on another machine; see [`Record::recorded`].
    Recorded,
    /// Computed by a model.
    Predicted,
    /// Printed in the paper.
    Paper,
}

impl Origin {
    /// The origin in one word.
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

impl Record {
    /// Reads a record from JSON.
    ///
    /// # Errors
    /// A message if the text is not a record or has another version.
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

    /// Whether this program knows the version of the record.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.format == FORMAT
    }

    /// Remembers that a time in the record is the median of `count` propagations.
    pub(super) fn count_propagations(&mut self, count: usize) {
        let [min, max] = self.propagations.unwrap_or([count; 2]);
        self.propagations = Some([min.min(count), max.max(count)]);
    }

    /// Adds the credit of a recording that numbers come from, unless it is known.
    pub(super) fn add_recorded(&mut self, credit: &str) {
        if !self.recorded.iter().any(|known| known == credit) {
            self.recorded.push(credit.to_owned());
        }
    }

    /// Adds a remark on the result, unless there is an equal one.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The names and contents of the files of the record: JSON, which [`read`](Self::read) reads
    /// again, an SVG if there are figures, a CSV for each table, and a CSV that says how the record
    /// was made. All names begin with `stem`.
    #[must_use]
    pub fn files(&self, stem: &str) -> Vec<(String, String)> {
        let json = serde_json::to_string_pretty(self).expect("a record is JSON");
        let mut files = vec![(format!("{stem}.json"), json + "\n")];
        if !self.figures.is_empty() {
            files.push((format!("{stem}.svg"), self.svg()));
        }
        for (index, table) in self.tables.iter().enumerate() {
            let suffix = if index == 0 { String::new() } else { format!("-{}", table.name) };
            files.push((format!("{stem}{suffix}.csv"), table.csv()));
        }
        files.push((format!("{stem}-about.csv"), self.about().csv()));
        files
    }

    /// Whether to name the machine that ran the experiment: something was timed on it, or the
    /// record uses no recording.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let panels = self.figures.iter().flat_map(|figure| &figure.panels);
        let series = panels.flat_map(|panel| &panel.series).map(|series| Some(series.origin));
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        let mut origins = series.chain(columns.map(|column| column.origin));
        self.recorded.is_empty() || origins.any(|origin| origin == Some(Origin::Live))
    }

    /// The table with this name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}
