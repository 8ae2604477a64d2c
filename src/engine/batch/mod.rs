//! Many cases of one network at once, each in a lane of a vector.
//!
//! Where engines leave out what one case's evidence rules out, here all cases do the same work, and
//! evidence is weights: one instruction serves as many cases as there are lanes, no index is
//! computed, and what cannot be whatever the evidence was left out once and for all.
//!
//! [`support`] finds what can be, [`join_tree`] the tree on which messages run, [`plan`] makes lists of
//! terms of them, in an [`order`]. [`kernel`] computes them on the CPU, [`state`] is what a group of cases needs for it,
//! and [`cases`] answers batches. Engine `gpu` computes them with the threads of a warp as lanes.

mod cases;
mod join_tree;
mod kernel;
mod order;
mod plan;
mod state;
mod support;

pub(super) use cases::BatchRunner;
#[cfg(feature = "cuda")]
pub(super) use join_tree::JoinTree;
pub(super) use kernel::CASES_PER_GROUP;
#[cfg(feature = "cuda")]
pub(super) use order::Order;
#[cfg(feature = "cuda")]
pub(super) use plan::{Kind, Plan};
#[cfg(feature = "cuda")]
pub(super) use state::scale_of;
