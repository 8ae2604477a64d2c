//! One propagation, message by message, forth and back.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Loaded, Sequential, message};
use crate::cancel::CancelToken;
use crate::engine::{Engine, LoadError, RunError};
use crate::graph::{CliqueId, SeparatorId};
use crate::network::Evidence;
use crate::potential::{MappingTables, Precision, Real, Scope, ratio};
use crate::propagation::{CompiledNetwork, MemoryLimit, MessageId, Phase};

/// Bytes of tables that are kept to step back where there is room for them; further back the propagation is done anew.
const KEPT_BYTES: usize = 64 << 20;

/// Powers of two below which a table's numbers are too small to be told as they are.
const SMALLEST: i64 = -900;

/// The propagation of engine `sequential` in double precision as something to walk through: after
/// any number of messages every table can be looked at.
///
/// A step forward passes one message. A step back takes the two tables that the message changed
/// from where they were kept, or, further back than that, begins anew.
pub struct Walk {
    loaded: Loaded<f64>,
    evidence: Evidence,
    /// Messages passed so far; `None` before the tables are set up and after a failure.
    position: Option<usize>,
    kept: VecDeque<Kept>,
    kept_bytes: usize,
    /// Bytes that may be kept.
    room: usize,
}

/// What one message changed, as it was before.
struct Kept {
    receiver: Box<[f64]>,
    receiver_exponent: i64,
    separator: Box<[f64]>,
    separator_exponent: i64,
}

impl Kept {
    fn bytes(&self) -> usize {
        size_of_val(&*self.receiver) + size_of_val(&*self.separator)
    }
}

/// Bytes of the copies that are made of a message to look at, twice: those of one message are still
/// shown while those of another are made.
fn looked_at(compiled: &CompiledNetwork) -> u64 {
    let tree = compiled.tree();
    let entries = compiled.plan().messages().iter().map(|message| {
        let ends = tree[message.from].entries.saturating_add(tree[message.to].entries);
        ends.saturating_add(tree[message.separator].entries.saturating_mul(2))
    });
    entries.max().unwrap_or(0).saturating_mul(2 * Precision::F64.bytes())
}

impl Walk {
    /// A walk through the propagation of `evidence`, before the first message.
    ///
    /// # Errors
    /// If its tables, with those of the largest message that is looked at and of the one before it,
    /// need more than `memory`.
    pub fn new(
        compiled: &Arc<CompiledNetwork>,
        evidence: Evidence,
        memory: MemoryLimit,
    ) -> Result<Self, LoadError> {
        let mut forecast = Sequential.forecast(compiled, Precision::F64);
        forecast.bytes = forecast.bytes.saturating_add(looked_at(compiled));
        let (needed, limit) = (forecast.bytes, memory.bytes());
        forecast.check(memory)?;
        let room = usize::try_from(limit - needed).unwrap_or(usize::MAX).min(KEPT_BYTES);
        let loaded = Loaded::new(Arc::clone(compiled));
        Ok(Self { loaded, evidence, position: None, kept: VecDeque::new(), kept_bytes: 0, room })
    }

    /// The network that it walks through.
    #[must_use]
    pub fn compiled(&self) -> &Arc<CompiledNetwork> {
        &self.loaded.compiled
    }

    /// The evidence that is propagated.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Walks through the propagation of `evidence` from now on.
    pub fn set_evidence(&mut self, evidence: Evidence) {
        if self.evidence != evidence {
            self.evidence = evidence;
            self.position = None;
        }
    }

    /// Goes to where `position` messages of the plan have been passed, at most all of them.
    ///
    /// # Errors
    /// [`RunError::Impossible`] if the evidence turns out to be so on the way,
    /// [`RunError::Cancelled`] once `cancel` is set; going anywhere else is possible after both.
    ///
    /// # Complexity
    /// One message for a step forward, a copy of two tables for a step back, a propagation at most.
    pub fn seek(&mut self, position: usize, cancel: &CancelToken) -> Result<(), RunError> {
        let compiled = Arc::clone(&self.loaded.compiled);
        let messages = compiled.plan().messages();
        let target = position.min(messages.len());
        while let Some(now) = self.position.filter(|now| *now > target) {
            let Some(kept) = self.kept.pop_back() else { break };
            self.put_back(messages[now - 1].to, messages[now - 1].separator, &kept);
            self.position = Some(now - 1);
        }
        let mut now = match self.position.take().filter(|now| *now <= target) {
            Some(now) => now,
            None => {
                (self.kept, self.kept_bytes) = (VecDeque::new(), 0);
                self.loaded.initialise(&self.evidence)?;
                0
            }
        };
        while now < target {
            if let Err(cancelled) = cancel.check() {
                // Between two messages all tables are whole.
                self.position = Some(now);
                return Err(cancelled.into());
            }
            self.keep(messages[now].to, messages[now].separator);
            self.loaded.pass(messages[now])?;
            now += 1;
        }
        self.position = Some(now);
        Ok(())
    }

