//! Which messages of two runs correspond to each other, and which became slower or faster.

use std::collections::HashMap;

use crate::network::VariableId;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace};

/// The two times of a message count as the same if the longer one exceeds the shorter one by at
/// most this share. Chosen, not measured: with a smaller share, more messages would be marked whose
/// times differ only by chance.
const TOLERANCE: f64 = 0.1;

/// How the time of a message in the second run compares with its time in the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It took more than a tenth longer in the second run.
    Slower,
    /// It took more than a tenth longer in the first run.
    Faster,
    /// The longer of the two times exceeds the shorter one by at most a tenth.
    Same,
}

/// A message that both runs computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Its id in the plan of the first run.
    pub first: MessageId,
    /// Its id in the plan of the second run.
    pub second: MessageId,
    /// Its duration in the first run, in nanoseconds.
    pub first_time: f64,
    /// Its duration in the second run, in nanoseconds.
    pub second_time: f64,
}

impl Pair {
    /// Nanoseconds by which the second run took longer; negative if it was faster.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.second_time - self.first_time
    }

    /// How the second time compares with the first.
    #[must_use]
    pub fn change(&self) -> Change {
        if self.second_time > self.first_time * (1.0 + TOLERANCE) {
            Change::Slower
        } else if self.first_time > self.second_time * (1.0 + TOLERANCE) {
            Change::Faster
        } else {
            Change::Same
        }
    }
}

/// The messages of two runs of the same network, on the same tree or on different ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alignment {
    /// The messages that both runs computed, those with the largest difference of times first.
    pub pairs: Vec<Pair>,
    /// Messages that only the first run computed.
    pub only_first: Vec<MessageId>,
    /// Messages that only the second run computed.
    pub only_second: Vec<MessageId>,
}

/// The variables of the sender and of the receiver of a message.
type Ends<'a> = (&'a [VariableId], &'a [VariableId]);

/// The ends of `message`; `None` if the plan has no such message.
fn ends(compiled: &CompiledNetwork, message: MessageId) -> Option<Ends<'_>> {
    let message = compiled.plan().messages().get(message.index())?;
    let tree = compiled.tree();
    Some((&tree[message.from].variables, &tree[message.to].variables))
}

impl Alignment {
    /// Aligns two runs, each given by its compiled network and its trace. Messages correspond to
    /// each other if their senders have the same variables, and their receivers too.
    #[must_use]
    pub fn new(
        first: (&CompiledNetwork, &MessageTrace),
        second: (&CompiledNetwork, &MessageTrace),
    ) -> Self {
        let mut of_first: HashMap<Ends<'_>, (MessageId, f64)> = HashMap::new();
        for timing in &first.1.messages {
            if let Some(ends) = ends(first.0, timing.message) {
                of_first.insert(ends, (timing.message, timing.duration.as_nanos() as f64));
            }
        }
        let mut alignment = Self::default();
        for timing in &second.1.messages {
            let found = ends(second.0, timing.message).and_then(|ends| of_first.remove(&ends));
            match found {
                None => alignment.only_second.push(timing.message),
                Some((first, first_time)) => alignment.pairs.push(Pair {
                    first,
                    second: timing.message,
                    first_time,
                    second_time: timing.duration.as_nanos() as f64,
                }),
            }
        }
        alignment.only_first = of_first.into_values().map(|(message, _)| message).collect();
        alignment.only_first.sort_unstable();
        let size = |pair: &Pair| pair.difference().abs();
        alignment.pairs.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.second.cmp(&b.second)));
        alignment
    }

    /// The number of messages that became slower, and of those that became faster.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let count = |change| self.pairs.iter().filter(|pair| pair.change() == change).count();
        (count(Change::Slower), count(Change::Faster))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::testing::model;
    use crate::cancel::CancelToken;
    use crate::graph::{Triangulation, TriangulationOptions};
    use crate::propagation::{CompileOptions, compile};

    #[test]
    fn messages_of_the_same_tree_are_aligned_one_by_one() {
        let model = model("asia");
        let document = model.document.as_ref().unwrap();
        let (compiled, trace) = (document.compiled.as_ref().unwrap(), document.trace().unwrap());
        let mut other = trace.clone();
        for timing in &mut other.messages {
            timing.duration = Duration::from_nanos(1000);
        }
        let mut first = other.clone();
        other.messages[2].duration = Duration::from_nanos(2000);
        other.messages[3].duration = Duration::from_nanos(300);
        other.messages[4].duration = Duration::from_nanos(1050);
        let last = first.messages.pop().unwrap().message;
        let alignment = Alignment::new((compiled, &first), (compiled, &other));
        assert_eq!(alignment.pairs.len() + 1, trace.messages.len());
        assert!(alignment.pairs.iter().all(|pair| pair.first == pair.second));
        assert_eq!(alignment.only_second, [last]);
        assert!(alignment.only_first.is_empty());
        assert_eq!(alignment.counts(), (1, 1), "a difference of a twentieth does not count");
        let largest = alignment.pairs[0];
        assert_eq!((largest.second, largest.difference()), (other.messages[2].message, 1000.0));
        assert_eq!(largest.change(), Change::Slower);
        assert_eq!(alignment.pairs[1].change(), Change::Faster);
    }

    #[test]
    fn messages_of_different_trees_are_aligned_by_their_cliques() {
        let model = model("asia");
        let document = model.document.as_ref().unwrap();
        let (compiled, trace) = (document.compiled.as_ref().unwrap(), document.trace().unwrap());
        let method = Triangulation::By(crate::graph::Heuristic::MinDegree);
        let options = CompileOptions {
            triangulation: TriangulationOptions { method, ..TriangulationOptions::default() },
            ..CompileOptions::default()
        };
        let network = std::sync::Arc::clone(document.network());
        let other = compile(network, &options, &CancelToken::new()).unwrap();
        let mut of_other = trace.clone();
        of_other.messages.retain(|timing| timing.message.index() < other.plan().messages().len());
        let alignment = Alignment::new((compiled, trace), (&other, &of_other));
        for pair in &alignment.pairs {
            assert_eq!(ends(compiled, pair.first), ends(&other, pair.second));
        }
        let aligned = alignment.pairs.len();
        assert_eq!(aligned + alignment.only_first.len(), trace.messages.len());
        assert_eq!(aligned + alignment.only_second.len(), of_other.messages.len());
    }
}
