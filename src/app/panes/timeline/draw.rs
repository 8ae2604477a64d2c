//! Painting the timeline.

use eframe::egui::{
    self, Align2, Color32, FontId, Mesh, Painter, Rangef, Rect, Shape as Paint, Stroke, StrokeKind,
    Ui, pos2,
};

use super::Scene;
use super::lanes::{Lane, Rows, Shape, Span, Sum};
use super::scale::{Window, ticks};
use crate::app::theme::{Palette, ink_on};
use crate::numbers;
use crate::propagation::{Phase, Stage};

/// Height of the row of times.
const AXIS: f32 = 18.0;
/// Height of the row of stages.
const STAGES: f32 = 18.0;
/// Room for the names of the rows.
const GUTTER: f32 = 62.0;
/// Lanes are not drawn higher than this; a lane that is alone may be twice as high.
const LANE_MOST: f32 = 72.0;

/// Where everything is in one frame.
pub(super) struct Drawing {
    pub window: Window,
    chart: Rect,
    lane_height: f32,
    lanes: usize,
}

impl Drawing {
    pub fn new(rect: Rect, lanes: usize, window: Window) -> Self {
        let mut chart = rect;
        chart.min.x += GUTTER;
        let room = (chart.height() - AXIS - STAGES - 8.0).max(8.0);
        let lane_height =
            (room / lanes.max(1) as f32).min(if lanes == 1 { 2.0 * LANE_MOST } else { LANE_MOST });
        Self { window, chart, lane_height, lanes }
    }

    /// The time at horizontal position `x`.
    pub fn time_at(&self, x: f32) -> f64 {
        self.window.at(f64::from(x - self.chart.left()) / f64::from(self.chart.width()))
    }

    /// Where the time axis is across the screen.
    pub fn across(&self) -> Rangef {
        self.chart.x_range()
    }

    /// How much time `count` pixels are.
    pub fn pixels(&self, count: f32) -> f64 {
        f64::from(count) / f64::from(self.chart.width()) * self.window.span()
    }

    /// The lane at vertical position `y`.
    pub fn lane_at(&self, y: f32) -> Option<usize> {
        let below = y - self.lane_rect(0).top();
        (below >= 0.0)
            .then(|| (below / self.lane_height) as usize)
            .filter(|lane| *lane < self.lanes)
    }

    fn x(&self, time: f64) -> f32 {
        self.chart.left() + (self.window.share(time) * f64::from(self.chart.width())) as f32
    }

    fn stages_rect(&self) -> Rect {
        let top = self.chart.top() + AXIS + 2.0;
        Rect::from_x_y_ranges(self.chart.x_range(), top..=top + STAGES)
    }

    fn lane_rect(&self, lane: usize) -> Rect {
        let top = self.stages_rect().bottom() + 6.0 + lane as f32 * self.lane_height;
        Rect::from_x_y_ranges(self.chart.x_range(), top..=top + self.lane_height)
    }

