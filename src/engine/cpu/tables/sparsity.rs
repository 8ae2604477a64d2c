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

use std::ops::Range;

use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator,
};

use crate::allocate;
use crate::cancel::CancelToken;
use crate::engine::cpu::context::{MIN_PARALLEL_ENTRIES, TableInputs};
use crate::engine::cpu::memory::Products;
use crate::engine::cpu::pass::report::Report;
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::pass::traversal::PassContext;
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tables::make::{TableRequest, make_tables};
use crate::engine::cpu::tables::multiply::SparseRows;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::rows::{ROW_HEAD, write_rows};
use crate::engine::cpu::tree::structure::Structure;
use crate::engine::simd::simd_dispatch;
use crate::lowering::Optimisation;
use crate::network::{Evidence, Factor};
use crate::potential::Entry;
use crate::propagation::Watch;

/// Maximum number of zeros between two runs of nonzero entries that share a row. A separate row
/// would cost at least as much as these zeros. Tuned on the paper's eight networks; if it is wrong,
/// only speed and memory change.
pub const MAX_GAP: usize = 12;

/// The fixed cost of a row, as a number of entries that cost the same. Tuned as [`MAX_GAP`] was.
const ROW_COST: usize = 24;

/// Zeros are removed from a table only if a pass over the sparse table costs at most this share of
/// the cost of a pass over the full table. At a larger share, the table may be faster in factored
/// form. Tuned as [`MAX_GAP`] was; if it is wrong, only speed and memory change.
const MAX_COST_SHARE: f64 = 0.9;

/// A tree whose rows are laid out, and how each of its tables is made.
///
/// It holds no probabilities, so the memory of the tree is known before any table is allocated.
pub struct TreePlan {
    tree: Tree,
    /// By clique.
    tables: Vec<TablePlan>,
    /// The messages with which the plan was made, as memory for those of a propagation.
    memory: State,
    /// The peak of the memory in use while the plan was made, in bytes.
    planning_bytes: usize,
}

/// How the table of a clique is made.
enum TablePlan {
    /// With all its entries.
    Full,
    /// As a product of smaller tables.
    Factored(FactoringPlan),
    /// Without entries that are always zero.
    Sparse {
        /// By row: its first entry in the full table.
        starts: Vec<u32>,
        /// For each entry of the rows: 1 if the entry can be nonzero, otherwise 0.
        possible: Vec<u8>,
    },
}

impl TreePlan {
    /// The plan for the tree of `structure`: entries that are zero whatever the evidence are left
    /// out of the tables for which this pays off. `None` if no factor has a zero. Works on the
    /// threads of `inputs` if there is much to do.
    pub fn new(structure: &Structure, inputs: TableInputs<'_>) -> Option<Self> {
        let has_zeros = |factor: &Factor| factor.values().contains(&0.0);
        let optimisations = inputs.optimisations;
        if !optimisations.has(Optimisation::Sparsity) || !inputs.network.factors().any(has_zeros) {
            return None;
        }
        let boolean = FilledTree::<u8>::build(structure, inputs, false);
        let (sparse, memory) = find_sparsity(&boolean, inputs);
        let messages_bytes = written_bytes(&memory);
        let sparse_bytes: usize = sparse.iter().flatten().map(SparseTable::bytes).sum();
        let mut products = Products::default();
        let cliques = structure.layouts.iter().zip(&structure.shape.factors);
        cliques.for_each(|(layout, factors)| products.add(layout.entries(), factors.len()));
        let temporary_bytes = products.bytes().max(messages_bytes + sparse_bytes);
        let planning_bytes = boolean.bytes() + temporary_bytes;
        let mut tree = boolean.tree;
        drop(boolean.tables);
        let cliques = tree.nodes.iter_mut().zip(&structure.layouts).zip(&structure.shape.factors);
        let tables = cliques.zip(sparse).map(|(((node, layout), factors), sparse)| {
            match (sparse, FactoringPlan::new(inputs, layout, factors)) {
                (Some(SparseTable { words, starts, possible, .. }), _) => {
                    (node.words, node.entries) = (words, possible.len());
                    TablePlan::Sparse { starts, possible }
                }
                (None, Some(plan)) => {
                    let groups = plan.ports(inputs.network, layout);
                    node.stride = ROW_HEAD + layout.ports.len() + groups.len();
                    node.words = allocate::with_capacity(layout.row_count() * node.stride);
                    write_rows(layout, node.parent.is_some(), &groups, &mut node.words);
                    TablePlan::Factored(plan)
                }
                (None, None) => TablePlan::Full,
            }
        });
        let tables = tables.collect();
        if optimisations.has(Optimisation::CompressedSeparators) {
            tree.compress();
        }
        tree.nodes.iter_mut().for_each(|node| node.divide_rows(optimisations));
        tree.update_derived();
        Some(Self { tree, tables, memory, planning_bytes })
    }

