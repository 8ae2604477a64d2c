//! Builds the work items of one operation.

use super::layout::{Layout, StagingBuffer};
use super::{
    BY_CLASS, CONTINUED, DENSE, Granularity, HEADER, KIND_SHIFT, MAX_RECORD, NO_SOURCE, NO_STATE,
    NO_TABLE, NOT_COMPUTED, SOURCE_BITS, SPARSE, STAGING, split,
};
use crate::engine::cuda::persistent::costs::Cost;
use crate::engine::cuda::persistent::operations::{Operation, Role};
use crate::engine::cuda::persistent::sparsity::{Offsets, OperationSparsity};
use crate::engine::cuda::persistent::tables::PEAK;

/// Maximum number of states that a record lists as common to all rows of its work item.
const COMMON_STATES: usize = 8;

/// One operation with everything that its records are made from. Factors are numbered: messages
/// first, then findings.
pub(super) struct WorkItemBuilder<'a> {
    pub(super) operation: &'a Operation,
    pub(super) sparsity: &'a OperationSparsity,
    /// The table, indexed by row and entry.
    pub(super) table: Option<&'a [f32]>,
    /// For each message that is a factor, the indices of its entries in the buffer of messages,
    /// each an index or [`NOT_COMPUTED`].
    pub(super) factors: Vec<&'a [u32]>,
    /// The class of each row, if rows share table entries.
    pub(super) classes: Option<Vec<u32>>,
    /// For each finding the index of its first weight, and the state that each product reads.
    pub(super) findings: Vec<(usize, Offsets)>,
    /// For each row the index of its result, or [`NOT_COMPUTED`].
    pub(super) results: &'a [u32],
    pub(super) granularity: Granularity,
    /// The number of the first state of each variable in the numbering of all states.
    pub(super) first_states: &'a [usize],
}

/// The entries that a dense work item takes of each row.
pub(super) struct RowEntries {
    pub(super) entries: Vec<u32>,
    /// For each factor and entry the position of its offset in `offsets`.
    pub(super) numbers: Vec<Vec<u32>>,
    /// For each factor the distinct offsets of these entries, in ascending order.
    pub(super) offsets: Vec<Vec<u32>>,
}

