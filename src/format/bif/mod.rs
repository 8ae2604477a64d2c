//! BIF, the Bayesian network interchange format, version 0.15.
//!
//! Source: F. G. Cozman, *The Interchange Format for Bayesian Networks*, 1996 to 1998. What it
//! leaves open is settled by what programs write:
//!
//! * Keywords are read in capital letters too.
//! * Names and labels are whatever stands between white space and the punctuation of the format
//!   (`<5`, `12+`, `5-12`, `Asy/Patch`), or anything at all in double quotes. `//` and `/*` begin
//!   a comment even where a word stands right before them.
//! * Commas, and the bar between a variable and its parents, separate and mean nothing more. In
//!   `probability (a b c)` the first name is the variable, the others are its parents.
//! * The numbers of a `table` are in odometer order over the header: the variable itself turns
//!   slowest, its last parent fastest, so that all probabilities of its first state come first.
//!   This is the definition's own order, JavaBayes writes it, and aGrUM reads it.
//! * A row lists the states of the parents in the order of the header, and then one number for
//!   each state of the variable. Rows may come in any order; `default` fills those that do not
//!   come. Without parents `default` and `table` are the same.
//! * A property ends at the first semicolon outside double quotes. `position = (x, y)`, in quotes or
//!   not, is where JavaBayes draws the node; all others are kept as they are spelt.
//! * Variables may be declared after the blocks that name them.
//!
//! Names and labels that are no words are written in double quotes; one that holds a double quote
//! has no spelling.

mod parser;
mod properties;
mod write;

use crate::format::language::{Features, Language};
use crate::format::nodes::{self, IfMissing};
use crate::format::source::SourceText;
use crate::format::tokens::Dialect;
use crate::format::{FormatError, Warning};
use crate::network::Network;

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "BIF",
    extensions: &["bif"],
    recognise: parser::begins_with_block,
    read,
    write: Some(write::write),
    features: Features { names: true, positions: true, attributes: true, ..Features::NONE },
};

/// Double quotes hold anything but a double quote.
static DIALECT: Dialect = Dialect::new(b"{}()[];,|").without_escapes();

/// Reads a network.
fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let mut document = parser::parse(source)?;
    nodes::assign(source, &mut document.variables, document.probabilities)?;
    nodes::network(source, document.name, document.note, &document.variables, IfMissing::Refuse)
}
