//! What an experiment gives: tables and figures, from which files and pictures are made alike.

use serde::{Deserialize, Serialize};

use super::{Figure, Provenance, Table};

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
