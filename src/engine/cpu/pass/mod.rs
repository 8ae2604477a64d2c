//! Collect and distribute: one propagation through a tree.
//!
//! Let psi be the table of clique C, S the separator to its parent, and m_i the message from child
//! i. On the way up, C sends
//!
//! ```text
//! up(s) = mask(s) * sum over x in C that agree with s of  psi(x) * product over i of m_i(x)
//! ```
//!
//! where mask(s) is the product of the findings that are entered at S. Findings on C's private
//! variables are *weights*, which are multiplied like a message from one more child. On the way
//! down, C receives down(s): the parent's belief over S divided by the message of C without the
//! mask. One pass over psi then gives the belief over the separator S_j to each child j:
//!
//! ```text
//! belief(s_j) = sum over x in C that agree with s_j of psi(x) * down(x) * product over i of m_i(x)
//! ```
//!
//! So every table is read twice at most, except if numbers must be rescaled, and never written. The
//! posterior of a variable is read from the smallest table of beliefs that holds it. [`message`]
//! has the formulas with all details. A large down(s) may be
//! [stored](crate::engine::cpu::reuse::change) and used again.
//!
//! Read `state` and `clique_state` (the data of a propagation), `enter` (findings), `message` (one
//! clique) and `exchange` (the two ends of a separator), `downward` (the pass at a clique on the
//! way down), `kernel` (the loop over rows), `at_clique` (all work at one clique), `traversal` (the
//! order of messages, and threads) and `report` (timing of messages).

mod at_clique;
mod clique_state;
mod downward;
mod enter;
pub mod exchange;
mod kernel;
pub mod message;
pub mod report;
pub mod state;
pub mod traversal;
