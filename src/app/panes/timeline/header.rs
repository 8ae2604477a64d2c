//! The lines above the timeline: durations of the propagation, what the colours mean, and what can
//! be switched on and off.

use std::time::Duration;

use eframe::egui::{Button, DragValue, TextWrapMode, Ui, WidgetInfo, WidgetType};

use super::panel::PanelView;
use super::rows::Grouping;
use super::slices::{SliceKind, Work};
use super::sums::GroupBy;
use super::{TimelinePane, TimelineScene, layout};
use crate::app::panes::common::item_link;
use crate::app::state::command::{Commands, EngineCommand, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::pane::Pane;
use crate::app::theme::Palette;
use crate::app::widgets::fact::Fact;
use crate::app::widgets::naming;
use crate::numbers;
use crate::propagation::Stage;

/// What pointer and keys do over the timeline.
const KEYS: &str = "Wheel, or W and S: zoom at the pointer\nDrag, or A and D: pan\n\
    Wheel over the names: scroll the rows\nShift+drag: sum over a range\n\
    F: fit the selection or the range; again, or double click: show everything\n\
    Left and right: previous and next message\n\
    Comma and full stop: previous and next message in the same line of a row\n\
    Click a name: pin the row\nEsc: clear the selection and the range";

/// Minimum height in points, without the lines above the timeline, at which the table of sums or of
/// a comparison has room. With less height, no row of the table would be in view.
const MIN_HEIGHT_OF_TABLES: f32 = 190.0;

/// Minimum height in points, from the top of the line of durations to the bottom of the pane, at
/// which this line also has the number and the durations of the messages. With less height, these
/// would leave room for few rows of the timeline.
const MIN_HEIGHT_WITH_MESSAGES: f32 = 165.0;

/// Draws the line of durations.
pub(super) fn show(ui: &mut Ui, scene: &TimelineScene<'_>, commands: &mut Commands) {
    let palette = Palette::of(ui);
    let has_messages = ui.available_height() >= MIN_HEIGHT_WITH_MESSAGES;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 12.0;
        ui.style_mut().wrap_mode = Some(TextWrapMode::Extend);
        let title = if scene.live { "so far" } else { "total" };
        fact(ui, title, &numbers::duration(scene.trace.elapsed));
        if let Some(untraced) = scene.untraced {
            fact(ui, "untraced", &numbers::duration(untraced));
        }
        if let Some(times) = scene.times {
            let [min, median, max] = [times.min, times.median, times.max].map(numbers::duration);
            let runs = numbers::counted(times.runs, "run", "runs");
            fact(ui, &format!("median of {runs}"), &median);
            fact(ui, "minimum", &min);
            fact(ui, "maximum", &max);
        }
        if let Some(time) = scene.trace.recomputed {
            fact(ui, "computed again", &numbers::duration(time));
        }
        for (stage, colour) in
            [(Stage::Collect, palette.collect), (Stage::Distribute, palette.distribute)]
        {
            let time = stage_time(scene, stage).map_or("…".to_owned(), numbers::duration);
            Fact::new(stage.name(), &time).with_swatch(colour).show(ui);
        }
        let waits: f64 = scene.trace.messages.iter().map(|m| m.wait.as_nanos() as f64).sum();
        if waits > 0.0 {
            let time = numbers::nanoseconds(waits);
            Fact::new("waits", &time).with_swatch(palette.wait).show(ui);
        }
        // The launch of a message is part of the message's time, so it is not among the other
        // launches.
        let launched = scene.layout.launched;
        let launch = if launched > 0.0 { "other launches and copies" } else { "launch and copy" };
        if launched > 0.0 && !scene.live {
            let time = numbers::nanoseconds(launched.round());
            Fact::new("launches of messages", &time).with_swatch(palette.overhead).show(ui);
        }
        // Reading the times is not part of the launches: a propagation without a trace does not
        // read them.
        let other_work = [
            (Work::Launch, launch, palette.overhead),
            (Work::ReadTimes, "reading times", palette.stage),
        ];
        for (kind, name, colour) in other_work {
            let is_kind = |slice: &&super::Slice| slice.kind == SliceKind::Work(kind);
            let time: f64 = scene.layout.stages.iter().filter(is_kind).map(|s| s.length()).sum();
            if time > 0.0 && !scene.live {
                let time = numbers::nanoseconds(time);
                Fact::new(name, &time).with_swatch(colour).show(ui);
            }
        }
        if has_messages {
            messages(ui, scene, commands);
        }
    });
}

/// Draws the number and the durations of the messages, and a link to the slowest.
fn messages(ui: &mut Ui, scene: &TimelineScene<'_>, commands: &mut Commands) {
    let (done, all) = (scene.trace.messages.len(), scene.compiled.plan().messages().len());
    let count = numbers::thousands(done as u64);
    fact(
        ui,
        "messages",
        &if done == all { count } else { format!("{count} of {}", numbers::thousands(all as u64)) },
    );
    fact(ui, "sum", &numbers::nanoseconds(scene.layout.durations.total));
    fact(ui, "median", &numbers::nanoseconds(scene.layout.durations.median));
    slowest(ui, scene, commands);
}

/// Draws a link to the slowest message.
fn slowest(ui: &mut Ui, scene: &TimelineScene<'_>, commands: &mut Commands) {
    let timings = scene.trace.messages.iter();
    let Some(slowest) = timings.max_by_key(|timing| timing.duration) else { return };
    let ends = naming::message_ends(scene.compiled, slowest.message);
    let time = slowest.duration.as_nanos() as f64;
    let text = format!("slowest {ends}  {}", naming::message_time(time, slowest.shared_with));
    let link = item_link(ui, text, Item::Message(slowest.message), commands);
    link.on_hover_text("Select the slowest message");
}

