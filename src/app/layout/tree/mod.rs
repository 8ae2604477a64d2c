//! Drawings of rooted trees: in levels from the top or from the left, or packed into rectangles.
//!
//! A tree has one drawing, whatever the shape of the pane: a drawing that changed with its pane
//! would be hard to recognise. Drawings are made for a pane that is 1.6 times as wide as high.

mod contour;
mod levels;
mod packed;

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use crate::app::layout::{bounds, fit_scale};
use crate::graph::JunctionTree;

/// Width of the pane that drawings are made for, as a multiple of its height: about the shape of
/// the window's largest pane between 1280x800 and 1920x1080.
const ASPECT: f32 = 1.6;

/// Height of that pane in points, in a window of 1280x800.
const PANE_HEIGHT: f32 = 420.0;

/// Zoom at which the text in boxes is easy to read. A larger zoom counts as this one, so it is no
/// reason to prefer a less regular arrangement.
const READABLE_ZOOM: f32 = 1.2;

/// Width of a drawing, as a multiple of its height, below which it counts as a column. In a pane
/// twice as wide as high, a drawing of this shape uses half of the width.
const MIN_ASPECT: f32 = 1.0;

/// Gap between levels in points, with room for the labels of the separators: the tree of Barley
/// has labels in a window of 1280x800, where its zoom is 0.28.
const LEVEL_GAP: f32 = 44.0;

/// Maximum number of vertices of a tree whose packed drawing has room for the labels of its lines.
/// In a larger tree, labels would be too small to read when the whole tree is in view.
pub const MAX_WITH_LABELS: usize = 100;

/// Factor by which top-down is preferred to left-to-right, and left-to-right to packed, when the
/// zooms at which they fit the pane are compared.
const TOP_DOWN_BONUS: f32 = 1.35;

/// Gaps in packed drawings, in points.
#[derive(Clone, Copy, Debug)]
struct Gaps {
    /// Between a vertex and its children.
    levels: f32,
    /// Between the subtrees of siblings.
    siblings: f32,
    /// Above each row of children, where the line to these children runs.
    lines: f32,
    /// At the ends of the rows of a folded path. The line to the next row is in the middle. With
    /// less, it seems to touch the boxes when all of the tree is in view.
    turns: f32,
}

impl Gaps {
    /// The gaps in a tree of `n` vertices. With more than [`MAX_WITH_LABELS`] vertices, the gaps
    /// have no room for labels, so that the boxes come out larger.
    fn for_tree_of(n: usize) -> Self {
        if n <= MAX_WITH_LABELS {
            Self { levels: LEVEL_GAP, siblings: 10.0, lines: 16.0, turns: 40.0 }
        } else if n <= 400 {
            Self { levels: 24.0, siblings: 8.0, lines: 14.0, turns: 28.0 }
        } else {
            Self { levels: 18.0, siblings: 6.0, lines: 10.0, turns: 16.0 }
        }
    }
}

/// How well a drawing of `size` uses the pane: the zoom at which it fits, or half of that if the
/// drawing is a column. A zoom above [`READABLE_ZOOM`] counts as that zoom.
fn score(size: Vec2) -> f32 {
    let factor = if size.x < MIN_ASPECT * size.y { 0.5 } else { 1.0 };
    factor * (PANE_HEIGHT * fit_scale(size, ASPECT)).min(READABLE_ZOOM)
}

/// Maximum number of vertices of a tree for which packing is tried. Packing takes about a hundred
/// times as long as levels, and a larger tree is a blur in any arrangement.
const MAX_PACKED: usize = 20_000;

/// The structure of a rooted tree: vertices are numbered, and each has a list of children.
#[derive(Clone, Debug)]
pub struct TreeShape {
    children: Vec<Vec<usize>>,
    /// Number of edges between each vertex and the root.
    depth: Vec<usize>,
    /// The vertices that can be reached from the root, in order of depth.
    order: Vec<usize>,
}

