//! The window in which a likelihood is entered.

use eframe::egui::{self, Ui};

use crate::app::state::command::{Commands, EvidenceCommand};
use crate::app::state::document::Document;
use crate::network::{Finding, VariableId};

/// A window with a weight for each state.
pub(super) struct LikelihoodEditor {
    variable: VariableId,
    /// The weight of each state.
    weights: Vec<f64>,
    /// Serial number of the document; the editor closes when another document is opened.
    serial: u64,
}

impl LikelihoodEditor {
    /// An editor for `variable` that starts with the weights of its finding or, without a finding,
    /// with equal weights.
    pub(super) fn new(document: &Document, variable: VariableId) -> Self {
        let states = 0..document.network()[variable].cardinality();
        let weight =
            |state| document.evidence.get(variable).map_or(1.0, |finding| finding.weight(state));
        Self { variable, weights: states.map(weight).collect(), serial: document.serial }
    }

    /// Draws the editor. Returns whether it stays open.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        commands: &mut Commands,
    ) -> bool {
        if document.serial != self.serial {
            return false;
        }
        let variable = &document.network()[self.variable];
        let mut open = true;
        let mut done = false;
        egui::Window::new(format!("Likelihood of {}", variable.name()))
            .id(egui::Id::new("likelihood editor"))
            .collapsible(false)
            .resizable(false)
            .open(&mut open)
            .show(ui.ctx(), |ui| {
                ui.label("P(observation | state) for each state, up to a common factor.");
                egui::ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
                    egui::Grid::new("weights").num_columns(2).show(ui, |ui| {
                        for (state, weight) in variable.states().iter().zip(&mut self.weights) {
                            let label = ui.label(state);
                            let slider = egui::Slider::new(weight, 0.0..=1.0).fixed_decimals(3);
                            ui.add(slider.clamping(egui::SliderClamping::Never))
                                .labelled_by(label.id);
                            *weight = weight.max(0.0);
                            ui.end_row();
                        }
                    });
                });
                ui.horizontal(|ui| {
                    let usable = self.weights.iter().any(|&weight| weight > 0.0);
                    let enter = ui.add_enabled(usable, egui::Button::new("Enter"));
                    if enter
                        .on_disabled_hover_text("At least one weight must be above zero")
                        .clicked()
                    {
                        let finding = Finding::Likelihood(self.weights.clone().into());
                        commands.push(EvidenceCommand::Set(self.variable, finding));
                        done = true;
                    }
                    if ui.button("Retract").clicked() {
                        commands.push(EvidenceCommand::Retract(self.variable));
                        done = true;
                    }
                    if ui.button("Close").clicked() {
                        done = true;
                    }
                });
            });
        open && !done
    }
}
