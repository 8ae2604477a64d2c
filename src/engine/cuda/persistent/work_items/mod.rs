//! Cuts operations into work items, and writes the work items as the records that the kernel reads.
//!
//! [`builder`] decides whether the work items of an operation are [`dense`] or [`sparse`], and
//! writes a record from its parts. [`layout`] divides a record among the threads of a block, and
//! [`records`] makes the parts of dense records. [`header`] describes the beginning of every
//! record. [`report`] makes the work items that send posteriors to the host. [`estimate`] predicts
//! sizes for the forecast, and latencies for the search for shortcuts.

mod builder;
mod dense;
mod estimate;
mod header;
mod layout;
mod records;
mod report;
mod sparse;

use std::ops::Range;

use rayon::prelude::*;

use self::builder::WorkItemBuilder;
pub(super) use self::estimate::{estimate_latency, estimate_size};
#[cfg(test)]
pub(super) use self::header::{
    BY_CLASS, CONTINUED, NO_STATE, NO_TABLE, P_EVIDENCE, REPORT, SPARSE,
};
pub(super) use self::header::{HEADER_WORDS, RecordHeader};
pub(super) use self::report::Report;
use crate::engine::cpu::Supports;
use crate::network::Network;
use crate::potential::Scope;
use crate::propagation::Posteriors;

use super::costs::Cost;
use super::operations::{Operation, Operations, Role};
use super::parts::{FactorParts, LiveProducts};
use super::schedule::earliest_ends;
use super::sparsity::{self, OperationSparsity};
use super::tables::PotentialTable;

// The constants from here to NO_SOURCE are shared with `kernels/persistent.cu` and
// `kernels/record.cuh`: tests compare them.

/// Threads per block.
pub(super) const THREADS: usize = 128;
/// Number of words of the staging buffer per thread.
pub(super) const STAGING_PER_THREAD: usize = 6;
/// Length of the staging buffer in words, not counting the constant 1 stored before these words and
/// the constant 0 stored after them.
pub(super) const STAGING: usize = STAGING_PER_THREAD * THREADS;
/// Maximum length of a record in words.
pub(super) const MAX_RECORD: usize = 2560;
/// A *source* is a word of a record that says what is loaded into one word of the staging buffer.
/// This many of its low bits hold an index: of an entry among those of all messages, or of a weight
/// in the evidence. For an entry of a message, the bits above hold the number of the message among
/// the factors.
pub(super) const SOURCE_BITS: u32 = 29;
/// This index in a source means that the word of the staging buffer is not loaded. All bits of the
/// index are set, so this is also the mask that selects the index in a source.
pub(super) const NO_SOURCE: u32 = (1 << SOURCE_BITS) - 1;

/// A class consists of the rows that read the same entries of the table, and can share one copy of
/// them. This is the minimum mean number of rows per class for classes to pay off. It affects only
/// speed.
const MIN_ROWS_PER_CLASS: usize = 4;

/// Each message begins at a multiple of this many words of 8 bytes: a sector of the GPU's L2 cache.
/// This affects only speed and memory; `Memory::forecast` counts 4 words of padding per message.
const MESSAGE_ALIGNMENT: usize = 4;

/// Number of lanes of a warp, which is the maximum number of threads that share a row.
const WARP: usize = 32;

/// The index of the result of a row that is not computed.
pub(super) const NOT_COMPUTED: u32 = u32::MAX;

/// Upper bound on the words of a record with a single row, not counting its sources and the words
/// of each product: a header of 12 words, up to 6 words for each of up to 32 rows, of which all but
/// one are unused, and padding.
const SINGLE_ROW_WORDS: usize = 256;

/// Whether a row fits into a work item. `entries`: the number of entries of the row. `factors`: for
/// each message and finding, the number of its entries that the row reads.
pub(super) fn row_fits(entries: usize, factors: impl Iterator<Item = usize>) -> bool {
    let (mut staged, mut count) = (0, 0);
    for entries in factors {
        staged += entries.next_multiple_of(32);
        count += 1;
    }
    // Messages and findings are paired separately, so there can be two incomplete pairs.
    let pairs = (count + 2) / 2;
    let words = entries.next_multiple_of(WARP) * (1 + pairs) + staged + SINGLE_ROW_WORDS;
    staged <= STAGING && words <= MAX_RECORD
}

