//! The records of an item of rows that all have the same entries.

use std::collections::{HashMap, HashSet};

use super::dense::Tile;
use super::layout::Layout;
use super::source::{Run, Source};
use super::{NOWHERE, RECORD, THREADS};

/// How the rows of an operation are shared by records and threads.
pub(super) struct Form {
    /// Entries of a run.
    width: usize,
    /// Entries that an item and that a record is to have.
    of_item: usize,
    of_record: usize,
    /// Entries that a thread takes, about.
    steps: usize,
    /// Pairs of factors, and of factors and findings.
    pairs: (usize, usize),
    by_class: bool,
    /// Whether each row has entries of the table for itself.
    has_own_entries: bool,
    /// Whether an item may have several records.
    pub(super) splits: bool,
}

impl Form {
    /// For so many rows in all.
    pub(super) fn new(source: &Source<'_>, run: &Run, rows: usize) -> Self {
        let width = run.entries.len();
        let (of_item, of_record) = source.wanted(rows * width);
        let (pairs, of_findings) = source.pairs();
        let by_class = source.classes.is_some();
        Self {
            width,
            of_item,
            of_record,
            steps: (of_record / THREADS).max(1),
            pairs: (pairs, pairs + of_findings),
            by_class,
            has_own_entries: source.has_own_entries(),
            splits: of_item > of_record || by_class,
        }
    }

    fn layout(&self, rows: usize) -> Layout {
        Layout::new(self.width, rows, self.steps)
    }

    /// Words of a record of so many rows of so many classes, with so many words for the stage.
    pub(super) fn words(&self, rows: usize, classes: usize, on_stage: usize) -> usize {
        let layout = self.layout(rows);
        let list = layout.lanes * layout.steps * self.pairs.1 + 4;
        let of_classes = if self.by_class { classes * layout.stride() } else { 0 };
        let of_step = usize::from(self.has_own_entries);
        layout.words(1 + self.pairs.1 + usize::from(self.by_class), of_step)
            + of_classes
            + list
            + on_stage
            + 4
    }

    /// Rows of an item at most, of so many that are left.
    pub(super) fn rows_of_item(&self, left: usize) -> usize {
        self.rows_for(self.of_item, left)
    }

    fn rows_for(&self, entries: usize, left: usize) -> usize {
        let most = self.layout(left);
        (entries / (THREADS * most.steps)).max(1) * most.rows()
    }

    /// How many of `rows` the next record is to have. `class`: that of a row.
    fn next(&self, rows: &[u32], class: impl Fn(u32) -> Option<u32>, on_stage: usize) -> usize {
        if !self.splits {
            return rows.len();
        }
        let at_most = self.rows_for(self.of_record, rows.len()).min(rows.len());
        let mut seen = HashSet::new();
        let classes = rows[..at_most].iter().map(|&row| {
            seen.extend(class(row));
            seen.len()
        });
        let classes: Vec<usize> = classes.collect();
        let (mut most, mut above) = (1, at_most + 1);
        while most + 1 < above {
            let middle = usize::midpoint(most, above);
            let fits = self.words(middle, classes[middle - 1], on_stage) <= RECORD;
            *(if fits { &mut most } else { &mut above }) = middle;
        }
        // As many in each of what is left, but for the first, which has the stage as well.
        if on_stage > 0 { most } else { rows.len().div_ceil(rows.len().div_ceil(most)) }
    }
}

impl Source<'_> {
    /// The records of `tile`, and their cost.
    pub(super) fn records(&self, run: &Run, form: &Form, tile: &Tile<'_>) -> (Vec<u32>, u32) {
        let fixed = self.fixed(tile.rows);
        let class = |row: u32| self.classes.as_ref().map(|classes| classes[row as usize]);
        let (mut records, mut cost) = (Vec::new(), 0);
        let mut first = 0;
        while first < tile.rows.len() {
            let stage = (first == 0).then_some(&tile.stage);
            let on_stage = stage.map_or(0, |stage| stage.words.len());
            let count = form.next(&tile.rows[first..], class, on_stage);
            let (record, of_record) = self.rows(run, form, tile, first..first + count, &fixed);
            records.extend(record);
            cost += of_record;
            first += count;
        }
        (records, cost)
    }

    /// The record of some rows of `tile`.
    fn rows(
        &self,
        run: &Run,
        form: &Form,
        tile: &Tile<'_>,
        these: std::ops::Range<usize>,
        fixed: &[u32],
    ) -> (Vec<u32>, u32) {
        let Tile { strides, stage, .. } = tile;
        let (messages, rows) = (self.factors.len(), &tile.rows[these.clone()]);
        let layout = form.layout(rows.len());
        let (pairs, all_pairs) = form.pairs;
        let pair = |n: usize, place: &dyn Fn(usize) -> usize| -> u32 {
            let (slot, end) = match n.checked_sub(pairs) {
                None => (2 * n, messages),
                Some(n) => (messages + 2 * n, strides.len()),
            };
            let of = |f: usize| if f < end { place(f) as u32 } else { 0 };
            of(slot) | of(slot + 1) << 16
        };
        let mut list = vec![0; (layout.lanes * layout.steps * all_pairs).next_multiple_of(4)];
        for i in 0..form.width {
            for n in 0..all_pairs {
                list[i * all_pairs + n] =
                    pair(n, &|f| 4 * run.numbers[f][i] as usize * strides[f].1);
            }
        }
        let mut of_slots: Vec<u32> = rows.iter().map(|&row| self.places[row as usize]).collect();
        of_slots.resize(layout.slots(), NOWHERE);
        for n in 0..all_pairs {
            let place = |row: usize| {
                pair(n, &|f| {
                    let number = tile.of_rows[f][row] as usize;
                    4 * (1 + stage.starts[f] + number * strides[f].0)
                })
            };
            of_slots.extend(these.clone().map(place));
            of_slots.resize((2 + n) * layout.slots(), 0);
        }
        let mut stream = Vec::new();
        if let (Some(table), Some(classes)) = (self.table, &self.classes) {
            let mut known = HashMap::new();
            for &row in rows {
                let first = *known.entry(classes[row as usize]).or_insert_with(|| {
                    let first = stream.len();
                    stream.extend(run.entries.iter().map(|&entry| self.value(table, row, entry)));
                    stream.resize(first + layout.stride(), 0);
                    first
                });
                of_slots.push(first as u32);
            }
            of_slots.resize((2 + all_pairs) * layout.slots(), 0);
        } else if let Some(table) = self.table {
            stream.resize(layout.passes * layout.steps * layout.threads, 0);
            for (slot, &row) in rows.iter().enumerate() {
                for (i, &entry) in run.entries.iter().enumerate() {
                    stream[layout.at(slot, i, 1)] = self.value(table, row, entry);
                }
            }
        }
        let stage = (these.start == 0).then_some(stage);
        self.record(fixed, stage, layout, Some(list), of_slots, stream)
    }
}
