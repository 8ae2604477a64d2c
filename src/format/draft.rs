//! What every reader of networks does with what it has read.

use crate::format::source::Source;
use crate::format::{FormatError, Warning};
use crate::network::{
    Cpt, Network, NetworkError, ROUNDING_TOLERANCE, ROW_TOLERANCE, RowError, Variable,
    normalise_row,
};

/// The most entries that the tables of one file may have together, however long it is.
const MAX_ENTRIES: usize = 1 << 27;

/// The most that a file may ask for without writing them out: a default row and a noisy-OR stand for
/// any number of rows, so a short file could ask for a table without bounds.
const MAX_UNWRITTEN_ENTRIES: usize = 1 << 22;

/// The most entries that the tables of `source` may have together. What a file writes out it may
/// have, and an entry is written in no less than two bytes.
pub(super) fn max_entries(source: Source<'_>) -> usize {
    (source.text.len() / 2).clamp(MAX_UNWRITTEN_ENTRIES, MAX_ENTRIES)
}

/// Counts the entries of a file's tables, of which the one at byte `at` is that of `child`, which has
/// so many `states`, given parents with `cards` states. Gives its number of rows; nothing has to be
/// allocated before.
pub(super) fn count_entries(
    source: Source<'_>,
    counted: &mut usize,
    (child, at): (&str, usize),
    cards: &[usize],
    states: usize,
) -> Result<usize, FormatError> {
    let rows = cards.iter().try_fold(1_usize, |rows, &card| rows.checked_mul(card));
    let entries = rows.and_then(|rows| rows.checked_mul(states));
    let total = entries.and_then(|entries| entries.checked_add(*counted));
    let limit = max_entries(source);
    match (rows, total) {
        (Some(rows), Some(total)) if total <= limit => {
            *counted = total;
            Ok(rows)
        }
        _ => Err(source.error(
            at,
            format!(
                "with the table of '{child}' given {} parents, the tables of this file have more \
                 than {limit} entries, which is refused",
                cards.len()
            ),
        )),
    }
}

/// The most states that the nodes of one file may have together without writing them out, by number
/// or inheritance.
const MAX_UNWRITTEN_STATES: usize = 1 << 18;

/// Counts the states of a file's nodes, of which the one at byte `at` has `more`.
pub(super) fn count_states(
    source: Source<'_>,
    states: &mut usize,
    more: usize,
    at: usize,
) -> Result<(), FormatError> {
    *states = states.saturating_add(more);
    let limit = (source.text.len() / 2).max(MAX_UNWRITTEN_STATES);
    if *states > limit {
        let message = format!("with these the file has more than {limit} states, which is refused");
        return Err(source.error(at, message));
    }
    Ok(())
}

/// Normalises the rows of a file one by one, and remembers how far off they were.
#[derive(Debug, Default)]
pub(super) struct RowAudit {
    rows: usize,
    off: usize,
    worst: f64,
    worst_at: usize,
    /// Where the first of those that were off stand.
    off_at: Vec<usize>,
}

impl RowAudit {
    /// Normalises `row`, which stands at byte `at` of the file.
    pub fn normalise(&mut self, row: &mut [f64], at: usize) -> Result<(), RowError> {
        let deviation = normalise_row(row)?;
        self.note(deviation, at);
        Ok(())
    }

    fn note(&mut self, deviation: f64, at: usize) {
        self.rows += 1;
        if deviation > ROUNDING_TOLERANCE {
            const LISTED: usize = 6;
            self.off += 1;
            // Rows of one list stand together.
            if self.off_at.len() < LISTED && self.off_at.last() != Some(&at) {
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
        self.normalise(row, at)
    }

    /// One warning for the network, if a row was off by more than rounding.
    pub fn warning(&self, source: Source<'_>) -> Option<Warning> {
        let mut lines: Vec<_> = self.off_at.iter().map(|&at| source.line(at)).collect();
        lines.dedup();
        (self.off > 0).then(|| Warning::RowsNormalised {
            file: source.file.to_owned(),
            off: self.off,
            rows: self.rows,
            worst: self.worst,
            line: source.line(self.worst_at),
            lines,
        })
    }
}

/// Makes a network of what was read. `place` tells where the table of a variable stands, or the
/// variable itself if it has no table.
pub(super) fn network(
    source: Source<'_>,
    name: &str,
    variables: Vec<Variable>,
    cpts: Vec<Cpt>,
    place: impl Fn(&str) -> usize,
) -> Result<Network, FormatError> {
    Network::new(name, variables, cpts).map_err(|error| {
        let about = match &error {
            NetworkError::DuplicateVariable(variable)
            | NetworkError::NoStates(variable)
            | NetworkError::DuplicateState { variable, .. }
            | NetworkError::TableCount { variable, .. }
            | NetworkError::RepeatedParent { child: variable, .. }
            | NetworkError::TableSize { variable, .. }
            | NetworkError::Row { variable, .. } => Some(variable),
            NetworkError::Cycle(variables) => variables.first(),
            NetworkError::RepeatedInFactor { .. }
            | NetworkError::FactorSize { .. }
            | NetworkError::FactorValue { .. } => None,
        };
        source.error(about.map_or(0, |variable| place(variable)), error.to_string())
    })
}
