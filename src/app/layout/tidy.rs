//! Tidy drawings of rooted trees.
//!
//! Subtrees are rigid pieces that are pushed together until their contours touch, as by Reingold
//! and Tilford ("Tidier drawings of trees", 1981). Children are packed once from the left and once
//! from the right and stand at the mean of both, which is symmetric and needs no correction of
//! small subtrees between large ones (Kennedy, "Drawing trees", 1996).

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use crate::app::layout::{bounds, fit_scale, packed, s_curve};
use crate::graph::JunctionTree;

/// Clear space between neighbours on a level, as a share of their width.
const GAP: f32 = 0.22;

/// Clear space between levels, in which the separators are written.
pub(super) const LEVEL_GAP: f32 = 36.0;

/// How much larger than top-down another arrangement must come out to be taken.
const PREFERENCE: f32 = 1.35;

/// A rooted tree by indices.
#[derive(Clone, Debug)]
pub struct TreeShape {
    pub(super) children: Vec<Vec<usize>>,
    depth: Vec<usize>,
    /// Every vertex after its parent.
    pub(super) order: Vec<usize>,
}

impl TreeShape {
    /// The tree in which `children[v]` hang below `v`; what cannot be reached from `root` is not
    /// drawn and stays at the origin.
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

    /// The cliques of a junction tree.
    #[must_use]
    pub fn of_junction_tree(tree: &JunctionTree) -> Self {
        let children = |clique| tree.children(clique).iter().map(|link| link.clique.index());
        Self::new(
            tree.clique_ids().map(|clique| children(clique).collect()).collect(),
            tree.root().index(),
        )
    }

    fn levels(&self) -> usize {
        self.order.last().map_or(0, |&deepest| self.depth[deepest] + 1)
    }
}

/// In which direction a tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The root on top.
    Down,
    /// The root at the left edge.
    Right,
    /// Down in some subtrees and to the right in others, as the room asks for.
    Both,
}

/// A drawn tree.
#[derive(Clone, Debug)]
pub struct TreeDrawing {
    /// How the tree grows.
    pub growth: Growth,
    /// The centre of every vertex.
    pub centres: Vec<Pos2>,
    /// The line from its parent to every vertex; empty at the root.
    pub links: Vec<Vec<Pos2>>,
    /// What all vertices take up.
    pub bounds: Rect,
}

/// Draws `tree` with vertices of `sizes` so that they come out large in a pane that is `aspect`
/// times as wide as high: top-down, left to right, or both.
///
/// # Complexity
/// O(n) for n vertices.
#[must_use]
pub fn draw(tree: &TreeShape, sizes: &[Vec2], aspect: f32) -> TreeDrawing {
    let aspect = aspect.clamp(0.4, 4.0);
    let candidates = [Growth::Down, Growth::Right, Growth::Both].map(|growth| {
        let drawing = draw_growing(tree, sizes, growth, aspect);
        let bonus = match growth {
            Growth::Down => PREFERENCE,
            Growth::Right => 1.0,
            Growth::Both => 1.0 / PREFERENCE,
        };
        (bonus * fit_scale(drawing.bounds.size(), aspect), drawing)
    });
    let [first, others @ ..] = candidates;
    others.into_iter().fold(first, |best, next| if next.0 > best.0 { next } else { best }).1
}

/// Draws `tree` in one manner.
#[must_use]
pub fn draw_growing(tree: &TreeShape, sizes: &[Vec2], growth: Growth, aspect: f32) -> TreeDrawing {
    let (centres, links) = match growth {
        Growth::Down => {
            let centres = straight(tree, sizes);
            let links = straight_links(tree, sizes, &centres);
            (centres, links)
        }
        Growth::Right => {
            let turned: Vec<Vec2> = sizes.iter().map(|size| size.yx()).collect();
            let centres = straight(tree, &turned);
            let turn = |point: Pos2| pos2(point.y, point.x);
            let links = straight_links(tree, &turned, &centres).into_iter();
            let links = links.map(|link| link.into_iter().map(turn).collect()).collect();
            (centres.into_iter().map(turn).collect(), links)
        }
        Growth::Both => packed::pack(tree, sizes, aspect),
    };
    TreeDrawing { growth, bounds: bounds(&centres, sizes), centres, links }
}

