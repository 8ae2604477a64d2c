//! The memory that cliques' tables are in.
//!
//! A tree of what evidence leaves is made for one propagation, and memory that was never written
//! takes longer to write than to fill a table. So what the tables of one tree were in is kept for
//! those of the next.

use std::cmp::Reverse;

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::engine::cpu::context::WORTH_THREADS;
use crate::engine::cpu::tables::factored::{Factored, PartPort, Plan};
use crate::engine::cpu::tables::fill::Filler;
use crate::engine::cpu::tables::multiply::Left;
use crate::engine::cpu::tree::layout::Layout;
use crate::network::{Factor, FactorId, Network};
use crate::potential::Entry;

/// What the tables of a tree are made of.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub network: &'a Network,
    /// The states that are taken of variables that were left out of the cliques.
    pub observed: &'a [Option<usize>],
    /// Threads to make large tables with.
    pub threads: Option<&'a ThreadPool>,
}

/// Of the memory that is there what is given at most to tables that need so much; to each a little more
/// if it is small.
pub fn most_given(needed: usize) -> usize {
    needed / 2 * 3
}

/// Memory of tables that are no more.
#[derive(Debug)]
pub struct Shelf<T> {
    /// The smallest first.
    tables: Vec<Vec<T>>,
    /// Entries that they have room for.
    entries: usize,
    /// Entries that they may have room for when others have what they need.
    most: usize,
}

impl<T: Entry> Shelf<T> {
    /// Fewer entries than these are as soon had from the allocator.
    const WORTH_KEEPING: usize = 512;

    pub fn new() -> Self {
        Self { tables: Vec::new(), entries: 0, most: 0 }
    }

    /// Keeps the memory of `table`.
    pub fn put(&mut self, table: Vec<T>) {
        if table.capacity() >= Self::WORTH_KEEPING {
            let place = self.tables.partition_point(|other| other.capacity() < table.capacity());
            self.entries += table.capacity();
            self.tables.insert(place, table);
        }
    }

    /// Has tables for which no one has asked take no more than so many entries.
    pub fn set_most(&mut self, entries: usize) {
        self.most = entries;
    }

    /// Lets go of what is too much, of the largest first.
    fn shrink(&mut self) {
        while self.entries > self.most
            && let Some(table) = self.tables.pop()
        {
            self.entries -= table.capacity();
        }
    }

    /// Memory for a table of `entries`, if there is any that is not far larger.
    fn take(&mut self, entries: usize) -> Option<Vec<T>> {
        let place = self.tables.partition_point(|table| table.capacity() < entries);
        let most = most_given(entries) + Self::WORTH_KEEPING;
        if self.tables.get(place)?.capacity() > most {
            return None;
        }
        let mut table = self.tables.remove(place);
        self.entries -= table.capacity();
        table.resize(entries, T::ZERO);
        Some(table)
    }

    /// Memory for tables of so many entries each, part of which is new.
    pub fn rooms(&mut self, tables: &[usize]) -> Vec<Vec<T>> {
        // The largest first: what fits it may fit others, and not the other way round.
        let mut order: Vec<usize> = (0..tables.len()).collect();
        order.sort_unstable_by_key(|&table| Reverse(tables[table]));
        let mut found: Vec<_> = tables.iter().map(|_| None).collect();
        order.into_iter().for_each(|table| found[table] = self.take(tables[table]));
        self.shrink();
        let new = |entries: usize| {
            // Pages are taken as they are written, so that some more cost nothing.
            let mut table = vec![T::ZERO; entries + entries / 8];
            table.truncate(entries);
            table
        };
        let rooms = found.into_iter().zip(tables);
        rooms.map(|(room, &entries)| room.unwrap_or_else(|| new(entries))).collect()
    }
}

/// A table to be made.
pub struct Unmade<'a, T> {
    /// The layout of its clique.
    pub layout: &'a Layout,
    pub factors: &'a [FactorId],
    /// What is left of it, if not all is.
    pub left: Option<Left<'a>>,
    /// How it is left a product, if it is.
    pub plan: Option<Plan>,
    /// The memory that it is to be in.
    pub table: Vec<T>,
}

/// A table that was made.
pub struct Made<T> {
    pub values: Vec<T>,
    /// The table is `values`, or the product in place of it, times two to this power.
    pub exponent: i32,
    /// The product that there is in place of a table, and how rows meet its parts.
    pub factored: Option<(Factored, Vec<PartPort>)>,
}

/// Makes tables.
pub fn make<T: Entry>(sources: Sources<'_>, work: Vec<Unmade<'_, T>>) -> Vec<Made<T>> {
    let all: usize = work.iter().map(|unmade| unmade.table.len()).sum();
    let threads = sources.threads.filter(|_| all >= WORTH_THREADS);
    let of = |filler: &mut Filler, unmade: Unmade<'_, T>| {
        let Unmade { layout, factors, left, plan, table: mut values } = unmade;
        let network = sources.network;
        if let Some(plan) = plan {
            let into = (network, layout);
            let (product, exponent, ports) = plan.make(filler, into, sources.observed);
            return Made { values, exponent, factored: Some((product, ports)) };
        }
        let factors: Vec<&Factor> = factors.iter().map(|&factor| network.factor(factor)).collect();
        let forks = threads.is_some();
        let product = (layout, &*factors, left);
        let exponent = filler.product(network, product, sources.observed, &mut values, forks);
        Made { values, exponent, factored: None }
    };
    match threads {
        Some(threads) => {
            let work = work.into_par_iter().with_max_len(1);
            threads.install(|| work.map_init(Filler::default, of).collect())
        }
        None => {
            let mut filler = Filler::default();
            work.into_iter().map(|work| of(&mut filler, work)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_to_what_it_fits_and_what_is_far_too_much_is_let_go() {
        let mut shelf = Shelf::<f64>::new();
        let sizes = [100, 1_000, 4_000, 20_000, 4_100];
        let first = shelf.rooms(&sizes);
        assert!(first.iter().zip(sizes).all(|(table, entries)| table.len() == entries));
        let places: Vec<_> = first.iter().map(|table| table.as_ptr()).collect();
        first.into_iter().for_each(|table| shelf.put(table));
        // A little larger fits into what was left beside, and far smaller does not.
        shelf.set_most(20_000);
        let again = shelf.rooms(&[4_400, 9_000, 1_100, 3_900]);
        assert_eq!(again[0].as_ptr(), places[2]);
        assert!(again[1].capacity() < 20_000);
        assert_eq!(again[2].as_ptr(), places[1]);
        assert_eq!(again[3].as_ptr(), places[4]);
        assert_eq!(shelf.entries, 0, "the largest is too much");
        assert!(shelf.tables.is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut shelf = Shelf::<f32>::new();
        shelf.set_most(5_000);
        for round in 1..40_usize {
            let sizes: Vec<usize> = (1..30).map(|table| round * 7_919 % 997 * table).collect();
            let rooms = shelf.rooms(&sizes);
            let held: usize = rooms.iter().map(Vec::capacity).sum();
            let needed: usize = sizes.iter().sum();
            let bound = needed * 3 / 2 + sizes.len() * Shelf::<f32>::WORTH_KEEPING;
            assert!(held <= bound && shelf.entries <= 5_000, "round {round}");
            rooms.into_iter().for_each(|table| shelf.put(table));
        }
    }
}
