//! See, set and time exact inference in Bayesian networks.
//!
//! Data flows one way: a file becomes a [`Network`](network::Network), which is compiled to a
//! [junction tree](graph::JunctionTree) with a [plan](propagation::Plan) of messages; an
//! [engine](engine::Engine) propagates [evidence](network::Evidence) through it and gives
//! [posteriors](propagation::Posteriors) and a [trace](propagation::MessageTrace) of what each
//! message cost.
//!
//! ```
//! use cliquescope::cancel::CancelToken;
//! use cliquescope::engine::{self, LoadOptions, PaperOptions};
//! use cliquescope::network::Evidence;
//! use cliquescope::potential::Precision;
//! use cliquescope::propagation::{CompileOptions, MemoryLimit, Watch, compile};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let network = cliquescope::format::open("asia")?.network;
//! let compiled = compile(network.clone(), &CompileOptions::default(), &CancelToken::new())?.into();
//! let options = LoadOptions {
//!     precision: Precision::F64,
//!     threads: 1,
//!     memory: MemoryLimit::half_of_available(),
//!     paper: PaperOptions::default(),
//! };
//! let mut propagator = engine::default_engine().load(&compiled, &options)?;
//! let mut evidence = Evidence::none();
//! evidence.observe_named(&network, "xray", "yes")?;
//! let watch = Watch::timed(compiled.plan(), CancelToken::new());
//! let posteriors = engine::propagate(&mut *propagator, &compiled, &evidence, &watch)?;
//! let lung = network.find("lung").ok_or("no such variable")?;
//! assert!((posteriors.of(lung)[0] - 0.4887).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```
//!
//! The modules, each of which may use those above it:
//!
//! | module | what it holds |
//! |---|---|
//! | [`numbers`] | numbers as people read them |
//! | [`palette`] | all colours and what they mean |
//! | [`statistics`] | medians and quartiles of what was measured |
//! | [`store`] | what is kept on disk: whole-file writes, stores of entries, autosave |
//! | [`network`] | variables, conditional probability tables, evidence |
//! | [`mod@format`] | reading networks and evidence; the networks that are shipped |
//! | [`graph`] | moral graph, elimination, cliques, junction tree: no probability in here |
//! | [`potential`] | tables over several variables, index mappings between them |
//! | [`propagation`] | compiling, the plan of messages, forecasts, traces, posteriors |
//! | [`engine`] | the ways to propagate |
//! | [`experiment`] | the paper's table, figures and formulas as runs that give records |
//! | [`session`] | a worker thread that keeps up with what the user wants |
#![cfg_attr(feature = "app", doc = "| [`app`] | the window |")]

pub mod cancel;
pub mod clock;
pub mod engine;
pub mod experiment;
pub mod format;
pub mod graph;
mod id;
mod mailbox;
pub mod network;
pub mod numbers;
pub mod palette;
pub mod potential;
pub mod propagation;
pub mod session;
pub mod statistics;
pub mod store;

#[cfg(feature = "app")]
pub mod app;
