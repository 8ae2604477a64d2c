//! One propagation, message by message, forwards and backwards.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Beliefs, Loaded, Sequential, message};
use crate::allocate;
use crate::cancel::CancelToken;
use crate::engine::bounds::Bounds;
use crate::engine::{Engine, LoadError, RunError};
use crate::graph::{CliqueId, SeparatorId};
use crate::network::Evidence;
use crate::potential::{MappingTables, Precision, Real, Scope, ratio};
use crate::propagation::{CompiledNetwork, MemoryLimit, MessageId, Phase};

/// Maximum size in bytes of the old tables that are kept for stepping back. To step back further,
/// the propagation is repeated from its start. This affects only memory and speed.
const MAX_UNDO_BYTES: usize = 64 << 20;

/// A table is shown without an exponent if its largest entry has an exponent from minus this to
/// this. The product of an entry and a ratio of two others must be in the range of double
/// precision, so three times this must be below 1022.
const MAX_PLAIN_EXPONENT: i64 = 300;

/// Steps through the propagation of engine `sequential` in double precision, and shows the tables
/// that each message reads and writes.
///
/// A step forward passes one message. A step back restores the two tables that the message changed.
/// If these are no longer stored, it repeats the propagation from its start.
pub struct Stepper {
    loaded: Loaded<f64>,
    evidence: Evidence,
    /// Messages passed so far. `None` if the tables must be initialised first: before the first
    /// move, after the evidence changed, and after a move that failed but was not cancelled.
    position: Option<usize>,
    /// For each of the last messages that were passed, the tables that the message changed.
    undo: VecDeque<Undo>,
    /// Size of the tables in `undo` in bytes.
    undo_bytes: usize,
    /// Maximum size of the tables in `undo` in bytes.
    max_undo_bytes: usize,
    /// The beliefs that were computed last for the current evidence.
    beliefs: Option<Beliefs>,
}

/// The tables that one message changed, as they were before the message.
struct Undo {
    receiver: Box<[f64]>,
    receiver_exponent: i64,
    receiver_bounds: Bounds,
    separator: Box<[f64]>,
    separator_exponent: i64,
}

impl Undo {
    fn bytes(&self) -> usize {
        size_of_val(&*self.receiver) + size_of_val(&*self.separator)
    }
}

/// Size in bytes of the tables in two [`MessageDetail`]s of the largest message. Two are needed
/// because one is still shown while the next is created.
fn detail_bytes(compiled: &CompiledNetwork) -> u64 {
    let tree = compiled.tree();
    let entries = compiled.plan().messages().iter().map(|message| {
        let ends = tree[message.from].entries.saturating_add(tree[message.to].entries);
        ends.saturating_add(tree[message.separator].entries.saturating_mul(2))
    });
    entries.max().unwrap_or(0).saturating_mul(2 * Precision::F64.bytes())
}

impl Stepper {
    /// A stepper through the propagation of `evidence`, at the position before the first message.
    ///
    /// # Errors
    /// If engine `sequential` does not support the network, or if the tables of the propagation and
    /// of two message details together need more than `memory`.
    pub fn new(
        compiled: &Arc<CompiledNetwork>,
        evidence: Evidence,
        memory: MemoryLimit,
    ) -> Result<Self, LoadError> {
        let mut forecast = Sequential.forecast(compiled, Precision::F64);
        forecast.bytes = forecast.bytes.saturating_add(detail_bytes(compiled));
        let (needed, limit) = (forecast.bytes, memory.bytes());
        forecast.check(memory)?;
        let max_undo_bytes =
            usize::try_from(limit - needed).unwrap_or(usize::MAX).min(MAX_UNDO_BYTES);
        let loaded = Loaded::new(Arc::clone(compiled));
        Ok(Self {
            loaded,
            evidence,
            position: None,
            undo: VecDeque::new(),
            undo_bytes: 0,
            max_undo_bytes,
            beliefs: None,
        })
    }

    /// The compiled network.
    #[must_use]
    pub fn compiled(&self) -> &Arc<CompiledNetwork> {
        &self.loaded.compiled
    }

    /// The evidence.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Replaces the evidence. If it changes, the propagation starts anew.
    pub fn set_evidence(&mut self, evidence: Evidence) {
        if self.evidence != evidence {
            self.evidence = evidence;
            self.position = None;
            self.beliefs = None;
        }
    }