/// [`Granularity::scale`] is the number of products of a propagation divided by this, limited to
/// the range from 1 to 8. Tuned on the paper's networks; it affects only speed.
const LARGE_PROPAGATION: u64 = 1 << 23;

/// The size of work items, in entries: one entry is one product of one row. All numbers are
/// targets: the actual size differs if a row is too long or the inputs do not fit. They were tuned
/// on the paper's networks, and affect only speed.
#[derive(Clone, Copy)]
pub(super) struct Granularity {
    /// The number of work items that a large operation is cut into, so that many blocks share it.
    pub shares: usize,
    /// Minimum number of entries of a work item, which takes precedence over `shares`.
    pub min_item: usize,
    /// Maximum number of entries of a record in which each row has its own table entries.
    pub max_record: usize,
    /// Maximum number of entries of a work item, divided by `max_record`.
    pub scale: usize,
}

impl Granularity {
    /// The finest granularity that is ever used.
    pub const FINEST: Self = Self { shares: 1056, min_item: 512, max_record: 1024, scale: 1 };

    /// The granularity for a propagation of `products` products. The more products, the larger the
    /// work items: with much parallel work the latency of one work item matters less, and in a
    /// larger work item more rows share the same inputs.
    pub fn of(products: u64) -> Self {
        let Self { shares, min_item: finest, max_record, .. } = Self::FINEST;
        let min_item = (products.isqrt() as usize / 2).clamp(finest, 3 * finest);
        let scale = (products / LARGE_PROPAGATION).clamp(1, 8) as usize;
        Self {
            shares: shares * 2 / scale.max(2),
            min_item,
            max_record: (2 * min_item).clamp(max_record, 2 * max_record),
            scale,
        }
    }
}

/// One work item.
pub(super) struct WorkItem {
    /// Its records, one after another; see [`split`].
    pub records: Vec<u32>,
    /// The estimated time of its sums, in nanoseconds.
    pub sum_time: u32,
}

impl WorkItem {
    /// Number of message words in the staging buffer.
    fn message_words(&self) -> u32 {
        32 * u32::from(RecordHeader::of(&self.records).message_chunks)
    }
}

/// All work items of a propagation, and where their results are stored.
pub(super) struct WorkItems {
    /// The records of each work item, one after another; see [`split`]. The work items of
    /// operations come first, in the order of the operations, and then the reports.
    pub records: Vec<Vec<u32>>,
    /// First work item of each operation and report, then the total number of work items.
    pub offsets: Vec<usize>,
    /// For each operation and report, the operations that compute its inputs.
    pub inputs: Vec<Vec<usize>>,
    /// The cost of each work item.
    pub costs: Vec<Cost>,
    /// Number of words of all messages, including unnormalised posteriors and padding.
    pub messages: usize,
    /// The reports, which send the posteriors of all variables to the host.
    pub reports: Vec<Report>,
    /// Number of words of all reports.
    pub result_words: usize,
    /// Whether P(e) is computed. If not, it is zero for all evidence.
    pub is_possible: bool,
    /// For each variable with a posterior that is not always zero, the words of the unnormalised
    /// posterior among those of all messages.
    pub posteriors: Vec<Range<usize>>,
    /// Number of words of all messages up to the end of the last unnormalised posterior.
    pub posterior_words: usize,
    /// Upper bound on the bytes that were needed, besides the records, to build as many operations
    /// at the same time as there are threads.
    pub building_bytes: u64,
}

/// Where the results of all operations are stored.
struct ResultIndices {
    /// For each operation and row the index of the row's result in the buffer of all messages, or
    /// [`NOT_COMPUTED`]. The only row of P(e) has index 0 in a buffer of its own.
    rows: Vec<Vec<u32>>,
    /// Number of words of all messages.
    messages: usize,
    /// Whether P(e) is computed. If not, it is zero for all evidence.
    is_possible: bool,
    /// As [`WorkItems::posteriors`].
    posteriors: Vec<Range<usize>>,
}

