//! Merges small separators of the open network's junction tree away. This runs on a thread of its
//! own, because merging a tree of thousands of cliques takes longer than a frame.

use std::sync::Arc;

use crate::cancel::{CancelToken, Cancelled};
use crate::experiment::{MergeRule, merged};
use crate::propagation::CompiledNetwork;
use crate::session::{Job, Session};

/// Which tree to merge, and how.
#[derive(Clone, Debug)]
pub struct MergeRequest {
    /// The network with the tree.
    pub original: Arc<CompiledNetwork>,
    /// Only separators of at most this many entries are merged away.
    pub threshold: u64,
    /// Which of these separators are merged away.
    pub rule: MergeRule,
}

impl PartialEq for MergeRequest {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.original, &other.original)
            && (self.threshold, self.rule) == (other.threshold, other.rule)
    }
}

/// A merged tree.
#[derive(Clone, Debug)]
pub struct MergedTree {
    /// What was requested.
    pub request: MergeRequest,
    /// The network with the merged tree, or why there is none, as text for the user.
    pub outcome: Result<Arc<CompiledNetwork>, String>,
}

/// The network with a merged tree, unless merging was cancelled.
type Merged = Result<Arc<CompiledNetwork>, Cancelled>;

/// Merges one tree at a time.
#[derive(Default)]
pub(crate) struct Merger {
    running: Option<(MergeRequest, Job<Merged>)>,
    /// What to do next.
    next: Option<MergeRequest>,
}

impl Merger {
    /// Merges the tree of `request`, once the running job has ended. Of several requests that wait
    /// for a job, only the last counts: a slider that is dragged makes one in each frame.
    pub(crate) fn ask(&mut self, session: &Session, request: MergeRequest) {
        let is_running = self.running.as_ref().is_some_and(|(running, _)| *running == request);
        self.next = (!is_running).then_some(request);
        self.start_next(session);
    }

    /// The tree that was merged, if a job has ended. Stops the work for any network but `open`.
    pub(crate) fn receive(
        &mut self,
        session: &Session,
        open: Option<&Arc<CompiledNetwork>>,
    ) -> Option<MergedTree> {
        let is_open = |request: &MergeRequest| {
            open.is_some_and(|compiled| Arc::ptr_eq(&request.original, compiled))
        };
        self.next = self.next.take().filter(is_open);
        // Dropping the job cancels it.
        self.running = self.running.take().filter(|(request, _)| is_open(request));
        self.start_next(session);
        let outcome = self.running.as_ref()?.1.take_outcome()?;
        let (request, _) = self.running.take()?;
        self.start_next(session);
        // Only a job that was dropped was cancelled, and it has no outcome.
        let outcome = outcome.and_then(|merged| merged.map_err(|cancelled| cancelled.to_string()));
        Some(MergedTree { request, outcome })
    }

    fn start_next(&mut self, session: &Session) {
        if self.running.is_some() {
            return;
        }
        let Some(request) = self.next.take() else { return };
        let MergeRequest { original, threshold, rule } = request.clone();
        let cancel = CancelToken::new();
        let token = cancel.clone();
        let merge = move || merged(&original, threshold, rule, &token);
        let job = session.start_job("merging", cancel, merge);
        self.running = Some((request, job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::model;

    #[test]
    fn of_the_requests_that_wait_only_the_last_is_fulfilled() {
        let session = Session::start(|| {});
        let original = Arc::clone(model("alarm").compiled().expect("a compiled network"));
        let mut merger = Merger::default();
        let request = |threshold| MergeRequest {
            original: Arc::clone(&original),
            threshold,
            rule: MergeRule::All,
        };
        for threshold in [2, 4, 8, 16, 16] {
            merger.ask(&session, request(threshold));
        }
        let mut receive = || loop {
            if let Some(merged) = merger.receive(&session, Some(&original)) {
                return merged;
            }
            std::thread::yield_now();
        };
        assert_eq!(receive().request, request(2));
        let last = receive();
        assert_eq!(last.request, request(16));
        let (before, after) = (original.statistics(), last.outcome.unwrap());
        assert!(after.statistics().cliques < before.cliques);
        assert!(merger.running.is_none() && merger.next.is_none());
    }

    #[test]
    fn the_work_for_a_network_that_was_closed_is_dropped() {
        let session = Session::start(|| {});
        let [closed, open] =
            ["alarm", "asia"].map(|name| Arc::clone(model(name).compiled().expect("compiled")));
        let mut merger = Merger::default();
        for threshold in [2, 4] {
            let original = Arc::clone(&closed);
            merger.ask(&session, MergeRequest { original, threshold, rule: MergeRule::All });
        }
        assert!(merger.running.is_some() && merger.next.is_some());
        assert!(merger.receive(&session, Some(&open)).is_none());
        assert!(merger.running.is_none() && merger.next.is_none());
    }
}