impl WorkItemBuilder<'_> {
    /// Whether entry `at` of message `f` is live.
    fn is_live(&self, f: usize, at: usize) -> bool {
        self.factors[f][at] != NOT_COMPUTED
    }

    /// The number of entries of a row, including those that are always zero.
    pub(super) fn entries_per_row(&self) -> usize {
        self.operation.summed.entries()
    }

    /// The offsets of all messages, then those of all findings.
    pub(super) fn offsets(&self) -> impl Iterator<Item = &Offsets> {
        self.sparsity.factors.iter().chain(self.findings.iter().map(|(_, offsets)| offsets))
    }

    /// Calls `visit` with the entry of each product of `row` that can be nonzero.
    pub(super) fn for_each_product(&self, row: usize, mut visit: impl FnMut(usize)) {
        let entries = self.entries_per_row();
        if self.sparsity.is_full {
            (0..entries).for_each(visit);
        } else {
            let is_live = |f: usize, at: usize| self.is_live(f, at);
            self.sparsity.for_each_product(row, entries, self.table, is_live, |entry| {
                visit(entry);
                true
            });
        }
    }

    /// The records of each work item, and the estimated time of the sums in nanoseconds. Chooses
    /// the form with the lowest estimated cost: sparse, dense with rows in their order, or dense in
    /// tiles.
    pub(super) fn build(&self) -> Vec<(Vec<u32>, u32)> {
        if self.sparsity.rows.is_empty() {
            return vec![];
        }
        let entries = self.row_entries();
        let (rows, width) = (self.sparsity.rows.len(), entries.entries.len());
        let pairs = self.pairs();
        let pairs = pairs.0 + pairs.1;
        // The estimated cost of each form counts the words read and the instructions executed.
        let (pair_words, table_words) = (pairs as u64, self.table_words() as u64);
        let dense = (rows * width) as u64 * (3 + table_words + pair_words);
        let sparse = self.sparsity.products * (4 + table_words + 3 * pair_words) * 9 / 8;
        let one_row: usize =
            entries.offsets.iter().map(|distinct| distinct.len().next_multiple_of(32)).sum();
        let words =
            width.next_power_of_two().max(32) * (self.table_words() + pairs) + one_row + 256;
        if dense > sparse || one_row > STAGING || words > MAX_RECORD {
            return self.sparse();
        }
        // The estimated cost counts the message words read, and the overhead of a work item and of
        // each record. The unit is the time to read one word.
        let price = |items: &Vec<(Vec<u32>, u32)>| -> u32 {
            let overhead = |records: &[u32]| 280 + 120 * split(records).count() as u32;
            items.iter().map(|(records, _)| 32 * (records[1] & 0xffff) + overhead(records)).sum()
        };
        let in_order = self.dense(&entries, None, self.sparsity.rows.clone());
        match self.tiled(&entries) {
            None => in_order,
            Some((tiles, rows)) => {
                let tiled = self.dense(&entries, Some(tiles), rows);
                if price(&tiled) < price(&in_order) { tiled } else { in_order }
            }
        }
    }

    /// The entries that are live in some row.
    fn row_entries(&self) -> RowEntries {
        let width = self.entries_per_row();
        let mut used = vec![self.sparsity.is_full; width];
        if !self.sparsity.is_full {
            for &row in &self.sparsity.rows {
                self.for_each_product(row as usize, |entry| used[entry] = true);
            }
        }
        let entries: Vec<u32> = (0..width as u32).filter(|&i| used[i as usize]).collect();
        let (mut numbers, mut offsets) = (Vec::new(), Vec::new());
        for of_factor in self.offsets() {
            let all: Vec<u32> = entries.iter().map(|&i| of_factor.entries[i as usize]).collect();
            let mut distinct = all.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let number = |offset| distinct.binary_search(offset).expect("one of them") as u32;
            numbers.push(all.iter().map(number).collect());
            offsets.push(distinct);
        }
        RowEntries { entries, numbers, offsets }
    }

    /// The target numbers of entries of a work item and of a record, if the operation has `entries`
    /// entries in total.
    pub(super) fn target_entries(&self, entries: usize) -> (usize, usize) {
        let (least, most) = self.granularity.entries;
        let share = entries.div_ceil(self.granularity.shares);
        let item = share.clamp(least, most * self.granularity.scale);
        (item, if self.has_own_entries() { share.clamp(least, most) } else { item })
    }

    /// The numbers of pairs of messages and of pairs of findings.
    pub(super) fn pairs(&self) -> (usize, usize) {
        (self.factors.len().div_ceil(2), self.findings.len().div_ceil(2))
    }

    /// The source of a word of the staging buffer: entry `at` of message or finding `f`.
    pub(super) fn source(&self, f: usize, at: usize) -> u32 {
        match f.checked_sub(self.factors.len()) {
            None => match self.factors[f][at] {
                NOT_COMPUTED => NO_SOURCE | (f as u32) << SOURCE_BITS,
                index => index | (f as u32) << SOURCE_BITS,
            },
            Some(f) => (self.findings[f].0 + at) as u32,
        }
    }

    /// The bits of a table entry.
    pub(super) fn table_bits(&self, table: &[f32], row: u32, entry: u32) -> u32 {
        table[row as usize * self.entries_per_row() + entry as usize].to_bits()
    }

    /// Whether each row has table entries of its own: there is a table, and rows are not in
    /// classes.
    pub(super) fn has_own_entries(&self) -> bool {
        self.table.is_some() && self.classes.is_none()
    }

    /// Number of words of the stream per product that are table entries: 0 or 1.
    pub(super) fn table_words(&self) -> usize {
        usize::from(self.table.is_some())
    }

    /// A record, and the estimated time of its sums in nanoseconds.
    ///
    /// `common_states`: see [`WorkItemBuilder::common_states`]. `staging`: the staging buffer if
    /// this is the first record of a work item, `None` if it continues one. `list`: `None` if
    /// sparse.
    pub(super) fn record(
        &self,
        common_states: &[u32],
        staging: Option<&StagingBuffer>,
        layout: Layout,
        list: Option<Vec<u32>>,
        row_words: Vec<u32>,
        stream: Vec<u32>,
    ) -> (Vec<u32>, u32) {
        let pairs = self.pairs();
        let factors = self.factors.len();
        // The product of all factors and a table entry, and a sum of 2^12 such products, must stay
        // below 2^127.
        let headroom = if factors == 0 { 0 } else { (126 - 12 - PEAK) / factors as i32 - 1 };
        let list_words = list.as_ref().map_or(0, Vec::len);
        let log_lanes = layout.lanes.ilog2();
        let (sources, message_words) = staging
            .map_or((&[][..], 0), |staging| (staging.sources.as_slice(), staging.message_words));
        let kind = if list.is_none() { SPARSE } else { DENSE };
        let continued = if staging.is_none() { CONTINUED } else { 0 };
        let no_table = if self.table.is_none() { NO_TABLE } else { 0 };
        let by_class = if self.classes.is_some() && list.is_some() { BY_CLASS } else { 0 };
        let mut record = vec![
            0,
            (message_words / 32 + (((sources.len() - message_words) / 32) << 16)) as u32,
            (layout.steps | layout.threads << 16) as u32,
            layout.passes as u32
                | log_lanes << 16
                | kind << KIND_SHIFT
                | continued
                | no_table
                | by_class,
            (pairs.0 | pairs.1 << 8 | factors << 16) as u32,
            list_words as u32,
            u32::from(self.operation.result == Role::PEvidence) | (layout.entries as u32) << 8,
            headroom as u32,
        ];
        let mut common_states = common_states.to_vec();
        common_states.resize(COMMON_STATES, NO_STATE);
        record.extend(common_states.chunks(2).map(|pair| pair[0] | pair[1] << 16));
        debug_assert_eq!(record.len(), HEADER);
        record.extend(sources);
        record.extend(list.unwrap_or_default());
        record.extend(row_words);
        record.resize(record.len().next_multiple_of(4), 0);
        record.extend(stream);
        record.resize(record.len().next_multiple_of(4), 0);
        debug_assert!(record.len() <= MAX_RECORD);
        record[0] = record.len() as u32;
        let sum_time = Cost::sum_time(layout.passes * layout.steps, pairs.0 + pairs.1);
        (record, sum_time)
    }

    /// States that all `rows` have in common, numbered among the states of all variables; at most
    /// [`COMMON_STATES`]. If the evidence excludes one of them, all rows are zero.
    pub(super) fn common_states(&self, rows: &[u32]) -> Vec<u32> {
        let mut common = Vec::new();
        for &variable in self.operation.rows.variables() {
            let Some(axis) = self.operation.rows.axis(variable) else { continue };
            let mut states = rows.iter().map(|&row| row as usize / axis.stride % axis.cardinality);
            let first = states.next().unwrap_or(0);
            let state = self.first_states[variable.index()] + first;
            let is_usable =
                axis.cardinality > 1 && state < NO_STATE as usize && common.len() < COMMON_STATES;
            if is_usable && states.all(|state| state == first) {
                common.push(state as u32);
            }
        }
        common
    }

    /// Both addresses of pair `n` in one word, as byte offsets in the staging buffer. If the second
    /// factor is missing, its address is 0, where the staging buffer holds a one. `address` returns
    /// the address of a factor.
    pub(super) fn pair_word(&self, n: usize, address: impl Fn(usize) -> u32) -> u32 {
        let messages = self.factors.len();
        let (first, end) = match n.checked_sub(self.pairs().0) {
            None => (2 * n, messages),
            Some(n) => (messages + 2 * n, messages + self.findings.len()),
        };
        let address = |f: usize| if f < end { address(f) } else { 0 };
        address(first) | address(first + 1) << 16
    }
}
