//! Where the panes are.

use eframe::egui::{self, Frame, Margin, Ui, WidgetText};
use egui_tiles::{
    Behavior, Container, LinearDir, SimplificationOptions, Tile, TileId, Tiles, Tree, UiResponse,
};

use crate::app::panes::Panes;
use crate::app::shell::actions::pane_title;
use crate::app::state::command::Commands;
use crate::app::state::model::{Model, Pane};
use crate::app::widgets::targets;

/// The layout that a new user sees: variables left, pictures in the middle with what belongs to
/// time below, details right.
#[must_use]
pub fn initial_layout() -> Tree<Pane> {
    let mut tiles = Tiles::default();
    let mut tabs = |panes: &[Pane]| {
        let children = panes.iter().map(|&pane| tiles.insert_pane(pane)).collect();
        tiles.insert_tab_tile(children)
    };
    let variables = tabs(&[Pane::Variables]);
    let pictures =
        tabs(&[Pane::JunctionTree, Pane::Network, Pane::Cases, Pane::Overhead, Pane::Experiments]);
    let time = tabs(&[Pane::Timeline, Pane::Messages, Pane::Inside, Pane::Histogram]);
    let details = tabs(&[Pane::Details]);
    let cliques = tabs(&[Pane::Cliques]);
    let middle = tiles.insert_vertical_tile(vec![pictures, time]);
    let right = tiles.insert_vertical_tile(vec![details, cliques]);
    let root = tiles.insert_horizontal_tile(vec![variables, middle, right]);
    for (container, child, share) in [
        (root, variables, 0.95),
        (root, middle, 2.0),
        (root, right, 0.85),
        (middle, pictures, 2.2),
        (middle, time, 1.0),
    ] {
        if let Some(Tile::Container(egui_tiles::Container::Linear(linear))) =
            tiles.get_mut(container)
        {
            linear.shares.set_share(child, share);
        }
    }
    Tree::new("workspace", root, tiles)
}

/// Whether a stored layout shows every pane that there is.
#[must_use]
pub fn is_complete(layout: &Tree<Pane>) -> bool {
    crate::app::shell::actions::PANES
        .iter()
        .all(|(pane, _)| layout.tiles.find_pane(pane).is_some() && layout.root().is_some())
}

/// Brings `pane` to the front.
pub fn show_pane(layout: &mut Tree<Pane>, pane: Pane) {
    layout.make_active(|_, tile| matches!(tile, Tile::Pane(known) if *known == pane));
}

/// Gives the tabs that `pane` is in at least as much room as what stands above or below.
pub fn make_room(layout: &mut Tree<Pane>, pane: Pane) {
    let Some(tabs) = layout.tiles.find_pane(&pane).and_then(|tile| layout.tiles.parent_of(tile))
    else {
        return;
    };
    let Some(parent) = layout.tiles.parent_of(tabs) else { return };
    if let Some(Tile::Container(Container::Linear(linear))) = layout.tiles.get_mut(parent)
        && linear.dir == LinearDir::Vertical
    {
        let others = linear.children.iter().copied().filter(|child| *child != tabs);
        let largest = others.map(|child| linear.shares[child]).fold(0.0, f32::max);
        if linear.shares[tabs] < largest {
            linear.shares.set_share(tabs, largest);
        }
    }
}

/// Draws the panes of `layout`.
pub fn show(
    ui: &mut Ui,
    layout: &mut Tree<Pane>,
    panes: &mut Panes,
    model: &Model,
    commands: &mut Commands,
) {
    layout.ui(&mut Arranged { panes, model, commands }, ui);
}

struct Arranged<'a> {
    panes: &'a mut Panes,
    model: &'a Model,
    commands: &'a mut Commands,
}

impl Behavior<Pane> for Arranged<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _: TileId, pane: &mut Pane) -> UiResponse {
        let frame = Frame::central_panel(ui.style()).inner_margin(Margin::same(6));
        frame.show(ui, |ui| {
            targets::mark_rect(ui.ctx(), ui.max_rect(), pane_title(*pane));
            ui.set_min_size(ui.available_size());
            self.panes.show(ui, *pane, self.model, self.commands);
        });
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        pane_title(*pane).into()
    }

    fn simplification_options(&self) -> SimplificationOptions {
        // A pane that stands alone keeps its title.
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

    #[test]
    fn every_pane_is_in_the_initial_layout() {
        assert!(is_complete(&initial_layout()));
        let mut layout = initial_layout();
        let histogram = layout.tiles.find_pane(&Pane::Histogram).unwrap();
        assert!(!layout.active_tiles().contains(&histogram));
        show_pane(&mut layout, Pane::Histogram);
        assert!(layout.active_tiles().contains(&histogram));
        layout.tiles.remove(histogram);
        assert!(!is_complete(&layout));
    }
}
