//! Leaving out what is zero whatever the evidence.
//!
//! An entry of a clique can be non-zero although no state of the whole network agrees with it:
//! some other table forbids it. Findings only take away, so what is zero in the joint distribution
//! without evidence is zero for ever. One propagation finds it, through tables of bytes that say only
//! whether an entry is more than nothing, and with messages that do so too; the tables' entries are at
//! least 1e-300, so no small number is taken for zero. Only then the numbers are computed, of what is
//! left: memory that was never written takes longer to write than all the rest.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::cancel::CancelToken;
use crate::engine::cpu::context::WORTH_THREADS;
use crate::engine::cpu::pass::kernel::ROW_HEAD;
use crate::engine::cpu::pass::report::Report;
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::pass::subtree::Work;
use crate::engine::cpu::tables::factored::Plan;
use crate::engine::cpu::tables::make::{self as tables, Made, Sources, Unmade};
use crate::engine::cpu::tables::multiply::Left;
use crate::engine::cpu::tree::assemble::rows;
use crate::engine::cpu::tree::layout::LONGEST_ROW;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::structure::Structure;
use crate::engine::simd::simd_dispatch;
use crate::network::{Evidence, Factor};
use crate::potential::Entry;
use crate::propagation::Watch;

/// Zeros between two runs of non-zero entries that are multiplied all the same: a row more costs
/// about as much.
pub const GAP: usize = 12;

/// A table is replaced where no more than this share of its entries is left.
const WORTH: f64 = 0.9;

/// The tree of `structure` with tables of `sources` in which entries are left out that are zero in
/// the joint distribution; made and found with all threads there are if the tables are large.
pub fn build<T: Entry>(structure: &Structure, sources: Sources<'_>) -> Tree<T> {
    let network = sources.network;
    let has_zeros = |factor: &Factor| factor.values().contains(&0.0);
    if !network.factors().any(has_zeros) {
        return structure.build(sources, true);
    }
    // First only whether entries are more than nothing, which takes far less room.
    let mut tree = structure.build::<u8>(sources, false);
    let mut state = State::new(&tree);
    state.find_change(network, &tree, &Evidence::none());
    state.enter(&tree, &Evidence::none());
    let threads = sources.threads.filter(|_| state.work() >= WORTH_THREADS);
    let rooms: Vec<_> = tree.nodes.iter().map(Room::new).collect();
    let rooms: Vec<Option<Room>> = match threads {
        Some(threads) => threads.install(|| {
            find(&tree, &mut state, true);
            let rooms = rooms.into_par_iter().enumerate().with_max_len(1);
            rooms.map(|(clique, room)| left_of(&tree, &state, clique, room)).collect()
        }),
        None => {
            find(&tree, &mut state, false);
            let rooms = rooms.into_iter().enumerate();
            rooms.map(|(clique, room)| left_of(&tree, &state, clique, room)).collect()
        }
    };
    drop(state);
    let stride = |clique: usize| tree.nodes[clique].stride;
    let unmade = rooms.iter().enumerate().map(|(clique, room)| {
        let (layout, factors) = (&*structure.layouts()[clique], &*structure.families()[clique]);
        let left = room.as_ref().map(|room| room.left(stride(clique)));
        let plan = if left.is_none() { Plan::new(network, layout, factors) } else { None };
        let entries = match (left, &plan) {
            (Some(left), _) => left.possible.len(),
            (None, Some(_)) => 0,
            (None, None) => layout.entries(),
        };
        Unmade { layout, factors, left, plan, table: vec![T::ZERO; entries] }
    });
    let made = tables::make(sources, unmade.collect());
    let work = made.into_iter().zip(rooms).zip(&mut tree.nodes).zip(structure.layouts());
    let tables = work.map(|(((made, room), node), layout)| {
        let Made { values, exponent, factored } = made;
        if let Some(mut room) = room {
            // Without the room that was not needed.
            room.words.shrink_to_fit();
            node.words = room.words;
        } else if let Some((product, parts)) = factored {
            let ports = layout.ports.len();
            node.stride = ROW_HEAD + ports + parts.len();
            node.words = Vec::with_capacity(layout.rows() * node.stride);
            rows(layout, node.parent.is_some(), &parts, &mut node.words);
            node.factored = Some(product.met_by(ports, &parts));
        }
        (values, exponent)
    });
    let tables: Vec<(Vec<T>, i32)> = tables.collect();
    let mut tree = tree.with_tables(tables);
    tree.compress();
    tree.nodes.iter_mut().for_each(|node| node.pieces = node.cut());
    tree.divide();
    tree
}

/// Propagates without evidence, with messages that only say what can be.
fn find(tree: &Tree<u8>, state: &mut State, forks: bool) {
    let watch = Watch::untimed(CancelToken::new());
    let report = Report { watch: &watch, messages: None };
    let work = Work { tree, report, forks, is_support: true };
    // Where nothing is possible there is nothing to be left out either.
    let _ = state.part().collect_all(&work, &mut watch.worker_clock());
    let _ = state.part().distribute_all(&work, &mut watch.worker_clock());
}

/// Room for what is left of a table. One thread gives it to all: if each had its own, their allocators
/// would hold at times this one's and at times that one's.
struct Room {
    /// The words that describe its rows, and where each of these begins in the whole table.
    words: Vec<u32>,
    starts: Vec<u32>,
    /// For each entry that is left whether it is more than nothing.
    possible: Vec<u8>,
    /// The most that what is left may cost.
    limit: f64,
}

