//! Nodes of a picture.

use std::sync::Arc;

use eframe::egui::{
    Color32, CornerRadius, FontId, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, pos2, vec2,
};
use egui_graphs::{DisplayNode, DrawContext, NodeProps};
use petgraph::EdgeType;
use petgraph::stable_graph::IndexType;

use crate::app::widgets::graph_view::chart::Chart;
use crate::app::widgets::graph_view::text::{MIN_TEXT_SIZE, legible, wrapped};
use crate::app::widgets::short_text::one_line;

/// Height in points below which a node is a plain rectangle without rounded corners, unless it has
/// a ring or a thick outline.
const MIN_ROUNDED_HEIGHT: f32 = 7.0;

/// Text size of titles in picture coordinates.
const TITLE_SIZE: f32 = 10.5;

/// Text size of a title above a chart, in picture coordinates.
const CHART_TITLE_SIZE: f32 = 11.0;

/// The text of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeText {
    /// A word or number shown while the node is too small for its title.
    pub brief: String,
    /// Whether `brief` is a number. A number is never cut off, since part of it is another number.
    pub is_number: bool,
    /// The title, shown when it is large enough to read.
    pub title: String,
    /// A line below the title. The title may then take up two lines rather than one.
    pub subtitle: String,
}

/// The style of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeStyle {
    /// Background.
    pub fill: Color32,
    /// Background of a node that is too small for text; [`fill`](Self::fill) if `None`.
    pub small_fill: Option<Color32>,
    /// Text colour.
    pub ink: Color32,
    /// The line around the node. Its width is in points and does not zoom.
    pub outline: Stroke,
    /// Colour of a second line around the node, which marks the root of a tree.
    pub ring: Option<Color32>,
    /// Colour of a dot in the corner, which marks evidence.
    pub dot: Option<Color32>,
    /// A bar chart below the title.
    pub chart: Option<Arc<Chart>>,
}

/// A node that egui_graphs can draw.
///
/// egui_graphs clones both nodes of an edge whenever it draws the edge, so large parts are shared.
#[derive(Clone, Debug)]
pub struct NodeShape {
    location: Pos2,
    pub(super) size: Vec2,
    pub(super) text: Arc<NodeText>,
    pub(super) style: NodeStyle,
}

impl From<NodeProps<()>> for NodeShape {
    fn from(props: NodeProps<()>) -> Self {
        Self {
            location: props.location(),
            size: Vec2::splat(1.0),
            text: Arc::default(),
            style: NodeStyle::default(),
        }
    }
}

impl NodeShape {
    /// Whether the title and the chart are large enough to be drawn at this `zoom`.
    pub(super) fn shows_chart(&self, zoom: f32) -> bool {
        self.style.chart.is_some() && legible(CHART_TITLE_SIZE * zoom).is_some()
    }

    /// The box, in picture coordinates.
    pub(super) fn rect(&self) -> Rect {
        Rect::from_center_size(self.location, self.size)
    }
}

impl<E: Clone, Ty: EdgeType, Ix: IndexType> DisplayNode<(), E, Ty, Ix> for NodeShape {
    fn closest_boundary_point(&self, direction: Vec2) -> Pos2 {
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
        self.background(rect, zoom, &mut shapes);
        self.text(context.painter, rect, zoom, &mut shapes);
        if let Some(colour) = self.style.dot {
            let radius = (4.0 * zoom).clamp(2.0, 6.0);
            let corner = rect.right_top() + vec2(-0.2, 0.2) * radius;
            shapes.push(Shape::circle_filled(corner, radius + 1.0, self.style.ink));
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
    /// Adds the box with its outline and, for the root of a tree, the ring.
    fn background(&self, rect: Rect, zoom: f32, shapes: &mut Vec<Shape>) {
        let NodeStyle { fill, outline, ring, .. } = &self.style;
        let is_small = zoom * TITLE_SIZE < MIN_TEXT_SIZE;
        let fill = self.style.small_fill.as_ref().filter(|_| is_small).unwrap_or(fill);
        if rect.height() < MIN_ROUNDED_HEIGHT && outline.width < 1.5 && ring.is_none() {
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

    /// Adds as much text as can be read: the title with the chart or the subtitle, or else the
    /// brief text.
    fn text(&self, painter: &Painter, rect: Rect, zoom: f32, shapes: &mut Vec<Shape>) {
        if let Some(chart) = &self.style.chart {
            if let Some(size) = legible(CHART_TITLE_SIZE * zoom) {
                self.title_and_chart(painter, rect, zoom, size, chart, shapes);
                return;
            }
        } else if let Some(size) = legible(TITLE_SIZE * zoom) {
            self.title_and_subtitle(painter, rect, zoom, size, shapes);
            return;
        }
        if !self.text.brief.is_empty() {
            self.brief(painter, rect, shapes);
        }
    }

    fn title_and_chart(
        &self,
        painter: &Painter,
        rect: Rect,
        zoom: f32,
        size: f32,
        chart: &Chart,
        shapes: &mut Vec<Shape>,
    ) {
        let ink = self.style.ink;
        let (font, width) = (FontId::proportional(size), rect.width() - 8.0 * zoom);
        let galley = one_line(painter, &self.text.title, font, ink, width);
        let left = rect.center().x - galley.size().x / 2.0;
        shapes.push(Shape::galley(pos2(left, rect.top() + 4.0 * zoom), galley, ink));
        chart.paint(painter, rect, zoom, shapes);
    }

    fn title_and_subtitle(
        &self,
        painter: &Painter,
        rect: Rect,
        zoom: f32,
        size: f32,
        shapes: &mut Vec<Shape>,
    ) {
        let NodeText { title, subtitle, .. } = &*self.text;
        let ink = self.style.ink;
        let width = rect.width() - 8.0 * zoom;
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
            let position = top + vec2(0.0, upper_height);
            shapes.push(Shape::galley_with_override_text_color(position, lower, ink));
        }
    }

    /// Adds the brief text as large as the box allows, or nothing if it would not be readable.
    fn brief(&self, painter: &Painter, rect: Rect, shapes: &mut Vec<Shape>) {
        let NodeText { brief, is_number, .. } = &*self.text;
        let ink = self.style.ink;
        // Digits are about half as wide as they are high.
        let fits = (rect.width() * 1.7 / brief.chars().count() as f32).min(rect.height() * 0.7);
        let smallest = MIN_TEXT_SIZE.min(rect.height() * 0.7);
        for size in [fits.min(14.0), smallest].into_iter().filter_map(legible) {
            let galley = wrapped(painter, brief, size, ink, rect.width() - 2.0, 1);
            // Words are cut off if they do not fit, but only if enough letters stay readable.
            let worth_cutting = !is_number && size < 8.0 && rect.width() > 2.5 * size;
            if !galley.elided || worth_cutting {
                let top = rect.center().y - galley.size().y / 2.0;
                shapes.push(Shape::galley(pos2(rect.center().x, top), galley, ink));
                break;
            }
        }
    }
}
