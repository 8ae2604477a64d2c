//! Compact drawings of large trees.
//!
//! Every subtree takes up a rectangle, in one of several forms ([`Form`]): its children in a stack
//! or in rows next to its root, or its heavy path folded into rows. The heavy child of a vertex is
//! the child with the largest subtree; the heavy path goes from a vertex to its heavy child, to the
//! heavy child of that one and so on, down to a leaf. The form is chosen as in chip
//! floorplanning: each subtree has a list of candidate packings, from narrow and tall to wide and
//! low, computed from the lists of its children (Stockmeyer, "Optimal orientations of cells in
//! slicing floorplan designs", 1983). A tree of a thousand cliques thus fills a pane, while drawn
//! in levels it would be a thin strip.

mod fold;
mod shelves;
mod stack;

use eframe::egui::{Pos2, Vec2};

use super::{Gaps, TreeShape, score};
use fold::Folds;

/// Maximum number of candidate packings per subtree. More would fill the pane a little better and
/// take longer.
const MAX_PACKINGS: usize = 48;

/// Maximum number of candidate packings in a tree: the sum over all subtrees, without cells and
/// subtrees where a folded path may start. In a tree of more than about 8,300 vertices, it
/// leaves each subtree fewer than [`MAX_PACKINGS`] candidates, but at least 4. This limits the time
/// that a large tree takes.
const MAX_TOTAL_PACKINGS: usize = 400_000;

/// How the subtrees of the children are arranged around the root of a subtree. If a form is
/// `turned`, its axes are swapped: below instead of to the right, columns instead of rows.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// No children.
    Leaf,
    /// The children are in a stack to the right of the root, each at most `limit` wide.
    Stack { turned: bool, limit: f32 },
    /// The children are in rows to the right of the root, each at most `limit` high. A row is about
    /// `length` long. Lines reach the children from above.
    Shelves { turned: bool, limit: f32, length: f32 },
    /// The heavy path is folded into rows about `length` long, alternately from left to right and
    /// from right to left. The other children of each vertex of the path are below the vertex;
    /// together with it they are at most `limit` high.
    Fold { limit: f32, length: f32 },
}

/// One way to pack a subtree into a rectangle.
#[derive(Clone, Copy, Debug)]
struct Packing {
    size: Vec2,
    /// The centre of the root, relative to the upper left corner.
    root: Vec2,
    form: Form,
    /// Whether the subtree of the heavy child is left out, because it is drawn next to this
    /// packing.
    without_heavy: bool,
}

impl Packing {
    /// The smallest rectangle around a vertex of `size`.
    fn leaf(size: Vec2) -> Self {
        Self { size, root: size / 2.0, form: Form::Leaf, without_heavy: false }
    }

    /// Whether the root is at the top, with nothing to its left or right.
    fn has_root_on_top(&self) -> bool {
        match self.form {
            Form::Leaf => true,
            Form::Stack { turned, .. } | Form::Shelves { turned, .. } => turned,
            Form::Fold { .. } => false,
        }
    }
}

/// The packing of a subtree, where it is, and how it is connected.
struct Block {
    vertex: usize,
    /// The upper left corner, relative to the corner of the surrounding packing.
    corner: Vec2,
    packing: Packing,
    /// The line from the parent to `vertex`, relative to the corner of the surrounding packing.
    /// Empty for the first vertex of a folded path.
    link: Vec<Pos2>,
}

/// `vector`, with its axes swapped if `turned`.
fn turn(vector: Vec2, turned: bool) -> Vec2 {
    if turned { vector.yx() } else { vector }
}

/// The candidate packings of all subtrees of a tree.
struct Packer<'a> {
    tree: &'a TreeShape,
    sizes: &'a [Vec2],
    gaps: Gaps,
    max_packings: usize,
    /// The heavy child of each vertex; `None` for leaves.
    heavy: Vec<Option<usize>>,
    /// Candidate packings of the subtree of each vertex, from narrow and tall to wide and low.
    packings: Vec<Vec<Packing>>,
    /// Candidate packings without the subtree of the heavy child and with the root on top, sorted
    /// like `packings`. Empty for vertices that are not on a path that may be folded.
    cells: Vec<Vec<Packing>>,
}

