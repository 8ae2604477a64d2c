//! Decides which rows form each dense work item. In a dense work item all rows take the same
//! entries. [`records`](super::records) writes the records.

use super::builder::{RowEntries, WorkItemBuilder};
use super::layout::{Numbering, StagingBuffer, sort_and_renumber, upper_bound};
use super::records::DenseForm;
use super::{HEADER, MAX_RECORD, MESSAGE_ALIGNMENT, STAGING};
use crate::network::VariableId;

/// The rows of one work item, and its staging buffer.
///
/// Each row reads some entries of a factor: the row's part of the factor. Rows with the same offset
/// in the factor have the same part, which is staged once.
pub(super) struct Tile<'a> {
    pub(super) rows: &'a [u32],
    /// For each factor and row the number of the row's part among the distinct parts.
    pub(super) row_numbers: Vec<Vec<u32>>,
    /// For each factor two distances in the staging buffer, in words: between two parts, and
    /// between two entries of a part.
    pub(super) strides: Vec<(usize, usize)>,
    pub(super) staging: StagingBuffer,
}

/// The rows of a work item while it is collected.
struct Collected {
    /// For each factor the distinct offsets of rows, in the order in which they first occur.
    distinct: Vec<Vec<u32>>,
    /// For each factor and row the position of its offset in `distinct`.
    row_numbers: Vec<Vec<u32>>,
}

