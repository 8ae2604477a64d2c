//! Numbers in lessons. A text contains their names in braces; a step compares them by name.
//!
//! The names are:
//!
//! * `variables`, `cliques`, `messages`: the number of variables, cliques or messages;
//! * `fill`: the number of fill edges;
//! * `largest`: the number of entries of the largest clique table;
//! * `total`: the number of entries of all clique tables together;
//! * `separator`: the mean number of entries of a separator table, rounded to a whole number;
//! * `time`: the time of the newest propagation;
//! * a variable and a state, such as `lung=yes`: the posterior of that state.

use crate::app::state::model::Model;
use crate::network::{Network, VariableId};
use crate::numbers;

/// The names of numbers other than posteriors, and what each is called in a table.
const NAMES: [(&str, &str); 8] = [
    ("variables", "variables"),
    ("cliques", "cliques"),
    ("messages", "messages"),
    ("fill", "fill edges"),
    ("largest", "entries of the largest table"),
    ("total", "entries of all clique tables"),
    ("separator", "mean entries of a separator"),
    ("time", "time of a propagation"),
];

/// What is wrong with `name`, if anything. Whether a variable and a state exist is not checked.
pub(super) fn problem(name: &str) -> Option<String> {
    if name.contains('=') || NAMES.iter().any(|(known, _)| *known == name) {
        return None;
    }
    let known = NAMES.map(|(name, _)| format!("'{name}'")).join(", ");
    Some(format!("there is no number '{name}'; expected a VARIABLE=STATE or one of {known}"))
}

/// The variable and the state that `name` refers to. `None` if it names another number.
///
/// # Errors
/// If the network has no such variable or state.
pub(super) fn state_of(
    network: &Network,
    name: &str,
) -> Option<Result<(VariableId, usize), String>> {
    let (variable, state) = name.split_once('=')?;
    Some(find_state(network, variable, state))
}

/// The variable called `variable` and the index of its state called `state`.
///
/// # Errors
/// If the network has no such variable or state.
pub(super) fn find_state(
    network: &Network,
    variable: &str,
    state: &str,
) -> Result<(VariableId, usize), String> {
    let id = network
        .find(variable)
        .ok_or_else(|| format!("the network has no variable '{variable}'"))?;
    let index = network[id].state_index(state);
    index.map(|index| (id, index)).ok_or_else(|| {
        let states = network[id].states().iter().map(|state| format!("'{state}'"));
        let states = states.collect::<Vec<_>>().join(", ");
        format!("variable '{variable}' has no state '{state}'; expected one of {states}")
    })
}

/// What the number called `name` is called in a table.
pub(super) fn label(name: &str) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map_or_else(|| name.replacen('=', " = ", 1), |(_, label)| (*label).to_owned())
}

/// The number called `name` in the open network; `None` if there is no such number yet.
pub(super) fn value(name: &str, model: &Model) -> Option<String> {
    let document = model.document.as_ref()?;
    if let Some(found) = state_of(document.network(), name) {
        let (variable, state) = found.ok()?;
        return Some(numbers::percent(document.result.as_ref()?.posteriors.of(variable)[state]));
    }
    if name == "variables" {
        return Some(numbers::thousands(document.network().variables().len() as u64));
    }
    if name == "time" {
        return Some(numbers::duration(document.result.as_ref()?.took()));
    }
    let compiled = model.compiled()?;
    let tree = compiled.statistics();
    Some(numbers::thousands(match name {
        "cliques" => tree.cliques as u64,
        "largest" => tree.max_clique_entries,
        "total" => tree.total_clique_entries,
        "separator" => tree.mean_separator_entries.round() as u64,
        "messages" => compiled.plan().messages().len() as u64,
        "fill" => compiled.fill_edges().len() as u64,
        _ => return None,
    }))
}

/// The names in braces in `text`.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, (name, after)) = next_name(rest)?;
        rest = after;
        Some(name)
    })
}

/// `text` with the number for each name in braces, or with a dash if there is no such number yet.
pub(super) fn filled_in(text: &str, model: &Model) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (name, after))) = next_name(rest) {
        filled.push_str(before);
        filled.push_str(value(name, model).as_deref().unwrap_or("–"));
        rest = after;
    }
    filled + rest
}

/// The text before the first name in braces, the name, and the text after it.
fn next_name(text: &str) -> Option<(&str, (&str, &str))> {
    let (before, rest) = text.split_once('{')?;
    Some((before, rest.split_once('}')?))
}

#[cfg(test)]
mod tests {
    use super::super::LESSONS;
    use super::*;
    use crate::app::testing::model_with;

    #[test]
    fn names_in_braces_become_numbers_or_dashes() {
        let model = model_with("asia", "sequential", &[("xray", "yes")]);
        let text = filled_in("{variables} variables, {messages} messages, {lung=yes}.", &model);
        assert_eq!(text, "8 variables, 10 messages, 48.9%.");
        let nothing = model_with("", "sequential", &[]);
        assert_eq!(filled_in("{cliques} cliques", &nothing), "– cliques");
    }

    #[test]
    fn every_number_can_be_computed() {
        let model = model_with("asia", "sequential", &[]);
        for (name, _) in NAMES {
            assert!(value(name, &model).is_some(), "{name}");
        }
        for step in LESSONS.iter().flat_map(|lesson| &lesson.steps) {
            let text = filled_in(&step.text, &model);
            assert!(!text.contains('–') && !text.contains('{'), "{text}");
        }
    }

    #[test]
    fn unknown_numbers_are_refused_with_the_known_ones() {
        assert_eq!(problem("lung=yes"), None);
        assert!(problem("lenght").unwrap().contains("'largest'"));
        let model = model_with("asia", "sequential", &[]);
        let network = model.document.as_ref().unwrap().network();
        let wrong = state_of(network, "lung=maybe").unwrap().unwrap_err();
        assert_eq!(wrong, "variable 'lung' has no state 'maybe'; expected one of 'yes', 'no'");
    }
}
