//! From the rows of a DSC block to a table.

use std::collections::HashMap;

use super::parser::{Distribution, Row};
use crate::format::FormatError;
use crate::format::draft::max_entries;
use crate::format::nodes::{Definition, Node, Number, Role, Word};
use crate::format::source::Source;

/// Puts the rows of `found` in order, and the table into its node.
pub(super) fn define<'s>(
    source: Source<'_>,
    nodes: &mut [Node<'s>],
    by_name: &HashMap<String, usize>,
    found: Distribution<'s>,
    entries: &mut usize,
) -> Result<(), FormatError> {
    let name = found.child.text.clone();
    let look_up = |word: &Word<'_>| {
        by_name
            .get(word.text.as_ref())
            .copied()
            .ok_or_else(|| source.error(word.at, format!("there is no node '{}'", word.text)))
    };
    let index = look_up(&found.child)?;
    // What utilities are and what is known when deciding does not bear on the model.
    if nodes[index].role != Role::Chance {
        return Ok(());
    }
    if !matches!(nodes[index].definition, Definition::Missing) {
        let line = source.line(nodes[index].at);
        let message = format!("a second probability block for '{name}'; line {line} has one");
        return Err(source.error(found.at, message));
    }
    let parents = found.parents.iter().map(look_up).collect::<Result<Vec<_>, _>>()?;
    let states = nodes[index].states.len();
    let rows = parents.iter().try_fold(1_usize, |rows, &p| rows.checked_mul(nodes[p].states.len()));
    let total = rows.and_then(|rows| rows.checked_mul(states)?.checked_add(*entries));
    let limit = max_entries(source);
    let rows = match (rows, total) {
        (Some(rows), Some(total)) if total <= limit => {
            *entries = total;
            rows
        }
        _ => {
            let message = format!(
                "with the table of '{name}' given {} parents, the tables of this file have more \
                 than {limit} entries, which is refused",
                parents.len()
            );
            return Err(source.error(found.at, message));
        }
    };
    let table = if let [Row { configuration: None, default: false, numbers, .. }] = &found.rows[..]
    {
        numbers.clone()
    } else {
        table(source, nodes, &name, &parents, states, rows, &found)?
    };
    let node = &mut nodes[index];
    (node.parents, node.definition, node.at) = (found.parents, Definition::Table(table), found.at);
    Ok(())
}

fn table(
    source: Source<'_>,
    nodes: &[Node<'_>],
    name: &str,
    parents: &[usize],
    states: usize,
    rows: usize,
    found: &Distribution<'_>,
) -> Result<Vec<Number>, FormatError> {
    let mut given: Vec<Option<&Row<'_>>> = vec![None; rows];
    let mut default: Option<&Row<'_>> = None;
    for row in &found.rows {
        if row.numbers.len() != states {
            let message =
                format!("the row of '{name}' has {} numbers, expected {states}", row.numbers.len());
            return Err(source.error(row.at, message));
        }
        let before = match &row.configuration {
            Some(configuration) => {
                let index = row_index(source, nodes, name, parents, row.at, configuration)?;
                given[index].replace(row)
            }
            None if row.default => default.replace(row),
            None => {
                let message = format!("expected the states of the parents of '{name}'");
                return Err(source.error(row.at, message));
            }
        };
        if let Some(before) = before {
            let line = source.line(before.at);
            let message =
                format!("this row of '{name}' is given a second time; line {line} has it");
            return Err(source.error(row.at, message));
        }
    }
    let mut table = Vec::with_capacity(rows * states);
    for row in &given {
        let row = row.or(default).ok_or_else(|| {
            let missing = given.iter().filter(|row| row.is_none()).count();
            let message =
                format!("the table of '{name}' lacks {missing} of {rows} rows, and has no default");
            source.error(found.at, message)
        })?;
        table.extend_from_slice(&row.numbers);
    }
    Ok(table)
}

/// Position of a row in the table: the first parent slowest.
fn row_index(
    source: Source<'_>,
    nodes: &[Node<'_>],
    name: &str,
    parents: &[usize],
    at: usize,
    configuration: &[(Word<'_>, bool)],
) -> Result<usize, FormatError> {
    if configuration.len() != parents.len() {
        let message = format!(
            "the row names {} states, expected {}, one for each parent of '{name}'",
            configuration.len(),
            parents.len()
        );
        return Err(source.error(at, message));
    }
    let mut row = 0;
    for ((word, quoted), &parent) in configuration.iter().zip(parents) {
        let states = &nodes[parent].states;
        let position = word.text.parse().ok().filter(|&state| !quoted && state < states.len());
        let labelled = || states.iter().position(|state| state.text == word.text);
        let state = position.or_else(labelled).ok_or_else(|| {
            let message = format!(
                "'{}' has no state '{}', expected 0 to {} or a label",
                nodes[parent].name.text,
                word.text,
                states.len().saturating_sub(1)
            );
            source.error(word.at, message)
        })?;
        row = row * states.len() + state;
    }
    Ok(row)
}
