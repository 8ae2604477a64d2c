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

use std::collections::HashMap;

use self::parts::Key;
use super::items::takes;
use super::operations::{IsShort, Operation};
use crate::network::Network;

/// Products that shortcuts add in all, at most: so many, or a share of those that there are.
const ADDED: i64 = 2_000_000;
const SHARE: i64 = 10;

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
    let mut added = 0;
    // What was done since the longest way became shorter.
    let mut in_vain = Vec::new();
    let mut shortest = ways.longest();
    while let Some(shortcut) = ways.cheapest() {
        added += shortcut.added;
        if added > added_at_most {
            break;
        }
        in_vain.push(ways.take(&shortcut));
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
    /// Products more than before.
    added: i64,
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

    /// Of the shortcuts on the longest way the one that saves most for what it adds.
    fn cheapest(&mut self) -> Option<Shortcut> {
        let mut of = (0..self.all.len()).max_by_key(|&of| self.ends[of])?;
        let mut cheapest = None;
        let mut least = f64::INFINITY;
        while let Some(past) = self.waited_for(of) {
            let Some(from) = self.waited_for(past) else { break };
            for means in [Means::LongerSum, Means::Matrix] {
                let (before, first) = (&self.all[of], self.all.len());
                let mut added = -products(before);
                let Some(operation) = self.with_shortcut(of, past, from, means) else {
                    self.forget(first);
                    continue;
                };
                let end = self.end(&operation, takes(&operation, self.network));
                added += products(&operation);
                added += self.all[first..].iter().map(products).sum::<i64>();
                self.forget(first);
                let price = (added.max(0) + 1) as f64 / self.ends[of].saturating_sub(end) as f64;
                if end + SAVED <= self.ends[of] && price < least {
                    least = price;
                    cheapest = Some(Shortcut { of, past, from, means, added });
                }
            }
            of = past;
        }
        cheapest
    }

    /// Takes `shortcut`, and returns the operation as it was before, with its number.
    fn take(&mut self, shortcut: &Shortcut) -> (usize, Operation) {
        let &Shortcut { of, past, from, means, .. } = shortcut;
        let operation = self.with_shortcut(of, past, from, means).expect("it was possible before");
        self.takes[of] = takes(&operation, self.network);
        let before = std::mem::replace(&mut self.all[of], operation);
        self.find_ends();
        (of, before)
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
