//! The states of a Netica node. The file gives their labels, titles, values or number, or they are
//! intervals of a continuous range.

use crate::format::FormatError;
use crate::format::braces::ListEntry;
use crate::format::nodes::{MAX_UNNAMED_STATES, Word, number};
use crate::format::source::SourceText;
use crate::numbers::counted;

use super::NodeFields;

/// The `levels` of a node: the values of its states, or the bounds of its intervals.
pub(super) enum Levels {
    /// The file gives none.
    None,
    /// One value for each state.
    Points(Vec<f64>),
    /// The bounds of the intervals, one more than there are states. They should increase or
    /// decrease, but this is not checked.
    Bounds(Vec<f64>),
}

impl Levels {
    /// The state that has this `value` or whose interval contains it. An interval contains its
    /// lower bound but not its upper bound, except that the largest bound belongs to its interval.
    pub fn state_of(&self, value: f64) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Points(points) => points.iter().position(|&point| point == value),
            Self::Bounds(bounds) => {
                let within = |pair: &[f64]| {
                    let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                    (low..high).contains(&value)
                };
                let ends_at = |pair: &[f64]| pair[0].max(pair[1]) == value;
                let mut intervals = bounds.windows(2);
                intervals.clone().position(within).or_else(|| intervals.position(ends_at))
            }
        }
    }
}

/// The labels and levels of the node called `name`; `None` if the node is continuous and not
/// divided into intervals.
///
/// # Errors
/// If nothing gives the number of states; if that number, a label or a level is malformed; or if
/// the levels do not fit the labels.
pub(super) fn states<'s>(
    source: SourceText<'_>,
    name: &Word<'_>,
    fields: &NodeFields<'_, 's>,
) -> Result<Option<(Vec<Word<'s>>, Levels)>, FormatError> {
    let is_discrete =
        fields.word("discrete").is_none_or(|word| !word.text.eq_ignore_ascii_case("FALSE"));
    let levels = levels(source, name, fields)?;
    let labels = match fields.list("states") {
        Some((entries, _)) => Some(labels(source, name, &entries)?),
        None => fields.list("statetitles").map(|(entries, _)| titles(&entries)),
    };
    let levels = match levels {
        None => Levels::None,
        Some((levels, _))
            if is_discrete && labels.as_ref().is_none_or(|l| l.len() == levels.len()) =>
        {
            Levels::Points(levels)
        }
        // Fewer than three levels without labels only give the range of a continuous node.
        Some((levels, _)) if levels.len() < 3 && labels.is_none() => Levels::None,
        Some((levels, offset)) => {
            if let Some(labels) = &labels
                && labels.len() + 1 != levels.len()
            {
                let message = format!(
                    "'{}' has {}, expected {}, one more than its states",
                    name.text,
                    counted(levels.len(), "level", "levels"),
                    labels.len() + 1
                );
                return Err(source.error(offset, message));
            }
            Levels::Bounds(levels)
        }
    };
    if let Some(labels) = labels {
        return Ok(Some((labels, levels)));
    }
    let offset = name.offset;
    let labels = match &levels {
        Levels::Points(points) => points.iter().map(f64::to_string).collect(),
        Levels::Bounds(bounds) => {
            bounds.windows(2).map(|pair| interval(pair[0], pair[1])).collect()
        }
        Levels::None => match fields.word("numstates") {
            Some(count) if is_discrete => unnamed(source, name, count)?,
            _ if is_discrete => {
                let message = format!("'{}' has neither 'states' nor 'numstates'", name.text);
                return Err(source.error(offset, message));
            }
            _ => return Ok(None),
        },
    };
    let labels =
        labels.into_iter().map(|text: String| Word { text: text.into(), offset }).collect();
    Ok(Some((labels, levels)))
}

