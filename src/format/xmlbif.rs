//! XMLBIF, the interchange format in XML, version 0.3.
//!
//! Source: F. G. Cozman, *The Interchange Format for Bayesian Networks*, 1998. The numbers of a
//! `TABLE` are in odometer order over the parents and then the variable, which turns fastest.
//! aGrUM writes the same under the ending `.bifxml`. What is read beyond that: `VALUE` for
//! `OUTCOME` and `PROBABILITY` for `DEFINITION`, as earlier drafts had them, tags in any case, and
//! comments within tables.

use std::collections::HashMap;

use crate::format::language::{Keeps, Language};
use crate::format::nodes::{self, Definition, IfMissing, Node, Number, Role, Word, number};
use crate::format::source::Source;
use crate::format::xml::{self, Element};
use crate::format::{FormatError, Warning};
use crate::network::Network;

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "XMLBIF",
    extensions: &["xml", "bifxml", "xmlbif"],
    recognise,
    read,
    write: None,
    keeps: Keeps { names: true, ..Keeps::NOTHING },
};

/// Whether `text` looks like XMLBIF.
fn recognise(text: &str) -> bool {
    xml::root_name(text).is_some_and(|name| name.eq_ignore_ascii_case("BIF"))
}

/// Reads a network.
fn read(source: Source<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let text = xml::without_half_comments(source.text);
    let source = Source { file: source.file, text: &text };
    let root = xml::parse(source)?;
    let network = if root.is("NETWORK") { Some(&root) } else { root.element("NETWORK") };
    let network = network.filter(|_| root.is("BIF") || root.is("NETWORK")).ok_or_else(|| {
        let message = format!("expected <BIF> with a <NETWORK> in it, found <{}>", root.name);
        source.error(root.at, message)
    })?;
    let mut variables = Vec::new();
    let mut definitions = Vec::new();
    for element in network.elements() {
        if element.is("VARIABLE") {
            variables.push(variable(source, element)?);
        } else if element.is("DEFINITION") || element.is("PROBABILITY") {
            definitions.push(definition(source, element)?);
        }
    }
    let by_name: HashMap<_, _> = variables
        .iter()
        .enumerate()
        .map(|(index, node): (usize, &Node<'_>)| (node.name.text.to_string(), index))
        .collect();
    for definition in definitions {
        let child = &definition.child;
        let &index = by_name.get(child.text.as_ref()).ok_or_else(|| {
            source.error(child.at, format!("there is no variable '{}'", child.text))
        })?;
        define(source, &mut variables[index], definition)?;
    }
    let name = network.element("NAME").map_or_else(String::new, Element::text);
    nodes::network(source, &name, &variables, IfMissing::Refuse)
}

fn word<'t>(element: &Element<'_>) -> Word<'t> {
    Word { text: element.text().into(), at: element.text_at() }
}

fn variable<'t>(source: Source<'t>, element: &Element<'t>) -> Result<Node<'t>, FormatError> {
    let name = element.element("NAME").map(word).filter(|name| !name.text.is_empty());
    let name =
        name.ok_or_else(|| source.error(element.at, "expected a <NAME> in this variable"))?;
    let role = match element.attribute("TYPE") {
        None => Role::Chance,
        Some(kind) => match kind.value.to_ascii_lowercase().as_str() {
            "nature" | "discrete" | "" => Role::Chance,
            "decision" => Role::Decision,
            "utility" => Role::LeftOut("utility"),
            other => {
                let message = format!(
                    "'{}' is of the type '{other}', expected 'nature', 'decision' or 'utility'",
                    name.text
                );
                return Err(source.error(kind.at, message));
            }
        },
    };
    let states = element.elements().filter(|part| part.is("OUTCOME") || part.is("VALUE")).map(word);
    Ok(Node {
        name,
        role,
        states: states.collect(),
        parents: Vec::new(),
        definition: Definition::Missing,
        at: element.at,
    })
}

/// What a `DEFINITION` says, the variable not yet looked up.
struct Found<'t> {
    child: Word<'t>,
    parents: Vec<Word<'t>>,
    table: Option<(Vec<Number>, usize)>,
    at: usize,
}

fn definition<'t>(source: Source<'t>, element: &Element<'t>) -> Result<Found<'t>, FormatError> {
    let mut children = element.elements().filter(|part| part.is("FOR"));
    let child = children
        .next()
        .ok_or_else(|| source.error(element.at, "expected a <FOR> in this definition"))?;
    if let Some(second) = children.next() {
        let message = format!(
            "the definition of '{}' is for '{}' too, expected one variable",
            child.text(),
            second.text()
        );
        return Err(source.error(second.at, message));
    }
    let parents = element.elements().filter(|part| part.is("GIVEN")).map(word).collect();
    let table = match element.element("TABLE") {
        None => None,
        Some(table) => Some((numbers(source, table)?, table.at)),
    };
    Ok(Found { child: word(child), parents, table, at: element.at })
}

/// The numbers in an element, with or without commas between them.
pub(super) fn numbers(
    source: Source<'_>,
    element: &Element<'_>,
) -> Result<Vec<Number>, FormatError> {
    let mut numbers = Vec::new();
    for (words, at) in element.words() {
        let mut at = at;
        for word in words.split(',') {
            match number(word) {
                Some(value) => numbers.push(Number { value, at }),
                None if word.is_empty() => {}
                None => {
                    let message = format!("expected a number, found '{word}'");
                    return Err(source.error(at, message));
                }
            }
            at += word.len() + 1;
        }
    }
    if let Some(inner) = element.elements().next() {
        let message = format!("expected a number, found <{}>", inner.name);
        return Err(source.error(inner.at, message));
    }
    Ok(numbers)
}

fn define<'t>(
    source: Source<'_>,
    node: &mut Node<'t>,
    found: Found<'t>,
) -> Result<(), FormatError> {
    if !matches!(node.definition, Definition::Missing) {
        let (name, line) = (&found.child.text, source.line(node.at));
        let message = format!("a second definition of '{name}'; line {line} has one");
        return Err(source.error(found.at, message));
    }
    node.parents = found.parents;
    node.at = found.at;
    if let Some((numbers, at)) = found.table {
        (node.definition, node.at) = (Definition::Table(numbers), at);
    }
    Ok(())
}
