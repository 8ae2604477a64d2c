//! Painting the timeline.

mod row;

use eframe::egui::{
    self, Align2, Color32, FontId, Painter, Rangef, Rect, Shape, Stroke, StrokeKind, Ui, pos2,
};

use super::TimelineScene;
use super::axis::ticks;
use super::geometry::{AXIS_HEIGHT, GUTTER, Geometry, MIN_NAME_HEIGHT, name_place};
use super::shapes::between;
use super::slices::{Slice, SliceKind, Work};
use crate::app::theme::{Palette, ink_on};
use crate::app::widgets::short_text::cut_at_end;
use crate::numbers;
use crate::propagation::{Phase, Stage};

/// Minimum width in points of a bar with a label: room for three characters. Narrower bars are not
/// tried, because laying out text is slow.
const MIN_LABEL_WIDTH: f32 = 18.0;

/// Opacity of the veil over what comes later in slow motion. With more, the names of what comes
/// cannot be read; with less, it looks as if it had happened already.
const VEIL: f32 = 0.6;

/// Distance in points of arrows between messages from the lower edges of their bars. With more, an
/// arrow strikes through the names on its row.
const FLOW_INSET: f32 = 1.5;

/// Room in points to the left and to the right of a label together.
const LABEL_MARGIN: f32 = 4.0;

/// Draws the chart. `pointed` is the slice under the pointer; `range` is the time that the user
/// has marked, in nanoseconds.
pub(super) fn draw(
    ui: &Ui,
    geometry: &Geometry,
    scene: &TimelineScene<'_>,
    pointed: Option<Slice>,
    range: Option<(f64, f64)>,
) {
    let drawing = Drawing { geometry, scene, palette: Palette::of(ui), ui };
    let painter = ui.painter_at(geometry.chart);
    drawing.axis(&painter);
    drawing.stages(&painter);
    for row in geometry.visible() {
        drawing.row(row, pointed);
    }
    if geometry.pinned.height() > 0.0 {
        let line = ui.visuals().widgets.noninteractive.bg_stroke;
        let left = geometry.chart.left() - GUTTER;
        let across = Rangef::new(left, geometry.chart.right());
        ui.painter().hline(across, geometry.pinned.bottom() + 2.0, line);
    }
    drawing.flows();
    if scene.live {
        let stroke = Stroke::new(2.0, drawing.palette.active);
        painter.vline(geometry.x(scene.total), geometry.chart.y_range(), stroke);
    }
    if let Some(range) = range {
        drawing.range(&painter, range);
    }
    if let Some(now) = scene.now {
        drawing.now(&painter, now);
    }
}

/// What is needed to draw in one frame.
struct Drawing<'a> {
    geometry: &'a Geometry,
    scene: &'a TimelineScene<'a>,
    palette: Palette,
    ui: &'a Ui,
}

