//! Telling the watch which message is passed.

use crate::cancel::Cancelled;
use crate::propagation::{MessageId, Moment, Phase, Watch};

/// Reports messages, each as that between a clique and its parent.
#[derive(Clone, Copy)]
pub(super) struct Report<'a> {
    pub watch: &'a Watch,
    /// For each clique but the root the messages to its parent and from there; empty where the
    /// tree is not the one that the plan speaks of.
    pub ids: &'a [Option<(MessageId, MessageId)>],
}

/// A thread, and until when it was busy with what it did last.
pub(super) struct Lane {
    number: u32,
    from: Moment,
}

impl Report<'_> {
    /// This thread, from now on.
    pub fn lane(&self) -> Lane {
        let number = rayon::current_thread_index().unwrap_or(0) as u32;
        Lane { number, from: self.watch.moment() }
    }

    /// Does `work`, the message between `clique` and its parent, on a thread that does nothing else
    /// between one message and the next.
    pub fn of<R>(
        &self,
        lane: &mut Lane,
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
        Ok(self.watch.message_from(id, lane.number, &mut lane.from, work))
    }
}
