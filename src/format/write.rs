//! Writing a network in a format of one's choice.

use std::fmt::Write as _;

use crate::format::Format;
use crate::format::language::Features;
use crate::network::{Annotation, Network};

/// A network as a text in some format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The text, to be stored in UTF-8.
    pub text: String,
    /// What the format has no place for, as sentences for the user; empty if nothing was lost.
    pub lost: Vec<String>,
}

/// Why a network cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The format is only read.
    #[error("{} is read but not written; written are {}", .0.name(), written_formats())]
    NotWritten(Format),
    /// The network is a Markov network, which the format cannot hold.
    #[error("{} holds Bayesian networks only, and this is a Markov network; UAI holds both", .0.name())]
    NotBayesian(Format),
    /// The format has no spelling for a name or label.
    #[error("{} has no spelling for the name '{name}': {reason}", .format.name())]
    Name {
        /// The format.
        format: Format,
        /// The name of a variable, or the label of a state.
        name: String,
        /// What the format asks of names.
        reason: &'static str,
    },
}

/// The names of the formats that are written.
fn written_formats() -> String {
    let written = Format::ALL.iter().filter(|format| format.is_written());
    written.map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

/// Writes `network` in `format`.
///
/// Reading the text again gives the same variables and states in the same order and the same
/// numbers, but for the rounding of a row that is divided by its sum once more. Annotations stay as far as the format has a place for them.
///
/// # Errors
/// If the format is only read, or cannot hold this network.
pub fn write(network: &Network, format: Format) -> Result<Written, WriteError> {
    let writer = format.language().write.ok_or(WriteError::NotWritten(format))?;
    if !network.is_bayesian() && format != Format::Uai {
        return Err(WriteError::NotBayesian(format));
    }
    Ok(Written { text: writer(network)?, lost: lost(network, format) })
}

/// What annotations have, whether it is kept, and how it shows.
type Part = (&'static str, bool, fn(&Annotation) -> bool);

/// What `format` has no place for in `network`.
fn lost(network: &Network, format: Format) -> Vec<String> {
    let Features { names, titles, comments, positions, colours, attributes } =
        format.language().features;
    let annotations = network.annotations();
    let mut lost = Vec::new();
    if !names {
        lost.push("the names of variables and states".to_owned());
    }
    let parts: [Part; 4] = [
        ("titles", titles, |annotation| annotation.title.is_some()),
        ("comments", comments, |annotation| annotation.comment.is_some()),
        ("positions", positions, |annotation| annotation.position.is_some()),
        ("colours", colours, |annotation| annotation.colour.is_some()),
    ];
    for (what, kept, has) in parts {
        let count = network.ids().filter(|&variable| has(annotations.of(variable))).count();
        if !kept && count > 0 {
            lost.push(format!("{what} of {count} variables"));
        }
    }
    for &other in Format::ALL {
        let kept = other == format && attributes;
        let count: usize =
            annotations.all().map(|each| each.attributes_of(other.name()).count()).sum();
        if !kept && count > 0 {
            lost.push(format!("{count} attributes that only {} has", other.name()));
        }
    }
    lost
}

/// Puts `numbers` at the end of `text`, `between` between them, so that they read as the same.
pub(super) fn push_numbers(text: &mut String, numbers: &[f64], between: &str) {
    for (index, number) in numbers.iter().enumerate() {
        let between = if index > 0 { between } else { "" };
        // The shortest digits that read as the number, with a power of ten where it is small.
        let written = if *number == 0.0 || (1e-5..1e16).contains(number) {
            write!(text, "{between}{number}")
        } else {
            write!(text, "{between}{number:e}")
        };
        written.expect("a string takes all");
    }
}
