//! The tree of cliques as engine `cpu` uses it, without any probabilities.
//!
//! A propagation multiplies every clique's table with messages, and sums the products onto the
//! tables of separators (*sum-product*). This folder determines which entries are multiplied with
//! one another, and onto which entries the products are summed:
//!
//! * A [`Shape`](crate::lowering::Shape) lists the cliques, their parents and the factors of each.
//! * A *port* of a clique is a table that it exchanges numbers with: the separator to its parent,
//!   the separator to each child, and the table of its *private* variables, which are in no other
//!   clique.
//! * A clique's [`Layout`](layout::Layout) orders its variables. Variables that are in the same
//!   ports form a *group*, whose variables are next to each other in the index order, except that
//!   the largest group may be split in two. The innermost loop of a pass over the clique's table is
//!   along the largest group or its second part, the *fastest group*. The last variable varies
//!   fastest.
//! * A *row* is a stretch of consecutive entries of the clique's table along the fastest group: one
//!   execution of the innermost loop. In the table at a port, the entries for the same states are
//!   those that the row *meets*. [`rows`] describes a row by a few *words* of 32 bits, which give
//!   the positions of the row's own entries and of the entries that it meets.
//! * The rows of a large table are divided into *parts*, which several threads sum at the same time
//!   ([`division`]).
//! * The table of a separator is stored twice, once in the index order of each end. The two regions
//!   of memory are *above* (toward parents) and *below* (toward children). [`nodes`] has the
//!   ranges.
//! * If zeros are left out of tables, an [`EntryMap`](entry_map::EntryMap) says which entries of a
//!   separator are held.
//!
//! For example, take a clique AB and its child BC with separator B, where C has more states than B.
//! A row of the table of BC holds the entries for one state b and all states of C. On the way up,
//! the row is summed onto entry b of the separator. On the way down, the row is multiplied by entry
//! b of the message.
//!
//! [`reduce`] finds a *reduced tree*: a tree of only the unobserved variables.
//!
//! Read `structure`, `layout`, `rows`, `division`, `nodes` and `places`; then `assemble`, which
//! builds the nodes and places; then `entry_map` and `reduce`.

pub mod assemble;
pub mod division;
pub mod entry_map;
pub mod layout;
pub mod nodes;
pub mod places;
pub mod reduce;
pub mod rows;
pub mod structure;
