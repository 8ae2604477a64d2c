//! Writes a network in a given format.

use std::fmt::Write as _;

use crate::format::Format;
use crate::format::language::Features;
use crate::network::{Annotation, Network};
use crate::numbers::counted;

/// A network as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenNetwork {
    /// The content of the file, to be stored as UTF-8.
    pub text: String,
    /// What the format cannot hold, as phrases for the user. The name, title or comment of the
    /// network as a whole is not listed.
    pub lost: Vec<String>,
}

/// An error while writing a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The format can be read but not written.
    #[error("{} can be read but not written; the formats to write are {}",
        .0.name(), written_formats())]
    NotWritten(Format),
    /// The network is a Markov network, which the format cannot hold.
    #[error("{} cannot hold Markov networks; UAI can", .0.name())]
    NotBayesian(Format),
    /// The format cannot hold a name, label, title, comment or attribute.
    #[error("{} cannot hold the text '{text}': {reason}", .format.name())]
    UnwritableText {
        /// The format.
        format: Format,
        /// The name, label, title, comment or attribute.
        text: String,
        /// The rule of the format that the text breaks.
        reason: &'static str,
    },
}

/// The names of the formats that can be written.
fn written_formats() -> String {
    let written = Format::ALL.iter().filter(|format| format.can_write());
    written.map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

/// Writes `network` in `format`.
///
/// If the text is read again, the variables and states are in the same order. The numbers are the
/// same up to rounding, because the reader normalises rows again. Names and annotations are written
/// as far as the format can hold them.
///
/// # Errors
/// If the format cannot be written or cannot hold this network.
pub fn write(network: &Network, format: Format) -> Result<WrittenNetwork, WriteError> {
    let writer = format.language().write.ok_or(WriteError::NotWritten(format))?;
    if !network.is_bayesian() && format != Format::Uai {
        return Err(WriteError::NotBayesian(format));
    }
    Ok(WrittenNetwork { text: writer(network)?, lost: lost(network, format) })
}

/// The parts of `network` that `format` cannot hold, as phrases for the user. Omits the name, the
/// title and the comment of the network as a whole.
fn lost(network: &Network, format: Format) -> Vec<String> {
    let Features { names, titles, comments, positions, colours, attributes } =
        format.language().features;
    let annotations = network.annotations();
    let mut lost = Vec::new();
    if !names {
        lost.push("the names of variables and states".to_owned());
    }
    type Has = fn(&Annotation) -> bool;
    let parts: [(&str, bool, Has); 4] = [
        ("titles", titles, |annotation| annotation.title.is_some()),
        ("comments", comments, |annotation| annotation.comment.is_some()),
        ("positions", positions, |annotation| annotation.position.is_some()),
        ("colours", colours, |annotation| annotation.colour.is_some()),
    ];
    for (what, supported, has) in parts {
        let count = network.ids().filter(|&variable| has(annotations.of(variable))).count();
        if !supported && count > 0 {
            lost.push(format!("{what} of {}", counted(count, "variable", "variables")));
        }
    }
    for &other in Format::ALL {
        let supported = other == format && attributes;
        let count: usize =
            annotations.all().map(|each| each.attributes_of(other.name()).count()).sum();
        if !supported && count > 0 {
            lost.push(format!(
                "{} that only {} has",
                counted(count, "attribute", "attributes"),
                other.name()
            ));
        }
    }
    lost
}

/// Appends `numbers` to `text`, separated by `separator`, with enough digits to restore each number
/// exactly.
pub(super) fn push_numbers(text: &mut String, numbers: &[f64], separator: &str) {
    for (index, number) in numbers.iter().enumerate() {
        let separator = if index > 0 { separator } else { "" };
        // Rust writes the shortest digits that read back as the number.
        let written = if *number == 0.0 || (1e-5..1e16).contains(number) {
            write!(text, "{separator}{number}")
        } else {
            write!(text, "{separator}{number:e}")
        };
        written.expect("writing to a string cannot fail");
    }
}
