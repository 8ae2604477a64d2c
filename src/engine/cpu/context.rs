//! What one propagation may use.

use rayon::ThreadPool;

/// Entries of tables from which on a propagation is worth waking threads for.
pub const WORTH_THREADS: usize = 150_000;

/// What one propagation may use.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    pub threads: Option<&'a ThreadPool>,
    /// Bytes for the tree of what evidence leaves.
    pub bytes: usize,
    /// The share of what making a tree costs that is counted.
    pub making: f64,
}
