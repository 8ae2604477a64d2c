//! What the window knows and does: one file or folder per feature. Only `notices` draws anything.
//!
//! Most features have state, an enum of commands, and a function or method that applies a command.
//! State that panes may read is in the [`Model`](model::Model); state that every feature may use is
//! in `Core`.

pub mod case;
pub mod case_files;
pub(crate) mod case_store;
pub mod cases;
pub mod command;
pub mod compute;
pub(crate) mod core;
pub mod document;
pub mod elimination;
pub mod evidence;
pub mod experiments;
pub(crate) mod explanations;
pub mod file_purpose;
pub mod highlight;
pub mod history;
pub mod improvement;
pub mod kept_run;
pub mod left_evidence;
pub mod lessons;
pub mod long_case_file;
pub(crate) mod long_case_reader;
pub mod merging;
pub mod model;
pub(crate) mod named_finding;
pub(crate) mod network_location;
pub(crate) mod notices;
pub mod pane;
pub(crate) mod pane_layout;
pub mod player;
pub mod progress;
pub(crate) mod projector;
pub mod recordings;
pub(crate) mod recovery;
pub(crate) mod requests;
pub mod run_kind;
pub mod settings;
pub(crate) mod settings_file;
pub mod stepping;
pub(crate) mod stepping_control;
pub(crate) mod stored_path;
pub mod view;
