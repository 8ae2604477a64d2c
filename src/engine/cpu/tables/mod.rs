//! The tables of cliques: products of factors, made quickly and stored in little memory.
//!
//! The table of a clique is psi(x) = product over its factors f of f(x restricted to the variables
//! of f). The entries are in the order of the clique's [layout](super::tree::layout). The table is
//! stored as `values` and an exponent: psi = values * 2^exponent. If the table has all its entries,
//! the largest value is near one. Three techniques make tables cheap:
//!
//! * [`multiply`] fills a table run by run; a *run* is a number of consecutive entries. Along a
//!   run, most factors are constant or have consecutive entries. Others are often copied into a
//!   better order first ([`fill`]).
//! * [`sparsity`] leaves out entries that are not possible: structural zeros. Many of them in
//!   sequence divide a [row](super::tree::rows) into shorter rows. [`compress`] then
//!   leaves out the entries of separators that no row meets.
//! * [`factored`] keeps a table as a product of a few smaller tables, if they are faster to read.
//!   For example, psi(a, b, c) = f(a, b) g(b, c) with 20 states each has 8000 entries, but f and g
//!   together have 800, which stay in the L1 cache.
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
