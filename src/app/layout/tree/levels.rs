//! The arrangement in levels: all vertices of one depth in a row.

use eframe::egui::{Pos2, Vec2, pos2};

use super::{LEVEL_GAP, TreeShape, contour};
use crate::app::layout::s_curve;

/// Gap between neighbours on a level, as a share of their mean width.
const GAP: f32 = 0.22;

/// The line to every vertex from the bottom of its parent; empty for the root. Lines run sideways
/// only between levels, where there are no boxes.
pub(super) fn links(tree: &TreeShape, sizes: &[Vec2], centres: &[Pos2]) -> Vec<Vec<Pos2>> {
    let half = |vertex: usize| sizes[vertex].y / 2.0;
    // By level: its top and its bottom.
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
            let start = pos2(from.x, bands[level].1);
            let end = pos2(to.x, bands[level + 1].0);
            let mut link = s_curve(start, end, Vec2::DOWN);
            // A box that is less high than its level needs a straight line to the edge of the
            // level. Differences up to half a point are ignored.
            if from.y + half(vertex) < start.y - 0.5 {
                link.insert(0, pos2(from.x, from.y + half(vertex)));
            }
            if to.y - half(child) > end.y + 0.5 {
                link.push(pos2(to.x, to.y - half(child)));
            }
            links[child] = link;
        }
    }
    links
}

/// The centres of all vertices, with each level below the one before.
pub(super) fn centres(tree: &TreeShape, sizes: &[Vec2]) -> Vec<Pos2> {
    let widths: Vec<f32> = sizes.iter().map(|size| size.x * (1.0 + GAP)).collect();
    let across = contour::pack(tree, &widths);
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