/// Lines from the bottom of a box to the tops of those below it. They go across between the levels
/// alone, where no box is in the way.
fn straight_links(tree: &TreeShape, sizes: &[Vec2], centres: &[Pos2]) -> Vec<Vec<Pos2>> {
    let half = |vertex: usize| sizes[vertex].y / 2.0;
    let mut bands = vec![(f32::INFINITY, f32::NEG_INFINITY); tree.levels()];
    for &vertex in &tree.order {
        let band = &mut bands[tree.depth[vertex]];
        band.0 = band.0.min(centres[vertex].y - half(vertex));
        band.1 = band.1.max(centres[vertex].y + half(vertex));
    }
    let mut links = vec![Vec::new(); sizes.len()];
    for &vertex in &tree.order {
        let (from, level) = (centres[vertex], tree.depth[vertex]);
        for &child in &tree.children[vertex] {
            let to = centres[child];
            let leaves = pos2(from.x, bands[level].1);
            let arrives = pos2(to.x, bands[level + 1].0);
            let mut link = s_curve(leaves, arrives, Vec2::DOWN);
            if from.y + half(vertex) < leaves.y - 0.5 {
                link.insert(0, pos2(from.x, from.y + half(vertex)));
            }
            if to.y - half(child) > arrives.y + 0.5 {
                link.push(pos2(to.x, to.y - half(child)));
            }
            links[child] = link;
        }
    }
    links
}

/// Top-down: levels below each other.
fn straight(tree: &TreeShape, sizes: &[Vec2]) -> Vec<Pos2> {
    let widths: Vec<f32> = sizes.iter().map(|size| size.x * (1.0 + GAP)).collect();
    let across = pack(tree, &widths);
    let mut heights = vec![0.0_f32; tree.levels()];
    for &vertex in &tree.order {
        let height = &mut heights[tree.depth[vertex]];
        *height = height.max(sizes[vertex].y);
    }
    let mut level_y = Vec::with_capacity(heights.len());
    let mut bottom = 0.0;
    for height in heights {
        level_y.push(bottom + height / 2.0);
        bottom += height + LEVEL_GAP;
    }
    let mut centres = vec![Pos2::ZERO; sizes.len()];
    for &vertex in &tree.order {
        centres[vertex] = pos2(across[vertex], level_y[tree.depth[vertex]]);
    }
    centres
}

/// The left and right edge of a subtree on each of its levels, the deepest level first so that a
/// parent is pushed at the end. Edges are relative to a vertex that moves: add `shift`.
#[derive(Default)]
struct Contour {
    shift: f32,
    levels: Vec<(f32, f32)>,
}

impl Contour {
    fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Left and right edge `below` levels under the top.
    fn edges(&self, below: usize) -> (f32, f32) {
        let (left, right) = self.levels[self.depth() - 1 - below];
        (left + self.shift, right + self.shift)
    }

