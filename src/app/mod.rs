//! The window.
//!
//! Data flows around once a frame: the [worker](crate::session) reports what happened to the
//! [`Model`](model::Model); the panes draw the model and push [`Command`](command::Command)s; the
//! [`Workbench`](workbench::Workbench) applies the commands between frames, which may send the
//! worker a new request.
//!
//! **Invariants:** a pane never changes the model and never computes a posterior; nothing in here
//! waits for the worker.

pub mod command;
pub mod highlight;
pub mod model;
pub mod panes;
pub mod theme;
