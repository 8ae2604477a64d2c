//! Reads the nodes of a Netica file: their kinds, parents, tables and functions.

use std::collections::HashMap;

use super::NodeFields;
use super::states::{Levels, states};
use crate::format::FormatError;
use crate::format::braces::{Field, FieldValue, ListEntry};
use crate::format::limits;
use crate::format::nodes::{Definition, Labels, Node, Number, Role, UNDEFINED, Word, number};
use crate::format::source::SourceText;
use crate::network::Annotation;

/// Maximum number of table entries, in a whole file, of rows that are given by a single word, such
/// as `#2`. A short file could otherwise demand any amount of memory.
const MAX_EXPANDED: usize = 1 << 21;

/// A node without its table. The length of the table is unknown until the states of all nodes are
/// known.
pub(super) struct PartialNode<'b, 's> {
    node: Node<'s>,
    levels: Levels,
    fields: NodeFields<'b, 's>,
}

/// Reads the kind of a node, and its states and parents unless the node is left out.
///
/// # Errors
/// The first mistake in the node.
pub(super) fn partial<'b, 's>(
    source: SourceText<'_>,
    field: &Field<'s>,
    name: &Word<'s>,
    fields: NodeFields<'b, 's>,
) -> Result<PartialNode<'b, 's>, FormatError> {
    let role = role(source, field, name, &fields)?;
    let mut node = Node {
        name: name.clone(),
        role,
        states: Vec::new(),
        parents: Vec::new(),
        definition: Definition::Missing,
        offset: name.offset,
        note: note(&fields),
    };
    if matches!(role, Role::LeftOut(_)) {
        return Ok(PartialNode { node, levels: Levels::None, fields });
    }
    let Some((states, levels)) = states(source, name, &fields)? else {
        let message = format!(
            "'{}' is continuous, expected 'levels' that divide it into intervals",
            name.text
        );
        return Err(source.error(name.offset, message));
    };
    if states.is_empty() {
        return Err(source.error(name.offset, format!("'{}' has no states", name.text)));
    }
    if role == Role::Chance {
        check_delays(source, name, &fields)?;
    }
    node.parents = parents(source, name, &fields)?;
    node.states = states;
    Ok(PartialNode { node, levels, fields })
}

/// The role of the node called `name`, according to its kind. `field` holds the block of the node.
fn role(
    source: SourceText<'_>,
    field: &Field<'_>,
    name: &Word<'_>,
    fields: &NodeFields<'_, '_>,
) -> Result<Role, FormatError> {
    let kind = fields.word("kind").map_or("NATURE", |kind| kind.text.as_ref());
    match kind.to_ascii_uppercase().as_str() {
        "NATURE" => Ok(Role::Chance),
        "DECISION" => Ok(Role::Decision),
        "UTILITY" => Ok(Role::LeftOut("utility")),
        "ASSUME" | "CONSTANT" => Ok(Role::LeftOut("constant")),
        "DISCONNECTED" => Ok(Role::LeftOut("disconnected")),
        _ => {
            let offset = fields.word("kind").map_or(field.offset, |kind| kind.offset);
            let message = format!(
                "'{}' has the kind '{kind}', expected NATURE, DECISION, UTILITY, CONSTANT, ASSUME \
                 or DISCONNECTED",
                name.text
            );
            Err(source.error(offset, message))
        }
    }
}

/// Refuses a node with a parent from an earlier point in time.
fn check_delays(
    source: SourceText<'_>,
    name: &Word<'_>,
    fields: &NodeFields<'_, '_>,
) -> Result<(), FormatError> {
    let Some((entries, offset)) = fields.list("delays") else { return Ok(()) };
    let is_delay = |entry: &&ListEntry<'_>| entry.word.as_deref().is_some_and(|word| word != "0");
    if !entries.iter().any(is_delay) {
        return Ok(());
    }
    let message =
        format!("'{}' has delays, expected none: dynamic networks are not supported", name.text);
    Err(source.error(offset, message))
}

