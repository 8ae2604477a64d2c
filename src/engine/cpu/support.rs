//! Leaving out what is zero whatever the evidence.
//!
//! An entry of a clique can be non-zero although no state of the whole network agrees with it:
//! some other table forbids it. Findings only take away, so what is zero in the joint distribution
//! without evidence is zero for ever. One propagation finds it. Its messages are made to say only
//! whether, 0 or 1, and the tables' entries are at least 1e-300, so no small number is taken for zero.

use crate::cancel::CancelToken;
use crate::engine::cpu::kernel::ROW_HEAD;
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

/// Leaves out of the tables of `model` the entries that are zero in the joint distribution.
pub(super) fn compact<T: Real>(network: &Network, model: &mut Model<T>) {
    let Model { tree, state } = model;
    find(network, tree, state);
    for clique in 0..tree.nodes.len() {
        let (columns, below, down) = state.inputs(tree, clique);
        if let Some((words, values)) = left(&tree.nodes[clique], columns, below, down) {
            let node = &mut tree.nodes[clique];
            (node.words, node.values) = (words, values.into());
        }
    }
    tree.compress();
    tree.divide();
    *state = State::new(tree);
}

/// Propagates without evidence, with messages that only say what can be, 0 or 1.
fn find<T: Real>(network: &Network, tree: &Tree<T>, state: &mut State) {
    let one = |values: &mut [f64]| values.iter_mut().for_each(|v| *v = f64::from(*v > 0.0));
    let watch = Watch::untimed(CancelToken::new());
    let report = Report { watch: &watch, ids: &[] };
    let work = Work { tree, report, forks: false };
    state.find_change(network, tree, &Evidence::none());
    state.enter(tree, &Evidence::none());
    let mut part = state.part();
    for (clique, node) in tree.nodes.iter().enumerate().skip(1).rev() {
        let (before, mut own) = part.split_at(tree, clique);
        let up = &mut before.up[node.in_parent.clone()];
        // Without evidence something is always possible.
        let _ = own.send_up(&work, up);
        if own.cliques[0].is_needed {
            one(&mut own.raw[..node.above.len()]);
            one(up);
        }
    }
    part.activate(tree);
    part.spread(&work);
    for (clique, node) in tree.nodes.iter().enumerate().skip(1) {
        let (before, mut own) = part.split_at(tree, clique);
        own.receive(tree, &before.beliefs[node.in_parent.clone()]);
        one(&mut own.down[..node.above.len()]);
        own.spread(&work);
    }
}

/// The rows of what is left of a table, and its entries; `None` if it is not worth it.
fn left<T: Real>(
    node: &Node<T>,
    columns: &Columns,
    below: &[f64],
    down: &[f64],
) -> Option<(Vec<u32>, Vec<T>)> {
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
