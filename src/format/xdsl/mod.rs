//! XDSL, the format of GeNIe and SMILE in XML.
//!
//! Source: the manuals of GeNIe and SMILE. In tables the node varies fastest, then its last parent
//! (SMILE, *Multidimensional arrays*). A list of resulting states has one state for each
//! configuration of the parents, in the same order. Noisy-MAX and noisy-adder nodes are expanded
//! into tables. Equations and dynamic networks are refused. Titles, comments, positions and colours
//! are in the `genie` extension, which is written back unchanged if no node was left out.
//!
//! Ids consist of letters, digits and underscores and begin with a letter. Names in which other
//! characters occur are escaped: see [`id`].

mod genie;
mod id;
mod read;
mod write;

use crate::format::language::{Features, Language};
use crate::format::xml;

pub(super) static LANGUAGE: Language = Language {
    name: "XDSL",
    extensions: &["xdsl"],
    recognise,
    read: read::read,
    write: Some(write::write),
    features: Features {
        names: true,
        titles: true,
        comments: true,
        positions: true,
        colours: true,
        attributes: true,
    },
};

/// The name of the attribute that holds the extensions as they were read.
const EXTENSIONS: &str = "extensions";
/// The property that holds the index of a node's variable. In the file parents come before their
/// children; if the variables have another order, the property restores it.
const ORDER: &str = "variable_order";

fn recognise(text: &str) -> bool {
    xml::root_name(text).is_some_and(|name| name.eq_ignore_ascii_case("smile"))
}