/// The names of the parents of the node called `name`.
fn parents<'s>(
    source: SourceText<'_>,
    name: &Word<'_>,
    fields: &NodeFields<'_, 's>,
) -> Result<Vec<Word<'s>>, FormatError> {
    let mut parents = Vec::new();
    for entry in fields.list("parents").map(|(entries, _)| entries).unwrap_or_default() {
        let text = entry.word.clone().ok_or_else(|| {
            let message = format!("expected a parent of '{}', found ','", name.text);
            source.error(entry.offset, message)
        })?;
        parents.push(Word { text, offset: entry.offset });
    }
    Ok(parents)
}

impl PartialNode<'_, '_> {
    /// The number of states.
    pub fn states(&self) -> usize {
        self.node.states.len()
    }

    /// The name of the node, if the file has a finding on it.
    pub fn observed(&self) -> Option<&str> {
        self.fields.field("evidence").map(|_| self.node.name.text.as_ref())
    }
}

/// Title, comment and position of a node.
fn note(fields: &NodeFields<'_, '_>) -> Annotation {
    let text = |field: &str| fields.word(field).map(|word| word.text.to_string());
    let centre = fields.field("visual").and_then(|visual| match &visual.value {
        FieldValue::Block(block) => block.list("center"),
        _ => None,
    });
    let coordinates = centre.and_then(|(entries, _)| {
        entries.iter().map(|entry| number(word(entry))).collect::<Option<Vec<_>>>()
    });
    let position = coordinates.and_then(|pair| <[f64; 2]>::try_from(pair).ok());
    Annotation { title: text("title"), comment: text("comment"), position, ..Annotation::default() }
}

