//! From a network to a NET file.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::quotes::quote;
use super::states::EMPTY_LABELS;
use super::{LANGUAGE, NAME};
use crate::format::WriteError;
use crate::format::write::push_numbers;
use crate::network::{Annotation, Cpt, Network, VariableId};

/// Words that cannot be names.
const RESERVED: [&str; 13] = [
    "net",
    "class",
    "node",
    "discrete",
    "continuous",
    "decision",
    "utility",
    "function",
    "potential",
    "probability",
    "instance",
    "inputs",
    "outputs",
];

/// Writes `network`.
pub(super) fn write(network: &Network) -> Result<String, WriteError> {
    let names = names(network);
    let mut text = String::new();
    let annotations = network.annotations();
    text.push_str("net\n{\n");
    if !network.name().is_empty() {
        field(&mut text, NAME, &quote(network.name()));
    }
    common(&mut text, &annotations.network);
    text.push_str("}\n");
    for variable in network.ids() {
        let name = &names[variable.index()];
        let _ = write!(text, "\nnode {name}\n{{\n");
        if *name != network[variable].name() {
            field(&mut text, NAME, &quote(network[variable].name()));
        }
        let states = network[variable].states().iter().map(|state| quote(state));
        field(&mut text, "states", &format!("({})", states.collect::<Vec<_>>().join(" ")));
        if network[variable].states().iter().any(String::is_empty) {
            field(&mut text, EMPTY_LABELS, "\"kept\"");
        }
        common(&mut text, annotations.of(variable));
        text.push_str("}\n");
    }
    for cpt in network.cpts() {
        potential(&mut text, network, cpt, &names);
    }
    Ok(text)
}

/// A name of the language for each variable: its own where it is one.
fn names(network: &Network) -> Vec<String> {
    let is_word = |name: &str| {
        let mut characters = name.chars();
        characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !RESERVED.contains(&name)
    };
    let own = network.variables().iter().map(|variable| variable.name());
    let mut taken: HashSet<String> =
        own.clone().filter(|name| is_word(name)).map(str::to_owned).collect();
    let spelt = own.map(|name| {
        if is_word(name) {
            return name.to_owned();
        }
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let mut spelt = format!("n_{plain}");
        for number in 2.. {
            if taken.insert(spelt.clone()) {
                break;
            }
            spelt = format!("n_{plain}_{number}");
        }
        spelt
    });
    spelt.collect()
}

fn field(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "    {name} = {value};");
}

fn common(text: &mut String, annotation: &Annotation) {
    if let Some(title) = &annotation.title {
        field(text, "label", &quote(title));
    }
    if let Some([x, y]) = annotation.position {
        // No "-0".
        field(text, "position", &format!("({x} {})", 0.0 - y));
    }
    if let Some(comment) = &annotation.comment {
        field(text, "HR_Desc", &quote(comment));
    }
    for attribute in annotation.attributes_of(LANGUAGE.name) {
        field(text, &attribute.name, &attribute.value);
    }
}

fn potential(text: &mut String, network: &Network, cpt: &Cpt, names: &[String]) {
    let name = |variable: VariableId| &names[variable.index()];
    let _ = write!(text, "\npotential ({} |", name(cpt.child()));
    for &parent in cpt.parents() {
        let _ = write!(text, " {}", name(parent));
    }
    text.push_str(")\n{\n    data = (");
    // A parenthesis for each parent whose turn begins or ends before a row.
    let states = network[cpt.child()].cardinality();
    let sizes: Vec<usize> = cpt.parents().iter().rev().map(|&p| network[p].cardinality()).collect();
    let rows = cpt.values().len() / states;
    for (row, values) in cpt.values().chunks(states).enumerate() {
        text.push_str(&"(".repeat(turns(row, &sizes)));
        text.push(' ');
        push_numbers(text, values, " ");
        text.push(' ');
        text.push_str(&")".repeat(turns(row + 1, &sizes)));
        if row + 1 < rows {
            text.push_str("\n            ");
        }
    }
    text.push_str(");\n}\n");
}

/// How many of the digits of an odometer with `sizes`, the fastest first, are at zero before one is
/// not.
fn turns(mut row: usize, sizes: &[usize]) -> usize {
    let mut turns = 0;
    for &size in sizes {
        if !row.is_multiple_of(size) {
            break;
        }
        turns += 1;
        row /= size;
    }
    turns
}
