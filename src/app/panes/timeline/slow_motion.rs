//! Slow motion: traces one above the other, with a line at the current time. They have a common
//! time axis, except for two recorded runs: their durations differ so much that each has its own
//! axis.

use eframe::egui::{
    Align2, Color32, FontId, Mesh, Painter, Rect, Response, RichText, Sense, Shape, Stroke, Ui,
    Vec2, WidgetInfo, WidgetType, pos2,
};

use super::axis::{View, ticks};
use super::rows;
use super::slices::SliceKind;
use crate::app::state::command::{Commands, StepCommand};
use crate::app::state::document::Document;
use crate::app::theme::Palette;
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageTrace, Phase};

/// Height of the time axis in points.
const AXIS_HEIGHT: f32 = 18.0;
/// Height in points of the name of a trace.
const NAME_HEIGHT: f32 = 16.0;
/// Maximum height of a row of messages in points.
const MAX_ROW_HEIGHT: f32 = 40.0;

/// The current time of slow motion.
#[derive(Clone, Copy)]
pub(super) struct Now {
    /// Nanoseconds since the start of the propagation.
    pub(super) time: f64,
    /// Whether slow motion is playing.
    pub(super) playing: bool,
    /// How many times slower than measured the longest trace is played.
    pub(super) slowdown: f64,
}

/// Draws the [traces to compare](Document::traces_to_compare) of `document`, with the messages
/// after `now` dimmed.
///
/// A click or a drag moves to another time. `zoom` is the part in view, or `None` for everything.
/// The wheel zooms, and a double click shows everything again. While playing, the current time
/// stays in view.
pub(super) fn show(
    ui: &mut Ui,
    document: &Document,
    compiled: &CompiledNetwork,
    now: Now,
    zoom: &mut Option<View>,
    commands: &mut Commands,
) {
    let traces = document.traces_to_compare();
    let has_own_axes = document.second_shown.is_some();
    if has_own_axes {
        own_scales(ui, &traces);
    }
    let size = Vec2::new(ui.available_width(), ui.available_height().max(64.0));
    // Keys do nothing here, so the Tab key skips the chart.
    let (rect, response) = ui.allocate_exact_size(size, Sense::CLICK | Sense::DRAG);
    let total = document.traced_nanoseconds();
    let view = update_view(ui, &response, now, zoom, total);
    response.widget_info(|| {
        let names: Vec<&str> = traces.iter().map(|(name, _)| name.as_str()).collect();
        let label = format!("Slow motion of {}", names.join(" and "));
        WidgetInfo::labeled(WidgetType::Other, true, label)
    });
    if let Some(pos) = response.interact_pointer_pos() {
        let share = f64::from((pos.x - rect.left()) / rect.width());
        commands.push(StepCommand::Seek(view.at(share)));
    }
    let painter = ui.painter_at(rect);
    let common_axis_height = if has_own_axes { 0.0 } else { AXIS_HEIGHT };
    if !has_own_axes {
        Chart { painter: painter.clone(), rect, view, now: now.time }.axis(ui);
    }
    let height = (rect.height() - common_axis_height) / traces.len().max(1) as f32;
    for (index, (name, trace)) in traces.iter().enumerate() {
        let top = rect.top() + common_axis_height + index as f32 * height;
        let mut band = Rect::from_min_size(pos2(rect.left(), top), Vec2::new(rect.width(), height));
        let stretch = document.stretch(trace);
        let chart = Chart {
            painter: painter.clone(),
            rect: band,
            view: view.scaled(1.0 / stretch),
            now: now.time / stretch,
        };
        let mut label = format!("{name}: {}", numbers::duration(trace.elapsed));
        if has_own_axes {
            chart.axis(ui);
            band.min.y += AXIS_HEIGHT;
            let slower = numbers::short(now.slowdown * stretch);
            label = format!("{label}, played {slower} times slower");
        }
        chart.trace(ui, compiled, band, &label, trace);
        let stroke = Stroke::new(2.0, Palette::of(ui).active);
        painter.vline(chart.x(chart.now), chart.rect.y_range(), stroke);
    }
}

