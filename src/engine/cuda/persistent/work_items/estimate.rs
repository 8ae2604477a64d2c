//! Estimates the size and the latency of an operation's work items before the tables are known.

use super::{Granularity, HEADER_WORDS, MAX_RECORD, STAGING, THREADS};
use crate::engine::cuda::persistent::costs::Cost;
use crate::engine::cuda::persistent::operations::Operation;
use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// The size of the work items of an operation.
pub(in crate::engine::cuda::persistent) struct SizeEstimate {
    /// Number of words of all records.
    pub words: u64,
    /// Number of work items.
    pub items: u64,
}

/// An upper bound on the size of the work items of `operation`. It is the size for tables without
/// zeros, with margins, because the rows share fewer inputs if some entries are zero. The margins
/// are round figures; a test checks that no forecast is exceeded.
pub(in crate::engine::cuda::persistent) fn estimate_size(
    operation: &Operation,
    network: &Network,
    granularity: Granularity,
) -> SizeEstimate {
    let (rows, entries) = (operation.rows.entries(), operation.summed.entries());
    let factors = Factors::new(operation, network);
    let (staged, pairs) = (|rows: usize| factors.staged_words(rows), factors.pairs());
    let words = |rows: usize| {
        let addresses = (rows + 8) * (1 + pairs) + (entries + 32) * pairs;
        HEADER_WORDS + staged(rows) + addresses + rows * entries * 9 / 8 + 64
    };
    let Granularity { shares, min_item, max_record, .. } = granularity;
    let target = (rows * entries).div_ceil(shares).clamp(min_item, max_record);
    let mut rows_per_item = (target / entries.max(1)).clamp(1, rows.max(1));
    while rows_per_item > 1
        && (staged(rows_per_item) > STAGING || words(rows_per_item) > MAX_RECORD)
    {
        rows_per_item = rows_per_item * 3 / 4;
    }
    let items = rows.div_ceil(rows_per_item);
    SizeEstimate {
        words: (items * words(rows_per_item).min(MAX_RECORD) * 5 / 4) as u64,
        items: items as u64 * 5 / 4 + 1,
    }
}

/// The estimated time in nanoseconds from the end of the last input of `operation` to the end of
/// `operation`, if many blocks are free and no entry is zero.
pub(in crate::engine::cuda::persistent) fn estimate_latency(
    operation: &Operation,
    network: &Network,
) -> u64 {
    let (rows, entries) = (operation.rows.entries(), operation.summed.entries());
    let factors = Factors::new(operation, network);
    let Granularity { shares, min_item, max_record, .. } = Granularity::FINEST;
    let target = (rows * entries).div_ceil(shares).clamp(min_item, max_record);
    let mut rows_per_item = (target / entries).clamp(1, rows);
    while rows_per_item > 1 && factors.staged_words(rows_per_item) > STAGING {
        rows_per_item = rows_per_item * 3 / 4;
    }
    let staged_words = factors.staged_words(rows_per_item) as u32;
    let sum_time = Cost::sum_time((rows_per_item * entries).div_ceil(THREADS), factors.pairs());
    let cost = Cost { staged_words, sum_time };
    cost.latency() * (1 + rows.div_ceil(rows_per_item) / shares) as u64
}

/// For each message and finding of an operation the number of entries that one row reads, and the
/// number of consecutive rows that read the same entries.
struct Factors(Vec<(usize, usize)>);

impl Factors {
    fn new(operation: &Operation, network: &Network) -> Self {
        let findings = operation.findings.iter().map(|&variable| Scope::of(network, [variable]));
        let scopes = operation.factors.iter().map(|(_, scope)| scope.clone());
        let scopes: Vec<Scope> = scopes.chain(findings).collect();
        let entries_and_rows = |scope: &Scope| {
            let states = |variables: &mut dyn Iterator<Item = &VariableId>| -> usize {
                variables.map(|&variable| network[variable].cardinality()).product()
            };
            let summed = operation.summed.variables().iter();
            let entries = states(&mut summed.filter(|v| scope.contains(**v)));
            let rows = operation.rows.variables().iter().rev();
            (entries, states(&mut rows.take_while(|v| !scope.contains(**v))))
        };
        Self(scopes.iter().map(entries_and_rows).collect())
    }

    /// Upper bound on the number of pairs into which the factors are divided. One word of a record
    /// holds the addresses of both factors of a pair. Messages and findings are paired separately,
    /// so there can be two incomplete pairs.
    fn pairs(&self) -> usize {
        self.0.len() / 2 + 1
    }

    /// Upper bound on the number of words in the staging buffer for `rows` consecutive rows.
    fn staged_words(&self, rows: usize) -> usize {
        let words = self.0.iter().map(|&(entries, same)| rows.min(rows / same + 2) * entries);
        words.map(|words| words.next_multiple_of(32)).sum()
    }
}