/// The centres of all vertices, and the line to each of them from its parent; the line is empty for
/// the root.
pub(super) fn pack(tree: &TreeShape, sizes: &[Vec2]) -> (Vec<Pos2>, Vec<Vec<Pos2>>) {
    let mut centres = vec![Pos2::ZERO; sizes.len()];
    let mut links = vec![Vec::new(); sizes.len()];
    let Some(&root) = tree.order.first() else { return (centres, links) };
    let packer = Packer::new(tree, sizes);
    let best = packer.packings[root]
        .iter()
        .copied()
        .max_by(|a, b| score(a.size).total_cmp(&score(b.size)));
    let mut stack: Vec<(usize, Pos2, Packing)> =
        best.map(|packing| (root, Pos2::ZERO, packing)).into_iter().collect();
    while let Some((vertex, corner, packing)) = stack.pop() {
        centres[vertex] = corner + packing.root;
        for mut block in packer.blocks(vertex, &packing) {
            block.link.iter_mut().for_each(|point| *point += corner.to_vec2());
            if !block.link.is_empty() {
                links[block.vertex] = block.link;
            }
            stack.push((block.vertex, corner + block.corner, block.packing));
        }
    }
    (centres, links)
}

impl<'a> Packer<'a> {
    /// Computes the candidate packings of all subtrees of `tree`, from the leaves to the root.
    fn new(tree: &'a TreeShape, sizes: &'a [Vec2]) -> Self {
        let n = sizes.len();
        let mut packer = Self {
            tree,
            sizes,
            gaps: Gaps::for_tree_of(n),
            max_packings: (MAX_TOTAL_PACKINGS / n.max(1)).clamp(4, MAX_PACKINGS),
            heavy: heavy_children(tree),
            packings: vec![Vec::new(); n],
            cells: vec![Vec::new(); n],
        };
        let folds = Folds::new(tree, &packer.heavy);
        for &vertex in tree.order.iter().rev() {
            let children = &tree.children[vertex];
            let mut found = packer.next_to(vertex, children, false);
            if folds.is_cell(vertex) {
                let others = packer.other_children(vertex);
                let mut cells = packer.next_to(vertex, &others, true);
                cells.retain(Packing::has_root_on_top);
                packer.cells[vertex] = efficient(cells, packer.max_packings);
            }
            if folds.is_top(vertex) {
                found.extend(packer.folded(vertex));
            }
            let max_count = if folds.is_top(vertex) { MAX_PACKINGS } else { packer.max_packings };
            packer.packings[vertex] = efficient(found, max_count);
        }
        packer
    }

    /// The children of `vertex` except the heavy one.
    fn other_children(&self, vertex: usize) -> Vec<usize> {
        let children = self.tree.children[vertex].iter().copied();
        children.filter(|&child| self.heavy[vertex] != Some(child)).collect()
    }

    /// Packings in which the subtrees of `children` are in stacks or shelves next to `vertex`.
    /// `without_heavy` says whether the heavy child is missing from `children`.
    fn next_to(&self, vertex: usize, children: &[usize], without_heavy: bool) -> Vec<Packing> {
        if children.is_empty() {
            return vec![Packing { without_heavy, ..Packing::leaf(self.sizes[vertex]) }];
        }
        let mut found = Vec::new();
        for turned in [false, true] {
            self.stacked(vertex, children, turned, &mut found);
            self.shelved(vertex, children, turned, &mut found);
        }
        found.iter_mut().for_each(|packing| packing.without_heavy = without_heavy);
        found
    }

    /// The parts of this packing of the subtree of `vertex`: the subtrees next to `vertex`, or in a
    /// fold the cells of the heavy path, beginning with the cell of `vertex`.
    fn blocks(&self, vertex: usize, packing: &Packing) -> Vec<Block> {
        let children = if packing.without_heavy {
            &self.other_children(vertex)
        } else {
            &self.tree.children[vertex]
        };
        match packing.form {
            Form::Leaf => Vec::new(),
            Form::Stack { turned, limit } => self.stack_blocks(vertex, children, turned, limit),
            Form::Shelves { turned, limit, length } => {
                self.shelf_blocks(vertex, children, packing, (turned, limit, length))
            }
            Form::Fold { limit, length } => self.fold_blocks(vertex, limit, length),
        }
    }

