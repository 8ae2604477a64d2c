//! Long work on a separate thread, such as an experiment.

use std::sync::mpsc::{Receiver, channel};

use crate::allocate::start_thread;
use crate::cancel::CancelToken;
use crate::session::panics::catch_panic;

/// The handle to work on a separate thread. Dropping the handle cancels the work and does not wait
/// for its end.
pub struct Job<T> {
    cancel: CancelToken,
    outcome: Receiver<Result<T, String>>,
}

impl<T: Send + 'static> Job<T> {
    /// Runs `work` on a new thread called `name`, and then calls `wake` there. `cancel` must be the
    /// token by which `work` can be stopped. If no thread can be started, the outcome says so.
    pub(super) fn start(
        name: &str,
        cancel: CancelToken,
        work: impl FnOnce() -> T + Send + 'static,
        wake: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (sender, outcome) = channel();
        let if_not_started = sender.clone();
        let thread = start_thread(name, move || {
            let outcome = catch_panic(work).map_err(|failure| failure.to_string());
            // The receiver is gone if the job was dropped.
            let _ = sender.send(outcome);
            wake();
        });
        if let Err(error) = thread {
            // Sending cannot fail, because `outcome` is still in this function.
            let _ = if_not_started.send(Err(format!("cannot start a thread: {error}")));
        }
        Self { cancel, outcome }
    }
}

impl<T> Job<T> {
    /// What the work returned, or else why it failed, as text for the user: not enough memory, no
    /// thread, or an internal error if it panicked. `None` while the work runs, and after the
    /// outcome was taken.
    #[must_use]
    pub fn take_outcome(&self) -> Option<Result<T, String>> {
        self.outcome.try_recv().ok()
    }

    /// Waits for the outcome. `None` if the outcome was taken before.
    #[must_use]
    pub fn wait(&self) -> Option<Result<T, String>> {
        self.outcome.recv().ok()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_is_taken_once() {
        let (woken, wakes) = channel();
        let job = Job::start("test", CancelToken::new(), || 7, move || woken.send(()).unwrap());
        wakes.recv().unwrap();
        assert_eq!(job.take_outcome(), Some(Ok(7)));
        assert_eq!(job.take_outcome(), None);
        assert_eq!(job.wait(), None);
    }

    #[test]
    fn a_panic_is_an_outcome() {
        let work = || -> u32 { panic!("a defect") };
        let job = Job::start("test", CancelToken::new(), work, || {});
        assert_eq!(job.wait(), Some(Err("internal error: a defect".to_owned())));
    }

    #[test]
    fn too_little_memory_is_not_an_internal_error() {
        let work = || -> u32 { crate::allocate::fail() };
        let job = Job::start("test", CancelToken::new(), work, || {});
        let failure = job.wait().unwrap().unwrap_err();
        assert!(failure.contains("not enough memory"), "{failure}");
        assert!(!failure.contains("internal error"), "{failure}");
    }

    #[test]
    fn dropping_a_job_cancels_it() {
        let cancel = CancelToken::new();
        let (token, (ended, end)) = (cancel.clone(), channel());
        let work = move || {
            while !token.is_cancelled() {
                std::thread::yield_now();
            }
        };
        drop(Job::start("test", cancel, work, move || ended.send(()).unwrap()));
        end.recv().unwrap();
    }
}
