//! The tables in which findings on a variable are entered and its posterior is read.

use crate::potential::Axis;

/// The tables at ports that hold one variable.
#[derive(Debug, Default)]
pub struct VariablePlaces {
    /// The clique nearest to the root that holds the variable.
    pub top: usize,
    /// The separators that hold the variable, in preorder, so none is nearer to the root than the
    /// first. Each is given by the clique below the separator, with the variable's axis in that
    /// clique's order.
    pub separators: Vec<(usize, Axis)>,
    /// The variable's axis in the table of private variables of [`top`](Self::top), if no other
    /// clique holds the variable.
    pub private: Option<Axis>,
    /// The smallest table of beliefs that holds the variable, and the variable's axis in this
    /// table. The posterior is read there. `None` if the variable was removed from the tree.
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
    /// Removes all content but keeps the memory.
    pub fn clear(&mut self) {
        self.separators.clear();
        (self.top, self.private, self.home) = (0, None, None);
    }
}
