//! How far an experiment or a recording is.

use std::sync::Mutex;
use std::time::Duration;

use crate::cancel::{CancelToken, Cancelled};
use crate::clock::Instant;

/// The progress of an experiment or a recording, and the way to stop it. Shared between the thread
/// that measures and the threads that show or cancel the progress.
pub struct Progress {
    cancel: CancelToken,
    state: Mutex<State>,
    listener: Option<Listener>,
}

type Listener = Box<dyn Fn(&Status) + Send + Sync>;

struct State {
    started: Instant,
    /// Weight of the steps that are done.
    done: f64,
    /// Weight of the current step.
    current: f64,
    /// Weight of all steps.
    total: f64,
    step: String,
}

/// How far an experiment or a recording is.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The current step, such as `barley: gpu-paper, naive, 48 threads per block`.
    pub step: String,
    /// Estimated share of the work that is done, from 0 to 1.
    pub share: f64,
    /// Time since the start.
    pub elapsed: Duration,
    /// Remaining time at the speed so far; `None` before the first step is done.
    pub remaining: Option<Duration>,
}

impl Progress {
    /// The progress of work that `cancel` stops.
    #[must_use]
    pub fn new(cancel: CancelToken) -> Self {
        let state = State {
            started: Instant::now(),
            done: 0.0,
            current: 0.0,
            total: 0.0,
            step: String::new(),
        };
        Self { cancel, state: Mutex::new(state), listener: None }
    }

    /// Calls `listener` at the beginning of each step.
    #[must_use]
    pub fn with_listener(mut self, listener: impl Fn(&Status) + Send + Sync + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Adds `weight` to the expected work. The unit does not matter as long as all steps use the
    /// same one.
    pub fn expect(&self, weight: f64) {
        self.lock().total += weight;
    }

    /// Ends the current step, if any, and begins another with this `weight`.
    ///
    /// # Errors
    /// [`Cancelled`] if the work was cancelled.
    pub fn step(&self, step: impl Into<String>, weight: f64) -> Result<(), Cancelled> {
        self.cancel.check()?;
        {
            let mut state = self.lock();
            state.done += std::mem::replace(&mut state.current, weight);
            state.total = state.total.max(state.done + weight);
            state.step = step.into();
        }
        if let Some(listener) = &self.listener {
            listener(&self.status());
        }
        Ok(())
    }

    /// How far the work is.
    #[must_use]
    pub fn status(&self) -> Status {
        let state = self.lock();
        let elapsed = state.started.elapsed();
        let share = if state.total > 0.0 { (state.done / state.total).min(1.0) } else { 0.0 };
        let remaining = (share > 0.0).then(|| elapsed.mul_f64((1.0 - share) / share));
        Status { step: state.step.clone(), share, elapsed, remaining }
    }

    /// The token that stops the work.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Poisoning is harmless: whatever a panic leaves in the state can be shown.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_share_is_the_part_of_the_expected_weight_that_is_done() {
        let shares = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&shares);
        let progress = Progress::new(CancelToken::new())
            .with_listener(move |status| listener.lock().unwrap().push(status.share));
        progress.expect(4.0);
        assert_eq!((progress.status().share, progress.status().remaining), (0.0, None));
        progress.step("one", 1.0).unwrap();
        progress.step("two", 3.0).unwrap();
        assert_eq!(progress.status().step, "two");
        assert!(progress.status().remaining.is_some());
        progress.step("more than expected", 4.0).unwrap();
        assert_eq!(*shares.lock().unwrap(), [0.0, 0.25, 0.5]);
        progress.cancel_token().cancel();
        assert_eq!(progress.step("never", 1.0), Err(Cancelled));
    }
}
