//! Children in a stack to the right of their parent, or in a row below it.

use eframe::egui::{Vec2, vec2};

use super::{Block, Form, Packer, Packing, turn};
use crate::app::layout::s_curve;

/// The subtrees of some children, one below the other.
struct Stack {
    /// The packing of the subtree of each child, and its offset from the top of the first.
    blocks: Vec<(f32, Packing)>,
    /// Offset of the first subtree from the top of the surrounding packing.
    top: f32,
    /// Height of the surrounding packing.
    height: f32,
    /// Offset of the centre of the parent from the top of the surrounding packing: halfway between
    /// its first and its last child if there is room.
    middle: f32,
}

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
            let stack = self.stack(size.y, children, turned, limit);
            let extents = stack.blocks.iter().map(|(_, block)| turn(block.size, turned).x);
            let width = size.x + self.gaps.levels + extents.fold(0.0, f32::max);
            found.push(Packing {
                size: turn(vec2(width, stack.height), turned),
                root: turn(vec2(size.x / 2.0, stack.middle), turned),
                form: Form::Stack { turned, limit },
                without_heavy: false,
            });
        }
    }

    /// Stacks the subtrees of `children`, each at most `limit` wide, next to a parent that is
    /// `parent_height` high.
    ///
    /// # Panics
    /// If there are no children.
    fn stack(&self, parent_height: f32, children: &[usize], turned: bool, limit: f32) -> Stack {
        let mut blocks = Vec::with_capacity(children.len());
        let mut end = -self.gaps.siblings;
        for &child in children {
            let packing = self.within(child, turned, limit);
            blocks.push((end + self.gaps.siblings, packing));
            end += self.gaps.siblings + turn(packing.size, turned).y;
        }
        let height = end.max(parent_height);
        let top = (height - end) / 2.0;
        let root_of = |(offset, block): &(f32, Packing)| offset + turn(block.root, turned).y;
        let (first, last) = (root_of(&blocks[0]), root_of(&blocks[blocks.len() - 1]));
        let middle = top + (first + last) / 2.0;
        let middle = middle.clamp(parent_height / 2.0, height - parent_height / 2.0);
        Stack { blocks, top, height, middle }
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
        let Stack { blocks, top, middle, .. } = self.stack(size.y, children, turned, limit);
        let axis = turn(Vec2::RIGHT, turned);
        let from = turn(vec2(size.x, middle), turned).to_pos2();
        let place = |(&child, (offset, packing)): (&usize, (f32, Packing))| {
            let corner = vec2(size.x + self.gaps.levels, top + offset);
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
