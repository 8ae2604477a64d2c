//! Reads XMLBIF.

use super::{LANGUAGE, PROPERTY, TABLE_PROPERTY};
use crate::format::nodes::{self, Definition, Distribution, IfMissing, Node, Role, Word, number};
use crate::format::source::SourceText;
use crate::format::xml::{self, Element};
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Attribute, Network};

/// Reads a network.
///
/// # Errors
/// The first mistake in the file.
pub(super) fn read(source: SourceText<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let text = xml::without_malformed_comments(source.text);
    let source = SourceText { file: source.file, text: &text };
    let root = xml::parse(source)?;
    if !root.is("BIF") {
        let message = format!("expected <BIF>, found <{}>", root.name);
        return Err(source.error(root.offset, message));
    }
    let network = root
        .element("NETWORK")
        .ok_or_else(|| source.error(root.offset, "expected <NETWORK> in <BIF>"))?;
    let mut variables = Vec::new();
    let mut definitions = Vec::new();
    for element in network.elements() {
        if element.is("VARIABLE") {
            variables.push(variable(source, element)?);
        } else if element.is("DEFINITION") || element.is("PROBABILITY") {
            definitions.push(definition(source, element)?);
        }
    }
    nodes::assign(source, &mut variables, definitions)?;
    let name = network.element("NAME").map_or_else(String::new, Element::text);
    let mut note = Annotation::default();
    annotate(&mut note, network, PROPERTY);
    nodes::network(source, &name, note, &variables, IfMissing::Refuse)
}

/// The text of an element, and its place.
fn word<'t>(element: &Element<'_>) -> Word<'t> {
    Word { text: element.text().into(), offset: element.text_at() }
}

/// The node that the `<VARIABLE>` element describes, without its table.
fn variable<'t>(source: SourceText<'t>, element: &Element<'t>) -> Result<Node<'t>, FormatError> {
    let name = element.element("NAME").map(word).filter(|name| !name.text.is_empty());
    let name =
        name.ok_or_else(|| source.error(element.offset, "expected <NAME> in this variable"))?;
    let role = match element.attribute("TYPE") {
        None => Role::Chance,
        Some(kind) => match kind.value.to_ascii_lowercase().as_str() {
            "nature" | "discrete" | "" => Role::Chance,
            "decision" => Role::Decision,
            "utility" => Role::LeftOut("utility"),
            other => {
                let message = format!(
                    "'{}' has the type '{other}', expected 'nature', 'decision' or 'utility'",
                    name.text
                );
                return Err(source.error(kind.offset, message));
            }
        },
    };
    let states = element.elements().filter(|part| part.is("OUTCOME") || part.is("VALUE")).map(word);
    let mut note = Annotation::default();
    annotate(&mut note, element, PROPERTY);
    Ok(Node {
        name,
        role,
        states: states.collect(),
        parents: Vec::new(),
        definition: Definition::Missing,
        offset: element.offset,
        note,
    })
}

/// The table that the `<DEFINITION>` element describes.
fn definition<'t>(
    source: SourceText<'t>,
    element: &Element<'t>,
) -> Result<Distribution<'t>, FormatError> {
    let mut children = element.elements().filter(|part| part.is("FOR"));
    let child = children
        .next()
        .ok_or_else(|| source.error(element.offset, "expected <FOR> in this definition"))?;
    if let Some(second) = children.next() {
        let message = format!(
            "the definition of '{}' is also for '{}', expected one variable",
            child.text(),
            second.text()
        );
        return Err(source.error(second.offset, message));
    }
    let parents = element.elements().filter(|part| part.is("GIVEN")).map(word).collect();
    let (definition, offset) = match element.element("TABLE") {
        None => (Definition::Missing, element.offset),
        Some(table) => (Definition::Table(xml::numbers(source, table)?), table.offset),
    };
    let mut note = Annotation::default();
    annotate(&mut note, element, TABLE_PROPERTY);
    Ok(Distribution {
        child: word(child),
        parents,
        definition,
        block_at: element.offset,
        offset,
        note,
    })
}

/// Adds the properties in `element` to `note`. A property that is not understood becomes an
/// attribute called `name`.
fn annotate(note: &mut Annotation, element: &Element<'_>, name: &str) {
    for property in element.elements().filter(|part| part.is("PROPERTY")) {
        let value = property.text();
        let (key, rest) = value.split_once('=').unwrap_or(("", ""));
        match (name, key.trim()) {
            (PROPERTY, "position") if let Some(position) = position(rest) => {
                note.position = Some(position);
            }
            (PROPERTY, "title") => note.title = Some(rest.trim().to_owned()),
            (PROPERTY, "description") => note.comment = Some(rest.trim().to_owned()),
            _ if value.is_empty() => {}
            _ => note.attributes.push(Attribute {
                format: LANGUAGE.name,
                name: name.to_owned(),
                value,
            }),
        }
    }
}

/// Parses `(x, y)`.
fn position(text: &str) -> Option<[f64; 2]> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let (x, y) = inner.split_once(',')?;
    let position = [number(x.trim())?, number(y.trim())?];
    position.iter().all(|coordinate| coordinate.is_finite()).then_some(position)
}
