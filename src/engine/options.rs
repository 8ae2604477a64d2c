//! What engines can be asked for when they load a network.

use std::fmt;
use std::str::FromStr;

use crate::potential::Precision;
use crate::propagation::MemoryLimit;

/// What an engine is asked for when it loads a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadOptions {
    /// Number type of the tables.
    pub precision: Precision,
    /// Threads to use; engines that run on one ignore it.
    pub threads: usize,
    /// Memory that may be taken.
    pub memory: MemoryLimit,
    /// For engine `gpu-paper`; others ignore it.
    pub paper: PaperOptions,
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
