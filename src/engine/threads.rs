//! Threads for engines, kept from one load to the next.
//!
//! Memory that a thread lets go of stays with the allocator for that thread's use, and when the thread
//! ends for that of one that may never come. If each load had new threads, a program in which engines
//! are changed all day would grow without a table more. Two engines never have the same threads, so
//! that none waits for the other.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The threads of an engine, and of the next that wants as many once this is dropped.
pub(super) struct Threads {
    /// `None` only while it is dropped.
    pool: Option<ThreadPool>,
    /// Where they go then.
    idle: &'static Idle,
}

/// The threads that were given back last, which sleep.
struct Idle(Mutex<Option<ThreadPool>>);

static IDLE: Idle = Idle(Mutex::new(None));

impl Threads {
    /// So many threads; `None` on a machine that does not give them.
    pub fn new(count: usize) -> Option<Self> {
        IDLE.take(count)
    }
}

impl Idle {
    /// The threads that are idle, if they are `count`, or else new ones.
    fn take(&'static self, count: usize) -> Option<Threads> {
        let pool = self.swap(None).filter(|pool| pool.current_num_threads() == count);
        let pool = pool.or_else(|| ThreadPoolBuilder::new().num_threads(count).build().ok())?;
        Some(Threads { pool: Some(pool), idle: self })
    }

    fn swap(&self, pool: Option<ThreadPool>) -> Option<ThreadPool> {
        // A panic while the lock is held cannot leave it half changed.
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *idle, pool)
    }
}

impl Deref for Threads {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        self.pool.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.idle.swap(self.pool.take());
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};

    use super::*;

    fn ids(threads: &Threads) -> Vec<ThreadId> {
        threads.broadcast(|_| thread::current().id())
    }

    #[test]
    fn threads_serve_one_engine_after_the_other_and_never_two() {
        static OWN: Idle = Idle(Mutex::new(None));
        let first = OWN.take(2).expect("two threads");
        let second = OWN.take(2).expect("two threads more");
        let (of_first, of_second) = (ids(&first), ids(&second));
        assert_eq!(of_first.len(), 2);
        assert!(of_second.iter().all(|id| !of_first.contains(id)));
        drop(first);
        let third = OWN.take(2).expect("two threads");
        assert_eq!(ids(&third), of_first);
        drop(second);
        let fourth = OWN.take(3).expect("three threads");
        assert_eq!(ids(&fourth).len(), 3, "two are not enough");
        drop(third);
        assert_eq!(ids(&OWN.take(2).expect("two threads")), of_first);
    }
}
