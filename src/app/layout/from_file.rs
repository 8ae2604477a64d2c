//! Drawings that place vertices at the positions given in the file of a network.

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use crate::app::layout::{border, bounds};

/// Percentage of vertices that must have a position in the file for the positions to be used. With
/// fewer, too many vertices would be in the rows below the others. Chosen by eye.
const MIN_POSITIONED_PERCENT: usize = 90;

/// Minimum gap between boxes, in points.
const GAP: f32 = 10.0;

/// Range of the scale of a drawing, in points per unit of the positions in the file. With a smaller
/// minimum, boxes that are far apart come closer; with a larger maximum, a pair of boxes that is
/// close together spreads all others further.
const SCALES: std::ops::RangeInclusive<f32> = 0.25..=4.0;

/// A drawing with positions from a file.
#[derive(Clone, Debug)]
pub struct FileDrawing {
    /// The centre of every vertex.
    pub centres: Vec<Pos2>,
    /// The two ends of every link, which is a straight line from the border of one box to the
    /// border of the other.
    pub links: Vec<Vec<Pos2>>,
}

/// Whether at least 90% of the vertices have a position, and the positions are not all the same.
/// `positions[v]` is the position of vertex `v`, if the file gives one.
#[must_use]
pub fn has_enough_positions(positions: &[Option<[f64; 2]>]) -> bool {
    let mut placed = positions.iter().flatten();
    let first = placed.next();
    let apart = placed.any(|position| Some(position) != first);
    let positioned = positions.iter().flatten().count();
    apart && positioned * 100 >= positions.len() * MIN_POSITIONED_PERCENT
}

/// Draws vertices of `sizes` at `positions`, scaled so that boxes do not overlap unless their
/// positions in the file are very close. Vertices without a position are placed in rows below the
/// others. `links` are pairs of vertices.
///
/// # Panics
/// If `positions` is shorter than `sizes`, or if a position or a link is given for a vertex that
/// has no size.
///
/// # Complexity
/// O(n log n + p + m) for n vertices, m links, and p pairs of vertices that are close to each other
/// horizontally. At most 2000 n pairs are compared.
#[must_use]
pub fn draw(
    sizes: &[Vec2],
    positions: &[Option<[f64; 2]>],
    links: &[(usize, usize)],
) -> FileDrawing {
    let placed: Vec<(usize, Pos2)> = positions
        .iter()
        .enumerate()
        .filter_map(|(vertex, position)| position.map(|[x, y]| (vertex, pos2(x as f32, y as f32))))
        .collect();
    let scale = scale(sizes, &placed);
    let mut centres = vec![Pos2::ZERO; sizes.len()];
    for &(vertex, position) in &placed {
        centres[vertex] = (position.to_vec2() * scale).to_pos2();
    }
    let occupied = {
        let (centres, sizes): (Vec<_>, Vec<_>) =
            placed.iter().map(|&(vertex, _)| (centres[vertex], sizes[vertex])).unzip();
        bounds(&centres, &sizes)
    };
    // The upper left corner of the next box, and the height of its row.
    let mut corner = occupied.left_bottom() + Vec2::splat(GAP);
    let mut height = 0.0_f32;
    for vertex in (0..sizes.len()).filter(|&vertex| positions[vertex].is_none()) {
        let size = sizes[vertex];
        if corner.x > occupied.left() + GAP && corner.x + size.x > occupied.right() {
            corner = pos2(occupied.left() + GAP, corner.y + height + GAP);
            height = 0.0;
        }
        centres[vertex] = corner + size / 2.0;
        corner.x += size.x + GAP;
        height = height.max(size.y);
    }
    let line = |&(from, to): &(usize, usize)| {
        let end = |vertex: usize, other: usize| {
            border(Rect::from_center_size(centres[vertex], sizes[vertex]), centres[other])
        };
        vec![end(from, to), end(to, from)]
    };
    let links = links.iter().map(line).collect();
    FileDrawing { centres, links }
}

