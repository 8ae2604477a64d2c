//! The layout: where the panes are in the window.

use egui_tiles::{Container, Linear, LinearDir, Tile, TileId, Tiles, Tree};

use crate::app::state::pane::Pane;

/// Maximum number of variables of a network that is shown next to its junction tree. In half of the
/// width, the posteriors of a larger network would be too small to read and to click.
const MAX_SIDE_BY_SIDE: usize = 20;

/// Where the network is in the initial layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Next to the junction tree.
    SideBySide,
    /// In a tab behind the junction tree.
    Tabs,
}

impl Arrangement {
    /// The arrangement for a network of `variables` variables.
    #[must_use]
    pub fn for_network(variables: usize) -> Self {
        if variables <= MAX_SIDE_BY_SIDE { Self::SideBySide } else { Self::Tabs }
    }

    /// The other of the two arrangements.
    fn other(self) -> Self {
        match self {
            Self::SideBySide => Self::Tabs,
            Self::Tabs => Self::SideBySide,
        }
    }
}

/// The initial layout: the variables on the left; the graphs in the middle, above the timeline; and
/// the details on the right, above the cliques.
#[must_use]
pub fn initial_layout(arrangement: Arrangement) -> Tree<Pane> {
    let is_side_by_side = arrangement == Arrangement::SideBySide;
    let mut tiles = Tiles::default();
    let mut tabs = |panes: &[Pane]| {
        let children = panes.iter().map(|&pane| tiles.insert_pane(pane)).collect();
        tiles.insert_tab_tile(children)
    };
    let variables = tabs(&[Pane::Variables]);
    let behind_tree = [Pane::Cases, Pane::Overhead, Pane::Experiments];
    let of_network = [Pane::Network, Pane::Elimination];
    let network = is_side_by_side.then(|| tabs(&of_network));
    let in_tabs = of_network.into_iter().filter(|_| !is_side_by_side);
    let tree: Vec<Pane> =
        [Pane::JunctionTree].into_iter().chain(in_tabs).chain(behind_tree).collect();
    let tree = tabs(&tree);
    let time = tabs(&[Pane::Timeline, Pane::Messages, Pane::Inside, Pane::Histogram]);
    let details = tabs(&[Pane::Details]);
    let cliques = tabs(&[Pane::Cliques]);
    let graphs = match network {
        Some(network) => tiles.insert_horizontal_tile(vec![network, tree]),
        None => tree,
    };
    let middle = tiles.insert_vertical_tile(vec![graphs, time]);
    let right = tiles.insert_vertical_tile(vec![details, cliques]);
    let root = tiles.insert_horizontal_tile(vec![variables, middle, right]);
    // The widths of the columns relative to each other.
    let [left_share, middle_share, right_share] =
        if is_side_by_side { [0.8, 2.3, 0.75] } else { [0.95, 2.0, 0.85] };
    // The bars of a network need more room than the boxes of its tree.
    let network_share = network.map(|network| (graphs, network, 1.25));
    for (container, child, share) in network_share.into_iter().chain([
        (root, variables, left_share),
        (root, middle, middle_share),
        (root, right, right_share),
        (middle, graphs, 2.2),
        (middle, time, 1.0),
    ]) {
        if let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(container) {
            linear.shares.set_share(child, share);
        }
    }
    Tree::new("workspace", root, tiles)
}

/// Changes an initial layout to `arrangement`. Panes in front stay in front. If the user resized
/// the columns, or the rows of a column, they keep their sizes. Does nothing if the user moved a
/// pane.
pub fn arrange(layout: &mut Tree<Pane>, arrangement: Arrangement) {
    let old = initial_layout(arrangement.other());
    if shape(layout) != shape(&old) {
        return;
    }
    let mut new = initial_layout(arrangement);
    let resized_shares = |container: fn(&Tree<Pane>) -> Option<TileId>| {
        let shares = shares_of(layout, container);
        Some(shares).filter(|shares| *shares != shares_of(&old, container))
    };
    for container in [Tree::root, middle_column, right_column] {
        if let Some(shares) = resized_shares(container) {
            set_shares(&mut new, container, &shares);
        }
    }
    for tile in layout.active_tiles() {
        if let Some(Tile::Pane(pane)) = layout.tiles.get(tile) {
            show_pane(&mut new, *pane);
        }
    }
    *layout = new;
}

