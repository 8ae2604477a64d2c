//! The rows of a file's tables: put on one scale, normalised, and what was put right told of.
//!
//! One rule for all formats. A row sums to one within what rounding explains
//! ([`normalise_row`]). A table in percent, or of counts, is divided by its sums with a warning
//! ([`Scale`]). A row of zeros is let in where its parents cannot be in its states: see
//! [`impossible`](super::impossible). Anything else is refused.

use crate::format::Warning;
use crate::format::source::Source;
use crate::network::{
    ROUNDING_TOLERANCE, ROW_TOLERANCE, RowError, Scale, VariableId, normalise_row,
};

/// How many places a warning names.
const LISTED: usize = 6;

/// Normalises the rows of a file one by one, and remembers what was put right.
#[derive(Debug, Default)]
pub(super) struct RowAudit {
    rows: usize,
    off: usize,
    worst: f64,
    worst_at: usize,
    /// Where the rows that were off are.
    off_at: Vec<usize>,
    /// The children of tables in percent, and where these stand.
    percent: Vec<(String, usize)>,
    /// Those of tables of counts.
    counts: Vec<(String, usize)>,
    /// The rows of zeros, which stay so until it is known that they cannot come about.
    zeros: Vec<ZeroRow>,
}

/// A row of nothing but zeros.
#[derive(Debug)]
pub(super) struct ZeroRow {
    pub child: VariableId,
    /// Its place in the table; `None` for the row that stands in for all that are not given.
    pub row: Option<usize>,
    pub at: usize,
}

impl RowAudit {
    /// What the numbers of the table of `child` are, which stands at byte `at` and has these `rows`.
    pub fn scale<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r [f64]> + Clone,
        child: &str,
        at: usize,
    ) -> Scale {
        let scale = Scale::of(rows);
        let rescaled = match scale {
            Scale::Probabilities => return scale,
            Scale::Percent => &mut self.percent,
            Scale::Counts => &mut self.counts,
        };
        rescaled.push((child.to_owned(), at));
        scale
    }

    /// Normalises `row` of a table on `scale`, which stands at byte `at` of the file.
    pub fn normalise(&mut self, row: &mut [f64], scale: Scale, at: usize) -> Result<(), RowError> {
        match scale {
            Scale::Probabilities => {}
            Scale::Percent => row.iter_mut().for_each(|number| *number /= 100.0),
            Scale::Counts => {
                let sum: f64 = row.iter().sum();
                if sum > 0.0 {
                    row.iter_mut().for_each(|count| *count /= sum);
                }
            }
        }
        let deviation = normalise_row(row)?;
        self.note(deviation, at);
        Ok(())
    }

    fn note(&mut self, deviation: f64, at: usize) {
        self.rows += 1;
        if deviation > ROUNDING_TOLERANCE {
            self.off += 1;
            // All rows of one list have the offset of the list.
            if self.off_at.last() != Some(&at) {
                self.off_at.push(at);
            }
            if deviation > self.worst {
                (self.worst, self.worst_at) = (deviation, at);
            }
        }
    }

    /// Divides `row`, whose numbers may have any sum but zero, by that sum.
    pub fn weigh(&mut self, row: &mut [f64], at: usize) -> Result<(), RowError> {
        let sum: f64 = row.iter().sum();
        if sum.is_finite() && sum > 0.0 && row.iter().all(|weight| *weight >= 0.0) {
            let deviation = (sum - 1.0).abs();
            if deviation > ROW_TOLERANCE {
                row.iter_mut().for_each(|weight| *weight /= sum);
                self.note(deviation, at);
                normalise_row(row)?;
                return Ok(());
            }
        }
        self.normalise(row, Scale::Probabilities, at)
    }

    /// What came of reading a row, but that one of zeros is remembered as `row`.
    pub fn or_zero(&mut self, read: Result<(), RowError>, row: ZeroRow) -> Result<(), RowError> {
        match read {
            Err(RowError::AllZero) => {
                self.leave_zero(row);
                Ok(())
            }
            read => read,
        }
    }

    /// Remembers a row of zeros.
    pub fn leave_zero(&mut self, row: ZeroRow) {
        self.zeros.push(row);
    }

    /// The rows of zeros.
    pub fn zeros(&self) -> &[ZeroRow] {
        &self.zeros
    }

    /// What the user should know.
    pub fn warnings(&self, source: Source<'_>) -> Vec<Warning> {
        let file = || source.file.to_owned();
        let mut warnings = Vec::new();
        for (percent, tables) in [(true, &self.percent), (false, &self.counts)] {
            if !tables.is_empty() {
                let lines = tables.iter().take(LISTED).map(|&(_, at)| source.line(at)).collect();
                let nodes = tables.iter().map(|(child, _)| child.clone()).collect();
                warnings.push(Warning::TablesRescaled { file: file(), percent, nodes, lines });
            }
        }
        if let Some(first) = self.zeros.iter().map(|zero| zero.at).min() {
            let (rows, line) = (self.zeros.len(), source.line(first));
            warnings.push(Warning::RowsImpossible { file: file(), rows, line });
        }
        let mut off_at = self.off_at.clone();
        off_at.sort_unstable();
        off_at.dedup();
        let mut lines: Vec<_> = off_at.iter().take(LISTED).map(|&at| source.line(at)).collect();
        lines.dedup();
        if self.off > 0 {
            warnings.push(Warning::RowsNormalised {
                file: file(),
                off: self.off,
                rows: self.rows,
                worst: self.worst,
                line: source.line(self.worst_at),
                lines,
            });
        }
        warnings
    }
}
