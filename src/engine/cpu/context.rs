//! The threads, limits and network data that a propagation may use.

use rayon::ThreadPool;

use crate::lowering::Optimisations;
use crate::network::Network;

/// Minimum forecast time of a propagation for it to run in the thread pool, in nanoseconds. The
/// time to wake the threads comes on top. On two threads, half this value made some cases of Water
/// and Mildew take 1.1 to 1.3 times as long; one and a half times this value made others take 1.2
/// to 1.4 times as long. If the constant is wrong, only speed changes.
const MIN_PARALLEL_NS: f64 = 180_000.0;

/// Time to wake a sleeping thread, in nanoseconds; more on a virtual machine. If the constant is
/// wrong, only speed changes.
const WAKE_NS: f64 = 10_000.0;

/// Whether a propagation that is forecast to take `cost` nanoseconds on one thread should run in
/// the pool `threads`.
pub fn pays_in_pool(cost: f64, threads: &ThreadPool) -> bool {
    cost >= MIN_PARALLEL_NS + WAKE_NS * threads.current_num_threads() as f64
}

/// Minimum work of a computation for it to run on several threads, in table entries or in words of
/// rows (see [`rows`](super::tree::rows)): about 20 microseconds. This can be less than the minimum
/// of [`pays_in_pool`], because only entering the pool waits for a thread to wake. If the constant
/// is wrong, only speed changes.
pub const MIN_PARALLEL_ENTRIES: usize = 40_000;

/// Minimum number of entries of a message or a table of beliefs for several threads to permute,
/// rescale or sum it. A thread takes at least half as many entries at a time: a few microseconds of
/// work. If it is wrong, only speed and memory change.
pub const MIN_SHARED_ENTRIES: usize = 1 << 12;

/// The threads and limits of one propagation.
#[derive(Clone, Copy)]
pub struct ExecutionContext<'a> {
    /// Threads to share the work with; `None` to stay on the calling thread.
    pub threads: Option<&'a ThreadPool>,
    /// Maximum size of a reduced tree, in bytes.
    pub reduced_tree_bytes: usize,
    /// When strategies are compared, this propagation is charged this share, from 0 to 1, of the
    /// cost of finding a reduced tree. In a batch, cases that observe the same variables share the
    /// cost.
    pub build_share: f64,
    pub optimisations: Optimisations,
}

/// What the tables of a tree are computed from, and the threads that compute them.
#[derive(Clone, Copy)]
pub struct TableInputs<'a> {
    pub network: &'a Network,
    /// By variable: the observed state if the variable was removed from the cliques. The tables
    /// then hold only the entries for this state.
    pub observed: &'a [Option<usize>],
    /// By factor: the exponent of its smallest nonzero value; see
    /// [`smallest_exponents`](crate::engine::factors::smallest_exponents).
    pub smallest: &'a [i32],
    /// Threads for large tables.
    pub threads: Option<&'a ThreadPool>,
    pub optimisations: Optimisations,
}

impl<'a> TableInputs<'a> {
    /// Inputs for finding out how the tables are made and which entries are zero, without making
    /// the tables. One thread is used.
    pub fn of_structure(
        network: &'a Network,
        observed: &'a [Option<usize>],
        optimisations: Optimisations,
    ) -> Self {
        Self { network, observed, smallest: &[], threads: None, optimisations }
    }
}
