//! Leaving out what is zero whatever the evidence.
//!
//! An entry of a clique can be non-zero although no state of the whole network agrees with it:
//! some other table forbids it. Findings only take away, so what is zero in the joint distribution
//! without evidence is zero for ever. One propagation finds it. Its messages are made to say only
//! whether, 0 or 1, and the tables' entries are at least 1e-300, so no small number is taken for zero.

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::cancel::CancelToken;
use crate::engine::cpu::kernel::ROW_HEAD;
use crate::engine::cpu::loaded::WORTH_THREADS;
use crate::engine::cpu::message::Columns;
use crate::engine::cpu::part::Work;
use crate::engine::cpu::report::Report;
use crate::engine::cpu::state::{Model, State};
use crate::engine::cpu::tree::{Node, Tree};
use crate::network::{Evidence, Network};
use crate::potential::Real;
use crate::propagation::Watch;

/// Zeros between two runs of non-zero entries that are multiplied all the same: a row more costs
/// about as much.
pub(super) const GAP: usize = 12;

/// A table is replaced where no more than this share of its entries is left.
const WORTH: f64 = 0.9;

/// Leaves out of the tables of `model` the entries that are zero in the joint distribution; with
/// all `threads` there are if the tables are large.
pub(super) fn compact<T: Real>(
    network: &Network,
    model: &mut Model<T>,
    threads: Option<&ThreadPool>,
) {
    let Model { tree, state } = model;
    state.find_change(network, tree, &Evidence::none());
    state.enter(tree, &Evidence::none());
    match threads.filter(|_| state.work() >= WORTH_THREADS) {
        Some(threads) => {
            let tables: Vec<_> = threads.install(|| {
                find(tree, state, true);
                let nodes = (0..tree.nodes.len()).into_par_iter().with_max_len(1);
                nodes.map(|clique| left_of(tree, state, clique)).collect()
            });
            tree.nodes.iter_mut().zip(tables).for_each(|(node, table)| replace(node, table));
        }
        None => {
            find(tree, state, false);
            for clique in 0..tree.nodes.len() {
                let table = left_of(tree, state, clique);
                replace(&mut tree.nodes[clique], table);
            }
        }
    }
    tree.compress();
    tree.divide();
    *state = State::new(tree);
}

/// Propagates without evidence, with messages that only say what can be.
fn find<T: Real>(tree: &Tree<T>, state: &mut State, forks: bool) {
    let watch = Watch::untimed(CancelToken::new());
    let report = Report { watch: &watch, ids: &[] };
    let work = Work { tree, report, forks, is_support: true };
    // Where nothing is possible there is nothing to be left out either.
    let _ = state.part().collect(&work, None);
    let _ = state.part().distribute(&work, None);
}

/// The rows of what is left of a table, and its entries; `None` if it is not worth it.
type Left<T> = Option<(Vec<u32>, Vec<T>)>;

/// Puts into `node` what is left of its table: copies without the room that growing took, in memory
/// of this thread, so that none of those that grew them holds any.
fn replace<T: Real>(node: &mut Node<T>, left: Left<T>) {
    if let Some((words, values)) = left {
        (node.words, node.values) = (words.clone(), values.clone().into());
    }
}

fn left_of<T: Real>(tree: &Tree<T>, state: &State, clique: usize) -> Left<T> {
    let (columns, below, down) = state.inputs(tree, clique);
    left(&tree.nodes[clique], columns, below, down)
}

fn left<T: Real>(node: &Node<T>, columns: &Columns, below: &[f64], down: &[f64]) -> Left<T> {
    let (mut words, mut values) = (Vec::new(), Vec::new());
    let parent_is_vector = node.port.is_some_and(|port| port.is_vector);
    let mut supported = Vec::new();
    for row in node.words.chunks_exact(node.stride) {
        let at = |word: u32| row[word as usize] as usize;
        let parent = node.port.map(|port| row[port.word] as usize);
        let whole = columns.scalars.iter().all(|&word| below[at(word)] != 0.0);
        if !whole || parent.is_some_and(|at| !parent_is_vector && down[at] == 0.0) {
            continue;
        }
        let entries = &node.values[row[0] as usize..][..row[1] as usize];
        supported.clear();
        supported.extend(entries.iter().map(|&entry| entry != T::ZERO));
        let tables = columns.vectors.iter().map(|&word| &below[at(word)..]);
        let above = parent.filter(|_| parent_is_vector).map(|at| &down[at..]);
        for table in tables.chain(above) {
            supported.iter_mut().zip(table).for_each(|(is, &other)| *is &= other != 0.0);
        }
        for (start, end) in runs(&supported) {
            let head = words.len();
            words.extend_from_slice(row);
            (words[head], words[head + 1]) = (values.len() as u32, (end - start) as u32);
            if parent_is_vector {
                words[head + ROW_HEAD] += start as u32;
            }
            for (child, _) in node.is_vector.iter().enumerate().filter(|(_, is)| **is) {
                words[head + node.word(child) as usize] += start as u32;
            }
            let kept = entries[start..end].iter().zip(&supported[start..end]);
            values.extend(kept.map(|(&entry, &is)| if is { entry } else { T::ZERO }));
        }
    }
    // A row costs about as much as this many entries.
    let cost = |words: usize, values: usize| (values + words / node.stride * 24) as f64;
    let (before, after) =
        (cost(node.words.len(), node.values.len()), cost(words.len(), values.len()));
    (after <= WORTH * before).then_some((words, values))
}

/// The runs of what is supported, with gaps of at most [`GAP`] inside.
fn runs(supported: &[bool]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in supported.iter().enumerate().filter(|(_, is)| **is) {
        match runs.last_mut() {
            Some((_, end)) if at - *end <= GAP => *end = at + 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}
