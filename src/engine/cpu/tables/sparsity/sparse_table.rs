//! The entries of a clique's table that are possible, as rows of a sparse table.

use std::ops::Range;

use crate::allocate;
use crate::engine::cpu::table_free::supports::Supports;
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tree::layout::PortLayout;
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::structure::Structure;
use crate::engine::simd::simd_dispatch;

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

/// What the separators of a clique say about its entries, in the index orders of its ports.
pub struct PortSupports {
    /// By entry of the separator to the parent: whether it is possible; empty if all are.
    parent: Vec<bool>,
    /// By child: the same for the separator to it.
    children: Vec<Vec<bool>>,
}

impl PortSupports {
    /// The supports at the ports of `clique`. `structure` must have the origin of every clique.
    pub fn new(supports: &Supports, structure: &Structure, clique: usize) -> Self {
        let ports = &structure.layouts[clique].ports;
        let (own, below) = ports.split_at(usize::from(structure.shape.parents[clique].is_some()));
        let in_order = |(clique, port): (usize, &PortLayout)| {
            let separator = structure.shape.origins[clique].and_then(|origin| origin.separator);
            let support = separator.and_then(|separator| supports.get(separator));
            support.map(|support| support.by_entry(&port.scope)).unwrap_or_default()
        };
        let children = structure.children[clique].iter().copied().zip(below).map(in_order);
        let parent = own.first().map(|port| in_order((clique, port))).unwrap_or_default();
        Self { parent, children: children.collect() }
    }
}

/// The size of a table without entries that are not possible.
pub struct SparseSize {
    rows: usize,
    entries: usize,
}

impl SparseSize {
    /// The size of the table of `clique` without the entries that are zero in its `boolean` table
    /// or not possible according to `supports`; `None` if leaving these out does not pay off.
    pub fn find(boolean: &FilledTree<u8>, supports: &PortSupports, clique: usize) -> Option<Self> {
        let node = &boolean.tree.nodes[clique];
        let max_cost = MAX_COST_SHARE * cost(node.row_count(), node.entries);
        let mut size = Self { rows: 0, entries: 0 };
        for_possible_runs(boolean, supports, clique, |_, _, run| {
            (size.rows, size.entries) = (size.rows + 1, size.entries + run.len());
        });
        (cost(size.rows, size.entries) <= max_cost).then_some(size)
    }
}

/// The entries of a table that are possible.
pub struct SparseTable {
    /// The words of the rows. The first word of a row is a position in the sparse table.
    pub words: Vec<u32>,
    /// By row: its first entry in the full table.
    pub starts: Vec<u32>,
    /// For each entry of the rows: 1 if the entry is possible, otherwise 0.
    pub possible: Vec<u8>,
}

impl SparseTable {
    /// A table without rows, with memory for a table of the given size. Rows have `stride` words.
    pub fn with_capacity(size: &SparseSize, stride: usize) -> Self {
        Self {
            words: allocate::with_capacity(size.rows * stride),
            starts: allocate::with_capacity(size.rows),
            possible: allocate::with_capacity(size.entries),
        }
    }

    /// Bytes of the rows, and of the flags of their entries.
    pub fn bytes(&self) -> usize {
        let Self { words, starts, possible, .. } = self;
        size_of_val::<[u32]>(words) + size_of_val::<[u32]>(starts) + possible.len()
    }

    /// Adds the entries of `clique` that are nonzero in its `boolean` table and possible according
    /// to `supports`.
    pub fn fill(&mut self, boolean: &FilledTree<u8>, supports: &PortSupports, clique: usize) {
        let node = &boolean.tree.nodes[clique];
        for_possible_runs(boolean, supports, clique, |row, possible, run| {
            self.add_row(node, row, possible, run);
        });
    }

    /// Adds a row with the entries `start..end` of the full row `row`. `possible` is 1 for the
    /// entries of `row` that are possible, otherwise 0.
    fn add_row(
        &mut self,
        node: &Node,
        row: &[u32],
        possible: &[u8],
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
        self.possible.extend_from_slice(&possible[start..end]);
    }
}

/// Calls `each` for every run of entries of `clique` that are possible. A run may have gaps of up
/// to [`MAX_GAP`] other entries. The arguments are the words of the full row, a flag for each of
/// its entries (1 if it is possible), and the range of the run in the row.
fn for_possible_runs(
    boolean: &FilledTree<u8>,
    supports: &PortSupports,
    clique: usize,
    mut each: impl FnMut(&[u32], &[u8], Range<usize>),
) {
    let node = &boolean.tree.nodes[clique];
    let values = &boolean.tables[clique].values;
    // For each port with a support: the word of a row that points to it, what to subtract from the
    // word, the support, and whether a row meets several of its entries.
    let parent = node.port.filter(|_| !supports.parent.is_empty());
    let parent = parent.map(|port| (port.word, 0, &*supports.parent, port.is_vector));
    let children =
        supports.children.iter().enumerate().filter(|(_, possible)| !possible.is_empty());
    let children = children.map(|(child, possible)| {
        let start = node.tables[child].start;
        (node.word(child) as usize, start, &**possible, node.is_vector[child])
    });
    let (vectors, scalars): (Vec<_>, Vec<_>) =
        parent.into_iter().chain(children).partition(|(.., is_vector)| *is_vector);
    let mut possible = Vec::new();
    for row in node.words.chunks_exact(node.stride) {
        let at = |word: usize, start: usize| row[word] as usize - start;
        if scalars.iter().any(|&(word, start, table, _)| !table[at(word, start)]) {
            continue;
        }
        possible.clear();
        possible.extend_from_slice(&values[row[0] as usize..][..row[1] as usize]);
        for &(word, start, table, _) in &vectors {
            retain_possible(&table[at(word, start)..], &mut possible);
        }
        for_runs(&possible, |start, end| each(row, &possible, start..end));
    }
}

/// The cost of a pass over a table, as a number of entries.
fn cost(rows: usize, entries: usize) -> f64 {
    (entries + rows * ROW_COST) as f64
}

simd_dispatch!(
    /// Sets the flags in `possible` to 0 at the positions where `table` is false.
    retain_possible, retain_possible_entries, (table: &[bool], possible: &mut [u8])
);

#[inline(always)]
fn retain_possible_entries(table: &[bool], possible: &mut [u8]) {
    possible.iter_mut().zip(table).for_each(|(flag, &entry)| *flag &= u8::from(entry));
}

/// Calls `each` with the start and end of every run of ones in `possible`. A run may have gaps of
/// up to [`MAX_GAP`] zeros.
fn for_runs(possible: &[u8], mut each: impl FnMut(usize, usize)) {
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
    let (steps, rest) = possible.as_chunks::<STEP>();
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
            let mut possible = Vec::new();
            while possible.len() < length {
                let stretch = rng.random_range(1..40);
                possible.extend(vec![u8::from(rng.random_bool(0.5)); stretch]);
            }
            possible.truncate(length);
            let mut end_before = None;
            let mut covered = vec![0; length];
            for_runs(&possible, |start, end| {
                assert!(
                    possible[start] == 1 && possible[end - 1] == 1,
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
            assert!(!possible.iter().zip(&covered).any(is_left_out));
            let gaps = possible.iter().zip(&covered).map(|(flag, covered)| covered - flag);
            let (longest, _) = gaps.fold((0, 0), |(longest, length), is_in_gap| {
                let length = if is_in_gap == 1 { length + 1 } else { 0 };
                (longest.max(length), length)
            });
            assert!(longest <= MAX_GAP, "{longest} zeros in a run");
        }
        assert!(runs > 300, "{runs} runs");
    }
}
