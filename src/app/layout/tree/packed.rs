//! Compact drawings of large trees.
//!
//! Every subtree takes up a rectangle: either its root is at the left with the subtrees of its
//! children stacked to the right of it, or its root is at the top with the subtrees in a row below.
//! The choice is made as in chip floorplanning: each subtree has a list of candidate packings,
//! from narrow and tall to wide and low, computed from the lists of its children (Stockmeyer,
//! "Optimal orientations of cells in slicing floorplan designs", 1983). A tree of a thousand
//! cliques thus fills a pane of any shape, while drawn in levels it would be a thin strip.

use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};

use super::{LEVEL_GAP, TreeShape};
use crate::app::layout::{fit_scale, s_curve};

/// Gap between the subtrees of siblings, in points.
const GAP: f32 = 12.0;

/// Maximum number of candidate packings per subtree. More would fill the pane a little better and
/// take longer.
const MAX_PACKINGS: usize = 48;

/// One way to pack a subtree into a rectangle.
#[derive(Clone, Copy, Debug)]
struct Packing {
    size: Vec2,
    /// The centre of the root, relative to the upper left corner.
    root: Vec2,
    /// Whether the children are to the right of the root rather than below it.
    right: bool,
    /// Maximum extent of each child's subtree away from the root: its width if `right`, otherwise
    /// its height.
    limit: f32,
}

/// `vector`, with its axes swapped if `turned`. All computations are for children at the right of
/// their parent; for children below it they use turned vectors.
fn turn(vector: Vec2, turned: bool) -> Vec2 {
    if turned { vector.yx() } else { vector }
}

/// The centres of all vertices, and the line to each of them from its parent; the line is empty for
/// the root.
pub(super) fn pack(tree: &TreeShape, sizes: &[Vec2], aspect: f32) -> (Vec<Pos2>, Vec<Vec<Pos2>>) {
    let mut centres = vec![Pos2::ZERO; sizes.len()];
    let mut links = vec![Vec::new(); sizes.len()];
    let Some(&root) = tree.order.first() else { return (centres, links) };
    let mut packings: Vec<Vec<Packing>> = vec![Vec::new(); sizes.len()];
    for &vertex in tree.order.iter().rev() {
        packings[vertex] = packings_of(&tree.children[vertex], sizes[vertex], &packings);
    }
    let scale = |packing: &Packing| fit_scale(packing.size, aspect);
    let best = packings[root].iter().copied().max_by(|a, b| scale(a).total_cmp(&scale(b)));
    let mut stack: Vec<(usize, Pos2, Packing)> =
        best.map(|packing| (root, Pos2::ZERO, packing)).into_iter().collect();
    while let Some((vertex, corner, packing)) = stack.pop() {
        centres[vertex] = corner + packing.root;
        let axis = if packing.right { Vec2::RIGHT } else { Vec2::DOWN };
        let from = centres[vertex] + axis * sizes[vertex] / 2.0;
        for (child, offset, child_packing) in
            children_of(tree, vertex, &packing, sizes[vertex], &packings)
        {
            let block = Rect::from_min_size(corner + offset, child_packing.size);
            let middle = block.min + child_packing.root;
            // The line bends only in the gap next to the root and is straight after that.
            let knee = if packing.right {
                pos2(block.left(), middle.y)
            } else {
                pos2(middle.x, block.top())
            };
            links[child] = s_curve(from, knee, axis);
            let to = middle - axis * sizes[child] / 2.0;
            if (to - knee).dot(axis) > 1.0 {
                links[child].push(to);
            }
            stack.push((child, block.min, child_packing));
        }
    }
    (centres, links)
}

