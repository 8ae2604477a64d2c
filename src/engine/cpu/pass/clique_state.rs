//! The data that a propagation keeps about one clique.

use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::rows::PortWords;

/// The data of a propagation about one clique. Kept for the next propagation.
#[derive(Debug, Default)]
pub struct CliqueState {
    /// The words of all ports below: the children's, and the private port's if there is one.
    pub ports: PortWords,
    /// The words of the ports below whose messages or weights are not one everywhere.
    pub active: PortWords,
    /// Whether a finding is entered at the separator above.
    pub is_masked: bool,
    /// Whether a finding is entered at the private variables.
    pub is_weighted: bool,
    /// Whether the message to the parent must be computed from the table; otherwise the message is
    /// the mask.
    pub is_needed: bool,
    /// Whether the message to the parent may differ from the stored one.
    pub is_up_stale: bool,
    /// Whether the beliefs may differ from the stored ones by more than a factor common to all
    /// entries.
    pub is_down_stale: bool,
    /// The cost of all stale messages toward the root in the subtree of this clique, in table
    /// entries.
    pub work_up: usize,
    /// The cost of all stale messages away from the root in the subtree, in table entries.
    pub work_down: usize,
    /// The exponent of the power of two by which the product of the clique's findings, at the
    /// separator above or as weights, must be multiplied.
    pub entered: i64,
    /// The exponent of the power of two by which the message to the parent must be multiplied,
    /// including the exponents of all messages that went into it.
    pub exponent: i64,
}

impl CliqueState {
    /// The state of a clique before any propagation.
    pub fn new(node: &Node) -> Self {
        let mut state = Self::default();
        for (child, &is_vector) in node.is_vector.iter().enumerate() {
            state.ports.push(node.word(child), is_vector);
        }
        state.active.scalars.reserve(state.ports.scalars.len());
        state.active.vectors.reserve(state.ports.vectors.len());
        state
    }
}
