//! What the window knows and does, one file a feature, without drawing anything.

pub mod cases;
pub mod command;
pub mod compute;
pub(crate) mod earlier;
pub mod evidence;
pub mod experiments;
pub mod file_purpose;
pub mod highlight;
pub mod history;
pub mod improvement;
pub mod model;
pub mod opening;
pub mod player;
pub mod progress;
pub mod recordings;
pub(crate) mod recovery;
pub(crate) mod settings;
pub mod stepping;
pub mod view;
