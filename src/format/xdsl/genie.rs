//! The `genie` extension: titles, comments, positions and colours.

use std::collections::HashMap;

use super::id::Ids;
use super::{EXTENSIONS, LANGUAGE};
use crate::format::nodes::{Node, Role, number};
use crate::format::source::SourceText;
use crate::format::xml::Element;
use crate::network::{Annotation, Attribute};

/// Adds the content of the `genie` extension in `root` to `note`, the annotation of the network,
/// and to the annotations of `nodes`. Also adds the text of all extensions to `note`, if no node
/// was left out.
pub(super) fn annotate(
    source: SourceText<'_>,
    root: &Element<'_>,
    ids: Ids,
    note: &mut Annotation,
    nodes: &mut [Node<'_>],
) {
    let Some(extensions) = root.element("extensions") else { return };
    // If nodes were left out, the extension would describe nodes that the network does not have.
    if nodes.iter().all(|node| !matches!(node.role, Role::LeftOut(_))) {
        let inside = extensions.content.first().map(|first| first.offset()).zip(
            source.text[extensions.offset..extensions.end]
                .rfind("</")
                .map(|end| extensions.offset + end),
        );
        if let Some((from, to)) = inside {
            let from = source.text[..from].strip_suffix("<![CDATA[").map_or(from, str::len);
            note.attributes.push(Attribute {
                format: LANGUAGE.name,
                name: EXTENSIONS.to_owned(),
                value: source.text[from..to].to_owned(),
            });
        }
    }
    let Some(genie) = extensions.element("genie") else { return };
    note.comment = text(genie, "comment");
    note.title = genie.attribute("name").map(|name| name.value.to_string());
    let by_name: HashMap<String, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.name.text.to_string(), index)).collect();
    let mut open = vec![genie];
    while let Some(model) = open.pop() {
        for element in model.elements() {
            if element.is("submodel") {
                open.push(element);
            } else if element.is("node")
                && let Some(id) = element.attribute("id")
                && let Some(&index) = by_name.get(&ids.decode(&id.value))
            {
                let node = &mut nodes[index];
                describe(&mut node.note, element);
                node.note.title.take_if(|title| *title == node.name.text);
            }
        }
    }
}

/// Fills `note` from `element`, which describes a node.
fn describe(note: &mut Annotation, element: &Element<'_>) {
    note.title = text(element, "name");
    note.comment = text(element, "comment");
    let interior = element.element("interior").and_then(|interior| interior.attribute("color"));
    note.colour = interior.and_then(|colour| self::colour(&colour.value));
    note.position = element.element("position").and_then(position);
}

/// The text of the child element called `part`; `None` if it is missing or empty.
fn text(element: &Element<'_>, part: &str) -> Option<String> {
    element.element(part).map(Element::text).filter(|text| !text.is_empty())
}

/// Parses `rrggbb`.
fn colour(text: &str) -> Option<[u8; 3]> {
    let value = u32::from_str_radix(text, 16).ok().filter(|_| text.len() == 6)?;
    let [_, red, green, blue] = value.to_be_bytes();
    Some([red, green, blue])
}

/// The centre of a rectangle given as `left top right bottom`.
fn position(element: &Element<'_>) -> Option<[f64; 2]> {
    let edges: Vec<f64> = element.words().map(|(word, _)| number(word)).collect::<Option<_>>()?;
    let &[left, top, right, bottom] = edges.as_slice() else { return None };
    let centre = [f64::midpoint(left, right), f64::midpoint(top, bottom)];
    centre.iter().all(|coordinate| coordinate.is_finite()).then_some(centre)
}
