//! Sparse work items, which list the products of their rows.

use super::builder::{RecordParts, WorkItemBuilder};
use super::layout::{Layout, Numbering, StagingBuffer, sort_and_renumber, upper_bound};
use super::{MAX_RECORD, NOT_COMPUTED, STAGING, THREADS, WorkItem};

/// The address, in bytes, of the zero stored after the words of the staging buffer.
const ZERO: u32 = 4 * (1 + STAGING as u32);

/// The products of one row.
struct RowProducts {
    /// The entry of each product.
    entries: Vec<u32>,
    /// For each factor and product: the position of the factor's entry that the product reads,
    /// among the distinct entries of the factor that the work item reads.
    numbers: Vec<Vec<u32>>,
}

/// The rows that were collected for a work item.
struct CollectedRows {
    rows: Vec<RowProducts>,
    /// For each factor the distinct entries that these rows read, in the order in which they are
    /// first read.
    distinct: Vec<Vec<u32>>,
    /// Number of products of the row with the most products.
    longest: usize,
}

impl WorkItemBuilder<'_> {
    /// The work items of the operation, all of them sparse.
    pub(super) fn sparse(&self) -> Vec<WorkItem> {
        let all = &self.sparsity.rows;
        let (_, target) = self.target_entries(self.sparsity.products as usize);
        let steps = (target / THREADS).max(1);
        let sizes = self.operation.factors.iter().map(|(_, scope)| scope.entries());
        let finding_sizes = self
            .findings
            .iter()
            .map(|(_, offsets)| upper_bound(&offsets.rows) + upper_bound(&offsets.entries));
        let mut numbers: Vec<Numbering> = sizes.chain(finding_sizes).map(Numbering::new).collect();
        let mut items = Vec::new();
        let mut first = 0;
        while first < all.len() {
            let rest = &all[first..all.len().min(first + 4 * THREADS)];
            let collected = self.collect_products(rest, target, steps, &mut numbers);
            let rows = &rest[..collected.rows.len()];
            first += rows.len();
            items.push(self.sparse_item(rows, collected, steps));
        }
        items
    }

    /// Number of words of the stream per step of a thread.
    fn step_words(&self) -> usize {
        self.table_words() + self.pairs()
    }

    /// Collects the products of as many of the first `rows` as fit into one work item, but of at
    /// least one row. `target`: the target number of products of a work item. `steps`: the
    /// approximate number of products of a row per thread. `numbers`: for each factor a numbering
    /// of entries.
    fn collect_products(
        &self,
        rows: &[u32],
        target: usize,
        steps: usize,
        numbers: &mut [Numbering],
    ) -> CollectedRows {
        let messages = self.messages.len();
        numbers.iter_mut().for_each(Numbering::clear);
        let distinct = vec![vec![]; numbers.len()];
        let mut collected = CollectedRows { rows: Vec::new(), distinct, longest: 0 };
        let mut total = 0;
        for &row in rows {
            let row = row as usize;
            let CollectedRows { rows, distinct, longest } = &mut collected;
            let before: Vec<usize> = distinct.iter().map(Vec::len).collect();
            let mut products =
                RowProducts { entries: vec![], numbers: vec![vec![]; numbers.len()] };
            self.for_each_product(row, |entry| {
                products.entries.push(entry as u32);
                for (f, offsets) in self.offsets().enumerate() {
                    let index = offsets.index(row, entry);
                    let (number, is_new) = numbers[f].number(index);
                    if is_new {
                        distinct[f].push(index as u32);
                    }
                    products.numbers[f].push(number as u32);
                }
            });
            let count = products.entries.len();
            let message_words: usize =
                distinct[..messages].iter().map(|d| d.len().next_multiple_of(32)).sum();
            let finding_words: usize = distinct[messages..].iter().map(Vec::len).sum();
            let staged = message_words + finding_words.next_multiple_of(32);
            let new_longest = (*longest).max(count);
            // The number of products, if every row had as many as the longest.
            let padded = new_longest * (rows.len() + 1);
            let layout = Layout::new(new_longest, rows.len() + 1, steps);
            let is_full = staged > STAGING
                || layout.words(1, self.step_words()) + staged + 4 > MAX_RECORD
                || padded > target.max(2 * (total + count))
                || total + count > target;
            if !rows.is_empty() && is_full {
                for (distinct, before) in distinct.iter_mut().zip(before) {
                    distinct.truncate(before);
                }
                break;
            }
            *longest = new_longest;
            total += count;
            rows.push(products);
        }
        collected
    }

    /// The work item of the collected `rows`, which has one record.
    fn sparse_item(&self, rows: &[u32], collected: CollectedRows, steps: usize) -> WorkItem {
        let messages = self.messages.len();
        let CollectedRows { rows: mut products, mut distinct, longest } = collected;
        for (f, distinct) in distinct.iter_mut().enumerate() {
            let new_positions = sort_and_renumber(distinct);
            for row in &mut products {
                row.numbers[f].iter_mut().for_each(|n| *n = new_positions[*n as usize]);
            }
        }
        let mut staging = StagingBuffer::default();
        for (f, distinct) in distinct.iter().enumerate() {
            staging.begin(f, messages);
            for &index in distinct {
                staging.push(self.source(f, index as usize));
            }
        }
        staging.end(messages);
        let layout = Layout::new(longest, rows.len(), steps);
        let mut row_words: Vec<u32> = rows.iter().map(|&row| self.results[row as usize]).collect();
        row_words.resize(layout.slots(), NOT_COMPUTED);
        let stream = self.sparse_stream(rows, &products, &staging, layout);
        WorkItem {
            records: self.record(RecordParts {
                common_states: &self.common_states(rows),
                staging: Some(&staging),
                layout,
                list: None,
                row_words,
                stream,
            }),
            sum_time: self.sum_time(layout),
        }
    }

    /// For each product of `rows` its table entry, if there is a table, and the addresses of its
    /// factors.
    fn sparse_stream(
        &self,
        rows: &[u32],
        products: &[RowProducts],
        staging: &StagingBuffer,
        layout: Layout,
    ) -> Vec<u32> {
        let (table_words, step_words) = (self.table_words(), self.step_words());
        // A step without a product adds zero: its table entry is zero, or, if there is no table,
        // its first address is `ZERO`.
        let no_product = if table_words == 0 { ZERO } else { 0 };
        let mut stream =
            vec![no_product; layout.passes * layout.steps * step_words * layout.threads];
        for (slot, (&row, products)) in rows.iter().zip(products).enumerate() {
            for (i, &entry) in products.entries.iter().enumerate() {
                let at = layout.stream_word(slot, i, step_words);
                if let Some(table) = self.table {
                    stream[at] = self.table_bits(table, row, entry);
                }
                for n in 0..step_words - table_words {
                    let address =
                        |f: usize| 4 * (1 + staging.starts[f] as u32 + products.numbers[f][i]);
                    stream[at + (table_words + n) * layout.threads] = self.pair_word(n, address);
                }
            }
        }
        stream
    }
}
