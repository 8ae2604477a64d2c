//! Painting the timeline.

use eframe::egui::{
    self, Align2, Color32, FontId, Mesh, Painter, Rangef, Rect, Shape, Stroke, StrokeKind, Ui, pos2,
};

use super::TimelineScene;
use super::axis::{View, ticks};
use super::rows::{Grouping, RowShape, Span, TimelineRow, summary_between};
use crate::app::theme::{Palette, ink_on};
use crate::numbers;
use crate::propagation::{Phase, Stage, StageTiming};

/// Height of the time axis in points.
const AXIS_HEIGHT: f32 = 18.0;
/// Height of the row of stages in points.
const STAGES_HEIGHT: f32 = 18.0;
/// Width of the row names in points; fits `128 in parallel`.
pub(super) const GUTTER: f32 = 78.0;
/// Maximum height of a row of messages in points; a single row may be twice as high.
const MAX_ROW_HEIGHT: f32 = 72.0;

/// The geometry of the chart in one frame.
pub(super) struct Drawing {
    pub view: View,
    chart: Rect,
    row_height: f32,
    row_count: usize,
}

impl Drawing {
    /// The geometry of a chart that fills `rect` with `row_count` rows of messages.
    pub fn new(rect: Rect, row_count: usize, view: View) -> Self {
        let mut chart = rect;
        chart.min.x += GUTTER;
        let room = (chart.height() - AXIS_HEIGHT - STAGES_HEIGHT - 8.0).max(8.0);
        let max_height = if row_count == 1 { 2.0 * MAX_ROW_HEIGHT } else { MAX_ROW_HEIGHT };
        let row_height = (room / row_count.max(1) as f32).min(max_height);
        Self { view, chart, row_height, row_count }
    }

    /// The time at horizontal position `x`.
    pub fn time_at(&self, x: f32) -> f64 {
        self.view.at(f64::from(x - self.chart.left()) / f64::from(self.chart.width()))
    }

    /// The horizontal range of the time axis on the screen.
    pub fn across(&self) -> Rangef {
        self.chart.x_range()
    }

    /// The time in nanoseconds that a width of `points` shows.
    pub fn time_across(&self, points: f32) -> f64 {
        f64::from(points) / f64::from(self.chart.width()) * self.view.span()
    }

    /// The row at vertical position `y`, if there is one.
    pub fn row_at(&self, y: f32) -> Option<usize> {
        let below = y - self.row_rect(0).top();
        (below >= 0.0)
            .then(|| (below / self.row_height) as usize)
            .filter(|row| *row < self.row_count)
    }

    fn x(&self, time: f64) -> f32 {
        self.chart.left() + (self.view.share(time) * f64::from(self.chart.width())) as f32
    }

    fn stages_rect(&self) -> Rect {
        let top = self.chart.top() + AXIS_HEIGHT + 2.0;
        Rect::from_x_y_ranges(self.chart.x_range(), top..=top + STAGES_HEIGHT)
    }

    fn row_rect(&self, row: usize) -> Rect {
        let top = self.stages_rect().bottom() + 6.0 + row as f32 * self.row_height;
        Rect::from_x_y_ranges(self.chart.x_range(), top..=top + self.row_height)
    }

    /// Draws the chart. `pointed` is the message under the pointer; `range` is the time that the
    /// user has marked, in nanoseconds.
    pub fn draw(
        &self,
        ui: &Ui,
        scene: &TimelineScene<'_>,
        pointed: Option<Span>,
        range: Option<(f64, f64)>,
    ) {
        let painter = ui.painter_at(self.chart);
        self.axis(ui, &painter);
        self.stages(ui, &painter, scene);
        for (index, row) in scene.rows.iter().enumerate() {
            self.row(ui, &painter, scene, index, row, pointed);
        }
        self.names(ui, scene);
        if scene.live {
            let x = self.x(scene.total);
            painter.vline(x, self.chart.y_range(), Stroke::new(2.0, Palette::of(ui).active));
        }
        if let Some(range) = range {
            self.range(ui, &painter, scene, range);
        }
    }

    /// Draws the ticks of the time axis, with lines across all rows.
    fn axis(&self, ui: &Ui, painter: &Painter) {
        let visuals = ui.visuals();
        let font = FontId::proportional(11.0);
        let line =
            Stroke::new(1.0, visuals.widgets.noninteractive.bg_stroke.color.gamma_multiply(0.6));
        let bottom = self.row_rect(self.row_count.max(1) - 1).bottom().min(self.chart.bottom());
        let max_ticks = (self.chart.width() / 100.0) as usize;
        let ink = visuals.weak_text_color();
        for tick in ticks(self.view, max_ticks.max(2)) {
            let x = self.x(tick.time).round() + 0.5;
            painter.vline(x, self.chart.top()..=bottom, line);
            let at = pos2(x + 4.0, self.chart.top() + AXIS_HEIGHT / 2.0);
            let label = painter.layout_no_wrap(tick.label, font.clone(), ink);
            // A clipped label would read as a different number.
            if at.x + label.size().x <= self.chart.right() {
                painter.galley(at - egui::vec2(0.0, label.size().y / 2.0), label, ink);
            }
        }
    }

