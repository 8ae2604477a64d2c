//! Labels of important nodes that are too small for text of their own.

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

/// Paints the first brief text of each of `nodes`, most important first, if the node is in view and
/// shows no text itself. Labels do not cover each other, nor what is in `uncovered`. A label
/// without a free place is left out.
pub(super) fn paint<'n>(
    painter: &Painter,
    view: &View<'_>,
    pane: Rect,
    nodes: impl Iterator<Item = &'n Node>,
    uncovered: Vec<Rect>,
    colours: LabelColours,
) {
    let mut taken = uncovered;
    for node in nodes {
        let rect = node.on_screen(view);
        let Some(text) = node.text.brief.first() else { continue };
        if !pane.intersects(rect) || node.brief(painter, rect).is_some() {
            continue;
        }
        let font = FontId::proportional(MIN_TEXT_SIZE + 1.0);
        let galley = painter.layout_no_wrap(text.clone(), font, colours.ink);
        let size = galley.size() + vec2(6.0, 0.0);
        let Some(label) = free_place(rect, size, pane, &taken) else { continue };
        taken.push(label);
        let radius = CornerRadius::same(3);
        if !label.contains(rect.center()) {
            let stroke = Stroke::new(1.0, colours.line);
            let from = border(label, rect.center());
            painter.line_segment([from, rect.center()], stroke);
        }
        painter.add(Shape::rect_filled(label, radius, colours.background));
        let stroke = Stroke::new(1.0, colours.line);
        painter.add(Shape::rect_stroke(label, radius, stroke, StrokeKind::Middle));
        painter.galley(label.center() - galley.size() / 2.0, galley, colours.ink);
    }
}

/// A place for a label of `size` next to `rect`, inside `pane` and away from the labels in `taken`:
/// above, below, to the right or to the left, the nearer the better.
fn free_place(rect: Rect, size: Vec2, pane: Rect, taken: &[Rect]) -> Option<Rect> {
    const SIDES: [Align2; 4] =
        [Align2::CENTER_TOP, Align2::CENTER_BOTTOM, Align2::RIGHT_CENTER, Align2::LEFT_CENTER];
    let steps = (0..4).flat_map(|step| SIDES.map(|side| (step, side)));
    let places = steps.map(|(step, side)| {
        let direction = side.to_sign();
        let gap = Vec2::splat(2.0);
        let distance = (rect.size() + size) / 2.0 + gap + (size + gap) * step as f32;
        Rect::from_center_size(rect.center() + direction * distance, size)
    });
    let mut free = places.filter(|place| {
        pane.contains_rect(*place)
            && taken.iter().all(|other| !other.expand(1.0).intersects(*place))
    });
    free.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn labels_are_next_to_their_node_and_do_not_cover_each_other() {
        let pane = Rect::from_min_max(pos2(0.0, 0.0), pos2(400.0, 300.0));
        let node = Rect::from_center_size(pos2(200.0, 150.0), vec2(8.0, 6.0));
        let mut taken = Vec::new();
        for _ in 0..8 {
            let place = free_place(node, vec2(50.0, 14.0), pane, &taken).expect("there is room");
            assert!(taken.iter().all(|other: &Rect| !other.intersects(place)));
            assert!(!place.intersects(node) && pane.contains_rect(place));
            taken.push(place);
        }
        assert!(free_place(node, vec2(500.0, 14.0), pane, &[]).is_none());
    }
}
