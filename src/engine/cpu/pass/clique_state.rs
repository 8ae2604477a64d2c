//! The data that a propagation keeps about one clique.

use crate::engine::bounds::{Bounds, Loss};
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::rows::{PortWords, SumWords};

/// The data of a propagation about one clique. Kept for the next propagation.
#[derive(Debug, Default)]
pub struct CliqueState {
    /// The words of all ports below: the children's, and the private port's if there is one.
    pub ports: SumWords,
    /// The words of the active ports: the ports below with messages or weights that may differ from
    /// one.
    pub active: PortWords,
    /// Whether a finding is entered at the separator above.
    pub is_masked: bool,
    /// Whether a finding is entered at the private variables.
    pub is_weighted: bool,
    /// Whether the message to the parent must be computed from the table. Otherwise the message is
    /// the mask, or one everywhere if there is no mask.
    pub is_needed: bool,
    /// Whether the message to the parent may differ from the previous one.
    pub is_up_stale: bool,
    /// Whether the beliefs may differ from the previous ones by more than a factor common to all
    /// entries.
    pub is_down_stale: bool,
    /// Whether the message from the parent is in [`State::stored`] and need not be computed. The
    /// parent's belief over the separator may then be out of date.
    ///
    /// [`State::stored`]: crate::engine::cpu::pass::state::State::stored
    pub is_stored: bool,
    /// The bounds of the message from the parent, if it is stored.
    pub stored_bounds: Bounds,
    /// The cost, in table entries, of the stale messages to parents that are computed from tables,
    /// over all cliques of this clique's subtree.
    pub work_up: usize,
    /// The cost, in table entries, of the stale beliefs of all cliques of this clique's subtree.
    pub work_down: usize,
    /// The exponent of the power of two by which the clique's mask and weights together must be
    /// multiplied.
    pub entered_exponent: i64,
    /// The bounds of the product of all likelihoods that are entered at the clique.
    pub entered_bounds: Bounds,
    /// The bounds of the message to the parent.
    pub up_bounds: Bounds,
    /// The level to which entries of the message to the parent were raised; see
    /// [`bounds`](crate::engine::bounds).
    pub raised: Option<i32>,
    /// The bounds of the products that the clique's beliefs are sums of.
    pub belief_bounds: Bounds,
    /// The exponent of the power of two by which the message to the parent was multiplied, if it
    /// [is needed](Self::is_needed).
    pub sent_scale: i32,
    /// The exponent of the power of two that brings the sum of a table of the clique's beliefs near
    /// one. The sum is the same for all tables. The messages to children are multiplied by this
    /// power.
    pub belief_scale: i32,
    /// The sum of a table of the beliefs, at the root and where a stored message from the parent
    /// was used; not set for other cliques.
    pub total: f64,
    /// The probability mass that may have been lost or added at this clique.
    pub loss: Loss,
    /// The exponent of the power of two by which the message to the parent must be multiplied,
    /// including the exponents of all messages that went into it.
    pub exponent: i64,
}

impl CliqueState {
    /// The state of a clique before any propagation.
    pub fn new(node: &Node) -> Self {
        let mut state = Self { ports: node.sum_words(|_| true), ..Self::default() };
        state.active.scalars.reserve(state.ports.scalars.len());
        state.active.vectors.reserve(state.ports.vectors.len());
        state
    }
}
