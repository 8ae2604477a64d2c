//! Writes XMLBIF.

use std::fmt::Write as _;

use super::{LANGUAGE, PROPERTY, TABLE_PROPERTY};
use crate::format::write::push_numbers;
use crate::format::xml::{self, escape};
use crate::format::{Format, WriteError};
use crate::network::{Annotation, Network, VariableId};

/// The content of an XMLBIF file with `network`.
///
/// # Errors
/// If a variable has no name, or a text contains characters that XML cannot represent. Also if a
/// text other than a title or comment begins or ends with white space, which readers of XMLBIF
/// ignore.
pub(super) fn write(network: &Network) -> Result<String, WriteError> {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str("<BIF VERSION=\"0.3\">\n<NETWORK>\n");
    let annotations = network.annotations();
    element(&mut text, "", "NAME", network.name())?;
    properties(&mut text, "", &annotations.network, PROPERTY)?;
    for variable in network.ids() {
        text.push_str("\n<VARIABLE TYPE=\"nature\">\n");
        if network[variable].name().is_empty() {
            return Err(unwritable("", "a name cannot be empty"));
        }
        element(&mut text, "\t", "NAME", network[variable].name())?;
        for state in network[variable].states() {
            element(&mut text, "\t", "OUTCOME", state)?;
        }
        properties(&mut text, "\t", annotations.of(variable), PROPERTY)?;
        text.push_str("</VARIABLE>\n");
    }
    for variable in network.ids() {
        definition(&mut text, network, variable)?;
    }
    text.push_str("\n</NETWORK>\n</BIF>\n");
    Ok(text)
}

/// Writes the table of `variable`.
fn definition(
    text: &mut String,
    network: &Network,
    variable: VariableId,
) -> Result<(), WriteError> {
    text.push_str("\n<DEFINITION>\n");
    element(text, "\t", "FOR", network[variable].name())?;
    let cpt = network.cpt(variable);
    for &parent in cpt.parents() {
        element(text, "\t", "GIVEN", network[parent].name())?;
    }
    text.push_str("\t<TABLE>\n");
    for row in cpt.values().chunks(network[variable].cardinality()) {
        text.push_str("\t\t");
        push_numbers(text, row, " ");
        text.push('\n');
    }
    text.push_str("\t</TABLE>\n");
    let annotation = network.annotations().of(variable);
    for attribute in annotation.attributes_of(LANGUAGE.name) {
        if attribute.name == TABLE_PROPERTY {
            element(text, "\t", PROPERTY, &attribute.value)?;
        }
    }
    text.push_str("</DEFINITION>\n");
    Ok(())
}

/// Writes the position, title and comment of `annotation`, and its attributes called `name`, as
/// properties.
fn properties(
    text: &mut String,
    indent: &str,
    annotation: &Annotation,
    name: &str,
) -> Result<(), WriteError> {
    if let Some([x, y]) = annotation.position {
        element(text, indent, PROPERTY, &format!("position = ({x}, {y})"))?;
    }
    let words = [("title", &annotation.title), ("description", &annotation.comment)];
    for (key, value) in words {
        if let Some(value) = value {
            element(text, indent, PROPERTY, format!("{key} = {value}").trim_end())?;
        }
    }
    for attribute in annotation.attributes_of(LANGUAGE.name) {
        if attribute.name == name {
            element(text, indent, PROPERTY, &attribute.value)?;
        }
    }
    Ok(())
}

/// Writes an element that contains only the text `content`.
fn element(text: &mut String, indent: &str, tag: &str, content: &str) -> Result<(), WriteError> {
    if content.trim() != content {
        return Err(unwritable(content, "it cannot begin or end with white space"));
    }
    if !xml::can_hold(content) {
        return Err(unwritable(content, xml::CANNOT_HOLD));
    }
    writeln!(text, "{indent}<{tag}>{}</{tag}>", escape(content))
        .expect("writing to a string cannot fail");
    Ok(())
}

fn unwritable(text: &str, reason: &'static str) -> WriteError {
    WriteError::UnwritableText { format: Format::XmlBif, text: text.to_owned(), reason }
}