impl Drawing<'_> {
    /// Draws the ticks of the time axis, with lines across all rows.
    fn axis(&self, painter: &Painter) {
        let chart = self.geometry.chart;
        let visuals = self.ui.visuals();
        let font = FontId::proportional(11.0);
        let line =
            Stroke::new(1.0, visuals.widgets.noninteractive.bg_stroke.color.gamma_multiply(0.6));
        let max_ticks = (chart.width() / 100.0) as usize;
        let ink = visuals.weak_text_color();
        for tick in ticks(self.geometry.view, max_ticks.max(2)) {
            let x = self.geometry.x(tick.time).round() + 0.5;
            painter.vline(x, chart.y_range(), line);
            let at = pos2(x + 4.0, chart.top() + AXIS_HEIGHT / 2.0);
            let label = painter.layout_no_wrap(tick.label, font.clone(), ink);
            // A clipped label would read as a different number.
            if at.x + label.size().x <= chart.right() {
                painter.galley(at - egui::vec2(0.0, label.size().y / 2.0), label, ink);
            }
        }
    }

    /// Draws the row of stages, and what happened between them.
    fn stages(&self, painter: &Painter) {
        let row = self.geometry.stages;
        // In reverse, so that the stages, which come first, are drawn over their neighbours: every
        // bar is at least one point wide, and may reach into the next one.
        for slice in self.scene.layout.stages.iter().rev() {
            let (from, to) = (self.geometry.x(slice.start), self.geometry.x(slice.end));
            if to < row.left() || from > row.right() {
                continue;
            }
            let bar = Rect::from_x_y_ranges(from..=to.max(from + 1.0), row.y_range());
            let is_launch = slice.kind == SliceKind::Work(Work::Launch);
            let strength = if is_launch { 1.0 } else { 0.45 };
            let ground = self.ui.visuals().panel_fill;
            let fill = ground.lerp_to_gamma(self.colour(slice.kind), strength);
            let inset = if bar.width() > 4.0 { 0.5 } else { 0.0 };
            painter.rect_filled(bar.shrink2(egui::vec2(inset, 0.0)), 2, fill);
            let shown = bar.intersect(row);
            if shown.width() >= MIN_LABEL_WIDTH {
                let name = slice.kind_name();
                label(painter, shown, [name; 2], slice.length(), ink_on(fill));
            }
        }
    }

    /// The colour of a slice.
    fn colour(&self, kind: SliceKind) -> Color32 {
        let palette = &self.palette;
        match kind {
            SliceKind::Message(_, phase) => match phase {
                Phase::Collect => palette.collect,
                Phase::Distribute => palette.distribute,
            },
            SliceKind::Work(Work::Stage(Stage::Collect)) => palette.collect,
            SliceKind::Work(Work::Stage(Stage::Distribute)) => palette.distribute,
            SliceKind::Work(Work::Help(message)) => {
                match self.scene.compiled.plan()[message].phase {
                    Phase::Collect => palette.collect,
                    Phase::Distribute => palette.distribute,
                }
            }
            SliceKind::Work(Work::Launch | Work::LaunchOf(_)) => palette.overhead,
            SliceKind::Work(_) => palette.stage,
            SliceKind::Wait(_) => palette.wait,
        }
    }

    /// Draws an arrow to the selected message from each of its inputs, along the lower edges of
    /// bars, below the names.
    fn flows(&self) {
        let layout = self.scene.layout;
        let Some(to) = self.scene.selected_message().and_then(|id| layout.place(id)) else {
            return;
        };
        let Some(message) = to.slice.message() else { return };
        let geometry = self.geometry;
        let painter = self.ui.painter_at(geometry.chart);
        let foot = |row: usize, track: usize| {
            // An arrow from or to a row that is scrolled out of sight ends at the edge.
            let area = geometry.area_of(row);
            let bottom = geometry.track_y(row, track).max - FLOW_INSET;
            bottom.clamp(area.top(), area.bottom())
        };
        let end = pos2(geometry.x(to.slice.start), foot(to.row, to.track));
        let stroke = Stroke::new(1.5, self.palette.active);
        for from in layout.dependencies.inputs(message).iter().filter_map(|id| layout.place(*id)) {
            let start = pos2(geometry.x(from.slice.end), foot(from.row, from.track));
            let bend = (0.5 * (end.x - start.x)).clamp(12.0, 80.0);
            let control = egui::vec2(bend, 0.0);
            let points = [start, start + control, end - control, end];
            let curve = egui::epaint::CubicBezierShape::from_points_stroke(
                points,
                false,
                Color32::TRANSPARENT,
                stroke,
            );
            painter.add(curve);
            painter.circle_filled(start, 2.5, stroke.color);
        }
        let head = [egui::vec2(-7.0, -4.0), egui::vec2(-7.0, 4.0), egui::vec2(0.0, 0.0)];
        if !layout.dependencies.inputs(message).is_empty() {
            let head = head.map(|offset| end + offset).to_vec();
            painter.add(Shape::convex_polygon(head, stroke.color, Stroke::NONE));
        }
    }

    /// Marks `now`, the current time of slow motion: everything later is dimmed, and the messages
    /// that are being computed stand out. A line marks the end of the propagation.
    fn now(&self, painter: &Painter, now: f64) {
        let (geometry, visuals) = (self.geometry, self.ui.visuals());
        let chart = geometry.chart;
        let later = Rect::from_min_max(pos2(geometry.x(now), geometry.stages.top()), chart.max);
        painter.rect_filled(later, 0, visuals.panel_fill.gamma_multiply(VEIL));
        let end = Stroke::new(1.0, visuals.weak_text_color());
        painter.vline(geometry.x(self.scene.total), geometry.stages.top()..=chart.bottom(), end);
        for row in geometry.visible() {
            for (track, slices) in self.scene.layout.rows[row].tracks.iter().enumerate() {
                let is_active = |slice: &&Slice| {
                    now < slice.end && slice.related_message().is_some() && !slice.is_wait()
                };
                for slice in between(slices, now, now).iter().filter(is_active) {
                    let (from, to) = (geometry.x(slice.start), geometry.x(slice.end));
                    let across = from..=to.max(from + 1.0);
                    let bar = Rect::from_x_y_ranges(across, geometry.track_y(row, track));
                    painter.rect_filled(bar, 0, self.palette.active);
                }
            }
        }
        let stroke = Stroke::new(2.0, self.palette.active);
        painter.vline(geometry.x(now), chart.y_range(), stroke);
    }

    /// Marks the time between the two ends of a range, in either order, and writes its length.
    fn range(&self, painter: &Painter, (from, to): (f64, f64)) {
        let (from, to) = (from.min(to), from.max(to));
        let (chart, visuals) = (self.geometry.chart, self.ui.visuals());
        let across = self.geometry.x(from)..=self.geometry.x(to);
        let band = Rect::from_x_y_ranges(across, chart.y_range());
        let colour = visuals.selection.stroke.color;
        painter.rect_filled(band, 0, colour.gamma_multiply(0.12));
        painter.vline(band.left(), band.y_range(), Stroke::new(1.0, colour));
        painter.vline(band.right(), band.y_range(), Stroke::new(1.0, colour));
        let text = numbers::nanoseconds((to - from).round());
        let ink = visuals.strong_text_color();
        let text = painter.layout_no_wrap(text, FontId::proportional(12.0), ink);
        let room = (chart.right() - text.size().x - 8.0).max(chart.left() + 4.0);
        let left = (band.center().x - text.size().x / 2.0).clamp(chart.left() + 4.0, room);
        let at = pos2(left, chart.bottom() - text.size().y - 6.0);
        let ground = Rect::from_min_size(at, text.size()).expand2(egui::vec2(6.0, 3.0));
        painter.rect(ground, 3, visuals.window_fill, Stroke::new(1.0, colour), StrokeKind::Inside);
        painter.galley(at, text, ink);
    }
}

