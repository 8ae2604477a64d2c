//! Limits on what a file may demand, so that a short file cannot exhaust the memory.

use crate::format::FormatError;
use crate::format::source::SourceText;
use crate::numbers::counted;

/// Maximum number of entries in all tables of a file together: 1 GiB of `f64`.
const MAX_ENTRIES: usize = 1 << 27;

/// Number of entries that every file may have, however short: 32 MiB of `f64`. Entries need not be
/// written out: a default row or a noisy-OR represents any number of rows.
const MAX_UNWRITTEN_ENTRIES: usize = 1 << 22;

/// Number of states that every file may have, however short. States need not be written out: a file
/// may give only their number, or nodes may inherit them.
const MAX_UNWRITTEN_STATES: usize = 1 << 18;

/// Maximum number of entries in all tables of `source` together. An entry that is written out takes
/// at least two bytes, so a long file may have half as many entries as bytes, up to
/// [`MAX_ENTRIES`].
pub(super) fn max_entries(source: SourceText<'_>) -> usize {
    (source.text.len() / 2).clamp(MAX_UNWRITTEN_ENTRIES, MAX_ENTRIES)
}

/// Adds the number of entries in the table of `child` to `so_far`, the number in the file before
/// this table, and returns the number of rows of the table. Call this before allocating the table.
///
/// `offset` is the byte offset of the table, `states` the number of states of the child, and
/// `cardinalities` the number of states of each parent.
///
/// # Errors
/// If the file has more entries than [`max_entries`].
pub(super) fn count_entries(
    source: SourceText<'_>,
    so_far: &mut usize,
    (child, offset): (&str, usize),
    cardinalities: &[usize],
    states: usize,
) -> Result<usize, FormatError> {
    let rows = cardinalities.iter().try_fold(1_usize, |rows, &states| rows.checked_mul(states));
    let entries = rows.and_then(|rows| rows.checked_mul(states));
    let total = entries.and_then(|entries| entries.checked_add(*so_far));
    let limit = max_entries(source);
    match (rows, total) {
        (Some(rows), Some(total)) if total <= limit => {
            *so_far = total;
            Ok(rows)
        }
        _ => Err(source.error(
            offset,
            format!(
                "with the table of '{child}', which has {}, the file has more than the maximum of \
                 {limit} table entries",
                counted(cardinalities.len(), "parent", "parents")
            ),
        )),
    }
}

/// Adds `more`, the number of states of the node at byte `offset`, to `states`, the number of
/// states in the file so far. `net/unfold.rs` also counts each node, instance and binding as a
/// state.
///
/// # Errors
/// If the sum exceeds both [`MAX_UNWRITTEN_STATES`] and half the number of bytes in the file.
pub(super) fn count_states(
    source: SourceText<'_>,
    states: &mut usize,
    more: usize,
    offset: usize,
) -> Result<(), FormatError> {
    *states = states.saturating_add(more);
    let limit = (source.text.len() / 2).max(MAX_UNWRITTEN_STATES);
    if *states > limit {
        let message =
            format!("with this node the file has more than the maximum of {limit} states");
        return Err(source.error(offset, message));
    }
    Ok(())
}