/// The containers and panes of a layout, without sizes and without which tabs are in front.
#[derive(Debug, PartialEq)]
enum Shape {
    Pane(Pane),
    Tabs(Vec<Self>),
    Row(Vec<Self>),
    Column(Vec<Self>),
    Grid,
}

/// The shape of `layout`; `None` if a tile is missing.
fn shape(layout: &Tree<Pane>) -> Option<Shape> {
    fn shape_of(tiles: &Tiles<Pane>, tile: TileId) -> Option<Shape> {
        let all = |children: &[TileId]| -> Option<Vec<Shape>> {
            children.iter().map(|tile| shape_of(tiles, *tile)).collect()
        };
        Some(match tiles.get(tile)? {
            Tile::Pane(pane) => Shape::Pane(*pane),
            Tile::Container(Container::Tabs(tabs)) => Shape::Tabs(all(&tabs.children)?),
            Tile::Container(Container::Linear(linear)) => match linear.dir {
                LinearDir::Horizontal => Shape::Row(all(&linear.children)?),
                LinearDir::Vertical => Shape::Column(all(&linear.children)?),
            },
            Tile::Container(Container::Grid(_)) => Shape::Grid,
        })
    }
    shape_of(&layout.tiles, layout.root()?)
}

/// The column in the middle of an initial layout.
fn middle_column(layout: &Tree<Pane>) -> Option<TileId> {
    column(layout, 1)
}

/// The column on the right of an initial layout.
fn right_column(layout: &Tree<Pane>) -> Option<TileId> {
    column(layout, 2)
}

/// The column of an initial layout with this index, from the left.
fn column(layout: &Tree<Pane>, index: usize) -> Option<TileId> {
    match layout.tiles.get(layout.root()?)? {
        Tile::Container(Container::Linear(linear)) => linear.children.get(index).copied(),
        _ => None,
    }
}

/// The shares of the children of a row or column, in order; empty for other tiles.
fn shares_of(layout: &Tree<Pane>, container: impl Fn(&Tree<Pane>) -> Option<TileId>) -> Vec<f32> {
    match container(layout).and_then(|tile| layout.tiles.get(tile)) {
        Some(Tile::Container(Container::Linear(linear))) => {
            linear.children.iter().map(|child| linear.shares[*child]).collect()
        }
        _ => Vec::new(),
    }
}

