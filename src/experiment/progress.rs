//! How far an experiment is, for whoever waits for it.

use std::sync::Mutex;
use std::time::Duration;

use crate::cancel::{CancelToken, Cancelled};
use crate::clock::Instant;

/// What an experiment reports to while it runs, and by which it is stopped.
///
/// Shared between the experiment and whoever waits for it, who may ask at any time.
pub struct Progress {
    cancel: CancelToken,
    state: Mutex<State>,
    listener: Option<Listener>,
}

type Listener = Box<dyn Fn(&Status) + Send + Sync>;

struct State {
    started: Instant,
    done: f64,
    /// Of the step at work.
    current: f64,
    total: f64,
    what: String,
}

/// How far an experiment is.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// What is at work, as `barley: gpu-paper, naive, 48 threads a block`.
    pub what: String,
    /// Share of the work that is done, 0 to 1, by an estimate of its size.
    pub share: f64,
    /// Since the beginning.
    pub elapsed: Duration,
    /// What is left at the speed so far; `None` before anything is done.
    pub left: Option<Duration>,
}

impl Progress {
    /// Progress of work that `cancel` stops.
    #[must_use]
    pub fn new(cancel: CancelToken) -> Self {
        let state = State {
            started: Instant::now(),
            done: 0.0,
            current: 0.0,
            total: 0.0,
            what: String::new(),
        };
        Self { cancel, state: Mutex::new(state), listener: None }
    }

    /// The same, which also tells `listener` of every step when it begins.
    #[must_use]
    pub fn told_to(mut self, listener: impl Fn(&Status) + Send + Sync + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Adds `weight` to the work that there is in all. What a unit is does not matter, as long as
    /// steps that take longer weigh more.
    pub fn expect(&self, weight: f64) {
        self.lock().total += weight;
    }

    /// Notes that the step before, if any, is done and that one of `weight` begins.
    ///
    /// # Errors
    /// [`Cancelled`] once the work is no longer wanted.
    pub fn step(&self, what: impl Into<String>, weight: f64) -> Result<(), Cancelled> {
        self.cancel.check()?;
        {
            let mut state = self.lock();
            state.done += std::mem::replace(&mut state.current, weight);
            state.total = state.total.max(state.done + weight);
            state.what = what.into();
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
        let left = (share > 0.0).then(|| elapsed.mul_f64((1.0 - share) / share));
        Status { what: state.what.clone(), share, elapsed, left }
    }

    /// The token that stops the work.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing in here panics half-way, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_share_counts_steps_that_are_done() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&told);
        let progress = Progress::new(CancelToken::new())
            .told_to(move |status| listener.lock().unwrap().push(status.share));
        progress.expect(4.0);
        assert_eq!((progress.status().share, progress.status().left), (0.0, None));
        progress.step("one", 1.0).unwrap();
        progress.step("two", 3.0).unwrap();
        assert_eq!(progress.status().what, "two");
        assert!(progress.status().left.is_some());
        progress.step("more than was expected", 4.0).unwrap();
        assert_eq!(*told.lock().unwrap(), [0.0, 0.25, 0.5]);
        progress.cancel_token().cancel();
        assert_eq!(progress.step("never", 1.0), Err(Cancelled));
    }
}
