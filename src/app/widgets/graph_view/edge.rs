//! Edges of a picture.

use std::sync::Arc;

use eframe::egui::{Color32, CornerRadius, FontId, Pos2, Rect, Shape, Stroke, Vec2, vec2};
use egui_graphs::{DisplayEdge, DrawContext, EdgeProps, Node};
use petgraph::EdgeType;
use petgraph::stable_graph::IndexType;

use crate::app::widgets::graph_view::node::NodeShape;
use crate::app::widgets::graph_view::text::legible;

/// Minimum length of a segment of a drawn curve, in points. Shorter segments take longer to draw
/// and look no smoother.
const MIN_SEGMENT: f32 = 4.0;

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

/// The style of an edge.
#[derive(Clone, Debug, Default)]
pub struct EdgeStyle {
    /// Width in points at zoom 1. It grows with the square root of the zoom, but a line is always
    /// wide enough to be seen. An edge of width 0 is not drawn.
    pub width: f32,
    /// Colour of the line and the arrow head.
    pub colour: Color32,
    /// Where the arrow head is: at the end of the path (`true`) or at its start (`false`). `None`
    /// for a line without an arrow head.
    pub arrow: Option<bool>,
    /// The pattern of the line.
    pub line: Line,
    /// Background and text colour of the label in the middle; `None` hides the label.
    pub label: Option<(Color32, Color32)>,
    /// Whether the edge fades when zoomed out, where many lines would hide the nodes.
    pub faint: bool,
    /// Whether the edge is drawn above the other edges.
    pub on_top: bool,
}

/// An edge that egui_graphs can draw.
#[derive(Clone, Debug)]
pub struct EdgeShape {
    /// The line in picture coordinates.
    pub(super) path: Arc<[Pos2]>,
    pub(super) bounds: Rect,
    pub(super) text: Arc<str>,
    pub(super) style: EdgeStyle,
}

impl From<EdgeProps<()>> for EdgeShape {
    fn from(_: EdgeProps<()>) -> Self {
        let (path, text) = (Arc::from([]), Arc::from(""));
        Self { path, bounds: Rect::NOTHING, text, style: EdgeStyle::default() }
    }
}

impl<Ty: EdgeType, Ix: IndexType> DisplayEdge<(), (), Ty, Ix, NodeShape> for EdgeShape {
    fn shapes(
        &mut self,
        _: &Node<(), (), Ty, Ix, NodeShape>,
        _: &Node<(), (), Ty, Ix, NodeShape>,
        context: &DrawContext,
    ) -> Vec<Shape> {
        let meta = context.meta;
        let (min, max) = (
            meta.canvas_to_screen_pos(self.bounds.min),
            meta.canvas_to_screen_pos(self.bounds.max),
        );
        let on_screen = Rect::from_min_max(min, max).expand(10.0);
        if self.style.width <= 0.0 || !on_screen.intersects(context.painter.clip_rect()) {
            return Vec::new();
        }
        let path = self.visible_path(|point| meta.canvas_to_screen_pos(point));
        let strength = if self.style.faint { (meta.zoom * 2.0).clamp(0.3, 1.0) } else { 1.0 };
        let colour = self.style.colour.gamma_multiply(strength);
        let stroke = Stroke::new((self.style.width * meta.zoom.sqrt()).max(0.7), colour);
        let mut shapes = Vec::with_capacity(3);
        if let Some(at_end) = self.style.arrow {
            arrow_head(&path, at_end, stroke, meta.zoom, &mut shapes);
        }
        match self.style.line {
            Line::Solid if path.len() == 2 => {
                shapes.push(Shape::line_segment([path[0], path[1]], stroke));
            }
            Line::Solid => shapes.push(Shape::line(path, stroke)),
            Line::Dashed => shapes.extend(Shape::dashed_line(&path, stroke, 6.0, 4.0)),
            Line::Dotted => {
                shapes.extend(Shape::dotted_line(&path, stroke.color, 5.0, stroke.width * 0.8));
            }
        }
        self.label(context, &mut shapes);
        shapes
    }

    fn update(&mut self, _: &EdgeProps<()>) {}