    pub fn draw(&self, ui: &Ui, scene: &Scene<'_>, under: Option<Span>, range: Option<(f64, f64)>) {
        let painter = ui.painter_at(self.chart);
        self.axis(ui, &painter);
        self.stages(ui, &painter, scene);
        for (index, lane) in scene.lanes.iter().enumerate() {
            self.lane(ui, &painter, scene, index, lane, under);
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

    fn axis(&self, ui: &Ui, painter: &Painter) {
        let visuals = ui.visuals();
        let font = FontId::proportional(11.0);
        let line =
            Stroke::new(1.0, visuals.widgets.noninteractive.bg_stroke.color.gamma_multiply(0.6));
        let bottom = self.lane_rect(self.lanes.max(1) - 1).bottom().min(self.chart.bottom());
        let most = (self.chart.width() / 100.0) as usize;
        let ink = visuals.weak_text_color();
        for tick in ticks(self.window, most.max(2)) {
            let x = self.x(tick.time).round() + 0.5;
            painter.vline(x, self.chart.top()..=bottom, line);
            let at = pos2(x + 4.0, self.chart.top() + AXIS / 2.0);
            let label = painter.layout_no_wrap(tick.label, font.clone(), ink);
            // Half a number reads as another number.
            if at.x + label.size().x <= self.chart.right() {
                painter.galley(at - egui::vec2(0.0, label.size().y / 2.0), label, ink);
            }
        }
    }

    fn stages(&self, ui: &Ui, painter: &Painter, scene: &Scene<'_>) {
        let palette = Palette::of(ui);
        let row = self.stages_rect();
        let font = FontId::proportional(11.0);
        for &(from, to) in &scene.launches {
            let (from, to) = (self.x(from), self.x(to));
            if to >= row.left() && from <= row.right() {
                let bar = Rect::from_x_y_ranges(from..=to.max(from + 1.0), row.y_range());
                painter.rect_filled(bar, 2, palette.copy);
            }
        }
        for timing in &scene.trace.stages {
            let colour = match timing.stage {
                Stage::Collect => palette.collect,
                Stage::Distribute => palette.distribute,
                Stage::Initialise | Stage::Read => palette.stage,
            };
            let (from, to) =
                (self.x(timing.start.as_nanos() as f64), self.x(timing.end.as_nanos() as f64));
            if to < row.left() || from > row.right() {
                continue;
            }
            let bar = Rect::from_x_y_ranges(from..=to.max(from + 1.0), row.y_range());
            let ground = ui.visuals().panel_fill.lerp_to_gamma(colour, 0.45);
            painter.rect_filled(
                bar.shrink2(egui::vec2(if to - from > 4.0 { 0.5 } else { 0.0 }, 0.0)),
                2,
                ground,
            );
            let shown = bar.intersect(row);
            let time = numbers::duration(timing.end.saturating_sub(timing.start));
            let ink = ink_on(ground);
            let whole = painter.layout_no_wrap(
                format!("{}  {time}", timing.stage.name()),
                font.clone(),
                ink,
            );
            let text = if whole.size().x + 8.0 <= shown.width() {
                whole
            } else {
                painter.layout_no_wrap(timing.stage.name().to_owned(), font.clone(), ink)
            };
            if text.size().x + 8.0 <= shown.width() {
                let at = shown.center() - text.size() / 2.0;
                painter.galley(at, text, ink);
            }
        }
    }

    fn lane(
        &self,
        ui: &Ui,
        painter: &Painter,
        scene: &Scene<'_>,
        index: usize,
        lane: &Lane,
        under: Option<Span>,
    ) {
        let palette = Palette::of(ui);
        let rect = self.lane_rect(index);
        if rect.top() > self.chart.bottom() {
            return;
        }
        let gap = if self.lane_height > 10.0 { 1.5 } else { 0.5 };
        let rows = rect.shrink2(egui::vec2(0.0, gap)).y_range();
        let colour = |phase: Phase| match phase {
            Phase::Collect => palette.collect,
            Phase::Distribute => palette.distribute,
        };
        let view = (self.window.start, self.window.end);
        let mut mesh = Mesh::default();
        for shape in lane.shapes(|time| self.x(time), view, rect.left(), rect.right()) {
            match shape {
                Shape::Bar(span, from, to) => {
                    // A hair of ground tells neighbours apart, where there is room for it.
                    let inset = if to - from > 4.0 { 0.5 } else { 0.0 };
                    let bar = Rect::from_x_y_ranges(from + inset..=to - inset, rows);
                    // Every other message is a little darker, so that neighbours can be counted.
                    let shade = if span.message.index() % 2 == 0 { 1.0 } else { 0.8 };
                    mesh.add_colored_rect(bar, darker(colour(span.phase), shade));
                }
                Shape::Wait(from, to) => {
                    // Thinner than work, so that the two are told apart without colour.
                    let half = 0.2 * rows.span();
                    let rows = egui::Rangef::point(rows.center()).expand(half);
                    mesh.add_colored_rect(Rect::from_x_y_ranges(from..=to, rows), palette.wait);
                }
                Shape::Column { x, collect, distribute, wait } => {
                    let column = Rect::from_x_y_ranges(x..=x + 1.0, rows);
                    mesh.add_colored_rect(column, palette.wait.gamma_multiply(wait));
                    if collect + distribute == 0.0 {
                        continue;
                    }
                    let both = (collect + distribute).max(f32::EPSILON);
                    let mixed =
                        palette.collect.lerp_to_gamma(palette.distribute, distribute / both);
                    // The least coverage must still be seen on the ground.
                    let strength = 0.35 + 0.65 * both.min(1.0);
                    mesh.add_colored_rect(column, mixed.gamma_multiply(strength));
                }
            }
        }
        painter.add(Paint::mesh(mesh));
        for span in lane.between(view.0, view.1) {
            if scene.model.selection.message(span.message) {
                self.outline(painter, *span, rows, palette.selected);
            }
        }
        for span in lane.between(view.0, view.1) {
            let pointed = under.is_some_and(|under| under.message == span.message);
            if pointed || scene.model.hover.message(span.message) {
                self.outline(painter, *span, rows, palette.hovered);
            }
        }
    }

    /// Marks one message; a short one by a line with a tip that sticks out.
    fn outline(&self, painter: &Painter, span: Span, rows: egui::Rangef, colour: Color32) {
        let (from, to) = (self.x(span.start), self.x(span.end));
        if to - from >= 4.0 {
            let bar = Rect::from_x_y_ranges(from..=to, rows);
            painter.rect_stroke(bar, 1, (2.0, colour), StrokeKind::Inside);
        } else {
            let middle = f32::midpoint(from, to);
            let bar = Rect::from_x_y_ranges(middle - 1.0..=middle + 1.0, rows);
            painter.rect_filled(bar, 0, colour);
            let tip = vec![
                pos2(middle - 4.0, rows.min - 5.0),
                pos2(middle + 4.0, rows.min - 5.0),
                pos2(middle, rows.min + 1.0),
            ];
            painter.add(Paint::convex_polygon(tip, colour, Stroke::NONE));
        }
    }

    fn names(&self, ui: &Ui, scene: &Scene<'_>) {
        let painter = ui.painter();
        let (font, ink) = (FontId::proportional(11.0), ui.visuals().weak_text_color());
        let left = self.chart.left() - GUTTER;
        let name = |y: f32, text: String| {
            painter.text(pos2(left, y), Align2::LEFT_CENTER, text, font.clone(), ink);
        };
        name(self.stages_rect().center().y, "stages".to_owned());
        match scene.lanes.len() {
            0 => {}
            1 => name(self.lane_rect(0).center().y, "messages".to_owned()),
            lanes => {
                let every = (12.0 / self.lane_height).ceil().max(1.0) as usize;
                let noun = if scene.on_gpu { "block" } else { "thread" };
                for lane in (0..lanes).step_by(every) {
                    let number = match scene.rows {
                        Rows::Lanes => format!("{noun} {}", scene.lanes[lane].number),
                        Rows::Packed => format!("{} at once", lane + 1),
                    };
                    name(self.lane_rect(lane).center().y, number);
                }
            }
        }
    }

    fn range(&self, ui: &Ui, painter: &Painter, scene: &Scene<'_>, (from, to): (f64, f64)) {
        let (from, to) = (from.min(to), from.max(to));
        let visuals = ui.visuals();
        let band = Rect::from_x_y_ranges(self.x(from)..=self.x(to), self.chart.y_range());
        let colour = visuals.selection.stroke.color;
        painter.rect_filled(band, 0, colour.gamma_multiply(0.12));
        painter.vline(band.left(), band.y_range(), Stroke::new(1.0, colour));
        painter.vline(band.right(), band.y_range(), Stroke::new(1.0, colour));
        let sum = Sum::between(&scene.lanes, from, to);
        let text = format!(
            "{} in {}: sum {}, median {}",
            numbers::counted(sum.count, "message", "messages"),
            numbers::nanoseconds((to - from).round()),
            numbers::nanoseconds(sum.total),
            numbers::nanoseconds(sum.median)
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

/// `colour` with every channel at `share` of its strength.
fn darker(colour: Color32, share: f32) -> Color32 {
    let [r, g, b, _] = colour.to_array();
    let less = |channel: u8| (f32::from(channel) * share) as u8;
    Color32::from_rgb(less(r), less(g), less(b))
}