    /// Moves to the position after `position` messages of the plan, or after the last message if
    /// there are fewer.
    ///
    /// # Errors
    /// [`RunError::Impossible`] if the findings or the messages passed show that the evidence is
    /// impossible, [`RunError::OutOfRange`] if numbers are out of the range of double precision,
    /// [`RunError::Cancelled`] once `cancel` is cancelled. The stepper remains usable after each of
    /// them.
    ///
    /// # Complexity
    /// A step forward passes one message and copies two tables; a step back copies two tables. A
    /// move back beyond the stored tables repeats the propagation from its start.
    pub fn seek(&mut self, position: usize, cancel: &CancelToken) -> Result<(), RunError> {
        let compiled = Arc::clone(&self.loaded.compiled);
        let messages = compiled.plan().messages();
        let target = position.min(messages.len());
        while let Some(now) = self.position.filter(|now| *now > target) {
            let Some(undo) = self.undo.pop_back() else { break };
            self.restore(messages[now - 1].to, messages[now - 1].separator, &undo);
            self.position = Some(now - 1);
        }
        let mut now = match self.position.take().filter(|now| *now <= target) {
            Some(now) => now,
            None => {
                (self.undo, self.undo_bytes) = (VecDeque::new(), 0);
                self.loaded.initialise(&self.evidence)?;
                0
            }
        };
        while now < target {
            if let Err(cancelled) = cancel.check() {
                // All tables are valid between two messages.
                self.position = Some(now);
                return Err(cancelled.into());
            }
            self.push_undo(messages[now].to, messages[now].separator);
            self.loaded.pass(messages[now])?;
            now += 1;
        }
        self.position = Some(now);
        Ok(())
    }

    /// Moves to the position after `position` messages, as [`seek`](Self::seek), and returns the
    /// beliefs there.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    ///
    /// # Complexity
    /// At first one addition for each entry of each clique's table and each variable of the clique.
    /// After that, only for the cliques that received a message between the last position and the
    /// new one.
    pub fn beliefs(&mut self, position: usize, cancel: &CancelToken) -> Result<Beliefs, RunError> {
        self.seek(position, cancel)?;
        let compiled = Arc::clone(&self.loaded.compiled);
        let messages = compiled.plan().messages();
        let position = position.min(messages.len());
        let (mut beliefs, changed) = match self.beliefs.take() {
            Some(beliefs) => {
                let (first, last) =
                    (beliefs.passed().min(position), beliefs.passed().max(position));
                (beliefs, messages[first..last].iter().map(|message| message.to).collect())
            }
            None => {
                let homes = self.loaded.entry_points.iter().map(|(clique, _)| *clique).collect();
                let all: Vec<CliqueId> = compiled.tree().clique_ids().collect();
                (Beliefs::new(&compiled, homes), all)
            }
        };
        // If the computation is cancelled, the old beliefs are dropped: some are out of date.
        for clique in changed {
            cancel.check()?;
            beliefs.update(clique, self.loaded.cliques.table(clique.index()));
        }
        beliefs.set_passed(position);
        self.beliefs = Some(beliefs.clone());
        Ok(beliefs)
    }

    /// Stores the tables of `clique` and `separator`, and drops the oldest stored tables if they
    /// take too much memory.
    fn push_undo(&mut self, clique: CliqueId, separator: SeparatorId) {
        let Loaded { cliques, separators, .. } = &self.loaded;
        let undo = Undo {
            receiver: cliques.table(clique.index()).into(),
            receiver_exponent: cliques.exponents[clique.index()],
            receiver_bounds: cliques.bounds[clique.index()],
            separator: separators.table(separator.index()).into(),
            separator_exponent: separators.exponents[separator.index()],
        };
        self.undo_bytes += undo.bytes();
        self.undo.push_back(undo);
        while self.undo_bytes > self.max_undo_bytes {
            let Some(oldest) = self.undo.pop_front() else { break };
            self.undo_bytes -= oldest.bytes();
        }
    }

    /// Restores the tables of `clique` and `separator` from `undo`.
    fn restore(&mut self, clique: CliqueId, separator: SeparatorId, undo: &Undo) {
        let Loaded { cliques, separators, .. } = &mut self.loaded;
        cliques.table_mut(clique.index()).copy_from_slice(&undo.receiver);
        cliques.exponents[clique.index()] = undo.receiver_exponent;
        cliques.bounds[clique.index()] = undo.receiver_bounds;
        separators.table_mut(separator.index()).copy_from_slice(&undo.separator);
        separators.exponents[separator.index()] = undo.separator_exponent;
        self.undo_bytes -= undo.bytes();
    }

