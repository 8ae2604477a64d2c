//! Shortens the critical path of a propagation with shortcuts past messages.
//!
//! However small a message is, its reader waits until another block has computed and written it,
//! and the critical path through a junction tree has dozens of messages. But a message is linear in
//! each of its inputs, so the message along a path of cliques is a product of matrices. The
//! messages that these matrices depend on come from outside the path, and are complete early.
//! Therefore an operation on the critical path skips the message that it would wait for, and reads
//! instead the input that this message waits for. All other inputs of the operation and of the
//! skipped message are complete by then. The operation either multiplies them too, and sums over
//! more variables, or an added operation combines them into a matrix beforehand, and the operation
//! multiplies the input by this matrix. Products of such matrices shorten a path of n cliques to
//! about log n messages (D. M. Pennock, Logarithmic time parallel Bayesian inference, UAI 1998).
//! All messages are still computed, but the critical path has fewer of them.

mod replace;

use std::collections::{HashMap, HashSet};
use std::iter::successors;

use rayon::prelude::*;

use self::replace::{AddedMessage, MessageKey};
use super::operations::{Operation, RowFits};
use super::work_items::estimate_latency;
use crate::network::Network;

// The constants below were tuned on the paper's networks, and affect only speed.

/// Maximum number of products that all shortcuts together add, except in large networks.
const MAX_ADDED: i64 = 2_000_000;

/// In large networks, the shortcuts together may add one product for every `ADDED_SHARE` products
/// of the operations without shortcuts.
const ADDED_SHARE: i64 = 10;

/// Shortcuts costing up to this multiple of the cheapest are taken in the same round.
const MAX_PRICE_RATIO: f64 = 16.0;

/// The search ends once its rounds have visited this many operations in total. This bounds the time
/// of the search in very large networks.
const MAX_VISITED: usize = 4_000_000;

/// Minimum time in nanoseconds that a shortcut must save.
const MIN_SAVED: u64 = 500;

/// Adds shortcuts to `all`, in which the inputs of each operation come before it.
///
/// Returns the operations in an order with the same property, and the new number of each operation
/// of `all`.
pub(super) fn add(
    all: Vec<Operation>,
    network: &Network,
    row_fits: RowFits,
) -> (Vec<Operation>, Vec<usize>) {
    let originals = all.len();
    let max_added = MAX_ADDED.max(all.iter().map(products).sum::<i64>() / ADDED_SHARE);
    let mut search = ShortcutSearch::new(all, network, row_fits);
    let (mut added, mut visited) = (0, 0);
    // The operations that were replaced since the critical path last became shorter, as they were
    // before they were replaced.
    let mut without_gain = Vec::new();
    let mut shortest = search.critical_path_length();
    'rounds: while visited < MAX_VISITED {
        visited += search.all.len();
        let found = search.shortcuts_on_critical_path();
        let Some(lowest_price) = found.first().map(|cheapest| cheapest.price) else { break };
        // Of two neighbours on the path, a round replaces at most one.
        let (mut replaced, mut skipped) = (HashSet::new(), HashSet::new());
        let max_price = MAX_PRICE_RATIO * lowest_price;
        for shortcut in found.iter().take_while(|shortcut| shortcut.price <= max_price) {
            let is_apart =
                !skipped.contains(&shortcut.operation) && !replaced.contains(&shortcut.skipped);
            if !is_apart || !replaced.insert(shortcut.operation) {
                continue;
            }
            skipped.insert(shortcut.skipped);
            added += shortcut.added;
            if added > max_added {
                break 'rounds;
            }
            without_gain.extend(search.apply(shortcut));
        }
        search.find_ends();
        let critical_path = search.critical_path_length();
        if critical_path < shortest {
            shortest = critical_path;
            without_gain.clear();
        }
    }
    for (number, before) in without_gain.into_iter().rev() {
        search.all[number] = before;
    }
    sorted(search.all, originals)
}

