//! A worker thread that keeps up with what the user wants.
//!
//! The front end states what it wants as a [`Request`]: which network, which tree, which engine,
//! which evidence. The worker compares that with what it has and does what is missing, in the
//! order of [`Step`]. A newer request replaces an older one, and interrupts the step at work where
//! that step's result is no longer wanted; so the latest request wins and nothing queues up.
//! Results come back as [`Update`]s that carry shared snapshots. Last come the
//! [other cases](Request::cases) that the front end wants beside the evidence, one step a case.
//!
//! A search for a better junction tree can go on beside the worker, on a thread of its own that rests
//! while the worker has something to do, so that it disturbs no timing.
//!
//! Experiments run on a thread of their own, too, one at a time.
//!
//! **Invariant:** the worker never dies. A panic in a step becomes an update, and the worker goes
//! on with nothing loaded.

mod explainer;
mod improver;
mod quiet;
mod request;
mod state;
mod trial;
mod update;
mod worker;

pub use explainer::{Answer, Explainer, Question};
pub use improver::Improvement;
pub use request::{EngineChoice, Request, Source, Step};
pub use trial::Trial;
pub use update::{Failure, Propagation, Update};
pub use worker::Session;
