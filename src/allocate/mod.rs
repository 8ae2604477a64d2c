//! Memory that cannot be had is an error, not the end of the program.
//!
//! A forecast compares what an engine needs with a limit, but the machine may have less: another
//! program may have taken it meanwhile, or the operating system may limit the process. The standard
//! library ends the program if an allocation fails. There are two ways around this:
//!
//! * Tables of any size that depends on cliques or separators are allocated with the functions of
//!   this module, [`zeros`] and others, which notice the failure.
//! * For all other allocations, the allocator of the program keeps a reserve, [`WithReserve`]. If
//!   the machine has no memory, the reserve provides it, and work that calls [`check`] ends soon
//!   afterwards. Work that can be cancelled calls it wherever it checks for cancellation.
//!
//! In both cases the stack is unwound to [`or_error`], where an engine, a step of the session or a
//! command begins. This frees what was allocated, and `or_error` returns an error. Unwinding costs
//! nothing while memory lasts, and passes through the threads of rayon.
//!
//! What this cannot help: libraries in other languages (the drivers of a GPU and of the display,
//! the C library) allocate by themselves, and may end the program if that fails. So does the
//! standard library if a thread starts without memory for the stack of its signal handlers,
//! although [`has_memory_for_threads`] makes this unlikely. So may the operating system: Linux
//! promises more memory than it has by default, and ends a program when the memory is written; and
//! it does so if a stack cannot grow.

mod reserve;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Zeroable;

pub use reserve::WithReserve;

/// The machine did not provide memory that the memory limit allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not enough memory: {}; close other programs, or lower the limit", reason(*.bytes))]
pub struct OutOfMemory {
    /// Size in bytes of the table whose allocation failed; zero if it was no table.
    pub bytes: u64,
}

/// Why memory could not be had, for a table of `bytes`, or for no table if it is zero.
fn reason(bytes: u64) -> String {
    let mut reason = "the machine has less than the limit allows".to_owned();
    if bytes > 0 {
        let mib = bytes as f64 / f64::from(1 << 20);
        reason.push_str(&format!(", and {mib:.1} MiB for a table could not be had"));
    }
    reason
}

/// Whether the reserve was used since an outermost [`or_error`] began or any returned an error.
static IS_EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// Whether [`or_error`] has ever returned an error.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread notices if an allocation fails, so that the reserve is not needed.
    static NOTICES_FAILURE: Cell<bool> = const { Cell::new(false) };
    /// Number of calls of [`or_error`] on this thread that have not returned yet.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Address space in bytes that a new thread needs, with room to spare: its stack, the stack of its
/// signal handlers, and what the allocator keeps for it.
const THREAD_BYTES: usize = 8 << 20;

/// Runs `work`, whose allocations notice failures, without the reserve.
fn noticing_failure<R>(work: impl FnOnce() -> R) -> R {
    let before = NOTICES_FAILURE.replace(true);
    let result = work();
    NOTICES_FAILURE.set(before);
    result
}

/// `entries` zeros. The operating system provides the memory page by page, when it is first
/// written.
///
/// # Panics
/// If the memory cannot be had, in a way that [`or_error`] recognises.
#[must_use]
pub fn zeros<T: Zeroable>(entries: usize) -> Vec<T> {
    noticing_failure(|| bytemuck::allocation::try_zeroed_vec(entries))
        .unwrap_or_else(|()| give_up::<T>(entries))
}

/// `entries` ones.
///
/// # Panics
/// As [`zeros`].
#[must_use]
pub fn ones(entries: usize) -> Vec<f64> {
    let mut values = with_capacity(entries);
    values.resize(entries, 1.0);
    values
}

/// An empty vector with memory for `entries` entries.
///
/// # Panics
/// As [`zeros`].
#[must_use]
pub fn with_capacity<T>(entries: usize) -> Vec<T> {
    let mut values = Vec::new();
    noticing_failure(|| values.try_reserve_exact(entries))
        .unwrap_or_else(|_| give_up::<T>(entries));
    values
}

