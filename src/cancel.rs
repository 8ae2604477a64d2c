//! Cancellation of long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::allocate;

/// A flag that asks long work to stop.
///
/// Clones share the flag. Long work checks the flag regularly and returns [`Cancelled`] once it is
/// set.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

/// The work stopped because its [`CancelToken`] was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The flag itself, for a signal handler, which may only set a flag.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set, by [`cancel`](Self::cancel) or through [`flag`](Self::flag).
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error, for use with `?`, if the flag is set.
    ///
    /// # Errors
    /// [`Cancelled`] if [`is_cancelled`](Self::is_cancelled).
    ///
    /// # Panics
    /// If memory has run out, as [`allocate::check`] does.
    pub fn check(&self) -> Result<(), Cancelled> {
        allocate::check();
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}
