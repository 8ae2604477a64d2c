//! Decides which rows form each dense work item, and in which order their inputs are staged. In a
//! dense work item, the same entries of all rows are summed. [`records`](super::records) writes the
//! records.

use super::builder::{RowEntries, WorkItemBuilder};
use super::layout::{Numbering, StagingBuffer, sort_and_renumber, upper_bound};
use super::records::DenseForm;
use super::{HEADER_WORDS, MAX_RECORD, MESSAGE_ALIGNMENT, STAGING, WARP, WorkItem};
use crate::network::VariableId;

/// A dense work item, before its records are written.
///
/// The entries of a factor that a row reads are the row's *part* of the factor. Rows with the same
/// offset in the factor have the same part, which is staged once.
pub(super) struct DenseItem<'a> {
    /// The rows that are computed.
    pub(super) rows: &'a [u32],
    /// For each factor and row the number of the row's part among the distinct parts.
    pub(super) row_parts: Vec<Vec<u32>>,
    /// For each factor two distances in the staging buffer, in words: between two neighbouring
    /// parts, and between two neighbouring entries of a part.
    pub(super) strides: Vec<(usize, usize)>,
    pub(super) staging: StagingBuffer,
}

/// The distinct parts of the rows that were collected for a work item.
struct CollectedParts {
    /// For each factor the offset of each distinct part, in the order in which the parts first
    /// occur.
    offsets: Vec<Vec<u32>>,
    /// For each factor and row the position in `offsets` of the row's part.
    row_parts: Vec<Vec<u32>>,
}

