//! What a clique believes about its variables while the user steps through the messages.

use eframe::egui::{Grid, Ui};

use super::DetailsScene;
use super::links::{Links, bar, section, text_width};
use crate::app::state::highlight::Item;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::graph::CliqueId;
use crate::numbers::percent;

/// Width of a bar in points.
const BAR_WIDTH: f32 = 70.0;

/// Space between two columns in points.
const GAP: f32 = 10.0;

/// Draws the beliefs of clique `id` after the messages passed so far. Draws nothing if the user is
/// not stepping, after the last message, in slow motion, and until these beliefs are computed.
pub(super) fn show(ui: &mut Ui, scene: &DetailsScene<'_>, id: CliqueId, links: &mut Links<'_>) {
    let Some(beliefs) = scene.model.beliefs_so_far() else { return };
    let colour = Palette::of(ui).posterior;
    let name = naming::clique_id(id);
    section(ui, &format!("Beliefs of {name} so far"));
    let network = scene.document.network();
    let labels = beliefs.of_clique(id).flat_map(|(variable, _)| network[variable].states());
    let label_width = labels.map(|label| text_width(ui, label)).fold(0.0, f32::max);
    let beliefs_of_all = beliefs.of_clique(id).flat_map(|(_, states)| states);
    let belief_width = beliefs_of_all.map(|&p| text_width(ui, &percent(p))).fold(0.0, f32::max);
    let reserved = label_width + BAR_WIDTH + belief_width + 3.0 * GAP;
    Grid::new(("beliefs", id)).num_columns(4).spacing([GAP, 3.0]).show(ui, |ui| {
        for (variable, states) in beliefs.of_clique(id) {
            let variable_name = network[variable].name();
            let labels = network[variable].states();
            for (state, (label, &p)) in labels.iter().zip(states).enumerate() {
                if state == 0 {
                    links.fitted_link(ui, variable_name, Item::Variable(variable), reserved);
                } else {
                    ui.label("");
                }
                ui.weak(label);
                bar(ui, BAR_WIDTH, p as f32, colour, None);
                ui.label(percent(p));
                ui.end_row();
            }
        }
    });
}