    fn keep(&mut self, clique: CliqueId, separator: SeparatorId) {
        let Loaded { cliques, separators, .. } = &self.loaded;
        let kept = Kept {
            receiver: cliques.table(clique.index()).into(),
            receiver_exponent: cliques.exponents[clique.index()],
            separator: separators.table(separator.index()).into(),
            separator_exponent: separators.exponents[separator.index()],
        };
        self.kept_bytes += kept.bytes();
        self.kept.push_back(kept);
        while self.kept_bytes > self.room {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.kept_bytes -= oldest.bytes();
        }
    }

    fn put_back(&mut self, clique: CliqueId, separator: SeparatorId, kept: &Kept) {
        let Loaded { cliques, separators, .. } = &mut self.loaded;
        cliques.table_mut(clique.index()).copy_from_slice(&kept.receiver);
        cliques.exponents[clique.index()] = kept.receiver_exponent;
        separators.table_mut(separator.index()).copy_from_slice(&kept.separator);
        separators.exponents[separator.index()] = kept.separator_exponent;
        self.kept_bytes -= kept.bytes();
    }

    /// What `message` finds and makes.
    ///
    /// # Errors
    /// As [`seek`](Self::seek), which it does.
    ///
    /// # Panics
    /// If the plan has no such message.
    pub fn message(
        &mut self,
        message: MessageId,
        cancel: &CancelToken,
    ) -> Result<Passing, RunError> {
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
        let power = match cliques.exponents[from] {
            exponent if exponent < SMALLEST => exponent,
            _ => 0,
        };
        let copy = |values: &[f64], exponent: i64| -> Arc<[f64]> {
            let factor = 1.0.scale(i32::try_from(exponent - power).unwrap_or(i32::MIN / 2));
            values.iter().map(|value| value * factor).collect()
        };
        let from_values = copy(cliques.table(from), cliques.exponents[from]);
        let mapping = match passed.phase {
            Phase::Collect => &mappings[edge].child,
            Phase::Distribute => &mappings[edge].parent,
        };
        let mut sums = vec![0.0; separator.entries()];
        message::marginalise(&from_values, mapping, &mut sums);
        Ok(Passing {
            message,
            power,
            from: MappingTables::new(&sender, &separator),
            to: MappingTables::new(&receiver, &separator),
            before: copy(separators.table(edge), separators.exponents[edge]),
            after: sums.into(),
            sender_values: from_values,
            receiver_values: copy(cliques.table(to), cliques.exponents[to]),
            sender,
            receiver,
            separator,
        })
    }
}

/// What one message finds and makes: Algorithm 1 of Zheng, Mengshoel and Chong with its numbers.
///
/// All numbers are to be multiplied by two to the power of [`power`](Self::power), which is zero
/// unless the evidence is so improbable that they could not be told otherwise.
#[derive(Clone, Debug)]
pub struct Passing {
    /// The message.
    pub message: MessageId,
    /// See above.
    pub power: i64,
    /// The sender's variables in the order of its index.
    pub sender: Scope,
    /// The receiver's.
    pub receiver: Scope,
    /// The separator's.
    pub separator: Scope,
    /// The mapping tables from sender to separator.
    pub from: MappingTables,
    /// The mapping tables from receiver to separator.
    pub to: MappingTables,
    /// The sender's table, which the message leaves as it is.
    pub sender_values: Arc<[f64]>,
    /// The receiver's table before the message.
    pub receiver_values: Arc<[f64]>,
    /// The separator's table before the message, φ.
    pub before: Arc<[f64]>,
    /// The separator's table after it, φ*.
    pub after: Arc<[f64]>,
}

impl Passing {
    /// What the receiver's entries that map to separator entry `j` are multiplied by: φ*/φ.
    #[must_use]
    pub fn quotient(&self, j: usize) -> f64 {
        ratio(self.after[j], self.before[j])
    }

