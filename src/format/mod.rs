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

pub use decode::packed;
pub use error::{FormatError, OpenError, Warning};
pub use network_source::NetworkSource;
pub use open::{Origin, ReadNetwork, open, open_bytes, open_path};
pub use samples::{SAMPLES, Sample, sample};
pub use write::{WriteError, Written, write};

use language::Language;

/// The formats that networks are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The Bayesian network interchange format, version 0.15.
    Bif,
    /// Hugin's format, as of all its versions.
    Net,
    /// The format of the competitions of the conference on uncertainty in artificial intelligence.
    Uai,
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

    /// What is known of it: the one place that tells formats apart.
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

    /// What the format is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.language().name
    }

    /// The endings of its files, without the dot, the usual one first.
    #[must_use]
    pub fn extensions(self) -> &'static [&'static str] {
        self.language().extensions
    }

    /// Whether networks can be written in it.
    #[must_use]
    pub fn is_written(self) -> bool {
        self.language().write.is_some()
    }

    /// The format called `name`, or that has files with this ending; capital letters make no difference.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        Self::ALL
            .iter()
            .copied()
            .find(|format| is(format.name()) || format.extensions().iter().any(|known| is(known)))
    }

    /// The format that files called `file` have by their ending, if it is one of ours.
    #[must_use]
    pub fn by_ending(file: &str) -> Option<Self> {
        let (_, ending) = decode::without_gz(file).rsplit_once('.')?;
        Self::ALL.iter().copied().find(|format| {
            format.extensions().iter().any(|known| known.eq_ignore_ascii_case(ending))
        })
    }

    /// The format of a file called `file` that holds `text`, if it is one of ours.
    ///
    /// What stands in the file decides. The ending decides between formats that both could be
    /// it, and where the text looks like none: then a mistake at its start is reported as such.
    fn detect(file: &str, text: &str) -> Option<Self> {
        let by_ending = Self::by_ending(file);
        let looks_like = |format: &Self| (format.language().recognise)(text);
        by_ending
            .filter(looks_like)
            .or_else(|| Self::ALL.iter().copied().find(looks_like))
            .or(by_ending)
    }
}
