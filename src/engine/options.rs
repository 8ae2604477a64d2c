//! How engines load a network, and the options of the paper's kernel.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use crate::graph::TriangulationOptions;
use crate::lowering::{Optimisation, Optimisations};
use crate::potential::Precision;
use crate::propagation::{Form, MemoryLimit};

/// How an engine loads a network.
///
/// The default is double precision, as many threads as this process can run in parallel, and half
/// of the available memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadOptions {
    /// Number type of the tables.
    pub precision: Precision,
    /// Maximum number of threads of the CPU. An engine without the
    /// [`parallel`](crate::engine::Capabilities::parallel) capability passes messages on one thread
    /// or on the GPU, but may use more threads to prepare the cases of a batch and to read the
    /// results of the batch. Engine `gpu` forecasts and loads on all cores, whatever this number.
    pub threads: usize,
    /// Maximum memory to allocate.
    pub memory: MemoryLimit,
    /// Number of propagations that are likely to follow. If an engine can hold the network in
    /// several [forms](crate::propagation::Form), it takes the form that fits into memory and is
    /// forecast to take the least time for loading and for these propagations.
    pub runs: u32,
    /// The form in which to hold the network; `None` to let the engine choose. An engine that does
    /// not have the form ignores it.
    pub form: Option<Form>,
    /// Options of the paper's kernel. Engines without the
    /// [`paper_options`](crate::engine::Capabilities::paper_options) capability ignore them.
    pub paper: PaperOptions,
    /// For tests and benchmarks: what engine `cpu` does for speed.
    #[doc(hidden)]
    pub optimisations: Optimisations,
}

impl LoadOptions {
    /// The default number of [`runs`](Self::runs), for a user who explores a network.
    pub const MANY_RUNS: u32 = TriangulationOptions::MANY_RUNS;

    /// These options with `optimisation` switched off.
    #[doc(hidden)]
    #[must_use]
    pub fn without(self, optimisation: Optimisation) -> Self {
        Self { optimisations: self.optimisations.without(optimisation), ..self }
    }
}

impl Default for LoadOptions {
    /// Double precision, as many threads as this process can run in parallel, and half of the
    /// available memory. Engines on a GPU support only single precision: set
    /// [`precision`](Self::precision) for these engines.
    fn default() -> Self {
        Self {
            precision: Precision::F64,
            threads: std::thread::available_parallelism().map_or(1, NonZero::get),
            memory: MemoryLimit::half_of_available(),
            runs: Self::MANY_RUNS,
            form: None,
            paper: PaperOptions::default(),
            optimisations: Optimisations::default(),
        }
    }
}

/// The parameters that Zheng, Mengshoel and Chong vary in section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PaperOptions {
    /// Number of threads per block, from 16 to 1024 (section 4.2, Figure 5). Other numbers are
    /// clamped.
    pub block_size: u32,
    /// The layout of the mapping tables in memory (section 4.5).
    pub layout: MappingLayout,
}

/// For example, `naive, 48 threads per block`.
impl fmt::Display for PaperOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} threads per block", self.layout, self.block_size)
    }
}

impl Default for PaperOptions {
    fn default() -> Self {
        Self { block_size: 128, layout: MappingLayout::Interleaved }
    }
}

/// The memory layout of the mapping tables of one separator (section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MappingLayout {
    /// One table after another: the threads of a warp read words that are far apart.
    Naive,
    /// The first elements of all tables, then the second elements, and so on: the threads of a warp
    /// read adjacent words.
    Interleaved,
}

impl MappingLayout {
    /// Both layouts.
    pub const ALL: [Self; 2] = [Self::Naive, Self::Interleaved];

    /// `naive` or `interleaved`, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Interleaved => "interleaved",
        }
    }

    /// Two strides in words of 4 bytes: between the mapping tables of a separator with `entries`
    /// entries, and between the `count` elements of each table.
    ///
    /// With strides (t, e), element n of the table of entry j is at `j * t + n * e`.
    #[must_use]
    pub fn strides(self, entries: usize, count: usize) -> (usize, usize) {
        match self {
            Self::Naive => (count, 1),
            Self::Interleaved => (1, entries),
        }
    }

    /// The words that the threads of warp number `warp` read when each thread reads element `n` of
    /// its mapping table, in the order of the threads (Figure 8). The separator has `entries`
    /// entries, one per thread, and each mapping table has `count` elements. The last warp may have
    /// fewer threads.
    #[must_use]
    pub fn words_of_warp(self, entries: usize, count: usize, warp: usize, n: usize) -> Vec<usize> {
        let (tables, elements) = self.strides(entries, count);
        let threads = warp * WARP..((warp + 1) * WARP).min(entries);
        threads.map(|j| j * tables + n * elements).collect()
    }
}

/// Number of threads of a warp, which execute together.
pub const WARP: usize = 32;

/// Size of one memory transaction of a GPU in words of 4 bytes. A transaction has 32 bytes.
pub const SECTOR: usize = 8;

/// The number of memory transactions that a warp needs to read `words` in one step: one for each
/// distinct sector of [`SECTOR`] words.
#[must_use]
pub fn sectors(words: &[usize]) -> usize {
    let mut sectors: Vec<usize> = words.iter().map(|word| word / SECTOR).collect();
    sectors.sort_unstable();
    sectors.dedup();
    sectors.len()
}

impl fmt::Display for MappingLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MappingLayout {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|layout| layout.name() == name);
        found.ok_or_else(|| format!("'{name}' is not a layout; expected naive or interleaved"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_reads_adjacent_words_only_if_the_tables_are_interleaved() {
        // 40 tables of 16 elements.
        let naive = MappingLayout::Naive.words_of_warp(40, 16, 0, 3);
        let interleaved = MappingLayout::Interleaved.words_of_warp(40, 16, 0, 3);
        assert_eq!(naive[..3], [3, 19, 35]);
        assert_eq!(interleaved[..3], [120, 121, 122]);
        assert_eq!((sectors(&naive), sectors(&interleaved)), (32, 4));
        let last = MappingLayout::Interleaved.words_of_warp(40, 16, 1, 0);
        assert_eq!(last, (32..40).collect::<Vec<_>>());
    }

    #[test]
    fn no_two_elements_share_a_word() {
        for layout in MappingLayout::ALL {
            let words = |n| layout.words_of_warp(5, 7, 0, n);
            let mut words: Vec<usize> = (0..7).flat_map(words).collect();
            words.sort_unstable();
            assert!(words.into_iter().eq(0..35), "{layout}");
        }
    }
}
