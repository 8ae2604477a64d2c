//! The message timeline: every message of a propagation on a time axis, while it runs and after.

mod axis;
mod card;
mod draw;
mod header;
mod input;
mod rows;
mod slow_motion;

use std::time::Duration;

use eframe::egui::{self, Response, Sense, Ui, WidgetInfo, WidgetType};

use crate::app::panes::common::{DurationSummary, LIVE_INTERVAL, TracedMessages, choose_messages};
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::state::stepping::SteppingMode;
use crate::app::widgets::naming;
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageTrace};
use crate::session::EngineChoice;
use axis::View;
use draw::Drawing;
use rows::{Grouping, TimelineRow};

/// Number of rows by worker above which messages are packed into fewer rows, unless the user
/// chooses otherwise: more rows would be too low to read.
const MAX_WORKER_ROWS: usize = 24;

/// The timeline and its view state.
#[derive(Debug, Default)]
pub struct TimelinePane {
    /// The part that the user zoomed to; `None` shows everything.
    view: Option<View>,
    /// The part that the user zoomed to in slow motion; `None` shows everything.
    slow_motion_view: Option<View>,
    /// The range of time over which the user dragged, in nanoseconds: where the drag began and
    /// where it ended.
    range: Option<(f64, f64)>,
    /// How the user wants messages grouped. If `None`, the number of rows by worker decides.
    grouping: Option<Grouping>,
    /// Serial number of the document that this view state belongs to.
    document: u64,
    /// The run that `view` and `range` belong to: the recording if one is shown, and the engine of
    /// the run on this machine.
    run: Option<(Option<RecordedRunRef>, EngineChoice)>,
    /// The last value of [`Model::fit_serial`] that was seen.
    fit_serial: u64,
}

/// What one frame of the pane is drawn from.
struct TimelineScene<'a> {
    model: &'a Model,
    compiled: &'a CompiledNetwork,
    trace: &'a MessageTrace,
    rows: Vec<TimelineRow>,
    grouping: Grouping,
    /// Whether workers are blocks of a GPU rather than threads.
    on_gpu: bool,
    /// Start and end of GPU launches, copies and waits for them, in nanoseconds.
    launches: Vec<(f64, f64)>,
    /// Nanoseconds from the start of the propagation to its end, or to now while it runs.
    total: f64,
    /// Duration of the propagation when messages are not timed, if that was measured.
    untraced: Option<Duration>,
    /// Whether the propagation is running.
    live: bool,
}

