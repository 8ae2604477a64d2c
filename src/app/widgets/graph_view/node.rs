//! Nodes of a picture.

use std::sync::Arc;

use eframe::egui::epaint::RectShape;
use eframe::egui::{
    Color32, CornerRadius, FontId, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, pos2, vec2,
};
use egui_graphs::{DisplayNode, DrawContext, NodeProps};
use petgraph::EdgeType;
use petgraph::stable_graph::IndexType;

use super::Node;
use super::chart::{CHART_TOP, Chart};
use super::chunk::View;
use super::text::{MIN_TEXT_SIZE, fitting, font_size, wrapped};
use crate::app::theme::SUBTITLE_STRENGTH;
use crate::app::widgets::short_text::one_line;

/// Height in points below which a node is a plain rectangle without rounded corners, unless it has
/// a ring or a thick outline.
const MIN_ROUNDED_HEIGHT: f32 = 10.0;

/// Text size of titles in picture coordinates.
const TITLE_SIZE: f32 = 10.5;

/// Maximum text size in points of a title that does not fit into its box on one line at a larger
/// size. Zooming in further shows more of the title instead of larger letters.
const MAX_TITLE_SIZE: f32 = 16.0;

/// Space to the left and right of a title, together, in points.
const TITLE_MARGIN: f32 = 6.0;

/// Maximum number of lines of a title with a subtitle. More lines would hardly be read in a box.
const MAX_TITLE_ROWS: f32 = 6.0;

/// Maximum text size, in picture coordinates, of a title that fits into its box on one line.
const LARGE_TITLE_SIZE: f32 = 15.0;

/// Minimum zoom at which nodes without a chart show their titles. Without this minimum, large nodes
/// would show their titles while smaller ones next to them do not.
const MIN_TITLE_ZOOM: f32 = 0.85;

/// Text size of a title above a chart, in picture coordinates.
const CHART_TITLE_SIZE: f32 = 11.0;

/// Minimum zoom at which a node shows its chart. At this zoom the rows can be clicked, and there is
/// room for the title.
const MIN_CHART_ZOOM: f32 = 0.6;

/// Minimum zoom at which a node shows a chart with high rows. At a smaller zoom, the smallest text
/// does not fit above the chart.
const MIN_HIGH_CHART_ZOOM: f32 = 0.39;

/// Zoom below which all nodes have the fill for small nodes. At this zoom, hardly any node has room
/// for text.
pub(super) const SMALL_ZOOM: f32 = 0.15;

/// Height of a line of text as a multiple of the font size.
const LINE_HEIGHT: f32 = 1.25;

/// Minimum height of a box with brief text, as a multiple of the font size times the number of
/// lines.
/// Digits and capital letters take up three quarters of the font size. In a lower box, text would
/// touch the outline.
const MIN_ROOM: f32 = 0.95;

/// The text of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeText {
    /// What is shown while the node is too small for its title: the first of these texts that fits.
    /// Each may have several lines.
    pub brief: Vec<String>,
    /// Whether the last text of `brief`, which must be a single line, is shortened in its middle if
    /// it does not fit. Part of a number is another number, so numbers are not shortened.
    pub may_cut: bool,
    /// The title, shown when it is large enough to read.
    pub title: String,
    /// Whether the title is preferred to `brief` at any zoom at which all of it fits, with the
    /// subtitle, into the node.
    pub prefers_title: bool,
    /// A line below the title; none if empty. With a subtitle, the title may take up several lines
    /// rather than one. If the subtitle does not fit, the first text of `brief` takes its place.
    pub subtitle: String,
}

impl NodeText {
    /// The largest size of letters at which all of the title, and the first text of `brief` below
    /// it, fit into a node of `size` points; `None` if they do not even fit in the smallest letters.
    pub fn title_size(&self, painter: &Painter, size: Vec2) -> Option<f32> {
        // At least one line of the title, the line below it, and space.
        let max = font_size(size.y / 3.0);
        let mut sizes = (MIN_TEXT_SIZE as u8..=max as u8).rev().map(f32::from);
        sizes.find(|letters| self.fits_title(painter, size, *letters))
    }

