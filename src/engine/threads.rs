//! Thread pools that are reused when an engine loads again, and work that their threads share.
//!
//! The allocator keeps memory freed by a thread for that thread, and some of this memory stays
//! unusable after the thread ends. With new threads for every load, the program would use more
//! memory each time the engine is changed. Two propagators never share a pool, so neither waits for
//! the other.
//!
//! While a value of type [`Awake`] exists, a thread without work does not go to sleep at once. It
//! first looks for more work for a while. [`map_dynamic`] and [`map_with_affinity`] share a list of
//! short tasks between threads.

use std::hint::spin_loop;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rayon::{ThreadPool, Yield};

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

/// While a value of this type exists, threads of a pool that have nothing to do look for work for
/// some hundred microseconds. Otherwise rayon puts them to sleep after some ten microseconds, and
/// waking one takes longer than computing a part of a message.
pub(super) struct Awake {
    is_over: Arc<AtomicBool>,
}

/// A thread looks for work this many times in vain before it goes to sleep nevertheless. There must
/// be a limit: a thread can begin to look while it waits for the result of another thread, and
/// notices this result only when it has stopped. If the limit is wrong, only speed changes.
const MAX_ROUNDS: u32 = 1_000;

/// Once in this many rounds, a thread offers its core to other threads. If the number is wrong,
/// only speed changes.
const ROUNDS_PER_YIELD: u32 = 64;

impl Awake {
    /// Keeps the threads of `pool` awake.
    pub fn new(pool: &ThreadPool) -> Self {
        Self::with_limit(pool, MAX_ROUNDS)
    }

    /// As [`new`](Self::new), but a thread sleeps after `max_rounds` rounds in vain.
    fn with_limit(pool: &ThreadPool, max_rounds: u32) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let awake = Self { is_over: Arc::clone(&is_over) };
        // A caller that belongs to the pool has work. If it looked for more while it waits for a
        // result, it would notice the result late.
        let caller = pool.current_thread_index();
        pool.spawn_broadcast(move |context| {
            let mut rounds = 0;
            while Some(context.index()) != caller
                && rounds < max_rounds
                && !is_over.load(Ordering::Relaxed)
            {
                rounds = if rayon::yield_now() == Some(Yield::Executed) { 0 } else { rounds + 1 };
                if rounds % ROUNDS_PER_YIELD == ROUNDS_PER_YIELD - 1 {
                    thread::yield_now();
                } else {
                    spin_loop();
                }
            }
        });
        awake
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// An item of [`map_dynamic`], which later becomes its result.
struct Place<I, R> {
    is_taken: AtomicBool,
    content: Mutex<(Option<I>, Option<R>)>,
}

/// The calling thread waits this many rounds for the last items of other threads before rayon may
/// give it other work: some ten to a hundred microseconds, which depends on the processor. There
/// must be a limit, because an item that panics never counts as finished. If the limit is wrong,
/// only speed changes.
const MAX_WAITING_ROUNDS: u32 = 2_000;

/// Calls `work` with each of `items`, on the threads of the caller's pool, and returns the results
/// in order. A thread takes the next item when it has finished one (dynamic scheduling), so items
/// that take long should come first.
///
/// Every thread is offered the whole list at once. A parallel iterator of rayon divides its items
/// into halves instead, so the last threads get work only after a chain of steals, which takes
/// longer than a part of a message.
///
/// Call this on a thread of a pool. `work` may call this function itself. If the nested call waits
/// long for other threads, its thread may meanwhile run any number of the remaining items, and the
/// time of its own item then includes theirs. Calls of `work` are nested at most as deep as the
/// pool has threads, so `work` should need little stack.
pub(super) fn map_dynamic<I: Send, R: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    map_items(items, false, work)
}

/// As [`map_dynamic`], for items that take about the same time and are mapped again and again. A
/// thread begins at a place in the list that depends on its own number, so it likely takes the same
/// items each time and finds their data in its cache (affinity scheduling: E. P. Markatos and T. J.
/// LeBlanc, Using processor affinity in loop scheduling on shared-memory multiprocessors, 1992).
pub(super) fn map_with_affinity<I: Send, R: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    map_items(items, true, work)
}