impl TreeShape {
    /// The tree in which `children[v]` are the children of `v`. Vertices that cannot be reached
    /// from `root` get no place in a drawing: their centre is the origin, and they have no line.
    ///
    /// # Panics
    /// If a child is not a vertex.
    #[must_use]
    pub fn new(children: Vec<Vec<usize>>, root: usize) -> Self {
        let mut depth = vec![0; children.len()];
        let mut order = Vec::with_capacity(children.len());
        if root < children.len() {
            order.push(root);
        }
        let mut next = 0;
        while let Some(&vertex) = order.get(next) {
            for &child in &children[vertex] {
                depth[child] = depth[vertex] + 1;
                order.push(child);
            }
            next += 1;
        }
        Self { children, depth, order }
    }

    /// The shape of a junction tree.
    #[must_use]
    pub fn of_junction_tree(tree: &JunctionTree) -> Self {
        let children = |clique| tree.children(clique).iter().map(|link| link.clique.index());
        Self::new(
            tree.clique_ids().map(|clique| children(clique).collect()).collect(),
            tree.root().index(),
        )
    }

    /// Number of vertices that can be reached from the root, with the root.
    pub(super) fn reached(&self) -> usize {
        self.order.len()
    }

    /// Number of levels.
    fn levels(&self) -> usize {
        self.order.last().map_or(0, |&deepest| self.depth[deepest] + 1)
    }
}

/// The arrangement of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// In levels, with the root at the top.
    TopDown,
    /// In levels, with the root at the left.
    LeftToRight,
    /// Packed into rectangles: subtrees grow down or to the right, leaves are in grids, and long
    /// paths are folded.
    Packed,
}

/// A drawn tree.
#[derive(Clone, Debug)]
pub struct TreeDrawing {
    /// The arrangement.
    pub arrangement: Arrangement,
    /// The centre of every vertex.
    pub centres: Vec<Pos2>,
    /// The line to every vertex from its parent; empty for the root.
    pub links: Vec<Vec<Pos2>>,
    /// The smallest rectangle around all vertices.
    pub bounds: Rect,
}

/// Draws `tree` in the arrangement in which vertices of `sizes` come out largest. Top-down is
/// preferred to left-to-right, and left-to-right to packed, unless the difference is large. A tree
/// of more than 20,000 vertices is never packed.
///
/// # Panics
/// If a vertex of the tree has no size.
///
/// # Complexity
/// O(n log n) for n vertices: siblings are sorted by depth, and candidate packings by size.
#[must_use]
pub fn draw(tree: &TreeShape, sizes: &[Vec2]) -> TreeDrawing {
    let rated = |arrangement| {
        let drawing = draw_arranged(tree, sizes, arrangement);
        let bonus = match arrangement {
            Arrangement::TopDown => TOP_DOWN_BONUS,
            Arrangement::LeftToRight => 1.0,
            Arrangement::Packed => 1.0 / TOP_DOWN_BONUS,
        };
        (bonus * score(drawing.bounds.size()), drawing)
    };
    let packed = (sizes.len() <= MAX_PACKED).then_some(Arrangement::Packed);
    let others = [Arrangement::LeftToRight].into_iter().chain(packed).map(rated);
    let first = rated(Arrangement::TopDown);
    others.fold(first, |best, next| if next.0 > best.0 { next } else { best }).1
}

/// Draws `tree` in the given arrangement.
///
/// # Panics
/// If a vertex of the tree has no size.
#[must_use]
pub fn draw_arranged(tree: &TreeShape, sizes: &[Vec2], arrangement: Arrangement) -> TreeDrawing {
    let (centres, links) = match arrangement {
        Arrangement::TopDown => {
            let centres = levels::centres(tree, sizes);
            let links = levels::links(tree, sizes, &centres);
            (centres, links)
        }
        Arrangement::LeftToRight => {
            let turned: Vec<Vec2> = sizes.iter().map(|size| size.yx()).collect();
            let centres = levels::centres(tree, &turned);
            let turn = |point: Pos2| pos2(point.y, point.x);
            let links = levels::links(tree, &turned, &centres).into_iter();
            let links = links.map(|link| link.into_iter().map(turn).collect()).collect();
            (centres.into_iter().map(turn).collect(), links)
        }
        Arrangement::Packed => packed::pack(tree, sizes),
    };
    TreeDrawing { arrangement, bounds: bounds(&centres, sizes), centres, links }
}

#[cfg(test)]
mod tests;