impl TimelinePane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        self.reset_for_another_run(model);
        let Some(TracedMessages { document, compiled, trace }) =
            choose_messages(ui, model, commands)
        else {
            return;
        };
        let live = document.running.is_some() && document.shown.is_none();
        if live {
            ui.ctx().request_repaint_after(LIVE_INTERVAL);
        }
        let on_gpu = match document.shown {
            Some(recorded) => recorded.on_gpu(),
            None => document.traced_engine().engine.info().capabilities.on_gpu(),
        };
        let mut rows = rows::rows(trace, compiled.plan(), Grouping::ByWorker);
        let too_many_rows = rows.len() > MAX_WORKER_ROWS;
        let grouping = self.grouping.unwrap_or(if too_many_rows {
            Grouping::Packed
        } else {
            Grouping::ByWorker
        });
        if grouping == Grouping::Packed {
            rows = rows::rows(trace, compiled.plan(), grouping);
        }
        let scene = TimelineScene {
            model,
            compiled,
            trace,
            rows,
            grouping,
            on_gpu,
            launches: if on_gpu && !live { between_stages(trace) } else { Vec::new() },
            total: trace.elapsed.as_nanos() as f64,
            untraced: document.untraced(),
            live,
        };
        header::show(ui, &scene, commands);
        if too_many_rows {
            self.grouping_choice(ui, &scene);
        }
        let slow_motion =
            model.stepping.filter(|stepping| stepping.mode == SteppingMode::SlowMotion);
        if let (Some(stepping), false) = (slow_motion, live) {
            let player = stepping.player;
            let now = slow_motion::Now { time: player.position(), playing: player.is_playing() };
            slow_motion::show(ui, document, compiled, now, &mut self.slow_motion_view, commands);
        } else {
            self.chart(ui, &scene, commands);
        }
    }

    /// Resets the view state for another document. For another engine or recording, whose run takes
    /// a different time, resets `view` and `range`.
    fn reset_for_another_run(&mut self, model: &Model) {
        if let Some(document) = &model.document
            && self.document != document.serial
        {
            let (document, fit_serial) = (document.serial, model.fit_serial);
            *self = Self { document, fit_serial, ..Self::default() };
        }
        let run = model.document.as_ref().map(|open| (open.shown, open.traced_engine()));
        if self.run != run {
            (self.run, self.view, self.range) = (run, None, None);
        }
    }

    /// Draws the choice between packed rows and a row for each worker.
    fn grouping_choice(&mut self, ui: &mut Ui, scene: &TimelineScene<'_>) {
        ui.horizontal(|ui| {
            ui.weak("Rows");
            let by_worker = if scene.on_gpu { "one per block" } else { "one per thread" };
            for (grouping, title, hint) in [
                (Grouping::Packed, "packed", "As many rows as messages ran in parallel"),
                (Grouping::ByWorker, by_worker, "Also shows the waits"),
            ] {
                let button = ui.selectable_label(scene.grouping == grouping, title);
                if button.on_hover_text(hint).clicked() {
                    self.grouping = Some(grouping);
                }
            }
        });
    }

    /// Draws the chart, and handles pointer and keys over it.
    fn chart(&mut self, ui: &mut Ui, scene: &TimelineScene<'_>, commands: &mut Commands) {
        let size = egui::vec2(ui.available_width(), ui.available_height().max(64.0));
        let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
        let view = self.view.unwrap_or_else(|| View::all(scene.total));
        let drawing = Drawing::new(rect, scene.rows.len(), view);
        let pointed = response.hover_pos().and_then(|pos| {
            scene
                .rows
                .get(drawing.row_at(pos.y)?)?
                .nearest(drawing.time_at(pos.x), drawing.time_across(3.0))
        });
        announce(&response, scene);
        drawing.draw(ui, scene, pointed, self.range);
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter().rect_stroke(rect, 2, stroke, egui::StrokeKind::Inside);
        }
        self.handle_pointer(ui, &response, scene, &drawing, pointed, commands);
        self.handle_keys(ui, &response, scene, rect, commands);
        if let Some(span) = pointed {
            commands.push(ViewCommand::Hover(Item::Message(span.message)));
            if !response.dragged() {
                response.on_hover_ui_at_pointer(|ui| card::show(ui, scene.compiled, span));
            }
        }
    }
}

/// Describes the chart to screen readers.
fn announce(response: &Response, scene: &TimelineScene<'_>) {
    response.widget_info(|| {
        let count = scene.trace.messages.len();
        let time = numbers::duration(scene.trace.elapsed);
        let mut label =
            format!("Message timeline: {}, {time}", numbers::counted(count, "message", "messages"));
        if let Some(Item::Message(message)) = scene.model.selected() {
            let ends = naming::message_ends(scene.compiled, *message);
            label.push_str(&format!("; selected message {}, {ends}", message.index()));
        }
        WidgetInfo::labeled(WidgetType::Other, true, label)
    });
}

/// Start and end of each period that no stage covers, in nanoseconds. On a GPU these are launches,
/// copies and waits for them.
fn between_stages(trace: &MessageTrace) -> Vec<(f64, f64)> {
    let nanoseconds = |time: Duration| time.as_nanos() as f64;
    let stages =
        trace.stages.iter().map(|stage| (nanoseconds(stage.start), nanoseconds(stage.end)));
    let mut stages: Vec<(f64, f64)> = stages.collect();
    stages.sort_by(|a, b| a.0.total_cmp(&b.0));
    let end = nanoseconds(trace.elapsed);
    let (mut covered_until, mut gaps) = (0.0, Vec::new());
    for (from, to) in stages.into_iter().chain([(end, end)]) {
        if from > covered_until {
            gaps.push((covered_until, from));
        }
        covered_until = to.max(covered_until);
    }
    gaps
}

/// Summary of the durations of all messages in `rows`.
fn summary(rows: &[TimelineRow]) -> DurationSummary {
    DurationSummary::of(rows.iter().flat_map(|row| &row.spans).map(|span| span.end - span.start))
}

#[cfg(test)]
mod tests;