/// The numbers in the field `levels` and its byte offset; `None` if the node has no such field.
fn levels(
    source: SourceText<'_>,
    name: &Word<'_>,
    fields: &NodeFields<'_, '_>,
) -> Result<Option<(Vec<f64>, usize)>, FormatError> {
    let Some((entries, offset)) = fields.list("levels") else { return Ok(None) };
    let mut levels = Vec::with_capacity(entries.len());
    for entry in entries {
        let word = entry.word.as_deref().unwrap_or(",");
        let level = level(word).ok_or_else(|| {
            let message = format!("expected a level of '{}', found '{word}'", name.text);
            source.error(entry.offset, message)
        })?;
        levels.push(level);
    }
    Ok(Some((levels, offset)))
}

/// Parses a level, possibly infinite.
fn level(word: &str) -> Option<f64> {
    match word.trim_start_matches(['+', '-']).to_ascii_uppercase().as_str() {
        "INFINITY" if word.starts_with('-') => Some(f64::NEG_INFINITY),
        "INFINITY" => Some(f64::INFINITY),
        _ => number(word),
    }
}

/// The labels of the states of node `name`, one in each of `entries`.
fn labels<'s>(
    source: SourceText<'_>,
    name: &Word<'_>,
    entries: &[&ListEntry<'s>],
) -> Result<Vec<Word<'s>>, FormatError> {
    let labels = entries.iter().map(|entry| match &entry.word {
        Some(text) => Ok(Word { text: text.clone(), offset: entry.offset }),
        None => {
            let message = format!("expected the label of a state of '{}', found ','", name.text);
            Err(source.error(entry.offset, message))
        }
    });
    labels.collect()
}

/// The titles of states as labels. A state without a title is called by its index: `state0`.
fn titles<'s>(entries: &[&ListEntry<'s>]) -> Vec<Word<'s>> {
    let label = |(index, entry): (usize, &&ListEntry<'s>)| Word {
        text: entry.word.clone().unwrap_or_else(|| unnamed_state(index).into()),
        offset: entry.offset,
    };
    entries.iter().enumerate().map(label).collect()
}

/// Labels for the states of a node if the file gives only their number, `count`.
fn unnamed(
    source: SourceText<'_>,
    name: &Word<'_>,
    count: &Word<'_>,
) -> Result<Vec<String>, FormatError> {
    match count.text.parse::<usize>() {
        Ok(count) if (1..=MAX_UNNAMED_STATES).contains(&count) => {
            Ok((0..count).map(unnamed_state).collect())
        }
        _ => {
            let message = format!(
                "'{}' has {} states, expected 1 to {MAX_UNNAMED_STATES}",
                name.text, count.text
            );
            Err(source.error(count.offset, message))
        }
    }
}

fn unnamed_state(index: usize) -> String {
    format!("state{index}")
}

/// The label of the interval between two levels.
fn interval(from: f64, to: f64) -> String {
    match (from == f64::NEG_INFINITY, to == f64::INFINITY) {
        (true, false) => format!("< {to}"),
        (false, true) => format!(">= {from}"),
        _ => format!("{from} to {to}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_belongs_to_its_point_or_to_the_interval_that_contains_it() {
        let rising = Levels::Bounds(vec![f64::NEG_INFINITY, 0.0, 5.0]);
        assert_eq!(
            [-1.0, 0.0, 4.9, 5.0, 6.0].map(|v| rising.state_of(v)),
            [Some(0), Some(1), Some(1), Some(1), None]
        );
        let falling = Levels::Bounds(vec![5.0, 1.0, 0.0]);
        assert_eq!(
            [6.0, 5.0, 4.0, 1.0, 0.5, 0.0].map(|v| falling.state_of(v)),
            [None, Some(0), Some(0), Some(0), Some(1), Some(1)]
        );
        assert_eq!(Levels::Points(vec![2.0, 7.0]).state_of(7.0), Some(1));
        assert_eq!(Levels::None.state_of(0.0), None);
    }

    #[test]
    fn intervals_are_labelled_by_their_bounds() {
        assert_eq!(interval(f64::NEG_INFINITY, 2.5), "< 2.5");
        assert_eq!(interval(2.5, 10.0), "2.5 to 10");
        assert_eq!(interval(10.0, f64::INFINITY), ">= 10");
    }
}
