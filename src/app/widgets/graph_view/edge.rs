//! Edges of a picture.

use std::sync::Arc;

use eframe::egui::epaint::RectShape;
use eframe::egui::{
    Color32, CornerRadius, FontId, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, vec2,
};

use egui_graphs::{DisplayEdge, DrawContext, EdgeProps};
use petgraph::EdgeType;
use petgraph::stable_graph::IndexType;

use super::Node;
use super::chunk::View;
use super::edge_labels::LABEL_SIZE;
use super::node::SMALL_ZOOM;
use super::text::font_size;
use crate::app::layout;

/// Minimum length of a segment of a drawn curve, in points. Shorter segments take longer to draw
/// and look no smoother.
const MIN_SEGMENT: f32 = 4.0;

/// Length in points of the smallest arrowheads. With less, they cannot be told from the line.
const MIN_ARROW_LENGTH: f32 = 6.0;

/// The pattern of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// A continuous line.
    #[default]
    Solid,
    /// Dashes.
    Dashed,
    /// Dots.
    Dotted,
}

/// One of the two ends of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// The first point.
    Start,
    /// The last point.
    End,
}

/// The style of an edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeStyle {
    /// Width in points at zoom 1. It grows with the square root of the zoom, but a line is always
    /// wide enough to be seen. An edge of width 0 is not drawn.
    pub width: f32,
    /// Colour of the line and the arrowhead.
    pub colour: Color32,
    /// Which end of the path has an arrowhead, if one has.
    pub arrow: Option<PathEnd>,
    /// The pattern of the line.
    pub line: Line,
    /// Background and text colour of the label in the middle; `None` hides the label.
    pub label: Option<(Color32, Color32)>,
    /// Minimum zoom at which the label is shown. At a lower zoom it would hide nodes.
    pub label_zoom: f32,
    /// Whether the edge fades when zoomed out, where many lines would hide the nodes.
    pub faint: bool,
    /// Whether the edge is drawn above the other edges.
    pub on_top: bool,
}

/// An edge in a picture, with the style that it was last given.
#[derive(Clone, Debug)]
pub(super) struct EdgeShape {
    /// The indices of the nodes at its ends.
    pub(super) ends: (usize, usize),
    /// The line in picture coordinates.
    pub(super) path: Vec<Pos2>,
    /// The smallest rectangle around the path.
    pub(super) bounds: Rect,
    /// The text of the label. If it is empty, there is no label.
    pub(super) text: Arc<str>,
    /// Where the label is, in picture coordinates; `None` if there is no room for it.
    pub(super) label_place: Option<Pos2>,
    pub(super) style: EdgeStyle,
}

impl From<EdgeProps<()>> for EdgeShape {
    fn from(_: EdgeProps<()>) -> Self {
        Self::new((0, 0), Vec::new(), "")
    }
}

impl<Ty: EdgeType, Ix: IndexType> DisplayEdge<(), (), Ty, Ix, Node> for EdgeShape {
    fn shapes(
        &mut self,
        _: &egui_graphs::Node<(), (), Ty, Ix, Node>,
        _: &egui_graphs::Node<(), (), Ty, Ix, Node>,
        context: &DrawContext,
    ) -> Vec<Shape> {
        let mut shapes = Vec::new();
        self.add_shapes(&View::of(context), &mut shapes);
        shapes
    }

    fn update(&mut self, _: &EdgeProps<()>) {}

    /// An edge is a line, and has no inside. The canvas finds the nearest line.
    fn is_inside(
        &self,
        _: &egui_graphs::Node<(), (), Ty, Ix, Node>,
        _: &egui_graphs::Node<(), (), Ty, Ix, Node>,
        _: Pos2,
    ) -> bool {
        false
    }
}

impl EdgeShape {
    /// An edge with the default style. `ends` are the indices of its nodes.
    pub(super) fn new(ends: (usize, usize), path: Vec<Pos2>, text: &str) -> Self {
        let bounds = Rect::from_points(&path);
        let label_place = layout::label_place(&path);
        Self { ends, path, bounds, text: text.into(), label_place, style: EdgeStyle::default() }
    }

