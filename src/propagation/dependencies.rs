//! Which messages a message needs, and the critical path of a propagation that was timed.

use std::time::Duration;

use crate::graph::{CliqueId, JunctionTree};
use crate::propagation::{MessageId, MessageTrace, Phase, Plan};

/// For each message of a plan, the messages on which it directly depends. All other messages that
/// it needs arrive before these.
///
/// A message toward the root needs the messages from all children of its sender. A message away
/// from the root needs the message from the parent of its sender or, if the root sends it, the
/// messages from all children of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies {
    /// By clique: the messages from its children.
    from_children: Vec<Vec<MessageId>>,
    /// By clique: the message from its parent; `None` for the root.
    from_parent: Vec<Option<MessageId>>,
    /// By message: its phase and its sender.
    senders: Vec<(Phase, CliqueId)>,
}

/// The messages on the longest chain of dependent messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// The messages, in order of time. Messages without a time are left out.
    pub messages: Vec<MessageId>,
    /// The sum of their durations. With the measured durations, the messages of a propagation take
    /// at least this long, however many threads there are.
    pub duration: Duration,
}

impl Dependencies {
    /// The dependencies of the messages of `plan`, which is a plan for `tree`.
    #[must_use]
    pub fn new(tree: &JunctionTree, plan: &Plan) -> Self {
        let cliques = tree.cliques().len();
        let (mut from_children, mut from_parent) = (vec![Vec::new(); cliques], vec![None; cliques]);
        for (id, message) in plan.ids().zip(plan.messages()) {
            match message.phase {
                Phase::Collect => from_children[message.to.index()].push(id),
                Phase::Distribute => from_parent[message.to.index()] = Some(id),
            }
        }
        let senders = plan.messages().iter().map(|message| (message.phase, message.from));
        Self { from_children, from_parent, senders: senders.collect() }
    }

    /// The messages that `message` needs, in the order of the plan.
    ///
    /// # Panics
    /// If the plan has no such message.
    #[must_use]
    pub fn inputs(&self, message: MessageId) -> &[MessageId] {
        let (phase, sender) = self.senders[message.index()];
        match (phase, &self.from_parent[sender.index()]) {
            (Phase::Distribute, Some(input)) => std::slice::from_ref(input),
            _ => &self.from_children[sender.index()],
        }
    }

    /// The chain of dependent messages whose durations in `trace` have the largest sum.
    ///
    /// # Complexity
    /// O(n) for n messages.
    #[must_use]
    pub fn critical_path(&self, trace: &MessageTrace) -> CriticalPath {
        let mut durations = vec![None; self.senders.len()];
        for timing in &trace.messages {
            if let Some(duration) = durations.get_mut(timing.message.index()) {
                *duration = Some(timing.duration);
            }
        }
        // The messages of a plan come after their inputs.
        let mut longest: Vec<(Duration, Option<MessageId>)> = Vec::new();
        // All messages from the root have the same inputs.
        let mut before_root = None;
        for (id, duration) in (0..durations.len()).map(MessageId::new).zip(&durations) {
            let length = |input: &MessageId| longest[input.index()].0;
            let last = || self.inputs(id).iter().copied().max_by_key(length);
            let (phase, sender) = self.senders[id.index()];
            let is_from_root =
                phase == Phase::Distribute && self.from_parent[sender.index()].is_none();
            let before = if is_from_root { *before_root.get_or_insert_with(last) } else { last() };
            let length = before.as_ref().map_or(Duration::ZERO, length);
            longest.push((length + duration.unwrap_or_default(), before));
        }
        let all = (0..longest.len()).map(MessageId::new);
        let Some(last) = all.max_by_key(|id| longest[id.index()].0) else {
            return CriticalPath::default();
        };
        let chain = std::iter::successors(Some(last), |id| longest[id.index()].1);
        let timed = chain.filter(|id| durations[id.index()].is_some());
        let mut messages: Vec<MessageId> = timed.collect();
        messages.reverse();
        CriticalPath { messages, duration: longest[last.index()].0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Clique, Separator};
    use crate::propagation::MessageTiming;

    /// Root 0 with children 1 and 2; 1 has the child 3. The plan is 3-1, 1-0, 2-0, 0-1, 1-3, 0-2.
    fn small_tree() -> (JunctionTree, Plan) {
        let cliques = (0..4).map(|_| Clique { variables: vec![], entries: 1 }).collect();
        let edge = |(parent, child)| Separator {
            variables: vec![],
            entries: 1,
            parent: CliqueId::new(parent),
            child: CliqueId::new(child),
        };
        let separators = [(0, 1), (0, 2), (1, 3)].map(edge).to_vec();
        let tree = JunctionTree::new(cliques, separators, CliqueId::new(0));
        let plan = Plan::depth_first(&tree);
        (tree, plan)
    }

    #[test]
    fn a_message_needs_what_its_sender_received() {
        let (tree, plan) = small_tree();
        let dependencies = Dependencies::new(&tree, &plan);
        let inputs = plan.ids().map(|id| dependencies.inputs(id).iter().map(|id| id.index()));
        let inputs: Vec<Vec<usize>> = inputs.map(Iterator::collect).collect();
        assert_eq!(inputs, [vec![], vec![0], vec![], vec![1, 2], vec![3], vec![1, 2]]);
    }

    #[test]
    fn the_critical_path_is_the_longest_chain_of_messages() {
        let (tree, plan) = small_tree();
        let dependencies = Dependencies::new(&tree, &plan);
        let trace = |durations: &[u64]| MessageTrace {
            messages: (plan.ids().zip(durations))
                .map(|(message, &duration)| MessageTiming {
                    message,
                    worker: 0,
                    wait: Duration::ZERO,
                    start: Duration::ZERO,
                    duration: Duration::from_nanos(duration),
                    shared_with: 0,
                })
                .collect(),
            ..MessageTrace::default()
        };
        let path = |durations: &[u64]| {
            let path = dependencies.critical_path(&trace(durations));
            let messages: Vec<usize> = path.messages.iter().map(|id| id.index()).collect();
            (messages, path.duration.as_nanos())
        };
        assert_eq!(path(&[5, 1, 3, 1, 1, 9]), (vec![0, 1, 5], 15));
        assert_eq!(path(&[1, 1, 7, 5, 6, 9]), (vec![2, 3, 4], 18));
        assert_eq!(path(&[1, 1]), (vec![0, 1], 2), "only these messages were computed");
        assert_eq!(path(&[]).1, 0);
    }
}
