//! Compact drawings of large trees.
//!
//! Every subtree takes up a rectangle: either its root is at the left with the subtrees of its
//! children stacked to the right of it, or its root is at the top with the subtrees in a row below.
//! The choice is made as in chip floorplanning: each subtree has a list of possible rectangles,
//! from narrow and high to wide and low, computed from the lists of its children (Stockmeyer,
//! "Optimal orientations of cells in slicing floorplan designs", 1983). A tree of a thousand
//! cliques thus fills a pane of any shape, where levels alone would leave a thin stripe.

use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};

use super::{LEVEL_GAP, TreeShape};
use crate::app::layout::{fit_scale, s_curve};

/// Gap between the subtrees of siblings, in points.
const GAP: f32 = 12.0;

/// Maximum number of candidate shapes per subtree. More would fill the pane a little better and
/// take longer.
const MAX_SHAPES: usize = 48;

/// One possible shape of a subtree.
#[derive(Clone, Copy, Debug)]
struct Shape {
    size: Vec2,
    /// The centre of the root, relative to the upper left corner.
    root: Vec2,
    /// Whether the children are to the right of the root rather than below it.
    right: bool,
    /// Maximum extent of each child away from the root: its width if `right`, otherwise its height.
    limit: f32,
}

/// Swaps the axes of a vector if `turned`, so that both directions share one computation.
fn turn(vector: Vec2, turned: bool) -> Vec2 {
    if turned { vector.yx() } else { vector }
}

/// The centres of all vertices, and the line to each of them from its parent.
pub(super) fn pack(tree: &TreeShape, sizes: &[Vec2], aspect: f32) -> (Vec<Pos2>, Vec<Vec<Pos2>>) {
    let mut centres = vec![Pos2::ZERO; sizes.len()];
    let mut links = vec![Vec::new(); sizes.len()];
    let Some(&root) = tree.order.first() else { return (centres, links) };
    let mut shapes: Vec<Vec<Shape>> = vec![Vec::new(); sizes.len()];
    for &vertex in tree.order.iter().rev() {
        shapes[vertex] = shapes_of(&tree.children[vertex], sizes[vertex], &shapes);
    }
    let scale = |shape: &Shape| fit_scale(shape.size, aspect);
    let best = shapes[root].iter().copied().max_by(|a, b| scale(a).total_cmp(&scale(b)));
    let mut stack: Vec<(usize, Pos2, Shape)> =
        best.map(|shape| (root, Pos2::ZERO, shape)).into_iter().collect();
    while let Some((vertex, corner, shape)) = stack.pop() {
        centres[vertex] = corner + shape.root;
        let axis = if shape.right { Vec2::RIGHT } else { Vec2::DOWN };
        let from = centres[vertex] + axis * sizes[vertex] / 2.0;
        for (child, offset, child_shape) in
            children_of(tree, vertex, &shape, sizes[vertex], &shapes)
        {
            let block = Rect::from_min_size(corner + offset, child_shape.size);
            let middle = block.min + child_shape.root;
            // The line bends only in the gap next to the root and is straight after that.
            let knee = if shape.right {
                pos2(block.left(), middle.y)
            } else {
                pos2(middle.x, block.top())
            };
            links[child] = s_curve(from, knee, axis);
            let to = middle - axis * sizes[child] / 2.0;
            if (to - knee).dot(axis) > 1.0 {
                links[child].push(to);
            }
            stack.push((child, block.min, child_shape));
        }
    }
    (centres, links)
}

