//! Panics as values.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`. If it panics, returns the message of the panic.
///
/// The caller must not use what `work` may have left half changed.
///
/// # Errors
/// The message of the panic.
pub(super) fn catch_panic<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

/// Drops a value and ignores a panic while doing so: the value may be damaged, because its earlier
/// use panicked or failed.
pub(super) fn drop_quietly(value: impl Sized) {
    let _ = catch_panic(|| drop(value));
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
