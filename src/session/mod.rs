//! A worker thread that keeps up with what the user wants.
//!
//! The front end states what it wants as a [`Request`]: which network, which tree, which engine,
//! which evidence. The worker compares that with what it has and does what is missing, in the
//! order of [`Step`]. A newer request replaces an older one, and interrupts the step at work where
//! that step's result is no longer wanted; so the latest request wins and nothing queues up.
//! Results come back as [`Update`]s that carry shared snapshots.
//!
//! **Invariant:** the worker never dies. A panic in a step becomes an update, and the worker goes
//! on with nothing loaded.

mod request;
mod update;
mod worker;

pub use request::{EngineChoice, Request, Source, Step};
pub use update::{Failure, Propagation, Update};
pub use worker::Session;
