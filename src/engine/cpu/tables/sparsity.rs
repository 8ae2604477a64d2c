//! Sparsity: leaves out the entries of tables that are zero whatever the evidence.
//!
//! An entry of a clique's table can be positive although the joint probability of its states is
//! zero: whatever the states of the other variables, the table of some other clique is zero.
//! Evidence only removes states, so a joint probability that is zero without evidence is zero given
//! any evidence. One propagation without evidence finds all such entries. Its tables and messages
//! are boolean: they only say whether an entry is positive. A boolean table has one byte per entry.
//! An entry counts as zero if the product of its factors underflows in double precision.
//!
//! Only then are the numbers computed, for the entries that remain. This order saves time, because
//! the first write to new memory takes longer than all other steps.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::cancel::CancelToken;
use crate::engine::cpu::context::{MIN_PARALLEL_ENTRIES, TableInputs};
use crate::engine::cpu::pass::report::Report;
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::pass::traversal::PassContext;
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tables::make::{MadeTable, TableRequest, make_tables};
use crate::engine::cpu::tables::multiply::SparseRows;
use crate::engine::cpu::tree::layout::{Layout, MAX_ROW_ENTRIES};
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::rows::{ROW_HEAD, write_rows};
use crate::engine::cpu::tree::structure::Structure;
use crate::engine::simd::simd_dispatch;
use crate::lowering::Optimisation;
use crate::network::{Evidence, Factor};
use crate::potential::Entry;
use crate::propagation::Watch;

/// Maximum number of zeros between two runs of nonzero entries that share a row. A separate row
/// would cost at least as much as these zeros. Tuned on the paper's eight networks; if it is wrong,
/// only speed changes.
pub const MAX_GAP: usize = 12;

/// Zeros are removed from a table only if a pass over the sparse table costs at most this share of
/// the cost of a pass over the full table. Tuned as above.
const MAX_COST_SHARE: f64 = 0.9;

/// The fixed cost of a row, as a number of entries that cost the same. Tuned as above.
const ROW_COST: f64 = 24.0;

/// The tree of `structure`. Entries that are zero whatever the evidence are left out of the tables
/// for which this pays off. Large tables are made on the threads of `inputs`.
pub fn build_sparse<T: Entry>(structure: &Structure, inputs: TableInputs<'_>) -> FilledTree<T> {
    let has_zeros = |factor: &Factor| factor.values().contains(&0.0);
    let optimisations = inputs.optimisations;
    let is_wanted = optimisations.has(Optimisation::Sparsity);
    if !is_wanted || !inputs.network.factors().any(has_zeros) {
        return FilledTree::build(structure, inputs, true);
    }
    let boolean = FilledTree::<u8>::build(structure, inputs, false);
    let sparse = find_sparsity(&boolean, inputs);
    let mut tree = boolean.tree;
    drop(boolean.tables);
    let requests = sparse.iter().enumerate().map(|(clique, sparse)| {
        let sparse = sparse.as_ref().map(|sparse| sparse.rows(tree.nodes[clique].stride));
        request(structure, inputs, clique, sparse)
    });
    let made = make_tables(inputs, requests.collect());
    let mut tables = Vec::with_capacity(made.len());
    let work = made.into_iter().zip(sparse).zip(&mut tree.nodes).zip(&structure.layouts);
    for (((made, sparse), node), layout) in work {
        adapt_rows(node, layout, sparse, &made);
        tables.push(made.table);
    }
    if optimisations.has(Optimisation::CompressedSeparators) {
        tree.compress();
    }
    tree.nodes.iter_mut().for_each(|node| node.divide_rows(optimisations));
    tree.update_work();
    FilledTree { tree, tables }
}

/// The request for the table of `clique`: in `sparse` rows if they are given, and otherwise
/// factored or in full.
fn request<'a, T: Entry>(
    structure: &'a Structure,
    inputs: TableInputs<'_>,
    clique: usize,
    sparse: Option<SparseRows<'a>>,
) -> TableRequest<'a, T> {
    let layout = &*structure.layouts[clique];
    let factors = &*structure.shape.factors[clique];
    let plan = match sparse {
        None => FactoringPlan::new(inputs, layout, factors),
        Some(_) => None,
    };
    let entries = match (sparse, &plan) {
        (Some(sparse), _) => sparse.possible.len(),
        (None, Some(_)) => 0,
        (None, None) => layout.entries(),
    };
    TableRequest { layout, factors, sparse, plan, table: vec![T::ZERO; entries] }
}

