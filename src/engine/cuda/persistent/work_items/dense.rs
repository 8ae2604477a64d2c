//! Decides which rows form each dense work item, and in which order their inputs are staged. In a
//! dense work item, the same entries of all rows are summed. [`records`](super::records) writes the
//! records.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::builder::{RowEntries, WorkItemBuilder, distinct};
use super::layout::{Numbering, StagingBuffer};
use super::records::DenseForm;
use super::{HEADER_WORDS, MAX_RECORD, MESSAGE_ALIGNMENT, NOT_COMPUTED, STAGING, WARP, WorkItem};
use crate::engine::cuda::persistent::parts::FactorParts;
use crate::network::VariableId;

/// Minimum number of work items that are worth a task of their own on another thread. It affects
/// only speed.
pub(super) const MIN_PARALLEL_ITEMS: usize = 8;

/// Overhead of a work item in estimates of cost, as a number of words that take as long to read. If
/// it is wrong, only speed changes.
const ITEM_OVERHEAD: usize = 280;

/// As [`ITEM_OVERHEAD`], for each record of a work item.
const RECORD_OVERHEAD: usize = 120;

/// Which rows form each dense work item of an operation.
struct DensePlan<'a> {
    /// All computed rows, item after item.
    rows: Cow<'a, [u32]>,
    items: Vec<PlannedItem>,
}

/// The rows of a dense work item.
struct PlannedItem {
    /// Where the rows are among the rows of the plan.
    rows: Range<usize>,
    /// Number of rows of each record.
    records: Vec<usize>,
    /// Number of message words in the staging buffer.
    message_words: usize,
}

/// Number of words of the staging buffer, including padding.
#[derive(Clone, Copy, Default)]
struct StagedWords {
    messages: usize,
    all: usize,
}

/// The rows in tiles.
pub(super) struct Tiles {
    /// The rows, tile after tile.
    rows: Vec<u32>,
    /// The position in `rows` at which each tile ends.
    ends: Vec<usize>,
}

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

