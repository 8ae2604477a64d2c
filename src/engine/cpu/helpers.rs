//! Threads that share the work of one message.

use crate::engine::threads::map_with_affinity;
use crate::propagation::{Activity, Watch};

/// Shares the work of one message, or of the root, with other threads, and reports what they do.
#[derive(Clone, Copy)]
pub struct Helpers<'a> {
    /// The watch that records what a thread that helps does, and this activity; `None` to record
    /// nothing.
    reported: Option<(&'a Watch, Activity)>,
    /// The number of the thread whose work it is.
    worker: u32,
    /// Whether the work may be shared with other threads.
    pub forks: bool,
}

impl<'a> Helpers<'a> {
    /// Helpers of this thread. `forks`: whether it may share its work. `reported`: the activity to
    /// record for threads that help, and where.
    pub fn new(forks: bool, reported: Option<(&'a Watch, Activity)>) -> Self {
        Self { reported, worker: worker(), forks }
    }

    /// Helpers whose work is not recorded.
    pub fn unreported(forks: bool) -> Self {
        Self::new(forks, None)
    }

    /// No helpers.
    pub fn none() -> Self {
        Self::unreported(false)
    }

    /// Calls `work` with each of `parts` of the shared work, and returns the results in order. The
    /// parts are divided among several threads, if the work may be shared.
    pub fn map<I: Send, R: Send>(
        self,
        parts: impl IntoIterator<Item = I, IntoIter: ExactSizeIterator>,
        work: impl Fn(I) -> R + Sync,
    ) -> Vec<R> {
        let parts = parts.into_iter();
        if !self.forks || parts.len() < 2 {
            return parts.map(work).collect();
        }
        map_with_affinity(parts, |part| match self.reported {
            Some((watch, activity)) if worker() != self.worker => {
                watch.activity(activity, worker(), || work(part))
            }
            _ => work(part),
        })
    }
}

/// The number of this thread in its pool; zero for a thread outside of pools.
pub fn worker() -> u32 {
    rayon::current_thread_index().unwrap_or(0) as u32
}
