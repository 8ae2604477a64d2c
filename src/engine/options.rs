//! What engines can be asked for when they load a network.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use crate::potential::Precision;
use crate::propagation::MemoryLimit;

/// How an engine is to load a network.
///
/// By default: double precision, a worker for each core, and half of the available memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadOptions {
    /// Number type of the tables.
    pub precision: Precision,
    /// Threads to compute on; engines without the
    /// [`parallel`](crate::engine::Capabilities::parallel) capability ignore it.
    pub threads: usize,
    /// The most memory to allocate.
    pub memory: MemoryLimit,
    /// Heeded only by engines with the
    /// [`paper_options`](crate::engine::Capabilities::paper_options) capability.
    pub paper: PaperOptions,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            precision: Precision::F64,
            threads: std::thread::available_parallelism().map_or(1, NonZero::get),
            memory: MemoryLimit::half_of_available(),
            paper: PaperOptions::default(),
        }
    }
}

/// What section 4 of Zheng, Mengshoel and Chong varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PaperOptions {
    /// Threads of a block, 16 to 1024 (section 4.2, Figure 5). Other numbers are taken for the
    /// nearest of these.
    pub block_size: u32,
    /// How the mapping tables lie in memory (section 4.5).
    pub layout: MappingLayout,
}

/// `naive, 48 threads a block`.
impl fmt::Display for PaperOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} threads a block", self.layout, self.block_size)
    }
}

impl Default for PaperOptions {
    fn default() -> Self {
        Self { block_size: 128, layout: MappingLayout::Interleaved }
    }
}

/// How the mapping tables of the entries of one separator lie in memory (section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MappingLayout {
    /// One table after another: threads that run together read words that are far apart.
    Naive,
    /// The first elements of all tables, then the second ones: threads that run together read
    /// words that lie side by side.
    Interleaved,
}

impl MappingLayout {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Naive, Self::Interleaved];

    /// `naive` or `interleaved`, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Interleaved => "interleaved",
        }
    }

    /// How far two mapping tables of a separator with `entries` entries lie apart, and two elements
    /// of one table, which has `count`; in words of 4 bytes.
    ///
    /// Element n of the table of entry j stands at `j * tables + n * elements`.
    #[must_use]
    pub fn strides(self, entries: usize, count: usize) -> (usize, usize) {
        match self {
            Self::Naive => (count, 1),
            Self::Interleaved => (1, entries),
        }
    }

    /// The words that the threads of warp number `warp` read when each takes element `n` of its
    /// mapping table, in the order of the threads (Figure 8). The last warp may be shorter.
    #[must_use]
    pub fn words_of_warp(self, entries: usize, count: usize, warp: usize, n: usize) -> Vec<usize> {
        let (tables, elements) = self.strides(entries, count);
        let threads = warp * WARP..((warp + 1) * WARP).min(entries);
        threads.map(|j| j * tables + n * elements).collect()
    }
}

/// Threads of a GPU that run in step.
pub const WARP: usize = 32;

/// Words of 4 bytes in one transaction of a GPU's memory: 32 bytes.
pub const SECTOR: usize = 8;

/// Transactions that reading `words` in one step takes: the number of different sectors.
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
    fn a_warp_reads_words_side_by_side_only_if_the_tables_are_interleaved() {
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
    fn both_layouts_give_every_element_a_word_of_its_own() {
        for layout in MappingLayout::ALL {
            let of_step = |n| layout.words_of_warp(5, 7, 0, n);
            let mut words: Vec<usize> = (0..7).flat_map(of_step).collect();
            words.sort_unstable();
            assert!(words.into_iter().eq(0..35), "{layout}");
        }
    }
}
