//! The message timeline: every message of a propagation against time, while it runs and after.

mod card;
mod draw;
mod header;
mod lanes;
pub(super) mod recorded;
mod scale;
mod versus;

use std::time::Duration;

use eframe::egui::{
    self, EventFilter, Key, Label, PointerButton, Rect, Response, RichText, Sense, Ui, WidgetInfo,
    WidgetType,
};

use crate::app::command::{Command, Commands};
use crate::app::highlight::Item;
use crate::app::model::{Document, Model};
use crate::app::naming;
use crate::app::recordings::Recorded;
use crate::app::stepping::Clock;
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace};
use crate::session::EngineChoice;
use draw::Drawing;
use lanes::{Lane, Rows, Span, Sum};
use scale::Window;

/// How often the pane is drawn while a propagation runs.
pub(super) const LIVE_INTERVAL: std::time::Duration = std::time::Duration::from_millis(33);

/// From this many lanes on, a row of each is too low to be read.
const CROWDED: usize = 24;

/// The timeline and what part of it is in view.
#[derive(Debug, Default)]
pub struct TimelinePane {
    /// What the user zoomed to; `None` shows everything.
    window: Option<Window>,
    /// What the user zoomed to in slow motion.
    slow_window: Option<Window>,
    /// A range that was dragged over, from where to where, in nanoseconds.
    range: Option<(f64, f64)>,
    /// Which messages stand in a row; `None` is by how many lanes there are.
    rows: Option<Rows>,
    document: u64,
    /// The run that `window` and `range` are about: a recorded one, or one of an engine here.
    run: Option<(Option<Recorded>, EngineChoice)>,
    fit_serial: u64,
}

/// What one frame of the pane is drawn from.
struct Scene<'a> {
    model: &'a Model,
    compiled: &'a CompiledNetwork,
    trace: &'a MessageTrace,
    lanes: Vec<Lane>,
    rows: Rows,
    /// The lanes are blocks of a GPU rather than threads.
    on_gpu: bool,
    /// When a GPU was launched, copied to or waited for, in nanoseconds.
    launches: Vec<(f64, f64)>,
    /// Nanoseconds that the axis can show: to the end, or to now while it runs.
    total: f64,
    /// What all of it takes when messages are not timed.
    untraced: Option<Duration>,
    live: bool,
}

