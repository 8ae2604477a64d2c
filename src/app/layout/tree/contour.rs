//! Packing subtrees by their contours.
//!
//! Subtrees are rigid pieces that are pushed together until their contours touch, as in Reingold
//! and Tilford ("Tidier drawings of trees", 1981). Siblings are packed once from the left and once
//! from the right and placed at the mean of both, which is symmetric and spreads small subtrees
//! between large ones without a correction step (Kennedy, "Drawing trees", 1996).

use super::TreeShape;

/// The left and right edge of a subtree on each of its levels, deepest level first, so that adding
/// the parent appends a level. Moving the whole subtree only changes `shift`, which is added to all
/// edges.
#[derive(Default)]
struct Contour {
    shift: f32,
    levels: Vec<(f32, f32)>,
}

impl Contour {
    fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Left and right edge on the level that is `below` levels under the top.
    fn edges(&self, below: usize) -> (f32, f32) {
        let (left, right) = self.levels[self.depth() - 1 - below];
        (left + self.shift, right + self.shift)
    }

    /// The common contour of two subtrees with their tops on the same level.
    fn unite(self, other: Self) -> Self {
        let (mut deep, shallow) =
            if self.depth() >= other.depth() { (self, other) } else { (other, self) };
        for below in 0..shallow.depth() {
            let (left, right) = shallow.edges(below);
            let index = deep.depth() - 1 - below;
            let edges = &mut deep.levels[index];
            edges.0 = edges.0.min(left - deep.shift);
            edges.1 = edges.1.max(right - deep.shift);
        }
        deep
    }
}

/// Packs the subtrees of siblings as tightly as their contours allow. Returns the position of the
/// centre of each vertex along its level, with the root at zero. Vertex `v` is `widths[v]` wide.
pub(super) fn pack(tree: &TreeShape, widths: &[f32]) -> Vec<f32> {
    let mut contours: Vec<Contour> = widths.iter().map(|_| Contour::default()).collect();
    // Until the last loop, positions are relative to the parent.
    let mut across = vec![0.0; widths.len()];
    for &vertex in tree.order.iter().rev() {
        let children = &tree.children[vertex];
        let mut below: Vec<Contour> =
            children.iter().map(|&child| std::mem::take(&mut contours[child])).collect();
        let positions = sibling_positions(&below);
        let mut united = Contour::default();
        for ((contour, &child), &position) in below.iter_mut().zip(children).zip(&positions) {
            across[child] = position;
            contour.shift += position;
            united = united.unite(std::mem::take(contour));
        }
        let half = widths[vertex] / 2.0;
        united.levels.push((-half - united.shift, half - united.shift));
        contours[vertex] = united;
    }
    for &vertex in &tree.order {
        for &child in &tree.children[vertex] {
            across[child] += across[vertex];
        }
    }
    across
}

/// The positions of siblings relative to the middle between the first and the last.
fn sibling_positions(contours: &[Contour]) -> Vec<f32> {
    let mut depths: Vec<usize> = contours.iter().map(Contour::depth).collect();
    depths.sort_unstable();
    // Below the second deepest subtree there is nothing to collide with. Skipping those levels
    // keeps the total time linear, except for the sorting.
    let max_depth = if depths.len() < 2 { 0 } else { depths[depths.len() - 2] };
    let from_left = push_apart(contours.iter(), max_depth, |contour, below| contour.edges(below));
    let from_right = push_apart(contours.iter().rev(), max_depth, |contour, below| {
        let (left, right) = contour.edges(below);
        (-right, -left)
    });
    let (Some(&last), Some(&first)) = (from_left.last(), from_right.last()) else {
        return Vec::new();
    };
    let mean = |(left, right): (&f32, &f32)| ((left - last / 2.0) + (first / 2.0 - right)) / 2.0;
    from_left.iter().zip(from_right.iter().rev()).map(mean).collect()
}

/// The smallest positions at which no contour overlaps an earlier one; the first position is zero.
/// Only the first `max_depth` levels are compared. `edges` returns the left and right edge of a
/// contour on a level.
fn push_apart<'a>(
    contours: impl Iterator<Item = &'a Contour>,
    max_depth: usize,
    edges: impl Fn(&Contour, usize) -> (f32, f32),
) -> Vec<f32> {
    // The right edge of the previous contours on each level.
    let mut reached: Vec<f32> = Vec::new();
    let mut positions: Vec<f32> = Vec::new();
    for contour in contours {
        let levels = contour.depth().min(max_depth);
        let common = levels.min(reached.len());
        let needed = (0..common).map(|below| reached[below] - edges(contour, below).0);
        let position = if positions.is_empty() { 0.0 } else { needed.fold(0.0, f32::max) };
        for below in 0..levels {
            let right = position + edges(contour, below).1;
            match reached.get_mut(below) {
                Some(edge) => *edge = right,
                None => reached.push(right),
            }
        }
        positions.push(position);
    }
    positions
}
