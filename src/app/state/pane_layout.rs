//! The layout: where the panes are in the window.

use egui_tiles::{Container, LinearDir, Tile, Tiles, Tree};

use crate::app::state::pane::Pane;

/// The initial layout: the variables on the left; the graphs in the middle, above the timeline; and
/// the details on the right, above the cliques.
#[must_use]
pub fn initial_layout() -> Tree<Pane> {
    let mut tiles = Tiles::default();
    let mut tabs = |panes: &[Pane]| {
        let children = panes.iter().map(|&pane| tiles.insert_pane(pane)).collect();
        tiles.insert_tab_tile(children)
    };
    let variables = tabs(&[Pane::Variables]);
    let graphs =
        tabs(&[Pane::JunctionTree, Pane::Network, Pane::Cases, Pane::Overhead, Pane::Experiments]);
    let time = tabs(&[Pane::Timeline, Pane::Messages, Pane::Inside, Pane::Histogram]);
    let details = tabs(&[Pane::Details]);
    let cliques = tabs(&[Pane::Cliques]);
    let middle = tiles.insert_vertical_tile(vec![graphs, time]);
    let right = tiles.insert_vertical_tile(vec![details, cliques]);
    let root = tiles.insert_horizontal_tile(vec![variables, middle, right]);
    for (container, child, share) in [
        (root, variables, 0.95),
        (root, middle, 2.0),
        (root, right, 0.85),
        (middle, graphs, 2.2),
        (middle, time, 1.0),
    ] {
        if let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(container) {
            linear.shares.set_share(child, share);
        }
    }
    Tree::new("workspace", root, tiles)
}

/// Whether `layout` has every pane. A stored layout of an older version may lack new ones.
#[must_use]
pub fn is_complete(layout: &Tree<Pane>) -> bool {
    layout.root().is_some() && Pane::ALL.iter().all(|pane| layout.tiles.find_pane(pane).is_some())
}

/// Makes `pane` the front tab of its group.
pub fn show_pane(layout: &mut Tree<Pane>, pane: Pane) {
    layout.make_active(|_, tile| matches!(tile, Tile::Pane(other) if *other == pane));
}

/// Whether `pane` is on screen, which means that it is the front tab of its group.
#[must_use]
pub fn is_visible(layout: &Tree<Pane>, pane: Pane) -> bool {
    let tile = layout.tiles.find_pane(&pane);
    tile.is_some_and(|tile| layout.active_tiles().contains(&tile))
}

/// Gives the tab group of `pane` at least as much height as each other group in the same column.
/// Does nothing if the group is not in a column.
pub fn enlarge(layout: &mut Tree<Pane>, pane: Pane) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_layout_is_complete_and_a_hidden_pane_can_be_shown() {
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