    /// Draws the row of stages, and between them the GPU launches and copies.
    fn stages(&self, ui: &Ui, painter: &Painter, scene: &TimelineScene<'_>) {
        let palette = Palette::of(ui);
        for &(from, to) in &scene.launches {
            if let Some(bar) = self.stage_bar(from, to) {
                painter.rect_filled(bar, 2, palette.copy);
            }
        }
        for timing in &scene.trace.stages {
            let colour = match timing.stage {
                Stage::Collect => palette.collect,
                Stage::Distribute => palette.distribute,
                Stage::Initialise | Stage::Read => palette.stage,
            };
            let (start, end) = (timing.start.as_nanos() as f64, timing.end.as_nanos() as f64);
            let Some(bar) = self.stage_bar(start, end) else { continue };
            let background = ui.visuals().panel_fill.lerp_to_gamma(colour, 0.45);
            let inset = if bar.width() > 4.0 { 0.5 } else { 0.0 };
            painter.rect_filled(bar.shrink2(egui::vec2(inset, 0.0)), 2, background);
            let shown = bar.intersect(self.stages_rect());
            stage_label(painter, shown, timing, ink_on(background));
        }
    }

    /// The bar in the row of stages for the time from `start` to `end`; `None` if it is out of
    /// view.
    fn stage_bar(&self, start: f64, end: f64) -> Option<Rect> {
        let row = self.stages_rect();
        let (from, to) = (self.x(start), self.x(end));
        let is_in_view = to >= row.left() && from <= row.right();
        is_in_view.then(|| Rect::from_x_y_ranges(from..=to.max(from + 1.0), row.y_range()))
    }

    /// Draws row number `index`, and outlines selected and hovered messages in it.
    fn row(
        &self,
        ui: &Ui,
        painter: &Painter,
        scene: &TimelineScene<'_>,
        index: usize,
        row: &TimelineRow,
        pointed: Option<Span>,
    ) {
        let palette = Palette::of(ui);
        let rect = self.row_rect(index);
        if rect.top() > self.chart.bottom() {
            return;
        }
        let gap = if self.row_height > 10.0 { 1.5 } else { 0.5 };
        let y_range = rect.shrink2(egui::vec2(0.0, gap)).y_range();
        let view = (self.view.start, self.view.end);
        let mut mesh = Mesh::default();
        for shape in row.shapes(|time| self.x(time), view, rect.left(), rect.right()) {
            add_shape(&mut mesh, shape, y_range, &palette);
        }
        painter.add(Shape::mesh(mesh));
        for span in row.between(view.0, view.1) {
            if scene.model.selection.message(span.message) {
                self.outline(painter, *span, y_range, palette.selected);
            }
        }
        for span in row.between(view.0, view.1) {
            let is_pointed = pointed.is_some_and(|pointed| pointed.message == span.message);
            if is_pointed || scene.model.hover.message(span.message) {
                self.outline(painter, *span, y_range, palette.hovered);
            }
        }
    }

    /// Outlines a message. A message too short for an outline gets a line with an arrow head on
    /// top.
    fn outline(&self, painter: &Painter, span: Span, y_range: Rangef, colour: Color32) {
        let (from, to) = (self.x(span.start), self.x(span.end));
        if to - from >= 4.0 {
            let bar = Rect::from_x_y_ranges(from..=to, y_range);
            painter.rect_stroke(bar, 1, (2.0, colour), StrokeKind::Inside);
        } else {
            let middle = f32::midpoint(from, to);
            let bar = Rect::from_x_y_ranges(middle - 1.0..=middle + 1.0, y_range);
            painter.rect_filled(bar, 0, colour);
            let tip = vec![
                pos2(middle - 4.0, y_range.min - 5.0),
                pos2(middle + 4.0, y_range.min - 5.0),
                pos2(middle, y_range.min + 1.0),
            ];
            painter.add(Shape::convex_polygon(tip, colour, Stroke::NONE));
        }
    }

    /// Writes the names of the rows to the left of the chart. If rows are low, only some have
    /// names.
    fn names(&self, ui: &Ui, scene: &TimelineScene<'_>) {
        let painter = ui.painter();
        let (font, ink) = (FontId::proportional(11.0), ui.visuals().weak_text_color());
        let left = self.chart.left() - GUTTER;
        let name = |y: f32, text: String| {
            painter.text(pos2(left, y), Align2::LEFT_CENTER, text, font.clone(), ink);
        };
        name(self.stages_rect().center().y, "stages".to_owned());
        match scene.rows.len() {
            0 => {}
            1 => name(self.row_rect(0).center().y, "messages".to_owned()),
            count => {
                let every = (12.0 / self.row_height).ceil().max(1.0) as usize;
                let noun = if scene.on_gpu { "block" } else { "thread" };
                for row in (0..count).step_by(every) {
                    let text = match scene.grouping {
                        Grouping::ByWorker => format!("{noun} {}", scene.rows[row].worker),
                        Grouping::Packed if row == 0 => "1 message".to_owned(),
                        Grouping::Packed => format!("{} in parallel", row + 1),
                    };
                    name(self.row_rect(row).center().y, text);
                }
            }
        }
    }

