//! Many cases of one network at once, on the CPU and on the GPU.
//!
//! Engines that propagate one case leave out what its evidence rules out. Here all cases do the
//! same work and evidence is just weights, so one vector instruction serves several cases: an entry
//! of a message is a short array with one number per case. No index is computed while running, and
//! what is impossible whatever the evidence is left out beforehand.
//!
//! Messages run on a *binary join tree*: no vertex has more than three neighbours, so each message
//! is a sum of products of a constant and at most two other messages:
//!
//! ```text
//! result[row] = sum over the row's terms t of  value(t) * first[entry1(t)] * second[entry2(t)]
//! ```
//!
//! The rows and terms of all messages, with their constants and entries, are a [`Plan`]. For
//! example, the message about B from a clique over A and B with potential psi, which multiplies it
//! by a message m about A, has a row for each state b, with the terms (psi(a, b), m's entry a) for
//! all a.
//!
//! | module | what it does |
//! |---|---|
//! | [`sparsity`] | the configurations of each clique that are possible |
//! | [`join_tree`] | the binary join tree |
//! | [`order`] | the order of its messages |
//! | [`plan`] | the messages as lists of terms |
//! | [`kernel`] | the loops over terms, on the CPU |
//! | [`state`] | the messages of a group of cases |
//! | [`runner`] | batches on the CPU; on the GPU it is `engine/cuda/batch` |
//!
//! Read them in this order.

mod join_tree;
mod kernel;
mod order;
mod plan;
mod runner;
mod sparsity;
mod state;

#[cfg(feature = "cuda")]
pub(super) use join_tree::JoinTree;
pub(super) use kernel::CASES_PER_GROUP;
#[cfg(feature = "cuda")]
pub(super) use order::Order;
#[cfg(feature = "cuda")]
pub(super) use plan::{Kind, Plan};
pub(super) use runner::BatchRunner;
#[cfg(feature = "cuda")]
pub(super) use state::weight_scale;
