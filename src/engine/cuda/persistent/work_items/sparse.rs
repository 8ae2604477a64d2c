//! Sparse work items, which list the products of their rows.

use std::ops::Range;

use rayon::prelude::*;

use super::builder::{RecordParts, WorkItemBuilder, distinct};
use super::dense::MIN_PARALLEL_ITEMS;
use super::layout::{Layout, StagingBuffer};
use super::{MAX_RECORD, NOT_COMPUTED, STAGING, THREADS, WorkItem};
use crate::engine::cuda::persistent::parts::{FactorParts, for_each_bit};

/// The address, in bytes, of the zero stored after the words of the staging buffer.
const ZERO: u32 = 4 * (1 + STAGING as u32);

/// A factor as the products of sparse work items read it. The entries of a part are numbered,
/// because several entries of a row can read the same entry of the factor.
struct SparseFactor<'a> {
    parts: &'a FactorParts,
    /// For each entry of a row the number of the entry of the part that it reads.
    numbers: Vec<u32>,
    /// For each number the distance of the factor's entry from the offset of the part.
    offsets: Vec<u32>,
    /// Whether no two entries of a row read the same entry of the factor.
    is_one_to_one: bool,
}

/// The entries of a factor that the rows of a work item read. A new round begins with each work
/// item.
struct UsedEntries {
    /// Number of words of bits for the entries of one part.
    words: usize,
    /// For each part a bit for each entry that is read in this round.
    bits: Vec<u64>,
    /// For each part the last round in which it was read.
    rounds: Vec<u32>,
    round: u32,
    /// Number of entries that are read in this round.
    count: usize,
}

/// The rows of a sparse work item.
struct PlannedItem {
    /// Where the rows are among the computed rows.
    rows: Range<usize>,
    /// Number of products of the row with the most products.
    longest: usize,
}

/// The entries of one factor that the rows of a work item read, in ascending order of their
/// indices.
struct StagedEntries {
    /// For each row of the work item the number of its part among the parts of the work item.
    parts: Vec<u32>,
    /// For each part of the work item, and each number of an entry, the position of the entry among
    /// those that are read.
    positions: Vec<u32>,
    /// The index in the factor of each entry that is read.
    indices: Vec<u32>,
}

impl<'a> SparseFactor<'a> {
    fn new(parts: &'a FactorParts) -> Self {
        let (offsets, numbers) = distinct(parts.entries.iter().copied());
        let is_one_to_one = offsets.len() == numbers.len();
        // If no two entries of a row read the same entry of the factor, each keeps its own number,
        // so that words of bits can be used as they are.
        if is_one_to_one {
            let (offsets, numbers) = (parts.entries.clone(), (0..numbers.len() as u32).collect());
            return Self { parts, numbers, offsets, is_one_to_one };
        }
        Self { parts, numbers, offsets, is_one_to_one }
    }

    /// `products` has a bit for each entry of a row. The entries of the part that these products
    /// read are a set, with a bit for each number of an entry. Calls `visit` with the index of a
    /// word of this set, and with some of the bits of this word. It may visit a word several times;
    /// together, the visits give all its bits.
    fn for_each_word(&self, products: &[u64], mut visit: impl FnMut(usize, u64)) {
        for (n, &word) in products.iter().enumerate() {
            if self.is_one_to_one {
                visit(n, word);
            } else {
                for_each_bit(word, |bit| {
                    let number = self.numbers[64 * n + bit] as usize;
                    visit(number / 64, 1 << (number % 64));
                });
            }
        }
    }
}

impl UsedEntries {
    fn new(factor: &SparseFactor<'_>) -> Self {
        let (words, parts) = (factor.offsets.len().div_ceil(64), factor.parts.len());
        Self { words, bits: vec![0; parts * words], rounds: vec![0; parts], round: 0, count: 0 }
    }

    /// Begins a new round, in which no entry is read yet.
    fn clear(&mut self) {
        self.round += 1;
        self.count = 0;
    }

