pub mod clique_state;
pub mod enter;
pub mod factored_kernel;
pub mod kernel;
pub mod message;
pub mod report;
pub mod state;
pub mod subtree;