    /// Entry `entry` of the receiver's table after the message.
    #[must_use]
    pub fn received(&self, entry: usize) -> f64 {
        self.receiver_values[entry] * self.quotient(self.to.place(entry).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::LoadOptions;
    use crate::propagation::{CompileOptions, Home, Watch, compile};

    fn asia() -> (Arc<CompiledNetwork>, Evidence) {
        let network = crate::format::open("asia").unwrap().network;
        let mut evidence = Evidence::none();
        evidence.observe_named(&network, "xray", "yes").unwrap();
        let options = CompileOptions::default();
        (Arc::new(compile(network, &options, &CancelToken::new()).unwrap()), evidence)
    }

    fn walk(compiled: &Arc<CompiledNetwork>, evidence: &Evidence) -> Walk {
        Walk::new(compiled, evidence.clone(), MemoryLimit::of_bytes(1 << 30)).unwrap()
    }

    fn numbers(walk: &mut Walk, message: usize) -> Vec<f64> {
        let passing = walk.message(MessageId::new(message), &CancelToken::new()).unwrap();
        let tables = [&passing.sender_values, &passing.receiver_values, &passing.before];
        tables.into_iter().chain([&passing.after]).flat_map(|table| table.iter().copied()).collect()
    }

    #[test]
    fn back_and_forth_shows_the_same_numbers() {
        let (compiled, evidence) = asia();
        let messages = compiled.plan().messages().len();
        let expected: Vec<Vec<f64>> = (0..messages)
            .map(|message| numbers(&mut walk(&compiled, &evidence), message))
            .collect();
        let mut one = walk(&compiled, &evidence);
        for message in (0..messages).chain((0..messages).rev()).chain([messages - 1, 2, 5, 1]) {
            assert_eq!(numbers(&mut one, message), expected[message], "message {message}");
        }
        // As if nothing had been kept.
        (one.kept, one.kept_bytes) = (VecDeque::new(), 0);
        assert_eq!(numbers(&mut one, 0), expected[0]);
    }

    #[test]
    fn what_is_looked_at_counts_and_what_is_kept_takes_what_is_left() {
        let (compiled, evidence) = asia();
        let tables = Sequential.forecast(&compiled, Precision::F64).bytes;
        let needed = tables + looked_at(&compiled);
        // The largest message of Asia goes between two cliques of eight entries over four.
        assert_eq!(looked_at(&compiled), 2 * 8 * (8 + 8 + 2 * 4));
        let begin = |bytes| Walk::new(&compiled, evidence.clone(), MemoryLimit::of_bytes(bytes));
        assert!(matches!(begin(needed - 1), Err(LoadError::TooLarge(_))));
        let last = compiled.plan().messages().len() - 1;
        let mut tight = begin(needed + 300).unwrap();
        let expected = numbers(&mut walk(&compiled, &evidence), 0);
        numbers(&mut tight, last);
        assert!(tight.kept_bytes <= 300 && !tight.kept.is_empty(), "{}", tight.kept_bytes);
        assert_eq!(numbers(&mut tight, 0), expected, "what was not kept is computed anew");
    }

    #[test]
    fn what_a_message_makes_is_what_the_next_look_finds() {
        let (compiled, evidence) = asia();
        let mut walk = walk(&compiled, &evidence);
        for id in compiled.plan().ids() {
            let passing = walk.message(id, &CancelToken::new()).unwrap();
            walk.seek(id.index() + 1, &CancelToken::new()).unwrap();
            let to = compiled.plan()[id].to.index();
            let factor = 1.0.scale(i32::try_from(walk.loaded.cliques.exponents[to]).unwrap());
            for (entry, value) in walk.loaded.cliques.table(to).iter().enumerate() {
                let (found, expected) = (value * factor, passing.received(entry));
                assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
            }
        }
    }

    #[test]
    fn in_the_end_all_tables_agree_with_the_posteriors() {
        let (compiled, evidence) = asia();
        let mut walk = walk(&compiled, &evidence);
        walk.seek(usize::MAX, &CancelToken::new()).unwrap();
        let options = LoadOptions {
            precision: Precision::F64,
            threads: 1,
            memory: MemoryLimit::of_bytes(1 << 30),
            ..LoadOptions::default()
        };
        let mut engine = Sequential.load(&compiled, &options).unwrap();
        let posteriors = engine.run(&evidence, &Watch::untimed(CancelToken::new())).unwrap();
        for variable in compiled.network().ids() {
            let (home, axis) = walk.loaded.homes[variable.index()];
            let table = match home {
                Home::Clique(clique) => walk.loaded.cliques.table(clique.index()),
                Home::Separator(edge) => walk.loaded.separators.table(edge.index()),
            };
            let mut states = vec![0.0; axis.cardinality];
            message::marginal(table, axis, &mut states);
            let total: f64 = states.iter().sum();
            for (state, expected) in states.iter().zip(posteriors.of(variable)) {
                assert!((state / total - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn impossible_evidence_and_cancelling_leave_a_walk_that_goes_on() {
        let (compiled, possible) = asia();
        let mut evidence = Evidence::none();
        evidence.observe_named(compiled.network(), "tub", "yes").unwrap();
        evidence.observe_named(compiled.network(), "either", "no").unwrap();
        let mut walk = walk(&compiled, &evidence);
        let end = walk.seek(usize::MAX, &CancelToken::new());
        assert_eq!(end, Err(RunError::Impossible));
        walk.set_evidence(possible.clone());
        let cancelled = CancelToken::new();
        cancelled.cancel();
        assert_eq!(walk.seek(3, &cancelled), Err(RunError::Cancelled));
        let expected = numbers(&mut super::tests::walk(&compiled, &possible), 3);
        assert_eq!(numbers(&mut walk, 3), expected);
    }

    #[test]
    fn too_little_memory_is_refused() {
        let (compiled, evidence) = asia();
        let refused = Walk::new(&compiled, evidence, MemoryLimit::of_bytes(10));
        assert!(matches!(refused.err(), Some(LoadError::TooLarge(_))));
    }
}