    fn is_inside(
        &self,
        _: &Node<(), (), Ty, Ix, NodeShape>,
        _: &Node<(), (), Ty, Ix, NodeShape>,
        point: Pos2,
    ) -> bool {
        self.distance(point) < 4.0
    }
}

impl EdgeShape {
    pub(super) fn set_path(&mut self, path: Arc<[Pos2]>) {
        self.bounds = Rect::from_points(&path);
        self.path = path;
    }

    /// Distance of `point` from the line, in picture coordinates; infinite for a path of fewer than
    /// two points.
    pub(super) fn distance(&self, point: Pos2) -> f32 {
        let segments = self.path.windows(2);
        segments
            .map(|ends| distance_to_segment(point, ends[0], ends[1]))
            .fold(f32::INFINITY, f32::min)
    }

    /// The middle of the path, where the label is.
    fn middle(&self) -> Option<Pos2> {
        let (first, last) = (*self.path.first()?, *self.path.last()?);
        if self.path.len() > 2 {
            return self.path.get(self.path.len() / 2).copied();
        }
        Some(first + (last - first) / 2.0)
    }

    /// The path on the screen, without points that are less than [`MIN_SEGMENT`] from the point
    /// before. The first and the last point are always kept.
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

    fn label(&self, context: &DrawContext, shapes: &mut Vec<Shape>) {
        let (Some((background, text_colour)), Some(middle)) = (self.style.label, self.middle())
        else {
            return;
        };
        let Some(size) = legible(8.5 * context.meta.zoom) else { return };
        let galley = context.painter.layout_no_wrap(
            self.text.to_string(),
            FontId::proportional(size),
            text_colour,
        );
        let centre = context.meta.canvas_to_screen_pos(middle);
        let rect = Rect::from_center_size(centre, galley.size() + vec2(8.0, 2.0));
        shapes.push(Shape::rect_filled(rect, CornerRadius::same(3), background));
        shapes.push(Shape::rect_stroke(
            rect,
            CornerRadius::same(3),
            Stroke::new(1.0, self.style.colour),
            eframe::egui::StrokeKind::Middle,
        ));
        shapes.push(Shape::galley(centre - galley.size() / 2.0, galley, text_colour));
    }
}

fn distance_to_segment(point: Pos2, from: Pos2, to: Pos2) -> f32 {
    let (along, towards) = (to - from, point - from);
    let length = along.length_sq();
    let share = if length > 0.0 { (towards.dot(along) / length).clamp(0.0, 1.0) } else { 0.0 };
    (towards - along * share).length()
}

/// Adds a filled arrow head with its tip at the end (or the start) of `path`.
fn arrow_head(path: &[Pos2], at_end: bool, stroke: Stroke, zoom: f32, shapes: &mut Vec<Shape>) {
    let pair = if at_end { path.last_chunk::<2>() } else { path.first_chunk::<2>() };
    let Some(&[first, second]) = pair else { return };
    let (tail, tip) = if at_end { (first, second) } else { (second, first) };
    let length = (7.0 * zoom + 1.5 * stroke.width).clamp(2.0, 16.0);
    let direction = (tip - tail).normalized();
    let side: Vec2 = direction.rot90() * length * 0.42;
    let base = tip - direction * length;
    shapes.push(Shape::convex_polygon(
        vec![tip, base + side, base - side],
        stroke.color,
        Stroke::NONE,
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn the_distance_to_an_edge_is_the_distance_to_its_nearest_segment() {
        let mut edge = EdgeShape {
            path: Arc::from([]),
            bounds: Rect::NOTHING,
            text: Arc::from(""),
            style: EdgeStyle::default(),
        };
        assert_eq!(edge.distance(pos2(0.0, 0.0)), f32::INFINITY);
        edge.set_path(Arc::from([pos2(0.0, 0.0), pos2(10.0, 0.0), pos2(10.0, 10.0)]));
        assert_eq!(edge.distance(pos2(5.0, 3.0)), 3.0);
        assert_eq!(edge.distance(pos2(13.0, 14.0)), 5.0);
    }
}
