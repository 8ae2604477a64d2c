//! Many cases of one network at once, on the CPU and on the GPU.
//!
//! An engine that propagates one case can leave out the entries that the evidence of this case
//! rules out. Here the same work is done for every case, and evidence is only a set of weights. So
//! one vector instruction works on several cases: an entry of a message is a short array with one
//! number per case. All indices are computed in advance. Entries that are impossible given any
//! evidence are left out.
//!
//! Messages are passed in a *binary join tree*, in which no vertex has more than three neighbours.
//! So an entry of a message is a sum of terms. Each term is the product of a constant and at most
//! one entry of each of two other messages:
//!
//! ```text
//! result[row] = sum over the row's terms t of  value(t) * first[entry1(t)] * second[entry2(t)]
//! ```
//!
//! The rows and terms of all messages are a [`Plan`]. For example, a clique over A and B with
//! potential psi receives a message m over A and sends a message over B. That message has a row for
//! each state b, with the terms psi(a, b) * m\[a\] for all states a.
//!
//! # Terms
//! * *vertex*: a clique of the junction tree, or a set of variables that was added between two
//!   neighbours.
//! * *edge*: joins two vertices, or a vertex and a variable, and carries a message in either
//!   direction.
//! * *configuration*: a state for each variable of a vertex. Its *code* is its index in a full
//!   table over these variables. Vertices list only the configurations that are possible.
//! * *row*: the computation of one entry of a message. A *term* is a summand of a row. (In engine
//!   `cpu`, *row* has another meaning.)
//! * *factor*, in a plan: a message that is multiplied to compute another one.
//! * *operation*: the computation of one message.
//! * *tile*: four rows that the GPU computes together. A *quad* is a term of each of them.
//! * *group*: the cases that are computed together.
//!
//! | module | what it does |
//! |---|---|
//! | [`sparsity`] | the possible configurations of each clique |
//! | [`join_tree`] | the binary join tree |
//! | [`order`] | the order of its messages |
//! | [`plan`] | the messages as lists of terms |
//! | [`tiles`] | rows that the GPU computes together |
//! | [`kernel`] | the loops over terms, on the CPU |
//! | [`state`] | the messages of a group |
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
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only engine gpu computes tiles.
mod tiles;

#[cfg(feature = "cuda")]
pub(super) use join_tree::JoinTree;
#[cfg(feature = "cuda")]
pub(super) use kernel::BLOCK;
pub(super) use kernel::CASES_PER_GROUP;
#[cfg(all(test, feature = "cuda"))]
pub(super) use kernel::add_up;
#[cfg(feature = "cuda")]
pub(super) use order::Order;
#[cfg(feature = "cuda")]
pub(super) use plan::{Kind, Message, Operation, Plan, Row};
pub(super) use runner::BatchRunner;
#[cfg(feature = "cuda")]
pub(super) use state::weight_scale;
#[cfg(feature = "cuda")]
pub(super) use tiles::{NONE, Quad, Tile, Tiles};
