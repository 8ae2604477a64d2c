//! Figures of records: panels with a legend that they share.

pub mod axis;
mod hit;
mod legend;
mod panel;

use eframe::egui::{self, Id, Ui};

use crate::experiment::{Figure, Panel, Scale};

pub use hit::{Hit, describe};
pub use legend::Legend;
pub use panel::{Lit, PanelView};

/// Panels are not drawn narrower than this, in points.
const NARROWEST: f32 = 300.0;

/// Panels are not drawn higher than this, in points.
const HIGHEST: f32 = 340.0;

/// Width of a panel in which the names on its axis are whole, in points.
fn names_width(panel: &Panel) -> f32 {
    let Scale::Categories(names) = &panel.x.scale else { return 0.0 };
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    panel::width_for(names.len(), longest)
}

/// Draws `figure` with its title, its legend and what is said of the point under the pointer.
pub fn show(ui: &mut Ui, id: Id, figure: &Figure) {
    ui.strong(&figure.title);
    let legend = Legend::of(ui, &figure.panels);
    legend.show(ui);
    let width = ui.available_width();
    let needed = figure.panels.iter().map(names_width).fold(NARROWEST, f32::max);
    let fit = (width / needed).floor().max(1.0) as usize;
    let across = figure.across.clamp(1, fit).min(figure.panels.len().max(1));
    let gap = ui.spacing().item_spacing.x;
    let each = (width - gap * (across - 1) as f32) / across as f32;
    let height = (each * 0.62).clamp(160.0, HIGHEST);
    for (row, panels) in figure.panels.chunks(across).enumerate() {
        ui.horizontal_top(|ui| {
            for (column, panel) in panels.iter().enumerate() {
                ui.allocate_ui(egui::vec2(each, height + 24.0), |ui| {
                    ui.vertical(|ui| {
                        ui.set_width(each);
                        let id = id.with((row, column));
                        let view = PanelView { id, panel, legend: &legend, height, lit: &[] };
                        let (hit, response) = view.show(ui);
                        if let Some(hit) = hit {
                            response.on_hover_ui_at_pointer(|ui| {
                                ui.set_max_width(320.0);
                                describe(ui, panel, hit);
                            });
                        }
                    });
                });
            }
        });
    }
}
