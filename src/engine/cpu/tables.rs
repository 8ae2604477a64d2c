//! The memory that cliques' tables are in.
//!
//! A tree of what evidence leaves is made for one propagation, and memory that was never written
//! takes longer to write than to fill a table. So all its tables are in one piece, which the next
//! tree takes over.

use std::ops::{Deref, Range};
use std::sync::Arc;

use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::engine::cpu::fill::Filler;
use crate::engine::cpu::layout::Layout;
use crate::engine::cpu::loaded::WORTH_THREADS;
use crate::network::{Factor, FactorId, Network};
use crate::potential::Real;

/// A table, alone or among others.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    memory: Arc<Vec<T>>,
    range: Range<usize>,
}

impl<T> Deref for Table<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[self.range.clone()]
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(values: Vec<T>) -> Self {
        Self { range: 0..values.len(), memory: Arc::new(values) }
    }
}

impl<T> Table<T> {
    /// The memory, if no other table is in it.
    pub fn into_memory(self) -> Option<Vec<T>> {
        Arc::into_inner(self.memory)
    }
}

/// What the tables of a tree are made of.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub network: &'a Network,
    /// The states that are taken of variables that were left out of the cliques.
    pub observed: &'a [Option<usize>],
    /// Threads to make large tables with.
    pub threads: Option<&'a ThreadPool>,
}

/// Makes the table of each clique, given its layout and its factors, and the exponent of its scale:
/// each by itself, or all in `memory`.
pub(super) fn make<T: Real>(
    sources: Sources<'_>,
    layouts: &[Layout],
    families: &[Vec<FactorId>],
    memory: Option<Vec<T>>,
) -> Vec<(Table<T>, i32)> {
    let all: usize = layouts.iter().map(Layout::entries).sum();
    let threads = sources.threads.filter(|_| all >= WORTH_THREADS);
    let fill = |filler: &mut Filler,
                (layout, factors): (&Layout, &Vec<FactorId>),
                table: &mut _| {
        let network = sources.network;
        let factors: Vec<&Factor> = factors.iter().map(|&factor| network.factor(factor)).collect();
        filler.product(network, layout, &factors, sources.observed, table, threads.is_some())
    };
    let cliques: Vec<_> = layouts.iter().zip(families).collect();
    let Some(mut memory) = memory else {
        // These outlast the call, so they are in memory of this thread, whichever fills them.
        let room = |layout: &Layout| vec![T::ZERO; layout.entries()];
        let work: Vec<_> = cliques.into_iter().zip(layouts.iter().map(room)).collect();
        let of = |filler: &mut Filler, (clique, mut table): (_, Vec<T>)| {
            let exponent = fill(filler, clique, &mut table);
            (Table::from(table), exponent)
        };
        let mut filler = Filler::default();
        return match threads {
            Some(threads) => {
                let work = work.into_par_iter().with_max_len(1);
                threads.install(|| work.map_init(Filler::default, of).collect())
            }
            None => work.into_iter().map(|work| of(&mut filler, work)).collect(),
        };
    };
    if memory.capacity() / 5 > all / 4 {
        memory = Vec::new();
    }
    memory.truncate(all);
    if memory.capacity() < all {
        memory = vec![T::ZERO; all];
    }
    memory.resize(all, T::ZERO);
    let mut rest = &mut memory[..];
    let slots = layouts.iter().map(|layout| {
        let (own, after) = std::mem::take(&mut rest).split_at_mut(layout.entries());
        rest = after;
        own
    });
    let of = |filler: &mut Filler, (clique, table): (_, &mut [T])| fill(filler, clique, table);
    let work: Vec<_> = cliques.into_iter().zip(slots).collect();
    let mut filler = Filler::default();
    let exponents: Vec<i32> = match threads {
        Some(threads) => {
            let work = work.into_par_iter();
            threads.install(|| work.map_init(Filler::default, of).collect())
        }
        None => work.into_iter().map(|work| of(&mut filler, work)).collect(),
    };
    let memory = Arc::new(memory);
    let mut start = 0;
    let table = |(layout, exponent): (&Layout, i32)| {
        let range = start..start + layout.entries();
        start = range.end;
        (Table { memory: Arc::clone(&memory), range }, exponent)
    };
    layouts.iter().zip(exponents).map(table).collect()
}
