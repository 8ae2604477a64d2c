//! The memory of engine `gpu` with tables, forecast before the records are known, and counted
//! afterwards.

use super::gpu::{PIECE_WORDS, RECORD_BUFFERS};
use super::operations::{Operation, Operations};
use super::state_layout::StateLayout;
use super::work_items::{Granularity, estimate_size};
use super::{MAX_BLOCKS, Program};
use crate::network::{Network, VariableId};
use crate::potential::Scope;
use crate::propagation::CompiledNetwork;

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// The peak of host and GPU together, which is reached while the network is loaded. It is less
    /// than the sum of both peaks, which are not reached at the same time.
    pub peak: u64,
    /// The peak on the host.
    pub host: u64,
    /// The peak on the GPU.
    pub device: u64,
}

/// The sizes that depend on which rows and products are zero.
struct Sizes {
    /// Number of words of all records.
    record_words: u64,
    /// Number of work items.
    items: u64,
    /// Number of words of all messages. These words have 8 bytes.
    messages: u64,
    /// Number of words of all reports.
    result_words: u64,
    /// Number of words of all unnormalised posteriors. These words have 8 bytes.
    posterior_words: u64,
    /// See [`WorkItems::building_bytes`](super::work_items::WorkItems::building_bytes).
    building_bytes: u64,
}

impl Memory {
    /// An upper bound for a network with these operations, which holds even if no entry is zero.
    pub fn forecast(compiled: &CompiledNetwork, operations: &Operations) -> Self {
        let states = StateLayout::new(compiled);
        // There is at most one report per variable. A report has a word per state and padding, and
        // its record also has a header and a list: at most 64 words more. These 64 words also cover
        // the padding of an unnormalised posterior. As a margin, a record is counted with two words
        // per state.
        let variables = compiled.network().variables().len() as u64;
        let result_words = states.states() as u64 + 64 * variables;
        let mut sizes = Sizes {
            record_words: 2 * states.states() as u64 + 64 * variables,
            items: variables,
            messages: 0,
            result_words,
            posterior_words: result_words,
            building_bytes: largest(operations, |o| parts_bytes(operations, o)),
        };
        for operation in &operations.all {
            let size = estimate_size(operation, compiled.network(), Granularity::FINEST);
            sizes.record_words += size.words;
            sizes.items += size.items;
            // Each message is padded to a multiple of four words.
            sizes.messages += operation.rows.entries() as u64 + 4;
        }
        Self::new(compiled.network(), operations, &states, &sizes)
    }

    /// The memory of `program`.
    pub fn of(network: &Network, program: &Program) -> Self {
        let items = &program.items;
        let sizes = Sizes {
            record_words: items.record_words() as u64,
            items: items.len() as u64,
            messages: items.messages as u64,
            result_words: items.result_words as u64,
            posterior_words: items.posterior_words as u64,
            building_bytes: items.building_bytes,
        };
        Self::new(network, &program.operations, &program.states, &sizes)
    }

    /// The memory, given the sizes that depend on zeros.
    fn new(
        network: &Network,
        operations: &Operations,
        states: &StateLayout,
        sizes: &Sizes,
    ) -> Self {
        let &Sizes { record_words, items, messages, result_words, posterior_words, .. } = sizes;
        let evidence_words = states.evidence_words() as u64;
        // Each work item has three timestamps of 8 bytes. Each block has three words of 4 bytes:
        // two that say where its records start, and one that says where its timestamps start.
        let device = 4 * record_words
            + 8 * messages
            + 4 * evidence_words
            + 24 * items
            + 12 * (MAX_BLOCKS as u64 + 1);
        let table = |potential: usize| {
            let variables = operations.potentials[potential].variables.iter().copied();
            Scope::of(network, variables).entries() as u64
        };
        let tables: u64 = (0..operations.potentials.len()).map(table).sum();
        let rows: u64 = operations.all.iter().map(|o| o.rows.entries() as u64).sum();
        let records = 4 * record_words + size_of::<Vec<u32>>() as u64 * items;
        // Potentials are computed in double precision and kept in single precision. The search for
        // zeros keeps a flag of a byte for each row and for each entry of a separator; there are
        // fewer entries of separators than rows. It also lists the rows that are computed, and each
        // list is kept until its operation is built. After the search, each row gets the index of
        // its result, which is kept while all operations are built. While the search is at an
        // operation, it also has the number of products of each row, and a flag for each entry of
        // the table.
        let in_progress = largest(operations, |operation| {
            let counts = 4 * operation.rows.entries() as u64;
            parts_bytes(operations, operation) + counts + operation.potential.map_or(0, table)
        });
        let searching = 12 * tables + (2 + 4 + 4) * rows + in_progress;
        let building = 4 * tables + 4 * rows + sizes.building_bytes + records;
        // During the upload, two pieces of the records are in pinned memory. A piece has less than
        // twice `PIECE_WORDS` words, unless the records of one block are longer than `PIECE_WORDS`.
        // In that case the excess is not counted, neither for pieces nor for buffers.
        let pieces = 2 * 4 * record_words.min(2 * PIECE_WORDS as u64);
        let buffer = (record_words / RECORD_BUFFERS as u64).max(PIECE_WORDS as u64);
        let uploading = records + pieces + 4 * record_words.min(buffer);
        // The unnormalised posteriors of two runs are kept.
        let pinned = 4 * (evidence_words + result_words) + 2 * 8 * posterior_words;
        let host = searching.max(building).max(records + pieces).max(pinned);
        Self { peak: host.max(uploading).max(pinned + device), host, device }
    }
}

/// The sum of `bytes` over the operations for which it is largest: as many as there are threads,
/// which work on an operation each.
fn largest(operations: &Operations, bytes: impl Fn(&Operation) -> u64) -> u64 {
    let mut all: Vec<u64> = operations.all.iter().map(bytes).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.iter().take(rayon::current_num_threads()).sum()
}

/// Upper bound on the bytes that are needed to search `operation` for zeros, or to build it, apart
/// from its records. Most describe how its rows read its factors and its table; see
/// [`parts`](super::parts).
fn parts_bytes(operations: &Operations, operation: &Operation) -> u64 {
    let words = operation.summed.entries().div_ceil(64) as u64;
    let bytes = |contains: &dyn Fn(VariableId) -> bool| {
        let row_variables = operation.rows.variables().iter().zip(operation.rows.cardinalities());
        let shared = row_variables.filter(|(variable, _)| contains(**variable));
        let parts: u64 = shared.map(|(_, &states)| states as u64).product();
        // For each part, two masks of its products, and 16 bytes for other numbers.
        (2 * 8 * words + 16) * parts
    };
    let messages = operation.factors.iter().map(|(_, scope)| bytes(&|v| scope.contains(v)));
    let findings = operation.findings.iter().map(|finding| bytes(&|v| v == *finding));
    let table = operation.potential.map(|potential| {
        let variables = &operations.potentials[potential].variables;
        bytes(&|v| variables.contains(&v))
    });
    // For each row its number, twice if the rows are in tiles.
    messages.chain(findings).chain(table).sum::<u64>() + 8 * operation.rows.entries() as u64
}
