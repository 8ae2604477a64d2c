//! What a module of a format gives to those who read and write files.

use crate::format::source::SourceText;
use crate::format::{FormatError, Warning, WriteError};
use crate::network::Network;

/// From a text to a network.
pub(super) type Reader = fn(SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError>;

/// From a network to a text.
pub(super) type Writer = fn(&Network) -> Result<String, WriteError>;

/// A format, as its module describes it.
pub(super) struct Language {
    /// What the format is called.
    pub name: &'static str,
    /// The endings of its files in small letters, without the dot, the usual one first.
    pub extensions: &'static [&'static str],
    /// Whether a text looks like this format and no other, seen from how it begins. A text with a
    /// mistake further on is still recognised.
    pub recognise: fn(&str) -> bool,
    /// Reads a network, with its annotations, and what was put right in it.
    pub read: Reader,
    /// Writes a network as a text that `read` takes for the same network, if there is a writer.
    pub write: Option<Writer>,
    /// What is written of the annotations; attributes only of the format itself.
    pub features: Features,
}

/// Which parts of a network a format can hold beside the tables.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one answer to each of six questions")]
pub(super) struct Features {
    /// Names of the network, of variables and states.
    pub names: bool,
    /// Titles of variables.
    pub titles: bool,
    /// Remarks on variables.
    pub comments: bool,
    /// Positions of variables.
    pub positions: bool,
    /// Colours of variables.
    pub colours: bool,
    /// Attributes of the format's own, as they were read.
    pub attributes: bool,
}

impl Features {
    /// Nothing but the tables.
    pub const NONE: Self = Self {
        names: false,
        titles: false,
        comments: false,
        positions: false,
        colours: false,
        attributes: false,
    };
}
