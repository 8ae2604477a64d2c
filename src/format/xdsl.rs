//! XDSL, the format of GeNIe and SMILE in XML.
//!
//! Source: the manuals of GeNIe and SMILE. Tables and lists of resulting states are in odometer
//! order over the parents and then the node, which turns fastest. Noisy-MAX and noisy-adder nodes
//! are expanded. Equations and networks over time are not tables, and are refused.

use crate::format::language::{Keeps, Language};
use crate::format::nodes::{self, Definition, IfMissing, Labels, Node, Number, Role, Word};
use crate::format::source::Source;
use crate::format::xml::{self, Element};
use crate::format::xmlbif::numbers;
use crate::format::{FormatError, Warning};
use crate::network::Network;

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "XDSL",
    extensions: &["xdsl"],
    recognise,
    read,
    write: None,
    keeps: Keeps { names: true, ..Keeps::NOTHING },
};

/// Whether `text` looks like XDSL.
fn recognise(text: &str) -> bool {
    xml::root_name(text).is_some_and(|name| name.eq_ignore_ascii_case("smile"))
}

/// Reads a network.
fn read(source: Source<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let root = xml::parse(source)?;
    if !root.is("smile") {
        let message = format!("expected <smile>, found <{}>", root.name);
        return Err(source.error(root.at, message));
    }
    if let Some(dynamic) = root.element("dynamic").and_then(|part| part.elements().next()) {
        let message = "the network changes over time, expected one without <dynamic> definitions";
        return Err(source.error(dynamic.at, message));
    }
    let list = root
        .element("nodes")
        .ok_or_else(|| source.error(root.at, "expected <nodes> in <smile>"))?;
    let mut found = Vec::new();
    for element in list.elements() {
        found.push(node(source, element)?);
    }
    let name = root.attribute("id").map_or("", |id| id.value.as_ref());
    nodes::network(source, name, &found, IfMissing::Refuse)
}

fn node<'t>(source: Source<'t>, element: &Element<'t>) -> Result<Node<'t>, FormatError> {
    let kind = element.name.to_ascii_lowercase();
    let name = element
        .attribute("id")
        .ok_or_else(|| source.error(element.at, format!("expected id=\"...\" in this <{kind}>")))?;
    let name = Word { text: name.value.to_string().into(), at: name.at };
    let mut states = Vec::new();
    for state in element.elements().filter(|part| part.is("state")) {
        let id = state
            .attribute("id")
            .ok_or_else(|| source.error(state.at, "expected id=\"...\" in this <state>"))?;
        states.push(Word { text: id.value.to_string().into(), at: id.at });
    }
    let role = match kind.as_str() {
        "decision" => Role::Decision,
        "utility" => Role::LeftOut("utility"),
        "mau" => Role::LeftOut("utility"),
        _ => Role::Chance,
    };
    let (definition, at) = match kind.as_str() {
        "decision" | "utility" | "mau" => (Definition::Missing, element.at),
        "cpt" => {
            let (numbers, at) = part(source, element, "probabilities", &name)?;
            (Definition::Table(numbers), at)
        }
        "deterministic" | "truthtable" => {
            let list = required(source, element, "resultingstates", &name)?;
            (Definition::Function(outcomes(source, list, &name, &states)?), list.at)
        }
        "noisymax" => {
            let (columns, at) = part(source, element, "parameters", &name)?;
            let strengths = optional(source, element, "strengths")?;
            (Definition::NoisyMax { strengths, columns }, at)
        }
        "noisyadder" => {
            let (columns, at) = part(source, element, "parameters", &name)?;
            let weights = optional(source, element, "weights")?;
            (Definition::NoisyAdder { weights, columns }, at)
        }
        "equation" => {
            let message = format!(
                "'{}' is continuous: it is given by an equation, expected a table",
                name.text
            );
            return Err(source.error(element.at, message));
        }
        other => {
            let message = format!(
                "'{}' is a <{other}> node, expected 'cpt', 'deterministic', 'noisymax', \
                 'noisyadder', 'decision', 'utility' or 'mau'",
                name.text
            );
            return Err(source.error(element.at, message));
        }
    };
    let parents = element.element("parents").map_or_else(Vec::new, |list| {
        list.words().map(|(word, at)| Word { text: word.to_owned().into(), at }).collect()
    });
    Ok(Node { name, role, states, parents, definition, at })
}

fn required<'e, 't>(
    source: Source<'_>,
    element: &'e Element<'t>,
    part: &str,
    name: &Word<'_>,
) -> Result<&'e Element<'t>, FormatError> {
    element.element(part).ok_or_else(|| {
        source.error(element.at, format!("expected <{part}> in the node '{}'", name.text))
    })
}

fn part(
    source: Source<'_>,
    element: &Element<'_>,
    part: &str,
    name: &Word<'_>,
) -> Result<(Vec<Number>, usize), FormatError> {
    let list = required(source, element, part, name)?;
    Ok((numbers(source, list)?, list.at))
}

fn optional(
    source: Source<'_>,
    element: &Element<'_>,
    part: &str,
) -> Result<Vec<Number>, FormatError> {
    element.element(part).map_or_else(|| Ok(Vec::new()), |list| numbers(source, list))
}

/// The positions of the states that a list of labels names.
fn outcomes(
    source: Source<'_>,
    list: &Element<'_>,
    name: &Word<'_>,
    states: &[Word<'_>],
) -> Result<Vec<(Option<usize>, usize)>, FormatError> {
    let labels = Labels::new(&name.text, states);
    list.words()
        .map(|(word, at)| match labels.get(word) {
            Some(state) => Ok((Some(state), at)),
            None => Err(labels.unknown(source, word, at)),
        })
        .collect()
}
