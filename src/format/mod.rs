//! Reading networks and evidence, and the networks that are shipped.
//!
//! One module a format. A reader gets the whole text, and gives a network with what it had to
//! put right, or the one place at which the text cannot be understood. Formats are told apart by
//! what stands in the file, not only by what the file is called.

mod bif;
pub mod cases;
mod decode;
mod draft;
mod error;
mod open;
mod samples;
mod source;

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
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Bif];

    /// What the format is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bif => "BIF",
        }
    }

    /// The endings of its files, without the dot.
    #[must_use]
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Bif => &["bif"],
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
        by_ending.or_else(|| bif::recognise(text).then_some(Self::Bif))
    }

    fn read(self, source: Source<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
        match self {
            Self::Bif => bif::read(source),
        }
    }
}
