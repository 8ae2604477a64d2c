//! What is kept from one propagation to the next, and which tree the next one uses.
//!
//! Three strategies answer the same question at different cost ([`strategy`]):
//!
//! * the *full tree*, made once when the network is loaded;
//! * the *cached* reduced tree, if the variables that were removed from it are still observed in
//!   the same states;
//! * a *rebuilt* reduced tree: the cached one with tables for other states, or a new tree without
//!   other variables.
//!
//! [`costs`] forecasts each in nanoseconds. A forecast reads no clock, so the choice, and with it
//! every bit of the result, can be repeated.
//!
//! In the chosen tree, [`change`] finds the messages and beliefs that the change of evidence can
//! affect; all others are kept. [`d_connection`] finds the variables that the change can affect.
//! For example, if X -> Y -> Z, Y is observed and the finding on X changes, the posterior of Z
//! cannot change. If a tree is rebuilt, [`reused`] finds the cliques that are the same as in the
//! previous tree, whose tables are moved, and [`transfer`] copies the messages between them.
//!
//! Read `strategy`, `costs`, `change`, `d_connection`, `reused`, `transfer`.

pub mod change;
mod costs;
mod d_connection;
mod reused;
pub mod strategy;
mod transfer;