/// Says that each of `traces` has a time scale of its own, and how many times as long the first is
/// as the second.
fn own_scales(ui: &mut Ui, traces: &[(String, &MessageTrace)]) {
    let seconds = |index: usize| traces.get(index).map(|(_, trace)| trace.elapsed.as_secs_f64());
    let Some((longer, shorter)) = seconds(0).zip(seconds(1)) else { return };
    let ratio = numbers::short(longer / shorter.max(1e-9));
    let text = format!(
        "Recorded runs, each on a time scale of its own (the upper one is {ratio} times as long)"
    );
    ui.label(RichText::new(text).strong().color(Palette::of(ui).warning));
}

/// The view after the zooming of this frame; while playing, moved so that it contains the current
/// time.
fn update_view(
    ui: &Ui,
    response: &Response,
    now: Now,
    zoom: &mut Option<View>,
    total: f64,
) -> View {
    let all = View::all(total);
    let view = zoom.unwrap_or(all);
    let mut view = view.wheeled(ui, response, response.rect.x_range(), total);
    if response.double_clicked() {
        view = all;
    } else if now.playing {
        view = view.revealing(now.time, now.time, total);
    }
    *zoom = view.unless_all(total);
    view
}

/// The chart of one trace, or the common time axis of all traces, in one frame.
struct Chart {
    painter: Painter,
    rect: Rect,
    /// The part of the trace in view.
    view: View,
    /// The current time on the time axis of this trace, in nanoseconds since the start of the
    /// propagation.
    now: f64,
}

impl Chart {
    /// The horizontal position of `time`.
    fn x(&self, time: f64) -> f32 {
        self.rect.left() + (self.view.share(time) * f64::from(self.rect.width())) as f32
    }

    /// Draws the ticks of the time axis at the top, with lines across the chart.
    fn axis(&self, ui: &Ui) {
        let ink = ui.visuals().weak_text_color();
        let line = ui.visuals().widgets.noninteractive.bg_stroke.color.gamma_multiply(0.6);
        for tick in ticks(self.view, (self.rect.width() / 100.0) as usize + 2) {
            let x = self.x(tick.time);
            self.painter.vline(x, self.rect.y_range(), Stroke::new(1.0, line));
            let at = pos2(x + 4.0, self.rect.top() + 0.5 * AXIS_HEIGHT);
            let label = self.painter.layout_no_wrap(tick.label, label_font(), ink);
            // A clipped label would read as a different number.
            if at.x + label.size().x <= self.rect.right() {
                self.painter.galley(at - Vec2::new(0.0, label.size().y / 2.0), label, ink);
            }
        }
    }

    /// Draws one trace into `band`. Messages after the current time are dimmed, and messages that
    /// are being computed at this time stand out.
    fn trace(
        &self,
        ui: &Ui,
        compiled: &CompiledNetwork,
        band: Rect,
        label: &str,
        trace: &MessageTrace,
    ) {
        let (palette, ground) = (Palette::of(ui), ui.visuals().panel_fill);
        let at = pos2(band.left() + 4.0, band.top());
        self.painter.text(at, Align2::LEFT_TOP, label, label_font(), ui.visuals().text_color());
        let rows = rows::packed(trace, compiled.plan());
        let row_height =
            ((band.height() - NAME_HEIGHT - 6.0) / rows.len().max(1) as f32).min(MAX_ROW_HEIGHT);
        let mut mesh = Mesh::default();
        for (index, row) in rows.iter().enumerate() {
            let top = band.top() + NAME_HEIGHT + index as f32 * row_height;
            for span in row.tracks.iter().flatten() {
                let colour: Color32 = match span.kind {
                    _ if span.start <= self.now && self.now < span.end => palette.active,
                    SliceKind::Message(_, Phase::Collect) => palette.collect,
                    _ => palette.distribute,
                };
                let to_come = span.start > self.now;
                let colour = if to_come { ground.lerp_to_gamma(colour, 0.3) } else { colour };
                let (from, to) = (self.x(span.start), self.x(span.end));
                let bar = Rect::from_min_max(
                    pos2(from, top),
                    pos2(to.max(from + 1.0), top + (row_height - 1.0).max(1.0)),
                );
                mesh.add_colored_rect(bar, colour);
            }
        }
        self.painter.add(Shape::mesh(mesh));
        let end = self.x(trace.elapsed.as_nanos() as f64);
        let stroke = Stroke::new(1.0, ui.visuals().weak_text_color());
        self.painter.vline(end, band.top() + NAME_HEIGHT..=band.bottom() - 6.0, stroke);
    }
}

/// The font of labels and names.
fn label_font() -> FontId {
    FontId::proportional(11.0)
}