    /// Whether all of the title, in letters of `letters` points, and the first text of `brief` below
    /// it fit into a node of `size` points.
    fn fits_title(&self, painter: &Painter, size: Vec2, letters: f32) -> bool {
        let (ink, width) = (Color32::WHITE, size.x - TITLE_MARGIN);
        let fits = |line: &str| fitting(painter, line, letters, ink, width).is_some();
        // A line that is too narrow for a word would break the word.
        if !self.title.split_whitespace().all(fits) || !self.brief.first().is_none_or(|b| fits(b)) {
            return false;
        }
        let line = LINE_HEIGHT * letters;
        let rows = (size.y / line - 1.0).floor() as usize;
        rows > 0 && !wrapped(painter, &self.title, letters, ink, width, rows).elided
    }
}

/// The style of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeStyle {
    /// Background.
    pub fill: Color32,
    /// Background at a zoom at which nodes are too small for text; [`fill`](Self::fill) if `None`.
    pub small_fill: Option<Color32>,
    /// Text colour.
    pub ink: Color32,
    /// The line around the node. Its width is in points and does not zoom.
    pub outline: Stroke,
    /// Space between the node and this line in points. With a gap, the line can be seen around a
    /// node of nearly the same colour.
    pub outline_gap: f32,
    /// Colour of a second line around the node, which marks the root of a tree.
    pub ring: Option<Color32>,
    /// Colour of a dot in the corner, which marks evidence.
    pub dot: Option<Color32>,
    /// A bar chart below the title.
    pub chart: Option<Arc<Chart>>,
}

impl From<NodeProps<()>> for Node {
    fn from(props: NodeProps<()>) -> Self {
        Self {
            centre: props.location(),
            size: Vec2::splat(1.0),
            text: Arc::default(),
            style: NodeStyle::default(),
        }
    }
}

impl<E: Clone, Ty: EdgeType, Ix: IndexType> DisplayNode<(), E, Ty, Ix> for Node {
    fn closest_boundary_point(&self, direction: Vec2) -> Pos2 {
        let half = self.size / 2.0;
        let reach =
            |half: f32, along: f32| if along == 0.0 { f32::INFINITY } else { half / along.abs() };
        let factor = reach(half.x, direction.x).min(reach(half.y, direction.y));
        if factor.is_finite() { self.centre + direction * factor } else { self.centre }
    }

    fn shapes(&mut self, context: &DrawContext) -> Vec<Shape> {
        let mut shapes = Vec::new();
        self.add_shapes(&View::of(context), &mut shapes);
        shapes
    }

    fn update(&mut self, props: &NodeProps<()>) {
        self.centre = props.location();
    }

    fn is_inside(&self, point: Pos2) -> bool {
        self.rect().contains(point)
    }
}

impl Node {
    /// Where the node is on the screen.
    pub(super) fn on_screen(&self, view: &View<'_>) -> Rect {
        Rect::from_center_size(
            view.to_screen(self.centre),
            (self.size * view.zoom).max(Vec2::splat(2.5)),
        )
    }

    /// Whether the node has a chart, and `zoom` is large enough to draw it with the title above it.
    pub(super) fn shows_chart(&self, zoom: f32) -> bool {
        self.style.chart.as_ref().is_some_and(|chart| {
            zoom >= MIN_CHART_ZOOM
                || zoom >= MIN_HIGH_CHART_ZOOM && chart.has_high_rows(self.size.y, zoom)
        })
    }

    /// Adds the shapes of the node. Returns `false` if it added none because the node is outside
    /// [`View::needed`].
    pub(super) fn add_shapes(&self, view: &View<'_>, shapes: &mut Vec<Shape>) -> bool {
        let rect = self.on_screen(view);
        if !rect.expand(8.0).intersects(view.needed) {
            return false;
        }
        self.background(rect, view.zoom, shapes);
        match &self.style.chart {
            Some(chart) if self.shows_chart(view.zoom) => {
                self.title_and_chart(view, rect, chart, shapes);
            }
            Some(_) if can_hold_text(rect) => shapes.extend(self.brief_shape(view.painter, rect)),
            None if can_hold_text(rect) => self.title_or_brief(view, rect, shapes),
            _ => {}
        }
        if let Some(colour) = self.style.dot {
            let radius = (4.0 * view.zoom).clamp(2.0, 6.0);
            let corner = rect.right_top() + vec2(-0.2, 0.2) * radius;
            shapes.push(Shape::circle_filled(corner, radius + 1.0, self.style.ink));
            shapes.push(Shape::circle_filled(corner, radius, colour));
        }
        true
    }