impl WorkItemBuilder<'_> {
    /// The number of each row's tile, and the rows, tile by tile; `None` if tiles do not pay off.
    ///
    /// Group b consists of the last variables of the row index, as far back as they are in the same
    /// factors. Group a consists of the variables before group b, again as far back as they are in
    /// the same factors. A tile takes consecutive states of both groups.
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
        let key = |row: u32| {
            let (rest, of_b) = (row as usize / b, row as usize % b);
            (rest / a, rest % a / tile_a, of_b / tile_b)
        };
        let mut rows: Vec<_> = self.sparsity.rows.iter().map(|&row| (key(row), row)).collect();
        rows.sort_unstable();
        let mut tile = 0;
        let mut tiles = Vec::with_capacity(rows.len());
        for n in 0..rows.len() {
            tile += usize::from(n > 0 && rows[n].0 != rows[n - 1].0);
            tiles.push(tile);
        }
        Some((tiles, rows.into_iter().map(|(_, row)| row).collect()))
    }

    /// The numbers of states of groups a and b in the cheapest tile; `None` if the rows of that
    /// tile are consecutive anyway. A group is described by the factors that contain it, and by its
    /// number of states.
    fn best_tile(
        &self,
        entries: &RowEntries,
        target: usize,
        (in_a, a): (&[bool], usize),
        (in_b, b): (&[bool], usize),
    ) -> Option<(usize, usize)> {
        let message_words = |tile_a: usize, tile_b: usize| -> usize {
            let widths = entries.offsets.iter().map(Vec::len).enumerate();
            let words = widths.map(|(f, width)| {
                let rows = if in_a[f] { tile_a } else { 1 } * if in_b[f] { tile_b } else { 1 };
                (width * rows).next_multiple_of(32)
            });
            words.sum()
        };
        let width = entries.entries.len();
        let form = DenseForm::new(self, entries, self.sparsity.rows.len());
        let stream_words = usize::from(self.has_own_entries()) * (width + width / 8);
        let (mut best, mut lowest) = (None, f64::INFINITY);
        for tile_b in 1..=b {
            for tile_a in 1..=a {
                let (rows, words) = (tile_a * tile_b, message_words(tile_a, tile_b));
                let record_words = HEADER + rows * (stream_words + 4) + words + 4 * width + 128;
                let is_too_large = rows * width > target.max(width)
                    || words > STAGING
                    || (!form.splits && record_words > MAX_RECORD);
                if is_too_large {
                    break;
                }
                // The number of message words read per entry, with the overhead of a work item
                // counted as 400 words.
                let price = (words + 400) as f64 / (rows * width) as f64;
                if price < lowest {
                    (best, lowest) = (Some((tile_a, tile_b)), price);
                }
            }
        }
        best.filter(|&(tile_a, tile_b)| tile_a > 1 && tile_b < b)
    }

    /// The work items of `rows`, in the order of `rows`. `tiles`: the tile of each row. Rows of
    /// different tiles are in different work items.
    pub(super) fn dense(
        &self,
        entries: &RowEntries,
        tiles: Option<Vec<usize>>,
        rows: Vec<u32>,
    ) -> Vec<(Vec<u32>, u32)> {
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
            let (count, collected) = self.collect(entries, &form, candidates, &mut numbers);
            let tile = self.tile(entries, &candidates[..count], collected);
            items.push(self.records(entries, &form, &tile));
            first += count;
        }
        items
    }

    /// Collects as many of the first `rows` as fit into one work item, but at least one row.
    fn collect(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        rows: &[u32],
        numbers: &mut [Numbering],
    ) -> (usize, Collected) {
        let messages = self.factors.len();
        numbers.iter_mut().for_each(Numbering::clear);
        let mut distinct: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
        let mut row_numbers: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
        let mut count = 0;
        for &row in rows {
            let row = row as usize;
            // Words of messages and of findings.
            let mut words = [0, 0];
            let mut added = Vec::new();
            for (f, offsets) in self.offsets().enumerate() {
                let (number, is_new) = numbers[f].number(offsets.rows[row] as usize);
                added.push((number, is_new));
                let factor_words = numbers[f].count * entries.offsets[f].len();
                words[usize::from(f >= messages)] +=
                    if f >= messages { factor_words } else { factor_words.next_multiple_of(32) };
            }
            let staged = words[0] + words[1].next_multiple_of(32);
            let rows_in_first = if form.splits { 1 } else { count + 1 };
            let is_full = staged > STAGING || form.words(rows_in_first, 1, staged) > MAX_RECORD;
            if count > 0 && is_full {
                break;
            }
            for (f, offsets) in self.offsets().enumerate() {
                row_numbers[f].push(added[f].0 as u32);
                if added[f].1 {
                    distinct[f].push(offsets.rows[row]);
                }
            }
            count += 1;
        }
        (count, Collected { distinct, row_numbers })
    }

    /// The tile of the collected `rows`.
    fn tile<'a>(&self, entries: &RowEntries, rows: &'a [u32], collected: Collected) -> Tile<'a> {
        let messages = self.factors.len();
        let Collected { mut distinct, mut row_numbers } = collected;
        for (distinct, row_numbers) in distinct.iter_mut().zip(&mut row_numbers) {
            let number = sort_and_renumber(distinct);
            row_numbers.iter_mut().for_each(|n| *n = number[*n as usize]);
        }
        let mut strides = Vec::new();
        let mut staging = StagingBuffer::default();
        for (f, rows) in distinct.iter().enumerate() {
            staging.begin(f, messages);
            let entries = &entries.offsets[f];
            let source = |row: &u32, entry: &u32| self.source(f, (row + entry) as usize);
            let by_row = rows.iter().flat_map(|row| entries.iter().map(move |e| source(row, e)));
            let by_row: Vec<u32> = by_row.collect();
            let by_entry = entries.iter().flat_map(|e| rows.iter().map(move |row| source(row, e)));
            let by_entry: Vec<u32> = by_entry.collect();
            // Chooses the order that reads fewer sectors of the cache.
            if sectors(&by_entry) < sectors(&by_row) {
                strides.push((1, rows.len()));
                by_entry.into_iter().for_each(|source| staging.push(source));
            } else {
                strides.push((entries.len(), 1));
                by_row.into_iter().for_each(|source| staging.push(source));
            }
        }
        staging.end(messages);
        Tile { rows, row_numbers, strides, staging }
    }
}

/// An estimate of the number of cache sectors read for these sources: the number of times that
/// neighbouring lanes of a warp read from different sectors.
fn sectors(sources: &[u32]) -> usize {
    let in_warp = |sources: &[u32]| {
        sources
            .windows(2)
            .filter(|pair| pair[0] / MESSAGE_ALIGNMENT as u32 != pair[1] / MESSAGE_ALIGNMENT as u32)
            .count()
    };
    sources.chunks(32).map(in_warp).sum()
}
