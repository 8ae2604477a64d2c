//! What every reader of networks does with what it has read.

use crate::format::FormatError;
use crate::format::impossible;
use crate::format::rows::RowAudit;
use crate::format::source::Source;
use crate::network::{Cpt, Network, NetworkError, Variable};

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

/// Makes a network of what was read, whose rows `audit` went over. `place` tells where the table of a
/// variable stands, or the variable itself if it has no table.
pub(super) fn network(
    source: Source<'_>,
    name: &str,
    variables: Vec<Variable>,
    mut cpts: Vec<Cpt>,
    audit: &RowAudit,
    place: impl Fn(&str) -> usize,
) -> Result<Network, FormatError> {
    impossible::settle(source, &variables, &mut cpts, audit.zeros())?;
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