    /// Adds the box with its outline and, for the root of a tree, the ring.
    fn background(&self, rect: Rect, zoom: f32, shapes: &mut Vec<Shape>) {
        let NodeStyle { fill, outline, outline_gap, ring, .. } = &self.style;
        let fill = self.style.small_fill.as_ref().filter(|_| zoom < SMALL_ZOOM).unwrap_or(fill);
        if rect.height() < MIN_ROUNDED_HEIGHT && outline.width < 1.5 && ring.is_none() {
            shapes.push(Shape::rect_filled(rect, CornerRadius::ZERO, *fill));
            return;
        }
        let radius = CornerRadius::same((7.0 * zoom).clamp(1.0, 12.0) as u8);
        if let Some(colour) = ring {
            // The wide outline of a selected node does not cover the ring.
            let gap = (3.5 * zoom).clamp(2.0, 5.0).max(outline_gap + outline.width + 2.0);
            let width = (1.8 * zoom).clamp(1.2, 2.5);
            let stroke = Stroke::new(width, *colour);
            let outer = radius + CornerRadius::same(gap as u8);
            shapes.push(Shape::rect_stroke(rect.expand(gap), outer, stroke, StrokeKind::Middle));
        }
        if *outline_gap > 0.0 {
            shapes.push(Shape::rect_filled(rect, radius, *fill));
            let around = rect.expand(*outline_gap);
            shapes.push(Shape::rect_stroke(around, radius, *outline, StrokeKind::Outside));
            return;
        }
        // In one shape, which is turned into triangles faster than two.
        shapes.push(RectShape::new(rect, radius, *fill, *outline, StrokeKind::Outside).into());
    }

    /// Adds the title with the subtitle if there is room, and otherwise the brief text.
    fn title_or_brief(&self, view: &View<'_>, rect: Rect, shapes: &mut Vec<Shape>) {
        // A short title is larger if there is room.
        let letters = self.text.title.chars().count().max(1) as f32;
        let fitting = ((rect.width() - 8.0) / (0.58 * letters)).min(rect.height() / 3.0);
        let usual = (TITLE_SIZE * view.zoom).min(MAX_TITLE_SIZE);
        let size = font_size(usual.max(fitting.min(LARGE_TITLE_SIZE * view.zoom)));
        let rows = if self.text.subtitle.is_empty() { 1.0 } else { 2.0 };
        let is_large = view.zoom >= MIN_TITLE_ZOOM
            && rect.height() >= (rows + 0.2) * LINE_HEIGHT * size
            && rect.width() >= 6.0 * size;
        let prefers_title = self.text.prefers_title;
        let preferred = prefers_title.then(|| self.text.title_size(view.painter, rect.size()));
        if let Some(size) = preferred.flatten() {
            self.title_and_subtitle(view.painter, rect, size, shapes);
        } else if is_large && !self.text.title.is_empty() {
            self.title_and_subtitle(view.painter, rect, size, shapes);
        } else {
            shapes.extend(self.brief_shape(view.painter, rect));
        }
    }

    /// Adds the title, shortened to one line, with the chart below it.
    fn title_and_chart(&self, view: &View<'_>, rect: Rect, chart: &Chart, shapes: &mut Vec<Shape>) {
        let ink = self.style.ink;
        let font = FontId::proportional(font_size(CHART_TITLE_SIZE * view.zoom));
        let galley = one_line(view.painter, &self.text.title, font, ink, rect.width() - 4.0);
        let left = rect.center().x - galley.size().x / 2.0;
        let above = (CHART_TOP * view.zoom - galley.size().y) / 2.0;
        // A line is higher than its letters, so the upper edge of the line may be above the box.
        let top = rect.top() + above.max(-0.2 * galley.size().y);
        shapes.push(Shape::galley(pos2(left, top), galley, ink));
        chart.paint(view.painter, rect, view.zoom, shapes);
    }

