//! Exact inference in Bayesian networks: see it, change the evidence, time every message.
//!
//! Data flows one way. A file becomes a [`Network`](network::Network), which is compiled to a
//! [junction tree](graph::JunctionTree) with a [plan](propagation::Plan) of messages. An
//! [engine](engine::Engine) propagates [evidence](network::Evidence) through the tree and returns
//! [posteriors](propagation::Posteriors). A [trace](propagation::MessageTrace) says when each
//! message was computed.
//!
//! ```
//! use cliquescope::network::Evidence;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let network = cliquescope::format::open("asia")?.network;
//! let mut evidence = Evidence::none();
//! evidence.observe_named(&network, "xray", "yes")?;
//! let posteriors = cliquescope::query(&network, &evidence)?;
//! let lung = network.find("lung").ok_or("no such variable")?;
//! assert!((posteriors.of(lung)[0] - 0.4887).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```
//!
//! The directory `examples` shows how to load a network once for many cases and how to read a
//! trace.
//!
//! The modules, each of which uses only modules above it:
//!
//! | module | contents |
//! |---|---|
//! | [`numbers`] | formatting of numbers for people |
//! | [`safe_text`] | names from files, made safe for terminals, pictures and spreadsheets |
//! | [`palette`] | the colours of the window and of figures, and what they mean |
//! | [`statistics`] | medians and quartiles of measurements |
//! | [`clock`] | the time, on the desktop and in a browser |
//! | [`mod@allocate`] | allocation that fails with an error if the machine has no memory |
//! | [`cancel`] | cancellation of long work |
//! | [`store`] | what is kept on disk: whole-file writes, stores of entries, autosave |
//! | [`network`] | variables, conditional probability tables, evidence |
//! | [`mod@format`] | reading and writing networks and evidence; the shipped networks |
//! | [`graph`] | moral graph, elimination, cliques, junction tree; no probabilities |
//! | [`potential`] | tables over several variables, index mappings between them |
//! | [`propagation`] | compiling, the plan of messages, forecasts, traces, posteriors |
//! | [`engine`] | the ways to propagate |
//! | [`experiment`] | the paper's tables, figures and equations, run on this machine |
//! | [`session`] | a worker thread that computes what the user asks for |
#![cfg_attr(feature = "app", doc = "| [`app`] | the window |")]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod allocate;
pub mod cancel;
pub mod clock;
pub mod engine;
pub mod experiment;
pub mod format;
pub mod graph;
mod id;
mod lowering;
mod mailbox;
pub mod network;
pub mod numbers;
pub mod palette;
pub mod potential;
pub mod propagation;
pub mod safe_text;
pub mod session;
pub mod statistics;
pub mod store;

#[cfg(feature = "app")]
pub mod app;

pub use engine::query;
