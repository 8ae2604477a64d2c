//! The records of a dense work item.

use std::ops::Range;

use super::builder::{RecordParts, RowEntries, WorkItemBuilder, distinct};
use super::dense::DenseItem;
use super::layout::{Layout, Numbering};
use super::{MAX_RECORD, NOT_COMPUTED, THREADS, WorkItem};

/// How the rows of an operation are divided among dense work items, their records, and threads.
pub(super) struct DenseForm {
    /// Number of entries of a row that are summed.
    width: usize,
    /// Target number of entries of a work item.
    item_entries: usize,
    /// Target number of entries of a record.
    record_entries: usize,
    /// Target for the number of entries of a row that one thread sums; see [`Layout::new`].
    steps: usize,
    /// Number of pairs into which the factors are divided; one word holds both addresses of a pair.
    pairs: usize,
    /// Whether the rows of a class share their table entries.
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
        let by_class = builder.by_class;
        Self {
            width,
            item_entries,
            record_entries,
            steps: (record_entries / THREADS).max(1),
            pairs: builder.pairs(),
            by_class,
            has_own_entries: builder.has_own_entries(),
            splits: item_entries > record_entries || by_class,
        }
    }

    /// The layout of a record with `rows` rows.
    fn layout(&self, rows: usize) -> Layout {
        Layout::new(self.width, rows, self.steps)
    }

    /// An upper bound on the length in words of a record with `rows` rows in `classes` classes and
    /// with `staged` sources.
    pub(super) fn words(&self, rows: usize, classes: usize, staged: usize) -> usize {
        let layout = self.layout(rows);
        let list = layout.lanes * layout.steps * self.pairs;
        let class_words = if self.by_class { classes * layout.class_stride() } else { 0 };
        let step_words = usize::from(self.has_own_entries);
        // The list of entry addresses and the stream of table entries are padded to multiples of
        // four words.
        let padding = 4 + 4;
        layout.words(1 + self.pairs + usize::from(self.by_class), step_words)
            + class_words
            + list
            + staged
            + padding
    }

    /// Maximum number of rows of the next work item if `remaining` rows remain.
    pub(super) fn rows_of_item(&self, remaining: usize) -> usize {
        self.rows_in_passes(self.item_entries, remaining)
    }

    /// Converts a target number of entries to a number of rows that fill whole passes (see
    /// [`Layout`]). The number of passes is `entries` divided by the number of entries that
    /// [`THREADS`] threads sum in one pass, rounded down, but at least one. The layout is that of a
    /// record with `remaining` rows.
    fn rows_in_passes(&self, entries: usize, remaining: usize) -> usize {
        let layout = self.layout(remaining);
        (entries / (THREADS * layout.steps)).max(1) * layout.rows_per_pass()
    }

    /// The number of rows of each record of the work item of `rows`. `staged`: the number of words
    /// that the work item stages, each of which has a source in the first record. If rows are in
    /// classes, `class` returns the class of a row, and `classes` numbers the classes.
    pub(super) fn rows_of_records(
        &self,
        rows: &[u32],
        staged: usize,
        class: impl Fn(u32) -> Option<u32>,
        classes: &mut Numbering,
    ) -> Vec<usize> {
        let mut counts = Vec::new();
        let (mut rest, mut staged) = (rows, staged);
        while !rest.is_empty() {
            let count = self.rows_of_record(rest, &class, classes, staged);
            counts.push(count);
            (rest, staged) = (&rest[count..], 0);
        }
        counts
    }

    /// Number of rows of the next record, which holds the first of the remaining `rows`. `staged`:
    /// the number of sources if the record is the first of its work item; otherwise 0. For `class`
    /// and `classes` see [`Self::rows_of_records`].
    fn rows_of_record(
        &self,
        rows: &[u32],
        class: impl Fn(u32) -> Option<u32>,
        classes: &mut Numbering,
        staged: usize,
    ) -> usize {
        if !self.splits {
            return rows.len();
        }
        let limit = self.rows_in_passes(self.record_entries, rows.len()).min(rows.len());
        // The number of classes of the first row, of the first two rows, and so on.
        classes.clear();
        let counts = rows[..limit].iter().map(|&row| {
            if let Some(class) = class(row) {
                classes.number(class as usize);
            }
            classes.count
        });
        let counts: Vec<usize> = counts.collect();
        let fits = |rows: usize| self.words(rows, counts[rows - 1], staged) <= MAX_RECORD;
        let fitting = bisect(limit, fits);
        if staged > 0 {
            // The first record also has the sources, so it may have space for fewer rows.
            fitting
        } else {
            // The remaining rows are divided about equally among the remaining records.
            let records = rows.len().div_ceil(fitting);
            rows.len().div_ceil(records)
        }
    }
}