impl TimelinePane {
    /// Draws what can be chosen: the number of runs to measure, the rows, the critical path, the
    /// comparison and the panel. Enlarges the pane while there are tables for which it lacks room.
    pub(super) fn options(
        &mut self,
        ui: &mut Ui,
        scene: &TimelineScene<'_>,
        commands: &mut Commands,
    ) {
        ui.horizontal_wrapped(|ui| {
            measure(ui, scene, commands);
            ui.separator();
            self.grouping_buttons(ui, scene);
            let path = &scene.layout.critical_path;
            let consequence = if scene.kind.on_gpu && scene.kind.launch.is_none() {
                "On this engine, a message can begin before the messages that it needs have ended, \
                 so all messages together can take less."
            } else {
                "With these durations, no number of threads makes the messages take less."
            };
            let hint = format!(
                "The longest chain of messages, each needing the one before: {}, {} of the \
                 propagation. {consequence}",
                numbers::counted(path.messages.len(), "message", "messages"),
                numbers::share(path.duration.as_nanos() as f64, scene.total)
            );
            let title = format!("Critical path {}", numbers::duration(path.duration));
            ui.toggle_value(&mut self.highlights_path, title).on_hover_text(hint);
            self.comparison_buttons(ui, scene, commands);
            let mut is_open = self.panel.is_some();
            ui.toggle_value(&mut is_open, "Sums").on_hover_text(
                "Counts and total times by phase, by row or by clique, and a histogram of \
                     durations",
            );
            if is_open != self.panel.is_some() {
                self.panel = is_open.then_some(PanelView::Sums(GroupBy::Kind));
                self.range = self.range.filter(|_| is_open);
            }
            ui.weak("(?)").on_hover_text(KEYS);
        });
        let has_kept = scene.model.document.as_ref().is_some_and(|open| open.kept.is_some());
        let has_tables = self.panel.is_some() || self.compares && has_kept;
        if self.has_tables != has_tables {
            self.has_tables = has_tables;
            commands.push(match has_tables {
                true if ui.available_height() < MIN_HEIGHT_OF_TABLES => {
                    ViewCommand::Enlarge(Pane::Timeline)
                }
                true => ViewCommand::KeepEnlarged(Pane::Timeline),
                false => ViewCommand::GiveHeightBack(Pane::Timeline),
            });
            ui.ctx().request_repaint();
        }
    }

    /// Draws the choice of how messages are grouped into rows, if there is one.
    fn grouping_buttons(&mut self, ui: &mut Ui, scene: &TimelineScene<'_>) {
        let groupings = layout::groupings(scene.kind);
        if groupings.len() < 2 {
            return;
        }
        ui.weak("Rows");
        for grouping in groupings {
            let (title, hint) = match grouping {
                Grouping::ByMultiprocessor(_) => (
                    "multiprocessors",
                    "One row per multiprocessor, as if blocks were handed out in turn: with n \
                     multiprocessors, block b counts as running on number b modulo n. CUDA does \
                     not say where a block runs.",
                ),
                Grouping::Packed => (
                    "packed",
                    "As few rows as possible, whichever block passed a message; no waits",
                ),
                Grouping::ByWorker => ("blocks", "One row per block that passed messages"),
            };
            let button = ui.selectable_label(scene.grouping == grouping, title);
            if button.on_hover_text(hint).clicked() {
                self.grouping = Some(grouping);
            }
        }
        ui.separator();
    }

    /// Draws the button that keeps the run for comparison and, once there is a kept run, the button
    /// that compares.
    fn comparison_buttons(
        &mut self,
        ui: &mut Ui,
        scene: &TimelineScene<'_>,
        commands: &mut Commands,
    ) {
        let keep = Button::new("Keep this run");
        let hint = "Keep this run, to compare it with a later one, with another engine or with \
                    another triangulation";
        if ui.add_enabled(!scene.live, keep).on_hover_text(hint).clicked() {
            commands.push(ViewCommand::KeepRun);
        }
        let kept = scene.model.document.as_ref().and_then(|document| document.kept.as_ref());
        let Some(kept) = kept else { return };
        let time = numbers::duration(kept.trace.elapsed);
        ui.toggle_value(&mut self.compares, "Compare")
            .on_hover_text(format!("Compare this run with the kept one: {}, {time}", kept.title));
    }
}

/// Draws the button that propagates several times, and the field with the number of propagations.
fn measure(ui: &mut Ui, scene: &TimelineScene<'_>, commands: &mut Commands) {
    /// Largest number of propagations that can be chosen. Nothing depends on the exact value.
    const MAX_RUNS: usize = 1000;
    let mut runs = scene.model.settings.measured_runs;
    let button = ui.button(numbers::counted(runs, "run", "runs"));
    let hint = "Propagate this many times, without reusing messages of earlier runs, and show the \
                run with the median time (F6)";
    if button.on_hover_text(hint).clicked() {
        commands.push(EngineCommand::Measure);
    }
    let value = DragValue::new(&mut runs).range(1..=MAX_RUNS).speed(0.2);
    let value = ui.add(value).on_hover_text("Number of propagations");
    value.widget_info(|| WidgetInfo::labeled(WidgetType::DragValue, true, "Number of runs"));
    if value.changed() {
        commands.push(EngineCommand::SetMeasuredRuns(runs));
    }
}

/// Draws a name and its value.
fn fact(ui: &mut Ui, name: &str, value: &str) {
    Fact::new(name, value).show(ui);
}

/// How long a stage took; `None` while it has not ended.
fn stage_time(scene: &TimelineScene<'_>, stage: Stage) -> Option<Duration> {
    let timing = scene.trace.stages.iter().find(|timing| timing.stage == stage)?;
    Some(timing.end.saturating_sub(timing.start))
}
