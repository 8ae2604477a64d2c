//! The costs of the elimination, and the list of variables.

use eframe::egui::{Button, Grid, Label, ScrollArea, Ui, WidgetInfo, WidgetType, vec2};

use crate::app::state::command::{Commands, EliminationCommand};
use crate::app::state::elimination::HandElimination;
use crate::app::widgets::scroll_to_focus::scroll_to_focus;
use crate::graph::{EliminationCost, EliminationStep};
use crate::network::{Network, VariableId};
use crate::numbers::{counted, share, thousands};

/// Draws the costs, the list of variables that remain, and the order so far. A click on a variable
/// eliminates it. Returns the variable under the pointer or with the keyboard focus.
pub(super) fn show(
    ui: &mut Ui,
    network: &Network,
    elimination: &HandElimination,
    pointed: Option<VariableId>,
    commands: &mut Commands,
) -> Option<VariableId> {
    costs(ui, elimination);
    ui.separator();
    let scroll = ScrollArea::vertical().id_salt("elimination list").auto_shrink(false);
    let shown = scroll.show(ui, |ui| {
        let hovered = remaining(ui, network, elimination, pointed, commands);
        order(ui, network, elimination);
        scroll_to_focus(ui);
        hovered
    });
    shown.inner
}

/// Draws the cost so far next to those of min-fill and of the best known order.
fn costs(ui: &mut Ui, elimination: &HandElimination) {
    let yours = elimination.done.cost();
    let costs = [yours, elimination.min_fill, elimination.best];
    let is_complete = elimination.done.is_complete();
    Grid::new("costs of elimination").striped(true).spacing(vec2(16.0, 3.0)).show(ui, |ui| {
        ui.label("");
        ui.strong(if is_complete { "your order" } else { "your order so far" });
        ui.strong("min-fill");
        ui.strong("best known");
        ui.end_row();
        let mut row = |name: &str, value: fn(&EliminationCost) -> u64| {
            ui.label(name);
            for cost in &costs {
                ui.monospace(thousands(value(cost)));
            }
            ui.end_row();
        };
        row("fill edges", |cost| cost.fill_edges as u64);
        row("cliques", |cost| cost.cliques as u64);
        row("entries, largest", |cost| cost.largest);
        row("entries, all", |cost| cost.total);
    });
    let text = if is_complete {
        verdict(&yours, &elimination.best)
    } else if yours.total > elimination.best.total {
        "The tables already have more entries than those of the best known order.".to_owned()
    } else {
        "Eliminate all variables to compare: the fewer table entries, the faster the propagation."
            .to_owned()
    };
    ui.strong(text);
}

/// How good a complete order of cost `yours` is.
fn verdict(yours: &EliminationCost, best: &EliminationCost) -> String {
    let more = yours.total.saturating_sub(best.total);
    if yours.total < best.total {
        return "Your order needs fewer table entries than the best known one.".to_owned();
    }
    if more == 0 {
        return "Your order needs as few table entries as the best known one.".to_owned();
    }
    let percent = share(more as f64, best.total.max(1) as f64);
    format!("The tables have {percent} more entries than those of the best known order.")
}

/// What eliminating a variable does, in words.
pub(super) fn effect(network: &Network, step: &EliminationStep) -> String {
    let edge = |&(a, b): &(VariableId, VariableId)| {
        format!("{} – {}", network[a].name(), network[b].name())
    };
    let edges: Vec<String> = step.fill_edges.iter().map(edge).collect();
    let added = match edges.as_slice() {
        [] => "adds no fill edge".to_owned(),
        edges => format!(
            "adds {}: {}",
            counted(edges.len(), "fill edge", "fill edges"),
            edges.join(", ")
        ),
    };
    let clique = if step.is_maximal { "" } else { ", part of an earlier clique" };
    let size = counted(step.cluster.len(), "variable", "variables");
    format!("{added}; table of {} entries over {size}{clique}", thousands(step.entries))
}

/// Draws the variables that remain. Returns the one under the pointer or with the keyboard focus.
fn remaining(
    ui: &mut Ui,
    network: &Network,
    elimination: &HandElimination,
    pointed: Option<VariableId>,
    commands: &mut Commands,
) -> Option<VariableId> {
    let steps: Vec<EliminationStep> =
        elimination.done.remaining().filter_map(|v| elimination.done.preview(v)).collect();
    if steps.is_empty() {
        return None;
    }
    let mut hovered = None;
    Grid::new("variables to eliminate").striped(true).spacing(vec2(14.0, 3.0)).show(ui, |ui| {
        for heading in ["eliminate", "neighbours", "fill edges", "entries"] {
            ui.weak(heading);
        }
        ui.end_row();
        for step in &steps {
            let name = network[step.variable].name();
            let button = ui.add(Button::new(name).selected(pointed == Some(step.variable)));
            button.widget_info(|| {
                let effect = effect(network, step);
                let label = format!("Eliminate {name}: {effect}");
                WidgetInfo::labeled(WidgetType::Button, true, label)
            });
            if button.hovered() || button.has_focus() {
                hovered = Some(step.variable);
            }
            if button.clicked() {
                commands.push(EliminationCommand::Eliminate(step.variable));
            }
            ui.monospace((step.cluster.len() - 1).to_string());
            ui.monospace(step.fill_edges.len().to_string());
            ui.monospace(thousands(step.entries));
            ui.end_row();
        }
    });
    hovered
}

/// Draws the order so far, with the clique of each variable.
fn order(ui: &mut Ui, network: &Network, elimination: &HandElimination) {
    let steps = elimination.done.steps();
    if steps.is_empty() {
        return;
    }
    ui.add_space(6.0);
    let is_complete = elimination.done.is_complete();
    ui.strong(if is_complete { "Your order" } else { "Your order so far" });
    for (index, step) in steps.iter().enumerate() {
        let names: Vec<&str> = step.cluster.iter().map(|&v| network[v].name()).collect();
        let names = format!("{{{}}}", names.join(", "));
        let clique = if step.is_maximal {
            format!("clique {names}, {} entries", thousands(step.entries))
        } else {
            format!("{names} lies in an earlier clique, no table")
        };
        let text = format!(
            "{}. {}: {clique}, {}",
            index + 1,
            network[step.variable].name(),
            counted(step.fill_edges.len(), "fill edge", "fill edges"),
        );
        ui.add(Label::new(text).wrap());
    }
}