    /// Moves to the position before `message` and returns the numbers of the message.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    ///
    /// # Panics
    /// If the plan has no such message.
    pub fn message(
        &mut self,
        message: MessageId,
        cancel: &CancelToken,
    ) -> Result<MessageDetail, RunError> {
        self.seek(message.index(), cancel)?;
        let compiled = Arc::clone(&self.loaded.compiled);
        let (network, tree, passed) =
            (compiled.network(), compiled.tree(), compiled.plan()[message]);
        let (from, to) = (passed.from.index(), passed.to.index());
        let edge = passed.separator.index();
        let Loaded { cliques, separators, mappings, .. } = &self.loaded;
        let scope = |variables: &[_]| Scope::of(network, variables.iter().copied());
        let (sender, receiver) =
            (scope(&tree[passed.from].variables), scope(&tree[passed.to].variables));
        let separator = scope(&tree[passed.separator].variables);
        let (sender_values, sender_exponent) =
            shown_table(cliques.table(from), cliques.exponents[from]);
        let (before, before_exponent) =
            shown_table(separators.table(edge), separators.exponents[edge]);
        let (receiver_values, receiver_exponent) =
            shown_table(cliques.table(to), cliques.exponents[to]);
        let mapping = match passed.phase {
            Phase::Collect => &mappings[edge].child,
            Phase::Distribute => &mappings[edge].parent,
        };
        let mut sums = allocate::zeros(separator.entries());
        message::marginalise(&sender_values, mapping, &mut sums);
        Ok(MessageDetail {
            message,
            from: MappingTables::new(&sender, &separator),
            to: MappingTables::new(&receiver, &separator),
            after: sums.into(),
            sender,
            receiver,
            separator,
            sender_values,
            sender_exponent,
            receiver_values,
            receiver_exponent,
            before,
            before_exponent,
        })
    }
}

/// Chooses how to show a table whose entries are `values` times two to the power of `exponent`.
/// Returns numbers and a new exponent: each entry is its number times two to the power of this
/// exponent. The exponent is zero if the table can be shown without one (see
/// [`MAX_PLAIN_EXPONENT`]); otherwise it is the exponent of the largest entry.
fn shown_table(values: &[f64], exponent: i64) -> (Arc<[f64]>, i64) {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let exponent_of_largest = exponent - i64::from(largest.scale_exponent().unwrap_or(0));
    let shown =
        if exponent_of_largest.abs() > MAX_PLAIN_EXPONENT { exponent_of_largest } else { 0 };
    let scale = i32::try_from(exponent - shown).expect("the largest entry is in range");
    (values.iter().map(|value| value.scale(scale)).collect(), shown)
}

/// The tables that one message reads and writes: the numbers in Algorithm 1 of Zheng, Mengshoel and
/// Chong for this message.
///
/// Each table is in the index order of its scope. If the evidence is very improbable, entries may
/// be out of the range of double precision. So each table has an exponent: the entries are the
/// values times two to the power of the exponent. It is zero if the largest entry of the table is
/// far from the limits of this range.
#[derive(Clone, Debug)]
pub struct MessageDetail {
    /// The message.
    pub message: MessageId,
    /// The scope of the sender.
    pub sender: Scope,
    /// The scope of the receiver.
    pub receiver: Scope,
    /// The scope of the separator.
    pub separator: Scope,
    /// The mapping tables from sender to separator.
    pub from: MappingTables,
    /// The mapping tables from receiver to separator.
    pub to: MappingTables,
    /// The sender's table, which the message does not change.
    pub sender_values: Arc<[f64]>,
    /// The exponent of `sender_values` and of `after`.
    pub sender_exponent: i64,
    /// The receiver's table before the message.
    pub receiver_values: Arc<[f64]>,
    /// The exponent of `receiver_values`.
    pub receiver_exponent: i64,
    /// The separator's table before the message, φ.
    pub before: Arc<[f64]>,
    /// The exponent of `before`.
    pub before_exponent: i64,
    /// The separator's table after the message, φ*.
    pub after: Arc<[f64]>,
}

impl MessageDetail {
    /// The number by which the receiver's entries that map to separator entry `j` are multiplied:
    /// φ*/φ, with 0/0 = 0. Its exponent is [`ratio_exponent`](Self::ratio_exponent).
    ///
    /// # Panics
    /// If the separator has no entry `j`.
    #[must_use]
    pub fn ratio(&self, j: usize) -> f64 {
        ratio(self.after[j], self.before[j])
    }

    /// The exponent of all ratios.
    #[must_use]
    pub fn ratio_exponent(&self) -> i64 {
        self.sender_exponent - self.before_exponent
    }

    /// Entry `entry` of the receiver's table after the message. Its exponent is
    /// [`received_exponent`](Self::received_exponent).
    ///
    /// # Panics
    /// If the receiver has no entry `entry`.
    #[must_use]
    pub fn received(&self, entry: usize) -> f64 {
        self.receiver_values[entry] * self.ratio(self.to.place(entry).0)
    }

    /// The exponent of the receiver's table after the message.
    #[must_use]
    pub fn received_exponent(&self) -> i64 {
        self.receiver_exponent + self.ratio_exponent()
    }
}

#[cfg(test)]
mod tests;
