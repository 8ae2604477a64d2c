//! Writes BIF.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::properties::{PROPERTY, TABLE_PROPERTY};
use super::{DIALECT, LANGUAGE};
use crate::format::write::push_numbers;
use crate::format::{Format, WriteError};
use crate::network::{Annotation, Cpt, Network};

/// The content of a BIF file with `network`.
///
/// # Errors
/// If a name or label contains a double quote.
pub(super) fn write(network: &Network) -> Result<String, WriteError> {
    let mut text = String::from("network ");
    if !network.name().is_empty() {
        let _ = write!(text, "{} ", quoted(network.name())?);
    }
    text.push_str("{\n");
    let annotations = network.annotations();
    properties(&mut text, &annotations.network, PROPERTY);
    text.push_str("}\n");
    for (id, variable) in network.ids().zip(network.variables()) {
        let states: Vec<_> =
            variable.states().iter().map(|state| quoted(state)).collect::<Result<_, _>>()?;
        let _ = write!(
            text,
            "variable {} {{\n  type discrete [ {} ] {{ {} }};\n",
            quoted(variable.name())?,
            states.len(),
            states.join(", ")
        );
        if let Some([x, y]) = annotations.of(id).position {
            let _ = writeln!(text, "  property \"position = ({x}, {y})\" ;");
        }
        properties(&mut text, annotations.of(id), PROPERTY);
        text.push_str("}\n");
    }
    for cpt in network.cpts() {
        probability(&mut text, network, cpt)?;
    }
    Ok(text)
}

/// Writes the BIF attributes called `kind` of `annotation` as properties.
fn properties(text: &mut String, annotation: &Annotation, kind: &str) {
    for property in annotation.attributes_of(LANGUAGE.name).filter(|field| field.name == kind) {
        let _ = writeln!(text, "  property {} ;", property.value);
    }
}

/// Appends the block of the table `cpt`.
fn probability(text: &mut String, network: &Network, cpt: &Cpt) -> Result<(), WriteError> {
    let child = &network[cpt.child()];
    let _ = write!(text, "probability ( {}", quoted(child.name())?);
    for (index, &parent) in cpt.parents().iter().enumerate() {
        let before = if index == 0 { " |" } else { "," };
        let _ = write!(text, "{before} {}", quoted(network[parent].name())?);
    }
    text.push_str(" ) {\n");
    properties(text, network.annotations().of(cpt.child()), TABLE_PROPERTY);
    for (row, values) in cpt.values().chunks(child.cardinality()).enumerate() {
        if cpt.parents().is_empty() {
            text.push_str("  table ");
        } else {
            let mut labels = Vec::with_capacity(cpt.parents().len());
            let mut row = row;
            for &parent in cpt.parents().iter().rev() {
                let states = network[parent].states();
                labels.push(quoted(&states[row % states.len()])?);
                row /= states.len();
            }
            labels.reverse();
            let _ = write!(text, "  ({}) ", labels.join(", "));
        }
        push_numbers(text, values, ", ");
        text.push_str(";\n");
    }
    text.push_str("}\n");
    Ok(())
}

/// `name` as a word if it is one, else in double quotes.
fn quoted(name: &str) -> Result<Cow<'_, str>, WriteError> {
    if DIALECT.is_word(name) {
        Ok(Cow::Borrowed(name))
    } else if name.contains('"') {
        let reason = "a name cannot contain a double quote";
        Err(WriteError::UnwritableText { format: Format::Bif, text: name.to_owned(), reason })
    } else {
        Ok(Cow::Owned(format!("\"{name}\"")))
    }
}
