//! Builds the work items of one operation.

use rayon::prelude::*;

use super::header::{
    BY_CLASS, COMMON_STATES, CONTINUED, DENSE, HEADER_WORDS, NO_STATE, NO_TABLE, P_EVIDENCE,
    RecordHeader, SPARSE, field,
};
use super::layout::{Layout, StagingBuffer};
use super::{
    Granularity, MAX_RECORD, NO_SOURCE, NOT_COMPUTED, SINGLE_ROW_WORDS, SOURCE_BITS, STAGING,
    WorkItem,
};
use crate::engine::cuda::persistent::costs::Cost;
use crate::engine::cuda::persistent::operations::{Operation, Role};
use crate::engine::cuda::persistent::parts::{
    FactorParts, LiveProducts, MIN_PARALLEL, for_each_bit,
};
use crate::engine::cuda::persistent::sparsity::OperationSparsity;
use crate::engine::cuda::persistent::tables::PEAK;

/// One operation, with everything that is needed to write its records. The *factors* of the
/// operation are messages and findings, numbered in this order.
pub(super) struct WorkItemBuilder<'a> {
    pub(super) operation: &'a Operation,
    pub(super) sparsity: &'a OperationSparsity,
    /// The live products of each row.
    pub(super) live: LiveProducts<'a>,
    /// How the rows read the table, and its entries, if there is a table.
    pub(super) table: Option<(&'a FactorParts, &'a [f32])>,
    /// Whether rows with the same part of the table share their table entries. These rows are a
    /// class.
    pub(super) by_class: bool,
    /// How the rows read each factor.
    pub(super) factors: &'a [FactorParts],
    /// For each message that is a factor, and each entry of the message, the index of the entry in
    /// the buffer of all messages, or [`NOT_COMPUTED`].
    pub(super) messages: Vec<&'a [u32]>,
    /// For each finding the index of its first weight.
    pub(super) first_weights: Vec<usize>,
    /// For each row the index of its result, or [`NOT_COMPUTED`].
    pub(super) results: &'a [u32],
    pub(super) granularity: Granularity,
    /// The number of the first state of each variable in the numbering of all states.
    pub(super) first_states: &'a [usize],
}

/// The entries that dense work items sum, which are the same in every row.
pub(super) struct RowEntries {
    /// The entries, in ascending order.
    pub(super) entries: Vec<u32>,
    /// For each factor and each of `entries`, the position of the entry's offset in `offsets`.
    pub(super) positions: Vec<Vec<u32>>,
    /// For each factor the distinct offsets at which `entries` read the factor, in ascending order.
    /// They are counted from the offset of the row's part, as in [`FactorParts::entries`].
    pub(super) offsets: Vec<Vec<u32>>,
}

/// The parts of a record that follow its header, and what the header says about them.
/// `kernels/record.cuh` describes the parts: sources, list, rows and stream.
pub(super) struct RecordParts<'a> {
    /// See [`WorkItemBuilder::common_states`].
    pub(super) common_states: &'a [u16],
    /// The staging buffer, if this is the first record of a work item; otherwise `None`.
    pub(super) staging: Option<&'a StagingBuffer>,
    pub(super) layout: Layout,
    /// The addresses of entries if the record is dense; `None` if it is sparse.
    pub(super) list: Option<Vec<u32>>,
    pub(super) row_words: Vec<u32>,
    pub(super) stream: Vec<u32>,
}