impl ResultIndices {
    /// The indices of the results of all `operations`. `None` if an index does not fit into a word.
    fn new(operations: &Operations, sparsity: &[OperationSparsity]) -> Option<Self> {
        let all = &operations.all;
        let (mut first, mut messages) = (vec![0; all.len()], 0);
        let mut store = |index: usize| {
            let rows = sparsity[index].rows.len();
            first[index] = messages;
            messages += rows.next_multiple_of(MESSAGE_ALIGNMENT);
            first[index]..first[index] + rows
        };
        // Unnormalised posteriors come first, so that they can be copied together.
        let with_role = |is_wanted: fn(Role) -> bool| {
            (0..all.len()).filter(move |index| is_wanted(all[*index].result))
        };
        let posteriors = with_role(|role| matches!(role, Role::Posterior(_))).map(&mut store);
        let posteriors: Vec<_> = posteriors.filter(|words| !words.is_empty()).collect();
        with_role(|role| role == Role::Message).for_each(|index| _ = store(index));
        let mut of_p_evidence = with_role(|role| role == Role::PEvidence);
        let is_possible = of_p_evidence.any(|index| !sparsity[index].rows.is_empty());
        to_word(messages)?;
        let indices = |(index, operation): (usize, &Operation)| {
            let mut rows = vec![NOT_COMPUTED; operation.rows.entries()];
            for (&row, at) in sparsity[index].rows.iter().zip(first[index] as u32..) {
                rows[row as usize] = at;
            }
            rows
        };
        let rows = operations.all.par_iter().enumerate().map(indices).collect();
        Some(Self { rows, messages, is_possible, posteriors })
    }
}

impl WorkItems {
    /// The work items of all `operations`. `tables`: the table of each potential. `None` if there
    /// are too many message entries or states for a source, or if the records have 2^32 or more
    /// words in total.
    pub fn new(
        network: &Network,
        operations: &Operations,
        tables: &[PotentialTable],
        supports: &Supports,
    ) -> Option<Self> {
        let sparsity = sparsity::find(network, operations, tables, supports);
        let products = sparsity.iter().map(|operation| operation.products).sum();
        let first_states = Posteriors::offsets(network);
        let states = *first_states.last().unwrap_or(&0);
        let results = ResultIndices::new(operations, &sparsity)?;
        if results.messages >= NO_SOURCE as usize || states >= NO_SOURCE as usize {
            return None;
        }
        let context = BuildContext {
            network,
            operations,
            tables,
            results: &results,
            granularity: Granularity::of(products),
            first_states: &first_states,
        };
        // Frees the sparsity of each operation once it has been built.
        let build = |(index, sparsity)| context.build(index, &sparsity);
        let sparsity = sparsity.into_par_iter().enumerate();
        let (built, mut bytes): (Vec<_>, Vec<u64>) = sparsity.map(build).unzip();
        bytes.sort_unstable_by(|a, b| b.cmp(a));
        let inputs = |operation: &Operation| operation.factors.iter().map(|(f, _)| *f).collect();
        let mut items = Self {
            records: vec![],
            offsets: vec![0],
            inputs: operations.all.iter().map(inputs).collect(),
            costs: vec![],
            messages: results.messages,
            reports: vec![],
            result_words: 0,
            is_possible: results.is_possible,
            posterior_words: results.posteriors.last().map_or(0, |words| words.end),
            posteriors: results.posteriors,
            building_bytes: bytes.iter().take(rayon::current_num_threads()).sum(),
        };
        for of_operation in built {
            of_operation.into_iter().for_each(|item| items.push(item));
            items.offsets.push(items.records.len());
        }
        let posteriors = posteriors_by_end(operations, &earliest_ends(&items));
        items.add_reports(&posteriors, &results.rows);
        to_word(items.record_words())?;
        Some(items)
    }

    /// Adds a work item.
    fn push(&mut self, item: WorkItem) {
        let cost = Cost { staged_words: item.message_words(), sum_time: item.sum_time };
        self.costs.push(cost);
        self.records.push(item.records);
    }

    /// Number of words of all records.
    pub fn record_words(&self) -> usize {
        self.records.iter().map(Vec::len).sum()
    }

