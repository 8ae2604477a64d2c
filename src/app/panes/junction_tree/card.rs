//! The card shown at the pointer over a clique or a separator.

use eframe::egui::{Grid, RichText, Ui};

use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::graph::{CliqueId, SeparatorId};
use crate::network::VariableId;
use crate::numbers;
use crate::propagation::CompiledNetwork;

/// Maximum number of variables, and of neighbours, that are listed; further ones are only counted.
const MAX_LISTED: usize = 12;

/// Approximate maximum number of characters for the state names of a variable; further states are
/// left out.
const MAX_STATE_CHARACTERS: usize = 44;

/// Size of the letters in the lists of the card, in points.
const SMALL_TEXT: f32 = 12.0;

/// Draws the card of a clique or a separator, and nothing for other items.
pub fn show(ui: &mut Ui, model: &Model, compiled: &CompiledNetwork, item: &Item) {
    ui.set_max_width(420.0);
    match *item {
        Item::Clique(clique) => clique_card(ui, model, compiled, clique),
        Item::Separator(separator) => separator_card(ui, model, compiled, separator),
        _ => {}
    }
}

/// Draws the card of clique `id`.
fn clique_card(ui: &mut Ui, model: &Model, compiled: &CompiledNetwork, id: CliqueId) {
    let tree = compiled.tree();
    let root = if tree.root() == id { ", the root" } else { "" };
    ui.strong(format!("Clique {}{root}", naming::clique_id(id)));
    sizes(ui, model, tree[id].variables.len(), tree[id].entries);
    variables(ui, model, compiled, &tree[id].variables);
    let parent = tree.parent(id).map(|link| ("parent", link));
    let links: Vec<_> =
        parent.into_iter().chain(tree.children(id).iter().map(|&l| ("child", l))).collect();
    if links.is_empty() {
        return;
    }
    ui.add_space(4.0);
    Grid::new("separators").num_columns(3).spacing([10.0, 1.0]).show(ui, |ui| {
        for (relation, link) in links.iter().take(MAX_LISTED) {
            let separator = &tree[link.separator];
            let name = naming::clique_id(link.clique);
            ui.label(RichText::new(format!("{relation} {name}")).size(SMALL_TEXT));
            let count = separator.variables.len();
            ui.label(RichText::new(format!("{count} shared")).size(SMALL_TEXT).weak());
            let entries = numbers::counted(separator.entries as usize, "entry", "entries");
            ui.label(RichText::new(entries).size(SMALL_TEXT).weak());
            ui.end_row();
        }
    });
    show_rest(ui, links.len(), "more neighbour", "more neighbours");
}

/// Draws the card of separator `id`.
fn separator_card(ui: &mut Ui, model: &Model, compiled: &CompiledNetwork, id: SeparatorId) {
    let separator = &compiled.tree()[id];
    let [parent, child] = [separator.parent, separator.child].map(naming::clique_id);
    ui.strong(format!("Separator {} between {parent} and {child}", naming::separator_id(id)));
    sizes(ui, model, separator.variables.len(), separator.entries);
    variables(ui, model, compiled, &separator.variables);
    if separator.variables.is_empty() {
        ui.label("It connects two parts of the network that have no variable in common.");
    }
}

/// Draws the number of variables, the number of entries and the memory of a table.
fn sizes(ui: &mut Ui, model: &Model, count: usize, entries: u64) {
    let precision = model.compute.engine.precision;
    let bytes = entries.saturating_mul(precision.bytes());
    let count = numbers::counted(count, "variable", "variables");
    let entries = numbers::counted(entries as usize, "entry", "entries");
    ui.label(format!("{count} · {entries} · {} in {precision}", numbers::human_bytes(bytes)));
}

/// Lists `variables` with their numbers of states and the names of some states.
fn variables(ui: &mut Ui, model: &Model, compiled: &CompiledNetwork, variables: &[VariableId]) {
    let evidence = model.document.as_ref().map(|document| &document.evidence);
    Grid::new("variables").num_columns(3).spacing([10.0, 1.0]).show(ui, |ui| {
        for &id in variables.iter().take(MAX_LISTED) {
            let variable = &compiled.network()[id];
            let has_evidence = evidence.is_some_and(|evidence| evidence.get(id).is_some());
            let name = RichText::new(variable.name()).size(SMALL_TEXT);
            ui.label(if has_evidence { name.color(Palette::of(ui).evidence) } else { name });
            ui.label(RichText::new(variable.cardinality().to_string()).size(SMALL_TEXT));
            ui.label(RichText::new(listed_states(variable.states())).size(SMALL_TEXT).weak());
            ui.end_row();
        }
    });
    show_rest(ui, variables.len(), "more variable", "more variables");
}

/// The names of as many states as fit, but at least one.
fn listed_states(states: &[String]) -> String {
    let mut text = String::new();
    for (index, state) in states.iter().enumerate() {
        if index > 0 && text.chars().count() + state.chars().count() > MAX_STATE_CHARACTERS {
            return format!("{text}, …");
        }
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(state);
    }
    text
}

/// Says how many of `count` items are left out, if any.
fn show_rest(ui: &mut Ui, count: usize, singular: &str, plural: &str) {
    if count > MAX_LISTED {
        let text = format!("and {}", numbers::counted(count - MAX_LISTED, singular, plural));
        ui.label(RichText::new(text).size(SMALL_TEXT).weak());
    }
}