impl WorkItemBuilder<'_> {
    /// Divides the rows into tiles. The rows of a tile share more parts than consecutive rows do.
    /// Returns the tile number of each row, and the rows, tile by tile, both in the same order;
    /// `None` if tiles do not pay off.
    ///
    /// Two groups of row variables are formed, each of neighbouring variables that are in the same
    /// factors. Group b ends with the last variable of the row index, and group a ends where group
    /// b begins. A tile covers consecutive combinations of states of each group, and one
    /// combination of states of all other row variables.
    pub(super) fn tiled(&self, entries: &RowEntries) -> Option<(Vec<usize>, Vec<u32>)> {
        let (target, _) = self.target_entries(self.sparsity.rows.len() * entries.entries.len());
        let membership = |variable: VariableId| -> Vec<bool> {
            let factors = self.operation.factors.iter().map(|(_, scope)| scope.contains(variable));
            factors.chain(self.operation.findings.iter().map(|v| *v == variable)).collect()
        };
        let scope = &self.operation.rows;
        let mut groups: Vec<(Vec<bool>, usize)> = Vec::new();
        for (&variable, &states) in scope.variables().iter().zip(scope.cardinalities()).rev() {
            let membership = membership(variable);
            let count = groups.len();
            match groups.last_mut() {
                Some((same, size)) if *same == membership => *size *= states,
                _ if count == 2 => break,
                _ => groups.push((membership, states)),
            }
        }
        let [(in_b, b), (in_a, a)] = groups.as_slice() else { return None };
        let (tile_a, tile_b) = self.best_tile(entries, target, (in_a, *a), (in_b, *b))?;
        // The position of the tile of a row: other variables, then group a, then group b.
        let tile_key = |row: u32| {
            let (before_b, state_b) = (row as usize / b, row as usize % b);
            (before_b / a, before_b % a / tile_a, state_b / tile_b)
        };
        let mut rows: Vec<_> = self.sparsity.rows.iter().map(|&row| (tile_key(row), row)).collect();
        rows.sort_unstable();
        let mut tile = 0;
        let mut tiles = Vec::with_capacity(rows.len());
        for n in 0..rows.len() {
            tile += usize::from(n > 0 && rows[n].0 != rows[n - 1].0);
            tiles.push(tile);
        }
        Some((tiles, rows.into_iter().map(|(_, row)| row).collect()))
    }

    /// The numbers of states of groups a and b in the cheapest tile; `None` if no tile fits, or if
    /// the rows of the cheapest tile are consecutive anyway. A group is given as a flag for each
    /// factor, which says whether the factor contains the group, and as its number of states.
    fn best_tile(
        &self,
        entries: &RowEntries,
        target: usize,
        (in_a, a): (&[bool], usize),
        (in_b, b): (&[bool], usize),
    ) -> Option<(usize, usize)> {
        let staged_words = |tile_a: usize, tile_b: usize| -> usize {
            let widths = entries.offsets.iter().map(Vec::len).enumerate();
            let words = widths.map(|(f, width)| {
                let parts = if in_a[f] { tile_a } else { 1 } * if in_b[f] { tile_b } else { 1 };
                (width * parts).next_multiple_of(32)
            });
            words.sum()
        };
        let width = entries.entries.len();
        let form = DenseForm::new(self, entries, self.sparsity.rows.len());
        let stream_words = usize::from(self.has_own_entries()) * (width + width / 8);
        let (mut best, mut lowest) = (None, f64::INFINITY);
        for tile_b in 1..=b {
            for tile_a in 1..=a {
                let (rows, staged) = (tile_a * tile_b, staged_words(tile_a, tile_b));
                let record_words =
                    HEADER_WORDS + rows * (stream_words + 4) + staged + 4 * width + 128;
                let is_too_large = rows * width > target.max(width)
                    || staged > STAGING
                    || (!form.splits && record_words > MAX_RECORD);
                if is_too_large {
                    break;
                }
                // The number of words staged per entry, with the overhead of a work item counted as
                // 400 words.
                let price = (staged + 400) as f64 / (rows * width) as f64;
                if price < lowest {
                    (best, lowest) = (Some((tile_a, tile_b)), price);
                }
            }
        }
        best.filter(|&(tile_a, tile_b)| tile_a > 1 && tile_b < b)
    }

    /// The dense work items of `rows`, which take the rows in the given order. `tiles`: the tile of
    /// each row, if the rows are in tiles. Rows of different tiles are in different work items.
    pub(super) fn dense(
        &self,
        entries: &RowEntries,
        tiles: Option<Vec<usize>>,
        rows: Vec<u32>,
    ) -> Vec<WorkItem> {
        let form = DenseForm::new(self, entries, rows.len());
        let mut numbers: Vec<Numbering> =
            self.offsets().map(|offsets| Numbering::new(upper_bound(&offsets.rows))).collect();
        let mut items = Vec::new();
        let mut first = 0;
        while first < rows.len() {
            let candidates = match &tiles {
                Some(tiles) => tiles[first..].iter().take_while(|&&t| t == tiles[first]).count(),
                None => form.rows_of_item(rows.len() - first).min(rows.len() - first),
            };
            let candidates = &rows[first..first + candidates];
            let (count, parts) = self.collect(entries, &form, candidates, &mut numbers);
            let item = self.dense_item(entries, &candidates[..count], parts);
            items.push(self.write_records(entries, &form, &item));
            first += count;
        }
        items
    }

    /// Takes as many of the first `rows` as fit into one work item, but at least one row. Returns
    /// the number of these rows, and their parts. `numbers`: for each factor a numbering of
    /// offsets.
    fn collect(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        rows: &[u32],
        numbers: &mut [Numbering],
    ) -> (usize, CollectedParts) {
        let messages = self.messages.len();
        numbers.iter_mut().for_each(Numbering::clear);
        let mut parts = CollectedParts {
            offsets: vec![vec![]; numbers.len()],
            row_parts: vec![vec![]; numbers.len()],
        };
        let mut count = 0;
        for &row in rows {
            let row = row as usize;
            let (mut message_words, mut finding_words) = (0, 0);
            let mut parts_of_row = Vec::new();
            for (f, offsets) in self.offsets().enumerate() {
                parts_of_row.push(numbers[f].number(offsets.rows[row] as usize));
                let words = numbers[f].count * entries.offsets[f].len();
                if f < messages {
                    message_words += words.next_multiple_of(32);
                } else {
                    finding_words += words;
                }
            }
            let staged = message_words + finding_words.next_multiple_of(32);
            // The first record has all sources, but needs only one row if other records can follow.
            let rows_in_first = if form.splits { 1 } else { count + 1 };
            let is_full = staged > STAGING || form.words(rows_in_first, 1, staged) > MAX_RECORD;
            if count > 0 && is_full {
                break;
            }
            for (f, offsets) in self.offsets().enumerate() {
                let (part, is_new) = parts_of_row[f];
                parts.row_parts[f].push(part as u32);
                if is_new {
                    parts.offsets[f].push(offsets.rows[row]);
                }
            }
            count += 1;
        }
        (count, parts)
    }

    /// The work item of the collected `rows`, whose parts are staged in the order of their offsets.
    fn dense_item<'a>(
        &self,
        entries: &RowEntries,
        rows: &'a [u32],
        parts: CollectedParts,
    ) -> DenseItem<'a> {
        let messages = self.messages.len();
        let CollectedParts { mut offsets, mut row_parts } = parts;
        for (offsets, row_parts) in offsets.iter_mut().zip(&mut row_parts) {
            let new_positions = sort_and_renumber(offsets);
            row_parts.iter_mut().for_each(|part| *part = new_positions[*part as usize]);
        }
        let mut strides = Vec::new();
        let mut staging = StagingBuffer::default();
        for (f, parts) in offsets.iter().enumerate() {
            staging.begin(f, messages);
            let entries = &entries.offsets[f];
            let source = |part: &u32, entry: &u32| self.source(f, (part + entry) as usize);
            let by_part: Vec<u32> =
                parts.iter().flat_map(|p| entries.iter().map(move |e| source(p, e))).collect();
            let by_entry: Vec<u32> =
                entries.iter().flat_map(|e| parts.iter().map(move |p| source(p, e))).collect();
            // Chooses the order that reads fewer sectors of the cache.
            let sources = if sectors(&by_entry) < sectors(&by_part) {
                strides.push((1, parts.len()));
                by_entry
            } else {
                strides.push((entries.len(), 1));
                by_part
            };
            sources.into_iter().for_each(|source| staging.push(source));
        }
        staging.end(messages);
        DenseItem { rows, row_parts, strides, staging }
    }
}

/// An estimate of the number of cache sectors that are read for these sources: the number of pairs
/// of neighbouring lanes of a warp that read from different sectors.
fn sectors(sources: &[u32]) -> usize {
    let in_warp = |sources: &[u32]| {
        sources
            .windows(2)
            .filter(|pair| pair[0] / MESSAGE_ALIGNMENT as u32 != pair[1] / MESSAGE_ALIGNMENT as u32)
            .count()
    };
    sources.chunks(WARP).map(in_warp).sum()
}
