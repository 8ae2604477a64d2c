//! Writes XDSL.

use std::fmt::Write as _;

use super::id::{COMMENT, Ids};
use super::{EXTENSIONS, LANGUAGE, ORDER};
use crate::format::write::push_numbers;
use crate::format::xml::{self, escape};
use crate::format::{Format, WriteError};
use crate::network::{Annotation, Network, VariableId};

/// Half the width and half the height of a node in GeNIe's coordinates. They affect only how GeNIe
/// draws the node: our reader uses only the centre.
const HALF_SIZE: [f64; 2] = [38.0, 18.0];

/// The content of an XDSL file with `network`. Every name and label can be written as an id: see
/// [`Ids`].
///
/// # Errors
/// If XML cannot represent a title, a comment, an attribute, or a name that is written in place of
/// a missing title.
pub(super) fn write(network: &Network) -> Result<String, WriteError> {
    let ids = Ids::of_network(network);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if ids.are_escaped {
        put(&mut text, format_args!("{COMMENT}\n"));
    }
    text.push_str("<smile version=\"1.0\"");
    attribute(&mut text, "id", &ids.encode(network.name()))?;
    let own = &network.annotations().network;
    if !own.attributes_of(LANGUAGE.name).any(|attribute| attribute.name == "@numsamples") {
        text.push_str(" numsamples=\"1000\"");
    }
    attributes(&mut text, own)?;
    text.push_str(">\n\t<nodes>\n");
    let order = network.topological_order();
    let reordered = order != network.ids().collect::<Vec<_>>();
    for variable in order {
        node(&mut text, network, ids, variable, reordered)?;
    }
    text.push_str("\t</nodes>\n\t<extensions>");
    let as_read = own.attributes_of(LANGUAGE.name).find(|attribute| attribute.name == EXTENSIONS);
    match as_read {
        Some(extensions) => text.push_str(&extensions.value),
        None => genie(&mut text, network, ids)?,
    }
    text.push_str("</extensions>\n</smile>\n");
    Ok(text)
}

/// Writes the node of `variable`. `reordered` says whether the order of the nodes differs from the
/// order of the variables.
fn node(
    text: &mut String,
    network: &Network,
    ids: Ids,
    variable: VariableId,
    reordered: bool,
) -> Result<(), WriteError> {
    let annotation = network.annotations().of(variable);
    text.push_str("\t\t<cpt");
    attribute(text, "id", &ids.encode(network[variable].name()))?;
    attributes(text, annotation)?;
    text.push_str(">\n");
    for state in network[variable].states() {
        text.push_str("\t\t\t<state");
        attribute(text, "id", &ids.encode(state))?;
        text.push_str(" />\n");
    }
    let cpt = network.cpt(variable);
    if !cpt.parents().is_empty() {
        let parents: Vec<_> =
            cpt.parents().iter().map(|&parent| ids.encode(network[parent].name())).collect();
        element(text, "\t\t\t", "parents", &parents.join(" "))?;
    }
    text.push_str("\t\t\t<probabilities>");
    push_numbers(text, cpt.values(), " ");
    text.push_str("</probabilities>\n");
    for property in annotation.attributes_of(LANGUAGE.name) {
        if !property.name.starts_with('@') {
            text.push_str("\t\t\t<property");
            attribute(text, "id", &property.name)?;
            put(text, format_args!(">{}</property>\n", escaped(&property.value)?));
        }
    }
    if reordered {
        put(text, format_args!("\t\t\t<property id=\"{ORDER}\">{}</property>\n", variable.index()));
    }
    text.push_str("\t\t</cpt>\n");
    Ok(())
}

/// Writes the extension from which GeNIe reads titles, comments, positions and colours.
fn genie(text: &mut String, network: &Network, ids: Ids) -> Result<(), WriteError> {
    text.push_str("\n\t\t<genie version=\"1.0\" app=\"Cliquescope\"");
    let own = &network.annotations().network;
    attribute(text, "name", own.title.as_deref().unwrap_or(network.name()))?;
    text.push_str(">\n");
    if let Some(comment) = &own.comment {
        element(text, "\t\t\t", "comment", comment)?;
    }
    for variable in network.ids() {
        let Annotation { title, comment, position, colour, .. } =
            network.annotations().of(variable);
        text.push_str("\t\t\t<node");
        attribute(text, "id", &ids.encode(network[variable].name()))?;
        text.push_str(">\n");
        element(text, "\t\t\t\t", "name", title.as_deref().unwrap_or(network[variable].name()))?;
        // The fill of a node whose colour the network does not state.
        let [red, green, blue] = colour.unwrap_or([0xe5, 0xf6, 0xf7]);
        if colour.is_some() || position.is_some() {
            put(
                text,
                format_args!("\t\t\t\t<interior color=\"{red:02x}{green:02x}{blue:02x}\" />\n"),
            );
            text.push_str("\t\t\t\t<outline color=\"000080\" />\n");
            text.push_str("\t\t\t\t<font color=\"000000\" name=\"Arial\" size=\"8\" />\n");
        }
        if let Some([x, y]) = position {
            let [left, top] = [x.floor() - HALF_SIZE[0], y.floor() - HALF_SIZE[1]];
            let [right, bottom] = [2.0 * x - left, 2.0 * y - top];
            put(text, format_args!("\t\t\t\t<position>{left} {top} {right} {bottom}</position>\n"));
        }
        if let Some(comment) = comment {
            element(text, "\t\t\t\t", "comment", comment)?;
        }
        text.push_str("\t\t\t</node>\n");
    }
    text.push_str("\t\t</genie>\n\t");
    Ok(())
}

/// Writes the XML attributes in `annotation`: those whose names begin with `@`.
fn attributes(text: &mut String, annotation: &Annotation) -> Result<(), WriteError> {
    for own in annotation.attributes_of(LANGUAGE.name) {
        if let Some(name) = own.name.strip_prefix('@') {
            attribute(text, name, &own.value)?;
        }
    }
    Ok(())
}

/// Writes an XML attribute.
fn attribute(text: &mut String, name: &str, value: &str) -> Result<(), WriteError> {
    put(text, format_args!(" {name}=\"{}\"", escaped(value)?));
    Ok(())
}

/// Writes an element that holds text, on a line of its own.
fn element(text: &mut String, indent: &str, tag: &str, content: &str) -> Result<(), WriteError> {
    put(text, format_args!("{indent}<{tag}>{}</{tag}>\n", escaped(content)?));
    Ok(())
}

/// `content` with XML entities in place of special characters.
///
/// # Errors
/// If `content` has characters that XML cannot represent.
fn escaped(content: &str) -> Result<String, WriteError> {
    if xml::can_hold(content) {
        return Ok(escape(content));
    }
    let reason = xml::CANNOT_HOLD;
    Err(WriteError::UnwritableText { format: Format::Xdsl, text: content.to_owned(), reason })
}

/// Appends formatted text.
fn put(text: &mut String, content: std::fmt::Arguments<'_>) {
    text.write_fmt(content).expect("writing to a string cannot fail");
}