impl TimelinePane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        if let Some(document) = &model.document
            && self.document != document.serial
        {
            let (document, fit_serial) = (document.serial, model.fit_serial);
            *self = Self { document, fit_serial, ..Self::default() };
        }
        let run = model.document.as_ref().map(|open| (open.shown, open.traced_engine()));
        if self.run != run {
            // Another run has another length.
            (self.run, self.window, self.range) = (run, None, None);
        }
        recorded::show(ui, model, commands);
        if let Some(reason) = empty_reason(model) {
            say(ui, reason);
            return;
        }
        let Some((document, compiled)) = model.document.as_ref().zip(model.compiled()) else {
            return;
        };
        let Some(trace) = document.trace() else { return };
        let live = document.running.is_some() && document.shown.is_none();
        if live {
            ui.ctx().request_repaint_after(LIVE_INTERVAL);
        }
        let on_gpu = match document.shown {
            Some(recorded) => recorded.on_gpu(),
            None => document.traced_engine().engine.name().starts_with("gpu"),
        };
        let mut lanes = lanes::lanes(&trace, compiled.plan(), Rows::Lanes);
        let crowded = lanes.len() > CROWDED;
        let rows = self.rows.unwrap_or(if crowded { Rows::Packed } else { Rows::Lanes });
        if rows == Rows::Packed {
            lanes = lanes::lanes(&trace, compiled.plan(), rows);
        }
        let scene = Scene {
            model,
            compiled,
            trace: &trace,
            lanes,
            rows,
            on_gpu,
            launches: if on_gpu && !live { between_stages(&trace) } else { Vec::new() },
            total: trace.elapsed.as_nanos() as f64,
            untraced: document.untraced(),
            live,
        };
        header::show(ui, &scene, commands);
        if crowded {
            self.rows_choice(ui, &scene);
        }
        let clock = model.stepping.map(|stepping| stepping.clock);
        if let (Some(Clock::Trace { now, .. }), false) = (clock, live) {
            let playing = model.stepping.is_some_and(|stepping| stepping.playing);
            let now = versus::Now { time: now, playing };
            versus::show(ui, document, compiled, now, &mut self.slow_window, commands);
        } else {
            self.chart(ui, &scene, commands);
        }
    }

    fn rows_choice(&mut self, ui: &mut Ui, scene: &Scene<'_>) {
        ui.horizontal(|ui| {
            ui.weak("Rows");
            let lanes = if scene.on_gpu { "a row a block" } else { "a row a thread" };
            for (rows, title, hint) in [
                (Rows::Packed, "packed", "As many rows as messages were computed at once"),
                (Rows::Lanes, lanes, "With the waits of each"),
            ] {
                if ui.selectable_label(scene.rows == rows, title).on_hover_text(hint).clicked() {
                    self.rows = Some(rows);
                }
            }
        });
    }

    fn chart(&mut self, ui: &mut Ui, scene: &Scene<'_>, commands: &mut Commands) {
        let size = egui::vec2(ui.available_width(), ui.available_height().max(64.0));
        let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
        let window = self.window.unwrap_or_else(|| Window::all(scene.total));
        let drawing = Drawing::new(rect, scene.lanes.len(), window);
        // The middle of the axis carries no message where lanes end, so look by lane.
        let under = response.hover_pos().and_then(|pos| {
            scene
                .lanes
                .get(drawing.lane_at(pos.y)?)?
                .nearest(drawing.time_at(pos.x), drawing.pixels(3.0))
        });
        self.describe(&response, scene);
        drawing.draw(ui, scene, under, self.range);
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter().rect_stroke(rect, 2, stroke, egui::StrokeKind::Inside);
        }
        self.handle_pointer(ui, &response, scene, &drawing, under, commands);
        self.handle_keys(ui, &response, scene, rect, commands);
        if let Some(span) = under {
            commands.push(Command::Hover(Item::Message(span.message)));
            if !response.dragged() {
                response.on_hover_ui_at_pointer(|ui| card::show(ui, scene.compiled, span));
            }
        }
    }

    fn describe(&self, response: &Response, scene: &Scene<'_>) {
        response.widget_info(|| {
            let count = scene.trace.messages.len();
            let time = numbers::duration(scene.trace.elapsed);
            let mut label = format!(
                "Message timeline: {}, {time}",
                numbers::counted(count, "message", "messages")
            );
            if let Some(Item::Message(message)) = scene.model.selected() {
                let ends = naming::message_ends(scene.compiled, *message);
                label.push_str(&format!("; selected message {}, {ends}", message.index()));
            }
            WidgetInfo::labeled(WidgetType::Other, true, label)
        });
    }

    fn handle_pointer(
        &mut self,
        ui: &Ui,
        response: &Response,
        scene: &Scene<'_>,
        drawing: &Drawing,
        under: Option<Span>,
        commands: &mut Commands,
    ) {
        let shift = ui.input(|input| input.modifiers.shift);
        let wheeled = drawing.window.wheeled(ui, response, drawing.across(), scene.total);
        if wheeled != drawing.window {
            self.look(wheeled, scene.total);
        }
        if response.drag_started_by(PointerButton::Primary) && shift {
            let from = ui.input(|input| input.pointer.press_origin());
            self.range = from.map(|pos| (drawing.time_at(pos.x), drawing.time_at(pos.x)));
        } else if response.dragged_by(PointerButton::Primary) && shift {
            if let (Some((_, to)), Some(pos)) = (&mut self.range, response.interact_pointer_pos()) {
                *to = drawing.time_at(pos.x).clamp(0.0, scene.total);
            }
        } else if response.dragged() {
            let later = -drawing.pixels(response.drag_delta().x);
            if later != 0.0 {
                self.look(drawing.window.moved(later, scene.total), scene.total);
            }
        }
        if response.double_clicked() {
            self.window = None;
        } else if response.clicked() {
            response.request_focus();
            self.range = None;
            commands.push(Command::Select(under.map(|span| Item::Message(span.message))));
        }
    }

    fn handle_keys(
        &mut self,
        ui: &Ui,
        response: &Response,
        scene: &Scene<'_>,
        rect: Rect,
        commands: &mut Commands,
    ) {
        // Whoever asks for the pictures to be fitted elsewhere does not mean the timeline.
        let fit = self.fit_serial != scene.model.fit_serial;
        self.fit_serial = scene.model.fit_serial;
        let here = response.contains_pointer() || response.has_focus();
        if !here {
            return;
        }
        if response.has_focus() {
            let filter = EventFilter { horizontal_arrows: true, ..EventFilter::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        }
        let typing = !response.has_focus() && ui.memory(|memory| memory.focused().is_some());
        if typing {
            return;
        }
        // Escape and F have a meaning everywhere, and may be used up before they come here.
        if ui.input(|input| input.key_down(Key::Escape)) {
            self.range = None;
        }
        if fit || ui.input(|input| input.key_pressed(Key::F)) {
            self.window = None;
        }
        let step = ui.input(|input| {
            i64::from(input.key_pressed(Key::ArrowRight))
                - i64::from(input.key_pressed(Key::ArrowLeft))
        });
        if step != 0
            && let Some(next) = neighbour(scene, step)
        {
            commands.push(Command::Select(Some(Item::Message(next.message))));
            if let Some(window) = self.window {
                self.look(window.revealing(next.start, next.end, scene.total), scene.total);
            }
            ui.scroll_to_rect(rect, None);
        }
    }

    /// Shows `window`, or follows the whole propagation again once that is all of it.
    fn look(&mut self, window: Window, total: f64) {
        self.window = window.unless_all(total);
    }
}