/// The smallest scale in [`SCALES`] at which all boxes are at least [`GAP`] apart, horizontally or
/// vertically. Pairs that would be closer even at the largest scale are ignored.
fn scale(sizes: &[Vec2], placed: &[(usize, Pos2)]) -> f32 {
    /// Maximum number of vertices to the right that a vertex is compared with. This limits the time
    /// for thousands of vertices at the same x.
    const MAX_NEIGHBOURS: usize = 2000;
    let mut placed = placed.to_vec();
    placed.sort_by(|(_, a), (_, b)| a.x.total_cmp(&b.x));
    let widest = sizes.iter().fold(0.0_f32, |widest, size| widest.max(size.x)) + GAP;
    let mut scale = *SCALES.start();
    for (index, &(a, position)) in placed.iter().enumerate() {
        for &(b, other) in placed[index + 1..].iter().take(MAX_NEIGHBOURS) {
            // The rest are even further to the right.
            if widest <= scale * (other.x - position.x) {
                break;
            }
            let room = (sizes[a] + sizes[b]) / 2.0 + Vec2::splat(GAP);
            let apart = (position - other).abs();
            let needed = (room.x / apart.x).min(room.y / apart.y);
            if needed <= *SCALES.end() {
                scale = scale.max(needed);
            }
        }
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(drawing: &FileDrawing, size: Vec2) -> Vec<Rect> {
        drawing.centres.iter().map(|&centre| Rect::from_center_size(centre, size)).collect()
    }

    #[test]
    fn boxes_keep_their_arrangement_without_overlaps_and_links_end_at_their_borders() {
        let positions = [[0.0, 0.0], [40.0, 0.0], [0.0, 30.0], [45.0, 33.0]].map(Some);
        let size = Vec2::new(100.0, 60.0);
        let drawing = draw(&[size; 4], &positions, &[(0, 3), (1, 1)]);
        let boxes = boxes(&drawing, size);
        for (a, one) in boxes.iter().enumerate() {
            assert!(boxes[a + 1..].iter().all(|other| !one.intersects(*other)), "{boxes:?}");
        }
        let stretch = drawing.centres[1].x / 40.0;
        for (centre, position) in drawing.centres.iter().zip(positions.iter().flatten()) {
            let wanted = pos2(position[0] as f32, position[1] as f32).to_vec2() * stretch;
            assert!((centre.to_vec2() - wanted).length() < 1e-3, "{centre:?}");
        }
        let line = &drawing.links[0];
        let is_on_border = |rect: Rect, point| {
            rect.distance_to_pos(point) < 1e-3 && !rect.shrink(0.1).contains(point)
        };
        let [from, to] = [is_on_border(boxes[0], line[0]), is_on_border(boxes[3], line[1])];
        assert!(from && to, "{line:?}");
    }

    #[test]
    fn wide_pictures_are_scaled_down_and_a_close_pair_does_not_magnify_the_picture() {
        let size = Vec2::new(100.0, 60.0);
        let far = [[0.0, 0.0], [10_000.0, 0.0]].map(Some);
        assert_eq!(draw(&[size; 2], &far, &[]).centres[1].x, 2500.0);
        let close = [[0.0, 0.0], [0.1, 0.1], [110.0, 0.0], [220.0, 0.0]].map(Some);
        let drawing = draw(&[size; 4], &close, &[]);
        assert!(drawing.centres[3].x < 300.0, "{:?}", drawing.centres);
    }

    #[test]
    fn a_vertex_without_a_position_is_placed_below_the_others() {
        let mut positions = vec![None];
        positions.extend((0..10).map(|at| Some([f64::from(at) * 120.0, 0.0])));
        let size = Vec2::new(100.0, 60.0);
        let drawing = draw(&[size; 11], &positions, &[]);
        let lowest = drawing.centres[1..].iter().map(|centre| centre.y).fold(f32::MIN, f32::max);
        assert!(drawing.centres[0].y > lowest + size.y);
    }

    #[test]
    fn at_least_90_percent_of_the_vertices_need_a_position() {
        let mut positions = vec![None];
        positions.extend((0..10).map(|at| Some([f64::from(at) * 120.0, 0.0])));
        assert!(has_enough_positions(&positions));
        positions[1] = None;
        assert!(!has_enough_positions(&positions));
        assert!(!has_enough_positions(&[Some([1.0, 1.0]); 5]), "all at one position");
        assert!(!has_enough_positions(&[]));
    }
}
