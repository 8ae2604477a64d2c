//! The view for projectors: large, without menu bar and status line.
//!
//! In a window that is too narrow for three columns of large text, the panes of the right column
//! become tabs of the left column, and the timeline takes more of the height. When the view is
//! turned off or the window becomes wider, the layout that the user arranged returns; only the tabs
//! in front may differ.

use eframe::egui::{Context, ViewportCommand};
use egui_tiles::{Container, LinearDir, Tile, TileId, Tiles, Tree};

use crate::app::state::core::Core;
use crate::app::state::pane::Pane;
use crate::app::state::pane_layout;

/// Scale of everything. With a larger scale, fewer panes fit side by side on a projector of 1920 by
/// 1080 pixels.
const ZOOM: f32 = 1.5;

/// Minimum width of a window with three columns, in points. In a narrower one, the names of
/// variables and the lines of the timeline are cut off.
const MIN_THREE_COLUMNS: f32 = 1000.0;

/// Widths of the left column and of the rest in a narrow window, relative to each other.
const NARROW_SHARES: [f32; 2] = [0.9, 2.1];

/// Minimum height of the timeline in a narrow window, relative to the graphs above it: room for the
/// lines of text at the top of its pane and for the rows of a few threads.
const MIN_TIMELINE_SHARE: f32 = 0.72;

/// How large everything in a window is, and whether the window fills the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowBefore {
    /// The scale of everything.
    pub zoom: f32,
    /// Whether the window filled the screen.
    pub is_fullscreen: bool,
}

/// Turns on the view for projectors, which fills the screen. If the view is on, turns it off and
/// restores the window.
pub(crate) fn toggle(core: &mut Core, ctx: &Context) {
    let is_fullscreen = ctx.input(|input| input.viewport().fullscreen.unwrap_or(false));
    let now = WindowBefore { zoom: ctx.zoom_factor(), is_fullscreen };
    let WindowBefore { zoom, is_fullscreen } = toggled(&mut core.model.projector, now);
    ctx.set_zoom_factor(zoom);
    ctx.send_viewport_cmd(ViewportCommand::Fullscreen(is_fullscreen));
}

/// The new scale of a window whose state is `now`, and whether the window then fills the screen.
/// `before` is [`Model::projector`], which is updated.
///
/// [`Model::projector`]: crate::app::state::model::Model::projector
fn toggled(before: &mut Option<WindowBefore>, now: WindowBefore) -> WindowBefore {
    before.take().unwrap_or_else(|| {
        *before = Some(now);
        WindowBefore { zoom: ZOOM, is_fullscreen: true }
    })
}

/// Lays the panes out for a window of `width` points. Called in every frame.
pub(crate) fn fit_layout(core: &mut Core, width: f32) {
    let is_narrow = core.model.projector.is_some() && width < MIN_THREE_COLUMNS;
    if is_narrow == core.narrow_layout.is_some() {
        return;
    }
    core.change_layout(|core| match core.narrow_layout.take() {
        None => core.narrow_layout = Some(narrow(&core.layout)),
        // The tabs in front stay in front.
        Some(narrow) => {
            for pane in front_panes(&narrow, narrow.root()) {
                pane_layout::show_pane(&mut core.layout, pane);
            }
        }
    });
}

/// `layout` for a narrow window. A layout without three columns stays as it is, except that the
/// timeline may become higher.
fn narrow(layout: &Tree<Pane>) -> Tree<Pane> {
    let mut layout = layout.clone();
    if let Some([left, middle, right]) = three_columns(&layout)
        && let Some(tabs) = first_tabs(&layout.tiles, left)
    {
        let in_front = front_panes(&layout, Some(left));
        for pane in panes(&layout.tiles, right) {
            layout.move_tile_to_container(pane, tabs, usize::MAX, false);
        }
        for pane in in_front {
            pane_layout::show_pane(&mut layout, pane);
        }
        let root = layout.root().and_then(|root| layout.tiles.get_mut(root));
        if let Some(Tile::Container(Container::Linear(row))) = root {
            for (column, share) in [left, middle].into_iter().zip(NARROW_SHARES) {
                row.shares.set_share(column, share);
            }
        }
    }
    heighten_timeline(&mut layout);
    layout
}

