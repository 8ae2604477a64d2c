//! BIF, the Bayesian network interchange format, version 0.15.
//!
//! Source: F. G. Cozman, *The Interchange Format for Bayesian Networks*, 1996 to 1998, and what
//! programs write:
//!
//! * Keywords may be in capital letters.
//! * Names and labels are anything between white space and the punctuation of the format (`<5`,
//!   `12+`, `5-12`, `Asy/Patch`), or any text in double quotes. `//` and `/*` start a comment even
//!   directly after a word.
//! * Commas, and the bar between a variable and its parents, are optional separators. In
//!   `probability (a b c)` the first name is the variable, the others are its parents.
//! * In a `table` the variable itself varies slowest and its last parent fastest, so all
//!   probabilities of its first state come first. This is the order that Cozman defines;
//!   JavaBayes writes it and aGrUM reads it.
//! * A row lists the states of the parents in the order of the header, and then one number for
//!   each state of the variable. Rows may come in any order; `default` fills the rows not given.
//!   Without parents, `default` and `table` are the same.
//! * A property ends at the first semicolon outside double quotes. `position = (x, y)`, in quotes
//!   or not, is where JavaBayes draws the node; all other properties are kept word for word.
//! * Variables may be declared after the blocks that name them.
//!
//! Names and labels that are not words are written in double quotes. A name or label that contains
//! a double quote cannot be written.

mod parser;
mod properties;
mod write;

use crate::format::language::{Features, Language};
use crate::format::nodes::{self, IfMissing};
use crate::format::source::SourceText;
use crate::format::tokens::Dialect;
use crate::format::{FormatError, Warning};
use crate::network::Network;

pub(super) static LANGUAGE: Language = Language {
    name: "BIF",
    extensions: &["bif"],
    recognise: parser::begins_with_block,
    read,
    write: Some(write::write),
    features: Features { names: true, positions: true, attributes: true, ..Features::NONE },
};

/// A quoted text may contain anything except a double quote; there are no escapes.
static DIALECT: Dialect = Dialect::new(b"{}()[];,|").without_escapes();

/// Reads a network.
fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let mut document = parser::parse(source)?;
    nodes::assign(source, &mut document.variables, document.probabilities)?;
    nodes::network(source, document.name, document.note, &document.variables, IfMissing::Refuse)
}
