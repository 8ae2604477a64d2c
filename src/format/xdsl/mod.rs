//! XDSL, the format of GeNIe and SMILE in XML.
//!
//! Source: the manuals of GeNIe and SMILE. In tables and lists of resulting states the node varies
//! fastest, then its last parent (SMILE, *Multidimensional arrays*). Noisy-MAX and noisy-adder
//! nodes are expanded into tables. Equations and dynamic networks are refused. Titles, comments,
//! positions and colours are in the `genie` extension, which is written back unchanged if the
//! network still has all its nodes.
//!
//! Ids consist of letters, digits and underscores and begin with a letter. Any other character is
//! written as `u_HEX_`, which is decoded when read.

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

/// The name of the attribute that keeps the extensions as they were read.
const EXTENSIONS: &str = "extensions";
/// The property that keeps the index of a node among the variables, if these are in another order
/// than the nodes of the file, in which parents come before their children.
const ORDER: &str = "variable_order";

fn recognise(text: &str) -> bool {
    xml::root_name(text).is_some_and(|name| name.eq_ignore_ascii_case("smile"))
}
