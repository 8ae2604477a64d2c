//! The rows of the tables of a file: rescaled, normalised, and counted for the warnings.
//!
//! All formats follow the same rules. A row of probabilities must sum to one, within the tolerance
//! of [`normalise_row`]; a row of weights may have any sum above zero. A table in percent is
//! divided by 100 and a table of counts by the sums of its rows, with a warning ([`Scale`]). A row
//! of zeros is accepted if the parents cannot be in the states of that row together: see
//! [`zero_rows`](super::zero_rows). Any other row is refused.

use crate::format::Warning;
use crate::format::error::SHOWN_LINES;
use crate::format::source::SourceText;
use crate::network::{
    ROUNDING_TOLERANCE, ROW_TOLERANCE, RowError, Scale, VariableId, normalise_row,
};

/// Normalises the rows of a file one by one, and collects the corrections for the warnings.
#[derive(Debug, Default)]
pub(super) struct RowAudit {
    rows: usize,
    /// The number of rows whose sum was off by more than rounding.
    off: usize,
    /// The largest deviation of a sum from one.
    worst: f64,
    /// The byte offset of the row with the largest deviation.
    worst_at: usize,
    /// The byte offsets of the rows that were off. Of equal consecutive offsets, only one is
    /// stored.
    off_at: Vec<usize>,
    /// The tables in percent: the child and the byte offset of each.
    percent: Vec<(String, usize)>,
    /// The tables of counts: the child and the byte offset of each.
    counts: Vec<(String, usize)>,
    /// The rows of zeros that were recorded so far.
    zeros: Vec<ZeroRow>,
}

/// A row that consists of zeros only.
#[derive(Debug)]
pub(super) struct ZeroRow {
    pub child: VariableId,
    /// The index of the row in its table; `None` for the default row.
    pub row: Option<usize>,
    pub offset: usize,
}

impl RowAudit {
    /// Determines the scale of the table of `child` from its `rows`, and records a table in percent
    /// or of counts for the warnings. The table is at byte `offset`.
    pub fn scale<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r [f64]> + Clone,
        child: &str,
        offset: usize,
    ) -> Scale {
        let scale = Scale::of(rows);
        let rescaled = match scale {
            Scale::Probabilities => return scale,
            Scale::Percent => &mut self.percent,
            Scale::Counts => &mut self.counts,
        };
        rescaled.push((child.to_owned(), offset));
        scale
    }

    /// Normalises one `row`, at byte `offset`, of a table with this `scale`.
    ///
    /// # Errors
    /// As [`normalise_row`], after rescaling.
    pub fn normalise(
        &mut self,
        row: &mut [f64],
        scale: Scale,
        offset: usize,
    ) -> Result<(), RowError> {
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
        self.count_row(deviation, offset);
        Ok(())
    }

    /// Counts a row that was normalised, and whose sum had this `deviation` from one.
    fn count_row(&mut self, deviation: f64, offset: usize) {
        self.rows += 1;
        if deviation > ROUNDING_TOLERANCE {
            self.off += 1;
            // In some formats all rows of a table have the offset of the table. List it once.
            if self.off_at.last() != Some(&offset) {
                self.off_at.push(offset);
            }
            if deviation > self.worst {
                (self.worst, self.worst_at) = (deviation, offset);
            }
        }
    }

    /// Normalises one `row` of weights, at byte `offset`. Weights may have any sum above zero.
    ///
    /// # Errors
    /// If a weight is negative or not finite, or the sum is zero or not finite.
    pub fn weigh(&mut self, row: &mut [f64], offset: usize) -> Result<(), RowError> {
        let sum: f64 = row.iter().sum();
        if sum.is_finite() && sum > 0.0 && row.iter().all(|weight| *weight >= 0.0) {
            let deviation = (sum - 1.0).abs();
            if deviation > ROW_TOLERANCE {
                row.iter_mut().for_each(|weight| *weight /= sum);
                self.count_row(deviation, offset);
                normalise_row(row)?;
                return Ok(());
            }
        }
        self.normalise(row, Scale::Probabilities, offset)
    }

    /// Returns `result`, but replaces the error about a row of zeros with success, and records the
    /// row as `row`.
    ///
    /// # Errors
    /// Any other error of `result`.
    pub fn allow_zeros(
        &mut self,
        result: Result<(), RowError>,
        row: ZeroRow,
    ) -> Result<(), RowError> {
        match result {
            Err(RowError::AllZero) => {
                self.record_zeros(row);
                Ok(())
            }
            other => other,
        }
    }

    /// Records a row of zeros. The row keeps its zeros until [`zero_rows`](super::zero_rows)
    /// replaces it.
    pub fn record_zeros(&mut self, row: ZeroRow) {
        self.zeros.push(row);
    }

    /// The recorded rows of zeros.
    pub fn zeros(&self) -> &[ZeroRow] {
        &self.zeros
    }

    /// The warnings about all rows of the file.
    pub fn warnings(&self, source: SourceText<'_>) -> Vec<Warning> {
        let file = || source.file.to_owned();
        let mut warnings = Vec::new();
        for (percent, tables) in [(true, &self.percent), (false, &self.counts)] {
            if !tables.is_empty() {
                let offsets = tables.iter().map(|&(_, offset)| offset).collect();
                let (lines, more_lines) = first_lines(source, offsets);
                let nodes = tables.iter().map(|(child, _)| child.clone()).collect();
                warnings.push(Warning::TablesRescaled {
                    file: file(),
                    percent,
                    nodes,
                    lines,
                    more_lines,
                });
            }
        }
        if let Some(first) = self.zeros.iter().map(|zero| zero.offset).min() {
            let (rows, line) = (self.zeros.len(), source.line(first));
            warnings.push(Warning::ZeroRows { file: file(), rows, line });
        }
        if self.off > 0 {
            let (lines, more_lines) = first_lines(source, self.off_at.clone());
            warnings.push(Warning::RowsNormalised {
                file: file(),
                off: self.off,
                rows: self.rows,
                worst: self.worst,
                line: source.line(self.worst_at),
                lines,
                more_lines,
            });
        }
        warnings
    }
}

/// The first [`SHOWN_LINES`] of the lines with these byte `offsets`, each line once, and whether
/// there are more.
fn first_lines(source: SourceText<'_>, mut offsets: Vec<usize>) -> (Vec<usize>, bool) {
    offsets.sort_unstable();
    let mut lines = Vec::new();
    // The offset of the line after the last one in `lines`.
    let mut next_line = 0;
    for offset in offsets {
        if offset < next_line {
            continue;
        }
        if lines.len() == SHOWN_LINES {
            return (lines, true);
        }
        lines.push(source.line(offset));
        let rest = source.text.as_bytes().iter().skip(offset);
        next_line = offset + 1 + rest.take_while(|&&byte| byte != b'\n').count();
    }
    (lines, false)
}
