//! Details of a clique or a separator: its variables, sizes and neighbours.

use eframe::egui::{Grid, Ui};

use super::DetailsScene;
use super::beliefs;
use super::links::{Links, facts, section, text_width, title};
use crate::app::state::highlight::Item;
use crate::app::widgets::naming;
use crate::graph::{CliqueId, SeparatorId, TreeLink};
use crate::network::{FactorId, VariableId};
use crate::numbers::{counted, human_bytes, share, thousands};
use crate::propagation::Phase;

/// Draws the details of clique `id`.
pub(super) fn show(ui: &mut Ui, scene: &DetailsScene<'_>, id: CliqueId, links: &mut Links<'_>) {
    let (compiled, tree) = (scene.compiled, scene.compiled.tree());
    let Some(clique) = tree.cliques().get(id.index()) else { return };
    let subtitle = if tree.root() == id { "clique, the root" } else { "clique" };
    title(ui, &naming::clique_id(id), subtitle);
    let total = compiled.statistics().total_clique_entries as f64;
    facts(
        ui,
        "clique facts",
        [
            ("entries", thousands(clique.entries)),
            ("share", format!("{} of all entries", share(clique.entries as f64, total))),
            ("bytes", bytes(scene, clique.entries)),
            ("depth", thousands(tree.depth_of(id) as u64)),
        ],
    );
    beliefs::show(ui, scene, id, links);
    variables(ui, scene, &clique.variables, links);
    assigned_tables(ui, scene, id, links);
    neighbours(ui, scene, id, links);
}

/// Lists the tables that are multiplied into clique `id` at the start.
fn assigned_tables(ui: &mut Ui, scene: &DetailsScene<'_>, id: CliqueId, links: &mut Links<'_>) {
    let network = scene.document.network();
    let assigned: Vec<FactorId> =
        network.factor_ids().filter(|&factor| scene.compiled.factor_home(factor) == id).collect();
    section(ui, &format!("Tables multiplied in ({})", assigned.len()));
    if assigned.is_empty() {
        ui.weak("none: without findings, all entries of the clique are 1 initially");
    }
    for &factor in &assigned {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            let scope = network.factor(factor).scope();
            // The child of a CPT is last in the scope but first in the notation P(child | parents).
            let (first, rest, after_first) = match scope {
                [parents @ .., child] if network.is_bayesian() => (Some(child), parents, " | "),
                [first, rest @ ..] => (Some(first), rest, ", "),
                [] => (None, scope, ""),
            };
            ui.weak(if network.is_bayesian() { "P(" } else { "\u{3c6}(" });
            if let Some(&first) = first {
                links.variable(ui, first);
            }
            for (index, &variable) in rest.iter().enumerate() {
                ui.weak(if index == 0 { after_first } else { ", " });
                links.variable(ui, variable);
            }
            ui.weak(")");
        });
    }
}

/// Lists the neighbours of clique `id` in the junction tree, the parent first.
fn neighbours(ui: &mut Ui, scene: &DetailsScene<'_>, id: CliqueId, links: &mut Links<'_>) {
    let (compiled, tree) = (scene.compiled, scene.compiled.tree());
    let count = tree.children(id).len() + usize::from(tree.parent(id).is_some());
    section(ui, &format!("Neighbours ({count})"));
    Grid::new("neighbours").num_columns(3).spacing([10.0, 3.0]).show(ui, |ui| {
        let parent = tree.parent(id).map(|link| ("parent", link));
        let children = tree.children(id).iter().map(|&link| ("child", link));
        for (kind, TreeLink { clique, separator }) in parent.into_iter().chain(children) {
            ui.weak(kind);
            links.link(ui, naming::clique_id(clique), Item::Clique(clique));
            links.separator(ui, compiled, separator);
            ui.end_row();
        }
    });
}

/// Draws the details of separator `id`.
pub(super) fn show_separator(
    ui: &mut Ui,
    scene: &DetailsScene<'_>,
    id: SeparatorId,
    links: &mut Links<'_>,
) {
    let compiled = scene.compiled;
    let Some(separator) = compiled.tree().separators().get(id.index()) else { return };
    title(ui, &naming::separator_id(id), "separator");
    facts(
        ui,
        "separator facts",
        [("entries", thousands(separator.entries)), ("bytes", bytes(scene, separator.entries))],
    );
    if separator.variables.is_empty() {
        ui.weak("It connects two parts of the network that have no variable in common.");
    } else {
        variables(ui, scene, &separator.variables, links);
    }
    section(ui, "Between");
    Grid::new("ends").num_columns(2).show(ui, |ui| {
        for (kind, clique) in [("parent", separator.parent), ("child", separator.child)] {
            ui.weak(kind);
            links.clique(ui, compiled, clique);
            ui.end_row();
        }
    });
    section(ui, "Messages");
    let trace = scene.document.trace();
    Grid::new("messages").num_columns(3).spacing([10.0, 3.0]).show(ui, |ui| {
        for phase in [Phase::Collect, Phase::Distribute] {
            let Some(message) = compiled.plan().message_over(id, phase) else { continue };
            ui.weak(phase.name());
            links.message(ui, compiled, message);
            let timing = trace
                .as_ref()
                .and_then(|trace| trace.messages.iter().find(|timing| timing.message == message));
            ui.label(timing.map_or("-".to_owned(), |timing| {
                naming::message_time(timing.duration.as_nanos() as f64, timing.shared_with)
            }));
            ui.end_row();
        }
    });
}

/// Lists `variables` with their numbers of states.
fn variables(
    ui: &mut Ui,
    scene: &DetailsScene<'_>,
    variables: &[VariableId],
    links: &mut Links<'_>,
) {
    section(ui, &format!("Variables ({})", variables.len()));
    const GAP: f32 = 14.0;
    let network = scene.document.network();
    let most = variables.iter().map(|&variable| network[variable].cardinality()).max();
    let states = |cardinality| counted(cardinality, "state", "states");
    let reserved = GAP + text_width(ui, &states(most.unwrap_or(0)));
    Grid::new("variables").num_columns(2).spacing([GAP, 3.0]).show(ui, |ui| {
        for &variable in variables {
            let name = network[variable].name();
            links.fitted_link(ui, name, Item::Variable(variable), reserved);
            ui.weak(states(network[variable].cardinality()));
            ui.end_row();
        }
    });
}

/// The memory that a table of `entries` entries takes up in the precision of the engine, such as
/// `1.50 KiB in f64`.
fn bytes(scene: &DetailsScene<'_>, entries: u64) -> String {
    let precision = scene.model.compute.engine.precision;
    format!("{} in {precision}", human_bytes(entries.saturating_mul(precision.bytes())))
}
