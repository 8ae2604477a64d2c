//! Turns panics and failed allocations into values.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::allocate::effect_or_error;
use crate::session::Failure;

/// Runs `work`.
///
/// The caller must not use what `work` may have left half changed.
///
/// # Errors
/// [`Failure::Panicked`] with the message of a panic, or [`Failure::OutOfMemory`].
pub(super) fn catch_panic<R>(work: impl FnOnce() -> R) -> Result<R, Failure> {
    let result = catch_unwind(AssertUnwindSafe(|| effect_or_error(work)));
    Ok(result.map_err(|panic| Failure::Panicked(message(&*panic)))??)
}

/// Drops a value and ignores a panic while doing so: the value may be damaged, because its earlier
/// use panicked or failed.
pub(super) fn drop_quietly(value: impl Sized) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