    /// Takes in `other`, whose top is on the level of this one's.
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

/// Packs every subtree as tightly as its contour allows; gives the place of each vertex across
/// the levels, the root at zero, where vertex `v` takes up `widths[v]`.
fn pack(tree: &TreeShape, widths: &[f32]) -> Vec<f32> {
    let mut contours: Vec<Contour> = widths.iter().map(|_| Contour::default()).collect();
    // At first relative to the parent.
    let mut across = vec![0.0; widths.len()];
    for &vertex in tree.order.iter().rev() {
        let children = &tree.children[vertex];
        let mut below: Vec<Contour> =
            children.iter().map(|&child| std::mem::take(&mut contours[child])).collect();
        let places = places_of_siblings(&below);
        let mut united = Contour::default();
        for ((contour, &child), &place) in below.iter_mut().zip(children).zip(&places) {
            across[child] = place;
            contour.shift += place;
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

/// Where siblings stand relative to the middle between the first and the last.
fn places_of_siblings(contours: &[Contour]) -> Vec<f32> {
    let mut depths: Vec<usize> = contours.iter().map(Contour::depth).collect();
    depths.sort_unstable();
    // Below the second deepest subtree nothing can touch; not to look there keeps this linear.
    let deepest = if depths.len() < 2 { 0 } else { depths[depths.len() - 2] };
    let from_left = push_apart(contours.iter(), deepest, |contour, below| contour.edges(below));
    let from_right = push_apart(contours.iter().rev(), deepest, |contour, below| {
        let (left, right) = contour.edges(below);
        (-right, -left)
    });
    let (Some(&last), Some(&first)) = (from_left.last(), from_right.last()) else {
        return Vec::new();
    };
    let mean = |(left, right): (&f32, &f32)| ((left - last / 2.0) + (first / 2.0 - right)) / 2.0;
    from_left.iter().zip(from_right.iter().rev()).map(mean).collect()
}

/// The smallest places from zero upward at which no contour reaches into one before it.
fn push_apart<'a>(
    contours: impl Iterator<Item = &'a Contour>,
    deepest: usize,
    edges: impl Fn(&Contour, usize) -> (f32, f32),
) -> Vec<f32> {
    let mut reached: Vec<f32> = Vec::new();
    let mut places: Vec<f32> = Vec::new();
    for contour in contours {
        let levels = contour.depth().min(deepest);
        let common = levels.min(reached.len());
        let free = (0..common).map(|below| reached[below] - edges(contour, below).0);
        let place = if places.is_empty() { 0.0 } else { free.fold(0.0, f32::max) };
        for below in 0..levels {
            let right = place + edges(contour, below).1;
            match reached.get_mut(below) {
                Some(edge) => *edge = right,
                None => reached.push(right),
            }
        }
        places.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of `n` vertices in which vertex `v` hangs below `parent(v)`, which is smaller.
    fn tree_of(n: usize, parent: impl Fn(usize) -> usize) -> TreeShape {
        let mut children = vec![Vec::new(); n];
        (1..n).for_each(|vertex| children[parent(vertex)].push(vertex));
        TreeShape::new(children, 0)
    }

    /// Many shapes: a chain, a star, a heap, and some irregular ones.
    fn trees() -> Vec<TreeShape> {
        let mut trees = vec![
            tree_of(1, |_| 0),
            tree_of(2, |_| 0),
            tree_of(60, |v| v - 1),
            tree_of(60, |_| 0),
            tree_of(127, |v| (v - 1) / 2),
        ];
        for seed in 1..6_usize {
            let spread = 3 * seed;
            trees.push(tree_of(300, |v| v - 1 - (v * 7919 + seed * 104_729) % v.min(spread)));
        }
        trees
    }

    fn mixed_sizes(n: usize) -> Vec<Vec2> {
        (0..n)
            .map(|v| Vec2::new(30.0 + (v % 5) as f32 * 9.0, 20.0 + (v % 3) as f32 * 4.0))
            .collect()
    }

    fn drawings() -> impl Iterator<Item = (TreeShape, Vec<Vec2>, TreeDrawing)> {
        trees().into_iter().flat_map(|tree| {
            [Growth::Down, Growth::Right, Growth::Both].map(|growth| {
                let sizes = mixed_sizes(tree.children.len());
                let drawing = draw_growing(&tree, &sizes, growth, 1.6);
                (tree.clone(), sizes, drawing)
            })
        })
    }

    #[test]
    fn no_two_vertices_overlap() {
        for (_, sizes, drawing) in drawings() {
            let boxes: Vec<Rect> = (0..sizes.len())
                .map(|v| Rect::from_center_size(drawing.centres[v], sizes[v]).shrink(0.01))
                .collect();
            for (index, a) in boxes.iter().enumerate() {
                assert!(a.min.is_finite() && a.max.is_finite(), "{:?}", drawing.growth);
                for b in &boxes[..index] {
                    assert!(!a.intersects(*b), "{:?}: {a:?} and {b:?}", drawing.growth);
                }
                assert!(drawing.bounds.expand(0.1).contains_rect(*a));
            }
        }
    }

    #[test]
    fn a_parent_stands_in_the_middle_between_its_first_and_last_child() {
        for (tree, _, drawing) in drawings().filter(|(.., drawing)| drawing.growth == Growth::Down)
        {
            for (vertex, children) in tree.children.iter().enumerate() {
                let (Some(&first), Some(&last)) = (children.first(), children.last()) else {
                    continue;
                };
                let middle = (drawing.centres[first].x + drawing.centres[last].x) / 2.0;
                assert!((drawing.centres[vertex].x - middle).abs() < 0.05);
                assert!(drawing.centres[first].y > drawing.centres[vertex].y);
            }
        }
    }

    #[test]
    fn children_stay_in_order_and_small_subtrees_are_spread_between_large_ones() {
        // Two deep children with three leaves between them.
        let mut children =
            vec![vec![1, 2, 3, 4, 5], vec![6, 7, 8], vec![], vec![], vec![], vec![9, 10, 11]];
        children.resize(12, Vec::new());
        let tree = TreeShape::new(children, 0);
        let drawing = draw_growing(&tree, &[Vec2::new(20.0, 10.0); 12], Growth::Down, 1.0);
        let x: Vec<f32> = (1..=5).map(|v| drawing.centres[v].x).collect();
        assert!(x.windows(2).all(|pair| pair[0] < pair[1]));
        assert!((x[2] - drawing.centres[0].x).abs() < 0.01, "the middle leaf is in the middle");
        assert!(((x[1] - x[0]) - (x[4] - x[3])).abs() < 0.01, "left and right are mirror images");
    }

    #[test]
    fn a_tree_grows_in_the_direction_that_suits_its_shape() {
        let growth = |tree: &TreeShape, aspect: f32| {
            draw(tree, &vec![Vec2::new(40.0, 25.0); tree.children.len()], aspect).growth
        };
        assert_eq!(growth(&tree_of(7, |v| (v - 1) / 2), 1.6), Growth::Down);
        assert_eq!(growth(&tree_of(15, |v| (v - 1) / 2), 0.5), Growth::Right);
        assert_eq!(growth(&tree_of(800, |v| (v - 1) / 2), 1.6), Growth::Both);
    }

    #[test]
    fn no_line_passes_through_a_box_and_each_joins_its_ends() {
        for (tree, sizes, drawing) in drawings() {
            let boxes: Vec<Rect> = (0..sizes.len())
                .map(|v| Rect::from_center_size(drawing.centres[v], sizes[v]))
                .collect();
            for (vertex, children) in tree.children.iter().enumerate() {
                for &child in children {
                    let link = &drawing.links[child];
                    assert!(boxes[vertex].distance_to_pos(link[0]) < 0.6);
                    assert!(boxes[child].distance_to_pos(link[link.len() - 1]) < 1.1);
                    let hit = |point: &Pos2| boxes.iter().any(|b| b.shrink(0.1).contains(*point));
                    assert!(!link.iter().any(hit), "{:?}", drawing.growth);
                }
            }
        }
    }

    #[test]
    fn a_chain_of_ten_thousand_is_drawn_without_recursion() {
        let tree = tree_of(10_000, |v| v - 1);
        let drawing = draw(&tree, &vec![Vec2::new(40.0, 25.0); 10_000], 1.6);
        assert!(drawing.bounds.is_finite());
    }
}