impl WorkItemBuilder<'_> {
    /// Divides the rows into tiles. The rows of a tile share more parts than consecutive rows do.
    /// `None` if tiles do not pay off.
    ///
    /// Two groups of row variables are formed, each of neighbouring variables that are in the same
    /// factors. Group b ends with the last row variable, and group a ends where group b begins. A
    /// tile covers consecutive combinations of states of each group, and one combination of states
    /// of all other row variables.
    fn tiles(&self, entries: &RowEntries) -> Option<Tiles> {
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
        let mut tiles = Tiles { rows: Vec::with_capacity(self.sparsity.rows.len()), ends: vec![] };
        for others in 0..self.results.len() / (a * b) {
            for first_a in (0..*a).step_by(tile_a) {
                for first_b in (0..*b).step_by(tile_b) {
                    for state_a in first_a..*a.min(&(first_a + tile_a)) {
                        let row = (others * a + state_a) * b;
                        let tile_row = row + first_b..row + *b.min(&(first_b + tile_b));
                        let computed = tile_row.filter(|&r| self.results[r] != NOT_COMPUTED);
                        tiles.rows.extend(computed.map(|row| row as u32));
                    }
                    tiles.ends.push(tiles.rows.len());
                }
            }
        }
        Some(tiles)
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
                // The number of words staged per entry, with the overhead of a work item of one
                // record.
                let words = staged + ITEM_OVERHEAD + RECORD_OVERHEAD;
                let price = words as f64 / (rows * width) as f64;
                if price < lowest {
                    (best, lowest) = (Some((tile_a, tile_b)), price);
                }
            }
        }
        best.filter(|&(tile_a, tile_b)| tile_a > 1 && tile_b < b)
    }

    /// The dense work items of the operation, with the rows in their order or in tiles.
    pub(super) fn dense(&self, entries: &RowEntries) -> Vec<WorkItem> {
        let form = DenseForm::new(self, entries, self.sparsity.rows.len());
        let in_order = || self.plan(entries, &form, Cow::Borrowed(&self.sparsity.rows), None);
        let tiled = || {
            let Tiles { rows, ends } = self.tiles(entries)?;
            Some(self.plan(entries, &form, Cow::Owned(rows), Some(&ends)))
        };
        let (in_order, tiled) = rayon::join(in_order, tiled);
        let plan = tiled.filter(|tiled| tiled.cost() < in_order.cost()).unwrap_or(in_order);
        let write = |item: &PlannedItem| {
            let rows = &plan.rows[item.rows.clone()];
            self.write_records(entries, &form, &self.dense_item(entries, rows), &item.records)
        };
        plan.items.par_iter().with_min_len(MIN_PARALLEL_ITEMS).map(write).collect()
    }

    /// Divides `rows` into work items, which take the rows in the given order. `tile_ends`: the
    /// position at which each tile ends, if the rows are in tiles. Rows of different tiles are in
    /// different work items.
    fn plan<'a>(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        rows: Cow<'a, [u32]>,
        tile_ends: Option<&[usize]>,
    ) -> DensePlan<'a> {
        let mut parts: Vec<Numbering> =
            self.factors.iter().map(|factor| Numbering::new(factor.len())).collect();
        let classes = if self.by_class { self.table.map(|(parts, _)| parts) } else { None };
        let mut class_numbers = Numbering::new(classes.map_or(0, FactorParts::len));
        let mut tile_ends = tile_ends.map(|ends| ends.iter().copied().peekable());
        let mut items = Vec::new();
        let mut first = 0;
        while first < rows.len() {
            let end = match &mut tile_ends {
                Some(ends) => {
                    while ends.next_if(|&end| end <= first).is_some() {}
                    ends.peek().copied().unwrap_or(rows.len())
                }
                None => rows.len().min(first + form.rows_of_item(rows.len() - first)),
            };
            let (count, staged) = self.fitting_rows(entries, form, &rows[first..end], &mut parts);
            let of_item = &rows[first..first + count];
            let class = |row: u32| Some(classes?.part(row) as u32);
            items.push(PlannedItem {
                rows: first..first + count,
                records: form.rows_of_records(of_item, staged.all, class, &mut class_numbers),
                message_words: staged.messages,
            });
            first += count;
        }
        DensePlan { rows, items }
    }

    /// How many of the first `rows` fit into one work item, at least one, and how many words they
    /// stage. `parts`: for each factor a numbering of its parts.
    fn fitting_rows(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        rows: &[u32],
        parts: &mut [Numbering],
    ) -> (usize, StagedWords) {
        let messages = self.messages.len();
        parts.iter_mut().for_each(Numbering::clear);
        let mut fitting = StagedWords::default();
        for (count, &row) in rows.iter().enumerate() {
            let (mut message_words, mut finding_words) = (0, 0);
            for (f, (factor, parts)) in self.factors.iter().zip(parts.iter_mut()).enumerate() {
                parts.number(factor.part(row));
                let words = parts.count * entries.offsets[f].len();
                if f < messages {
                    message_words += words.next_multiple_of(32);
                } else {
                    finding_words += words;
                }
            }
            let staged = message_words + finding_words.next_multiple_of(32);
            // If other records can follow, only the number of sources matters.
            let fits_as_before = count > 1 && form.splits && staged == fitting.all;
            if count > 0 && !fits_as_before {
                // The first record has all sources, but needs only one row if other records can
                // follow.
                let rows_in_first = if form.splits { 1 } else { count + 1 };
                if staged > STAGING || form.words(rows_in_first, 1, staged) > MAX_RECORD {
                    return (count, fitting);
                }
            }
            fitting = StagedWords { messages: message_words, all: staged };
        }
        (rows.len(), fitting)
    }

    /// The work item of `rows`, whose parts are staged in the order of their offsets.
    fn dense_item<'a>(&self, entries: &RowEntries, rows: &'a [u32]) -> DenseItem<'a> {
        let messages = self.messages.len();
        let (mut row_parts, mut strides) = (Vec::new(), Vec::new());
        let mut staging = StagingBuffer::default();
        for (f, factor) in self.factors.iter().enumerate() {
            let (parts, of_rows) = distinct(rows.iter().map(|&row| factor.offset(row)));
            row_parts.push(of_rows);
            staging.begin(f, messages);
            let entries = &entries.offsets[f];
            let by_part: Vec<u32> = (parts.iter())
                .flat_map(|part| entries.iter().map(move |entry| part + entry))
                .map(|at| self.source(f, at as usize))
                .collect();
            // Chooses the order that reads fewer sectors of the cache.
            let by_entry = by_entry(&by_part, entries.len());
            if by_entry.as_ref().is_some_and(|by_entry| sectors(by_entry) < sectors(&by_part)) {
                strides.push((1, parts.len()));
                staging.sources.extend(by_entry.unwrap_or_default());
            } else {
                strides.push((entries.len(), 1));
                staging.sources.extend(by_part);
            }
        }
        staging.end(messages);
        DenseItem { rows, row_parts, strides, staging }
    }
}

impl DensePlan<'_> {
    /// The estimated cost of the work items, as a multiple of the time to read one word: the
    /// message words that are read, and an overhead for each work item and each record.
    fn cost(&self) -> usize {
        let cost = |item: &PlannedItem| {
            item.message_words + ITEM_OVERHEAD + RECORD_OVERHEAD * item.records.len()
        };
        self.items.iter().map(cost).sum()
    }
}

/// Sorts sources by entry; `None` if this does not change their order. `by_part`: the sources by
/// part, `entries` for each part.
fn by_entry(by_part: &[u32], entries: usize) -> Option<Vec<u32>> {
    if entries == 1 || entries == by_part.len() {
        return None;
    }
    let of_entry = |entry| by_part[entry..].iter().step_by(entries).copied();
    Some((0..entries).flat_map(of_entry).collect())
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