    /// Adds the title in letters of `size` points, with the subtitle below it.
    fn title_and_subtitle(
        &self,
        painter: &Painter,
        rect: Rect,
        size: f32,
        shapes: &mut Vec<Shape>,
    ) {
        let NodeText { title, subtitle, brief, .. } = &*self.text;
        let ink = self.style.ink;
        let width = rect.width() - TITLE_MARGIN;
        let small = font_size(size * 0.9);
        let lower_height = if subtitle.is_empty() { 0.0 } else { LINE_HEIGHT * small };
        let rows = ((rect.height() - lower_height) / (LINE_HEIGHT * size)).floor();
        let rows = rows.clamp(1.0, MAX_TITLE_ROWS);
        let rows = if subtitle.is_empty() { 1 } else { rows as usize };
        let upper = wrapped(painter, title, size, ink, width, rows);
        let lower = (!subtitle.is_empty()).then(|| {
            let mut texts = std::iter::once(subtitle).chain(brief.first());
            let whole = texts.find_map(|text| fitting(painter, text, small, ink, width));
            whole.unwrap_or_else(|| wrapped(painter, subtitle, small, ink, width, 1))
        });
        let height = upper.size().y + lower.as_ref().map_or(0.0, |galley| galley.size().y);
        let top = pos2(rect.center().x, rect.center().y - height / 2.0);
        let upper_height = upper.size().y;
        shapes.push(Shape::galley(top, upper, ink));
        if let Some(lower) = lower {
            let ink = ink.gamma_multiply(SUBTITLE_STRENGTH);
            let position = top + vec2(0.0, upper_height);
            shapes.push(Shape::galley_with_override_text_color(position, lower, ink));
        }
    }

    /// The words of the first brief text that the box has no room for; `None` if it shows all of
    /// them, perhaps on more lines.
    pub(super) fn missing_brief(&self, painter: &Painter, rect: Rect) -> Option<String> {
        let first = self.text.brief.first()?;
        let Some((shown, _)) = self.brief(painter, rect).filter(|_| can_hold_text(rect)) else {
            return Some(first.clone());
        };
        let is_missing = |word: &&str| shown.split_whitespace().all(|other| other != *word);
        let missing: Vec<&str> = first.split_whitespace().filter(is_missing).collect();
        (!missing.is_empty()).then(|| missing.join(" "))
    }

    /// The brief text as a shape, if one fits the box.
    fn brief_shape(&self, painter: &Painter, rect: Rect) -> Option<Shape> {
        self.brief(painter, rect).map(|(_, shape)| shape)
    }

    /// The first brief text that fits the box, as large as the box allows up to a limit. A text
    /// that may be cut has the minimum size and is shortened to fit; the returned text is the
    /// whole one.
    pub(super) fn brief(&self, painter: &Painter, rect: Rect) -> Option<(&str, Shape)> {
        let NodeText { brief, may_cut, .. } = &*self.text;
        let ink = self.style.ink;
        for (index, text) in brief.iter().enumerate() {
            let lines = text.lines().count().max(1) as f32;
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(1) as f32;
            // The width of a letter is about 0.6 times the font size.
            let wanted = (rect.width() * 1.6 / longest).min(rect.height() * 0.75 / lines);
            let is_cut = *may_cut && index + 1 == brief.len();
            // A text that may be cut has the same size in all boxes. Any other text is as large as
            // its box allows, up to 14 points.
            let size = font_size(wanted.min(if is_cut { MIN_TEXT_SIZE } else { 14.0 }));
            if size * lines * MIN_ROOM > rect.height() || (size > wanted * 1.4 && !is_cut) {
                continue;
            }
            let width = rect.width() - 2.0;
            if is_cut && lines == 1.0 {
                let galley = one_line(painter, text, FontId::proportional(size), ink, width);
                let corner = rect.center() - galley.size() / 2.0;
                return (width > 2.0 * size).then(|| (&**text, Shape::galley(corner, galley, ink)));
            }
            // Letters may be wider than estimated.
            let smaller = (size > MIN_TEXT_SIZE).then_some(MIN_TEXT_SIZE);
            let sizes = std::iter::once(size).chain(smaller);
            let mut galleys = sizes.filter_map(|size| fitting(painter, text, size, ink, width));
            if let Some(galley) = galleys.next() {
                let top = rect.center().y - galley.size().y / 2.0;
                return Some((text, Shape::galley(pos2(rect.center().x, top), galley, ink)));
            }
        }
        None
    }
}

/// Whether a box on the screen is large enough for some text.
pub(super) fn can_hold_text(rect: Rect) -> bool {
    rect.height() >= MIN_ROOM * MIN_TEXT_SIZE && rect.width() >= 1.4 * MIN_TEXT_SIZE
}