    /// The memory for making the tree, with table entries of `width` bytes, and for one propagation
    /// in it.
    pub fn bytes(&self, structure: &Structure, width: usize) -> usize {
        let (mut held, mut patterns, mut products) = (self.tree.bytes(), 0, Products::default());
        for (clique, table) in self.tables.iter().enumerate() {
            let layout = &structure.layouts[clique];
            held += match table {
                TablePlan::Full => layout.entries() * width,
                TablePlan::Factored(plan) => plan.bytes(),
                TablePlan::Sparse { starts, possible } => {
                    patterns += size_of_val::<[u32]>(starts) + possible.len();
                    possible.len() * width
                }
            };
            if !matches!(table, TablePlan::Factored(_)) {
                products.add(layout.entries(), structure.shape.factors[clique].len());
            }
        }
        let masks = size_of::<f64>() * self.tree.above;
        let held = held + written_bytes(&self.memory);
        (held + masks.max(patterns + products.bytes())).max(self.planning_bytes)
    }

    /// Makes the tables. Large tables are made on the threads of `inputs`. Also returns memory for
    /// the messages of a propagation.
    pub fn fill<T: Entry>(
        self,
        structure: &Structure,
        inputs: TableInputs<'_>,
    ) -> (FilledTree<T>, State) {
        let Self { tree, tables, mut memory, .. } = self;
        // Entries that receive no message must be zero.
        memory.up.fill(0.0);
        let requests = tables.iter().enumerate().map(|(clique, table)| {
            let layout = &*structure.layouts[clique];
            let factors = &*structure.shape.factors[clique];
            let (entries, sparse, plan) = match table {
                TablePlan::Full => (layout.entries(), None, None),
                TablePlan::Factored(plan) => (0, None, Some((plan, plan.memory()))),
                TablePlan::Sparse { starts, possible } => {
                    let Node { words, stride, .. } = &tree.nodes[clique];
                    let rows = SparseRows { starts, words, stride: *stride, possible };
                    (possible.len(), Some(rows), None)
                }
            };
            TableRequest { layout, factors, sparse, plan, table: allocate::zeros(entries) }
        });
        let tables = make_tables(inputs, requests.collect());
        (FilledTree { tree, tables }, memory)
    }
}

/// The nonzero entries of each clique's table; `None` for a clique for which removing zeros does
/// not pay off. Also returns the boolean messages.
fn find_sparsity(
    boolean: &FilledTree<u8>,
    inputs: TableInputs<'_>,
) -> (Vec<Option<SparseTable>>, State) {
    let tree = &boolean.tree;
    let mut state = State::new(tree);
    state.find_change(inputs.network, tree, &Evidence::none());
    state.enter(tree, &Evidence::none());
    let threads = inputs.threads.filter(|_| state.work() >= MIN_PARALLEL_ENTRIES);
    let sizes: Vec<_> = match threads {
        Some(threads) => threads.install(|| {
            propagate(boolean, &mut state, true);
            let cliques = (0..tree.nodes.len()).into_par_iter().with_max_len(1);
            cliques.map(|clique| SparseSize::find(boolean, &state, clique)).collect()
        }),
        None => {
            propagate(boolean, &mut state, false);
            let cliques = 0..tree.nodes.len();
            cliques.map(|clique| SparseSize::find(boolean, &state, clique)).collect()
        }
    };
    // One thread allocates all memory. With an allocation per thread, the peak would depend on
    // which thread's allocator keeps what.
    let new = |(size, node): (&Option<SparseSize>, &Node)| {
        size.as_ref().map(|size| SparseTable::with_capacity(size, node.stride))
    };
    let mut found: Vec<Option<SparseTable>> = sizes.iter().zip(&tree.nodes).map(new).collect();
    let fill = |(clique, table): (usize, &mut Option<SparseTable>)| {
        if let Some(table) = table {
            table.fill(boolean, &state, clique);
        }
    };
    match threads {
        Some(threads) => threads.install(|| {
            found.par_iter_mut().enumerate().with_max_len(1).for_each(fill);
        }),
        None => found.iter_mut().enumerate().for_each(fill),
    }
    (found, state)
}

