//! What the module of a format provides.
//!
//! To add a format, copy the module of the most similar format:
//!
//! * `bif` and `net` for text with a grammar of their own: [`tokens`](super::tokens) splits the
//!   text into words and punctuation, with byte offsets;
//! * `dsl` and `dnet` for blocks in braces: [`braces`](super::braces) reads the whole file as a
//!   tree (`dsc` uses its parts);
//! * `xmlbif` and `xdsl` for XML: [`xml`](super::xml) reads the whole file as a tree;
//! * `uai` for plain numbers.
//!
//! Except in `uai`, the reader collects [`Node`](super::nodes::Node)s without looking up the names
//! of parents, and [`nodes::network`](super::nodes::network) builds the network: it looks names up,
//! expands noisy nodes, normalises rows and reports mistakes with line and column.
//!
//! Then add a `static LANGUAGE` to the module, a variant to [`Format`](super::Format), and a line
//! each to `Format::ALL` and `Format::language`. Also add a fixture to `tests/fixtures`, tests to
//! `tests/formats`, an arm to `tests/hostile/emit.rs`, and a target to `fuzz/`.

use crate::format::source::SourceText;
use crate::format::{FormatError, Warning, WriteError};
use crate::network::Network;

/// Reads a text as a network.
pub(super) type Reader = fn(SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError>;

/// Writes a network as text.
pub(super) type Writer = fn(&Network) -> Result<String, WriteError>;

/// A file format.
pub(super) struct Language {
    /// The name of the format.
    pub name: &'static str,
    /// The file extensions in lower case, without the dot, the usual one first.
    pub extensions: &'static [&'static str],
    /// Whether the beginning of a text looks like this format; later mistakes do not matter. If a
    /// text looks like several formats, the file extension decides, else the order of the formats
    /// in [`Format::ALL`](super::Format::ALL).
    pub recognise: fn(&str) -> bool,
    /// Reads a network with its annotations, and returns warnings about corrections.
    pub read: Reader,
    /// Writes a network as a text that `read` reads back; `None` if the format is only read.
    pub write: Option<Writer>,
    /// What a written file can hold in addition to the tables.
    pub features: Features,
}

/// What a written file can hold in addition to the tables. Has no effect if the format is only
/// read.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "six independent properties")]
pub(super) struct Features {
    /// Names of the network, of variables and of states.
    pub names: bool,
    /// Titles of variables.
    pub titles: bool,
    /// Comments on variables.
    pub comments: bool,
    /// Positions of variables.
    pub positions: bool,
    /// Colours of variables.
    pub colours: bool,
    /// Attributes of this format, which this program stores without interpreting them.
    pub attributes: bool,
}

impl Features {
    /// Only the tables.
    pub const NONE: Self = Self {
        names: false,
        titles: false,
        comments: false,
        positions: false,
        colours: false,
        attributes: false,
    };
}
