//! The records of a dense work item.

use std::collections::{HashMap, HashSet};

use super::builder::{RowEntries, WorkItemBuilder};
use super::dense::Tile;
use super::layout::Layout;
use super::{MAX_RECORD, NOT_COMPUTED, THREADS};

/// How the rows of an operation are divided among work items, records and threads.
pub(super) struct DenseForm {
    /// Number of entries that a work item takes of each row.
    width: usize,
    /// Target number of entries of a work item and of a record.
    item_entries: usize,
    record_entries: usize,
    /// The approximate number of entries of a row that one thread takes.
    steps: usize,
    /// The number of pairs of messages, and the number of all pairs.
    pairs: (usize, usize),
    by_class: bool,
    /// Whether each row has its own table entries.
    has_own_entries: bool,
    /// Whether a work item may have several records.
    pub(super) splits: bool,
}

impl DenseForm {
    /// The form for an operation of which `rows` rows are computed.
    pub(super) fn new(builder: &WorkItemBuilder<'_>, entries: &RowEntries, rows: usize) -> Self {
        let width = entries.entries.len();
        let (item_entries, record_entries) = builder.target_entries(rows * width);
        let (message_pairs, finding_pairs) = builder.pairs();
        let by_class = builder.classes.is_some();
        Self {
            width,
            item_entries,
            record_entries,
            steps: (record_entries / THREADS).max(1),
            pairs: (message_pairs, message_pairs + finding_pairs),
            by_class,
            has_own_entries: builder.has_own_entries(),
            splits: item_entries > record_entries || by_class,
        }
    }

    fn layout(&self, rows: usize) -> Layout {
        Layout::new(self.width, rows, self.steps)
    }

    /// Length in words of a record with `rows` rows in `classes` classes and `staged` staged words.
    pub(super) fn words(&self, rows: usize, classes: usize, staged: usize) -> usize {
        let layout = self.layout(rows);
        let list = layout.lanes * layout.steps * self.pairs.1 + 4;
        let class_words = if self.by_class { classes * layout.class_stride() } else { 0 };
        let step_words = usize::from(self.has_own_entries);
        layout.words(1 + self.pairs.1 + usize::from(self.by_class), step_words)
            + class_words
            + list
            + staged
            + 4
    }

    /// Maximum number of rows of the next work item if `remaining` rows remain.
    pub(super) fn rows_of_item(&self, remaining: usize) -> usize {
        self.rows_for(self.item_entries, remaining)
    }

    fn rows_for(&self, entries: usize, remaining: usize) -> usize {
        let layout = self.layout(remaining);
        (entries / (THREADS * layout.steps)).max(1) * layout.rows_per_pass()
    }

    /// The number of rows that the next record takes of the remaining `rows`. `class` returns the
    /// class of a row, if rows are in classes. `staged`: the number of words that the record
    /// stages, which is zero unless the record is the first of its work item.
    fn rows_of_record(
        &self,
        rows: &[u32],
        class: impl Fn(u32) -> Option<u32>,
        staged: usize,
    ) -> usize {
        if !self.splits {
            return rows.len();
        }
        let limit = self.rows_for(self.record_entries, rows.len()).min(rows.len());
        let mut seen = HashSet::new();
        // The number of classes of the first rows.
        let classes = rows[..limit].iter().map(|&row| {
            seen.extend(class(row));
            seen.len()
        });
        let classes: Vec<usize> = classes.collect();
        let (mut fitting, mut too_many) = (1, limit + 1);
        while fitting + 1 < too_many {
            let middle = usize::midpoint(fitting, too_many);
            let fits = self.words(middle, classes[middle - 1], staged) <= MAX_RECORD;
            *(if fits { &mut fitting } else { &mut too_many }) = middle;
        }
        // The first record also has the sources. The others share the remaining rows evenly.
        if staged > 0 { fitting } else { rows.len().div_ceil(rows.len().div_ceil(fitting)) }
    }
}

