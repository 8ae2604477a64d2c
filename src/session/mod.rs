//! Threads that compute for the window, so that the window never waits.
//!
//! The window states what it wants as a [`Request`]: which network, which tree, which engine, which
//! evidence. The worker thread compares the request with the results it has, and does the missing
//! [`Step`]s in order. A newer request replaces the older one, and interrupts the running step if
//! the result of that step is no longer wanted, so nothing queues up. Results are reported as
//! [`Update`]s, which share large data instead of copying it. After the evidence of the request,
//! the worker propagates the [cases](Request::cases) of the request, one per step.
//!
//! More threads run alongside the worker when they are needed: the [`Explainer`] computes the
//! tables of one message for display, [`Session::improve`] searches for a better junction tree and
//! pauses while times are measured, and a [`Job`] runs anything else that takes long, such as an
//! experiment.
//!
//! **Invariant:** the worker never dies. A panic in a step becomes an update. The worker then drops
//! all its results, except that a panic while opening leaves them as they were.

mod control;
mod engine_choice;
mod explainer;
mod handle;
mod improver;
mod job;
mod panics;
mod reporter;
mod request;
mod state;
#[cfg(test)]
pub(crate) mod testing;
mod timing_gate;
mod update;
mod worker;

pub use engine_choice::EngineChoice;
pub use explainer::{Answer, Explainer, Explanation, Question};
pub use handle::Session;
pub use improver::ImprovementProgress;
pub use job::Job;
pub use request::{Request, Step};
pub use update::{Failure, Propagation, RunTimes, Update};
