//! Reading and writing networks and evidence, and the shipped networks.
//!
//! Each format has its own module, which provides a `Language`; `language.rs` says how to add a
//! format. A reader gets the whole text, and returns a network with warnings about corrections, or
//! an error with its line and column. The content of a file decides its format; the extension
//! decides if the content looks like several formats or like none.

mod bif;
mod braces;
pub mod cases;
mod decode;
mod dnet;
mod dsc;
mod dsl;
mod error;
mod expand;
mod language;
mod limits;
mod net;
mod network_source;
mod nodes;
mod open;
mod rows;
mod samples;
mod source;
mod tokens;
mod uai;
mod validate;
mod write;
mod xdsl;
mod xml;
mod xmlbif;
mod zero_rows;

pub use decode::gzip;
pub use error::{FormatError, OpenError, Warning};
pub use network_source::NetworkSource;
pub use open::{NetworkOrigin, ReadNetwork, check_not_special, open, open_bytes, open_path};
pub use samples::{SAMPLES, Sample, sample};
pub use write::{WriteError, WrittenNetwork, write};

use language::Language;

/// The file formats of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The Interchange Format for Bayesian Networks, version 0.15.
    Bif,
    /// Hugin NET, all versions.
    Net,
    /// The format of the UAI inference competitions.
    Uai,
    /// The interchange format in XML, XMLBIF 0.3.
    XmlBif,
    /// The format of GeNIe and SMILE, in XML.
    Xdsl,
    /// The text format of Netica.
    Dnet,
    /// The format of GeNIe and SMILE before XDSL.
    Dsl,
    /// The format of Microsoft's MSBN.
    Dsc,
}

impl Format {
    /// All formats.
    pub const ALL: &[Self] = &[
        Self::Bif,
        Self::Net,
        Self::Uai,
        Self::XmlBif,
        Self::Xdsl,
        Self::Dnet,
        Self::Dsl,
        Self::Dsc,
    ];

    fn language(self) -> &'static Language {
        match self {
            Self::Bif => &bif::LANGUAGE,
            Self::Net => &net::LANGUAGE,
            Self::Uai => &uai::LANGUAGE,
            Self::XmlBif => &xmlbif::LANGUAGE,
            Self::Xdsl => &xdsl::LANGUAGE,
            Self::Dnet => &dnet::LANGUAGE,
            Self::Dsl => &dsl::LANGUAGE,
            Self::Dsc => &dsc::LANGUAGE,
        }
    }

    /// The name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.language().name
    }

    /// The file extensions of the format, without the dot, the usual one first.
    #[must_use]
    pub fn extensions(self) -> &'static [&'static str] {
        self.language().extensions
    }

    /// Whether networks can be written in this format. Every format can be read.
    #[must_use]
    pub fn can_write(self) -> bool {
        self.language().write.is_some()
    }

    /// The format with this name or file extension, ignoring ASCII case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let matches = |known: &str| known.eq_ignore_ascii_case(name);
        Self::ALL
            .iter()
            .copied()
            .find(|format| matches(format.name()) || format.extensions().iter().any(|e| matches(e)))
    }

    /// The format with the extension of `file`, ignoring `.gz` and ASCII case; `None` if the
    /// extension is unknown.
    #[must_use]
    pub fn by_extension(file: &str) -> Option<Self> {
        let (_, extension) = decode::without_gz(file).rsplit_once('.')?;
        Self::ALL.iter().copied().find(|format| {
            format.extensions().iter().any(|known| known.eq_ignore_ascii_case(extension))
        })
    }

    /// The format of a file called `file` with this `text`; `None` if it is unknown.
    ///
    /// If the content looks like the format of the extension, that format is chosen, else the
    /// first format in [`Self::ALL`] that the content looks like. If there is none, the extension
    /// decides. The reader of that format then usually reports a mistake at the start of the
    /// content.
    fn detect(file: &str, text: &str) -> Option<Self> {
        let by_extension = Self::by_extension(file);
        let looks_like = |format: &Self| (format.language().recognise)(text);
        by_extension
            .filter(looks_like)
            .or_else(|| Self::ALL.iter().copied().find(looks_like))
            .or(by_extension)
    }
}