/// Completes the nodes with their tables. This needs the states of all nodes.
///
/// # Errors
/// The first mistake in a table.
pub(super) fn complete<'s>(
    source: SourceText<'_>,
    partial_nodes: Vec<PartialNode<'_, 's>>,
) -> Result<Vec<Node<'s>>, FormatError> {
    let states: HashMap<String, usize> = partial_nodes
        .iter()
        .map(|partial| (partial.node.name.text.to_string(), partial.node.states.len()))
        .collect();
    let mut nodes = Vec::with_capacity(partial_nodes.len());
    let mut expanded = 0;
    for PartialNode { mut node, levels, fields } in partial_nodes {
        if node.role == Role::Chance {
            let rows = node.parents.iter().fold(1_usize, |rows, parent| {
                rows.saturating_mul(states.get(parent.text.as_ref()).copied().unwrap_or(1))
            });
            (node.definition, node.offset) =
                definition(source, &node, &levels, &fields, rows, &mut expanded)?;
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// The table or function of `node`, which has `rows` configurations of the parents, and the byte
/// offset of its field, or of the name of the node if it has neither. `expanded` is as in
/// [`probabilities`].
fn definition(
    source: SourceText<'_>,
    node: &Node<'_>,
    levels: &Levels,
    fields: &NodeFields<'_, '_>,
    rows: usize,
    expanded: &mut usize,
) -> Result<(Definition<'static>, usize), FormatError> {
    let determined =
        fields.word("chance").is_some_and(|chance| chance.text.eq_ignore_ascii_case("DETERMIN"));
    let (table, function) = (fields.list("probs"), fields.list("functable"));
    match (table, function) {
        (Some((entries, offset)), None) => {
            Ok((probabilities(source, node, &entries, rows, expanded)?, offset))
        }
        (Some((entries, offset)), Some(_)) if !determined => {
            Ok((probabilities(source, node, &entries, rows, expanded)?, offset))
        }
        (_, Some((entries, offset))) => {
            Ok((outcomes(source, node, levels, &entries, rows)?, offset))
        }
        (None, None) => match fields.field("equation") {
            None => Ok((Definition::Missing, node.name.offset)),
            Some(equation) => {
                let message = format!(
                    "'{}' is given by an equation, expected a table: 'probs' or 'functable'",
                    node.name.text
                );
                Err(source.error(equation.offset, message))
            }
        },
    }
}

/// A table of probabilities with this many `rows`. `#2` gives a whole row: one for state 2 and zero
/// for all others. A mark for an undefined entry gives one entry, or a whole row if the table would
/// otherwise have a wrong length. `expanded` counts the entries of all rows of the file so far that
/// are given by a single word.
fn probabilities(
    source: SourceText<'_>,
    node: &Node<'_>,
    entries: &[&ListEntry<'_>],
    rows: usize,
    expanded: &mut usize,
) -> Result<Definition<'static>, FormatError> {
    let states = node.states.len();
    let count = |first: char| entries.iter().filter(|entry| word(entry).starts_with(first)).count();
    let (row_words, marks) = (count('#'), count('@'));
    let plain = entries.len() - row_words - marks;
    let length = plain + marks + row_words.saturating_mul(states);
    let marks_are_rows = marks > 0 && length != rows.saturating_mul(states);
    let expanded_rows = row_words + if marks_are_rows { marks } else { 0 };
    *expanded = expanded.saturating_add(expanded_rows.saturating_mul(states));
    if *expanded > MAX_EXPANDED {
        let message = format!(
            "the rows that are each given by a single word such as '#2', including those of '{}', \
             have more than the maximum of {MAX_EXPANDED} numbers",
            node.name.text
        );
        return Err(source.error(node.name.offset, message));
    }
    let mut numbers = Vec::with_capacity(entries.len());
    for &entry in entries {
        let (text, offset) = (word(entry), entry.offset);
        if let Some(index) = text.strip_prefix('#') {
            let state = index.parse::<usize>().ok().filter(|&state| state < states);
            let state = state.ok_or_else(|| {
                let message = format!(
                    "'{}' has no state '{text}', expected '#0' to '#{}'",
                    node.name.text,
                    states - 1
                );
                source.error(offset, message)
            })?;
            let row = (0..states).map(|other| f64::from(u8::from(other == state)));
            numbers.extend(row.map(|value| Number { value, offset }));
        } else if is_undefined(text) {
            let count = if marks_are_rows { states } else { 1 };
            numbers.extend(std::iter::repeat_n(Number { value: UNDEFINED, offset }, count));
        } else {
            let value = number(text).ok_or_else(|| {
                let message =
                    format!("expected a probability of '{}', found '{text}'", node.name.text);
                source.error(offset, message)
            })?;
            numbers.push(Number { value, offset });
        }
    }
    Ok(Definition::Table(numbers))
}

/// A function: the state for each of the `rows` configurations of the parents, given by label,
/// index (`#2`) or value.
fn outcomes(
    source: SourceText<'_>,
    node: &Node<'_>,
    levels: &Levels,
    entries: &[&ListEntry<'_>],
    rows: usize,
) -> Result<Definition<'static>, FormatError> {
    let max_entries = limits::max_entries(source);
    if entries.len() != rows || rows.saturating_mul(node.states.len()) > max_entries {
        // A function of a wrong length or with so large a table is refused later. Looking up its
        // values might take long.
        return Ok(Definition::Function(vec![(None, node.offset); entries.len()]));
    }
    let labels = Labels::new(&node.name.text, &node.states);
    let mut outcomes = Vec::with_capacity(entries.len());
    for &entry in entries {
        let (text, offset) = (word(entry), entry.offset);
        let by_index = || {
            let state = text.strip_prefix('#')?.parse::<usize>().ok()?;
            (state < node.states.len()).then_some(state)
        };
        let by_value = || levels.state_of(number(text)?);
        let state = labels.get(text).or_else(by_index).or_else(by_value);
        if state.is_none() && !is_undefined(text) {
            return Err(labels.unknown(source, text, offset));
        }
        outcomes.push((state, offset));
    }
    Ok(Definition::Function(outcomes))
}

/// The word of `entry`, or a comma if the entry is empty.
fn word<'e>(entry: &'e ListEntry<'_>) -> &'e str {
    entry.word.as_deref().unwrap_or(",")
}

/// Whether `word` marks an undefined entry.
fn is_undefined(word: &str) -> bool {
    word.eq_ignore_ascii_case("@imposs") || word.eq_ignore_ascii_case("@undef")
}
