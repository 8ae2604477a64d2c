//! Shortcuts on the longest way through a propagation.
//!
//! However small a message is, whoever reads it waits until one block has handed it to another, and
//! the longest way through a junction tree is dozens of messages. But a message is linear in each one
//! that it is made of, so that along a way of cliques it is a product of matrices, and what they are made
//! of comes from beside the way and is there early. An operation on the longest way is therefore given,
//! in place of the message that it waits for, what that one waits for in turn, and either a longer sum or
//! a matrix that is made of those of both cliques. Matrices of matrices make a way of n cliques one of
//! log n hand-overs (D. M. Pennock, Logarithmic time parallel Bayesian inference, UAI 1998). All
//! messages are still made, but fewer are waited for.

mod parts;

use std::collections::{HashMap, HashSet};

use self::parts::Key;
use super::items::takes;
use super::operations::{IsShort, Operation};
use crate::network::Network;

/// Products that shortcuts add in all, at most: so many, or a share of those that there are.
const ADDED: i64 = 2_000_000;
const SHARE: i64 = 10;

/// How many times as dear as the cheapest shortcuts may be that are taken together with it.
const AT_ONCE: f64 = 16.0;

/// Operations that the search goes over in all, at most, so that it ends soon where there are very many.
const VISITED: usize = 4_000_000;

/// Nanoseconds that a shortcut saves at least.
const SAVED: u64 = 500;

/// `all`, of which each comes after those whose results it needs, with shortcuts; and by number
/// where each is now.
pub(super) fn add(
    all: Vec<Operation>,
    network: &Network,
    is_short: IsShort,
) -> (Vec<Operation>, Vec<usize>) {
    let originals = all.len();
    let added_at_most = ADDED.max(all.iter().map(products).sum::<i64>() / SHARE);
    let mut ways = Ways::new(all, network, is_short);
    let (mut added, mut visited) = (0, 0);
    // What was done since the longest way became shorter.
    let mut in_vain = Vec::new();
    let mut shortest = ways.longest();
    'all: while visited < VISITED {
        visited += ways.all.len();
        let found = ways.on_the_longest();
        let Some(least) = found.first().map(|cheapest| cheapest.price) else { break };
        // Of neighbours on the way one is enough.
        let (mut given, mut passed) = (HashSet::new(), HashSet::new());
        for shortcut in found.iter().take_while(|shortcut| shortcut.price <= AT_ONCE * least) {
            let is_apart = !passed.contains(&shortcut.of) && !given.contains(&shortcut.past);
            if !is_apart || !given.insert(shortcut.of) {
                continue;
            }
            passed.insert(shortcut.past);
            added += shortcut.added;
            if added > added_at_most {
                break 'all;
            }
            in_vain.extend(ways.take(shortcut));
        }
        ways.find_ends();
        let longest = ways.longest();
        if longest < shortest {
            shortest = longest;
            in_vain.clear();
        }
    }
    for (of, before) in in_vain.into_iter().rev() {
        ways.all[of] = before;
    }
    in_order(ways.all, originals)
}

/// Products that are summed, if none is zero; or very many.
fn products(operation: &Operation) -> i64 {
    let (rows, run) = (operation.rows.entries() as u64, operation.run.entries() as u64);
    rows.saturating_mul(run).min(1 << 48) as i64
}

/// How an operation does without a message.
#[derive(Clone, Copy)]
enum Means {
    /// It sums over the variables of that message's clique as well.
    LongerSum,
    /// A matrix has done so.
    Matrix,
}

/// What an operation can be given instead of the message that it waits for.
struct Shortcut {
    of: usize,
    /// The message that it waits for, and the one that this waits for.
    past: usize,
    from: usize,
    means: Means,
    /// Products more than before, and for each nanosecond that is saved.
    added: i64,
    price: f64,
}

/// The operations, and when they are thought to end.
struct Ways<'a> {
    network: &'a Network,
    is_short: IsShort<'a>,
    all: Vec<Operation>,
    /// Nanoseconds from what it waits for last until it ends, for each.
    takes: Vec<u64>,
    /// When each ends.
    ends: Vec<u64>,
    /// The messages that were added, with what they are known by, in the order of their numbers.
    keys: Vec<Key>,
    known: HashMap<Key, usize>,
}

