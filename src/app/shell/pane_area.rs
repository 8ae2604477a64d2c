//! Draws the panes in their tabs.

use eframe::egui::{
    self, Align, Frame, Id, Layout, Margin, Response, Sense, Ui, UiBuilder, WidgetText, vec2,
};
use egui_tiles::{Behavior, SimplificationOptions, Tile, TileId, Tiles, Tree, UiResponse};

use crate::app::panes::Panes;
use crate::app::shell::focus_ring;
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::model::Model;
use crate::app::state::pane::Pane;
use crate::app::widgets::targets;

/// Margin of a pane in points.
const MARGIN: i8 = 6;
/// Gap between the content of a pane and the frame that a lesson draws around it, in points. Gap
/// and frame together must fit into [`MARGIN`].
const FRAME_GAP: f32 = 2.0;

/// Draws the panes of `layout`, or only the pane that fills the window.
pub fn show(
    ui: &mut Ui,
    layout: &mut Tree<Pane>,
    panes: &mut Panes,
    model: &Model,
    commands: &mut Commands,
) {
    match model.maximised {
        Some(pane) => maximised(ui, pane, panes, model, commands),
        None => {
            let moves_focus = ui.input(focus_ring::moves_focus);
            let mut area = PaneArea { panes, model, commands, moves_focus, last_stop: None };
            layout.ui(&mut area, ui);
            // At the first widget, Shift+Tab moves the focus to the widget for which
            // `interested_in_focus` was called last in the previous frame. The toolkit calls it for
            // the gaps between panes after all panes, so call it once more for the last widget of
            // the panes.
            if let Some(last) = area.last_stop.filter(|_| !moves_focus) {
                ui.memory_mut(|memory| memory.interested_in_focus(last, ui.layer_id()));
            }
        }
    }
}

/// Draws `pane` alone, below a bar with its title.
fn maximised(ui: &mut Ui, pane: Pane, panes: &mut Panes, model: &Model, commands: &mut Commands) {
    let size = vec2(ui.available_width(), ui.spacing().interact_size.y + 4.0);
    // The bar is allocated before the button. Otherwise it would cover the button and take its
    // clicks.
    let (rect, bar) = ui.allocate_exact_size(size, Sense::click());
    // The background also fills the gap between the bar and the pane.
    let background = rect.expand2(vec2(0.0, ui.spacing().item_spacing.y));
    ui.painter().rect_filled(background, 0, ui.visuals().panel_fill);
    if bar.double_clicked() {
        commands.push(ViewCommand::Restore);
    }
    let layout = Layout::left_to_right(Align::Center);
    let inside = UiBuilder::new().max_rect(rect.shrink2(vec2(6.0, 2.0))).layout(layout);
    ui.scope_builder(inside, |ui| {
        ui.strong(pane.title());
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Restore").on_hover_text("Show the other panes again").clicked() {
                commands.push(ViewCommand::Restore);
            }
        });
    });
    draw(ui, pane, panes, model, commands);
}

/// Draws the content of `pane`.
fn draw(ui: &mut Ui, pane: Pane, panes: &mut Panes, model: &Model, commands: &mut Commands) {
    let frame = Frame::central_panel(ui.style()).inner_margin(Margin::same(MARGIN));
    frame.show(ui, |ui| {
        // The frame of a lesson is in the margin of the pane, next to the content and not over it.
        targets::mark_rect(ui, ui.max_rect().expand(FRAME_GAP), pane.title());
        ui.set_min_size(ui.available_size());
        panes.show(ui, pane, model, commands);
    });
}

/// The last widget drawn so far in the layer of `ui` that can have the focus.
fn last_stop(ui: &Ui) -> Option<Id> {
    ui.ctx().viewport(|viewport| {
        let widgets = viewport.this_pass.widgets.get_layer(ui.layer_id());
        let stops = widgets.filter(|widget| widget.enabled && widget.sense.is_focusable());
        stops.last().map(|widget| widget.id)
    })
}

/// How egui_tiles draws the panes.
struct PaneArea<'a> {
    panes: &'a mut Panes,
    model: &'a Model,
    commands: &'a mut Commands,
    /// Whether a key that moves the focus was pressed in this frame.
    moves_focus: bool,
    /// The last widget of the panes drawn so far that can have the focus.
    last_stop: Option<Id>,
}

impl Behavior<Pane> for PaneArea<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _: TileId, pane: &mut Pane) -> UiResponse {
        draw(ui, *pane, self.panes, self.model, self.commands);
        self.last_stop = last_stop(ui);
        UiResponse::None
    }

    fn on_tab_button(
        &mut self,
        tiles: &mut Tiles<Pane>,
        tile: TileId,
        response: Response,
    ) -> Response {
        if let Some(Tile::Pane(pane)) = tiles.get(tile) {
            if response.double_clicked() {
                self.commands.push(ViewCommand::ToggleMaximised(*pane));
            }
            return response.on_hover_text("Double click: let this pane fill the window");
        }
        response
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        pane.title().into()
    }

    // The background of tabs and the gaps between panes react only to the pointer, but while they
    // can be dragged, the toolkit also lets them take the focus. So they cannot be dragged in a
    // frame in which a key moves the focus.
    fn is_tile_draggable(&self, tiles: &Tiles<Pane>, tile: TileId) -> bool {
        !self.moves_focus || matches!(tiles.get(tile), Some(Tile::Pane(_)))
    }

    fn is_container_resizable(&self, _: &Tiles<Pane>, _: TileId) -> bool {
        !self.moves_focus
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::shell::lesson_strip::FRAME_DISTANCE;

    #[test]
    fn the_frame_of_a_lesson_fits_into_the_margin_of_a_pane() {
        assert!(FRAME_GAP + FRAME_DISTANCE <= f32::from(MARGIN));
    }
}
