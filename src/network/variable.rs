//! A discrete variable and its states.

use crate::id::define_id;

define_id! {
    /// Identifies a variable of one [`Network`](crate::network::Network): its position in
    /// [`variables`](crate::network::Network::variables).
    VariableId
}

/// A discrete random variable: a name, and a label for each state in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    name: String,
    states: Vec<String>,
}

impl Variable {
    /// A variable called `name` with the given states.
    ///
    /// The constructors of [`Network`](crate::network::Network) check that there is at least one
    /// state and that no two states have the same label.
    pub fn new(
        name: impl Into<String>,
        states: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self { name: name.into(), states: states.into_iter().map(Into::into).collect() }
    }

    /// The name; unique in a [`Network`](crate::network::Network).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The labels of the states, in file order.
    #[must_use]
    pub fn states(&self) -> &[String] {
        &self.states
    }

    /// Number of states.
    #[must_use]
    pub fn cardinality(&self) -> usize {
        self.states.len()
    }

    /// Position of the state labelled `label`, if there is one.
    #[must_use]
    pub fn state_index(&self, label: &str) -> Option<usize> {
        self.states.iter().position(|state| state == label)
    }
}
