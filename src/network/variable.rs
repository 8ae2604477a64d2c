//! A discrete variable and its states.

use crate::id::define_id;

define_id! {
    /// Names a variable of one [`Network`](crate::network::Network) by its position in the file.
    VariableId
}

/// A discrete random variable: a name and one label for each state, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    name: String,
    states: Vec<String>,
}

impl Variable {
    /// A variable called `name` whose states are `states`, in this order.
    ///
    /// Whether the labels are usable (at least one, no two alike) is checked by
    /// [`Network::new`](crate::network::Network::new), which can say of which variable it speaks.
    pub fn new(
        name: impl Into<String>,
        states: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self { name: name.into(), states: states.into_iter().map(Into::into).collect() }
    }

    /// The name, as written in the file.
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

    /// Position of the state labelled `label`.
    #[must_use]
    pub fn state_index(&self, label: &str) -> Option<usize> {
        self.states.iter().position(|state| state == label)
    }
}
