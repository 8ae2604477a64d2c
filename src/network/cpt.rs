//! Conditional probability tables.

use crate::network::{Factor, VariableId};

/// The conditional distribution of one variable given its parents.
///
/// `values` is row-major: the first parent is the slowest index and the child the fastest. Each
/// configuration of the parents has a row of consecutive numbers, one for each state of the child.
#[derive(Clone, Debug, PartialEq)]
pub struct Cpt {
    child: VariableId,
    /// Its scope is the parents and then the child.
    factor: Factor,
}

impl Cpt {
    /// The table of `child` given `parents`, with `values` in the index order of [`Cpt`].
    ///
    /// The arguments are checked later, by [`Network::new`](crate::network::Network::new).
    #[must_use]
    pub fn new(child: VariableId, parents: Vec<VariableId>, values: Vec<f64>) -> Self {
        let mut scope = parents;
        scope.push(child);
        Self { child, factor: Factor::new(scope, values) }
    }

    /// The variable whose distribution this is.
    #[must_use]
    pub fn child(&self) -> VariableId {
        self.child
    }

    /// The parents, slowest index first.
    #[must_use]
    pub fn parents(&self) -> &[VariableId] {
        let scope = self.factor.scope();
        &scope[..scope.len() - 1]
    }

    /// The family: the parents and then the child, in the index order of [`values`](Self::values).
    pub fn scope(&self) -> impl Iterator<Item = VariableId> + '_ {
        self.factor.scope().iter().copied()
    }

    /// The probabilities; the index of the child varies fastest.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        self.factor.values()
    }

    /// The same table as a factor; its scope is the family.
    #[must_use]
    pub fn factor(&self) -> &Factor {
        &self.factor
    }

    /// The table as a factor, for editing.
    pub(super) fn factor_mut(&mut self) -> &mut Factor {
        &mut self.factor
    }

    /// The rows, one for each configuration of the parents, for a child of `cardinality` states.
    pub(super) fn rows_mut(&mut self, cardinality: usize) -> impl Iterator<Item = &mut [f64]> {
        self.factor.values_mut().chunks_mut(cardinality)
    }
}
