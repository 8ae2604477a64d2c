//! Labels of states, and what to say of one that is not there.

use std::collections::HashMap;

use super::Word;
use crate::format::FormatError;
use crate::format::source::Source;

/// The states of a node by their labels.
pub(in crate::format) struct Labels<'n> {
    node: &'n str,
    states: &'n [Word<'n>],
    by_label: HashMap<&'n str, usize>,
}

impl<'n> Labels<'n> {
    /// The labels of `states`, which are those of the node called `node`.
    pub fn new(node: &'n str, states: &'n [Word<'n>]) -> Self {
        let by_label = states.iter().enumerate().map(|(at, state)| (state.text.as_ref(), at));
        Self { node, states, by_label: by_label.collect() }
    }

    /// The position of the state labelled `label`.
    pub fn get(&self, label: &str) -> Option<usize> {
        self.by_label.get(label).copied()
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// That there is no state `label`, which stands at byte `at`.
    pub fn unknown(&self, source: Source<'_>, label: &str, at: usize) -> FormatError {
        const SHOWN: usize = 20;
        let mut known: Vec<_> =
            self.states.iter().take(SHOWN).map(|state| state.text.as_ref()).collect();
        if self.states.len() > SHOWN {
            known.push("...");
        }
        let message =
            format!("'{}' has no state '{label}'; its states are {}", self.node, known.join(", "));
        source.error(at, message)
    }
}
