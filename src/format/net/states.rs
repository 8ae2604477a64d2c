//! The labels of a node's states.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::blocks::{AttributeValue, ListItem, NetAttribute, NodeBlock};
use super::quotes::unquote;
use crate::format::FormatError;
use crate::format::nodes::{Word, number};
use crate::format::source::SourceText;

/// The attribute that says that empty labels are meant to be empty.
pub(super) const EMPTY_LABELS: &str = "cliquescope_empty_labels";

/// The labels of `node`. A state without a label in the file is called by its value or interval,
/// else `false` or `true` if the node is boolean, else by its number. With [`EMPTY_LABELS`], an
/// empty label in the file stays empty. All labels are different: a repeated label gets a number
/// appended.
///
/// # Errors
/// If nothing gives the number of states, or the states or values are not a list.
pub(super) fn labels<'s>(
    source: SourceText<'s>,
    node: &NodeBlock<'s>,
) -> Result<Vec<Word<'s>>, FormatError> {
    let name = &node.name.text;
    let field = |name: &str| field(node, name);
    let values = values(source, field("state_values"))?;
    let is_interval = matches!(subtype(node), Some("interval"));
    let given = match field("states") {
        Some(NetAttribute { value: AttributeValue::List(items), .. }) => Some(items),
        Some(other) => {
            let message =
                format!("expected the states of '{name}' in parentheses, found '{}'", other.raw);
            return Err(source.error(other.offset, message));
        }
        None => None,
    };
    let count = match (given, &values[..]) {
        (Some(items), _) => items.len(),
        (None, []) if subtype(node) == Some("boolean") => 2,
        (None, []) => {
            let message = format!("'{name}' has no states");
            return Err(source.error(node.name.offset, message));
        }
        (None, values) => values.len() - usize::from(is_interval),
    };
    let keep_empty = field(EMPTY_LABELS).is_some();
    let mut taken = HashSet::with_capacity(count);
    // For each repeated label, the lowest number that it may get next.
    let mut next_number: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut labels = Vec::with_capacity(count);
    for index in 0..count {
        let item = given.and_then(|items| items.get(index));
        let offset = item.map_or(node.name.offset, |item| item.offset);
        let mut label = match item {
            Some(ListItem { text, quoted: true, .. }) if text.contains('\\') => {
                Cow::Owned(unquote(text))
            }
            Some(item) if keep_empty || !item.text.is_empty() => Cow::Borrowed(item.text),
            _ => Cow::Owned(default_label(&values, is_interval, subtype(node), index)),
        };
        if !taken.insert(label.clone()) {
            let number = next_number.entry(label.clone()).or_insert(2);
            let plain = label;
            loop {
                label = Cow::Owned(format!("{plain} #{number}"));
                *number += 1;
                if taken.insert(label.clone()) {
                    break;
                }
            }
        }
        labels.push(Word { text: label, offset });
    }
    Ok(labels)
}

/// The last attribute of `node` called `name`.
pub(super) fn field<'n, 's>(node: &'n NodeBlock<'s>, name: &str) -> Option<&'n NetAttribute<'s>> {
    node.attributes.iter().rfind(|field| field.name == name)
}

/// The `subtype` of `node`, which says what its states represent.
pub(super) fn subtype<'s>(node: &NodeBlock<'s>) -> Option<&'s str> {
    match &field(node, "subtype")?.value {
        AttributeValue::Word(word) => Some(*word),
        _ => None,
    }
}

/// The label of state `index` if the file gives none.
fn default_label(
    values: &[&str],
    is_interval: bool,
    subtype: Option<&str>,
    index: usize,
) -> String {
    match (values.get(index), values.get(index + 1)) {
        (Some(from), Some(to)) if is_interval => format!("{from} to {to}"),
        (Some(value), _) if !is_interval => (*value).to_owned(),
        _ if subtype == Some("boolean") && index < 2 => ["false", "true"][index].to_owned(),
        _ => format!("state {}", index + 1),
    }
}

/// Parses a word in `state_values` as a number, possibly infinite.
pub(super) fn value(word: &str) -> Option<f64> {
    match word.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str() {
        "inf" | "infinity" if word.starts_with('-') => Some(f64::NEG_INFINITY),
        "inf" | "infinity" => Some(f64::INFINITY),
        _ => number(word),
    }
}

/// The words in `field`, the attribute `state_values`; none if it is missing.
///
/// # Errors
/// If the attribute is not a list.
pub(super) fn values<'s>(
    source: SourceText<'s>,
    field: Option<&NetAttribute<'s>>,
) -> Result<Vec<&'s str>, FormatError> {
    match field {
        None => Ok(Vec::new()),
        Some(NetAttribute { value: AttributeValue::List(items), .. }) => {
            Ok(items.iter().map(|item| item.text).collect())
        }
        Some(other) => {
            let message = format!("expected values in parentheses, found '{}'", other.raw);
            Err(source.error(other.offset, message))
        }
    }
}
