//! Sparse work items, which list the products of their rows.

use super::builder::WorkItemBuilder;
use super::layout::{Layout, Numbering, StagingBuffer, sort_and_renumber, upper_bound};
use super::{MAX_RECORD, NOT_COMPUTED, STAGING, THREADS};

/// The address, in bytes, of the word behind the staging buffer, which is zero.
const ZERO: u32 = 4 * (1 + STAGING as u32);

/// The products of one row.
struct RowProducts {
    /// The entry of each product.
    entries: Vec<u32>,
    /// For each factor and product: the position of the entry that the product reads, among the
    /// distinct entries that the work item reads of the factor.
    numbers: Vec<Vec<u32>>,
}

/// The rows of a work item while it is collected.
struct Collected {
    rows: Vec<RowProducts>,
    /// For each factor the distinct entries that these rows read.
    distinct: Vec<Vec<u32>>,
    /// Number of products of the longest row.
    longest: usize,
}

impl WorkItemBuilder<'_> {
    /// All work items of the operation, as sparse ones.
    pub(super) fn sparse(&self) -> Vec<(Vec<u32>, u32)> {
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
            items.push(self.sparse_record(rows, collected, steps));
        }
        items
    }

    /// Number of words of the stream per step of a thread.
    fn step_words(&self) -> usize {
        let (message_pairs, finding_pairs) = self.pairs();
        self.table_words() + message_pairs + finding_pairs
    }

    /// Collects the products of as many of the first `rows` as fit into one work item, but at least
    /// one row.
    fn collect_products(
        &self,
        rows: &[u32],
        target: usize,
        steps: usize,
        numbers: &mut [Numbering],
    ) -> Collected {
        let messages = self.factors.len();
        numbers.iter_mut().for_each(Numbering::clear);
        let distinct = vec![vec![]; numbers.len()];
        let mut collected = Collected { rows: Vec::new(), distinct, longest: 0 };
        let mut total = 0;
        for &row in rows {
            let row = row as usize;
            let Collected { rows, distinct, longest } = &mut collected;
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
            let padded = (*longest).max(count) * (rows.len() + 1);
            let staged = message_words + finding_words.next_multiple_of(32);
            let layout = Layout::new((*longest).max(count), rows.len() + 1, steps);
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
            *longest = (*longest).max(count);
            total += count;
            rows.push(products);
        }
        collected
    }

    /// The record of the collected `rows`, and the estimated time of its sums in nanoseconds.
    fn sparse_record(&self, rows: &[u32], collected: Collected, steps: usize) -> (Vec<u32>, u32) {
        let messages = self.factors.len();
        let Collected { rows: mut products, mut distinct, longest } = collected;
        for (f, distinct) in distinct.iter_mut().enumerate() {
            let number = sort_and_renumber(distinct);
            for row in &mut products {
                row.numbers[f].iter_mut().for_each(|n| *n = number[*n as usize]);
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
        let (table_words, step_words) = (self.table_words(), self.step_words());
        // A step without a product adds zero: its table entry is zero, or, if there is no table,
        // its address is the address of the zero behind the staging buffer.
        let no_product = if table_words == 0 { ZERO } else { 0 };
        let mut stream =
            vec![no_product; layout.passes * layout.steps * step_words * layout.threads];
        for (slot, (&row, products)) in rows.iter().zip(&products).enumerate() {
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
        let common_states = self.common_states(rows);
        self.record(&common_states, Some(&staging), layout, None, row_words, stream)
    }
}