impl WorkItemBuilder<'_> {
    /// The records of `tile`, and the estimated time of its sums in nanoseconds.
    pub(super) fn records(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        tile: &Tile<'_>,
    ) -> (Vec<u32>, u32) {
        let common_states = self.common_states(tile.rows);
        let class = |row: u32| self.classes.as_ref().map(|classes| classes[row as usize]);
        let (mut records, mut sum_time) = (Vec::new(), 0);
        let mut first = 0;
        while first < tile.rows.len() {
            let staging = (first == 0).then_some(&tile.staging);
            let staged = staging.map_or(0, |staging| staging.sources.len());
            let count = form.rows_of_record(&tile.rows[first..], class, staged);
            let range = first..first + count;
            let (record, time) = self.dense_record(entries, form, tile, range, &common_states);
            records.extend(record);
            sum_time += time;
            first += count;
        }
        (records, sum_time)
    }

    /// The record of the rows `range` of `tile`.
    fn dense_record(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        tile: &Tile<'_>,
        range: std::ops::Range<usize>,
        common_states: &[u32],
    ) -> (Vec<u32>, u32) {
        let Tile { strides, staging, .. } = tile;
        let rows = &tile.rows[range.clone()];
        let layout = form.layout(rows.len());
        let all_pairs = form.pairs.1;
        // Addresses of entries relative to the addresses of rows, in bytes.
        let mut list = vec![0; (layout.lanes * layout.steps * all_pairs).next_multiple_of(4)];
        for i in 0..form.width {
            for n in 0..all_pairs {
                list[i * all_pairs + n] = self
                    .pair_word(n, |f| (4 * entries.numbers[f][i] as usize * strides[f].1) as u32);
            }
        }
        let mut row_words: Vec<u32> = rows.iter().map(|&row| self.results[row as usize]).collect();
        row_words.resize(layout.slots(), NOT_COMPUTED);
        for n in 0..all_pairs {
            let address = |row: usize| {
                self.pair_word(n, |f| {
                    let number = tile.row_numbers[f][row] as usize;
                    (4 * (1 + staging.starts[f] + number * strides[f].0)) as u32
                })
            };
            row_words.extend(range.clone().map(address));
            row_words.resize((2 + n) * layout.slots(), 0);
        }
        let (stream, class_starts) = self.dense_stream(entries, layout, rows);
        if let Some(class_starts) = class_starts {
            row_words.extend(class_starts);
            row_words.resize((2 + all_pairs) * layout.slots(), 0);
        }
        let staging = (range.start == 0).then_some(staging);
        self.record(common_states, staging, layout, Some(list), row_words, stream)
    }

    /// The stream of `rows`, and, if rows share table entries by class, for each row the word of the
    /// stream at which its entries begin.
    fn dense_stream(
        &self,
        entries: &RowEntries,
        layout: Layout,
        rows: &[u32],
    ) -> (Vec<u32>, Option<Vec<u32>>) {
        let Some(table) = self.table else { return (Vec::new(), None) };
        let mut stream = Vec::new();
        let Some(classes) = &self.classes else {
            stream.resize(layout.passes * layout.steps * layout.threads, 0);
            for (slot, &row) in rows.iter().enumerate() {
                for (i, &entry) in entries.entries.iter().enumerate() {
                    stream[layout.stream_word(slot, i, 1)] = self.table_bits(table, row, entry);
                }
            }
            return (stream, None);
        };
        let mut known = HashMap::new();
        let starts = rows.iter().map(|&row| {
            *known.entry(classes[row as usize]).or_insert_with(|| {
                let start = stream.len();
                stream.extend(entries.entries.iter().map(|&e| self.table_bits(table, row, e)));
                stream.resize(start + layout.class_stride(), 0);
                start as u32
            })
        });
        let starts = starts.collect();
        (stream, Some(starts))
    }
}