    /// Marks the entries of `factor` that the live `products` of `row` read.
    fn mark(&mut self, factor: &SparseFactor<'_>, row: u32, products: &[u64]) {
        let part = factor.parts.part(row);
        let bits = &mut self.bits[part * self.words..][..self.words];
        if std::mem::replace(&mut self.rounds[part], self.round) != self.round {
            bits.fill(0);
        }
        let count = &mut self.count;
        factor.for_each_word(products, |n, word| {
            *count += (word & !bits[n]).count_ones() as usize;
            bits[n] |= word;
        });
    }
}

impl WorkItemBuilder<'_> {
    /// The work items of the operation, all of them sparse.
    pub(super) fn sparse(&self) -> Vec<WorkItem> {
        let (_, target) = self.target_entries(self.sparsity.products as usize);
        let steps = (target / THREADS).max(1);
        let factors: Vec<SparseFactor<'_>> = self.factors.iter().map(SparseFactor::new).collect();
        let items = self.sparse_plan(&factors, target, steps);
        let write = |item: &PlannedItem| self.sparse_item(&factors, item, steps);
        items.par_iter().with_min_len(MIN_PARALLEL_ITEMS).map(write).collect()
    }

    /// Number of words of the stream per step of a thread.
    fn step_words(&self) -> usize {
        self.table_words() + self.pairs()
    }

    /// Divides all rows into work items. `target`: the target number of products of a work item.
    /// `steps`: the target number of products of a row per thread; see [`Layout::new`].
    fn sparse_plan(
        &self,
        factors: &[SparseFactor<'_>],
        target: usize,
        steps: usize,
    ) -> Vec<PlannedItem> {
        let all = &self.sparsity.rows;
        let mut used: Vec<UsedEntries> = factors.iter().map(UsedEntries::new).collect();
        let mut items = Vec::new();
        let mut first = 0;
        while first < all.len() {
            // A work item has at most four rows per thread.
            let rest = &all[first..all.len().min(first + 4 * THREADS)];
            let (count, longest) =
                self.fitting_sparse_rows(factors, rest, target, steps, &mut used);
            items.push(PlannedItem { rows: first..first + count, longest });
            first += count;
        }
        items
    }

    /// How many of the first `rows` fit into one work item, at least one, and the number of
    /// products of the row with the most products. For the other arguments see
    /// [`Self::sparse_plan`].
    fn fitting_sparse_rows(
        &self,
        factors: &[SparseFactor<'_>],
        rows: &[u32],
        target: usize,
        steps: usize,
        used: &mut [UsedEntries],
    ) -> (usize, usize) {
        let messages = self.messages.len();
        used.iter_mut().for_each(UsedEntries::clear);
        let mut products = vec![0; self.live.words()];
        let (mut total, mut longest) = (0, 0);
        for (taken, &row) in rows.iter().enumerate() {
            let count = self.live.read_row(row, &mut products);
            for (used, factor) in used.iter_mut().zip(factors) {
                used.mark(factor, row, &products);
            }
            let message_words: usize =
                used[..messages].iter().map(|used| used.count.next_multiple_of(32)).sum();
            let finding_words: usize = used[messages..].iter().map(|used| used.count).sum();
            let staged = message_words + finding_words.next_multiple_of(32);
            let new_longest = longest.max(count);
            // The number of products, if every row had as many as the longest.
            let padded = new_longest * (taken + 1);
            let is_full = || {
                let layout = Layout::new(new_longest, taken + 1, steps);
                staged > STAGING
                    || layout.words(1, self.step_words()) + staged + 4 > MAX_RECORD
                    || padded > target.max(2 * (total + count))
                    || total + count > target
            };
            if taken > 0 && is_full() {
                return (taken, longest);
            }
            longest = new_longest;
            total += count;
        }
        (rows.len(), longest)
    }

    /// The work item of the rows of `item`, which has one record.
    fn sparse_item(
        &self,
        factors: &[SparseFactor<'_>],
        item: &PlannedItem,
        steps: usize,
    ) -> WorkItem {
        let messages = self.messages.len();
        let rows = &self.sparsity.rows[item.rows.clone()];
        let mut staging = StagingBuffer::default();
        let staged = factors.iter().enumerate().map(|(f, factor)| {
            let staged = self.staged_entries(factor, rows);
            staging.begin(f, messages);
            staging.sources.extend(staged.indices.iter().map(|&at| self.source(f, at as usize)));
            staged
        });
        let staged: Vec<StagedEntries> = staged.collect();
        staging.end(messages);
        let layout = Layout::new(item.longest, rows.len(), steps);
        let mut row_words: Vec<u32> = rows.iter().map(|&row| self.results[row as usize]).collect();
        row_words.resize(layout.slots(), NOT_COMPUTED);
        let parts = RecordParts {
            common_states: &self.common_states(rows),
            staging: Some(&staging),
            layout,
            list: None,
            row_words,
            stream: self.sparse_stream(factors, rows, &staged, &staging, layout),
        };
        let mut records = Vec::new();
        self.add_record(&mut records, parts);
        WorkItem { records, sum_time: self.sum_time(layout) }
    }

    /// The entries of `factor` that the live products of `rows` read.
    fn staged_entries(&self, factor: &SparseFactor<'_>, rows: &[u32]) -> StagedEntries {
        let (parts, part_of_rows) = distinct(rows.iter().map(|&row| factor.parts.part(row) as u32));
        let entries = factor.offsets.len();
        let words = entries.div_ceil(64);
        let mut bits = vec![0; parts.len() * words];
        let mut products = vec![0; self.live.words()];
        for (&row, &part) in rows.iter().zip(&part_of_rows) {
            self.live.read_row(row, &mut products);
            let bits = &mut bits[part as usize * words..];
            factor.for_each_word(&products, |n, word| bits[n] |= word);
        }
        // For each entry that is read: its index in the factor, and the index in `positions` at
        // which its position is stored.
        let mut read: Vec<(u32, usize)> = Vec::new();
        for (n, &part) in parts.iter().enumerate() {
            let offset = factor.parts.part_offset(part as usize);
            for (word, &entry_bits) in bits[n * words..][..words].iter().enumerate() {
                for_each_bit(entry_bits, |bit| {
                    let number = 64 * word + bit;
                    read.push((offset + factor.offsets[number], n * entries + number));
                });
            }
        }
        read.sort_unstable();
        let mut positions = vec![0; parts.len() * entries];
        read.iter().enumerate().for_each(|(position, &(_, at))| positions[at] = position as u32);
        let indices = read.into_iter().map(|(index, _)| index).collect();
        StagedEntries { parts: part_of_rows, positions, indices }
    }

    /// For each product of `rows` its table entry, if there is a table, and the addresses of its
    /// factors.
    fn sparse_stream(
        &self,
        factors: &[SparseFactor<'_>],
        rows: &[u32],
        staged: &[StagedEntries],
        staging: &StagingBuffer,
        layout: Layout,
    ) -> Vec<u32> {
        let (table_words, step_words) = (self.table_words(), self.step_words());
        // A step without a product adds zero: its table entry is zero, or, if there is no table,
        // its first address is `ZERO`.
        let no_product = if table_words == 0 { ZERO } else { 0 };
        let mut stream =
            vec![no_product; layout.passes * layout.steps * step_words * layout.threads];
        let mut entries = Vec::new();
        for (slot, &row) in rows.iter().enumerate() {
            entries.clear();
            self.live.for_each(row, |entry| entries.push(entry as u32));
            let words = layout.stream_words(slot, entries.len(), step_words);
            if let Some(bits) = self.table_bits(row, &entries) {
                words.clone().zip(bits).for_each(|(word, bits)| stream[word] = bits);
            }
            for (word, &entry) in words.zip(&entries) {
                let address = |f: usize| {
                    let (factor, staged) = (&factors[f], &staged[f]);
                    let first = staged.parts[slot] as usize * factor.offsets.len();
                    let number = factor.numbers[entry as usize] as usize;
                    4 * (1 + staging.starts[f] as u32 + staged.positions[first + number])
                };
                for n in 0..step_words - table_words {
                    stream[word + (table_words + n) * layout.threads] = self.pair_word(n, address);
                }
            }
        }
        stream
    }
}
