//! The messages of one propagation, as data.

use crate::graph::{CliqueId, JunctionTree, SeparatorId};
use crate::id::define_id;

define_id! {
    /// The position of a message in a [`Plan`].
    MessageId
}

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// From child to parent: evidence is collected at the root.
    Collect,
    /// From parent to child: evidence is distributed from the root.
    Distribute,
}

impl Phase {
    /// `collect` or `distribute`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::Distribute => "distribute",
        }
    }
}

/// One message: the table of `from` is marginalised onto the separator, and the table of `to` is
/// multiplied by the ratio of the new separator table to the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Collect or distribute.
    pub phase: Phase,
    /// The sending clique.
    pub from: CliqueId,
    /// The receiving clique.
    pub to: CliqueId,
    /// The separator between them.
    pub separator: SeparatorId,
    /// Messages of the same phase and level are independent of one another: they depend only on
    /// messages of lower levels and of the previous phase. In collect, the level is the number of
    /// edges from the sender down to its furthest leaf. In distribute, it is the number of edges
    /// from the root to the sender.
    pub level: usize,
}

/// All messages of one propagation, each after the messages it depends on.
///
/// The order is depth-first as in Algorithms 2 to 4 of Zheng, Mengshoel and Chong. A tree of n
/// cliques has 2 (n - 1) messages: the first half collects, the second half distributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    messages: Vec<Message>,
}

impl Plan {
    /// The depth-first plan for `tree`.
    #[must_use]
    pub fn depth_first(tree: &JunctionTree) -> Self {
        let order = preorder(tree);
        // Number of edges from each clique down to its furthest leaf.
        let mut height = vec![0_usize; tree.cliques().len()];
        for &clique in order.iter().rev() {
            if let Some(link) = tree.parent(clique) {
                let below = height[clique.index()] + 1;
                let above = &mut height[link.clique.index()];
                *above = (*above).max(below);
            }
        }
        let collect = postorder(tree).into_iter().filter_map(|clique| {
            let link = tree.parent(clique)?;
            Some(Message {
                phase: Phase::Collect,
                from: clique,
                to: link.clique,
                separator: link.separator,
                level: height[clique.index()],
            })
        });
        let distribute = order.iter().filter_map(|&clique| {
            let link = tree.parent(clique)?;
            Some(Message {
                phase: Phase::Distribute,
                from: link.clique,
                to: clique,
                separator: link.separator,
                level: tree.depth_of(link.clique),
            })
        });
        Self { messages: collect.chain(distribute).collect() }
    }

    /// All messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The ids of all messages, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = MessageId> + use<> {
        (0..self.messages.len()).map(MessageId::new)
    }

    /// The messages of the collect phase.
    #[must_use]
    pub fn collect(&self) -> &[Message] {
        &self.messages[..self.messages.len() / 2]
    }

    /// The messages of the distribute phase.
    #[must_use]
    pub fn distribute(&self) -> &[Message] {
        &self.messages[self.messages.len() / 2..]
    }

    /// For each message, the number of entries of the two clique tables, |from| + |to|, as the
    /// paper counts the entries that a message touches. `tree` is the tree of the plan.
    #[must_use]
    pub fn entries_touched(&self, tree: &JunctionTree) -> Vec<u64> {
        let entries =
            |message: &Message| tree[message.from].entries.saturating_add(tree[message.to].entries);
        self.messages.iter().map(entries).collect()
    }

    /// The message over `separator` in `phase`; `None` if the tree has no such separator.
    #[must_use]
    pub fn message_over(&self, separator: SeparatorId, phase: Phase) -> Option<MessageId> {
        self.messages
            .iter()
            .position(|message| message.separator == separator && message.phase == phase)
            .map(MessageId::new)
    }
}

impl std::ops::Index<MessageId> for Plan {
    type Output = Message;

    fn index(&self, message: MessageId) -> &Message {
        &self.messages[message.index()]
    }
}

/// All cliques, each before its descendants. The cliques of each subtree are consecutive.
fn preorder(tree: &JunctionTree) -> Vec<CliqueId> {
    let mut order = Vec::with_capacity(tree.cliques().len());
    let mut open = vec![tree.root()];
    while let Some(clique) = open.pop() {
        order.push(clique);
        open.extend(tree.children(clique).iter().rev().map(|link| link.clique));
    }
    order
}

/// All cliques, each after its descendants. The cliques of each subtree are consecutive.
fn postorder(tree: &JunctionTree) -> Vec<CliqueId> {
    // The reverse of a preorder that visits children from last to first.
    let mut order = Vec::with_capacity(tree.cliques().len());
    let mut open = vec![tree.root()];
    while let Some(clique) = open.pop() {
        order.push(clique);
        open.extend(tree.children(clique).iter().map(|link| link.clique));
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Clique, Separator};

    /// Root 0 with children 1 and 2; 1 has the child 3.
    fn small_tree() -> JunctionTree {
        let clique = || Clique { variables: vec![], entries: 1 };
        let edge = |parent: usize, child: usize| Separator {
            variables: vec![],
            entries: 1,
            parent: CliqueId::new(parent),
            child: CliqueId::new(child),
        };
        let separators = vec![edge(0, 1), edge(0, 2), edge(1, 3)];
        JunctionTree::new(
            vec![clique(), clique(), clique(), clique()],
            separators,
            CliqueId::new(0),
        )
    }

    #[test]
    fn collect_goes_depth_first_from_the_leaves_and_distribute_from_the_root() {
        let plan = Plan::depth_first(&small_tree());
        let ends = |messages: &[Message]| -> Vec<(usize, usize, usize)> {
            messages.iter().map(|m| (m.from.index(), m.to.index(), m.level)).collect()
        };
        assert_eq!(ends(plan.collect()), [(3, 1, 0), (1, 0, 1), (2, 0, 0)]);
        assert_eq!(ends(plan.distribute()), [(0, 1, 0), (1, 3, 1), (0, 2, 0)]);
    }

    #[test]
    fn a_message_is_found_by_separator_and_phase() {
        let plan = Plan::depth_first(&small_tree());
        for id in plan.ids() {
            assert_eq!(plan.message_over(plan[id].separator, plan[id].phase), Some(id));
        }
    }
}