    /// Adds the shapes of the edge. Returns `false` if it added none because the edge is outside
    /// [`View::needed`].
    pub(super) fn add_shapes(&self, view: &View<'_>, shapes: &mut Vec<Shape>) -> bool {
        if self.style.width <= 0.0 {
            return true;
        }
        let (min, max) = (view.to_screen(self.bounds.min), view.to_screen(self.bounds.max));
        if !Rect::from_min_max(min, max).expand(10.0).intersects(view.needed) {
            return false;
        }
        let path = self.visible_path(|point| view.to_screen(point));
        self.add_line(view, path, shapes);
        self.label(view, shapes);
        true
    }

    /// Adds a straight line between two points of the picture instead of the path, which does not
    /// end at the nodes while they move.
    pub(super) fn add_straight(
        &self,
        view: &View<'_>,
        from: Pos2,
        to: Pos2,
        shapes: &mut Vec<Shape>,
    ) {
        if self.style.width > 0.0 {
            self.add_line(view, vec![view.to_screen(from), view.to_screen(to)], shapes);
        }
    }

    /// Adds the line along `path`, which is in screen coordinates, and the arrowhead.
    fn add_line(&self, view: &View<'_>, mut path: Vec<Pos2>, shapes: &mut Vec<Shape>) {
        let strength = if self.style.faint { (view.zoom * 2.0).clamp(0.3, 1.0) } else { 1.0 };
        let colour = self.style.colour.gamma_multiply(strength);
        let stroke = Stroke::new((self.style.width * view.zoom.sqrt()).max(0.7), colour);
        if let Some(end) = self.style.arrow {
            arrowhead(&mut path, end, stroke, view.zoom, shapes);
        }
        match self.style.line {
            Line::Solid if path.len() == 2 => {
                shapes.push(Shape::line_segment([path[0], path[1]], stroke));
            }
            Line::Solid => shapes.push(Shape::line(path, stroke)),
            Line::Dashed => shapes.extend(Shape::dashed_line(&path, stroke, 6.0, 4.0)),
            Line::Dotted => {
                let dots = Shape::dotted_line(&path, stroke.color, 5.0, stroke.width * 0.8);
                shapes.extend(dots);
            }
        }
    }

    /// Distance of `point` from the line, in picture coordinates; infinite for a path of fewer than
    /// two points.
    pub(super) fn distance(&self, point: Pos2) -> f32 {
        let segments = self.path.windows(2);
        segments
            .map(|ends| distance_to_segment(point, ends[0], ends[1]))
            .fold(f32::INFINITY, f32::min)
    }

    /// The path on the screen, without points that are less than [`MIN_SEGMENT`] from the point
    /// kept before them. The first and the last point are always kept: if the last is too near, the
    /// point kept before it is left out instead, unless that is the first.
    fn visible_path(&self, to_screen: impl Fn(Pos2) -> Pos2) -> Vec<Pos2> {
        let mut path: Vec<Pos2> = Vec::with_capacity(self.path.len());
        for (index, &point) in self.path.iter().enumerate() {
            let point = to_screen(point);
            let is_last = index + 1 == self.path.len();
            let is_near = path.last().is_some_and(|last| last.distance(point) < MIN_SEGMENT);
            if is_last && is_near && path.len() > 1 {
                path.pop();
            }
            if is_last || !is_near {
                path.push(point);
            }
        }
        path
    }

    /// Whether the edge has a label, perhaps too small to be shown.
    pub(super) fn has_label(&self) -> bool {
        self.style.label.is_some() && !self.text.is_empty()
    }

    /// Adds the label, if the line is long enough for it.
    fn label(&self, view: &View<'_>, shapes: &mut Vec<Shape>) {
        let Some((background, colour)) = self.style.label else { return };
        let (Some(&first), Some(&last)) = (self.path.first(), self.path.last()) else { return };
        if view.zoom < self.style.label_zoom || self.text.is_empty() {
            return;
        }
        let along = (last - first).abs() * view.zoom;
        let size = font_size(LABEL_SIZE * view.zoom);
        if along.max_elem() < size {
            return;
        }
        let font = FontId::proportional(size);
        let galley = view.painter.layout_no_wrap(self.text.to_string(), font, colour);
        let Some(middle) = self.label_place else { return };
        let middle = view.to_screen(middle);
        let rect = Rect::from_center_size(middle, galley.size() + vec2(6.0, 0.0));
        if along.x < rect.width() + 2.0 && along.y < rect.height() {
            return;
        }
        let radius = CornerRadius::same(3);
        let stroke = Stroke::new(1.0, self.style.colour);
        // Other lines may pass here. A chunk draws each `Shape::Vec` after the lines of all edges.
        shapes.push(Shape::Vec(vec![
            RectShape::new(rect, radius, background, stroke, StrokeKind::Middle).into(),
            Shape::galley(middle - galley.size() / 2.0, galley, colour),
        ]));
    }
}

