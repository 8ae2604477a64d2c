//! Draws the panes in their tabs.

use eframe::egui::{self, Frame, Margin, Ui, WidgetText};
use egui_tiles::{Behavior, SimplificationOptions, TileId, Tree, UiResponse};

use crate::app::panes::Panes;
use crate::app::state::command::Commands;
use crate::app::state::model::Model;
use crate::app::state::pane::Pane;
use crate::app::widgets::targets;

/// Draws the panes of `layout`.
pub fn show(
    ui: &mut Ui,
    layout: &mut Tree<Pane>,
    panes: &mut Panes,
    model: &Model,
    commands: &mut Commands,
) {
    layout.ui(&mut PaneArea { panes, model, commands }, ui);
}

struct PaneArea<'a> {
    panes: &'a mut Panes,
    model: &'a Model,
    commands: &'a mut Commands,
}

impl Behavior<Pane> for PaneArea<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _: TileId, pane: &mut Pane) -> UiResponse {
        let frame = Frame::central_panel(ui.style()).inner_margin(Margin::same(6));
        frame.show(ui, |ui| {
            targets::mark_rect(ui.ctx(), ui.max_rect(), pane.title());
            ui.set_min_size(ui.available_size());
            self.panes.show(ui, *pane, self.model, self.commands);
        });
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        pane.title().into()
    }

    fn simplification_options(&self) -> SimplificationOptions {
        // A pane that is alone keeps its tab too, because the tab has the title of the pane.
        SimplificationOptions { all_panes_must_have_tabs: true, ..Default::default() }
    }

    fn min_size(&self) -> f32 {
        120.0
    }

    fn gap_width(&self, _: &egui::Style) -> f32 {
        4.0
    }
}
