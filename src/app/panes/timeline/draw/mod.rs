//! Painting the timeline.

use eframe::egui::{
    self, Align2, Color32, FontId, Mesh, Painter, Rangef, Rect, Shape, Stroke, StrokeKind, Ui, pos2,
};

use super::TimelineScene;
use super::alignment::Change;
use super::axis::ticks;
use super::geometry::{AXIS_HEIGHT, GUTTER, Geometry};
use super::rows::{RowShape, between, shapes};
use super::slices::{Cause, Slice, SliceKind, Work};
use crate::app::theme::{Palette, ink_on};
use crate::numbers;
use crate::propagation::{MessageId, Phase, Stage};

/// Width of a character of a label in points, on average. A label is laid out only if its bar is
/// wide enough by this measure, because laying out text is slow.
const CHARACTER_WIDTH: f32 = 5.2;

/// How strongly a message is drawn that is not on the critical path while the path is lit.
const UNLIT: f32 = 0.3;

/// Draws the chart. `pointed` is the stretch under the pointer; `range` is the time that the user
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

    /// Draws the row of stages, and between them what happened there.
    fn stages(&self, painter: &Painter) {
        let row = self.geometry.stages;
        // The stages are drawn last: on a GPU they may overlap by a rounding error.
        for slice in self.scene.layout.stages.iter().rev() {
            let (from, to) = (self.geometry.x(slice.start), self.geometry.x(slice.end));
            if to < row.left() || from > row.right() {
                continue;
            }
            let bar = Rect::from_x_y_ranges(from..=to.max(from + 1.0), row.y_range());
            let strength = if matches!(slice.kind, SliceKind::Work(Work::Launch | Work::ReadMarks))
            {
                1.0
            } else {
                0.45
            };
            let ground = self.ui.visuals().panel_fill;
            let fill = ground.lerp_to_gamma(self.colour(slice.kind), strength);
            let inset = if bar.width() > 4.0 { 0.5 } else { 0.0 };
            painter.rect_filled(bar.shrink2(egui::vec2(inset, 0.0)), 2, fill);
            let name = slice.kind_name();
            let time = numbers::nanoseconds(slice.length());
            let shown = bar.intersect(row);
            for text in [format!("{name}  {time}"), name.to_owned()] {
                if label(painter, shown, &text, ink_on(fill)) {
                    break;
                }
            }
        }
    }

    /// The colour of a stretch.
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
            SliceKind::Work(Work::Launch | Work::LaunchOf(_) | Work::ReadMarks) => palette.overhead,
            SliceKind::Work(_) => palette.stage,
            SliceKind::Wait(_) => palette.wait,
        }
    }

    /// Draws row number `row`, and outlines selected and hovered messages in it.
    fn row(&self, row: usize, pointed: Option<Slice>) {
        let area = self.geometry.area_of(row);
        let painter = self.ui.painter_at(area);
        let view = (self.geometry.view.start, self.geometry.view.end);
        let x = |time| self.geometry.x(time);
        for (lane, slices) in self.scene.layout.rows[row].lanes.iter().enumerate() {
            let y_range = self.geometry.lane_y(row, lane);
            let shapes = shapes(slices, x, view, area.left(), area.right());
            let mut mesh = Mesh::default();
            for shape in &shapes {
                self.add_shape(&mut mesh, *shape, y_range);
            }
            painter.add(Shape::mesh(mesh));
            for shape in shapes {
                if let RowShape::Bar(slice, from, to) = shape {
                    self.slice_label(&painter, slice, from..=to, y_range);
                }
            }
            let seen = between(slices, view.0, view.1);
            self.light(&painter, seen, y_range);
            self.mark_changes(&painter, seen, y_range);
            self.outlines(&painter, seen, y_range, pointed);
        }
    }

    /// Adds a bar or a column of a row to `mesh`.
    fn add_shape(&self, mesh: &mut Mesh, shape: RowShape, y_range: Rangef) {
        let ground = self.ui.visuals().panel_fill;
        match shape {
            RowShape::Bar(slice, from, to) => {
                // A gap of one pixel separates neighbours that are wide enough for it.
                let inset = if to - from > 4.0 { 0.5 } else { 0.0 };
                let x_range = from + inset..=to - inset;
                if slice.is_wait() {
                    // A line below a faint ground, so that a wait is not taken for a message.
                    let faint = ground.lerp_to_gamma(self.palette.wait, 0.22);
                    mesh.add_colored_rect(Rect::from_x_y_ranges(x_range.clone(), y_range), faint);
                    let line = Rangef::new(y_range.max - 3.0, y_range.max);
                    mesh.add_colored_rect(Rect::from_x_y_ranges(x_range, line), self.palette.wait);
                    return;
                }
                let fill = self.fill(slice);
                mesh.add_colored_rect(Rect::from_x_y_ranges(x_range, y_range), fill);
            }
            RowShape::Column { x, shares: [collect, distribute, work, wait] } => {
                let column = |y_range| Rect::from_x_y_ranges(x..=x + 1.0, y_range);
                let line = Rangef::new(y_range.max - 3.0, y_range.max);
                if wait > 0.0 {
                    mesh.add_colored_rect(column(line), self.palette.wait.gamma_multiply(wait));
                }
                let all = collect + distribute + work;
                if all == 0.0 {
                    return;
                }
                let messages = self.palette.collect.lerp_to_gamma(
                    self.palette.distribute,
                    distribute / (collect + distribute).max(f32::EPSILON),
                );
                // In rows of launches, all other work is launches.
                let is_launching = self.scene.kind.launch.is_some();
                let other = if is_launching { self.palette.overhead } else { self.palette.stage };
                let mixed = messages.lerp_to_gamma(other, work / all);
                // Even the smallest coverage must be visible on the background.
                let strength = 0.35 + 0.65 * all.min(1.0);
                let lit = if self.scene.lit { UNLIT } else { 1.0 };
                mesh.add_colored_rect(column(y_range), mixed.gamma_multiply(strength * lit));
            }
        }
    }

    /// The colour of the bar of a stretch that is no wait.
    fn fill(&self, slice: Slice) -> Color32 {
        let ground = self.ui.visuals().panel_fill;
        let colour = self.colour(slice.kind);
        let Some(message) = slice.message() else { return ground.lerp_to_gamma(colour, 0.75) };
        if self.scene.lit && !self.scene.layout.critical.contains(message.index()) {
            return ground.lerp_to_gamma(colour, UNLIT);
        }
        // Every other message is a little darker, so that neighbours can be counted.
        darker(colour, if message.index() % 2 == 0 { 1.0 } else { 0.8 })
    }

    /// Writes the name of `slice` on its bar if there is room.
    fn slice_label(
        &self,
        painter: &Painter,
        slice: Slice,
        x_range: std::ops::RangeInclusive<f32>,
        y_range: Rangef,
    ) {
        let bar = Rect::from_x_y_ranges(x_range, y_range);
        if bar.width() < 4.0 * CHARACTER_WIDTH || bar.height() < 11.0 {
            return;
        }
        let ink = if slice.is_wait() {
            self.ui.visuals().weak_text_color()
        } else {
            ink_on(self.fill(slice))
        };
        let name = slice.label(self.scene.compiled);
        let time = numbers::nanoseconds(slice.length());
        let is_taking_up = slice.kind == SliceKind::Wait(Cause::TakeUp);
        if label(painter, bar, &format!("{name}  {time}"), ink) || label(painter, bar, &name, ink) {
            return;
        }
        if slice.is_wait() && !is_taking_up {
            label(painter, bar, "waits", ink);
        }
    }

    /// Marks the messages of the critical path with a line on top, if the path is lit.
    fn light(&self, painter: &Painter, seen: &[Slice], y_range: Rangef) {
        if !self.scene.lit {
            return;
        }
        let critical = &self.scene.layout.critical;
        let is_critical = |slice: &&Slice| {
            slice.message().is_some_and(|message| critical.contains(message.index()))
        };
        for slice in seen.iter().filter(is_critical) {
            let (from, to) = (self.geometry.x(slice.start), self.geometry.x(slice.end));
            let to = to.max(from + 1.5);
            let line = Rect::from_x_y_ranges(from..=to, y_range.min..=y_range.min + 3.0);
            if to - from < 4.0 {
                let bar = Rect::from_x_y_ranges(from..=to, y_range);
                painter.rect_filled(bar, 0, self.colour(slice.kind));
            }
            painter.rect_filled(line, 0, self.palette.active);
        }
    }

    /// Marks messages that took more time than in the run that this one is compared with by a line
    /// on top, and messages that took less by a line at the bottom, with an arrow head if there is
    /// room.
    fn mark_changes(&self, painter: &Painter, seen: &[Slice], y_range: Rangef) {
        let Some(changes) = self.scene.changes else { return };
        let ink = self.ui.visuals().strong_text_color();
        for slice in seen {
            let change = slice.message().and_then(|id| changes.get(id.index()).copied().flatten());
            let (line, text, align) = match change {
                Some(Change::Slower) => (y_range.min..=y_range.min + 3.0, "⏶", Align2::LEFT_TOP),
                Some(Change::Faster) => (y_range.max - 3.0..=y_range.max, "⏷", Align2::LEFT_BOTTOM),
                _ => continue,
            };
            let (from, to) = (self.geometry.x(slice.start), self.geometry.x(slice.end));
            let bar = Rect::from_x_y_ranges(from..=to.max(from + 1.0), line);
            painter.rect_filled(bar, 0, ink);
            if to - from > 14.0 {
                let bar = Rect::from_x_y_ranges(from..=to, y_range);
                let on = ink_on(self.fill(*slice));
                let at = align.pos_in_rect(&bar.shrink2(egui::vec2(2.0, 3.0)));
                painter.text(at, align, text, FontId::proportional(9.0), on);
            }
        }
    }

    /// Outlines the selected and the hovered messages among `seen`, and the stretch under the
    /// pointer.
    fn outlines(&self, painter: &Painter, seen: &[Slice], y_range: Rangef, pointed: Option<Slice>) {
        let model = self.scene.model;
        if !self.scene.is_current {
            return;
        }
        let of = |slice: &Slice, highlighted: &dyn Fn(MessageId) -> bool| {
            slice.message().is_some_and(highlighted)
        };
        // Outlines at the same pixel need to be drawn only once.
        let mut drawn = f32::NEG_INFINITY;
        for slice in seen.iter().filter(|slice| of(slice, &|id| model.selection.message(id))) {
            let end = self.geometry.x(slice.end);
            if end >= drawn + 1.0 {
                drawn = end;
                self.outline(painter, *slice, y_range, self.palette.selected);
            }
        }
        drawn = f32::NEG_INFINITY;
        for slice in seen {
            let is_hovered = pointed == Some(*slice) || of(slice, &|id| model.hover.message(id));
            let end = self.geometry.x(slice.end);
            if is_hovered && end >= drawn + 1.0 {
                drawn = end;
                self.outline(painter, *slice, y_range, self.palette.hovered);
            }
        }
    }

    /// Outlines a stretch. A stretch too short for an outline gets a line with an arrow head on
    /// top.
    fn outline(&self, painter: &Painter, slice: Slice, y_range: Rangef, colour: Color32) {
        let (from, to) = (self.geometry.x(slice.start), self.geometry.x(slice.end));
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

    /// Draws an arrow from each message that the selected message waited for to the selected one.
    fn flows(&self) {
        let layout = self.scene.layout;
        let Some(to) = self.scene.selected_message().and_then(|id| layout.place(id)) else {
            return;
        };
        let Some(message) = to.slice.message() else { return };
        let geometry = self.geometry;
        let painter = self.ui.painter_at(geometry.chart);
        let middle = |row: usize, lane: usize| {
            // An arrow from or to a row that is scrolled out of sight ends at the edge.
            let area = geometry.area_of(row);
            geometry.lane_y(row, lane).center().clamp(area.top(), area.bottom())
        };
        let end = pos2(geometry.x(to.slice.start), middle(to.row, to.lane));
        let stroke = Stroke::new(1.5, self.palette.active);
        for from in layout.dependencies.inputs(message).iter().filter_map(|id| layout.place(*id)) {
            let start = pos2(geometry.x(from.slice.end), middle(from.row, from.lane));
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

/// Writes `text` into the middle of `room` if it fits. Returns whether it did.
fn label(painter: &Painter, room: Rect, text: &str, ink: Color32) -> bool {
    let estimate = text.chars().count() as f32 * CHARACTER_WIDTH;
    if estimate > room.width() {
        return false;
    }
    let galley = painter.layout_no_wrap(text.to_owned(), FontId::proportional(11.0), ink);
    let fits = galley.size().x + 6.0 <= room.width();
    if fits {
        painter.galley(room.center() - galley.size() / 2.0, galley, ink);
    }
    fits
}

/// Writes the name of a row and its idle share to the left of the chart.
pub(super) fn row_name(ui: &Ui, rect: Rect, name: &str, idle: Option<f64>) {
    let painter = ui.painter_at(rect);
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

/// `colour` with red, green and blue multiplied by `share`.
fn darker(colour: Color32, share: f32) -> Color32 {
    let [r, g, b, _] = colour.to_array();
    let less = |channel: u8| (f32::from(channel) * share) as u8;
    Color32::from_rgb(less(r), less(g), less(b))
}
