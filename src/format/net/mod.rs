//! Hugin NET, as Hugin and its users have written it since the early nineties.
//!
//! Source: *The HUGIN API Reference Manual*, chapter "The NET language". What it leaves open is
//! settled by what programs write:
//!
//! * A file is `net { ... }` with nodes and potentials behind it, or `class NAME { ... }` with them
//!   inside. Of several classes that one is the network which is within no other; the instances in it
//!   are unfolded, and places are left out where there are any, because each class has its own.
//! * Names are words or quoted; a remark goes from `%` to the end of the line.
//! * `data` is in odometer order: the first parent slowest, the node itself fastest; parentheses
//!   among the numbers mean nothing more.
//! * The numbers of a row are weights: Hugin divides them by their sum, and writes `( 1 1 )` for
//!   what nobody filled in. Rows that are off by more than rounding are told of. A node without
//!   numbers has equal chances, as Hugin has it, with a warning.
//! * `model_data`, the expression from which Hugin makes the numbers, is computed where there are no
//!   numbers beside it and it has an exact table; else it is refused.
//! * Decision nodes become chance nodes with equal chances; utility and function nodes are left out,
//!   because Hugin computes them from the posteriors; continuous nodes are refused.
//! * A state without a label takes the value or interval that `state_values` gives it, or its
//!   number; a number is put behind a label that comes twice.
//! * `label` is the title, `HR_Desc` the comment, `position` the position: its y grows upwards, ours
//!   downwards. All other attributes of the network and of nodes are kept word for word.
//!
//! A name that is no word of the language is written as one that is, and stands in full in the
//! attribute `cliquescope_name`, from which it is read again. `cliquescope_empty_labels` says that a label
//! without a character is one.

mod build;
mod classes;
mod model;
mod parser;
mod quotes;
mod states;
mod write;

use crate::format::language::{Features, Language};
use crate::format::source::SourceText;
use crate::format::tokens::Dialect;
use crate::format::{FormatError, Warning};
use crate::network::Network;

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "Hugin NET",
    extensions: &["net", "oobn"],
    recognise: parser::begins_with_block,
    read,
    write: Some(write::write),
    features: Features {
        names: true,
        titles: true,
        comments: true,
        positions: true,
        colours: false,
        attributes: true,
    },
};

/// The attribute that holds a name which is no word of the language.
const NAME: &str = "cliquescope_name";

static DIALECT: Dialect = Dialect::new(b"{}()=;,:|").with_remarks();

/// Reads a network.
fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    build::network(source, parser::parse(source)?)
}