/// Adapts the rows of `node`, which are those of the full table, to the table that was made.
fn adapt_rows<T>(
    node: &mut Node,
    layout: &Layout,
    sparse: Option<SparseTable>,
    made: &MadeTable<T>,
) {
    if let Some(mut sparse) = sparse {
        sparse.words.shrink_to_fit();
        node.words = sparse.words;
        node.entries = made.table.values.len();
    } else if made.table.factored.is_some() {
        node.stride = ROW_HEAD + layout.ports.len() + made.groups.len();
        node.words = Vec::with_capacity(layout.row_count() * node.stride);
        write_rows(layout, node.parent.is_some(), &made.groups, &mut node.words);
    }
}

/// The nonzero entries of each clique's table; `None` for a clique for which removing zeros does
/// not pay off.
fn find_sparsity(boolean: &FilledTree<u8>, inputs: TableInputs<'_>) -> Vec<Option<SparseTable>> {
    let tree = &boolean.tree;
    let mut state = State::new(tree);
    state.find_change(inputs.network, tree, &Evidence::none());
    state.enter(tree, &Evidence::none());
    // One thread allocates all memory. With an allocation per thread, the peak would depend on
    // which thread's allocator keeps what.
    let tables: Vec<_> = tree.nodes.iter().map(SparseTable::new).collect();
    match inputs.threads.filter(|_| state.work() >= MIN_PARALLEL_ENTRIES) {
        Some(threads) => threads.install(|| {
            propagate(boolean, &mut state, true);
            let tables = tables.into_par_iter().enumerate().with_max_len(1);
            tables.map(|(clique, table)| table.fill(boolean, &state, clique)).collect()
        }),
        None => {
            propagate(boolean, &mut state, false);
            let tables = tables.into_iter().enumerate();
            tables.map(|(clique, table)| table.fill(boolean, &state, clique)).collect()
        }
    }
}

/// Propagates without evidence, with boolean messages, on several threads if `forks`.
fn propagate(boolean: &FilledTree<u8>, state: &mut State, forks: bool) {
    let watch = Watch::untimed(CancelToken::new());
    let report = Report { watch: &watch, messages: None };
    let context = PassContext { filled: boolean, report, forks, is_boolean: true };
    // If the network is impossible, collect stops early. It does not matter then which entries are
    // left out, because any evidence is impossible.
    let _ = state.whole().collect_all(&context, &mut watch.worker_clock());
    let _ = state.whole().distribute_all(&context, &mut watch.worker_clock());
}

/// The entries of a table that can be nonzero.
struct SparseTable {
    /// The words of the rows. The first word of a row is a position in the sparse table.
    words: Vec<u32>,
    /// By row: its first entry in the full table.
    starts: Vec<u32>,
    /// For each entry of the rows: 1 if the entry can be nonzero, otherwise 0.
    possible: Vec<u8>,
    /// The cost above which the full table is kept instead.
    max_cost: f64,
}

impl SparseTable {
    /// A table without rows, with memory for all entries of `node` and for as many rows as can pay
    /// off. Pages of memory that are never written cost nothing.
    fn new(node: &Node) -> Self {
        let max_cost = MAX_COST_SHARE * cost(node.row_count(), node.entries);
        // The cost is checked only after a full row was divided, so the last full row may exceed
        // the limit.
        let rows = (max_cost / ROW_COST) as usize + MAX_ROW_ENTRIES.div_ceil(MAX_GAP);
        Self {
            words: Vec::with_capacity(rows * node.stride),
            starts: Vec::with_capacity(rows),
            possible: Vec::with_capacity(node.entries),
            max_cost,
        }
    }

    /// The rows as [`multiply_sparse`](super::multiply::multiply_sparse) reads them. Each row has
    /// `stride` words.
    fn rows(&self, stride: usize) -> SparseRows<'_> {
        let Self { words, starts, possible, .. } = self;
        SparseRows { starts, words, stride, possible }
    }

    /// Adds the entries of `clique` that are nonzero after the boolean propagation in `state`;
    /// `None` if leaving out the other entries does not pay off.
    fn fill(mut self, boolean: &FilledTree<u8>, state: &State, clique: usize) -> Option<Self> {
        let node = &boolean.tree.nodes[clique];
        let values = &boolean.tables[clique].values;
        let (ports, below, down) = state.inputs(&boolean.tree, clique);
        let parent_is_vector = node.port.is_some_and(|port| port.is_vector);
        let mut nonzero = Vec::new();
        for row in node.words.chunks_exact(node.stride) {
            let at = |word: u32| row[word as usize] as usize;
            let parent = node.port.map(|port| row[port.word] as usize);
            let is_possible = ports.scalars.iter().all(|&word| below[at(word)] != 0.0);
            if !is_possible || parent.is_some_and(|at| !parent_is_vector && down[at] == 0.0) {
                continue;
            }
            nonzero.clear();
            nonzero.extend_from_slice(&values[row[0] as usize..][..row[1] as usize]);
            let tables = ports.vectors.iter().map(|&word| &below[at(word)..]);
            let above = parent.filter(|_| parent_is_vector).map(|at| &down[at..]);
            tables.chain(above).for_each(|table| retain_nonzero(table, &mut nonzero));
            for_runs(&nonzero, |start, end| self.add_row(node, row, &nonzero, start, end));
            if cost(self.words.len() / node.stride, self.possible.len()) > self.max_cost {
                return None;
            }
        }
        Some(self)
    }

    /// Adds a row with the entries `start..end` of the full row `row`. `nonzero` is 1 for the
    /// entries of `row` that can be nonzero, otherwise 0.
    fn add_row(&mut self, node: &Node, row: &[u32], nonzero: &[u8], start: usize, end: usize) {
        let head = self.words.len();
        self.words.extend_from_slice(row);
        let words = &mut self.words[head..];
        (words[0], words[1]) = (self.possible.len() as u32, (end - start) as u32);
        self.starts.push(row[0] + start as u32);
        if let Some(port) = node.port.filter(|port| port.is_vector) {
            words[port.word] += start as u32;
        }
        for (child, _) in node.is_vector.iter().enumerate().filter(|(_, vector)| **vector) {
            words[node.word(child) as usize] += start as u32;
        }
        self.possible.extend_from_slice(&nonzero[start..end]);
    }
}

