//! Sliders for the likelihoods of a variable, below the list.

use eframe::egui::{self, ScrollArea, Slider, SliderClamping, Ui, WidgetInfo};

use crate::app::state::command::{Command, Commands, EvidenceCommand, ViewCommand};
use crate::app::state::document::Document;
use crate::app::widgets::scroll_to_focus::scroll_to_focus;
use crate::app::widgets::short_text::one_line;
use crate::app::widgets::state_bar::small_font;
use crate::network::{Finding, VariableId};

/// Maximum height in points of the area of the sliders. If they need more, the area scrolls.
const MAX_HEIGHT: f32 = 180.0;
/// Share of the width for the name of a state.
const LABEL_SHARE: f32 = 0.38;

/// The sliders. The weights themselves are in the evidence: a slider changes them as it moves.
#[derive(Default)]
pub(super) struct LikelihoodSliders {
    /// Number of drags of a slider, and of changes without a drag, such as a typed number. All
    /// changes of one drag are undone together.
    gesture: u64,
}

impl LikelihoodSliders {
    /// Draws a slider for each state of `variable`.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        variable: VariableId,
        commands: &mut Commands,
    ) {
        let name = document.network()[variable].name();
        ui.separator();
        ui.horizontal(|ui| {
            ui.strong(format!("Likelihoods of {name}")).on_hover_text(
                "P(observation | state) for each state, up to a common factor. At least one must \
                 be above zero.",
            );
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Done").on_hover_text("Hide the sliders").clicked() {
                    commands.push(ViewCommand::EditLikelihood(None));
                }
            });
        });
        let area = ScrollArea::vertical().id_salt("likelihoods").max_height(MAX_HEIGHT);
        area.auto_shrink([false, true]).show(ui, |ui| {
            self.sliders(ui, document, variable, commands);
            scroll_to_focus(ui);
        });
    }

    /// Draws the sliders.
    fn sliders(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        variable: VariableId,
        commands: &mut Commands,
    ) {
        let name = document.network()[variable].name();
        let states = document.network()[variable].states();
        let finding = document.evidence.get(variable);
        let weight = |state: usize| finding.map_or(1.0, |finding| finding.weight(state));
        let weights: Vec<f64> = (0..states.len()).map(weight).collect();
        let label_width = LABEL_SHARE * ui.available_width();
        for (state, label) in states.iter().enumerate() {
            let mut value = weights[state];
            ui.horizontal(|ui| {
                let colour = ui.visuals().text_color();
                let galley = one_line(ui.painter(), label, small_font(ui), colour, label_width);
                let size = egui::vec2(label_width, ui.spacing().interact_size.y);
                let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
                let at = rect.left_center() - egui::vec2(0.0, galley.size().y / 2.0);
                ui.painter().galley(at, galley, colour);
                let room = ui.available_width() - ui.spacing().interact_size.x - 16.0;
                ui.spacing_mut().slider_width = room.max(40.0);
                let slider = Slider::new(&mut value, 0.0..=1.0)
                    .fixed_decimals(3)
                    .clamping(SliderClamping::Never);
                let response = ui.add(slider);
                response.widget_info(|| {
                    WidgetInfo::slider(true, value, format!("Likelihood of {name} = {label}"))
                });
                // The value may still change in the frame in which the slider is released.
                let is_dragged = response.dragged() || response.drag_stopped();
                if response.drag_started() || !is_dragged && response.changed() {
                    self.gesture += 1;
                }
                if response.changed() {
                    commands.extend(self.change(variable, &weights, state, value));
                }
            });
        }
    }

    /// The command that gives `state` the weight `value`; `None` if no state would have a weight
    /// above zero.
    fn change(
        &self,
        variable: VariableId,
        weights: &[f64],
        state: usize,
        value: f64,
    ) -> Option<Command> {
        let mut weights: Box<[f64]> = weights.into();
        weights[state] = if value.is_finite() { value.max(0.0) } else { 0.0 };
        let is_usable = weights.iter().any(|&weight| weight > 0.0);
        let finding = Finding::Likelihood(weights);
        let gesture = self.gesture;
        is_usable.then(|| EvidenceCommand::Adjust { variable, finding, gesture }.into())
    }
}
