//! Selectable items, and what is highlighted with them. All panes share selection and hover.

use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::graph::{CliqueId, SeparatorId};
use crate::network::VariableId;
use crate::propagation::{CompiledNetwork, MessageId};

/// An item that can be selected or hovered in any pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A variable of the network.
    Variable(VariableId),
    /// A clique of the junction tree.
    Clique(CliqueId),
    /// A separator, which is an edge of the junction tree.
    Separator(SeparatorId),
    /// A message of the plan.
    Message(MessageId),
    /// Several cliques, such as those in a bin of a histogram.
    Cliques(Arc<[CliqueId]>),
    /// Several separators, such as those in a bin of a histogram.
    Separators(Arc<[SeparatorId]>),
    /// Several messages, such as those in a bin of a histogram.
    Messages(Arc<[MessageId]>),
}

impl Item {
    /// The item of tree `new` that corresponds to this item of tree `old`, if there is one. Both
    /// trees are of the same network. Variables stay the same, and a clique corresponds to the
    /// clique with the same variables. A separator corresponds to the separator between the
    /// corresponding cliques, and a message to the message in the same direction between them. A
    /// group of cliques, separators or messages corresponds to nothing.
    #[must_use]
    pub fn in_tree(&self, old: &CompiledNetwork, new: &CompiledNetwork) -> Option<Self> {
        let clique = |id: CliqueId| {
            let variables = &old.tree()[id].variables;
            let same = |id: &CliqueId| new.tree()[*id].variables == *variables;
            new.tree().clique_ids().find(same)
        };
        let separator = |id: SeparatorId| {
            let ends = &old.tree()[id];
            let (above, below) = (clique(ends.parent)?, clique(ends.child)?);
            new.tree().separator_ids().find(|&id| {
                let ends = (new.tree()[id].parent, new.tree()[id].child);
                ends == (above, below) || ends == (below, above)
            })
        };
        match self {
            Self::Variable(variable) => Some(Self::Variable(*variable)),
            Self::Clique(id) => clique(*id).map(Self::Clique),
            Self::Separator(id) => separator(*id).map(Self::Separator),
            Self::Message(id) => {
                let message = old.plan()[*id];
                let (from, to) = (clique(message.from)?, clique(message.to)?);
                let same = |id: &MessageId| {
                    let message = new.plan()[*id];
                    (message.from, message.to) == (from, to)
                };
                new.plan().ids().find(same).map(Self::Message)
            }
            Self::Cliques(_) | Self::Separators(_) | Self::Messages(_) => None,
        }
    }
}

/// What is highlighted for one item.
///
/// | item | also highlighted |
/// |---|---|
/// | variable | the cliques and separators that contain it |
/// | clique | its variables, and its incoming and outgoing messages |
/// | separator | its variables, its two cliques, and both messages through it |
/// | message | its two cliques, its separator, and the separator's variables |
/// | several cliques | nothing |
/// | several separators | the messages through them |
/// | several messages | their separators |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highlight {
    item: Option<Item>,
    variables: FixedBitSet,
    cliques: FixedBitSet,
    separators: FixedBitSet,
    messages: FixedBitSet,
}

impl Highlight {
    /// The highlight of `item`. Before the network is compiled, a variable is highlighted without
    /// its cliques and separators, and no other item is highlighted.
    #[must_use]
    pub fn of(item: Option<Item>, compiled: Option<&CompiledNetwork>) -> Self {
        let mut highlight = Self { item, ..Self::default() };
        match (highlight.item.clone(), compiled) {
            (Some(item), Some(compiled)) => highlight.add(&item, compiled),
            (Some(Item::Variable(variable)), None) => {
                insert(&mut highlight.variables, variable.index())
            }
            _ => {}
        }
        highlight
    }

    /// The item itself.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        self.item.as_ref()
    }

    /// Whether the variable is highlighted.
    #[must_use]
    pub fn variable(&self, variable: VariableId) -> bool {
        self.variables.contains(variable.index())
    }

    /// Whether the clique is highlighted.
    #[must_use]
    pub fn clique(&self, clique: CliqueId) -> bool {
        self.cliques.contains(clique.index())
    }

    /// Whether the separator is highlighted.
    #[must_use]
    pub fn separator(&self, separator: SeparatorId) -> bool {
        self.separators.contains(separator.index())
    }

    /// Whether the message is highlighted.
    #[must_use]
    pub fn message(&self, message: MessageId) -> bool {
        self.messages.contains(message.index())
    }

    /// Highlights `item` and what belongs to it.
    fn add(&mut self, item: &Item, compiled: &CompiledNetwork) {
        let tree = compiled.tree();
        match item {
            Item::Variable(variable) => {
                insert(&mut self.variables, variable.index());
                for clique in tree.clique_ids() {
                    if tree[clique].variables.binary_search(variable).is_ok() {
                        insert(&mut self.cliques, clique.index());
                    }
                }
                for separator in tree.separator_ids() {
                    if tree[separator].variables.binary_search(variable).is_ok() {
                        insert(&mut self.separators, separator.index());
                    }
                }
            }
            Item::Clique(clique) => self.add_clique(*clique, compiled),
            Item::Cliques(cliques) => {
                cliques.iter().for_each(|clique| insert(&mut self.cliques, clique.index()));
            }
            Item::Separator(separator) => self.add_separator(*separator, compiled),
            Item::Separators(separators) => {
                separators
                    .iter()
                    .for_each(|separator| insert(&mut self.separators, separator.index()));
                self.add_messages_of_separators(compiled);
            }
            Item::Messages(messages) => {
                for id in messages.iter() {
                    insert(&mut self.messages, id.index());
                    let separator = compiled.plan()[*id].separator;
                    insert(&mut self.separators, separator.index());
                }
            }
            Item::Message(id) => {
                let message = compiled.plan()[*id];
                insert(&mut self.messages, id.index());
                insert(&mut self.separators, message.separator.index());
                insert(&mut self.cliques, message.from.index());
                insert(&mut self.cliques, message.to.index());
                self.add_variables(&tree[message.separator].variables);
            }
        }
    }

    /// Highlights a clique, its variables and its messages.
    fn add_clique(&mut self, clique: CliqueId, compiled: &CompiledNetwork) {
        insert(&mut self.cliques, clique.index());
        self.add_variables(&compiled.tree()[clique].variables);
        for (index, message) in compiled.plan().messages().iter().enumerate() {
            if message.from == clique || message.to == clique {
                insert(&mut self.messages, index);
            }
        }
    }

    /// Highlights a separator, its variables, its cliques and its messages.
    fn add_separator(&mut self, separator: SeparatorId, compiled: &CompiledNetwork) {
        let Some(ends) = compiled.tree().separators().get(separator.index()) else { return };
        insert(&mut self.separators, separator.index());
        insert(&mut self.cliques, ends.parent.index());
        insert(&mut self.cliques, ends.child.index());
        self.add_variables(&ends.variables);
        self.add_messages_of_separators(compiled);
    }

    /// Highlights variables.
    fn add_variables(&mut self, variables: &[VariableId]) {
        variables.iter().for_each(|variable| insert(&mut self.variables, variable.index()));
    }

    /// Highlights the messages through all separators that are highlighted.
    fn add_messages_of_separators(&mut self, compiled: &CompiledNetwork) {
        for (index, message) in compiled.plan().messages().iter().enumerate() {
            if self.separators.contains(message.separator.index()) {
                insert(&mut self.messages, index);
            }
        }
    }
}

/// Adds `index` to `set`, whatever the capacity of `set`.
fn insert(set: &mut FixedBitSet, index: usize) {
    set.grow_and_insert(index);
}
