//! What a propagation notes of one clique.

use crate::engine::cpu::pass::message::Columns;
use crate::engine::cpu::tree::nodes::Node;
use crate::potential::Entry;

#[derive(Debug, Default)]
pub struct CliqueState {
    /// All ports toward children and of private variables.
    pub all: Columns,
    /// Those at which something is to be multiplied.
    pub active: Columns,
    /// Whether a finding is entered at the separator above.
    pub is_masked: bool,
    /// Whether a finding is entered among the private variables.
    pub is_weighted: bool,
    /// Whether the message to the parent has to be computed from the table.
    pub is_needed: bool,
    /// Whether the message to the parent may differ from the one that is there.
    pub is_up_stale: bool,
    /// Whether the beliefs may differ from those that are there, by more than a factor.
    pub is_down_stale: bool,
    /// What all stale messages of the subtree toward the root cost, in entries of tables.
    pub work_up: usize,
    /// The same of those away from the root.
    pub work_down: usize,
    /// Exponents of the findings entered here.
    pub entered: i64,
    /// The exponent of the message to the parent, with all that went into it.
    pub exponent: i64,
}

impl CliqueState {
    pub fn new<T: Entry>(node: &Node<T>) -> Self {
        let mut state = Self::default();
        for (child, &is_vector) in node.is_vector.iter().enumerate() {
            state.all.push(node.word(child), is_vector);
        }
        state.active.scalars.reserve(state.all.scalars.len());
        state.active.vectors.reserve(state.all.vectors.len());
        state
    }
}
