//! The properties of a BIF file as annotations.

use super::LANGUAGE;
use crate::format::nodes::number;
use crate::network::{Annotation, Attribute};

/// The attribute name for a property of the network or of a variable.
pub(super) const PROPERTY: &str = "property";

/// The attribute name for a property of a probability block.
pub(super) const TABLE_PROPERTY: &str = "property of the table";

/// Adds a `property` of a variable to its `annotation`, as a position or as an attribute.
pub(super) fn annotate(annotation: &mut Annotation, property: &str) {
    match position(property) {
        Some(position) => annotation.position = Some(position),
        None => annotation.attributes.push(attribute(PROPERTY, property)),
    }
}

/// The attribute called `name` for `property`.
pub(super) fn attribute(name: &str, property: &str) -> Attribute {
    Attribute { format: LANGUAGE.name, name: name.to_owned(), value: property.to_owned() }
}

/// The position in `position = (x, y)`, with or without quotes around it.
fn position(property: &str) -> Option<[f64; 2]> {
    let plain = property.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let rest = plain.unwrap_or(property).trim().strip_prefix("position")?.trim_start();
    let inner = rest.strip_prefix('=')?.trim().strip_prefix('(')?.strip_suffix(')')?;
    let (x, y) = inner.split_once(',')?;
    let position = [number(x.trim())?, number(y.trim())?];
    position.iter().all(|coordinate| coordinate.is_finite()).then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_distinguished_from_other_properties() {
        assert_eq!(position("\"position = (71.5, -3)\""), Some([71.5, -3.0]));
        assert_eq!(position("position=(1,2)"), Some([1.0, 2.0]));
        assert_eq!(position("position = (1)"), None);
        assert_eq!(position("positions = (1, 2)"), None);
        assert_eq!(position("\"observed x\""), None);
    }
}
