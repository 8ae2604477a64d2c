//! Figures of records in the window. The layout comes from `experiment::chart`; this module draws
//! it with `egui_plot` and finds the point under the pointer.

pub mod axis;
mod hit;
mod labels;
mod legend;
mod names;
mod panel;

use eframe::egui::{self, Id, Ui};

use crate::experiment::chart::{Figure, Legend, Panel, Scale};

pub use hit::describe;
pub use legend::show_legend;
pub use panel::{HighlightedPoint, PanelView, fixed_plot};

/// Minimum width, in points, of a panel that has another panel next to it. If there is less room,
/// fewer panels are next to each other.
const MIN_WIDTH: f32 = 230.0;

/// Minimum height of a panel, in points.
const MIN_HEIGHT: f32 = 160.0;
/// Maximum height of a panel, in points.
const MAX_HEIGHT: f32 = 340.0;

/// Draws `figure` with its title and legend, and a description of the point under the pointer.
pub fn show(ui: &mut Ui, id: Id, figure: &Figure) {
    ui.strong(&figure.title);
    let legend = Legend::of(&figure.panels);
    show_legend(ui, &legend);
    let needed = figure.panels.iter().map(width_for_names).fold(MIN_WIDTH, f32::max);
    let gap = ui.spacing().item_spacing.x;
    let fitting = ((ui.available_width() + gap) / (needed + gap)).floor().max(1.0) as usize;
    let across = figure.across.clamp(1, fitting).min(figure.panels.len().max(1));
    let width = (ui.available_width() - gap * (across - 1) as f32) / across as f32;
    let height = (width * 0.62).clamp(MIN_HEIGHT, MAX_HEIGHT);
    for (row, panels) in figure.panels.chunks(across).enumerate() {
        ui.horizontal_top(|ui| {
            for (column, panel) in panels.iter().enumerate() {
                // 24 points are the height of the panel's title.
                ui.allocate_ui(egui::vec2(width, height + 24.0), |ui| {
                    ui.vertical(|ui| {
                        ui.set_width(width);
                        let id = id.with((row, column));
                        show_panel(
                            ui,
                            PanelView { id, panel, legend: &legend, height, highlighted: &[] },
                        );
                    });
                });
            }
        });
    }
}

/// Draws a panel with a tooltip for the point under the pointer.
fn show_panel(ui: &mut Ui, view: PanelView) {
    let (hit, response) = view.show(ui);
    if let Some(point) = hit {
        response.on_hover_ui_at_pointer(|ui| {
            ui.set_max_width(320.0);
            describe(ui, view.panel, point);
        });
    }
}

/// Width in points at which a panel shows the names on its horizontal axis in full; 0 if that axis
/// has no names.
fn width_for_names(panel: &Panel) -> f32 {
    match &panel.x.scale {
        Scale::Categories(names) => panel::AXIS_WIDTH + names::width_for(names),
        Scale::Linear | Scale::Log => 0.0,
    }
}