/// Gives `values` memory for at least `entries` more entries.
///
/// # Panics
/// As [`zeros`].
pub fn reserve<T>(values: &mut Vec<T>, entries: usize) {
    noticing_failure(|| values.try_reserve(entries)).unwrap_or_else(|_| give_up::<T>(entries));
}

/// Ends the current work if the reserve of memory is in use. Work that allocates without limit
/// calls this regularly: checking for cancellation does, and readers of files do.
///
/// # Panics
/// If the reserve is in use, in a way that [`or_error`] recognises.
#[inline]
pub fn check() {
    if IS_EXHAUSTED.load(Ordering::Relaxed) {
        fail();
    }
}

/// Whether there is memory to start this number of threads. Ask before starting any: a thread that
/// finds no memory for the stack of its signal handlers ends the program.
#[must_use]
pub fn has_memory_for_threads(count: usize) -> bool {
    let bytes = count.saturating_mul(THREAD_BYTES);
    noticing_failure(|| Vec::<u8>::new().try_reserve_exact(bytes)).is_ok()
}

/// Ends the current work because the operating system has refused memory that is not allocated
/// here, such as the stack of a thread.
///
/// # Panics
/// Always, in a way that [`or_error`] recognises.
pub fn fail() -> ! {
    give_up::<()>(0)
}

/// Unwinds to [`or_error`]. The panic hook is not called, because this is no defect.
#[cold]
fn give_up<T>(entries: usize) -> ! {
    let bytes = (entries as u64).saturating_mul(size_of::<T>() as u64);
    resume_unwind(Box::new(OutOfMemory { bytes }))
}

/// Runs `work`, or says that memory for it could not be had. Other panics are passed on.
///
/// # Errors
/// [`OutOfMemory`]. What `work` was changing must then not be used any more.
pub fn or_error<R>(work: impl FnOnce() -> R) -> Result<R, OutOfMemory> {
    let depth = DEPTH.get();
    if depth == 0 {
        // Earlier work may have used the reserve after its last check.
        IS_EXHAUSTED.store(false, Ordering::Relaxed);
    }
    let checked = || {
        check();
        let result = work();
        // What is returned may be in the reserve, which the next work needs.
        check();
        result
    };
    DEPTH.set(depth + 1);
    let result = catch_unwind(AssertUnwindSafe(checked));
    DEPTH.set(depth);
    result.map_err(|panic| match panic.downcast::<OutOfMemory>() {
        Ok(error) => {
            IS_EXHAUSTED.store(false, Ordering::Relaxed);
            HAS_FAILED.store(true, Ordering::Relaxed);
            *error
        }
        Err(panic) => resume_unwind(panic),
    })
}

/// Whether memory could not be had at any time since the program began.
#[must_use]
pub fn has_failed() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_had_is_an_error_from_any_thread() {
        let entries = isize::MAX as usize / 8 - 1000;
        let bytes = 8 * entries as u64;
        assert_eq!(or_error(|| zeros::<f64>(entries)), Err(OutOfMemory { bytes }));
        assert_eq!(or_error(|| with_capacity::<f64>(entries)), Err(OutOfMemory { bytes }));
        let on_threads = or_error(|| rayon::join(|| zeros::<f64>(entries), || zeros::<u8>(3)));
        assert_eq!(on_threads, Err(OutOfMemory { bytes }));
        assert_eq!(or_error(|| zeros::<u32>(3)), Ok(vec![0; 3]));
        let message = OutOfMemory { bytes: 3 << 30 }.to_string();
        assert!(message.contains("3072.0 MiB for a table"), "{message}");
        let message = OutOfMemory { bytes: 0 }.to_string();
        assert!(!message.contains("MiB"), "{message}");
    }

    #[test]
    #[should_panic(expected = "a defect")]
    fn other_panics_are_passed_on() {
        let _ = or_error(|| panic!("a defect"));
    }
}
