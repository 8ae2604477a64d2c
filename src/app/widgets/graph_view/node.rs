//! How a vertex is drawn.

use std::sync::Arc;

use eframe::egui::{
    Color32, CornerRadius, FontId, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, pos2, vec2,
};
use egui_graphs::{DisplayNode, DrawContext, NodeProps};
use petgraph::EdgeType;
use petgraph::stable_graph::IndexType;

use crate::app::widgets::graph_view::text::{SMALLEST, legible, wrapped};

/// Vertices smaller than this, in points, are plain rectangles.
const PLAIN: f32 = 7.0;

/// Size of titles in the picture's coordinates.
const FAR: f32 = 10.5;

/// What is written in a vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeText {
    /// A word that is read from afar.
    pub brief: String,
    /// The word is a number, of which a part would be another one.
    pub is_number: bool,
    /// What is written on top from nearby.
    pub title: String,
    /// What is written below from nearby.
    pub subtitle: String,
}

/// One bar of a vertex's chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What it stands for.
    pub label: Arc<str>,
    /// Its length, from 0 to 1.
    pub share: f32,
}

/// The bars in a vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// From top to bottom.
    pub bars: Vec<Bar>,
    /// Their colour.
    pub colour: Color32,
    /// What is behind them.
    pub ground: Color32,
}

/// How a vertex looks.
#[derive(Clone, Debug, Default)]
pub struct NodeLook {
    /// The ground.
    pub fill: Color32,
    /// The ground of a vertex that is too small for text; [`fill`](Self::fill) if there is none.
    pub far: Option<Color32>,
    /// Text.
    pub ink: Color32,
    /// The line around it; its width is in points and does not zoom.
    pub outline: Stroke,
    /// A second line further out: for the root of a tree.
    pub ring: Option<Color32>,
    /// A dot in the corner: something is known here.
    pub dot: Option<Color32>,
    /// Bars below the title.
    pub chart: Option<Arc<Chart>>,
}

/// A vertex as egui_graphs draws it.
///
/// It is copied for each edge that is drawn, so what is large is shared.
#[derive(Clone, Debug)]
pub struct NodeShape {
    location: Pos2,
    pub(super) size: Vec2,
    pub(super) text: Arc<NodeText>,
    pub(super) look: NodeLook,
}

impl From<NodeProps<()>> for NodeShape {
    fn from(props: NodeProps<()>) -> Self {
        Self {
            location: props.location(),
            size: Vec2::splat(1.0),
            text: Arc::default(),
            look: NodeLook::default(),
        }
    }
}

impl NodeShape {
    /// The box, in the picture's coordinates.
    pub(super) fn rect(&self) -> Rect {
        Rect::from_center_size(self.location, self.size)
    }
}

impl<E: Clone, Ty: EdgeType, Ix: IndexType> DisplayNode<(), E, Ty, Ix> for NodeShape {
    fn closest_boundary_point(&self, direction: Vec2) -> Pos2 {
        // Where the ray leaves the box.
        let half = self.size / 2.0;
        let reach =
            |half: f32, along: f32| if along == 0.0 { f32::INFINITY } else { half / along.abs() };
        let factor = reach(half.x, direction.x).min(reach(half.y, direction.y));
        if factor.is_finite() { self.location + direction * factor } else { self.location }
    }

    fn shapes(&mut self, context: &DrawContext) -> Vec<Shape> {
        let zoom = context.meta.zoom;
        let centre = context.meta.canvas_to_screen_pos(self.location);
        let rect = Rect::from_center_size(centre, (self.size * zoom).max(Vec2::splat(2.5)));
        if !rect.expand(8.0).intersects(context.painter.clip_rect()) {
            return Vec::new();
        }
        let mut shapes = Vec::with_capacity(4);
        self.ground(rect, zoom, &mut shapes);
        self.writing(context.painter, rect, zoom, &mut shapes);
        if let Some(colour) = self.look.dot {
            let radius = (4.0 * zoom).clamp(2.0, 6.0);
            let corner = rect.right_top() + vec2(-0.2, 0.2) * radius;
            shapes.push(Shape::circle_filled(corner, radius + 1.0, self.look.ink));
            shapes.push(Shape::circle_filled(corner, radius, colour));
        }
        shapes
    }

    fn update(&mut self, state: &NodeProps<()>) {
        self.location = state.location();
    }

    fn is_inside(&self, point: Pos2) -> bool {
        self.rect().contains(point)
    }
}

