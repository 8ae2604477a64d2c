//! Telling the watch which message is passed.

use crate::cancel::Cancelled;
use crate::propagation::{MessageId, Phase, Watch};

/// Reports messages, each as that between a clique and its parent.
#[derive(Clone, Copy)]
pub(super) struct Report<'a> {
    pub watch: &'a Watch,
    /// For each clique but the root the messages to its parent and from there; empty where the
    /// tree is not the one that the plan speaks of.
    pub ids: &'a [Option<(MessageId, MessageId)>],
}

impl Report<'_> {
    /// Does `work`, the message between `clique` and its parent.
    pub fn of<R>(
        &self,
        clique: usize,
        phase: Phase,
        work: impl FnOnce() -> R,
    ) -> Result<R, Cancelled> {
        self.watch.check()?;
        let Some((collect, distribute)) = self.ids.get(clique).copied().flatten() else {
            return Ok(work());
        };
        let id = match phase {
            Phase::Collect => collect,
            Phase::Distribute => distribute,
        };
        let lane = rayon::current_thread_index().unwrap_or(0);
        Ok(self.watch.message(id, lane as u32, work))
    }
}
