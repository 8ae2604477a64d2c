//! Keeps background work from disturbing measured times.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cancel::CancelToken;

/// Maximum time that a measurement waits for background work to pause. The measurement then starts
/// anyway, and the background work can disturb it. The search for a better tree pauses within a few
/// milliseconds.
const MAX_WAIT_FOR_PAUSE: Duration = Duration::from_millis(100);

/// Time between two checks whether paused background work was cancelled. Affects only how soon the
/// thread of that work ends.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Lets measurements run undisturbed: background work pauses while anything is measured.
///
/// Measurements do not exclude each other, and neither do pieces of background work.
#[derive(Default)]
pub(super) struct TimingGate {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Default)]
struct Counts {
    measurements: usize,
    background: usize,
}

/// Something is being measured as long as this value lives.
pub(super) struct Measurement<'a>(&'a TimingGate);

/// Background work is running as long as this value lives.
pub(super) struct BackgroundWork<'a>(&'a TimingGate);

impl TimingGate {
    /// Starts a measurement once all background work has paused, or after [`MAX_WAIT_FOR_PAUSE`].
    pub fn measure(&self) -> Measurement<'_> {
        let mut counts = self.counts();
        counts.measurements += 1;
        let is_busy = |counts: &mut Counts| counts.background > 0;
        let paused = self.changed.wait_timeout_while(counts, MAX_WAIT_FOR_PAUSE, is_busy);
        drop(paused.unwrap_or_else(PoisonError::into_inner));
        Measurement(self)
    }

    /// Starts background work, once nothing is being measured or `cancel` is set.
    pub fn work(&self, cancel: &CancelToken) -> BackgroundWork<'_> {
        let mut counts = self.counts();
        while counts.measurements > 0 && !cancel.is_cancelled() {
            let waited = self.changed.wait_timeout(counts, CANCEL_POLL_INTERVAL);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        counts.background += 1;
        BackgroundWork(self)
    }

    /// Whether something is being measured, so that background work must pause.
    pub fn is_measuring(&self) -> bool {
        self.counts().measurements > 0
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Measurement<'_> {
    fn drop(&mut self) {
        self.0.counts().measurements -= 1;
        self.0.changed.notify_all();
    }
}

impl Drop for BackgroundWork<'_> {
    fn drop(&mut self) {
        self.0.counts().background -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn background_work_waits_until_the_measurement_ends_or_the_work_is_cancelled() {
        let (gate, cancel) = (TimingGate::default(), CancelToken::new());
        let measurement = gate.measure();
        assert!(gate.is_measuring());
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _work = gate.work(&cancel);
                ended.load(Ordering::SeqCst)
            });
            ended.store(true, Ordering::SeqCst);
            drop(measurement);
            assert!(worker.join().unwrap(), "it started before the measurement ended");
        });
        let _measurement = gate.measure();
        cancel.cancel();
        let _work = gate.work(&cancel);
        assert_eq!(gate.counts().background, 1);
    }
}
