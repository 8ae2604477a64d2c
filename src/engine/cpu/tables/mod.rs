//! The tables of cliques: products of factors, in little memory and quickly made.
//!
//! The table of a clique is psi(x) = product over its factors f of f(x restricted to the variables
//! of f), in the order of the clique's [layout](super::tree::layout). It is stored as `values` and
//! an exponent: psi = values * 2^exponent, with the largest value near one. Three things make it
//! cheap:
//!
//! * [`multiply`] fills it run by run, a run being some consecutive entries. Along a run, a factor
//!   is constant, or its own entries are consecutive; if they are not, it may be copied first
//!   ([`fill`]).
//! * [`sparsity`] leaves out entries that are zero whatever the evidence: structural zeros. A row
//!   that has zeros inside falls into several shorter rows. [`compress`] then does the same for
//!   separators.
//! * [`factored`] keeps a table as a product of a few smaller tables, if that is faster to read.
//!   For example psi(a, b, c) = f(a, b) g(b, c) with 20 states each has 8000 entries, but its two
//!   factors have 800, and they stay in the L1 cache.
//!
//! Tables of reduced trees live for one propagation or a few, so their memory comes from a
//! [`pool`].
//!
//! Read `table`, `filled`, `make`, `fill` and `multiply`; then `factored`, `sparsity`, `compress`
//! and `pool`.

pub mod compress;
pub mod factored;
pub mod fill;
pub mod filled;
pub mod make;
pub mod multiply;
pub mod pool;
pub mod sparsity;
pub mod table;
