//! Fills numbers of the open network into the text of a lesson.

use crate::app::state::model::Model;
use crate::numbers;

/// `text` with the number for each [name in braces](super::LessonStep::text), or with a dash if
/// there is no such number yet.
pub(super) fn filled_in(text: &str, model: &Model) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (name, after))) = next_name(rest) {
        filled.push_str(before);
        filled.push_str(&number(name, model).unwrap_or_else(|| "–".to_owned()));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// The first name in braces in `text`: the text before, and the name with the text after.
fn next_name(text: &str) -> Option<(&str, (&str, &str))> {
    let (before, inside) = text.split_once('{')?;
    Some((before, inside.split_once('}')?))
}

/// The number that `name` in braces stands for. `None` if there is no such number yet, or no such
/// name.
fn number(name: &str, model: &Model) -> Option<String> {
    let document = model.document.as_ref()?;
    if let Some((variable, state)) = name.split_once('=') {
        let network = document.network();
        let id = network.find(variable)?;
        let state = network[id].state_index(state)?;
        return Some(numbers::percent(document.result.as_ref()?.posteriors.of(id)[state]));
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
    fn every_name_in_every_text_has_a_number() {
        let model = model_with("asia", "sequential", &[]);
        for step in LESSONS.iter().flat_map(|lesson| &lesson.steps) {
            let text = filled_in(&step.text, &model);
            assert!(!text.contains('–') && !text.contains('{'), "{text}");
        }
    }
}
