//! Drawings of rooted trees: in levels from the top or from the left, or packed into rectangles.

mod contour;
mod levels;
mod packed;

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use crate::app::layout::{bounds, fit_scale};
use crate::graph::JunctionTree;

/// Gap between levels in points, with room for the labels of the separators.
const LEVEL_GAP: f32 = 36.0;

/// Factor by which top-down is preferred to left-to-right, and left-to-right to packed, when the
/// zooms at which they fit the pane are compared.
const TOP_DOWN_BONUS: f32 = 1.35;

/// The structure of a rooted tree: vertices are numbered, and each has a list of children.
#[derive(Clone, Debug)]
pub struct TreeShape {
    children: Vec<Vec<usize>>,
    /// Number of edges between each vertex and the root.
    depth: Vec<usize>,
    /// All vertices, parents before children.
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
    /// Packed into rectangles: some subtrees grow down and others to the right.
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

/// Draws `tree` in the arrangement in which vertices of `sizes` come out largest in a pane that is
/// `aspect` times as wide as it is high. Top-down is preferred to left-to-right, and left-to-right
/// to packed, unless the difference is large. `aspect` is limited to the range from 0.4 to 4.
///
/// # Panics
/// If a vertex of the tree has no size.
///
/// # Complexity
/// O(n log n) for n vertices: siblings are sorted by depth, and candidate packings by size.
#[must_use]
pub fn draw(tree: &TreeShape, sizes: &[Vec2], aspect: f32) -> TreeDrawing {
    let aspect = aspect.clamp(0.4, 4.0);
    let candidates =
        [Arrangement::TopDown, Arrangement::LeftToRight, Arrangement::Packed].map(|arrangement| {
            let drawing = draw_arranged(tree, sizes, arrangement, aspect);
            let bonus = match arrangement {
                Arrangement::TopDown => TOP_DOWN_BONUS,
                Arrangement::LeftToRight => 1.0,
                Arrangement::Packed => 1.0 / TOP_DOWN_BONUS,
            };
            (bonus * fit_scale(drawing.bounds.size(), aspect), drawing)
        });
    let [first, others @ ..] = candidates;
    others.into_iter().fold(first, |best, next| if next.0 > best.0 { next } else { best }).1
}

/// Draws `tree` in the given arrangement. `aspect` matters only to packed trees.
///
/// # Panics
/// If a vertex of the tree has no size.
#[must_use]
pub fn draw_arranged(
    tree: &TreeShape,
    sizes: &[Vec2],
    arrangement: Arrangement,
    aspect: f32,
) -> TreeDrawing {
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
        Arrangement::Packed => packed::pack(tree, sizes, aspect),
    };
    TreeDrawing { arrangement, bounds: bounds(&centres, sizes), centres, links }
}

#[cfg(test)]
mod tests;
