//! The tree of cliques as this engine uses it, without a single probability.
//!
//! A propagation multiplies, for every clique, its table with messages, and sums the products onto
//! the tables of separators (*sum-product*). This folder says which entries are multiplied by which
//! and summed onto which:
//!
//! * A [`Shape`](structure::Shape) lists the cliques, their parents and the factors of each.
//! * A *port* of a clique is a table that it exchanges numbers with: the separator to its parent,
//!   the separator to each child, and the table of its *private* variables, which are in no other
//!   clique.
//! * A clique's [`Layout`](layout::Layout) orders its variables so that a pass over its table is a
//!   few nested loops with a long innermost one, along its *fastest group* of variables. The last
//!   variable varies fastest.
//! * A *row* is one run of the innermost loop: consecutive entries of the clique's table. [`rows`]
//!   describes a row by a few *words* of 32 bits: where its entries are, and where the table at
//!   each port has the entries for the same states, which the row is said to *meet*.
//! * The tables of separators are stored twice, in the order of either end, in two regions of
//!   memory: *above* (toward parents) and *below* (toward children). [`nodes`] has the ranges.
//! * Where zeros are left out of tables, an [`EntryMap`](entry_map::EntryMap) says which entries of
//!   a separator are held.
//!
//! For example, take cliques AB and BC with separator B. A row of the table of BC holds the entries
//! of one state b, for all states of C. On the way up it is summed onto entry b of the separator; on
//! the way down it is multiplied by the number there.
//!
//! [`reduce`] finds a *reduced tree*, the tree of the variables that are not observed.
//!
//! Read `structure`, `layout`, `rows`, `nodes` and `places`; then `assemble`, which builds all of
//! it; then `entry_map`, `fan_out` and `reduce`.

pub mod assemble;
pub mod entry_map;
mod fan_out;
pub mod layout;
pub mod nodes;
pub mod places;
pub mod reduce;
pub mod rows;
pub mod structure;
