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
use crate::engine::cpu::layout::LONGEST_ROW;
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
            let rooms: Vec<_> = tree.nodes.iter().map(Room::new).collect();
            let tables: Vec<_> = threads.install(|| {
                find(tree, state, true);
                let nodes = rooms.into_par_iter().enumerate().with_max_len(1);
                nodes.map(|(clique, room)| left_of(tree, state, clique, room)).collect()
            });
            tree.nodes.iter_mut().zip(tables).for_each(|(node, table)| replace(node, table));
        }
        None => {
            find(tree, state, false);
            for clique in 0..tree.nodes.len() {
                let table = left_of(tree, state, clique, Room::new(&tree.nodes[clique]));
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

/// Room for the rows of what is left of a table, and for its entries. One thread gives it to all: if
/// each had its own, their allocators would hold at times this one's and at times that one's.
struct Room<T> {
    words: Vec<u32>,
    values: Vec<T>,
    /// The most that what is left may cost.
    limit: f64,
}

impl<T: Real> Room<T> {
    /// Enough for what is worth leaving of the table of `node`. Pages are taken as they are written.
    fn new(node: &Node<T>) -> Self {
        let limit = WORTH * cost(node, node.words.len(), node.values.len());
        // A row is looked at as a whole before the limit is.
        let rows = (limit / ROW_COST) as usize + LONGEST_ROW.div_ceil(GAP);
        let words = Vec::with_capacity(rows * node.stride);
        Self { words, values: Vec::with_capacity(node.values.len()), limit }
    }
}

/// Entries that a row costs about as much as.
const ROW_COST: f64 = 24.0;

fn cost<T>(node: &Node<T>, words: usize, values: usize) -> f64 {
    values as f64 + (words / node.stride) as f64 * ROW_COST
}

/// Puts into `node` what is left of its table, without the room that was not needed.
fn replace<T: Real>(node: &mut Node<T>, left: Option<Room<T>>) {
    if let Some(Room { mut words, mut values, .. }) = left {
        words.shrink_to_fit();
        values.shrink_to_fit();
        (node.words, node.values) = (words, values);
    }
}

fn left_of<T: Real>(
    tree: &Tree<T>,
    state: &State,
    clique: usize,
    room: Room<T>,
) -> Option<Room<T>> {
    let (columns, below, down) = state.inputs(tree, clique);
    left(&tree.nodes[clique], columns, (below, down), room)
}

/// What is left of the table of `node`; `None` if it is not worth it.
fn left<T: Real>(
    node: &Node<T>,
    columns: &Columns,
    (below, down): (&[f64], &[f64]),
    mut room: Room<T>,
) -> Option<Room<T>> {
    let Room { words, values, limit } = &mut room;
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
        if cost(node, words.len(), values.len()) > *limit {
            return None;
        }
    }
    Some(room)
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
