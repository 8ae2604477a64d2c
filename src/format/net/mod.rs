//! Hugin NET, as Hugin and its users have written it since the early 1990s.
//!
//! Source: *The HUGIN API Reference Manual*, chapter "The NET language", and what programs write:
//!
//! * A file is `net { ... }` followed by nodes and potentials, or `class NAME { ... }` with nodes
//!   and potentials inside. The class that has no instance in another class is the network. If it
//!   has instances, they are unfolded. Then only the titles of nodes are kept, not their other
//!   annotations: positions, for example, are relative to the class.
//! * Names are words or quoted. `%` starts a comment, and so do `//` and `/*`.
//! * In `data` the node itself varies fastest, then its last parent. Parentheses among the numbers
//!   only repeat that structure and are ignored.
//! * The numbers of a row are weights: Hugin divides them by their sum, and writes `( 1 1 )` for
//!   rows that were never filled in. Rows whose sum is not one up to rounding cause a warning.
//! * `model_data`, the expression from which Hugin computes the numbers, is evaluated if there are
//!   no numbers. If it must be evaluated but is not supported, the file is refused: see
//!   `model/mod.rs`. A node with neither numbers nor an expression gets a uniform distribution, as
//!   in Hugin, with a warning.
//! * Decision nodes become chance nodes with uniform distributions. Utility and function nodes are
//!   left out, because Hugin computes them from the posteriors. Continuous nodes are refused.
//! * A state without a label is called by the value or interval that `state_values` gives it, else
//!   `false` or `true` if the node is boolean, else by its number. A repeated label gets a number
//!   appended.
//! * `label` is the title, `HR_Desc` the comment, and `position` the position. The y axis of Hugin
//!   points up, ours points down. Other attributes of nodes are kept word for word. So are those of
//!   the network, except `inputs`, `outputs` and `name`.
//!
//! When written, a name that is not an identifier of the language is replaced by one that is; the
//! attribute `cliquescope_name` holds the original name, and the reader restores it.
//! `cliquescope_empty_labels` says that empty labels are meant to be empty.

mod blocks;
mod build;
mod classes;
mod model;
mod parser;
mod quotes;
mod states;
mod unfold;
mod write;

use crate::format::language::{Features, Language};
use crate::format::source::SourceText;
use crate::format::tokens::Dialect;
use crate::format::{FormatError, Warning};
use crate::network::Network;

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

/// The attribute with the name of the network, or with the original name of a node if that is not
/// an identifier of the language.
const NAME: &str = "cliquescope_name";

/// The characters that are tokens of their own, and the comments.
static DIALECT: Dialect = Dialect::new(b"{}()=;,:|").with_percent_comments();

/// Reads a network.
fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    build::network(source, parser::parse(source)?)
}
