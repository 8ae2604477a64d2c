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
//! * `hand_fill`, `hand_largest`, `hand_total`: the fill edges, the largest table and all tables of
//!   the elimination by hand so far;
//! * `min_fill_total`, `best_total`: the entries of all clique tables by min-fill, and by the best
//!   known elimination order;
//! * `recorded_naive`, `recorded_interleaved`: the median time of a recorded run of the open
//!   network on its current tree, by engine `gpu-paper` with the naive or the interleaved layout of
//!   the mapping tables and the default block size;
//! * `recorded_gpu`: the median time of the fastest run recorded on this tree by another engine
//!   on a GPU;
//! * `recorded_card`: the GPU of the first recorded run of engine `gpu-paper` and the day of the
//!   recording, as in `recorded on NVIDIA H200 on 2026-11-21`;
//! * `interleaved_faster`: in how many recorded networks the interleaved layout is the faster one,
//!   as in `2 of 8`;
//! * a variable and a state, such as `lung=yes`: the posterior of that state.

use std::time::Duration;

use crate::app::state::model::Model;
use crate::app::state::recordings::RecordedRunRef;
use crate::engine::{MappingLayout, PaperOptions};
use crate::experiment::Recording;
use crate::graph::{Heuristic, Triangulation};
use crate::network::{Network, VariableId};
use crate::numbers;

/// How the paper triangulates its networks.
const PAPER_TREES: Triangulation = Triangulation::By(Heuristic::WeightedMinFill);

/// The names of numbers other than posteriors, and what each is called in a table.
const NAMES: [(&str, &str); 18] = [
    ("variables", "variables"),
    ("cliques", "cliques"),
    ("messages", "messages"),
    ("fill", "fill edges"),
    ("largest", "entries of the largest table"),
    ("total", "entries of all clique tables"),
    ("separator", "mean entries of a separator"),
    ("time", "time of a propagation"),
    ("recorded_naive", "gpu-paper, naive layout"),
    ("recorded_interleaved", "gpu-paper, interleaved layout"),
    ("recorded_gpu", "engine gpu"),
    ("recorded_card", "recorded"),
    ("interleaved_faster", "networks faster when interleaved"),
    ("hand_fill", "your fill edges"),
    ("hand_largest", "entries of your largest table"),
    ("hand_total", "entries of your tables"),
    ("min_fill_total", "entries of the tables by min-fill"),
    ("best_total", "entries of the tables of the best known order"),
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
    if let Some(text) = of_recordings(name, model) {
        return Some(text);
    }
    if let Some(number) = of_elimination(name, model) {
        return Some(numbers::thousands(number));
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

/// The number called `name` of recorded runs.
fn of_recordings(name: &str, model: &Model) -> Option<String> {
    let document = model.document.as_ref()?;
    let time = |recorded: &RecordedRunRef| {
        numbers::duration(Duration::from_secs_f64(recorded.run.propagate_us.median / 1e6))
    };
    let with_layout = |layout| {
        let options = PaperOptions { layout, ..PaperOptions::default() };
        document.recorded.iter().find(|recorded| recorded.run.paper == Some(options))
    };
    match name {
        "recorded_naive" => with_layout(MappingLayout::Naive).map(time),
        "recorded_interleaved" => with_layout(MappingLayout::Interleaved).map(time),
        "recorded_gpu" => document.recorded_gpu_runs().map(|[_, fastest]| time(&fastest)),
        "recorded_card" => document.recorded_gpu_runs().map(|[paper, _]| paper.credit()),
        "interleaved_faster" => interleaved_faster(model.recordings),
        _ => None,
    }
}

/// In how many recorded networks engine `gpu-paper` is faster with the interleaved layout than with
/// the naive one, on the trees of the paper. `None` if no network has recorded runs with both.
fn interleaved_faster(recordings: &[Recording]) -> Option<String> {
    let networks = recordings.iter().flat_map(|recording| &recording.networks);
    let of_paper = networks.filter(|network| network.triangulation == PAPER_TREES.name());
    let gains: Vec<bool> = of_paper
        .filter_map(|network| {
            let time = |layout| {
                let options = PaperOptions { layout, ..PaperOptions::default() };
                let run = network.runs.iter().find(|run| run.paper == Some(options))?;
                Some(run.propagate_us.median)
            };
            Some(time(MappingLayout::Interleaved)? < time(MappingLayout::Naive)?)
        })
        .collect();
    let faster = gains.iter().filter(|faster| **faster).count();
    (!gains.is_empty()).then(|| format!("{faster} of {}", gains.len()))
}

/// The number called `name` of the elimination by hand.
fn of_elimination(name: &str, model: &Model) -> Option<u64> {
    let elimination = model.hand_elimination()?;
    let yours = elimination.done.cost();
    Some(match name {
        "hand_fill" => yours.fill_edges as u64,
        "hand_largest" => yours.largest,
        "hand_total" => yours.total,
        "min_fill_total" => elimination.min_fill.total,
        "best_total" => elimination.best.total,
        _ => return None,
    })
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
    use super::*;
    use crate::app::state::elimination::HandElimination;
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
    fn all_numbers_except_those_of_recorded_runs_can_be_computed() {
        let mut model = model_with("asia", "sequential", &[]);
        model.recordings = Recording::shipped();
        model.elimination = HandElimination::begin(&model, &[]);
        // `document.recorded` is empty in this test. tests/teaching/course.rs takes a lesson with
        // recorded runs.
        for (name, _) in NAMES.iter().filter(|(name, _)| !name.starts_with("recorded")) {
            assert!(value(name, &model).is_some(), "{name}");
        }
    }

    #[test]
    fn unknown_numbers_are_refused_with_the_known_ones() {
        assert_eq!(problem("lung=yes"), None);
        assert!(problem("length").unwrap().contains("'largest'"));
        let model = model_with("asia", "sequential", &[]);
        let network = model.document.as_ref().unwrap().network();
        let wrong = state_of(network, "lung=maybe").unwrap().unwrap_err();
        assert_eq!(wrong, "variable 'lung' has no state 'maybe'; expected one of 'yes', 'no'");
    }
}
