//! Labels of important nodes that are too small to show the first of their brief texts in full.

use eframe::egui::{
    Align2, Color32, CornerRadius, FontId, Painter, Rect, Shape, Stroke, StrokeKind, Vec2, vec2,
};

use super::Node;
use super::chunk::View;
use super::text::MIN_TEXT_SIZE;
use crate::app::layout::border;

/// Colours of a label.
#[derive(Clone, Copy, Debug)]
pub struct LabelColours {
    /// Background.
    pub background: Color32,
    /// Text.
    pub ink: Color32,
    /// The line around the label.
    pub line: Color32,
}

/// Number of rings of places around a node that are tried for its label, the nearest ring first.
/// With more, fewer labels are left out, but some are further away from their nodes.
const RINGS: usize = 12;

/// Maximum number of nodes with text that labels avoid if they can. With more, placing the labels
/// takes longer than drawing the rest of the picture.
pub(super) const MAX_AVOIDED: usize = 500;

/// Paints a label with the first text of `NodeText::brief` next to each of `nodes`, most important
/// first, if the node is in view and does not show all of this text itself. The label leaves out
/// words that the node shows. Labels cover neither each other, nor any of `nodes`, nor what is in
/// `uncovered`, and nothing in `texts` if there is another place. A label is left out if all places
/// that are tried for it are taken or out of the pane.
pub(super) fn paint<'n>(
    painter: &Painter,
    view: &View<'_>,
    pane: Rect,
    nodes: impl Iterator<Item = &'n Node>,
    uncovered: Vec<Rect>,
    texts: &[Rect],
    colours: LabelColours,
) {
    let nodes: Vec<(&Node, Rect)> = nodes
        .map(|node| (node, node.on_screen(view)))
        .filter(|(_, rect)| pane.intersects(*rect))
        .collect();
    let mut taken = uncovered;
    taken.extend(nodes.iter().map(|(_, rect)| *rect));
    for (node, rect) in nodes {
        let Some(text) = node.missing_brief(painter, rect) else { continue };
        let font = FontId::proportional(MIN_TEXT_SIZE + 1.0);
        let galley = painter.layout_no_wrap(text, font, colours.ink);
        let size = galley.size() + vec2(6.0, 0.0);
        let Some(label) = place(rect, size, pane, &mut taken, texts) else { continue };
        taken.push(label);
        let radius = CornerRadius::same(3);
        let stroke = Stroke::new(1.0, colours.line);
        let ends = [border(label, rect.center()), border(rect, label.center())];
        painter.line_segment(ends, stroke);
        painter.add(Shape::rect_filled(label, radius, colours.background));
        painter.add(Shape::rect_stroke(label, radius, stroke, StrokeKind::Middle));
        painter.galley(label.center() - galley.size() / 2.0, galley, colours.ink);
    }
}

/// A place for a label as [`free_place`] finds one, away from `texts` too if possible.
fn place(
    rect: Rect,
    size: Vec2,
    pane: Rect,
    taken: &mut Vec<Rect>,
    texts: &[Rect],
) -> Option<Rect> {
    taken.extend(texts);
    let clear = free_place(rect, size, pane, taken);
    taken.truncate(taken.len() - texts.len());
    clear.or_else(|| free_place(rect, size, pane, taken))
}

/// A place for a label of `size` next to `rect`, inside `pane` and away from the rectangles in
/// `taken`: above, below, to the right, to the left or at a corner, the nearer the better.
fn free_place(rect: Rect, size: Vec2, pane: Rect, taken: &[Rect]) -> Option<Rect> {
    const SIDES: [Align2; 8] = [
        Align2::CENTER_TOP,
        Align2::CENTER_BOTTOM,
        Align2::RIGHT_CENTER,
        Align2::LEFT_CENTER,
        Align2::RIGHT_TOP,
        Align2::LEFT_TOP,
        Align2::RIGHT_BOTTOM,
        Align2::LEFT_BOTTOM,
    ];
    /// Minimum gap in points between a label and its node. Other nodes and labels may be half as
    /// far away.
    const GAP: f32 = 2.0;
    let rings = (0..RINGS).flat_map(|ring| SIDES.map(|side| (ring, side)));
    let places = rings.map(|(ring, side)| {
        let gap = Vec2::splat(GAP);
        let distance = (rect.size() + size) / 2.0 + gap + (size + gap) * (ring as f32 / 2.0);
        Rect::from_center_size(rect.center() + side.to_sign() * distance, size)
    });
    let mut free = places.filter(|place| {
        pane.contains_rect(*place)
            && taken.iter().all(|other| !other.expand(GAP / 2.0).intersects(*place))
    });
    free.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn labels_are_in_the_pane_and_cover_neither_their_node_nor_each_other() {
        let pane = Rect::from_min_max(pos2(0.0, 0.0), pos2(400.0, 300.0));
        let node = Rect::from_center_size(pos2(200.0, 150.0), vec2(8.0, 6.0));
        let mut taken = vec![node];
        for _ in 0..16 {
            let place = free_place(node, vec2(50.0, 14.0), pane, &taken).expect("there is room");
            assert!(taken.iter().all(|other: &Rect| !other.intersects(place)));
            assert!(pane.contains_rect(place));
            taken.push(place);
        }
        assert!(free_place(node, vec2(500.0, 14.0), pane, &[]).is_none());
    }

    #[test]
    fn a_label_covers_the_text_of_another_node_only_if_there_is_no_other_place() {
        let pane = Rect::from_min_max(pos2(0.0, 0.0), pos2(400.0, 300.0));
        let node = Rect::from_center_size(pos2(200.0, 150.0), vec2(8.0, 6.0));
        let size = vec2(50.0, 14.0);
        let first = free_place(node, size, pane, &[node]).expect("there is room");
        let clear = place(node, size, pane, &mut vec![node], &[first]).expect("there is room");
        assert!(!clear.intersects(first));
        assert_eq!(place(node, size, pane, &mut vec![node], &[pane]), Some(first));
    }

    #[test]
    fn ten_neighbours_in_a_corner_are_all_labelled_and_none_is_covered() {
        let pane = Rect::from_min_max(pos2(0.0, 0.0), pos2(400.0, 300.0));
        let node = |index: usize| {
            let centre = pos2(385.0 - 12.0 * (index % 5) as f32, 8.0 + 12.0 * (index / 5) as f32);
            Rect::from_center_size(centre, vec2(10.0, 8.0))
        };
        let nodes: Vec<Rect> = (0..10).map(node).collect();
        let mut taken = nodes.clone();
        for node in nodes {
            let place = free_place(node, vec2(60.0, 14.0), pane, &taken).expect("there is room");
            assert!(taken.iter().all(|other| !other.intersects(place)), "{node:?}: {place:?}");
            taken.push(place);
        }
    }
}