/// The largest number from 1 to `limit` that `fits`, found by bisection. It is assumed that 1 fits,
/// and that a number fits if a larger number does.
fn bisect(limit: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, mut too_many) = (1, limit + 1);
    while fitting + 1 < too_many {
        let middle = usize::midpoint(fitting, too_many);
        if fits(middle) {
            fitting = middle;
        } else {
            too_many = middle;
        }
    }
    fitting
}

impl WorkItemBuilder<'_> {
    /// Writes the records of `item`. `counts`: the number of rows of each record.
    pub(super) fn write_records(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        item: &DenseItem<'_>,
        counts: &[usize],
    ) -> WorkItem {
        let common_states = self.common_states(item.rows);
        let mut written = WorkItem { records: vec![], sum_time: 0 };
        let mut first = 0;
        for &count in counts {
            let parts = self.dense_record(entries, form, item, first..first + count);
            let parts = RecordParts { common_states: &common_states, ..parts };
            self.add_record(&mut written.records, parts);
            written.sum_time += self.sum_time(form.layout(count));
            first += count;
        }
        written
    }

    /// The record of the rows `range` of `item`, without its common states.
    fn dense_record<'a>(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        item: &'a DenseItem<'_>,
        range: Range<usize>,
    ) -> RecordParts<'a> {
        let rows = &item.rows[range.clone()];
        let layout = form.layout(rows.len());
        let (stream, class_starts) = self.dense_stream(entries, layout, rows);
        let mut row_words: Vec<u32> = rows.iter().map(|&row| self.results[row as usize]).collect();
        row_words.resize(layout.slots(), NOT_COMPUTED);
        for n in 0..form.pairs {
            row_words.extend(range.clone().map(|row| self.row_address(item, n, row)));
            row_words.resize((2 + n) * layout.slots(), 0);
        }
        if let Some(class_starts) = class_starts {
            row_words.extend(class_starts);
            row_words.resize((2 + form.pairs) * layout.slots(), 0);
        }
        RecordParts {
            common_states: &[],
            staging: (range.start == 0).then_some(&item.staging),
            layout,
            list: Some(self.entry_addresses(entries, form, item, layout)),
            row_words,
            stream,
        }
    }

    /// For each factor of pair `n`, the address in the staging buffer of the part that row number
    /// `row` of `item` reads. Both addresses are in one word, as byte offsets; the buffer's first
    /// word is the constant 1.
    fn row_address(&self, item: &DenseItem<'_>, n: usize, row: usize) -> u32 {
        self.pair_word(n, |f| {
            let part = item.row_parts[f][row] as usize;
            (4 * (1 + item.staging.starts[f] + part * item.strides[f].0)) as u32
        })
    }

    /// For each entry of a row, and each pair, the addresses of the entry relative to the addresses
    /// of the row.
    fn entry_addresses(
        &self,
        entries: &RowEntries,
        form: &DenseForm,
        item: &DenseItem<'_>,
        layout: Layout,
    ) -> Vec<u32> {
        let words = layout.lanes * layout.steps * form.pairs;
        let mut list = vec![0; words.next_multiple_of(4)];
        for i in 0..form.width {
            for n in 0..form.pairs {
                let address =
                    |f: usize| (4 * entries.positions[f][i] as usize * item.strides[f].1) as u32;
                list[i * form.pairs + n] = self.pair_word(n, address);
            }
        }
        list
    }

    /// The stream of `rows`: their table entries. If rows share table entries by class, also
    /// returns for each row the index in the stream of the row's first table entry.
    fn dense_stream(
        &self,
        entries: &RowEntries,
        layout: Layout,
        rows: &[u32],
    ) -> (Vec<u32>, Option<Vec<u32>>) {
        let Some((parts, _)) = self.table else { return (vec![], None) };
        let bits_of = |row: u32| self.table_bits(row, &entries.entries).into_iter().flatten();
        if !self.by_class {
            let mut stream = vec![0; layout.passes * layout.steps * layout.threads];
            for (slot, &row) in rows.iter().enumerate() {
                let words = layout.stream_words(slot, entries.entries.len(), 1);
                words.zip(bits_of(row)).for_each(|(word, bits)| stream[word] = bits);
            }
            return (stream, None);
        }
        let (classes, class_of_rows) = distinct(rows.iter().map(|&row| parts.part(row) as u32));
        let mut stream = Vec::with_capacity(classes.len() * layout.class_stride());
        let mut known: Vec<Option<u32>> = vec![None; classes.len()];
        let starts = rows.iter().zip(class_of_rows).map(|(&row, class)| {
            *known[class as usize].get_or_insert_with(|| {
                let start = stream.len();
                stream.extend(bits_of(row));
                stream.resize(start + layout.class_stride(), 0);
                start as u32
            })
        });
        let starts = starts.collect();
        (stream, Some(starts))
    }
}
