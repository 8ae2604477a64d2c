//! Memory for tables, reused within a propagation and from one to the next.
//!
//! The first write to new memory takes longer than computing a table, because the operating system
//! must provide each page.

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use super::number::TableEntry;

/// Minimum number of entries of memory that is kept. The allocator is as fast for smaller tables.
/// If it is wrong, only speed and memory change.
const MIN_ENTRIES: usize = 512;

/// Number of entries that a thread takes at a time when it fills, rescales or divides a table:
/// several times as much work as waking a thread. If it is wrong, only speed changes.
pub const PART: usize = 1 << 16;

/// Free memory for tables.
#[derive(Debug)]
pub struct Buffers<T> {
    /// In ascending order of capacity.
    free: Vec<Vec<T>>,
    /// The sum of the capacities of the free memory and of all tables in use, in entries. Tables
    /// below [`MIN_ENTRIES`] do not count. Not meaningful unless `keeps`.
    held: usize,
    /// Maximum of [`held`](Self::held), unless the tables in use alone exceed it.
    max_held: usize,
    /// Whether memory is kept at all.
    keeps: bool,
}

impl<T: TableEntry> Buffers<T> {
    /// Buffers without free memory. If `keeps`, the memory of tables is kept, as long as free
    /// memory and tables in use together take at most `max_bytes`.
    pub fn new(max_bytes: u64, keeps: bool) -> Self {
        let max_held = usize::try_from(max_bytes / size_of::<T>() as u64).unwrap_or(usize::MAX);
        Self { free: Vec::new(), held: 0, max_held, keeps }
    }

    /// Call this before each propagation, when no tables are in use. Tables that an earlier
    /// propagation did not put back, because it failed, no longer count.
    pub fn begin(&mut self) {
        self.held = self.free.iter().map(Vec::capacity).sum();
    }

    /// A table of `entries` zeros. With `forks`, threads of the caller's pool share the work.
    pub fn zeros(&mut self, entries: usize, forks: bool) -> Vec<T> {
        if entries < MIN_ENTRIES {
            return vec![T::ZERO; entries];
        }
        let index = self.free.partition_point(|table| table.capacity() < entries);
        // A much larger piece of memory is left for tables that need it.
        if self.free.get(index).is_some_and(|table| table.capacity() <= entries + entries / 2) {
            let mut table = self.free.remove(index);
            // Whatever the length was, all entries are overwritten here.
            table.resize(entries, T::ZERO);
            if forks && entries >= 2 * PART {
                table.par_chunks_mut(PART).with_max_len(1).for_each(|part| part.fill(T::ZERO));
            } else {
                table.fill(T::ZERO);
            }
            return table;
        }
        while self.held + entries > self.max_held
            && let Some(table) = self.free.pop()
        {
            self.held -= table.capacity();
        }
        self.held += entries;
        T::zeros(entries)
    }

    /// Keeps the memory of `table` for later tables, unless it is small or no memory is kept.
    pub fn put(&mut self, table: Vec<T>) {
        if table.capacity() >= MIN_ENTRIES && self.keeps {
            let index = self.free.partition_point(|other| other.capacity() < table.capacity());
            self.free.insert(index, table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_for_tables_of_about_the_same_size() {
        let mut buffers = Buffers::<f64>::new(8 * 10_000, true);
        let mut table = buffers.zeros(4_000, false);
        table.fill(1.0);
        let memory = table.as_ptr();
        buffers.put(table);
        let large = buffers.zeros(4_001, false);
        assert_ne!(large.as_ptr(), memory, "it does not fit");
        let small = buffers.zeros(600, false);
        assert_ne!(small.as_ptr(), memory, "most of it would be wasted");
        let same = buffers.zeros(3_000, false);
        assert_eq!(same.as_ptr(), memory);
        assert!(same.iter().all(|&entry| entry == 0.0) && same.len() == 3_000);
        buffers.put(same);
        buffers.put(large);
        let _ = buffers.zeros(9_000, false);
        assert!(buffers.free.is_empty() && buffers.held == 9_600, "free memory makes room");
    }
}