impl<'a> Ways<'a> {
    fn new(all: Vec<Operation>, network: &'a Network, is_short: IsShort<'a>) -> Self {
        let takes = all.iter().map(|operation| takes(operation, network)).collect();
        let (keys, known) = (Vec::new(), HashMap::new());
        let mut ways = Self { network, is_short, all, takes, ends: vec![], keys, known };
        ways.find_ends();
        ways
    }

    fn longest(&self) -> u64 {
        self.ends.iter().copied().max().unwrap_or(0)
    }

    fn find_ends(&mut self) {
        fn find(of: usize, all: &[Operation], takes: &[u64], ends: &mut [u64]) -> u64 {
            // What is needed and was added comes after what needs it.
            if ends[of] == 0 {
                let needed = all[of].factors.iter();
                let last = needed.map(|&(factor, _)| find(factor, all, takes, ends)).max();
                ends[of] = last.unwrap_or(0) + takes[of];
            }
            ends[of]
        }
        self.ends.clear();
        self.ends.resize(self.all.len(), 0);
        for of in 0..self.all.len() {
            find(of, &self.all, &self.takes, &mut self.ends);
        }
    }

    /// The message that operation `of` waits for.
    fn waited_for(&self, of: usize) -> Option<usize> {
        let factors = self.all[of].factors.iter().map(|(factor, _)| *factor);
        factors.max_by_key(|&factor| self.ends[factor])
    }

    /// When `operation` would end.
    fn end(&self, operation: &Operation, takes: u64) -> u64 {
        let needed = operation.factors.iter().map(|(factor, _)| self.ends[*factor]);
        needed.max().unwrap_or(0) + takes
    }

    /// The shortcuts on the longest way, those that save most for what they add first.
    fn on_the_longest(&mut self) -> Vec<Shortcut> {
        let mut found = Vec::new();
        let Some(mut of) = (0..self.all.len()).max_by_key(|&of| self.ends[of]) else {
            return found;
        };
        while let Some(past) = self.waited_for(of) {
            let Some(from) = self.waited_for(past) else { break };
            for means in [Means::LongerSum, Means::Matrix] {
                let first = self.all.len();
                if let Some(operation) = self.with_shortcut(of, past, from, means) {
                    let end = self.end(&operation, takes(&operation, self.network));
                    let new: i64 = self.all[first..].iter().map(products).sum();
                    let added = new + products(&operation) - products(&self.all[of]);
                    let saved = self.ends[of].saturating_sub(end);
                    if saved >= SAVED {
                        let price = (added.max(0) + 1) as f64 / saved as f64;
                        found.push(Shortcut { of, past, from, means, added, price });
                    }
                }
                self.forget(first);
            }
            of = past;
        }
        found.sort_by(|a, b| a.price.total_cmp(&b.price));
        found
    }

    /// Takes `shortcut`, and returns the operation as it was before, with its number.
    fn take(&mut self, shortcut: &Shortcut) -> Option<(usize, Operation)> {
        let &Shortcut { of, past, from, means, .. } = shortcut;
        let operation = self.with_shortcut(of, past, from, means)?;
        self.takes[of] = takes(&operation, self.network);
        Some((of, std::mem::replace(&mut self.all[of], operation)))
    }
}

/// The first `originals` operations and what they need, each after those whose results it needs; and
/// where each of the first is now.
fn in_order(all: Vec<Operation>, originals: usize) -> (Vec<Operation>, Vec<usize>) {
    fn put(
        of: usize,
        all: &mut [Option<Operation>],
        places: &mut [usize],
        sorted: &mut Vec<Operation>,
    ) {
        let Some(mut operation) = all[of].take() else { return };
        for (factor, scope) in &mut operation.factors {
            put(*factor, all, places, sorted);
            *factor = places[*factor];
            // Its rows may have been put in another order.
            scope.clone_from(&sorted[*factor].rows);
        }
        places[of] = sorted.len();
        sorted.push(operation);
    }
    let mut all: Vec<Option<Operation>> = all.into_iter().map(Some).collect();
    let mut places = vec![usize::MAX; all.len()];
    let mut sorted = Vec::with_capacity(all.len());
    for of in 0..originals {
        put(of, &mut all, &mut places, &mut sorted);
    }
    places.truncate(originals);
    (sorted, places)
}
