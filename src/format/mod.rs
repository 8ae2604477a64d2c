//! Reading networks and evidence, and the networks that are shipped.
//!
//! One module a format. A reader gets the whole text, and gives a network with what it had to
//! put right, or the one place at which the text cannot be understood. Formats are told apart by
//! what stands in the file, not only by what the file is called.

mod bif;
mod braces;
pub mod cases;
mod decode;
mod dnet;
mod draft;
mod dsc;
mod dsl;
mod error;
mod expand;
mod nodes;
mod open;
mod samples;
mod source;
mod xdsl;
mod xml;
mod xmlbif;

pub use error::{FormatError, OpenError, Warning};
pub use open::{Origin, ReadNetwork, open, open_bytes, open_path};
pub use samples::{SAMPLES, Sample, sample};

use crate::network::Network;
use source::Source;

/// The formats that networks are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The Bayesian network interchange format, version 0.15.
    Bif,
    /// The interchange format in XML, version 0.3.
    XmlBif,
    /// The format of GeNIe.
    Xdsl,
    /// The format of Netica.
    Dnet,
    /// The format of GeNIe before XDSL.
    Dsl,
    /// The format of MSBN.
    Dsc,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Bif, Self::XmlBif, Self::Xdsl, Self::Dnet, Self::Dsl, Self::Dsc];

    /// What the format is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bif => "BIF",
            Self::XmlBif => "XMLBIF",
            Self::Xdsl => "XDSL",
            Self::Dnet => "DNET",
            Self::Dsl => "DSL",
            Self::Dsc => "DSC",
        }
    }

    /// The endings of its files, without the dot.
    #[must_use]
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Bif => &["bif"],
            Self::XmlBif => &["xml", "bifxml", "xmlbif"],
            Self::Xdsl => &["xdsl"],
            Self::Dnet => &["dne", "dnet"],
            Self::Dsl => &["dsl"],
            Self::Dsc => &["dsc"],
        }
    }

    /// The format of a file called `file` that holds `text`, if it is one of ours.
    ///
    /// The ending decides where it is known, so that a mistake at the start of a file is reported
    /// as the mistake it is; otherwise the first word does.
    fn detect(file: &str, text: &str) -> Option<Self> {
        let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let by_ending = ending.and_then(|ending| {
            Self::ALL.into_iter().find(|format| format.extensions().contains(&ending.as_str()))
        });
        by_ending.or_else(|| Self::ALL.into_iter().find(|format| format.is_recognised(text)))
    }

    /// Whether `text` looks like this format.
    fn is_recognised(self, text: &str) -> bool {
        match self {
            Self::Bif => bif::recognise(text),
            Self::XmlBif => xmlbif::recognise(text),
            Self::Xdsl => xdsl::recognise(text),
            Self::Dnet => dnet::recognise(text),
            Self::Dsl => dsl::recognise(text),
            Self::Dsc => dsc::recognise(text),
        }
    }

    fn read(self, source: Source<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
        match self {
            Self::Bif => bif::read(source),
            Self::XmlBif => xmlbif::read(source),
            Self::Xdsl => xdsl::read(source),
            Self::Dnet => dnet::read(source),
            Self::Dsl => dsl::read(source),
            Self::Dsc => dsc::read(source),
        }
    }
}