/// Gives the tab group of the timeline at least [`MIN_TIMELINE_SHARE`] of the height of the largest
/// group of its column.
fn heighten_timeline(layout: &mut Tree<Pane>) {
    let parent_of = |tile: TileId| layout.tiles.parent_of(tile);
    let Some(tabs) = layout.tiles.find_pane(&Pane::Timeline).and_then(parent_of) else { return };
    let Some(column) = parent_of(tabs) else { return };
    if let Some(Tile::Container(Container::Linear(linear))) = layout.tiles.get_mut(column)
        && linear.dir == LinearDir::Vertical
    {
        let shares = linear.children.iter().map(|child| linear.shares[*child]);
        let minimum = MIN_TIMELINE_SHARE * shares.fold(0.0, f32::max);
        if linear.shares[tabs] < minimum {
            linear.shares.set_share(tabs, minimum);
        }
    }
}

/// The columns of `layout`, if there are three.
fn three_columns(layout: &Tree<Pane>) -> Option<[TileId; 3]> {
    match layout.tiles.get(layout.root()?)? {
        Tile::Container(Container::Linear(row)) if row.dir == LinearDir::Horizontal => {
            row.children.as_slice().try_into().ok()
        }
        _ => None,
    }
}

/// The first tab group in `tile`.
fn first_tabs(tiles: &Tiles<Pane>, tile: TileId) -> Option<TileId> {
    match tiles.get(tile)? {
        Tile::Container(Container::Tabs(_)) => Some(tile),
        Tile::Container(container) => {
            container.children().find_map(|child| first_tabs(tiles, *child))
        }
        Tile::Pane(_) => None,
    }
}

/// All panes in `tile`, from left to right and from top to bottom.
fn panes(tiles: &Tiles<Pane>, tile: TileId) -> Vec<TileId> {
    match tiles.get(tile) {
        Some(Tile::Container(container)) => {
            container.children().flat_map(|child| panes(tiles, *child)).collect()
        }
        Some(Tile::Pane(_)) => vec![tile],
        None => Vec::new(),
    }
}

/// The panes within `tile` that are the front tabs of their groups.
fn front_panes(layout: &Tree<Pane>, tile: Option<TileId>) -> Vec<Pane> {
    let inside = tile.map_or_else(Vec::new, |tile| panes(&layout.tiles, tile));
    let is_inside = |tile: &TileId| inside.contains(tile);
    let pane = |tile: TileId| match layout.tiles.get(tile) {
        Some(Tile::Pane(pane)) => Some(*pane),
        _ => None,
    };
    layout.active_tiles().into_iter().filter(is_inside).filter_map(pane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::state::pane_layout::{
        Arrangement, initial_layout, is_complete, is_visible, show_pane,
    };

    #[test]
    fn leaving_the_view_restores_the_window_before_it() {
        for is_fullscreen in [false, true] {
            let window = WindowBefore { zoom: 1.25, is_fullscreen };
            let mut before = None;
            let projected = toggled(&mut before, window);
            assert_eq!(projected, WindowBefore { zoom: ZOOM, is_fullscreen: true });
            assert_eq!(toggled(&mut before, projected), window);
            assert_eq!(before, None);
        }
    }

    #[test]
    fn a_narrow_layout_has_every_pane_and_the_right_column_in_tabs_on_the_left() {
        for arrangement in [Arrangement::SideBySide, Arrangement::Tabs] {
            let mut layout = initial_layout(arrangement);
            show_pane(&mut layout, Pane::Messages);
            let narrow = narrow(&layout);
            assert!(is_complete(&narrow));
            for pane in [Pane::Variables, Pane::JunctionTree, Pane::Messages] {
                assert!(is_visible(&narrow, pane), "{pane:?}");
            }
            for pane in [Pane::Details, Pane::Cliques] {
                assert!(!is_visible(&narrow, pane), "{pane:?}");
            }
            let group = |pane| narrow.tiles.parent_of(narrow.tiles.find_pane(&pane).unwrap());
            assert_eq!(group(Pane::Cliques), group(Pane::Variables));
        }
    }

    #[test]
    fn a_layout_with_two_columns_stays_as_it_is() {
        let once = narrow(&initial_layout(Arrangement::Tabs));
        let [left, middle] = match once.tiles.get(once.root().unwrap()).unwrap() {
            Tile::Container(Container::Linear(row)) => [row.children[0], row.children[1]],
            other => panic!("{other:?}"),
        };
        let mut two = once.clone();
        if let Some(Tile::Container(Container::Linear(row))) =
            two.tiles.get_mut(once.root().unwrap())
        {
            row.children = vec![left, middle];
        }
        assert_eq!(narrow(&two), two);
    }
}