/// The message one step before or after the selected one in the plan, of those in the trace.
fn neighbour(scene: &Scene<'_>, step: i64) -> Option<Span> {
    let messages = &scene.trace.messages;
    let selected = match scene.model.selected() {
        Some(Item::Message(message)) => {
            messages.iter().position(|timing| timing.message == *message)
        }
        _ => None,
    };
    let next = match selected {
        None => 0,
        Some(index) => usize::try_from(index as i64 + step).ok()?,
    };
    span_of(scene, messages.get(next)?.message)
}

fn span_of(scene: &Scene<'_>, message: MessageId) -> Option<Span> {
    let mut spans = scene.lanes.iter().flat_map(|lane| &lane.spans);
    spans.find(|span| span.message == message).copied()
}

/// The time that no stage covers, in nanoseconds: on a GPU, launches, copies and waiting for them.
fn between_stages(trace: &MessageTrace) -> Vec<(f64, f64)> {
    let nanoseconds = |time: std::time::Duration| time.as_nanos() as f64;
    let stages =
        trace.stages.iter().map(|stage| (nanoseconds(stage.start), nanoseconds(stage.end)));
    let mut stages: Vec<(f64, f64)> = stages.collect();
    stages.sort_by(|a, b| a.0.total_cmp(&b.0));
    let end = nanoseconds(trace.elapsed);
    let (mut at, mut gaps) = (0.0, Vec::new());
    for (from, to) in stages.into_iter().chain([(end, end)]) {
        if from > at {
            gaps.push((at, from));
        }
        at = to.max(at);
    }
    gaps
}

/// Durations of all messages of the lanes.
fn summed(lanes: &[Lane]) -> Sum {
    Sum::of(lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.end - span.start))
}

/// Why there is no message to show, and what to do about it; `None` if there is.
pub(super) fn empty_reason(model: &Model) -> Option<&str> {
    let Some(document) = &model.document else {
        return Some("Open a network to see the messages of its propagation, one by one, in time.");
    };
    let (Some(compiled), Some(trace)) = (&document.compiled, document.trace()) else {
        return Some(waiting_for(model, document));
    };
    let none = trace.messages.is_empty() && document.running.is_none();
    none.then(|| without_messages(model, compiled, &trace))
}

/// The middle one of some durations, or the mean of the two in the middle.
pub(super) fn median(durations: impl Iterator<Item = f64>) -> f64 {
    Sum::of(durations).median
}

fn waiting_for(model: &Model, document: &Document) -> &'static str {
    if model.working.is_some() {
        "The propagation begins once the network is compiled and loaded."
    } else if document.impossible.is_some() {
        "The evidence is impossible, so no propagation was finished. Retract a finding."
    } else if model.failure.is_some() {
        "There was no propagation: what failed stands at the bottom. Press F5 to try again."
    } else {
        "Nothing has been propagated on this junction tree yet. Press F5 to propagate."
    }
}

fn without_messages(
    model: &Model,
    compiled: &CompiledNetwork,
    trace: &MessageTrace,
) -> &'static str {
    if trace.savings.entries_sliced > 0 {
        "The engine passed its messages through a smaller tree, of what the evidence leaves, and \
         none through this one. Choose engine sequential to see the messages of this tree."
    } else if compiled.plan().messages().is_empty() {
        "The junction tree is a single clique: there are no messages to pass."
    } else if model.engine.engine.name() == "reference" {
        "Engine reference passes no messages: it answers by elimination. \
         Choose engine sequential to see messages."
    } else {
        "This propagation reported no messages. Press F5 to propagate again."
    }
}

/// A line in the middle of an empty pane.
pub(super) fn say(ui: &mut Ui, text: &str) {
    ui.vertical_centered(|ui| {
        ui.add_space(0.4 * ui.available_height());
        ui.add(Label::new(RichText::new(text).weak()).wrap());
    });
}

#[cfg(test)]
mod tests;
