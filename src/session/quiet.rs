//! Work on the side rests while something is timed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cancel::CancelToken;

/// What is timed waits at most this long for work on the side to rest.
const PATIENCE: Duration = Duration::from_millis(100);

/// Who rests looks this often whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// Who times and who works on the side agree on it here.
#[derive(Default)]
pub(super) struct Quiet {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Default)]
struct Counts {
    timings: usize,
    at_work: usize,
}

/// Something is timed for as long as this lives.
pub(super) struct Timing<'a>(&'a Quiet);

/// Someone works on the side for as long as this lives.
pub(super) struct AtWork<'a>(&'a Quiet);

impl Quiet {
    /// Begins a timing, once all work on the side rests.
    pub fn timing(&self) -> Timing<'_> {
        let mut counts = self.counts();
        counts.timings += 1;
        let resting = self.changed.wait_timeout_while(counts, PATIENCE, |c| c.at_work > 0);
        drop(resting.unwrap_or_else(PoisonError::into_inner));
        Timing(self)
    }

    /// Begins work on the side, once nothing is timed.
    pub fn work(&self, cancel: &CancelToken) -> AtWork<'_> {
        let mut counts = self.counts();
        while counts.timings > 0 && !cancel.is_cancelled() {
            let waited = self.changed.wait_timeout(counts, LOOK);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        counts.at_work += 1;
        AtWork(self)
    }

    /// Whether work on the side has to rest.
    pub fn is_timing(&self) -> bool {
        self.counts().timings > 0
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Timing<'_> {
    fn drop(&mut self) {
        self.0.counts().timings -= 1;
        self.0.changed.notify_all();
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.counts().at_work -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn work_on_the_side_begins_when_the_timing_ends_or_it_is_given_up() {
        let (quiet, cancel) = (Quiet::default(), CancelToken::new());
        let timing = quiet.timing();
        assert!(quiet.is_timing());
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _at_work = quiet.work(&cancel);
                over.load(Ordering::SeqCst)
            });
            over.store(true, Ordering::SeqCst);
            drop(timing);
            assert!(worker.join().unwrap(), "it began before the end of the timing");
        });
        let _timing = quiet.timing();
        cancel.cancel();
        let _at_work = quiet.work(&cancel);
        assert_eq!(quiet.counts().at_work, 1);
    }
}