/// The cost of a pass over a table, as a number of entries.
fn cost(rows: usize, entries: usize) -> f64 {
    entries as f64 + rows as f64 * ROW_COST
}

simd_dispatch!(
    /// Sets the flags in `nonzero` to 0 at the positions where `table` is zero.
    retain_nonzero, retain_nonzero_entries, (table: &[f64], nonzero: &mut [u8])
);

#[inline(always)]
fn retain_nonzero_entries(table: &[f64], nonzero: &mut [u8]) {
    nonzero.iter_mut().zip(table).for_each(|(flag, &entry)| *flag &= u8::from(entry != 0.0));
}

/// Calls `each` with the start and end of every run of ones in `nonzero`. A run may have gaps of up
/// to [`MAX_GAP`] zeros.
fn for_runs(nonzero: &[u8], mut each: impl FnMut(usize, usize)) {
    const STEP: usize = 8;
    let mut run: Option<(usize, usize)> = None;
    let mut add = |from: usize, to: usize| {
        run = match run {
            Some((start, end)) if from - end <= MAX_GAP => Some((start, to)),
            before => {
                before.into_iter().for_each(|(start, end)| each(start, end));
                Some((from, to))
            }
        };
    };
    // Most entries equal their neighbours, so first look at several entries at a time.
    let (steps, rest) = nonzero.as_chunks::<STEP>();
    for (number, step) in steps.iter().enumerate() {
        let from = number * STEP;
        match *step {
            [0, 0, 0, 0, 0, 0, 0, 0] => {}
            [1, 1, 1, 1, 1, 1, 1, 1] => add(from, from + STEP),
            _ => {
                (from..)
                    .zip(step)
                    .filter(|(_, flag)| **flag > 0)
                    .for_each(|(at, _)| add(at, at + 1));
            }
        }
    }
    let rest = (steps.len() * STEP..).zip(rest).filter(|(_, flag)| **flag > 0);
    rest.for_each(|(at, _)| add(at, at + 1));
    run.into_iter().for_each(|(start, end)| each(start, end));
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn runs_cover_all_ones_and_have_no_long_gap() {
        let mut rng = Pcg64Mcg::seed_from_u64(41);
        let mut runs = 0;
        for length in 0..300 {
            // Stretches of ones or zeros, most of them longer than a gap may be.
            let mut nonzero = Vec::new();
            while nonzero.len() < length {
                let stretch = rng.random_range(1..40);
                nonzero.extend(vec![u8::from(rng.random_bool(0.5)); stretch]);
            }
            nonzero.truncate(length);
            let mut end_before = None;
            let mut covered = vec![0; length];
            for_runs(&nonzero, |start, end| {
                assert!(
                    nonzero[start] == 1 && nonzero[end - 1] == 1,
                    "runs begin and end with ones"
                );
                assert!(
                    end_before.is_none_or(|before| start - before > MAX_GAP),
                    "runs this close are joined"
                );
                covered[start..end].fill(1);
                end_before = Some(end);
                runs += 1;
            });
            let is_left_out = |(flag, covered): (&u8, &u8)| *flag == 1 && *covered == 0;
            assert!(!nonzero.iter().zip(&covered).any(is_left_out));
            let gaps = nonzero.iter().zip(&covered).map(|(flag, covered)| covered - flag);
            let (longest, _) = gaps.fold((0, 0), |(longest, length), is_in_gap| {
                let length = if is_in_gap == 1 { length + 1 } else { 0 };
                (longest.max(length), length)
            });
            assert!(longest <= MAX_GAP, "{longest} zeros in a run");
        }
        assert!(runs > 300, "{runs} runs");
    }
}