impl Room {
    /// Enough for what is worth leaving of the table of `node`. Pages are taken as they are written.
    fn new(node: &Node<u8>) -> Self {
        let limit = WORTH * cost(node, node.words.len(), node.values.len());
        // A row is looked at as a whole before the limit is.
        let rows = (limit / ROW_COST) as usize + LONGEST_ROW.div_ceil(GAP);
        Self {
            words: Vec::with_capacity(rows * node.stride),
            starts: Vec::with_capacity(rows),
            possible: Vec::with_capacity(node.values.len()),
            limit,
        }
    }

    fn left(&self, stride: usize) -> Left<'_> {
        let Self { words, starts, possible, .. } = self;
        Left { starts, words, stride, possible }
    }
}

/// Entries that a row costs about as much as.
const ROW_COST: f64 = 24.0;

fn cost(node: &Node<u8>, words: usize, values: usize) -> f64 {
    values as f64 + (words / node.stride) as f64 * ROW_COST
}

/// What is left of the table of a clique; `None` if it is not worth it.
fn left_of(tree: &Tree<u8>, state: &State, clique: usize, mut room: Room) -> Option<Room> {
    let node = &tree.nodes[clique];
    let (columns, below, down) = state.inputs(tree, clique);
    let Room { words, starts, possible, limit } = &mut room;
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
        supported.extend_from_slice(entries);
        let tables = columns.vectors.iter().map(|&word| &below[at(word)..]);
        let above = parent.filter(|_| parent_is_vector).map(|at| &down[at..]);
        tables.chain(above).for_each(|table| leave_common(table, &mut supported));
        each_run(&supported, |start, end| {
            let head = words.len();
            words.extend_from_slice(row);
            (words[head], words[head + 1]) = (possible.len() as u32, (end - start) as u32);
            starts.push(row[0] + start as u32);
            if parent_is_vector {
                words[head + ROW_HEAD] += start as u32;
            }
            for (child, _) in node.is_vector.iter().enumerate().filter(|(_, is)| **is) {
                words[head + node.word(child) as usize] += start as u32;
            }
            possible.extend_from_slice(&supported[start..end]);
        });
        if cost(node, words.len(), possible.len()) > *limit {
            return None;
        }
    }
    Some(room)
}

simd_dispatch!(
    /// Leaves in `supported` what is more than nothing in `table` too.
    leave_common, leave_common_entries, (table: &[f64], supported: &mut [u8])
);

#[inline(always)]
fn leave_common_entries(table: &[f64], supported: &mut [u8]) {
    supported.iter_mut().zip(table).for_each(|(is, &other)| *is &= u8::from(other != 0.0));
}

/// Calls `each` with start and end of every run of what is supported, with gaps of at most [`GAP`]
/// inside.
fn each_run(supported: &[u8], mut each: impl FnMut(usize, usize)) {
    const STEP: usize = 8;
    let mut run: Option<(usize, usize)> = None;
    let mut add = |from: usize, to: usize| {
        run = match run {
            Some((start, end)) if from - end <= GAP => Some((start, to)),
            before => {
                before.into_iter().for_each(|(start, end)| each(start, end));
                Some((from, to))
            }
        };
    };
    // Most entries are like their neighbours.
    let (steps, rest) = supported.as_chunks::<STEP>();
    for (number, step) in steps.iter().enumerate() {
        let from = number * STEP;
        match *step {
            [0, 0, 0, 0, 0, 0, 0, 0] => {}
            [1, 1, 1, 1, 1, 1, 1, 1] => add(from, from + STEP),
            _ => {
                (from..).zip(step).filter(|(_, is)| **is > 0).for_each(|(at, _)| add(at, at + 1));
            }
        }
    }
    let rest = (steps.len() * STEP..).zip(rest).filter(|(_, is)| **is > 0);
    rest.for_each(|(at, _)| add(at, at + 1));
    run.into_iter().for_each(|(start, end)| each(start, end));
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn runs_hold_all_that_is_supported_and_no_long_gap() {
        let mut rng = Pcg64Mcg::seed_from_u64(41);
        let mut runs = 0;
        for length in 0..300 {
            // Stretches of both, most of them longer than a gap may be.
            let mut supported = Vec::new();
            while supported.len() < length {
                let stretch = rng.random_range(1..40);
                supported.extend(vec![u8::from(rng.random_bool(0.5)); stretch]);
            }
            supported.truncate(length);
            let mut end_before = None;
            let mut covered = vec![0; length];
            each_run(&supported, |start, end| {
                assert!(supported[start] == 1 && supported[end - 1] == 1, "no zeros around");
                assert!(end_before.is_none_or(|before| start - before > GAP), "a gap");
                covered[start..end].fill(1);
                end_before = Some(end);
                runs += 1;
            });
            let is_left_out = |(is, covered): (&u8, &u8)| *is == 1 && *covered == 0;
            assert!(!supported.iter().zip(&covered).any(is_left_out));
            let gaps = supported.iter().zip(&covered).map(|(is, covered)| covered - is);
            let longest = gaps.fold((0, 0), |(longest, now), is| {
                let now = if is == 1 { now + 1 } else { 0 };
                (longest.max(now), now)
            });
            assert!(longest.0 <= GAP, "{} zeros in a run", longest.0);
        }
        assert!(runs > 300, "{runs} runs");
    }
}
