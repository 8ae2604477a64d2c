//! From a network's structure to a junction tree.
//!
//! There is no probability in here: the input is how many states each variable has and which
//! variables occur together (the families), the output is a tree of cliques. The order of work is
//! moral graph, elimination order, cliques, spanning tree, root. What each step promises stands in
//! [`predicates`] as functions that tests and debug builds call.

mod anneal;
mod centre;
mod contract;
mod critical_path;
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
mod triangulation;

pub use contract::{CliqueTree, quick_tree};
pub use elimination::{Elimination, Heuristic, eliminate, eliminate_in_order};
pub use improvement::improve_order;
pub use junction_tree::{Clique, CliqueId, JunctionTree, Separator, SeparatorId, TreeLink};
pub use known_orders::KnownOrders;
pub use merge::{MergeLimits, merge_small_separators};
pub use moral::{MoralGraph, table_entries};
pub use spanning::build_junction_tree;
pub use statistics::TreeStatistics;
pub use triangulation::{Triangulation, TriangulationOptions, triangulate};
