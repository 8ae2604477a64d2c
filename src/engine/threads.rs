//! Thread pools that are reused when an engine loads again.
//!
//! The allocator keeps memory freed by a thread for that thread, and some of this memory stays
//! unusable after the thread ends. With new threads for every load, the program would use more
//! memory each time the engine is changed. Two propagators never share a pool, so neither waits for
//! the other.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use rayon::ThreadPool;

use crate::allocate::thread_pool;

/// A thread pool. When it is dropped, its threads become idle and can be reused.
pub(super) struct Threads {
    /// `None` only in `drop`.
    pool: Option<ThreadPool>,
    /// Where the pool is put when this value is dropped.
    idle: &'static Idle,
}

/// The pool that was dropped last, until the next pool is taken. Its threads sleep.
struct Idle(Mutex<Option<ThreadPool>>);

static IDLE: Idle = Idle(Mutex::new(None));

impl Threads {
    /// A pool of `count` threads; `None` if there is no memory for them, or if the operating system
    /// cannot create them.
    pub fn new(count: usize) -> Option<Self> {
        IDLE.take(count)
    }
}

impl Idle {
    /// The idle pool if it has `count` threads, or else a new one.
    fn take(&'static self, count: usize) -> Option<Threads> {
        let pool = self.swap(None).filter(|pool| pool.current_num_threads() == count);
        let pool = pool.or_else(|| thread_pool(count))?;
        Some(Threads { pool: Some(pool), idle: self })
    }

    fn swap(&self, pool: Option<ThreadPool>) -> Option<ThreadPool> {
        // Poisoning is harmless: a panic cannot leave the value half changed.
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *idle, pool)
    }
}

impl Deref for Threads {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        self.pool.as_ref().expect("the pool is there until it is dropped")
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
    fn threads_are_reused_but_never_shared() {
        static IDLE: Idle = Idle(Mutex::new(None));
        let first = IDLE.take(2).expect("two threads");
        let second = IDLE.take(2).expect("two threads more");
        let (first_ids, second_ids) = (ids(&first), ids(&second));
        assert_eq!(first_ids.len(), 2);
        assert!(second_ids.iter().all(|id| !first_ids.contains(id)));
        drop(first);
        let third = IDLE.take(2).expect("two threads");
        assert_eq!(ids(&third), first_ids);
        drop(second);
        let fourth = IDLE.take(3).expect("three threads");
        assert_eq!(ids(&fourth).len(), 3, "a pool of two is not reused for three");
        drop(third);
        assert_eq!(ids(&IDLE.take(2).expect("two threads")), first_ids);
    }
}
