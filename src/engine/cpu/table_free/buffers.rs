//! Memory for tables, reused within a propagation and from one to the next.
//!
//! The first write to new memory takes longer than computing a table, because the operating system
//! must provide each page.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use super::number::TableEntry;
use crate::engine::cpu::helpers::Helpers;

/// Size of a page of memory in bytes. If it is wrong, only speed changes.
const PAGE: usize = 1 << 12;

/// Minimum number of entries of memory that is kept. The allocator is as fast for smaller tables.
/// If it is wrong, only speed and memory change.
const MIN_ENTRIES: usize = 512;

/// Number of entries that a thread takes at a time when it fills, rescales or divides a table:
/// several times as much work as waking a thread. If it is wrong, only speed changes.
pub const PART: usize = 1 << 16;

/// Memory for tables, which threads share.
#[derive(Debug)]
pub struct Buffers<T> {
    free: Mutex<FreeMemory<T>>,
    /// Maximum of [`FreeMemory::held`], unless the tables in use alone exceed it.
    max_held: usize,
    /// Whether memory is kept at all.
    keeps: bool,
}

/// Free memory for tables.
#[derive(Debug)]
struct FreeMemory<T> {
    /// In ascending order of capacity.
    tables: Vec<Vec<T>>,
    /// The sum of the capacities of the free memory and of all tables in use, in entries. Tables
    /// below [`MIN_ENTRIES`] do not count. Not meaningful unless memory is kept.
    held: usize,
}

impl<T: TableEntry> Buffers<T> {
    /// Buffers without free memory. If `keeps`, the memory of tables is kept, as long as free
    /// memory and tables in use together take at most `max_bytes`.
    pub fn new(max_bytes: u64, keeps: bool) -> Self {
        let max_held = usize::try_from(max_bytes / size_of::<T>() as u64).unwrap_or(usize::MAX);
        Self { free: Mutex::new(FreeMemory { tables: Vec::new(), held: 0 }), max_held, keeps }
    }

    /// Calls `work` with the free memory.
    fn with_free<R>(&self, work: impl FnOnce(&mut FreeMemory<T>) -> R) -> R {
        // Poisoning is harmless: the tables are valid at any time, and `begin` counts them again.
        work(&mut self.free.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Call this before each propagation, when no tables are in use. Tables that an earlier
    /// propagation did not put back, because it failed, no longer count.
    pub fn begin(&self) {
        self.with_free(|free| free.held = free.tables.iter().map(Vec::capacity).sum());
    }

    /// A table of `entries` zeros. Threads share the work if it is large.
    pub fn zeros(&self, entries: usize, helpers: Helpers<'_>) -> Vec<T> {
        self.zeros_with(entries, helpers, |table| {
            helpers.map(table.chunks_mut(PART), write_each_page);
        })
    }

    /// As [`zeros`](Self::zeros), but new memory is not written if the entries are plain numbers.
    /// This is for tables that may stay zero in large parts: a page that is never written takes no
    /// memory.
    pub fn zeros_on_demand(&self, entries: usize, helpers: Helpers<'_>) -> Vec<T> {
        self.zeros_with(entries, helpers, |_| {})
    }

    /// A table of `entries` zeros. `prepare` is called with a large table in new memory.
    fn zeros_with(
        &self,
        entries: usize,
        helpers: Helpers<'_>,
        prepare: impl FnOnce(&mut [T]),
    ) -> Vec<T> {
        if entries < MIN_ENTRIES {
            return vec![T::ZERO; entries];
        }
        let mut removed = Vec::new();
        let take = |free: &mut FreeMemory<T>| free.take(entries, self.max_held, &mut removed);
        let found = self.with_free(take);
        drop(removed);
        let Some(mut table) = found else {
            let mut table = T::zeros(entries);
            prepare(&mut table);
            return table;
        };
        // Whatever the length was, all entries are overwritten here.
        table.resize(entries, T::ZERO);
        helpers.map(table.chunks_mut(PART), |part| part.fill(T::ZERO));
        table
    }

    /// Keeps the memory of `table` for later tables, unless it is small or no memory is kept.
    pub fn put(&self, table: Vec<T>) {
        if table.capacity() >= MIN_ENTRIES && self.keeps {
            self.with_free(|FreeMemory { tables, .. }| {
                let index = tables.partition_point(|other| other.capacity() < table.capacity());
                tables.insert(index, table);
            });
        }
    }
}

/// Writes a zero into each page of `zeros`, which are in new memory.
///
/// Sums are added to zeros, so new memory is read before it is written. At the first read, the
/// operating system provides a shared page of zeros. At the first write it replaces this page, and
/// interrupts the other threads of the program. Without this function, queries of linkage_12 took
/// twice as long on two threads.
fn write_each_page<T: TableEntry>(zeros: &mut [T]) {
    // The compiler must not know that the entries are zero already.
    let zeros = black_box(zeros);
    let first = zeros.iter_mut().step_by((PAGE / size_of::<T>()).max(1));
    first.for_each(|entry| *entry = T::ZERO);
    if let Some(last) = zeros.last_mut() {
        *last = T::ZERO;
    }
}

impl<T> FreeMemory<T> {
    /// Takes memory for a table of `entries` if there is a fitting piece. Otherwise makes room for
    /// new memory: moves the largest pieces to `removed` until at most `max_held` entries are held
    /// together with the new ones. The caller frees them, which may take long, when no other thread
    /// waits for the free memory.
    fn take(
        &mut self,
        entries: usize,
        max_held: usize,
        removed: &mut Vec<Vec<T>>,
    ) -> Option<Vec<T>> {
        let index = self.tables.partition_point(|table| table.capacity() < entries);
        // A much larger piece of memory is left for tables that need it.
        if self.tables.get(index).is_some_and(|table| table.capacity() <= entries + entries / 2) {
            return Some(self.tables.remove(index));
        }
        while self.held + entries > max_held
            && let Some(table) = self.tables.pop()
        {
            self.held -= table.capacity();
            removed.push(table);
        }
        self.held += entries;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_for_tables_of_about_the_same_size() {
        let alone = Helpers::none();
        let buffers = Buffers::<f64>::new(8 * 10_000, true);
        let mut table = buffers.zeros(4_000, alone);
        table.fill(1.0);
        let memory = table.as_ptr();
        buffers.put(table);
        let large = buffers.zeros_on_demand(4_001, alone);
        assert_ne!(large.as_ptr(), memory, "it does not fit");
        assert!(large.iter().all(|&entry| entry == 0.0));
        let small = buffers.zeros(600, alone);
        assert_ne!(small.as_ptr(), memory, "most of it would be wasted");
        let same = buffers.zeros_on_demand(3_000, alone);
        assert_eq!(same.as_ptr(), memory);
        assert!(same.iter().all(|&entry| entry == 0.0) && same.len() == 3_000);
        buffers.put(same);
        buffers.put(large);
        let _ = buffers.zeros(9_000, alone);
        let (free, held) = buffers.with_free(|free| (free.tables.len(), free.held));
        assert_eq!((free, held), (0, 9_600), "free memory makes room");
    }
}