    /// Marks the time between the two ends of a range, in either order, and sums the durations of
    /// the messages in it.
    fn range(&self, ui: &Ui, painter: &Painter, scene: &TimelineScene<'_>, (from, to): (f64, f64)) {
        let (from, to) = (from.min(to), from.max(to));
        let visuals = ui.visuals();
        let band = Rect::from_x_y_ranges(self.x(from)..=self.x(to), self.chart.y_range());
        let colour = visuals.selection.stroke.color;
        painter.rect_filled(band, 0, colour.gamma_multiply(0.12));
        painter.vline(band.left(), band.y_range(), Stroke::new(1.0, colour));
        painter.vline(band.right(), band.y_range(), Stroke::new(1.0, colour));
        let summary = summary_between(&scene.rows, from, to);
        let text = format!(
            "{} in {}: sum {}, median {}",
            numbers::counted(summary.count, "message", "messages"),
            numbers::nanoseconds((to - from).round()),
            numbers::nanoseconds(summary.total),
            numbers::nanoseconds(summary.median)
        );
        let text =
            painter.layout_no_wrap(text, FontId::proportional(12.0), visuals.strong_text_color());
        let room = (self.chart.right() - text.size().x - 8.0).max(self.chart.left() + 4.0);
        let left = (band.center().x - text.size().x / 2.0).clamp(self.chart.left() + 4.0, room);
        let at = pos2(left, self.chart.bottom() - text.size().y - 6.0);
        let ground = Rect::from_min_size(at, text.size()).expand2(egui::vec2(6.0, 3.0));
        painter.rect(ground, 3, visuals.window_fill, Stroke::new(1.0, colour), StrokeKind::Inside);
        painter.galley(at, text, visuals.strong_text_color());
    }
}

/// Writes the name and the duration of a stage into `room`, or only the name, or nothing, whichever
/// fits.
fn stage_label(painter: &Painter, room: Rect, timing: &StageTiming, ink: Color32) {
    let name = timing.stage.name();
    let time = numbers::duration(timing.end.saturating_sub(timing.start));
    for text in [format!("{name}  {time}"), name.to_owned()] {
        let galley = painter.layout_no_wrap(text, FontId::proportional(11.0), ink);
        if galley.size().x + 8.0 <= room.width() {
            painter.galley(room.center() - galley.size() / 2.0, galley, ink);
            return;
        }
    }
}

/// Adds a bar, a wait or a column of a row to `mesh`.
fn add_shape(mesh: &mut Mesh, shape: RowShape, y_range: Rangef, palette: &Palette) {
    match shape {
        RowShape::Bar(span, from, to) => {
            // A gap of one pixel separates neighbours that are wide enough for it.
            let inset = if to - from > 4.0 { 0.5 } else { 0.0 };
            let bar = Rect::from_x_y_ranges(from + inset..=to - inset, y_range);
            let colour = match span.phase {
                Phase::Collect => palette.collect,
                Phase::Distribute => palette.distribute,
            };
            // Every other message is a little darker, so that neighbours can be counted.
            let shade = if span.message.index() % 2 == 0 { 1.0 } else { 0.8 };
            mesh.add_colored_rect(bar, darker(colour, shade));
        }
        RowShape::Wait(from, to) => {
            // Thinner than a message, so that the two can be told apart without colour.
            let y_range = Rangef::point(y_range.center()).expand(0.2 * y_range.span());
            mesh.add_colored_rect(Rect::from_x_y_ranges(from..=to, y_range), palette.wait);
        }
        RowShape::Column { x, collect, distribute, wait } => {
            let column = Rect::from_x_y_ranges(x..=x + 1.0, y_range);
            mesh.add_colored_rect(column, palette.wait.gamma_multiply(wait));
            if collect + distribute == 0.0 {
                return;
            }
            let both = (collect + distribute).max(f32::EPSILON);
            let mixed = palette.collect.lerp_to_gamma(palette.distribute, distribute / both);
            // Even the smallest coverage must be visible on the background.
            let strength = 0.35 + 0.65 * both.min(1.0);
            mesh.add_colored_rect(column, mixed.gamma_multiply(strength));
        }
    }
}

/// `colour` with red, green and blue multiplied by `share`.
fn darker(colour: Color32, share: f32) -> Color32 {
    let [r, g, b, _] = colour.to_array();
    let less = |channel: u8| (f32::from(channel) * share) as u8;
    Color32::from_rgb(less(r), less(g), less(b))
}
