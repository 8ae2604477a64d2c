//! From products of tables to loops: what an engine needs to know before it touches a number.
//!
//! `shape` has the cliques of a junction tree, how they are joined, and the factors of each. The
//! lowerings of engines `cpu` and `gpu` and of the batch engine start there.
//!
//! Every message of a propagation can be computed by a *contraction*: a product of tables that is
//! summed onto one or more *outputs*, each a subset of the variables of the product. A contraction
//! of engine `cpu` without tables of cliques is lowered in four steps, and none of them needs a
//! probability:
//!
//! 1. `tree`: the observed variables are removed from the cliques, and each clique gets the inputs
//!    and outputs of its contractions.
//! 2. `step`: small tables are grouped. A group of inputs is multiplied once into one small table,
//!    and a group of outputs is first summed onto one small table.
//! 3. `nest`: the contraction becomes a nest of loops over some variables around a *tile*, a
//!    product over the other variables that fits into the first-level cache.
//! 4. `pattern`: says how the entries of a table are spread over the tile.
//!
//! Engine `gpu` without tables of cliques shares the first two steps. Then `rows` divides a
//! contraction onto a single output into rows, one for each entry of the output. The *run* of a row
//! is the part of the product that is summed to give this entry.
//!
//! `program` holds the contractions of a whole propagation. It depends on which variables are
//! observed and which have likelihoods, so engines keep it until that changes. `schedule` says
//! which of its contractions do not depend on one another, so that threads can compute them at the
//! same time.
//!
//! Run with booleans in place of numbers, the same program says which configurations are possible
//! without evidence: `engine/cpu/table_free/supports.rs`. Several engines leave the others out of
//! their tables.
//!
//! `optimisations` lists what engine `cpu` does for speed, so that each can be switched off.
//!
//! # Index order
//! A contraction numbers its variables, here called *axes*. In every table, axes are in ascending
//! order and the last axis varies fastest. An axis has at least two states: observed variables and
//! variables with a single state are left out.

mod axes;
mod nest;
mod optimisations;
mod pattern;
mod program;
#[cfg(feature = "cuda")]
mod rows;
mod schedule;
mod shape;
mod step;
mod tree;

pub use axes::AxisSet;
pub use nest::{Contraction, LoopNest};
pub use optimisations::{Optimisation, Optimisations};
pub use pattern::{Block, Pattern};
pub use program::{PlannedStep, Program};
#[cfg(feature = "cuda")]
pub use rows::{RowLimits, RowNest, widened};
pub use schedule::{CliqueGroup, ContractionSchedule};
pub use shape::{Origin, Shape};
pub use step::{Group, Step};
pub use tree::{LoweredClique, LoweredTree, Operand};
