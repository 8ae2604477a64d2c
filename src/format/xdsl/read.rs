//! Reads XDSL.

use super::genie;
use super::id::Ids;
use super::{LANGUAGE, ORDER};
use crate::format::nodes::{self, Definition, IfMissing, Labels, Node, Number, Role, Word};
use crate::format::source::SourceText;
use crate::format::xml::{self, Element, numbers};
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Attribute, Network};

/// Reads a network.
///
/// # Errors
/// The first mistake in the file.
pub(super) fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let root = xml::parse(source)?;
    if !root.is("smile") {
        let message = format!("expected <smile>, found <{}>", root.name);
        return Err(source.error(root.offset, message));
    }
    if let Some(dynamic) = root.element("dynamic").and_then(|part| part.elements().next()) {
        let message = "this is a dynamic network, expected one without <dynamic> definitions";
        return Err(source.error(dynamic.offset, message));
    }
    let list = root
        .element("nodes")
        .ok_or_else(|| source.error(root.offset, "expected <nodes> in <smile>"))?;
    let ids = Ids::of_file(&source.text[..root.offset]);
    let mut found = Vec::new();
    for element in list.elements() {
        found.push(node(source, element, ids)?);
    }
    restore_order(&mut found);
    let name = root.attribute("id").map_or_else(String::new, |id| ids.decode(&id.value));
    let mut note = attributes(&root, &["id", "version"]);
    genie::annotate(source, &root, ids, &mut note, &mut found);
    note.title.take_if(|title| *title == name);
    nodes::network(source, &name, note, &found, IfMissing::Refuse)
}

/// The node that `element` describes.
fn node<'t>(
    source: SourceText<'t>,
    element: &Element<'t>,
    ids: Ids,
) -> Result<Node<'t>, FormatError> {
    let kind = element.name.to_ascii_lowercase();
    let name = element.attribute("id").ok_or_else(|| {
        source.error(element.offset, format!("expected id=\"...\" in this <{kind}>"))
    })?;
    let name = Word { text: ids.decode(&name.value).into(), offset: name.offset };
    let mut states = Vec::new();
    for state in element.elements().filter(|part| part.is("state")) {
        let id = state
            .attribute("id")
            .ok_or_else(|| source.error(state.offset, "expected id=\"...\" in this <state>"))?;
        states.push(Word { text: ids.decode(&id.value).into(), offset: id.offset });
    }
    let role = match kind.as_str() {
        "decision" => Role::Decision,
        "utility" | "mau" => Role::LeftOut("utility"),
        _ => Role::Chance,
    };
    let (definition, offset) = definition(source, element, &kind, ids, &name, &states)?;
    let parents = element.element("parents").map_or_else(Vec::new, |list| {
        list.words().map(|(word, offset)| Word { text: ids.decode(word).into(), offset }).collect()
    });
    let mut note = attributes(element, &["id"]);
    for property in element.elements().filter(|part| part.is("property")) {
        if let Some(id) = property.attribute("id") {
            let (name, value) = (id.value.to_string(), property.text());
            note.attributes.push(Attribute { format: LANGUAGE.name, name, value });
        }
    }
    Ok(Node { name, role, states, parents, definition, offset, note })
}

/// The definition in `element`, the node called `name` of this `kind`, and its byte offset.
fn definition(
    source: SourceText<'_>,
    element: &Element<'_>,
    kind: &str,
    ids: Ids,
    name: &Word<'_>,
    states: &[Word<'_>],
) -> Result<(Definition<'static>, usize), FormatError> {
    match kind {
        "decision" | "utility" | "mau" => Ok((Definition::Missing, element.offset)),
        "cpt" => {
            let (numbers, offset) = required_numbers(source, element, "probabilities", name)?;
            Ok((Definition::Table(numbers), offset))
        }
        "deterministic" | "truthtable" => {
            let list = required(source, element, "resultingstates", name)?;
            Ok((Definition::Function(outcomes(source, list, ids, name, states)?), list.offset))
        }
        "noisymax" => {
            let (columns, offset) = required_numbers(source, element, "parameters", name)?;
            let strengths = optional_numbers(source, element, "strengths")?;
            Ok((Definition::NoisyMax { strengths, columns }, offset))
        }
        "noisyadder" => {
            let (columns, offset) = required_numbers(source, element, "parameters", name)?;
            let weights = optional_numbers(source, element, "weights")?;
            Ok((Definition::NoisyAdder { weights, columns }, offset))
        }
        "equation" => {
            let message = format!(
                "'{}' is continuous (it is given by an equation), expected a table",
                name.text
            );
            Err(source.error(element.offset, message))
        }
        other => {
            let message = format!(
                "'{}' is a <{other}> node, expected 'cpt', 'deterministic', 'noisymax', \
                 'noisyadder', 'decision', 'utility' or 'mau'",
                name.text
            );
            Err(source.error(element.offset, message))
        }
    }
}

/// The attributes of an element except the `known` ones, with `@` prefixed to their names.
fn attributes(element: &Element<'_>, known: &[&str]) -> Annotation {
    let others = element.attributes.iter().filter(|attribute| !known.contains(&attribute.name));
    let attributes = others.map(|attribute| Attribute {
        format: LANGUAGE.name,
        name: format!("@{}", attribute.name),
        value: attribute.value.to_string(),
    });
    Annotation { attributes: attributes.collect(), ..Annotation::default() }
}

/// Sorts the nodes by the property [`ORDER`] if all of them have it, and removes the property.
fn restore_order(nodes: &mut [Node<'_>]) {
    let index = |node: &Node<'_>| -> Option<usize> {
        let order = node.note.attributes.iter().find(|attribute| attribute.name == ORDER)?;
        order.value.parse().ok()
    };
    if nodes.iter().all(|node| index(node).is_some()) {
        nodes.sort_by_key(index);
    }
    for node in nodes {
        node.note.attributes.retain(|attribute| attribute.name != ORDER);
    }
}

/// The child element called `part` of `element`, the node called `name`.
fn required<'e, 't>(
    source: SourceText<'_>,
    element: &'e Element<'t>,
    part: &str,
    name: &Word<'_>,
) -> Result<&'e Element<'t>, FormatError> {
    element.element(part).ok_or_else(|| {
        source.error(element.offset, format!("expected <{part}> in the node '{}'", name.text))
    })
}

fn required_numbers(
    source: SourceText<'_>,
    element: &Element<'_>,
    part: &str,
    name: &Word<'_>,
) -> Result<(Vec<Number>, usize), FormatError> {
    let list = required(source, element, part, name)?;
    Ok((numbers(source, list)?, list.offset))
}

fn optional_numbers(
    source: SourceText<'_>,
    element: &Element<'_>,
    part: &str,
) -> Result<Vec<Number>, FormatError> {
    element.element(part).map_or_else(|| Ok(Vec::new()), |list| numbers(source, list))
}

/// The states in a list of labels, each with its byte offset.
fn outcomes(
    source: SourceText<'_>,
    list: &Element<'_>,
    ids: Ids,
    name: &Word<'_>,
    states: &[Word<'_>],
) -> Result<Vec<(Option<usize>, usize)>, FormatError> {
    let labels = Labels::new(&name.text, states);
    list.words()
        .map(|(word, offset)| match labels.get(&ids.decode(word)) {
            Some(state) => Ok((Some(state), offset)),
            None => Err(labels.unknown(source, word, offset)),
        })
        .collect()
}
