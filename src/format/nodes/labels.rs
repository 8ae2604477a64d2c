//! Looks up states by label.

use std::collections::HashMap;

use super::Word;
use crate::format::FormatError;
use crate::format::source::SourceText;

/// The states of one node, by label.
pub(in crate::format) struct Labels<'n> {
    node: &'n str,
    states: &'n [Word<'n>],
    by_label: HashMap<&'n str, usize>,
}

impl<'n> Labels<'n> {
    /// Indexes the `states` of the node called `node`.
    pub fn new(node: &'n str, states: &'n [Word<'n>]) -> Self {
        let by_label = states.iter().enumerate().map(|(index, state)| (state.text.as_ref(), index));
        Self { node, states, by_label: by_label.collect() }
    }

    /// The index of the state labelled `label`.
    pub fn get(&self, label: &str) -> Option<usize> {
        self.by_label.get(label).copied()
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// The error for a label, at byte `offset`, that no state has.
    pub fn unknown(&self, source: SourceText<'_>, label: &str, offset: usize) -> FormatError {
        /// Maximum number of labels that the message lists.
        const LISTED: usize = 20;
        let mut known: Vec<_> =
            self.states.iter().take(LISTED).map(|state| state.text.as_ref()).collect();
        if self.states.len() > LISTED {
            known.push("...");
        }
        let message =
            format!("'{}' has no state '{label}'; its states are {}", self.node, known.join(", "));
        source.error(offset, message)
    }
}
