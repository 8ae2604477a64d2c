//! Memory that cannot be had is an error, not the end of the program.
//!
//! A forecast compares what an engine needs with a limit, but the machine may have less: another
//! program may have taken it meanwhile, or the operating system may limit the process. The standard
//! library ends the program if an allocation fails. There are two ways around this:
//!
//! * Tables whose size depends on cliques or separators are allocated with the functions of this
//!   module, [`zeros`] and others, which notice the failure.
//! * For all other allocations, the allocator of the program keeps a reserve, [`WithReserve`]. If
//!   the machine has no memory, the reserve provides it, and work that calls [`check`] ends soon
//!   afterwards. Work that can be cancelled calls it wherever it checks for cancellation.
//!
//! In both cases the stack is unwound to [`or_error`] or a similar function, where an engine, a
//! step of the session or a command begins. This frees what was allocated, and `or_error` returns
//! an error. Unwinding costs nothing while memory lasts, and passes through the threads of rayon.
//!
//! All threads are started with [`start_thread`], [`thread_pool`], [`shared_pool`] or
//! [`on_own_thread`], because a thread without memory for itself would end the program.
//!
//! The program may still end for lack of memory. Libraries in other languages (the drivers of a GPU
//! and of the display, the C library) allocate by themselves, and may end the program if that
//! fails. So may the operating system: by default, Linux promises more memory than it has, and ends
//! a program when the memory is written or if a stack cannot grow.

#[cfg(all(feature = "allocator", target_os = "linux"))]
mod huge_pages;
mod reserve;
mod threads;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Zeroable;

pub use reserve::{KeepFreedMemory, WithReserve, return_freed_memory_early};
pub use threads::{on_own_thread, shared_pool, start_thread, thread_pool};

/// Without mimalloc, or on another system, huge pages are left to the allocator.
#[cfg(not(all(feature = "allocator", target_os = "linux")))]
mod huge_pages {
    pub fn stop_mimalloc_asking() {}

    pub fn request(_: *mut u8, _: usize) {}
}

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

/// Whether the reserve was used since this flag was last cleared. A [`catch`] clears it at its
/// start if it is not inside another one on its thread, and whenever it catches an error.
static IS_EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// Whether the reserve was ever used.
static HAS_USED_RESERVE: AtomicBool = AtomicBool::new(false);

/// Whether [`or_error`] or [`effect_or_error`] has ever returned an error.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread notices if an allocation fails, so that the reserve is not needed.
    static NOTICES_FAILURE: Cell<bool> = const { Cell::new(false) };
    /// Number of calls of [`catch`] on this thread that have not returned yet.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

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
/// If the memory cannot be had. [`or_error`] recognises the panic.
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

/// Ends the current work if the reserve of memory was used. Work that allocates without limit calls
/// this regularly: every check for cancellation calls it, and so do the readers of files.
///
/// # Panics
/// If the reserve was used. [`or_error`] recognises the panic.
#[inline]
pub fn check() {
    if IS_EXHAUSTED.load(Ordering::Relaxed) {
        fail();
    }
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
    effect_or_error(|| checked(work))
}

/// As [`or_error`], for `work` with effects that others see, such as output: if `work` returns, its
/// result is returned, even if it used the reserve after its last [`check`].
///
/// # Errors
/// As [`or_error`].
pub fn effect_or_error<R>(work: impl FnOnce() -> R) -> Result<R, OutOfMemory> {
    catch(work).inspect_err(|_| HAS_FAILED.store(true, Ordering::Relaxed))
}

/// As [`or_error`], for `work` that is not necessary: `None` if memory for it could not be had.
/// This does not count as a failure in [`has_failed`].
pub fn attempt<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch(|| checked(work)).ok()
}

/// Runs `work`, and unwinds if its result may be in the reserve, which the next work needs.
fn checked<R>(work: impl FnOnce() -> R) -> R {
    let result = work();
    check();
    result
}

/// Runs `work`, and catches the panic of [`give_up`].
fn catch<R>(work: impl FnOnce() -> R) -> Result<R, OutOfMemory> {
    let depth = DEPTH.get();
    if depth == 0 {
        // Earlier work may have used the reserve after its last check.
        IS_EXHAUSTED.store(false, Ordering::Relaxed);
    }
    let after_check = || {
        check();
        work()
    };
    DEPTH.set(depth + 1);
    let result = catch_unwind(AssertUnwindSafe(after_check));
    DEPTH.set(depth);
    result.map_err(|panic| match panic.downcast::<OutOfMemory>() {
        Ok(error) => {
            IS_EXHAUSTED.store(false, Ordering::Relaxed);
            *error
        }
        Err(panic) => resume_unwind(panic),
    })
}

/// Whether [`or_error`] or [`effect_or_error`] has ever returned an error.
#[must_use]
pub fn has_failed() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

/// Whether the reserve was ever used.
#[must_use]
pub fn has_used_reserve() -> bool {
    HAS_USED_RESERVE.load(Ordering::Relaxed)
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
