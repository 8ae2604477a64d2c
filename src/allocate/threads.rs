//! Threads that start only if there is memory for them.
#![expect(clippy::disallowed_methods, reason = "all threads are started here")]

use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use memmap2::MmapMut;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

/// Bytes of address space that must be free when a thread starts. A thread needs 2 MiB for its
/// stack and less than 1 MiB for the stack of its signal handlers and for the C library. The rest
/// is for other threads, which may allocate at the same time.
const FREE_BYTES: usize = 8 << 20;

/// Locked while a thread starts, so that two threads never count on the same memory.
static STARTING: Mutex<()> = Mutex::new(());

/// Starts a thread called `name`, and waits until it begins `work`. The thread then has the memory
/// that it needs for itself.
///
/// The standard library ends the program if a thread has a stack but finds no memory for the stack
/// of its signal handlers. So this function asks the operating system for enough memory first. It
/// does not ask the allocator, which may have kept free memory and then succeeds even if the
/// operating system has none left.
///
/// # Errors
/// If there is not enough memory, or if the operating system cannot start a thread.
pub fn start_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    drop(MmapMut::map_anon(FREE_BYTES)?);
    let (begins, begun) = sync_channel(1);
    let thread = Builder::new().name(name.to_owned()).spawn(move || {
        let _ = begins.send(());
        work()
    })?;
    let _ = begun.recv();
    Ok(thread)
}

/// A pool of `count` threads, or of as many as rayon chooses if `count` is zero. `None` if one of
/// them cannot be started.
#[must_use]
pub fn thread_pool(count: usize) -> Option<ThreadPool> {
    let start = |thread: ThreadBuilder| start_thread("worker", || thread.run()).map(drop);
    ThreadPoolBuilder::new().num_threads(count).spawn_handler(start).build().ok()
}

/// Runs `work` on a new thread, and waits until this thread has ended; on the calling thread if no
/// thread can be started.
///
/// For work that needs far more memory than its result takes. mimalloc gives each thread pages of
/// its own, and returns a page to the operating system only when none of its blocks is in use. On
/// the calling thread, many blocks that `work` frees would share a page with blocks that remain.
/// Now they only share pages with the result.
pub fn on_own_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let mut started = None;
    let start = |thread: ThreadBuilder| {
        started = Some(start_thread("worker", || thread.run())?);
        Ok(())
    };
    let Ok(pool) = ThreadPoolBuilder::new().num_threads(1).spawn_handler(start).build() else {
        return work();
    };
    let result = pool.install(work);
    drop(pool);
    // The thread's memory is free when it has ended. A panic of `work` has left this function.
    let _ = started.map(JoinHandle::join);
    result
}

/// The pool for work that has no pool of its own. The first call starts it, with as many threads as
/// rayon chooses, or with one thread if not all of them can be started. `None` if no thread can be
/// started; the next call then tries again. Parallel work outside all pools would let rayon
/// start threads, which ends the program if there is no memory for them.
#[must_use]
pub fn shared_pool() -> Option<&'static ThreadPool> {
    static POOL: Mutex<Option<&'static ThreadPool>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if pool.is_none() {
        let started = thread_pool(0).or_else(|| thread_pool(1));
        *pool = started.map(|pool| &*Box::leak(Box::new(pool)));
    }
    *pool
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate::{OutOfMemory, or_error, zeros};

    #[test]
    fn a_thread_has_a_name_and_a_result() {
        let name = || std::thread::current().name().map(str::to_owned);
        let thread = start_thread("test", name).expect("there is memory for a thread");
        assert_eq!(thread.join().expect("no panic").as_deref(), Some("test"));
        let pool = thread_pool(3).expect("there is memory for three threads");
        assert_eq!(
            pool.broadcast(|_| name()),
            [Some("worker"); 3].map(|name| name.map(str::to_owned))
        );
    }

    #[test]
    fn work_on_its_own_thread_returns_its_result_or_its_error() {
        let id = on_own_thread(|| std::thread::current().id());
        assert_ne!(id, std::thread::current().id());
        let entries = isize::MAX as usize / 8 - 1000;
        let found = or_error(|| on_own_thread(|| zeros::<f64>(entries)));
        assert_eq!(found, Err(OutOfMemory { bytes: 8 * entries as u64 }));
    }
}
