//! Where the labels of edges are: on their own edges, away from each other and from nodes.

use std::collections::HashMap;

use eframe::egui::{Pos2, Rect, Vec2, vec2};

use super::edge::EdgeShape;
use super::text::font_size;
use crate::app::layout;

/// Text size of labels in picture coordinates.
pub(super) const LABEL_SIZE: f32 = 8.5;

/// Shares of the length of an edge at which its label is tried, after the middle of its points. The
/// beginning is tried last: there, edges from one node often share a line.
const SHARES: [f32; 7] = [0.5, 0.65, 0.78, 0.88, 0.35, 0.2, 0.1];

/// Minimum distance in points of a label's centre from the other edges that leave the same node and
/// have another label. With less, it is not clear whose label it is; with more, edges that run
/// close have no labels.
const OWN_DISTANCE: f32 = 4.0;

/// Maximum number of edges that leave a node for which this distance is kept. The time to check it
/// grows with the square of the number.
const MAX_SIBLINGS: usize = 40;

/// Width and height of the cells by which rectangles are found, in points at a zoom of at most 1; at
/// a larger zoom, they grow with it. Any other value is only slower.
const CELL: f32 = 64.0;

/// Rectangles, found by their places.
struct Rects {
    cells: HashMap<(i32, i32), Vec<Rect>>,
    /// Width and height of a cell.
    cell: f32,
}

impl Rects {
    fn new(cell: f32) -> Self {
        Self { cells: HashMap::new(), cell }
    }

    /// The cells that `rect` meets.
    fn cells_of(&self, rect: Rect) -> impl Iterator<Item = (i32, i32)> + use<> {
        let index = |at: f32| (at / self.cell).floor() as i32;
        let (left, right) = (index(rect.left()), index(rect.right()));
        let rows = index(rect.top())..=index(rect.bottom());
        rows.flat_map(move |row| (left..=right).map(move |column| (column, row)))
    }

    fn insert(&mut self, rect: Rect) {
        for cell in self.cells_of(rect) {
            self.cells.entry(cell).or_default().push(rect);
        }
    }

    /// Whether `rect` meets none of the rectangles.
    fn are_away_from(&self, rect: Rect) -> bool {
        let mut near = self.cells_of(rect).filter_map(|cell| self.cells.get(&cell)).flatten();
        !near.any(|other| other.intersects(rect))
    }
}

/// The place of the label of each edge in picture coordinates, at `zoom`: on the edge, and where it
/// covers neither a node nor the label of an earlier edge. `None` for an edge that has no label or
/// has no room for it. The places do not depend on what is in view, so that labels do not jump.
pub(super) fn places(nodes: &[Rect], edges: &[&EdgeShape], zoom: f32) -> Vec<Option<Pos2>> {
    let on_screen = |rect: Rect| {
        Rect::from_min_max(
            (rect.min.to_vec2() * zoom).to_pos2(),
            (rect.max.to_vec2() * zoom).to_pos2(),
        )
    };
    let cell = CELL * zoom.max(1.0);
    let (mut boxes, mut labels) = (Rects::new(cell), Rects::new(cell));
    nodes.iter().for_each(|node| boxes.insert(on_screen(*node)));
    let mut siblings: HashMap<usize, Vec<&EdgeShape>> = HashMap::new();
    for edge in edges.iter().filter(|edge| !edge.text.is_empty()) {
        siblings.entry(edge.ends.0).or_default().push(edge);
    }
    let size = font_size(LABEL_SIZE * zoom);
    let mut place = |edge: &&EdgeShape| {
        if edge.text.is_empty() {
            return None;
        }
        // The digits are about 0.58 times as wide as high. The margin of a label may be covered.
        let text = vec2(0.58 * edge.text.chars().count() as f32, 0.75) * size;
        let label = vec2(text.x + 6.0, 1.15 * size);
        let others = siblings.get(&edge.ends.0).filter(|others| others.len() <= MAX_SIBLINGS);
        let is_own = |at: Pos2| {
            let others = others.into_iter().flatten();
            let mut others = others.filter(|other| other.text != edge.text);
            others.all(|other| other.distance(at) * zoom >= OWN_DISTANCE)
        };
        let candidates = layout::label_place(&edge.path).into_iter();
        let candidates =
            candidates.chain(SHARES.iter().filter_map(|share| along(&edge.path, *share)));
        let found = candidates.into_iter().find(|at| {
            let rect = |size: Vec2| Rect::from_center_size((at.to_vec2() * zoom).to_pos2(), size);
            boxes.are_away_from(rect(text)) && labels.are_away_from(rect(label)) && is_own(*at)
        })?;
        labels.insert(Rect::from_center_size((found.to_vec2() * zoom).to_pos2(), label));
        Some(found)
    };
    edges.iter().map(&mut place).collect()
}

/// The point at a share of the length of `path`; `None` for a path without points.
fn along(path: &[Pos2], share: f32) -> Option<Pos2> {
    let length: f32 = path.windows(2).map(|ends| ends[0].distance(ends[1])).sum();
    let mut left = share * length;
    for ends in path.windows(2) {
        let step = ends[0].distance(ends[1]);
        if left <= step && step > 0.0 {
            return Some(ends[0].lerp(ends[1], left / step));
        }
        left -= step;
    }
    path.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn a_point_along_a_path_is_at_its_share_of_the_length() {
        let path = [pos2(0.0, 0.0), pos2(10.0, 0.0), pos2(10.0, 30.0)];
        assert_eq!(along(&path, 0.0), Some(path[0]));
        assert_eq!(along(&path, 0.5), Some(pos2(10.0, 10.0)));
        assert_eq!(along(&path, 1.0), Some(path[2]));
        assert_eq!(along(&[], 0.5), None);
    }

    #[test]
    fn labels_on_a_trunk_are_apart_on_their_own_edges_or_left_out() {
        // From a node at the left, edges run down a common trunk and then to the right.
        let edge = |index: usize, text: &str| {
            let y = 16.0 * index as f32;
            let path = vec![pos2(0.0, 0.0), pos2(10.0, 0.0), pos2(10.0, y), pos2(50.0, y)];
            EdgeShape::new((0, index + 1), path, text)
        };
        let edges: Vec<EdgeShape> =
            ["6", "18", "12", "6", ""].iter().enumerate().map(|(i, text)| edge(i, text)).collect();
        let edges: Vec<&EdgeShape> = edges.iter().collect();
        let node = |index: usize| {
            Rect::from_center_size(pos2(70.0, 16.0 * index as f32), vec2(40.0, 14.0))
        };
        let nodes: Vec<Rect> = (0..5).map(node).collect();
        let found = places(&nodes, &edges, 1.0);
        for (index, at) in found[..4].iter().enumerate() {
            let at = at.expect("there is room");
            let others =
                edges.iter().enumerate().filter(|(_, edge)| edge.text != edges[index].text);
            let mut others = others.filter(|(_, edge)| !edge.text.is_empty());
            assert!(others.all(|(_, other)| other.distance(at) >= OWN_DISTANCE), "{index}: {at}");
            assert!(nodes.iter().all(|node| !node.contains(at)));
        }
        assert_eq!(found[4], None);
        // Without room between trunk and nodes, no label lies over another.
        let crowded: Vec<Pos2> = places(&nodes, &edges, 0.3).into_iter().flatten().collect();
        assert!(crowded.len() > 1);
        for (index, at) in crowded.iter().enumerate() {
            assert!(crowded[..index].iter().all(|other| other.distance(*at) * 0.3 > 8.0));
        }
    }
}
