//! How the handle directs the worker: the latest request, and the running step, which a newer
//! request may interrupt.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cancel::CancelToken;
use crate::mailbox::Mailbox;
use crate::session::{Request, Step};

/// Shared by the handle and the worker.
#[derive(Default)]
pub(super) struct Control {
    requests: Mailbox<Request>,
    status: Mutex<Status>,
}

#[derive(Default)]
struct Status {
    /// The latest request, whether or not the worker has taken it.
    latest: Option<Request>,
    /// The running step, with the token that interrupts it.
    running: Option<(Step, CancelToken)>,
    /// Whether the user interrupted the running step.
    cancelled_by_user: bool,
    closed: bool,
}

/// What the handle calls.
impl Control {
    /// Replaces the request, and interrupts the running step if the new request affects that step
    /// or an earlier one. A request that wants the same as the latest one is ignored: what failed
    /// would fail again. Returns whether the request replaces another.
    pub fn submit(&self, request: Request) -> bool {
        let mut status = self.status();
        let difference = match &status.latest {
            Some(latest) => request.first_difference(latest),
            None => Some(Step::Open),
        };
        let Some(changed) = difference else { return false };
        if let Some((step, token)) = &status.running
            && changed <= *step
        {
            token.cancel();
        }
        status.latest = Some(request.clone());
        self.requests.put(request);
        true
    }

    /// Interrupts the running step on behalf of the user.
    pub fn cancel(&self) {
        let mut status = self.status();
        if let Some((_, token)) = &status.running {
            token.cancel();
            status.cancelled_by_user = true;
        }
    }

    /// Ends the worker, interrupting the running step.
    pub fn close(&self) {
        let mut status = self.status();
        status.closed = true;
        if let Some((_, token)) = &status.running {
            token.cancel();
        }
        self.requests.close_and_discard();
    }
}

/// What the worker calls.
impl Control {
    /// Waits for a request. `None` once the worker is to end.
    pub fn wait(&self) -> Option<Request> {
        self.requests.take()
    }

    /// Starts the step that `next_step` chooses for `request`, or for a newer request that has
    /// arrived. Returns the request and its step; there is no step if nothing is left to do. `None`
    /// once the worker is to end.
    pub fn start_step(
        &self,
        request: Request,
        next_step: impl FnOnce(&Request) -> Option<Step>,
    ) -> Option<(Request, Option<(Step, CancelToken)>)> {
        // The lock is held until the step counts as running, so that a request that arrives later
        // can interrupt it.
        let mut status = self.status();
        if status.closed {
            return None;
        }
        let request = self.requests.try_take().unwrap_or(request);
        status.cancelled_by_user = false;
        status.running = next_step(&request).map(|step| (step, CancelToken::new()));
        Some((request, status.running.clone()))
    }

    /// Ends the running step. Returns whether the user cancelled it.
    pub fn end_step(&self) -> bool {
        let mut status = self.status();
        status.running = None;
        status.cancelled_by_user
    }

    /// Drops the waiting request if it wants the same as `request`, which the worker has given up.
    pub fn give_up(&self, request: &Request) {
        let wants_the_same = |waiting: &mut Request| waiting.first_difference(request).is_none();
        self.requests.update(|slot| _ = slot.take_if(wants_the_same));
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        // A panic while the lock is held cannot leave a status half changed.
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