/// As [`map_with_affinity`] if `has_affinity`, otherwise as [`map_dynamic`].
fn map_items<I: Send, R: Send>(
    items: impl IntoIterator<Item = I>,
    has_affinity: bool,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    let place =
        |item| Place { is_taken: AtomicBool::new(false), content: Mutex::new((Some(item), None)) };
    let places: Vec<Place<I, R>> = items.into_iter().map(place).collect();
    let unfinished = AtomicUsize::new(places.len());
    let threads = rayon::current_num_threads();
    let take_items = || {
        let worker = rayon::current_thread_index().unwrap_or(0);
        let first = if has_affinity { worker * places.len() / threads } else { 0 };
        let (before, after) = places.split_at(first);
        for place in after.iter().chain(before) {
            // Reading first is cheaper, and most items are taken by others.
            let is_taken = &place.is_taken;
            if is_taken.load(Ordering::Relaxed) || is_taken.swap(true, Ordering::Relaxed) {
                continue;
            }
            let mut content = place.content.lock().expect("no other thread takes this item");
            content.1 = content.0.take().map(&work);
            drop(content);
            unfinished.fetch_sub(1, Ordering::Release);
        }
    };
    rayon::scope(|scope| {
        for _ in 1..places.len().min(threads) {
            scope.spawn(|_| take_items());
        }
        take_items();
        // Other threads are at work on the last items. Where the scope ends, rayon would give this
        // thread other work meanwhile, which can take longer than those items.
        let mut rounds = 0;
        while unfinished.load(Ordering::Acquire) > 0 && rounds < MAX_WAITING_ROUNDS {
            spin_loop();
            rounds += 1;
        }
    });
    let result = |place: Place<I, R>| {
        let content = place.content.into_inner().expect("a panic would have left the scope");
        content.1.expect("the scope waits until all items are done")
    };
    places.into_iter().map(result).collect()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::ops::Range;
    use std::sync::Weak;
    use std::thread::ThreadId;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::allocate::{OutOfMemory, or_error, zeros};

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

    /// Runs `map` on four threads, and returns the number of the first item that each thread took.
    ///
    /// `map` gets ten entries. As the work of each item, it must call the function that it gets,
    /// with the item's number, and write this number into the entry. The first four calls wait for
    /// one another, so each thread takes one of these items.
    fn first_items(
        map: impl FnOnce(&mut [usize; 10], &(dyn Fn(usize) + Sync)) + Send,
    ) -> Vec<usize> {
        let threads = Threads::new(4).expect("four threads");
        let (begun, mut entries) = (AtomicUsize::new(0), [0; 10]);
        let first: Vec<AtomicUsize> = (0..4).map(|_| AtomicUsize::new(usize::MAX)).collect();
        threads.install(|| {
            map(&mut entries, &|number| {
                if begun.fetch_add(1, Ordering::Relaxed) < 4 {
                    let worker = rayon::current_thread_index().expect("a thread of the pool");
                    first[worker].store(number, Ordering::Relaxed);
                }
                // Each of the first four items waits until four threads are at work.
                let from = Instant::now();
                while begun.load(Ordering::Relaxed) < 4 {
                    assert!(from.elapsed() < Duration::from_secs(10), "a thread takes no item");
                    thread::yield_now();
                }
            });
        });
        assert_eq!(entries, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        first.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn all_threads_take_items_and_the_results_are_in_order() {
        let mut first = first_items(|entries, begin| {
            let results = map_dynamic(entries.iter_mut().enumerate(), |(number, entry)| {
                begin(number);
                *entry = number;
                number * number
            });
            assert_eq!(results, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
        });
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2, 3], "items are taken in order");
        let first = first_items(|entries, begin| {
            let results = map_with_affinity(entries.iter_mut().enumerate(), |(number, entry)| {
                begin(number);
                *entry = number;
                number
            });
            assert_eq!(results, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        });
        assert_eq!(first, [0, 2, 5, 7], "each thread begins at its own place");
        let threads = Threads::new(4).expect("four threads");
        let nothing: [u8; 0] = [];
        assert!(threads.install(|| map_dynamic(nothing, |item| item)).is_empty());
        assert!(threads.install(|| map_with_affinity(nothing, |item| item)).is_empty());
    }

    #[test]
    fn work_that_is_shared_may_share_work() {
        let threads = Threads::new(4).expect("four threads");
        for _ in 0..200 {
            let sums = threads.install(|| {
                map_dynamic(0..40_u64, |a| map_dynamic(0..20, |b| a * b).into_iter().sum::<u64>())
            });
            assert!((0..40).map(|a| a * 190).eq(sums));
        }
    }

    #[test]
    fn an_item_without_memory_is_an_error() {
        let threads = Threads::new(2).expect("two threads");
        let entries = isize::MAX as usize / 8 - 1000;
        let work = |item| black_box(zeros::<f64>(if item == 2 { entries } else { 1 })).len();
        let found = or_error(|| threads.install(|| map_dynamic(0..8, work)));
        assert_eq!(found, Err(OutOfMemory { bytes: 8 * entries as u64 }));
    }

    #[test]
    #[should_panic(expected = "the third item")]
    fn a_panic_of_one_item_reaches_the_caller() {
        let threads = Threads::new(2).expect("two threads");
        let work = |item| assert!(item != 2, "the third item");
        threads.install(|| map_dynamic(0..8, work));
    }

    #[test]
    fn awake_threads_do_not_block_a_join_and_stop_looking_in_the_end() {
        fn sum(numbers: Range<u64>) -> u64 {
            let middle = u64::midpoint(numbers.start, numbers.end);
            if middle == numbers.start {
                return middle;
            }
            let (left, right) =
                rayon::join(|| sum(numbers.start..middle), || sum(middle..numbers.end));
            left + right
        }
        let threads = Threads::new(4).expect("four threads");
        for _ in 0..500 {
            let found = threads.install(|| {
                let _awake = Awake::new(&threads);
                sum(0..1_000)
            });
            assert_eq!(found, 499_500);
        }
        // A thread that looks for work holds a reference, and so does a value of type `Awake`.
        let wait_until_held_by = |holders: usize, is_over: &Weak<AtomicBool>| {
            let from = Instant::now();
            while is_over.strong_count() > holders {
                assert!(from.elapsed() < Duration::from_secs(10), "a thread still looks for work");
                thread::yield_now();
            }
        };
        let limited = Awake::new(&threads);
        wait_until_held_by(1, &Arc::downgrade(&limited.is_over));
        let endless = Awake::with_limit(&threads, u32::MAX);
        let is_over = Arc::downgrade(&endless.is_over);
        thread::sleep(Duration::from_millis(50));
        assert!(is_over.strong_count() > 1, "the threads look for work");
        drop(endless);
        wait_until_held_by(0, &is_over);
    }
}