    /// Number of work items.
    pub fn len(&self) -> usize {
        self.costs.len()
    }
}

/// What the work items of all operations are built from.
struct BuildContext<'a> {
    network: &'a Network,
    operations: &'a Operations,
    /// The table of each potential.
    tables: &'a [PotentialTable],
    results: &'a ResultIndices,
    granularity: Granularity,
    /// The number of the first state of each variable in the numbering of all states.
    first_states: &'a [usize],
}

impl BuildContext<'_> {
    /// The work items of operation `index`, and an upper bound on the bytes that were needed,
    /// besides the records, to build them.
    fn build(&self, index: usize, sparsity: &OperationSparsity) -> (Vec<WorkItem>, u64) {
        let (network, operation) = (self.network, &self.operations.all[index]);
        let parts = |scope: &Scope| FactorParts::new(network, operation, scope);
        let findings = operation.findings.iter().map(|&v| parts(&Scope::of(network, [v])));
        let factors = operation.factors.iter().map(|(_, scope)| parts(scope));
        let factors: Vec<FactorParts> = factors.chain(findings).collect();
        let table = operation.potential.map(|potential| &self.tables[potential]);
        let table_parts = table.map(|table| parts(&table.scope));
        let messages = operation.factors.iter().map(|(f, _)| self.results.rows[*f].as_slice());
        let messages: Vec<&[u32]> = messages.collect();
        let mut live = LiveProducts::all(operation.summed.entries());
        if !sparsity.is_full {
            // A product of a computed row is live if and only if the message entries that it reads
            // are computed and its table entry is not zero.
            for (factor, message) in factors.iter().zip(&messages) {
                if message.contains(&NOT_COMPUTED) {
                    live.restrict(factor, |at| message[at] != NOT_COMPUTED);
                }
            }
            if let (Some(parts), Some(table)) = (&table_parts, table)
                && table.has_zeros
            {
                live.restrict(parts, |at| table.values[at] != 0.0);
            }
        }
        let classes = table_parts.as_ref().map(FactorParts::len);
        let rows = operation.rows.entries();
        let builder = WorkItemBuilder {
            operation,
            sparsity,
            live,
            table: table_parts.as_ref().zip(table.map(|table| table.values.as_slice())),
            by_class: classes.is_some_and(|classes| MIN_ROWS_PER_CLASS * classes <= rows),
            factors: &factors,
            messages,
            first_weights: (operation.findings.iter())
                .map(|variable| self.first_states[variable.index()])
                .collect(),
            results: &self.results.rows[index],
            granularity: self.granularity,
            first_states: self.first_states,
        };
        let (masks, words) = (builder.live.bytes(), builder.live.words());
        // For each part, two numberings of 8 bytes if the work items are dense, or the entries that
        // are read if they are sparse. For each row its number, twice if the rows are in tiles.
        let parts = factors.iter().chain(&table_parts).map(FactorParts::len).sum::<usize>();
        let bytes = masks + (8 * words + 8).max(16) * parts + 8 * sparsity.rows.len();
        (builder.build(), bytes as u64)
    }
}

/// The posteriors in the order in which their operations end: for each the numbers of the operation
/// and of the variable. `ends`: when each operation ends.
fn posteriors_by_end(operations: &Operations, ends: &[u64]) -> Vec<(usize, usize)> {
    let posterior = |(index, operation): (usize, &Operation)| match operation.result {
        Role::Posterior(variable) => Some((ends[index], (index, variable.index()))),
        _ => None,
    };
    let mut posteriors: Vec<_> = operations.all.iter().enumerate().filter_map(posterior).collect();
    posteriors.sort_unstable();
    posteriors.into_iter().map(|(_, posterior)| posterior).collect()
}

/// Splits the words of a work item into its records.
pub(super) fn split(records: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut rest = records;
    std::iter::from_fn(move || {
        let length = if rest.is_empty() { return None } else { RecordHeader::of(rest).words };
        let (this, after) = rest.split_at_checked(length.into())?;
        rest = after;
        Some(this)
    })
}

/// `value` as a word of a record; `None` if it has more than 32 bits.
fn to_word(value: usize) -> Option<u32> {
    u32::try_from(value).ok()
}
