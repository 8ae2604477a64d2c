//! Details of a variable: evidence, states, family, cliques and CPT.

use eframe::egui::{Grid, Rangef, RichText, TextStyle, Ui, WidgetInfo, WidgetType};

use super::cpt;
use super::links::{Links, bar, section, title};
use crate::app::panes::common::describe_finding;
use crate::app::state::command::{Commands, EvidenceCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::{BeliefStatus, Model};
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::app::widgets::short_text::shortened;
use crate::app::widgets::state_bar::faded;
use crate::graph::CliqueId;
use crate::network::{FactorId, Finding, VariableId};
use crate::numbers::{counted, percent};
use crate::propagation::{CompiledNetwork, Home};

/// Width in points of everything in the row of a state but its name and its bar: posterior, prior
/// and the gaps. With less, the prior is cut off at the edge of the pane.
const NUMBERS_WIDTH: f32 = 146.0;
/// Minimum width in points of the name of a state, so that it can be clicked.
const MIN_NAME_WIDTH: f32 = 30.0;
/// Minimum and maximum width in points of the bar of a state.
const BAR_WIDTHS: Rangef = Rangef { min: 20.0, max: 90.0 };

/// Draws the details of variable `id`.
pub(super) fn show(ui: &mut Ui, document: &Document, id: VariableId, links: &mut Links<'_>) {
    let network = document.network();
    let Some(variable) = network.variables().get(id.index()) else { return };
    title(
        ui,
        variable.name(),
        &format!("variable, {}", counted(variable.cardinality(), "state", "states")),
    );
    if let Some(title) = naming::title(network, id) {
        ui.label(title);
    }
    evidence(ui, document, id, links.commands);
    states(ui, links.model, document, id, links.commands);
    if network.is_bayesian() {
        let parents = network.parents(id);
        section(ui, &format!("Parents ({})", parents.len()));
        links.variables(ui, parents);
        let children = network.children(id);
        section(ui, &format!("Children ({})", children.len()));
        links.variables(ui, children);
    }
    if let Some(compiled) = &document.compiled {
        cliques(ui, compiled, id, links);
    }
    if network.is_bayesian() {
        cpt::show(ui, network, id);
    }
}

/// Draws the finding of variable `id`, if there is one, and the button that retracts it.
fn evidence(ui: &mut Ui, document: &Document, id: VariableId, commands: &mut Commands) {
    let Some(finding) = document.evidence.get(id) else { return };
    let variable = &document.network()[id];
    let colour = Palette::of(ui).evidence;
    ui.horizontal_wrapped(|ui| {
        let text = match finding {
            Finding::Observed(state) => format!("observed: {}", variable.states()[*state]),
            Finding::Likelihood(_) => describe_finding(document, id, finding),
        };
        ui.label(RichText::new(text).strong().color(colour));
        if ui.button("Retract").on_hover_text("Retract the finding of this variable").clicked() {
            commands.push(EvidenceCommand::Retract(id));
        }
    });
}

/// Draws the table of the states of variable `id` with their posteriors, or the beliefs so far, and
/// their priors. A click on a state observes it or, if it is observed, retracts the finding.
fn states(
    ui: &mut Ui,
    model: &Model,
    document: &Document,
    id: VariableId,
    commands: &mut Commands,
) {
    let palette = Palette::of(ui);
    let variable = &document.network()[id];
    let posterior = model.belief(id);
    let prior = document.prior.as_ref().map(|prior| prior.posteriors.of(id));
    let finding = document.evidence.get(id);
    let stale = model.belief_status() == BeliefStatus::Stale;
    let probability =
        |table: Option<&[f64]>, state: usize| table.and_then(|table| table.get(state).copied());
    // In a narrow pane the bars shrink, then the names, not the numbers.
    let room = (ui.available_width() - NUMBERS_WIDTH).max(0.0);
    let (names, width) = names_and_bar(ui, variable.states(), room);
    Grid::new("states").num_columns(4).spacing([10.0, 3.0]).show(ui, |ui| {
        ui.weak("state");
        ui.weak("");
        if model.belief_status() == BeliefStatus::SoFar {
            ui.weak("so far").on_hover_text("The belief so far, while messages are passed");
        } else {
            ui.weak("posterior").on_hover_text("P(state | evidence)");
        }
        ui.weak("prior").on_hover_text("P(state), without evidence");
        ui.end_row();
        for (state, label) in names.into_iter().enumerate() {
            let observed = matches!(finding, Some(Finding::Observed(finding)) if *finding == state);
            let name = RichText::new(&label);
            let name = if observed { name.strong().color(palette.evidence) } else { name };
            let action = if observed { "Retract this finding" } else { "Observe this state" };
            let full = &variable.states()[state];
            let is_whole = label == *full;
            let hint = if is_whole { action.to_owned() } else { format!("{full}: {action}") };
            let link = ui.link(name).on_hover_text(hint);
            link.widget_info(|| WidgetInfo::labeled(WidgetType::Link, true, full));
            if link.clicked() {
                commands.push(EvidenceCommand::Toggle(id, state));
            }
            let belief = probability(posterior, state);
            let colour = if observed { palette.evidence } else { palette.posterior };
            let colour = if stale { faded(colour) } else { colour };
            let mark = probability(prior, state).map(|prior| (prior as f32, palette.prior));
            bar(ui, width, belief.unwrap_or(0.0) as f32, colour, mark);
            let text = belief.map_or_else(|| "-".to_owned(), percent);
            if stale {
                ui.weak(text)
            } else {
                ui.label(text)
            };
            ui.weak(probability(prior, state).map_or_else(|| "-".to_owned(), percent));
            ui.end_row();
        }
    });
}

/// The names of `states`, shortened if needed, and the width of a bar, for `room` points for both.
fn names_and_bar(ui: &Ui, states: &[String], room: f32) -> (Vec<String>, f32) {
    let font = TextStyle::Body.resolve(ui.style());
    let max_name = (room - BAR_WIDTHS.min).max(MIN_NAME_WIDTH);
    ui.fonts_mut(|fonts| {
        let mut width_of = |letter| fonts.glyph_width(&font, letter);
        let names = states.iter().map(|name| shortened(name, max_name, &mut width_of).into_owned());
        let names: Vec<String> = names.collect();
        let widths = names.iter().map(|name| name.chars().map(&mut width_of).sum::<f32>());
        let widest = widths.fold(0.0, f32::max);
        (names, BAR_WIDTHS.clamp(room - widest))
    })
}

/// Lists the cliques that contain variable `id`, and says which of them has its CPT, and from which
/// clique or separator its posterior is read.
fn cliques(ui: &mut Ui, compiled: &CompiledNetwork, id: VariableId, links: &mut Links<'_>) {
    let tree = compiled.tree();
    let holds = |clique: &CliqueId| tree[*clique].variables.binary_search(&id).is_ok();
    let cliques: Vec<CliqueId> = tree.clique_ids().filter(holds).collect();
    section(ui, &format!("Cliques ({})", cliques.len()));
    links.cliques(ui, compiled, &cliques);
    ui.add_space(4.0);
    ui.horizontal_wrapped(|ui| {
        if compiled.network().is_bayesian() {
            ui.weak("its CPT is in");
            let home = compiled.factor_home(FactorId::new(id.index()));
            links.link(ui, naming::clique_id(home), Item::Clique(home));
            ui.weak("and");
        }
        ui.weak("its posterior is read from");
        match compiled.variable_home(id) {
            Home::Clique(clique) => links.clique(ui, compiled, clique),
            Home::Separator(separator) => links.separator(ui, compiled, separator),
        };
    });
}