/// The number of products that an operation sums if none is zero; at most 2^48, so that sums of
/// such numbers do not overflow.
fn products(operation: &Operation) -> i64 {
    let (rows, entries) = (operation.rows.entries() as u64, operation.summed.entries() as u64);
    rows.saturating_mul(entries).min(1 << 48) as i64
}

/// How an operation avoids reading the message that it skips.
#[derive(Clone, Copy)]
enum ShortcutKind {
    /// The operation also sums over the variables of the shortcut's input.
    LongerSum,
    /// The operation multiplies by a matrix: an added message over the rows of the operation and of
    /// the input, in which all other variables have been summed out.
    Matrix,
}

/// A replacement of one input of an operation.
struct Shortcut {
    operation: usize,
    /// The message that the operation waits for.
    skipped: usize,
    /// The message that `skipped` waits for, which the operation reads instead.
    input: usize,
    kind: ShortcutKind,
    /// The number of additional products.
    added: i64,
    /// Additional products per nanosecond saved.
    price: f64,
}

/// The operations with their estimated times, and the messages added for shortcuts.
struct ShortcutSearch<'a> {
    network: &'a Network,
    row_fits: RowFits<'a>,
    all: Vec<Operation>,
    /// For each operation the time in nanoseconds from the end of its last input to its own end.
    latencies: Vec<u64>,
    /// When each operation ends, in nanoseconds.
    ends: Vec<u64>,
    /// The operations in an order in which most of them come after their inputs.
    order: Vec<usize>,
    /// The number of each added message.
    known: HashMap<MessageKey, usize>,
}

impl<'a> ShortcutSearch<'a> {
    fn new(all: Vec<Operation>, network: &'a Network, row_fits: RowFits<'a>) -> Self {
        let latencies = all.iter().map(|operation| estimate_latency(operation, network)).collect();
        let (ends, order, known) = (Vec::new(), Vec::new(), HashMap::new());
        let mut search = Self { network, row_fits, all, latencies, ends, order, known };
        search.find_ends();
        search
    }

    /// The length of the critical path in nanoseconds.
    fn critical_path_length(&self) -> u64 {
        self.ends.iter().copied().max().unwrap_or(0)
    }

    /// Computes when each operation ends if there is a free block for every work item.
    fn find_ends(&mut self) {
        self.ends.clear();
        self.ends.resize(self.all.len(), 0);
        let added = self.order.len()..self.all.len();
        self.order = inputs_first(&self.all, self.order.iter().copied().chain(added));
        for &number in &self.order {
            let inputs = self.all[number].factors.iter().map(|&(factor, _)| self.ends[factor]);
            self.ends[number] = inputs.max().unwrap_or(0) + self.latencies[number];
        }
    }

    /// The input of `operation` that ends last; `None` if there are no inputs.
    fn last_input(&self, operation: usize) -> Option<usize> {
        let factors = self.all[operation].factors.iter().map(|(factor, _)| *factor);
        factors.max_by_key(|&factor| self.ends[factor])
    }

    /// When `operation` would end, in nanoseconds, if its latency were `latency`. Some of its
    /// inputs may be among `added`.
    fn end(&self, operation: &Operation, latency: u64, added: &[AddedMessage]) -> u64 {
        let end_of = |factor: usize| match self.ends.get(factor) {
            Some(&end) => end,
            None => added[factor - self.ends.len()].end,
        };
        let inputs = operation.factors.iter().map(|(factor, _)| end_of(*factor));
        inputs.max().unwrap_or(0) + latency
    }

    /// The shortcuts on the critical path that save enough time, cheapest first. They are evaluated
    /// on the threads of rayon.
    fn shortcuts_on_critical_path(&self) -> Vec<Shortcut> {
        let last = (0..self.all.len()).max_by_key(|&number| self.ends[number]);
        let path: Vec<usize> = successors(last, |&number| self.last_input(number)).collect();
        let of_operation = |places: &[usize]| {
            let &[operation, skipped, input] = places else { unreachable!("windows of three") };
            [ShortcutKind::LongerSum, ShortcutKind::Matrix]
                .map(|kind| self.evaluate(operation, skipped, input, kind))
        };
        let found = path.par_windows(3).flat_map_iter(of_operation).flatten();
        let mut found: Vec<Shortcut> = found.collect();
        found.sort_by(|a, b| a.price.total_cmp(&b.price));
        found
    }