/// Writes the first of `names` and a time of `length` nanoseconds into the middle of `room`, or the
/// name alone, or as much of the second name as fits.
fn label(painter: &Painter, room: Rect, names: [&str; 2], length: f64, ink: Color32) {
    let font = FontId::proportional(11.0);
    let width = room.width() - LABEL_MARGIN;
    let text = painter.fonts_mut(|fonts| {
        let mut width_of = |letter| fonts.glyph_width(&font, letter);
        let mut fits = |text: &str| text.chars().map(&mut width_of).sum::<f32>() <= width;
        let with_time = format!("{}  {}", names[0], numbers::nanoseconds(length));
        if fits(&with_time) {
            with_time
        } else if fits(names[0]) {
            names[0].to_owned()
        } else {
            cut_at_end(names[1], width, width_of).into_owned()
        }
    });
    if !text.is_empty() {
        let galley = painter.layout_no_wrap(text, font, ink);
        painter.galley(room.center() - galley.size() / 2.0, galley, ink);
    }
}

/// Writes the names of the rows that are high enough to the left of the chart.
pub(super) fn row_names(ui: &Ui, geometry: &Geometry, scene: &TimelineScene<'_>) {
    let across = geometry.chart.left() - GUTTER..=geometry.chart.left();
    let name = |row: Rect, area: Rect, name: &str, idle| {
        let in_names = |rect: Rect| Rect::from_x_y_ranges(across.clone(), rect.y_range());
        let place = name_place(row, row.intersect(area));
        row_name(ui, in_names(place), in_names(area), name, idle);
    };
    name(geometry.stages, geometry.stages, "stages", None);
    for index in geometry.visible() {
        let (row, rect) = (&scene.layout.rows[index], geometry.rows[index]);
        if rect.height() >= MIN_NAME_HEIGHT {
            name(rect, geometry.area_of(index), &row.name, row.idle);
        }
    }
}

/// Writes the name of a row and its idle share into `rect`, as far as it is within `area`.
pub(super) fn row_name(ui: &Ui, rect: Rect, area: Rect, name: &str, idle: Option<f64>) {
    let painter = ui.painter_at(rect.intersect(area));
    let visuals = ui.visuals();
    let font = FontId::proportional(11.0);
    let (left, right) = (rect.left_center() + egui::vec2(14.0, 0.0), rect.right_center());
    painter.text(left, Align2::LEFT_CENTER, name, font.clone(), visuals.text_color());
    if let Some(idle) = idle {
        let text = format!("idle {}", numbers::share(idle, 1.0));
        let at = right - egui::vec2(6.0, 0.0);
        painter.text(at, Align2::RIGHT_CENTER, text, font, visuals.weak_text_color());
    }
}
