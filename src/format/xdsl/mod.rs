//! XDSL, the format of GeNIe and SMILE in XML.
//!
//! Source: the manuals of GeNIe and SMILE. Tables and lists of resulting states are in odometer
//! order over the parents and then the node, which turns fastest (SMILE, *Multidimensional
//! arrays*). Noisy-MAX and noisy-adder nodes are expanded. Equations and networks over time are not
//! tables, and are refused. Titles, remarks, places and colours are those of the `genie` extension,
//! which is written again as it was where the network still has all its nodes.
//!
//! Ids are made of letters, digits and underscores and begin with a letter. A character that does
//! not fit is written as `u_HEX_`, which is read as that character again.

mod genie;
mod id;
mod read;
mod write;

use crate::format::language::{Features, Language};
use crate::format::xml;

/// What is known of the format.
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

/// What the attribute is called that holds the extensions as they were.
const EXTENSIONS: &str = "extensions";
/// The property that gives a node's place among the variables, which need not be the order of the
/// file: there, parents come before their children.
const ORDER: &str = "variable_order";

fn recognise(text: &str) -> bool {
    xml::root_name(text).is_some_and(|name| name.eq_ignore_ascii_case("smile"))
}
