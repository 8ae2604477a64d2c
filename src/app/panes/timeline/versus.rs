//! Slow motion: traces above each other on one axis, with the time that is shown swept over them.

use eframe::egui::{
    Align2, Color32, FontId, Mesh, Rect, Response, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo,
    WidgetType, pos2,
};

use super::lanes::{self, Rows};
use super::scale::{Window, ticks};
use crate::app::command::{Command, Commands};
use crate::app::model::Document;
use crate::app::stepping::Walk;
use crate::app::theme::Palette;
use crate::numbers;
use crate::propagation::{CompiledNetwork, Phase};

/// Height of the row of times.
const AXIS: f32 = 18.0;
/// Height of the name of a trace.
const NAME: f32 = 16.0;

/// The time that is shown.
#[derive(Clone, Copy)]
pub(super) struct Now {
    /// Nanoseconds since the start.
    pub(super) time: f64,
    /// It goes on by itself.
    pub(super) playing: bool,
}

/// Draws the traces of `document` up to `now`. A click goes to another time; the wheel zooms to
/// `looked_at`, where `None` is all of them, and a double click shows all again. While it plays the time
/// that is shown stays in sight.
pub(super) fn show(
    ui: &mut Ui,
    document: &Document,
    compiled: &CompiledNetwork,
    now: Now,
    looked_at: &mut Option<Window>,
    commands: &mut Commands,
) {
    let traces = document.traces_to_compare();
    let size = Vec2::new(ui.available_width(), ui.available_height().max(64.0));
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let total = document.traced_nanoseconds();
    let window = follow(ui, &response, now, looked_at, total);
    let now = now.time;
    response.widget_info(|| {
        let names: Vec<&str> = traces.iter().map(|(name, _)| name.as_str()).collect();
        let label = format!("Slow motion of {}", names.join(" and "));
        WidgetInfo::labeled(WidgetType::Other, true, label)
    });
    if let Some(pos) = response.interact_pointer_pos() {
        let share = f64::from((pos.x - rect.left()) / rect.width());
        commands.push(Command::Walk(Walk::ToTime(window.at(share))));
    }
    let x = |time: f64| rect.left() + (window.share(time) * f64::from(rect.width())) as f32;
    let painter = ui.painter_at(rect);
    let weak = ui.visuals().weak_text_color();
    let small = FontId::proportional(11.0);
    let line = ui.visuals().widgets.noninteractive.bg_stroke.color.gamma_multiply(0.6);
    for tick in ticks(window, (rect.width() / 100.0) as usize + 2) {
        let at = x(tick.time);
        painter.vline(at, rect.y_range(), Stroke::new(1.0, line));
        let at = pos2(at + 4.0, rect.top() + 0.5 * AXIS);
        painter.text(at, Align2::LEFT_CENTER, tick.label, small.clone(), weak);
    }
    let palette = Palette::of(ui);
    let ground = ui.visuals().panel_fill;
    let height = (rect.height() - AXIS) / traces.len().max(1) as f32;
    for (index, (name, trace)) in traces.iter().enumerate() {
        let top = rect.top() + AXIS + index as f32 * height;
        let took = numbers::duration(trace.elapsed);
        let at = pos2(rect.left() + 4.0, top);
        let ink = ui.visuals().text_color();
        painter.text(at, Align2::LEFT_TOP, format!("{name}: {took}"), small.clone(), ink);
        let lanes = lanes::lanes(trace, compiled.plan(), Rows::Packed);
        let row = ((height - NAME - 6.0) / lanes.len().max(1) as f32).min(40.0);
        let mut mesh = Mesh::default();
        for (lane, spans) in lanes.iter().enumerate() {
            let top = top + NAME + lane as f32 * row;
            for span in &spans.spans {
                let colour: Color32 = match span.phase {
                    _ if span.start <= now && now < span.end => palette.active,
                    Phase::Collect => palette.collect,
                    Phase::Distribute => palette.distribute,
                };
                let colour =
                    if span.start > now { ground.lerp_to_gamma(colour, 0.3) } else { colour };
                let (from, to) = (x(span.start), x(span.end));
                let bar = Rect::from_min_max(
                    pos2(from, top),
                    pos2(to.max(from + 1.0), top + (row - 1.0).max(1.0)),
                );
                mesh.add_colored_rect(bar, colour);
            }
        }
        painter.add(Shape::mesh(mesh));
        let end = x(trace.elapsed.as_nanos() as f64);
        painter.vline(end, top + NAME..=top + height - 6.0, Stroke::new(1.0, weak));
    }
    painter.vline(x(now), rect.y_range(), Stroke::new(2.0, palette.active));
}

/// The part that is in view after what the user does with the wheel in this frame.
fn follow(
    ui: &Ui,
    response: &Response,
    now: Now,
    looked_at: &mut Option<Window>,
    total: f64,
) -> Window {
    let all = Window::all(total);
    let window = looked_at.unwrap_or(all);
    let mut window = window.wheeled(ui, response, response.rect.x_range(), total);
    if response.double_clicked() {
        window = all;
    } else if now.playing {
        window = window.revealing(now.time, now.time, total);
    }
    *looked_at = window.unless_all(total);
    window
}