/// The candidate packings of a subtree, from narrow and tall to wide and low. The root of the
/// subtree has `size`, and `packings` has the candidates of each of its `children`.
fn packings_of(children: &[usize], size: Vec2, packings: &[Vec<Packing>]) -> Vec<Packing> {
    if children.is_empty() {
        return vec![Packing { size, root: size / 2.0, right: true, limit: 0.0 }];
    }
    let mut found = Vec::new();
    for right in [true, false] {
        for limit in limits(children, right, packings) {
            let (blocks, total) = arrange(children, right, limit, packings);
            let size = turn(size, !right);
            let extents = blocks.iter().map(|(_, block)| turn(block.size, !right).x);
            let width = size.x + LEVEL_GAP + extents.fold(0.0, f32::max);
            let height = total.max(size.y);
            let spare = (height - total) / 2.0;
            let root_of = |(offset, block): &(f32, Packing)| offset + turn(block.root, !right).y;
            let (first, last) = (root_of(&blocks[0]), root_of(&blocks[blocks.len() - 1]));
            let middle = spare + (first + last) / 2.0;
            let middle = middle.clamp(size.y / 2.0, height - size.y / 2.0);
            found.push(Packing {
                size: turn(vec2(width, height), !right),
                root: turn(vec2(size.x / 2.0, middle), !right),
                right,
                limit,
            });
        }
    }
    found.sort_by(|a, b| a.size.x.total_cmp(&b.size.x).then(a.size.y.total_cmp(&b.size.y)));
    let mut lowest = f32::INFINITY;
    found.retain(|packing| {
        let lower = packing.size.y < lowest;
        lowest = lowest.min(packing.size.y);
        lower
    });
    thin_out(found)
}

/// Candidate values of [`Packing::limit`]: the extents of the children's packings, without extents
/// that are too small for some child.
fn limits(children: &[usize], right: bool, packings: &[Vec<Packing>]) -> Vec<f32> {
    let extent = |packing: &Packing| turn(packing.size, !right).x;
    // Below this limit, at least one child has no packing that fits.
    let min_limit = children
        .iter()
        .map(|&child| packings[child].iter().map(extent).fold(f32::INFINITY, f32::min))
        .fold(0.0, f32::max);
    let all = children.iter().flat_map(|&child| &packings[child]).map(extent);
    let mut limits: Vec<f32> = all.filter(|&limit| limit >= min_limit).collect();
    limits.sort_by(f32::total_cmp);
    limits.dedup();
    thin_out(limits)
}

/// Arranges the subtrees of the children in a stack if `right`, otherwise in a row. Of the packings
/// of a subtree within `limit`, the one that takes up the least of the stack or row is used.
/// Returns the offset and the packing of each subtree, and the total length of the stack or row.
fn arrange(
    children: &[usize],
    right: bool,
    limit: f32,
    packings: &[Vec<Packing>],
) -> (Vec<(f32, Packing)>, f32) {
    let mut blocks = Vec::with_capacity(children.len());
    let mut end = -GAP;
    for &child in children {
        let fits = packings[child].iter().filter(|packing| turn(packing.size, !right).x <= limit);
        let across = |packing: &Packing| turn(packing.size, !right).y;
        let Some(&packing) = fits.min_by(|a, b| across(a).total_cmp(&across(b))) else { continue };
        blocks.push((end + GAP, packing));
        end += GAP + across(&packing);
    }
    (blocks, end)
}

/// For each child of `vertex`, which has `size` and whose subtree has `packing`: the index of the
/// child, the upper left corner of its subtree relative to the corner of `packing`, and the packing
/// of its subtree.
fn children_of(
    tree: &TreeShape,
    vertex: usize,
    packing: &Packing,
    size: Vec2,
    packings: &[Vec<Packing>],
) -> Vec<(usize, Vec2, Packing)> {
    let children = &tree.children[vertex];
    if children.is_empty() {
        return Vec::new();
    }
    let (blocks, total) = arrange(children, packing.right, packing.limit, packings);
    let spare = (turn(packing.size, !packing.right).y - total).max(0.0) / 2.0;
    let depth = turn(size, !packing.right).x + LEVEL_GAP;
    let child_block = |(&child, (offset, block)): (&usize, (f32, Packing))| {
        (child, turn(vec2(depth, spare + offset), !packing.right), block)
    };
    children.iter().zip(blocks).map(child_block).collect()
}

/// At most [`MAX_PACKINGS`] evenly spaced items, including the first and the last.
fn thin_out<T: Copy>(items: Vec<T>) -> Vec<T> {
    if items.len() <= MAX_PACKINGS {
        return items;
    }
    (0..MAX_PACKINGS).map(|index| items[index * (items.len() - 1) / (MAX_PACKINGS - 1)]).collect()
}
