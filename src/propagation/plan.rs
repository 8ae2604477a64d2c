//! The messages of one propagation, as data.

use crate::graph::{CliqueId, JunctionTree, SeparatorId};
use crate::id::define_id;

define_id! {
    /// Names a message of one [`Plan`] by its place in the order of work.
    MessageId
}

/// Toward the root or away from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Evidence is collected at the root: messages from child to parent.
    Collect,
    /// Evidence is distributed from the root: messages from parent to child.
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

/// One message: marginalise the table of `from` onto the separator, scatter that into `to`.
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
    /// Messages of one phase and one level depend on earlier levels only, never on each other's
    /// results. In collect this is the height of the sender above its furthest leaf, in distribute
    /// its distance from the root.
    pub level: usize,
}

/// All messages of one propagation in an order in which each finds its inputs ready.
///
/// The order is depth-first, as in Algorithms 2 to 4 of Zheng, Mengshoel and Chong: 2 (n - 1)
/// messages for n cliques, first all of collect, then all of distribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    messages: Vec<Message>,
}

impl Plan {
    /// The depth-first plan for `tree`.
    #[must_use]
    pub fn depth_first(tree: &JunctionTree) -> Self {
        let order = preorder(tree);
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

    /// All messages in the order of work.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// All message ids, in the order of work.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = MessageId> + use<> {
        (0..self.messages.len()).map(MessageId::new)
    }

    /// The messages toward the root.
    #[must_use]
    pub fn collect(&self) -> &[Message] {
        &self.messages[..self.messages.len() / 2]
    }

    /// The messages away from the root.
    #[must_use]
    pub fn distribute(&self) -> &[Message] {
        &self.messages[self.messages.len() / 2..]
    }

    /// The message over `separator` in `phase`.
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

/// Every clique before its descendants, a whole subtree before the next.
fn preorder(tree: &JunctionTree) -> Vec<CliqueId> {
    let mut order = Vec::with_capacity(tree.cliques().len());
    let mut open = vec![tree.root()];
    while let Some(clique) = open.pop() {
        order.push(clique);
        open.extend(tree.children(clique).iter().rev().map(|link| link.clique));
    }
    order
}

/// Every clique after its descendants, a whole subtree before the next.
fn postorder(tree: &JunctionTree) -> Vec<CliqueId> {
    // The mirror image of a preorder that takes the children from last to first.
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
    fn collect_runs_leaves_first_and_distribute_root_first_depth_first() {
        let plan = Plan::depth_first(&small_tree());
        let ends = |messages: &[Message]| -> Vec<(usize, usize, usize)> {
            messages.iter().map(|m| (m.from.index(), m.to.index(), m.level)).collect()
        };
        assert_eq!(ends(plan.collect()), [(3, 1, 0), (1, 0, 1), (2, 0, 0)]);
        assert_eq!(ends(plan.distribute()), [(0, 1, 0), (1, 3, 1), (0, 2, 0)]);
    }

    #[test]
    fn a_message_is_found_by_its_separator() {
        let plan = Plan::depth_first(&small_tree());
        for id in plan.ids() {
            assert_eq!(plan.message_over(plan[id].separator, plan[id].phase), Some(id));
        }
    }
}