/// Distance of `point` from the straight line between `from` and `to`.
fn distance_to_segment(point: Pos2, from: Pos2, to: Pos2) -> f32 {
    let (along, towards) = (to - from, point - from);
    let length = along.length_sq();
    let share = if length > 0.0 { (towards.dot(along) / length).clamp(0.0, 1.0) } else { 0.0 };
    (towards - along * share).length()
}

/// The length in points of an arrowhead at the end of a line `width` points wide. It can be seen at
/// any zoom at which boxes have room for text; at a smaller zoom it does not hide the boxes.
fn arrow_length(zoom: f32, width: f32) -> f32 {
    let min = (MIN_ARROW_LENGTH * zoom / SMALL_ZOOM).clamp(2.0, MIN_ARROW_LENGTH);
    (7.0 * zoom + 1.5 * width).clamp(min, 16.0)
}

/// Adds a filled arrowhead with its tip at `end` of `path`. If the segment there is longer than the
/// arrowhead, shortens it to end inside the arrowhead: a wide line would cover the tip.
pub(super) fn arrowhead(
    path: &mut [Pos2],
    end: PathEnd,
    stroke: Stroke,
    zoom: f32,
    shapes: &mut Vec<Shape>,
) {
    let pair = match end {
        PathEnd::Start => path.first_chunk_mut::<2>().map(|[tip, tail]| (tail, tip)),
        PathEnd::End => path.last_chunk_mut::<2>().map(|[tail, tip]| (tail, tip)),
    };
    let Some((tail, tip)) = pair else { return };
    let length = arrow_length(zoom, stroke.width);
    let direction = (*tip - *tail).normalized();
    let side: Vec2 = direction.rot90() * length * 0.42;
    let base = *tip - direction * length;
    shapes.push(Shape::convex_polygon(
        vec![*tip, base + side, base - side],
        stroke.color,
        Stroke::NONE,
    ));
    if tip.distance(*tail) > length {
        *tip = base + direction * 0.5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn the_distance_to_an_edge_is_the_distance_to_its_nearest_segment() {
        let edge = |path: &[Pos2]| EdgeShape::new((0, 1), path.to_vec(), "");
        assert_eq!(edge(&[]).distance(pos2(0.0, 0.0)), f32::INFINITY);
        let edge = edge(&[pos2(0.0, 0.0), pos2(10.0, 0.0), pos2(10.0, 10.0)]);
        assert_eq!(edge.distance(pos2(5.0, 3.0)), 3.0);
        assert_eq!(edge.distance(pos2(13.0, 14.0)), 5.0);
    }

    #[test]
    fn arrowheads_can_be_seen_at_the_zoom_of_barley_and_do_not_hide_tiny_boxes() {
        assert!(arrow_length(0.25, 0.7) >= 6.0);
        assert!(arrow_length(0.03, 0.7) < 3.0);
        assert!(arrow_length(1.0, 1.2) > arrow_length(0.5, 1.2));
    }

    #[test]
    fn the_tip_of_an_arrow_is_at_the_end_of_the_path_and_the_line_stops_before_it() {
        for (end, tip) in [(PathEnd::Start, 0), (PathEnd::End, 1)] {
            let ends = [pos2(0.0, 0.0), pos2(100.0, 0.0)];
            let (mut path, mut shapes) = (ends, Vec::new());
            arrowhead(&mut path, end, Stroke::new(4.0, Color32::RED), 1.0, &mut shapes);
            let Shape::Path(head) = &shapes[0] else { panic!("a polygon") };
            assert_eq!(head.points[0], ends[tip]);
            assert!(path[tip].distance(ends[tip]) > 5.0, "{path:?}");
            assert_eq!(path[1 - tip], ends[1 - tip]);
        }
    }
}
