//! From a network's structure to a junction tree.
//!
//! No probability is involved. The input is the number of states of each variable, and the families
//! (the sets of variables that share a table); the output is a tree of cliques. The steps are:
//! moral graph, elimination order, cliques, spanning tree, root. [`predicates`] states what each
//! step guarantees, as functions that tests and debug builds call.
//!
//! Read `moral`, `elimination` and `spanning` first: they are the path from a network to a tree.
//! `greedy` runs the heuristics on a `dynamic` graph; `search`, `improvement`, `anneal`,
//! `elimination_tree` and `reduction` find better orders; `critical_path` and `centre` shape and
//! root the tree; `clique_tree` builds a tree quickly for a single propagation; `merge` merges
//! cliques over small separators; `stepwise` eliminates one variable at a time, in an order that a
//! person chooses. Memory grows nearly linearly with the number of variables, the squared sizes of
//! the families and the number of edges of the triangulated graph. The functions on the path from a
//! network to a tree state how their time grows.

mod anneal;
mod centre;
mod clique_tree;
mod critical_path;
mod dynamic;
mod elimination;
mod elimination_tree;
mod greedy;
mod improvement;
mod junction_tree;
mod known_orders;
mod merge;
mod moral;
pub mod predicates;
mod reduction;
mod search;
mod spanning;
mod statistics;
mod stepwise;
mod too_large;
mod triangulation;

pub use clique_tree::{CliqueTree, clique_tree};
pub use elimination::{Elimination, Heuristic, eliminate, eliminate_in_order};
pub use improvement::improve_order;
pub use junction_tree::{Clique, CliqueId, JunctionTree, Separator, SeparatorId, TreeLink};
pub use known_orders::KnownOrders;
pub use merge::{MergeLimits, merge_small_separators};
pub use moral::{MoralGraph, table_entries};
pub use spanning::build_junction_tree;
pub use statistics::TreeStatistics;
pub use stepwise::{EliminationCost, EliminationStep, StepwiseElimination};
pub use too_large::{GraphTooLarge, TriangulationError};
pub use triangulation::{Triangulation, TriangulationOptions, triangulate};