impl WorkItemBuilder<'_> {
    /// The work items of the operation: sparse ones if these are estimated to cost less than dense
    /// ones, or if a row does not fit into a dense work item. Rows of dense work items are in their
    /// order or in tiles, whichever is estimated to cost less.
    pub(super) fn build(&self) -> Vec<WorkItem> {
        if self.sparsity.rows.is_empty() {
            return vec![];
        }
        let entries = self.row_entries();
        if self.dense_row_fits(&entries) && !self.sparse_costs_less(&entries) {
            self.dense(&entries)
        } else {
            self.sparse()
        }
    }

    /// Whether one row fits into a dense work item.
    fn dense_row_fits(&self, entries: &RowEntries) -> bool {
        let staged: usize =
            entries.offsets.iter().map(|distinct| distinct.len().next_multiple_of(32)).sum();
        // Including the padding of the row.
        let products = entries.entries.len().next_power_of_two().max(32);
        let product_words = products * (self.table_words() + self.pairs());
        let words = product_words + staged + SINGLE_ROW_WORDS;
        staged <= STAGING && words <= MAX_RECORD
    }

    /// Whether sparse work items are estimated to cost less than dense ones. The estimate counts
    /// the words that are read and the instructions that are executed. It affects only speed.
    fn sparse_costs_less(&self, entries: &RowEntries) -> bool {
        let (pairs, table_words) = (self.pairs() as u64, self.table_words() as u64);
        let dense_products = (self.sparsity.rows.len() * entries.entries.len()) as u64;
        let dense = dense_products * (3 + table_words + pairs);
        let sparse = self.sparsity.products * (4 + table_words + 3 * pairs) * 9 / 8;
        sparse < dense
    }

    /// The entries that have a live product in at least one computed row.
    fn row_entries(&self) -> RowEntries {
        let live = &self.live;
        let none = || vec![0; live.words()];
        let or = |mut used: Vec<u64>, words: &mut dyn Iterator<Item = u64>| {
            used.iter_mut().zip(words).for_each(|(used, word)| *used |= word);
            used
        };
        let rows = if live.are_all() { &self.sparsity.rows[..1] } else { &self.sparsity.rows };
        let used = rows
            .par_iter()
            .with_min_len(MIN_PARALLEL)
            .fold(none, |used, &row| or(used, &mut (0..live.words()).map(|n| live.word(row, n))))
            .reduce(none, |used, others| or(used, &mut others.into_iter()));
        let mut entries: Vec<u32> = Vec::new();
        for (n, &word) in used.iter().enumerate() {
            for_each_bit(word, |bit| entries.push((64 * n + bit) as u32));
        }
        let (mut positions, mut offsets) = (Vec::new(), Vec::new());
        for factor in self.factors {
            let (distinct, of_entries) =
                distinct(entries.iter().map(|&entry| factor.entries[entry as usize]));
            positions.push(of_entries);
            offsets.push(distinct);
        }
        RowEntries { entries, positions, offsets }
    }

    /// The target numbers of entries of a work item and of a record, if the operation has `entries`
    /// entries in total.
    pub(super) fn target_entries(&self, entries: usize) -> (usize, usize) {
        let Granularity { shares, min_item, max_record, scale } = self.granularity;
        let share = entries.div_ceil(shares);
        let item = share.clamp(min_item, max_record * scale);
        (item, if self.has_own_entries() { share.clamp(min_item, max_record) } else { item })
    }

    /// Number of pairs of messages. One message may be left over; it is a pair by itself.
    fn message_pairs(&self) -> usize {
        self.messages.len().div_ceil(2)
    }

    /// Number of pairs of findings, formed as pairs of messages are.
    fn finding_pairs(&self) -> usize {
        self.first_weights.len().div_ceil(2)
    }

    /// Number of pairs of factors.
    pub(super) fn pairs(&self) -> usize {
        self.message_pairs() + self.finding_pairs()
    }

    /// The source of a word of the staging buffer that holds entry `at` of factor `f`.
    pub(super) fn source(&self, f: usize, at: usize) -> u32 {
        match f.checked_sub(self.messages.len()) {
            None => match self.messages[f][at] {
                NOT_COMPUTED => NO_SOURCE | (f as u32) << SOURCE_BITS,
                index => index | (f as u32) << SOURCE_BITS,
            },
            Some(finding) => (self.first_weights[finding] + at) as u32,
        }
    }

    /// The bits of the table entries of `entries` of `row`; `None` if there is no table.
    pub(super) fn table_bits(
        &self,
        row: u32,
        entries: &[u32],
    ) -> Option<impl Iterator<Item = u32>> {
        let (parts, values) = self.table?;
        let offset = parts.offset(row);
        let value = move |&entry: &u32| values[(offset + parts.entries[entry as usize]) as usize];
        Some(entries.iter().map(move |entry| value(entry).to_bits()))
    }

    /// Whether each row has table entries of its own: there is a table, and rows are not in
    /// classes.
    pub(super) fn has_own_entries(&self) -> bool {
        self.table.is_some() && !self.by_class
    }

    /// Number of words of the stream per product that are table entries: 0 or 1.
    pub(super) fn table_words(&self) -> usize {
        usize::from(self.table.is_some())
    }

    /// The estimated time in nanoseconds of the sums of a record with this layout.
    pub(super) fn sum_time(&self, layout: Layout) -> u32 {
        Cost::sum_time(layout.passes * layout.steps, self.pairs())
    }

    /// Appends the record with these parts to `records`. `kernels/record.cuh` describes its words.
    pub(super) fn add_record(&self, records: &mut Vec<u32>, parts: RecordParts<'_>) {
        let sources = parts.staging.map_or(&[][..], |staging| &staging.sources);
        let list = parts.list.as_deref().unwrap_or_default();
        let before_stream = HEADER_WORDS + sources.len() + list.len() + parts.row_words.len();
        let stream_start = before_stream.next_multiple_of(4);
        let words = (stream_start + parts.stream.len()).next_multiple_of(4);
        debug_assert!(words <= MAX_RECORD);
        let header = RecordHeader { words: field(words), ..self.header(&parts) };
        let first = records.len();
        records.reserve_exact(words);
        records.extend(header.to_words());
        records.extend(sources);
        records.extend(list);
        records.extend(&parts.row_words);
        records.resize(first + stream_start, 0);
        records.extend(&parts.stream);
        records.resize(first + words, 0);
    }

    /// The header of the record with these parts, in which the length of the record is still zero.
    fn header(&self, parts: &RecordParts<'_>) -> RecordHeader {
        let layout = parts.layout;
        let (staged_words, message_words) =
            parts.staging.map_or((0, 0), |staging| (staging.sources.len(), staging.message_words));
        let is_sparse = parts.list.is_none();
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let kind = if is_sparse { SPARSE } else { DENSE };
        let form = kind
            | flag(parts.staging.is_none(), CONTINUED)
            | flag(self.table.is_none(), NO_TABLE)
            | flag(self.by_class && !is_sparse, BY_CLASS)
            | flag(self.operation.result == Role::PEvidence, P_EVIDENCE);
        let messages = self.messages.len();
        let state = |n: usize| parts.common_states.get(n).copied().unwrap_or(NO_STATE);
        RecordHeader {
            message_chunks: field(message_words / 32),
            finding_chunks: field((staged_words - message_words) / 32),
            steps: field(layout.steps),
            threads: field(layout.threads),
            passes: field(layout.passes),
            log_lanes: field(layout.lanes.ilog2() as usize),
            form,
            message_pairs: field(self.message_pairs()),
            finding_pairs: field(self.finding_pairs()),
            messages: field(messages),
            list_words: field(parts.list.as_ref().map_or(0, Vec::len)),
            row_entries: field(layout.entries),
            headroom: headroom(messages),
            common_states: std::array::from_fn(state),
            ..RecordHeader::empty()
        }
    }

    /// States that all `rows` have in common, at most [`COMMON_STATES`]. States are numbered over
    /// all variables. If the evidence excludes one of the common states, the work item writes
    /// zeros: here or in a later operation, its rows are multiplied by a weight of zero.
    pub(super) fn common_states(&self, rows: &[u32]) -> Vec<u16> {
        let mut common = Vec::new();
        for &variable in self.operation.rows.variables() {
            let Some(axis) = self.operation.rows.axis(variable) else { continue };
            let mut states = rows.iter().map(|&row| row as usize / axis.stride % axis.cardinality);
            let first = states.next().unwrap_or(0);
            let state = self.first_states[variable.index()] + first;
            let state = u16::try_from(state).ok().filter(|state| *state != NO_STATE);
            if let Some(state) = state
                && axis.cardinality > 1
                && common.len() < COMMON_STATES
                && states.all(|state| state == first)
            {
                common.push(state);
            }
        }
        common
    }

    /// Both addresses of pair `n` in one word, as byte offsets in the staging buffer. `address`
    /// returns the address for a factor. If the pair has only one factor, the second address is 0,
    /// where the staging buffer holds a one.
    pub(super) fn pair_word(&self, n: usize, address: impl Fn(usize) -> u32) -> u32 {
        let messages = self.messages.len();
        let (first, end) = match n.checked_sub(self.message_pairs()) {
            None => (2 * n, messages),
            Some(n) => (messages + 2 * n, messages + self.first_weights.len()),
        };
        let address = |f: usize| if f < end { address(f) } else { 0 };
        address(first) | address(first + 1) << 16
    }
}

/// The distinct elements of `all` in ascending order, and the position of each element among them.
pub(super) fn distinct(all: impl Iterator<Item = u32> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut distinct: Vec<u32> = all.clone().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let position =
        |element| distinct.binary_search(&element).expect("one of the distinct elements") as u32;
    let positions = all.map(position).collect();
    (distinct, positions)
}

/// The exponent to which the largest entry of each message is scaled if a product has `messages`
/// messages. The product of the messages and a table entry is then below 2^115, so a sum of 2^12
/// such products is below 2^127.
fn headroom(messages: usize) -> i32 {
    if messages == 0 { 0 } else { (126 - 12 - PEAK) / messages as i32 - 1 }
}