/// Bytes of the messages of a propagation without findings, which writes no masks.
fn written_bytes(messages: &State) -> usize {
    messages.bytes() - size_of_val::<[f64]>(&messages.mask)
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

/// The size of a table without entries that are always zero.
struct SparseSize {
    rows: usize,
    entries: usize,
}

impl SparseSize {
    /// The size of the table of `clique` after the boolean propagation in `state`; `None` if
    /// leaving out the other entries does not pay off.
    fn find(boolean: &FilledTree<u8>, state: &State, clique: usize) -> Option<Self> {
        let node = &boolean.tree.nodes[clique];
        let max_cost = MAX_COST_SHARE * cost(node.row_count(), node.entries);
        let mut size = Self { rows: 0, entries: 0 };
        for_nonzero_runs(boolean, state, clique, |_, _, run| {
            (size.rows, size.entries) = (size.rows + 1, size.entries + run.len());
        });
        (cost(size.rows, size.entries) <= max_cost).then_some(size)
    }
}

/// The entries of a table that can be nonzero.
struct SparseTable {
    /// The words of the rows. The first word of a row is a position in the sparse table.
    words: Vec<u32>,
    /// By row: its first entry in the full table.
    starts: Vec<u32>,
    /// For each entry of the rows: 1 if the entry can be nonzero, otherwise 0.
    possible: Vec<u8>,
}

impl SparseTable {
    /// A table without rows, with memory for a table of the given size. Rows have `stride` words.
    fn with_capacity(size: &SparseSize, stride: usize) -> Self {
        Self {
            words: allocate::with_capacity(size.rows * stride),
            starts: allocate::with_capacity(size.rows),
            possible: allocate::with_capacity(size.entries),
        }
    }

    /// Bytes of the rows, and of the list of entries that can be nonzero.
    fn bytes(&self) -> usize {
        let Self { words, starts, possible, .. } = self;
        size_of_val::<[u32]>(words) + size_of_val::<[u32]>(starts) + possible.len()
    }

    /// Adds the entries of `clique` that are nonzero after the boolean propagation in `state`.
    fn fill(&mut self, boolean: &FilledTree<u8>, state: &State, clique: usize) {
        let node = &boolean.tree.nodes[clique];
        for_nonzero_runs(boolean, state, clique, |row, nonzero, run| {
            self.add_row(node, row, nonzero, run);
        });
    }

    /// Adds a row with the entries `start..end` of the full row `row`. `nonzero` is 1 for the
    /// entries of `row` that can be nonzero, otherwise 0.
    fn add_row(
        &mut self,
        node: &Node,
        row: &[u32],
        nonzero: &[u8],
        Range { start, end }: Range<usize>,
    ) {
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

/// Calls `each` for every run of entries of `clique` that are nonzero after the boolean propagation
/// in `state`. The arguments are the words of the full row, a flag for each of its entries (1 if
/// the entry can be nonzero), and the range of the run in the row.
fn for_nonzero_runs(
    boolean: &FilledTree<u8>,
    state: &State,
    clique: usize,
    mut each: impl FnMut(&[u32], &[u8], Range<usize>),
) {
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
        for_runs(&nonzero, |start, end| each(row, &nonzero, start..end));
    }
}

/// The cost of a pass over a table, as a number of entries.
fn cost(rows: usize, entries: usize) -> f64 {
    (entries + rows * ROW_COST) as f64
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
