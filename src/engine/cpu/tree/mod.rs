//! The tree of cliques as this engine uses it, without a single probability.
//!
//! A propagation multiplies, for every clique, its table with messages, and sums the products onto
//! the tables of separators (*sum-product*). This folder says which entries meet which:
//!
//! * A [`Shape`](structure::Shape) lists the cliques, their parents and the factors of each.
//! * A clique's [`Layout`](layout::Layout) orders its variables so that a table is a few nested
//!   loops with a long innermost one. The last variable varies fastest.
//! * A *row* is one run of the innermost loop: consecutive entries of the clique's table. [`rows`]
//!   describes a row by a few words: where its entries are, and where it meets each separator's
//!   table.
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
