//! Children in a stack to the right of their parent, or in a row below it.

use eframe::egui::{Vec2, vec2};

use super::{Block, Form, Packer, Packing, turn};
use crate::app::layout::s_curve;

/// All computations are for children to the right of their parent. For children below it, sizes and
/// results are turned.
impl Packer<'_> {
    /// Adds the packings with `children` in a stack.
    pub(super) fn stacked(
        &self,
        vertex: usize,
        children: &[usize],
        turned: bool,
        found: &mut Vec<Packing>,
    ) {
        let size = turn(self.sizes[vertex], turned);
        for limit in self.limits(children, turned, self.max_packings) {
            let (blocks, total) = self.stack(children, turned, limit);
            let extents = blocks.iter().map(|(_, block)| turn(block.size, turned).x);
            let width = size.x + self.gaps.levels + extents.fold(0.0, f32::max);
            let height = total.max(size.y);
            let spare = (height - total) / 2.0;
            let root_of = |(offset, block): &(f32, Packing)| offset + turn(block.root, turned).y;
            let (first, last) = (root_of(&blocks[0]), root_of(&blocks[blocks.len() - 1]));
            let middle = spare + (first + last) / 2.0;
            let middle = middle.clamp(size.y / 2.0, height - size.y / 2.0);
            found.push(Packing {
                size: turn(vec2(width, height), turned),
                root: turn(vec2(size.x / 2.0, middle), turned),
                form: Form::Stack { turned, limit },
                without_heavy: false,
            });
        }
    }

    /// The offset and the packing of the subtree of each child along the stack, and the length of
    /// the stack.
    fn stack(&self, children: &[usize], turned: bool, limit: f32) -> (Vec<(f32, Packing)>, f32) {
        let mut blocks = Vec::with_capacity(children.len());
        let mut end = -self.gaps.siblings;
        for &child in children {
            let packing = self.within(child, turned, limit);
            blocks.push((end + self.gaps.siblings, packing));
            end += self.gaps.siblings + turn(packing.size, turned).y;
        }
        (blocks, end)
    }

    /// Places the stack of `children` next to `vertex`.
    pub(super) fn stack_blocks(
        &self,
        vertex: usize,
        children: &[usize],
        turned: bool,
        limit: f32,
    ) -> Vec<Block> {
        let size = turn(self.sizes[vertex], turned);
        let (blocks, total) = self.stack(children, turned, limit);
        let height = total.max(size.y);
        let spare = (height - total) / 2.0;
        let root_of = |(offset, block): &(f32, Packing)| offset + turn(block.root, turned).y;
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Vec::new() };
        let middle = spare + (root_of(first) + root_of(last)) / 2.0;
        let middle = middle.clamp(size.y / 2.0, height - size.y / 2.0);
        let axis = turn(Vec2::RIGHT, turned);
        let from = turn(vec2(size.x, middle), turned).to_pos2();
        let place = |(&child, (offset, packing)): (&usize, (f32, Packing))| {
            let corner = vec2(size.x + self.gaps.levels, spare + offset);
            let root = corner + turn(packing.root, turned);
            // The line bends only in the gap next to the parent and is straight after that.
            let knee = turn(vec2(corner.x, root.y), turned).to_pos2();
            let mut link = s_curve(from, knee, axis);
            let half = turn(self.sizes[child], turned).x / 2.0;
            if root.x - half > corner.x + 1.0 {
                link.push(turn(vec2(root.x - half, root.y), turned).to_pos2());
            }
            Block { vertex: child, corner: turn(corner, turned), packing, link }
        };
        children.iter().zip(blocks).map(place).collect()
    }
}