    /// The shortcut of `operation` past `skipped` to `input`, if it saves enough time and is not
    /// too large.
    fn evaluate(
        &self,
        operation: usize,
        skipped: usize,
        input: usize,
        kind: ShortcutKind,
    ) -> Option<Shortcut> {
        let (replacement, messages) = self.with_shortcut(operation, skipped, input, kind).ok()?;
        let latency = estimate_latency(&replacement, self.network);
        let end = self.end(&replacement, latency, &messages);
        let new: i64 = messages.iter().map(|message| products(&message.operation)).sum();
        let added = new + products(&replacement) - products(&self.all[operation]);
        let saved = self.ends[operation].saturating_sub(end);
        let price = (added.max(0) + 1) as f64 / saved as f64;
        let shortcut = Shortcut { operation, skipped, input, kind, added, price };
        (saved >= MIN_SAVED).then_some(shortcut)
    }

    /// Applies `shortcut`. Returns the number of the replaced operation, and the operation as it
    /// was before; `None` if the shortcut cannot be applied any more.
    fn apply(&mut self, shortcut: &Shortcut) -> Option<(usize, Operation)> {
        let &Shortcut { operation: number, skipped, input, kind, .. } = shortcut;
        let (operation, added) = self.with_shortcut(number, skipped, input, kind).ok()?;
        for AddedMessage { key, operation, latency, end } in added {
            self.known.insert(key, self.all.len());
            self.all.push(operation);
            self.latencies.push(latency);
            self.ends.push(end);
        }
        self.latencies[number] = estimate_latency(&operation, self.network);
        Some((number, std::mem::replace(&mut self.all[number], operation)))
    }
}

/// The first `originals` operations and all operations that these need, each after its inputs. Also
/// returns the new numbers of the first `originals` operations.
fn sorted(all: Vec<Operation>, originals: usize) -> (Vec<Operation>, Vec<usize>) {
    let order = inputs_first(&all, 0..originals);
    let mut all: Vec<Option<Operation>> = all.into_iter().map(Some).collect();
    let mut new_numbers = vec![usize::MAX; all.len()];
    let mut sorted: Vec<Operation> = Vec::with_capacity(order.len());
    for number in order {
        let mut operation = all[number].take().expect("an operation is listed once");
        for (factor, scope) in &mut operation.factors {
            *factor = new_numbers[*factor];
            // The order of the rows of this input may have changed.
            scope.clone_from(&sorted[*factor].rows);
        }
        new_numbers[number] = sorted.len();
        sorted.push(operation);
    }
    new_numbers.truncate(originals);
    (sorted, new_numbers)
}

/// The numbers of the `wanted` operations and of all operations that these need, each after its
/// inputs. An input can have a higher number than its reader, because the messages for shortcuts
/// are added at the end. It takes less time if most operations come after their inputs in `wanted`.
fn inputs_first(all: &[Operation], wanted: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut order = Vec::with_capacity(all.len());
    let mut is_listed = vec![false; all.len()];
    // The operations that wait for inputs, each with the number of inputs that were considered.
    let mut waiting: Vec<(usize, usize)> = Vec::new();
    for first in wanted {
        if !is_listed[first] && all[first].factors.iter().all(|(input, _)| is_listed[*input]) {
            is_listed[first] = true;
            order.push(first);
            continue;
        }
        waiting.push((first, 0));
        while let Some((number, considered)) = waiting.pop() {
            if is_listed[number] {
                continue;
            }
            match all[number].factors.get(considered) {
                Some(&(input, _)) => {
                    waiting.push((number, considered + 1));
                    waiting.push((input, 0));
                }
                None => {
                    is_listed[number] = true;
                    order.push(number);
                }
            }
        }
    }
    order
}
