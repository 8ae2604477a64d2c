//! A pool of memory for tables, which is reused from one reduced tree to the next.
//!
//! A reduced tree is often made for a single propagation. The first write to new memory takes
//! longer than computing a table, because the operating system must provide each page. So the
//! memory of one tree's tables goes to a pool, and the next tree's tables get memory from there.

use std::cmp::Reverse;

use crate::allocate;
use crate::engine::cpu::memory::max_pooled;
use crate::potential::Entry;

/// The memory of tables that are no longer in use.
#[derive(Debug)]
pub struct ReusePool<T> {
    /// The free memory, in ascending order of capacity.
    tables: Vec<Vec<T>>,
    /// The sum of the capacities of all `tables`.
    entries: usize,
    /// Maximum of [`entries`](Self::entries) after a call of [`take_all`](Self::take_all).
    max_entries: usize,
}

impl<T: Entry> ReusePool<T> {
    /// Minimum capacity of pooled memory, in entries. For smaller tables, the allocator is as fast
    /// as the pool. A table gets a capacity of at most [`max_pooled`] plus this from the pool; the
    /// second term matters only for small tables. If the constant is wrong, only speed and memory
    /// change.
    const MIN_ENTRIES: usize = 512;

    /// An empty pool. Its limit is zero until [`set_max_entries`](Self::set_max_entries) is called.
    pub fn new() -> Self {
        Self { tables: Vec::new(), entries: 0, max_entries: 0 }
    }

    /// Adds the memory of `table`. Frees the memory instead if it is small.
    pub fn put(&mut self, table: Vec<T>) {
        if table.capacity() >= Self::MIN_ENTRIES {
            let index = self.tables.partition_point(|other| other.capacity() < table.capacity());
            self.entries += table.capacity();
            self.tables.insert(index, table);
        }
    }

    /// Limits the number of entries that stay in the pool after later calls of
    /// [`take_all`](Self::take_all).
    pub fn set_max_entries(&mut self, entries: usize) {
        self.max_entries = entries;
    }

    /// Frees memory, the largest tables first, until the limit is met.
    fn shrink(&mut self) {
        while self.entries > self.max_entries
            && let Some(table) = self.tables.pop()
        {
            self.entries -= table.capacity();
        }
    }

    /// A table of `entries` entries, if the pool has memory that is large enough but not far
    /// larger.
    fn take(&mut self, entries: usize) -> Option<Vec<T>> {
        let index = self.tables.partition_point(|table| table.capacity() < entries);
        let max_capacity = max_pooled(entries) + Self::MIN_ENTRIES;
        if self.tables.get(index)?.capacity() > max_capacity {
            return None;
        }
        let mut table = self.tables.remove(index);
        self.entries -= table.capacity();
        table.resize(entries, T::ZERO);
        Some(table)
    }

    /// Tables with the given numbers of entries, in order, in memory from the pool. Allocates
    /// memory for the tables for which the pool has none. The content of the tables is arbitrary.
    pub fn take_all(&mut self, sizes: &[usize]) -> Vec<Vec<T>> {
        // The largest tables choose first, because few pieces of memory are large enough for them.
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_unstable_by_key(|&table| Reverse(sizes[table]));
        let mut found: Vec<_> = sizes.iter().map(|_| None).collect();
        order.into_iter().for_each(|table| found[table] = self.take(sizes[table]));
        self.shrink();
        let new = |entries: usize| {
            // Slack, so that a slightly larger table fits later. Memory costs nothing until it is
            // written.
            let mut table = allocate::zeros(entries + entries / 8);
            table.truncate(entries);
            table
        };
        let tables = found.into_iter().zip(sizes);
        tables.map(|(table, &entries)| table.unwrap_or_else(|| new(entries))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_reuse_memory_of_about_their_size_and_the_rest_is_bounded() {
        let mut pool = ReusePool::<f64>::new();
        let sizes = [100, 1_000, 4_000, 20_000, 4_100];
        let first = pool.take_all(&sizes);
        assert!(first.iter().zip(sizes).all(|(table, entries)| table.len() == entries));
        let pointers: Vec<_> = first.iter().map(|table| table.as_ptr()).collect();
        first.into_iter().for_each(|table| pool.put(table));
        // A slightly larger table fits into the slack. The table of 9000 entries gets new memory,
        // because the only memory that it fits into is far larger.
        pool.set_max_entries(20_000);
        let second = pool.take_all(&[4_400, 9_000, 1_100, 3_900]);
        assert_eq!(second[0].as_ptr(), pointers[2]);
        assert!(second[1].capacity() < 20_000);
        assert_eq!(second[2].as_ptr(), pointers[1]);
        assert_eq!(second[3].as_ptr(), pointers[4]);
        assert_eq!(pool.entries, 0, "the largest exceeds the limit");
        assert!(pool.tables.is_empty());
    }

    #[test]
    fn the_pool_is_within_its_limit_after_tables_were_taken() {
        let mut pool = ReusePool::<f32>::new();
        pool.set_max_entries(5_000);
        for round in 1..40_usize {
            let sizes: Vec<usize> = (1..30).map(|table| round * 7_919 % 997 * table).collect();
            let tables = pool.take_all(&sizes);
            let held: usize = tables.iter().map(Vec::capacity).sum();
            let needed: usize = sizes.iter().sum();
            let bound = needed * 3 / 2 + sizes.len() * ReusePool::<f32>::MIN_ENTRIES;
            assert!(held <= bound && pool.entries <= 5_000, "round {round}");
            tables.into_iter().for_each(|table| pool.put(table));
        }
    }
}
