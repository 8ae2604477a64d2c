//! Chooses the tree for a propagation, and reuses what earlier propagations computed.
//!
//! Three strategies answer the same question at different cost ([`strategy`]):
//!
//! * the *full tree*, made once when the network is loaded;
//! * the *cached* tree, the last reduced tree, if the variables that were removed from it are still
//!   observed in the same states;
//! * a *rebuilt* tree: the cached tree with tables for other states, or a new reduced tree from
//!   which other variables are removed.
//!
//! [`costs`] forecasts the time of each in nanoseconds. A forecast reads no clock, so the choice is
//! reproducible, and with it every bit of the result.
//!
//! In the chosen tree, [`change`] finds the messages and beliefs that the change of evidence can
//! affect; all others are kept. [`d_connection`] finds the variables that the change can affect.
//! For example, if X -> Y -> Z, Y is observed and the finding on X changes, the posterior of Z
//! cannot change. If a tree is rebuilt, [`reused`] finds the cliques that are the same as in the
//! previous tree and moves their tables, and [`transfer`] copies the messages between them.
//!
//! Read `strategy`, `costs`, `change`, `d_connection`, `reused`, `transfer`.

pub mod change;
mod costs;
mod d_connection;
mod reused;
pub mod strategy;
mod transfer;
