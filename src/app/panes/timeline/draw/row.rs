//! Painting one row of the timeline: its slices, and what marks some of them.

use eframe::egui::{Color32, Mesh, Painter, Rangef, Rect, Shape, Stroke, StrokeKind, pos2};

use super::{Drawing, MIN_LABEL_WIDTH, label};
use crate::app::panes::timeline::alignment::Change;
use crate::app::panes::timeline::shapes::{TrackShape, between, shapes};
use crate::app::panes::timeline::slices::{Slice, SliceKind, Work};
use crate::app::theme::ink_on;
use crate::propagation::MessageId;

/// Strength, from 0 to 1, of the colour of messages that are not on the critical path while the
/// path is highlighted. Chosen by eye: with more, the path stands out less; with less, the other
/// messages are hard to see.
const DIMMED: f32 = 0.3;

/// Minimum width in points of the bar of a wait with a label: room for the word "waits". With less,
/// there would be rows full of fragments of this word.
const MIN_WAIT_WIDTH: f32 = 38.0;

impl Drawing<'_> {
    /// Draws the row with index `row`, and marks the messages that are on the highlighted critical
    /// path, changed, selected or hovered.
    pub(super) fn row(&self, row: usize, pointed: Option<Slice>) {
        let area = self.geometry.area_of(row);
        let painter = self.ui.painter_at(area);
        let view = (self.geometry.view.start, self.geometry.view.end);
        let x = |time| self.geometry.x(time);
        for (track, slices) in self.scene.layout.rows[row].tracks.iter().enumerate() {
            let y_range = self.geometry.track_y(row, track);
            let shapes = shapes(slices, x, view, area.left(), area.right());
            let mut mesh = Mesh::default();
            for shape in &shapes {
                self.add_shape(&mut mesh, *shape, y_range);
            }
            painter.add(Shape::mesh(mesh));
            for shape in shapes {
                if let TrackShape::Bar(slice, from, to) = shape {
                    self.slice_label(&painter, slice, from..=to, y_range);
                }
            }
            let seen = between(slices, view.0, view.1);
            self.highlight_path(&painter, seen, y_range);
            self.mark_changes(&painter, seen, y_range);
            self.outlines(&painter, seen, y_range, pointed);
        }
    }

    /// Adds a bar or a column of a row to `mesh`.
    fn add_shape(&self, mesh: &mut Mesh, shape: TrackShape, y_range: Rangef) {
        let ground = self.ui.visuals().panel_fill;
        match shape {
            TrackShape::Bar(slice, from, to) => {
                // A gap of one point separates neighbours that are wide enough for it.
                let inset = if to - from > 4.0 { 0.5 } else { 0.0 };
                let x_range = from + inset..=to - inset;
                if slice.is_wait() {
                    // A faint background with a line at the bottom, so that a wait is not mistaken
                    // for a message.
                    let faint = ground.lerp_to_gamma(self.palette.wait, 0.22);
                    mesh.add_colored_rect(Rect::from_x_y_ranges(x_range.clone(), y_range), faint);
                    let line = Rangef::new(y_range.max - 3.0, y_range.max);
                    mesh.add_colored_rect(Rect::from_x_y_ranges(x_range, line), self.palette.wait);
                    return;
                }
                let fill = self.fill(slice);
                mesh.add_colored_rect(Rect::from_x_y_ranges(x_range, y_range), fill);
            }
            TrackShape::Column { x, shares: [collect, distribute, work, wait] } => {
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
                // If a kernel is launched for each message, all work in the rows apart from
                // messages is launches.
                let is_launching = self.scene.kind.launch.is_some();
                let other = if is_launching { self.palette.overhead } else { self.palette.stage };
                let mixed = messages.lerp_to_gamma(other, work / all);
                // Even the smallest coverage must be visible on the background.
                let strength = 0.35 + 0.65 * all.min(1.0);
                let strength = strength * if self.scene.highlights_path { DIMMED } else { 1.0 };
                mesh.add_colored_rect(column(y_range), mixed.gamma_multiply(strength));
            }
        }
    }

    /// The colour of the bar of a slice that is not a wait.
    fn fill(&self, slice: Slice) -> Color32 {
        let ground = self.ui.visuals().panel_fill;
        // A part of a message has the colour of the message.
        let computed = match slice.kind {
            SliceKind::Message(message, _) | SliceKind::Work(Work::Help(message)) => Some(message),
            SliceKind::Work(_) | SliceKind::Wait(_) => None,
        };
        let colour = match computed.filter(|_| self.scene.changes.is_some()) {
            None => self.colour(slice.kind),
            Some(message) => match self.change_of(message) {
                Some(Change::Slower) => self.palette.slower(),
                Some(Change::Faster) => self.palette.faster(),
                Some(Change::Same) | None => self.palette.stage,
            },
        };
        let Some(message) = slice.message() else { return ground.lerp_to_gamma(colour, 0.75) };
        if self.scene.highlights_path && !self.scene.layout.critical.contains(message.index()) {
            return ground.lerp_to_gamma(colour, DIMMED);
        }
        // Messages with odd numbers are a little darker, so that two messages that follow each
        // other in the plan can be told apart.
        darker(colour, if message.index() % 2 == 0 { 1.0 } else { 0.8 })
    }

    /// Writes the name and the length of `slice` on its bar, or as much of the name as fits.
    fn slice_label(
        &self,
        painter: &Painter,
        slice: Slice,
        x_range: std::ops::RangeInclusive<f32>,
        y_range: Rangef,
    ) {
        let bar = Rect::from_x_y_ranges(x_range, y_range);
        let min_width = if slice.is_wait() { MIN_WAIT_WIDTH } else { MIN_LABEL_WIDTH };
        if bar.width() < min_width || bar.height() < 11.0 {
            return;
        }
        let ink = if slice.is_wait() {
            self.ui.visuals().weak_text_color()
        } else {
            ink_on(self.fill(slice))
        };
        let compiled = self.scene.compiled;
        let names = [slice.label(compiled), slice.short_label(compiled)];
        label(painter, bar, names.each_ref().map(String::as_str), slice.length(), ink);
    }

    /// Marks the messages of the critical path with a line on top, if the path is highlighted.
    fn highlight_path(&self, painter: &Painter, seen: &[Slice], y_range: Rangef) {
        if !self.scene.highlights_path {
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

    /// Whether `message` is slower or faster than in the run that this run is compared with. `None`
    /// if that run has no such message, or there is none.
    fn change_of(&self, message: MessageId) -> Option<Change> {
        self.scene.changes?.get(message.index()).copied().flatten()
    }

    /// Marks messages that became slower by a line on top, and messages that became faster by a
    /// line at the bottom. Marks nothing unless the run is compared with another.
    fn mark_changes(&self, painter: &Painter, seen: &[Slice], y_range: Rangef) {
        if self.scene.changes.is_none() {
            return;
        }
        let ink = self.ui.visuals().strong_text_color();
        for slice in seen {
            let change = slice.message().and_then(|id| self.change_of(id));
            let line = match change {
                Some(Change::Slower) => y_range.min..=y_range.min + 3.0,
                Some(Change::Faster) => y_range.max - 3.0..=y_range.max,
                _ => continue,
            };
            let (from, to) = (self.geometry.x(slice.start), self.geometry.x(slice.end));
            let bar = Rect::from_x_y_ranges(from..=to.max(from + 1.0), line);
            painter.rect_filled(bar, 0, ink);
        }
    }

    /// Outlines the selected and the hovered messages among `seen`, and the slice under the
    /// pointer.
    fn outlines(&self, painter: &Painter, seen: &[Slice], y_range: Rangef, pointed: Option<Slice>) {
        let model = self.scene.model;
        let is_marked = |slice: &Slice, highlighted: &dyn Fn(MessageId) -> bool| {
            slice.message().and_then(|id| self.scene.in_current_plan(id)).is_some_and(highlighted)
        };
        // Outlines at the same pixel need to be drawn only once.
        let mut drawn = f32::NEG_INFINITY;
        let is_selected = |slice: &&Slice| is_marked(slice, &|id| model.selection.message(id));
        for slice in seen.iter().filter(is_selected) {
            let end = self.geometry.x(slice.end);
            if end >= drawn + 1.0 {
                drawn = end;
                self.outline(painter, *slice, y_range, self.palette.selected);
            }
        }
        drawn = f32::NEG_INFINITY;
        for slice in seen {
            let is_hovered =
                pointed == Some(*slice) || is_marked(slice, &|id| model.hover.message(id));
            let end = self.geometry.x(slice.end);
            if is_hovered && end >= drawn + 1.0 {
                drawn = end;
                self.outline(painter, *slice, y_range, self.palette.hovered);
            }
        }
    }

    /// Outlines a slice. A slice too short for an outline gets a line with an arrowhead on top.
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
}

/// `colour` with red, green and blue multiplied by `share`.
fn darker(colour: Color32, share: f32) -> Color32 {
    let [r, g, b, _] = colour.to_array();
    let less = |channel: u8| (f32::from(channel) * share) as u8;
    Color32::from_rgb(less(r), less(g), less(b))
}
