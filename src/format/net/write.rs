//! Writes Hugin NET.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::quotes::quote;
use super::states::EMPTY_LABELS;
use super::{LANGUAGE, NAME};
use crate::format::WriteError;
use crate::format::write::push_numbers;
use crate::network::{Annotation, Cpt, Network, VariableId};

/// Keywords of the language, which cannot be names.
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

/// The content of a NET file with `network`.
///
/// # Errors
/// None: NET can hold every Bayesian network.
pub(super) fn write(network: &Network) -> Result<String, WriteError> {
    let names = names(network);
    let mut text = String::new();
    let annotations = network.annotations();
    text.push_str("net\n{\n");
    if !network.name().is_empty() {
        field(&mut text, NAME, &quote(network.name()));
    }
    annotation_fields(&mut text, &annotations.network);
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
        annotation_fields(&mut text, annotations.of(variable));
        text.push_str("}\n");
    }
    for cpt in network.cpts() {
        potential(&mut text, network, cpt, &names);
    }
    Ok(text)
}

/// For each variable, its name if that is an identifier, else a unique identifier made from it.
fn names(network: &Network) -> Vec<String> {
    let is_identifier = |name: &str| {
        let mut characters = name.chars();
        characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !RESERVED.contains(&name)
    };
    let own = network.variables().iter().map(|variable| variable.name());
    let mut taken: HashSet<String> =
        own.clone().filter(|name| is_identifier(name)).map(str::to_owned).collect();
    // For each identifier that was already taken, the next number to try as its suffix.
    let mut next_number: HashMap<String, usize> = HashMap::new();
    let words = own.map(|name| {
        if is_identifier(name) {
            return name.to_owned();
        }
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let first = format!("n_{plain}");
        if taken.insert(first.clone()) {
            return first;
        }
        let number = next_number.entry(first.clone()).or_insert(2);
        loop {
            let word = format!("{first}_{number}");
            *number += 1;
            if taken.insert(word.clone()) {
                return word;
            }
        }
    });
    words.collect()
}

/// Appends a field of a node or of the network.
fn field(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "    {name} = {value};");
}

/// Appends the fields of an annotation.
fn annotation_fields(text: &mut String, annotation: &Annotation) {
    if let Some(title) = &annotation.title {
        field(text, "label", &quote(title));
    }
    if let Some([x, y]) = annotation.position {
        // Hugin's y axis points up, ours down. Subtracting, not negating, avoids "-0".
        field(text, "position", &format!("({x} {})", 0.0 - y));
    }
    if let Some(comment) = &annotation.comment {
        field(text, "HR_Desc", &quote(comment));
    }
    for attribute in annotation.attributes_of(LANGUAGE.name) {
        field(text, &attribute.name, &attribute.value);
    }
}

/// Appends the block of the table `cpt`. `names`: by variable, its name in the file.
fn potential(text: &mut String, network: &Network, cpt: &Cpt, names: &[String]) {
    let name = |variable: VariableId| &names[variable.index()];
    let _ = write!(text, "\npotential ({} |", name(cpt.child()));
    for &parent in cpt.parents() {
        let _ = write!(text, " {}", name(parent));
    }
    text.push_str(")\n{\n    data = (");
    // Parentheses enclose each row, then the rows that differ only in the state of the last parent,
    // then the rows that differ only in the last two parents, and so on. The outermost pair, which
    // encloses all rows, has been opened above.
    let states = network[cpt.child()].cardinality();
    let parents = cpt.parents().iter().rev().map(|&parent| network[parent].cardinality());
    let sizes: Vec<usize> = std::iter::once(1).chain(parents).take(cpt.parents().len()).collect();
    let rows = cpt.values().len() / states;
    for (row, values) in cpt.values().chunks(states).enumerate() {
        text.push_str(&"(".repeat(restarts(row, &sizes)));
        text.push(' ');
        push_numbers(text, values, " ");
        text.push(' ');
        text.push_str(&")".repeat(restarts(row + 1, &sizes)));
        if row + 1 < rows {
            text.push_str("\n            ");
        }
    }
    text.push_str(");\n}\n");
}

/// The number of pairs of parentheses that open before `row`. The same number of pairs closes after
/// the previous row. `sizes` lists how many items a pair of each level holds, from the innermost
/// level outward: rows on the innermost level, pairs on all others.
fn restarts(mut row: usize, sizes: &[usize]) -> usize {
    let mut restarts = 0;
    for &size in sizes {
        if !row.is_multiple_of(size) {
            break;
        }
        restarts += 1;
        row /= size;
    }
    restarts
}
