//! What the window knows and does, one file a feature, without drawing anything.

pub mod cases;
pub mod command;
pub(crate) mod earlier;
pub mod experiments;
pub mod highlight;
pub(crate) mod history;
pub(crate) mod improvement;
pub mod model;
pub mod recordings;
pub(crate) mod recovery;
pub(crate) mod settings;
pub mod stepping;
