//! Allocating large tables, so that a machine without the memory is an error, not the end of the
//! program.
//!
//! A forecast compares what an engine needs with a limit, but the machine may have less: another
//! program may have taken it meanwhile, or the operating system may limit the process. The standard
//! library ends the program if an allocation fails. So tables of any size that depends on cliques
//! or separators are allocated here. If that fails, the stack is unwound to [`or_error`], where the
//! engine begins. This frees what was allocated, and `or_error` returns an error. Unwinding costs
//! nothing while memory lasts, and passes through the threads of rayon.
//!
//! Small allocations still end the program if they fail. Operating systems that promise more memory
//! than they have, as Linux does by default, may also end it later, when the memory is written.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bytemuck::Zeroable;

/// The machine did not provide memory that the memory limit allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the machine has less memory than the limit allows: {:.1} MiB for a table could not be had; \
     close other programs, or lower the limit",
    *.bytes as f64 / f64::from(1 << 20)
)]
pub struct OutOfMemory {
    /// Size of the allocation that failed, in bytes.
    pub bytes: u64,
}

/// `entries` zeros. The operating system provides the memory page by page, when it is first
/// written.
///
/// # Panics
/// If the memory cannot be had, in a way that [`or_error`] recognises.
pub fn zeros<T: Zeroable>(entries: usize) -> Vec<T> {
    bytemuck::allocation::try_zeroed_vec(entries).unwrap_or_else(|()| give_up::<T>(entries))
}

/// `entries` ones.
///
/// # Panics
/// As [`zeros`].
pub fn ones(entries: usize) -> Vec<f64> {
    let mut values = with_capacity(entries);
    values.resize(entries, 1.0);
    values
}

/// An empty vector with memory for `entries` entries.
///
/// # Panics
/// As [`zeros`].
pub fn with_capacity<T>(entries: usize) -> Vec<T> {
    let mut values = Vec::new();
    values.try_reserve_exact(entries).unwrap_or_else(|_| give_up::<T>(entries));
    values
}

/// Gives `values` memory for at least `entries` more entries.
///
/// # Panics
/// As [`zeros`].
pub fn reserve<T>(values: &mut Vec<T>, entries: usize) {
    values.try_reserve(entries).unwrap_or_else(|_| give_up::<T>(entries));
}

/// Unwinds to [`or_error`]. The panic hook is not called, because this is no defect.
fn give_up<T>(entries: usize) -> ! {
    let bytes = (entries as u64).saturating_mul(size_of::<T>() as u64);
    resume_unwind(Box::new(OutOfMemory { bytes }))
}

/// Runs `work`, or says that memory for it could not be had. Other panics are passed on.
///
/// # Errors
/// [`OutOfMemory`]. What `work` was changing must then not be used any more.
pub fn or_error<R>(work: impl FnOnce() -> R) -> Result<R, OutOfMemory> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<OutOfMemory>() {
        Ok(error) => *error,
        Err(panic) => resume_unwind(panic),
    })
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
    }

    #[test]
    #[should_panic(expected = "a defect")]
    fn other_panics_are_passed_on() {
        let _ = or_error(|| panic!("a defect"));
    }
}
