//! XMLBIF, the interchange format in XML, version 0.3.
//!
//! Source: F. G. Cozman, *The Interchange Format for Bayesian Networks*, 1998. The numbers of a
//! `TABLE` are in odometer order over the parents and then the variable, which turns fastest.
//! aGrUM writes the same under the ending `.bifxml`. What is read beyond that: `VALUE` for
//! `OUTCOME` and `PROBABILITY` for `DEFINITION`, as earlier drafts had them, tags in any case, and
//! comments within tables.
//!
//! Of the properties, which are free text, `position = (x, y)`, `title = ...` and
//! `description = ...` are understood; the others are kept.

mod read;
mod write;

use crate::format::language::{Features, Language};
use crate::format::xml;

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "XMLBIF",
    extensions: &["xml", "bifxml", "xmlbif"],
    recognise,
    read: read::read,
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

/// What attributes are called that stand for properties: of the network or a variable, and of a
/// table.
const PROPERTY: &str = "PROPERTY";
const TABLE_PROPERTY: &str = "DEFINITION PROPERTY";

fn recognise(text: &str) -> bool {
    xml::root_name(text).is_some_and(|name| name.eq_ignore_ascii_case("BIF"))
}