    /// The packing of the subtree of `child` that is at most `limit` long in the first direction
    /// and shortest in the second: the first direction is to the right, or down if `turned`.
    fn within(&self, child: usize, turned: bool, limit: f32) -> Packing {
        best_within(&self.packings[child], turned, limit)
    }

    /// Candidate limits for [`within`](Self::within): the extents of the children's packings,
    /// without extents that are too small for some child.
    fn limits(&self, children: &[usize], turned: bool, max_count: usize) -> Vec<f32> {
        limits(children.iter().map(|&child| &self.packings[child]), turned, max_count)
    }
}

/// Removes every packing for which another one is at most as wide and at most as high, and thins
/// out the rest to at most `max_count`.
fn efficient(mut found: Vec<Packing>, max_count: usize) -> Vec<Packing> {
    found.sort_by(|a, b| a.size.x.total_cmp(&b.size.x).then(a.size.y.total_cmp(&b.size.y)));
    let mut lowest = f32::INFINITY;
    found.retain(|packing| {
        let lower = packing.size.y < lowest;
        lowest = lowest.min(packing.size.y);
        lower
    });
    thin_out(found, max_count)
}

/// The heavy child of each vertex: the child with the largest subtree; of equally large subtrees,
/// the child with the lowest index. `None` for leaves.
fn heavy_children(tree: &TreeShape) -> Vec<Option<usize>> {
    let mut count = vec![1_usize; tree.children.len()];
    let mut heavy = vec![None; tree.children.len()];
    for &vertex in tree.order.iter().rev() {
        let children = &tree.children[vertex];
        count[vertex] += children.iter().map(|&child| count[child]).sum::<usize>();
        heavy[vertex] =
            children.iter().copied().max_by_key(|&child| (count[child], std::cmp::Reverse(child)));
    }
    heavy
}

/// Of packings sorted from narrow and tall to wide and low, the one that is at most `limit` long in
/// the first direction and shortest in the second. The first direction is to the right, or down if
/// `turned`. If all are too long, the one that is shortest in the first direction.
fn best_within(packings: &[Packing], turned: bool, limit: f32) -> Packing {
    let last = packings.len().saturating_sub(1);
    let index = if turned {
        packings.partition_point(|packing| packing.size.y > limit).min(last)
    } else {
        packings.partition_point(|packing| packing.size.x <= limit).saturating_sub(1)
    };
    packings.get(index).copied().unwrap_or_else(|| Packing::leaf(Vec2::ZERO))
}

/// At most `max_count` extents of packings in the first direction, which is to the right, or down
/// if `turned`. Leaves out extents that are too small for one of the lists of packings.
fn limits<'p>(
    lists: impl Iterator<Item = &'p Vec<Packing>> + Clone,
    turned: bool,
    max_count: usize,
) -> Vec<f32> {
    let extent = |packing: &Packing| turn(packing.size, turned).x;
    let min_limit = lists
        .clone()
        .map(|list| list.iter().map(extent).fold(f32::INFINITY, f32::min))
        .fold(0.0, f32::max);
    let mut limits: Vec<f32> =
        lists.flatten().map(extent).filter(|&limit| limit >= min_limit).collect();
    limits.sort_by(f32::total_cmp);
    limits.dedup();
    thin_out(limits, max_count)
}

/// At most `max_count` evenly spaced items, including the first and the last.
fn thin_out<T: Copy>(items: Vec<T>, max_count: usize) -> Vec<T> {
    if items.len() <= max_count {
        return items;
    }
    (0..max_count).map(|index| items[index * (items.len() - 1) / (max_count - 1)]).collect()
}

/// A line along `points`, with rounded corners.
fn rounded(points: &[Pos2]) -> Vec<Pos2> {
    /// Radius of a corner in points.
    const RADIUS: f32 = 6.0;
    let mut line: Vec<Pos2> = points.iter().take(1).copied().collect();
    for corner in points.windows(3) {
        let [before, at, after] = [corner[0], corner[1], corner[2]];
        let radius = RADIUS.min(before.distance(at) / 2.0).min(at.distance(after) / 2.0);
        let start = at + (before - at).normalized() * radius;
        let end = at + (after - at).normalized() * radius;
        // A point between the chord and the corner makes the corner look round.
        let middle = start + (end - start) * 0.5;
        line.extend([start, middle + (at - middle) * 0.4, end]);
    }
    line.extend(points.last().filter(|_| points.len() > 1));
    line
}
