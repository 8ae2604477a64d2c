pub mod change;
pub mod reused;
pub mod strategy;
pub mod transfer;
