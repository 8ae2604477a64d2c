//! Children in rows to the right of their parent, or in columns below it. This puts the leaves of a
//! star into a grid.
//!
//! One line, the trunk, runs down next to the parent. From it, a line runs above each row and
//! branches to the children in the row.

use eframe::egui::{Vec2, vec2};

use super::{Block, Form, Packer, Packing, rounded, turn};

/// Minimum number of children for which rows are tried. Fewer children are always in a stack.
const MIN_CHILDREN: usize = 4;

/// Maximum number of row heights that are tried for one vertex. For each height, up to twice as
/// many row lengths are tried.
const MAX_TRIED: usize = 8;

/// A child in a row.
struct Shelved {
    child: usize,
    packing: Packing,
    /// The upper left corner, relative to the upper left corner of the rows.
    corner: Vec2,
    /// The y coordinate of the line above the row.
    line: f32,
}

/// All computations are for rows to the right of the parent. For columns below it, sizes and
/// results are turned.
impl Packer<'_> {
    /// Adds the packings with `children` in rows.
    pub(super) fn shelved(
        &self,
        vertex: usize,
        children: &[usize],
        turned: bool,
        found: &mut Vec<Packing>,
    ) {
        if children.len() < MIN_CHILDREN {
            return;
        }
        let size = turn(self.sizes[vertex], turned);
        // Rows limit the height of a block, stacks its width.
        for limit in self.limits(children, !turned, MAX_TRIED.min(self.max_packings)) {
            for length in self.row_lengths(children, turned, limit) {
                let (_, rows) = self.rows(children, turned, limit, length);
                let height = rows.y.max(size.y);
                found.push(Packing {
                    size: turn(vec2(size.x + self.gaps.levels + rows.x, height), turned),
                    root: turn(vec2(size.x / 2.0, height / 2.0), turned),
                    form: Form::Shelves { turned, limit, length },
                    without_heavy: false,
                });
            }
        }
    }

    /// Candidate lengths of rows, which give about 2, 3, 4, 6, 8, 11 and more rows.
    fn row_lengths(&self, children: &[usize], turned: bool, limit: f32) -> Vec<f32> {
        let widths = children.iter().map(|&child| {
            turn(self.within(child, !turned, limit).size, turned).x + self.gaps.siblings
        });
        let (total, widest) =
            widths.fold((0.0, 0.0_f32), |(sum, max), width| (sum + width, max.max(width)));
        let mut lengths: Vec<f32> = Vec::new();
        let mut rows = 2.0;
        while lengths.len() < 2 * MAX_TRIED && rows <= children.len() as f32 {
            let length = (total / rows).max(widest);
            if lengths.last() != Some(&length) {
                lengths.push(length);
            }
            rows = (rows * 1.3).ceil();
        }
        lengths
    }

    /// Puts the children into rows, highest subtrees first. Returns the children and the size of
    /// all rows.
    fn rows(
        &self,
        children: &[usize],
        turned: bool,
        limit: f32,
        length: f32,
    ) -> (Vec<Shelved>, Vec2) {
        let mut blocks: Vec<(usize, Packing)> =
            children.iter().map(|&child| (child, self.within(child, !turned, limit))).collect();
        let height = |packing: &Packing| turn(packing.size, turned).y;
        blocks.sort_by(|(_, a), (_, b)| height(b).total_cmp(&height(a)));
        let mut shelved = Vec::with_capacity(blocks.len());
        let (mut size, mut x, mut top) = (Vec2::ZERO, 0.0, self.gaps.lines);
        for (child, packing) in blocks {
            let block = turn(packing.size, turned);
            if x > 0.0 && x + block.x > length {
                (x, top) = (0.0, size.y + self.gaps.lines);
            }
            let (corner, line) = (vec2(x, top), top - self.gaps.lines / 2.0);
            shelved.push(Shelved { child, packing, corner, line });
            size = size.max(corner + block);
            x += block.x + self.gaps.siblings;
        }
        (shelved, size)
    }

    /// Places the rows of `children` next to `vertex`, whose subtree has this packing. `turned`,
    /// `limit` and `length` are the fields of the packing's form, a [`Form::Shelves`].
    pub(super) fn shelf_blocks(
        &self,
        vertex: usize,
        children: &[usize],
        packing: &Packing,
        (turned, limit, length): (bool, f32, f32),
    ) -> Vec<Block> {
        let size = turn(self.sizes[vertex], turned);
        let root = turn(packing.root, turned);
        let (shelved, rows) = self.rows(children, turned, limit, length);
        let spare = (turn(packing.size, turned).y - rows.y) / 2.0;
        let origin = vec2(size.x + self.gaps.levels, spare.max(0.0));
        let trunk = size.x + self.gaps.levels / 2.0;
        let place = |block: Shelved| {
            let corner = origin + block.corner;
            let centre = corner + turn(block.packing.root, turned);
            let top = centre.y - turn(self.sizes[block.child], turned).y / 2.0;
            let line = origin.y + block.line;
            let points = [
                vec2(size.x, root.y),
                vec2(trunk, root.y),
                vec2(trunk, line),
                vec2(centre.x, line),
                vec2(centre.x, top),
            ]
            .map(|point| turn(point, turned).to_pos2());
            Block {
                vertex: block.child,
                corner: turn(corner, turned),
                packing: block.packing,
                link: rounded(&points),
            }
        };
        shelved.into_iter().map(place).collect()
    }
}