impl NodeShape {
    fn ground(&self, rect: Rect, zoom: f32, shapes: &mut Vec<Shape>) {
        let NodeLook { fill, outline, ring, .. } = &self.look;
        let is_far = zoom * FAR < SMALLEST;
        let fill = self.look.far.as_ref().filter(|_| is_far).unwrap_or(fill);
        if rect.height() < PLAIN && outline.width < 1.5 && ring.is_none() {
            shapes.push(Shape::rect_filled(rect, CornerRadius::ZERO, *fill));
            return;
        }
        let radius = CornerRadius::same((7.0 * zoom).clamp(1.0, 12.0) as u8);
        if let Some(colour) = ring {
            let gap = (3.5 * zoom).clamp(2.0, 5.0);
            let width = (1.8 * zoom).clamp(1.2, 2.5);
            let stroke = Stroke::new(width, *colour);
            let outer = radius + CornerRadius::same(gap as u8);
            shapes.push(Shape::rect_stroke(rect.expand(gap), outer, stroke, StrokeKind::Middle));
        }
        shapes.push(Shape::rect_filled(rect, radius, *fill));
        if outline.width > 0.0 {
            shapes.push(Shape::rect_stroke(rect, radius, *outline, StrokeKind::Outside));
        }
    }

    fn writing(&self, painter: &Painter, rect: Rect, zoom: f32, shapes: &mut Vec<Shape>) {
        let NodeText { brief, is_number, title, subtitle } = &*self.text;
        let ink = self.look.ink;
        let width = rect.width() - 8.0 * zoom;
        if let Some(chart) = &self.look.chart
            && let Some(size) = legible(11.0 * zoom)
        {
            let galley = wrapped(painter, title, size, ink, width, 1);
            shapes.push(Shape::galley(pos2(rect.center().x, rect.top() + 4.0 * zoom), galley, ink));
            let room = Rect::from_min_max(
                pos2(rect.left() + 6.0 * zoom, rect.top() + 21.0 * zoom),
                rect.max - vec2(6.0, 5.0) * zoom,
            );
            draw_chart(painter, chart, ink, room, zoom, shapes);
        } else if let Some(size) = legible(10.5 * zoom)
            && self.look.chart.is_none()
        {
            let rows = if subtitle.is_empty() { 1 } else { 2 };
            let upper = wrapped(painter, title, size, ink, width, rows);
            let below = legible(9.5 * zoom).filter(|_| !subtitle.is_empty());
            let lower = below.map(|size| wrapped(painter, subtitle, size, ink, width, 1));
            let height = upper.size().y + lower.as_ref().map_or(0.0, |galley| galley.size().y);
            let top = pos2(rect.center().x, rect.center().y - height / 2.0);
            let upper_height = upper.size().y;
            shapes.push(Shape::galley(top, upper, ink));
            if let Some(lower) = lower {
                let ink = ink.gamma_multiply(0.85);
                let place = top + vec2(0.0, upper_height);
                shapes.push(Shape::galley_with_override_text_color(place, lower, ink));
            }
        } else if !brief.is_empty() {
            // As large as the box allows; digits are about half as wide as high.
            let fits = (rect.width() * 1.7 / brief.chars().count() as f32).min(rect.height() * 0.7);
            let smallest = SMALLEST.min(rect.height() * 0.7);
            for size in [fits.min(14.0), smallest].into_iter().filter_map(legible) {
                let galley = wrapped(painter, brief, size, ink, rect.width() - 2.0, 1);
                // What does not fit is cut off, unless it is a number.
                let says_something = !is_number && size < 8.0 && rect.width() > 2.5 * size;
                if !galley.elided || says_something {
                    let top = rect.center().y - galley.size().y / 2.0;
                    shapes.push(Shape::galley(pos2(rect.center().x, top), galley, ink));
                    break;
                }
            }
        }
    }
}

/// A row for each bar; with its label and percentage where they can be read.
fn draw_chart(
    painter: &Painter,
    chart: &Chart,
    ink: Color32,
    room: Rect,
    zoom: f32,
    shapes: &mut Vec<Shape>,
) {
    let row = room.height() / chart.bars.len().max(1) as f32;
    let text_size = legible((8.5 * zoom).min(row * 0.85));
    let (label_width, number_width) =
        if text_size.is_some() { (room.width() * 0.36, 24.0 * zoom) } else { (0.0, 0.0) };
    for (index, bar) in chart.bars.iter().enumerate() {
        let top = room.top() + row * index as f32;
        let middle = top + row / 2.0;
        let left = room.left() + label_width;
        let full = room.right() - number_width - left;
        let thickness = (row * 0.72).max(0.8);
        let track =
            Rect::from_min_size(pos2(left, middle - thickness / 2.0), vec2(full, thickness));
        shapes.push(Shape::rect_filled(track, CornerRadius::ZERO, chart.ground));
        let filled = track.with_max_x(left + full * bar.share.clamp(0.0, 1.0));
        shapes.push(Shape::rect_filled(filled, CornerRadius::ZERO, chart.colour));
        let Some(size) = text_size else { continue };
        let galley = wrapped(painter, &bar.label, size, ink, label_width - 3.0 * zoom, 1);
        let place = pos2(left - 3.0 * zoom - galley.size().x / 2.0, middle - galley.size().y / 2.0);
        shapes.push(Shape::galley(place, galley, ink));
        let percent = format!("{:.0}%", bar.share * 100.0);
        let galley = painter.layout_no_wrap(percent, FontId::proportional(size), ink);
        let place = pos2(room.right() - galley.size().x, middle - galley.size().y / 2.0);
        shapes.push(Shape::galley(place, galley, ink));
    }
}
