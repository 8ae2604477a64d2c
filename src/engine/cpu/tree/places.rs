//! Where the findings on each variable enter the tree and where its posterior is read.

use crate::potential::Axis;

/// The tables that hold one variable, among those that cliques exchange.
#[derive(Debug, Default)]
pub struct VariablePlaces {
    /// The clique nearest to the root that holds it.
    pub top: usize,
    /// The separators that hold it, each by the clique below it, nearest to the root first; with
    /// its axis in the order of the clique below.
    pub separators: Vec<(usize, Axis)>,
    /// Its axis in the table of private variables of [`top`](Self::top), if it is in no other
    /// clique.
    pub private: Option<Axis>,
    /// Where its posterior is read: the smallest table of beliefs that holds it, with its axis
    /// there. `None` if the variable was removed from the tree.
    pub home: Option<(BeliefTable, Axis)>,
}

/// A table of beliefs. Distribute computes one at each port toward a child and at the private port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BeliefTable {
    /// The separator between this clique and its parent, in the order of the parent.
    Separator(usize),
    /// The private variables of this clique.
    Private(usize),
}

impl VariablePlaces {
    /// Resets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.separators.clear();
        (self.top, self.private, self.home) = (0, None, None);
    }
}
