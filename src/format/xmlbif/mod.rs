//! XMLBIF, the interchange format in XML, version 0.3.
//!
//! Source: F. G. Cozman, *The Interchange Format for Bayesian Networks*, 1998. In a `TABLE` the
//! variable varies fastest, then its last parent. aGrUM writes the same format with the extension
//! `.bifxml`. Tags may be in any case, tables may contain comments, and `VALUE` and `PROBABILITY`
//! are accepted for `OUTCOME` and `DEFINITION`, as in earlier drafts.
//!
//! Properties are free text. `position = (x, y)`, `title = ...` and `description = ...` are
//! understood; all others are kept word for word.

mod read;
mod write;

use crate::format::language::{Features, Language};
use crate::format::xml;

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

/// The attribute name for a property of the network or of a variable.
const PROPERTY: &str = "PROPERTY";
/// The attribute name for a property of a table.
const TABLE_PROPERTY: &str = "DEFINITION PROPERTY";

fn recognise(text: &str) -> bool {
    xml::root_name(text).is_some_and(|name| name.eq_ignore_ascii_case("BIF"))
}