/// The possible shapes of a subtree, from narrow and high to wide and low.
fn shapes_of(children: &[usize], size: Vec2, shapes: &[Vec<Shape>]) -> Vec<Shape> {
    if children.is_empty() {
        return vec![Shape { size, root: size / 2.0, right: true, limit: 0.0 }];
    }
    let mut found = Vec::new();
    for right in [true, false] {
        for limit in limits(children, right, shapes) {
            let (blocks, total) = arrange(children, right, limit, shapes);
            let size = turn(size, !right);
            let extents = blocks.iter().map(|(_, block)| turn(block.size, !right).x);
            let width = size.x + LEVEL_GAP + extents.fold(0.0, f32::max);
            let height = total.max(size.y);
            let spare = (height - total) / 2.0;
            let root_of = |(offset, block): &(f32, Shape)| offset + turn(block.root, !right).y;
            let (first, last) = (root_of(&blocks[0]), root_of(&blocks[blocks.len() - 1]));
            let middle = spare + (first + last) / 2.0;
            let middle = middle.clamp(size.y / 2.0, height - size.y / 2.0);
            found.push(Shape {
                size: turn(vec2(width, height), !right),
                root: turn(vec2(size.x / 2.0, middle), !right),
                right,
                limit,
            });
        }
    }
    found.sort_by(|a, b| a.size.x.total_cmp(&b.size.x).then(a.size.y.total_cmp(&b.size.y)));
    let mut lowest = f32::INFINITY;
    found.retain(|shape| {
        let lower = shape.size.y < lowest;
        lowest = lowest.min(shape.size.y);
        lower
    });
    thin_out(found)
}

/// Candidate values of [`Shape::limit`]: the extents of the children's shapes, without those that
/// are too small for some child.
fn limits(children: &[usize], right: bool, shapes: &[Vec<Shape>]) -> Vec<f32> {
    let extent = |shape: &Shape| turn(shape.size, !right).x;
    // Below this limit, at least one child has no shape that fits.
    let min_limit = children
        .iter()
        .map(|&child| shapes[child].iter().map(extent).fold(f32::INFINITY, f32::min))
        .fold(0.0, f32::max);
    let all = children.iter().flat_map(|&child| &shapes[child]).map(extent);
    let mut limits: Vec<f32> = all.filter(|&limit| limit >= min_limit).collect();
    limits.sort_by(f32::total_cmp);
    limits.dedup();
    thin_out(limits)
}

/// Arranges the children in a row across the direction of growth, each in its narrowest shape
/// within `limit`. Returns the offset and the shape of each child, and the total width of the row.
fn arrange(
    children: &[usize],
    right: bool,
    limit: f32,
    shapes: &[Vec<Shape>],
) -> (Vec<(f32, Shape)>, f32) {
    let mut blocks = Vec::with_capacity(children.len());
    let mut end = -GAP;
    for &child in children {
        let fits = shapes[child].iter().filter(|shape| turn(shape.size, !right).x <= limit);
        let across = |shape: &Shape| turn(shape.size, !right).y;
        let Some(&shape) = fits.min_by(|a, b| across(a).total_cmp(&across(b))) else { continue };
        blocks.push((end + GAP, shape));
        end += GAP + across(&shape);
    }
    (blocks, end)
}

/// For each child of a vertex drawn in `shape`: its index, its corner relative to the corner of
/// `shape`, and its own shape.
fn children_of(
    tree: &TreeShape,
    vertex: usize,
    shape: &Shape,
    size: Vec2,
    shapes: &[Vec<Shape>],
) -> Vec<(usize, Vec2, Shape)> {
    let children = &tree.children[vertex];
    if children.is_empty() {
        return Vec::new();
    }
    let (blocks, total) = arrange(children, shape.right, shape.limit, shapes);
    let spare = (turn(shape.size, !shape.right).y - total).max(0.0) / 2.0;
    let depth = turn(size, !shape.right).x + LEVEL_GAP;
    let child_block = |(&child, (offset, block)): (&usize, (f32, Shape))| {
        (child, turn(vec2(depth, spare + offset), !shape.right), block)
    };
    children.iter().zip(blocks).map(child_block).collect()
}

/// At most [`MAX_SHAPES`] evenly spaced items, including the first and the last.
fn thin_out<T: Copy>(items: Vec<T>) -> Vec<T> {
    if items.len() <= MAX_SHAPES {
        return items;
    }
    (0..MAX_SHAPES).map(|index| items[index * (items.len() - 1) / (MAX_SHAPES - 1)]).collect()
}