/// Gives the children of a row or column these shares.
fn set_shares(
    layout: &mut Tree<Pane>,
    container: impl Fn(&Tree<Pane>) -> Option<TileId>,
    shares: &[f32],
) {
    let Some(tile) = container(layout) else { return };
    if let Some(Tile::Container(Container::Linear(linear))) = layout.tiles.get_mut(tile) {
        for (child, share) in linear.children.clone().into_iter().zip(shares) {
            linear.shares.set_share(child, *share);
        }
    }
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

/// Whether `pane` is the front tab of its group.
#[must_use]
pub fn is_visible(layout: &Tree<Pane>, pane: Pane) -> bool {
    let tile = layout.tiles.find_pane(&pane);
    tile.is_some_and(|tile| layout.active_tiles().contains(&tile))
}

/// A tab group that the program gave more height because some of its panes need it.
#[derive(Clone, Debug)]
pub struct Enlarged {
    /// The group.
    pub tabs: TileId,
    /// The panes that need the height.
    pub panes: Vec<Pane>,
    /// The share of the group before.
    before: f32,
    /// The shares of all groups of the column after.
    after: Vec<(TileId, f32)>,
}

impl Enlarged {
    /// Gives the height back, unless the user has moved a divider or a pane of the column since.
    /// Returns whether it was given back.
    pub fn undo(&self, layout: &mut Tree<Pane>) -> bool {
        let Some(column) = column_of(layout, self.tabs) else { return false };
        let is_unchanged = shares_by_child(column) == self.after;
        if is_unchanged {
            column.shares.set_share(self.tabs, self.before);
        }
        is_unchanged
    }
}

/// Gives the tab group of `pane` at least as much height as each other group in the same column.
/// Does nothing, and returns `None`, if it has this height or is not in a column.
pub fn enlarge(layout: &mut Tree<Pane>, pane: Pane) -> Option<Enlarged> {
    let tabs = group_of(layout, pane)?;
    let column = column_of(layout, tabs)?;
    let before = column.shares[tabs];
    let largest = shares_by_child(column).into_iter().map(|(_, share)| share).fold(0.0, f32::max);
    if before >= largest {
        return None;
    }
    column.shares.set_share(tabs, largest);
    Some(Enlarged { tabs, panes: vec![pane], before, after: shares_by_child(column) })
}

/// The tab group of `pane`.
#[must_use]
pub fn group_of(layout: &Tree<Pane>, pane: Pane) -> Option<TileId> {
    layout.tiles.parent_of(layout.tiles.find_pane(&pane)?)
}

/// The column that `tabs` is in, if it is in one.
fn column_of(layout: &mut Tree<Pane>, tabs: TileId) -> Option<&mut Linear> {
    match layout.tiles.get_mut(layout.tiles.parent_of(tabs)?)? {
        Tile::Container(Container::Linear(linear)) if linear.dir == LinearDir::Vertical => {
            Some(linear)
        }
        _ => None,
    }
}

/// The children of a row or column with their shares, in order.
fn shares_by_child(linear: &Linear) -> Vec<(TileId, f32)> {
    linear.children.iter().map(|&child| (child, linear.shares[child])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_layout_is_complete_and_a_hidden_pane_can_be_shown() {
        assert!(is_complete(&initial_layout(Arrangement::SideBySide)));
        let mut layout = initial_layout(Arrangement::Tabs);
        let histogram = layout.tiles.find_pane(&Pane::Histogram).unwrap();
        assert!(!layout.active_tiles().contains(&histogram));
        show_pane(&mut layout, Pane::Histogram);
        assert!(layout.active_tiles().contains(&histogram));
        layout.tiles.remove(histogram);
        assert!(!is_complete(&layout));
    }

    #[test]
    fn only_a_layout_in_which_no_pane_was_moved_is_arranged_anew() {
        use Arrangement::{SideBySide, Tabs};
        let mut layout = initial_layout(Tabs);
        show_pane(&mut layout, Pane::Messages);
        set_shares(&mut layout, Tree::root, &[1.0, 3.0, 1.0]);
        set_shares(&mut layout, middle_column, &[1.0, 2.0]);
        set_shares(&mut layout, right_column, &[3.0, 1.0]);
        arrange(&mut layout, SideBySide);
        assert_eq!(shape(&layout), shape(&initial_layout(SideBySide)));
        assert!(is_visible(&layout, Pane::Network) && is_visible(&layout, Pane::JunctionTree));
        assert!(is_visible(&layout, Pane::Messages), "the tab in front stays in front");
        assert_eq!(shares_of(&layout, Tree::root), [1.0, 3.0, 1.0], "as the user sized them");
        assert_eq!(shares_of(&layout, middle_column), [1.0, 2.0]);
        assert_eq!(shares_of(&layout, right_column), [3.0, 1.0]);
        arrange(&mut layout, Tabs);
        assert_eq!(shape(&layout), shape(&initial_layout(Tabs)));

        let histogram = layout.tiles.find_pane(&Pane::Histogram).unwrap();
        let details = layout.tiles.find_pane(&Pane::Details).unwrap();
        let group = layout.tiles.parent_of(details).unwrap();
        layout.move_tile_to_container(histogram, group, usize::MAX, false);
        let moved = layout.clone();
        arrange(&mut layout, SideBySide);
        assert_eq!(layout, moved);
    }

    #[test]
    fn the_height_of_a_group_is_given_back_unless_the_user_moved_a_divider() {
        let initial = initial_layout(Arrangement::Tabs);
        for is_moved in [false, true] {
            let mut layout = initial.clone();
            let enlarged = enlarge(&mut layout, Pane::Timeline).unwrap();
            assert_eq!(shares_of(&layout, middle_column), [2.2, 2.2]);
            assert!(enlarge(&mut layout, Pane::Inside).is_none(), "it is high enough");
            if is_moved {
                set_shares(&mut layout, middle_column, &[2.0, 2.4]);
            }
            assert_eq!(enlarged.undo(&mut layout), !is_moved);
            let expected = if is_moved { [2.0, 2.4] } else { [2.2, 1.0] };
            assert_eq!(shares_of(&layout, middle_column), expected);
        }
    }
}
