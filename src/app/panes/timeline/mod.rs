//! The message timeline: every message of a propagation on a time axis, while it runs and after,
//! and what the threads did or waited for between the messages.

mod alignment;
mod axis;
mod card;
mod compare;
mod draw;
mod duration_bins;
mod geometry;
mod header;
mod input;
mod launches;
mod layout;
mod panel;
mod rows;
mod shapes;
mod slices;
mod slow_motion;
mod sums;
mod waits;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use eframe::egui::{
    self, Rangef, Rect, Response, Sense, Ui, UiBuilder, WidgetInfo, WidgetType, pos2, vec2,
};

use crate::app::panes::common::{
    FinishedRun, LIVE_INTERVAL, TracedMessages, choose_messages, chosen_messages,
};
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::state::run_kind::RunKind;
use crate::app::state::stepping::{Stepping, SteppingMode};
use crate::app::widgets::naming;
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace};
use crate::session::{EngineChoice, RunTimes};
use alignment::Change;
use axis::View;
use compare::RunComparison;
use geometry::{GUTTER, Geometry};
use layout::TimelineLayout;
use panel::PanelView;
use rows::Grouping;
use slices::Slice;
use slow_motion::PlayedLayout;

/// Minimum and maximum width in points of the panel next to the chart, including the gap between
/// them.
const PANEL_WIDTHS: Rangef = Rangef { min: 330.0, max: 440.0 };
/// Minimum width in points of the chart next to the panel. If there is less room, the panel is
/// below the chart.
const MIN_CHART_WIDTH: f32 = 310.0;
/// Distance in points from the pointer within which a slice too short to point at is found.
const POINTER_TOLERANCE: f32 = 3.0;

/// The timeline and its view state.
#[derive(Debug, Default)]
pub struct TimelinePane {
    /// The part that the user zoomed to; `None` shows everything.
    view: Option<View>,
    /// The part that the user zoomed to in slow motion; `None` shows everything.
    slow_motion_view: Option<View>,
    /// The traces that slow motion plays, laid out.
    played: Vec<PlayedLayout>,
    /// The range of time over which the user dragged, in nanoseconds: where the drag began and
    /// where it ended.
    range: Option<(f64, f64)>,
    /// Whether the user is dragging over a range now.
    is_marking: bool,
    /// How the user wants messages grouped, if that suits the run.
    grouping: Option<Grouping>,
    /// Distance in points by which the rows are scrolled.
    scroll: f32,
    /// Names of the pinned rows.
    pinned: BTreeSet<String>,
    /// Whether the critical path is highlighted.
    highlights_path: bool,
    /// What the panel shows; `None` if it is closed.
    panel: Option<PanelView>,
    /// Whether the pane had tables in the last frame: the panel or a comparison.
    has_tables: bool,
    /// Serial number of the document that this view state belongs to.
    document: u64,
    /// The run that `view` and `range` belong to: the recording if one is shown, and the engine of
    /// the run on this machine.
    run: Option<(Option<RecordedRunRef>, EngineChoice)>,
    /// The last value of [`Model::fit_serial`] that was seen.
    fit_serial: u64,
    /// The message that was selected in the last frame.
    selected: Option<MessageId>,
    /// The layout of a finished run.
    cached: Option<CachedLayout>,
    /// Whether the kept run is compared with the current one.
    compares: bool,
    /// The two runs that are compared.
    comparison: Option<RunComparison>,
    /// Distances in points by which the rows of the kept run and of the current run are scrolled.
    compare_scroll: [f32; 2],
}

/// A layout, and everything that it depends on.
#[derive(Debug)]
struct CachedLayout {
    finished: FinishedRun,
    kind: RunKind,
    grouping: Grouping,
    layout: Arc<TimelineLayout>,
}

/// What one frame of the pane is drawn from.
struct TimelineScene<'a> {
    model: &'a Model,
    compiled: &'a CompiledNetwork,
    trace: &'a MessageTrace,
    layout: &'a TimelineLayout,
    kind: RunKind,
    grouping: Grouping,
    /// Nanoseconds from the start of the propagation to its end, or to now while it runs. In a
    /// comparison: the duration of the longer run.
    total: f64,
    /// Duration of the propagation when messages are not timed, if that was measured.
    untraced: Option<Duration>,
    /// The times of all runs if the propagation was repeated.
    times: Option<RunTimes>,
    /// Whether the propagation is running.
    live: bool,
    /// Whether the critical path is highlighted.
    highlights_path: bool,
    /// If this run is compared with an earlier one: for each message, whether it was slower or
    /// faster than in the earlier run; `None` if the earlier run has no such message.
    changes: Option<&'a Vec<Option<Change>>>,
    /// Whether the run is on the current tree. Selection and hover refer to messages of that tree.
    is_current: bool,
    /// If the run is not on the current tree: by message, the corresponding message of the run on
    /// the current tree, if there is one.
    counterparts: Option<&'a Vec<Option<MessageId>>>,
    /// The current time of slow motion, in nanoseconds since the start of the propagation. `None`
    /// except in slow motion.
    now: Option<f64>,
}

impl TimelineScene<'_> {
    /// The selected message, if a single one is selected and the run is on the current tree.
    fn selected_message(&self) -> Option<MessageId> {
        match self.model.selected() {
            Some(Item::Message(message)) if self.is_current => Some(*message),
            _ => None,
        }
    }

    /// The message on the current tree that is `message` of this run, or corresponds to it.
    fn in_current_plan(&self, message: MessageId) -> Option<MessageId> {
        if self.is_current {
            return Some(message);
        }
        self.counterparts?.get(message.index()).copied().flatten()
    }

    /// The word for what a row shows.
    fn row_title(&self) -> &'static str {
        match self.grouping {
            _ if !self.kind.on_gpu => "Thread",
            Grouping::ByMultiprocessor(_) => "Multiprocessor",
            Grouping::ByWorker if self.kind.launch.is_none() => "Block",
            _ => "Row",
        }
    }
}

impl TimelinePane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        self.reset_for_another_run(model);
        let is_live = |document: &Document| document.running.is_some() && document.shown.is_none();
        let live = model.document.as_ref().is_some_and(is_live);
        let is_slow_motion = |stepping: &Stepping| stepping.mode == SteppingMode::SlowMotion;
        if let Some(stepping) = model.stepping.filter(is_slow_motion).filter(|_| !live) {
            // Without the choice of run and the summary, there is room for the rows of two runs.
            if let Some(TracedMessages { document, compiled, .. }) = chosen_messages(ui, model) {
                self.slow_motion(ui, model, document, compiled, stepping, commands);
            }
            return;
        }
        let Some(TracedMessages { document, compiled, trace }) =
            choose_messages(ui, model, commands)
        else {
            return;
        };
        if live {
            ui.ctx().request_repaint_after(LIVE_INTERVAL);
        }
        let kind = RunKind::of(document);
        let groupings = layout::groupings(kind);
        let grouping = self.grouping.filter(|wanted| groupings.contains(wanted));
        let grouping = grouping.unwrap_or(groupings[0]);
        let layout = self.layout(document, compiled, trace, kind, grouping);
        let scene = TimelineScene {
            model,
            compiled,
            trace,
            layout: &layout,
            kind,
            grouping,
            total: trace.elapsed.as_nanos() as f64,
            untraced: document.untraced(),
            times: document.run_times(),
            live,
            highlights_path: self.highlights_path,
            changes: None,
            is_current: true,
            counterparts: None,
            now: None,
        };
        if !live {
            // In a comparison, the axis covers the longer run.
            let kept = document.kept.as_ref().filter(|_| self.compares);
            let longer = kept.map_or(trace.elapsed, |kept| kept.trace.elapsed.max(trace.elapsed));
            self.refit(longer.as_nanos() as f64);
        }
        header::show(ui, &scene, commands);
        self.options(ui, &scene, commands);
        if self.compares && document.kept.is_some() && !live {
            self.compare(ui, model, document, commands);
        } else {
            self.chart_and_panel(ui, &scene, commands);
        }
    }

    /// For another document, resets the view state except the panel and whether the critical path
    /// is highlighted. For another engine or recording, whose run takes a different time, resets
    /// `view` and `range`, but not `slow_motion_view`.
    fn reset_for_another_run(&mut self, model: &Model) {
        if let Some(document) = &model.document
            && self.document != document.serial
        {
            let (document, fit_serial) = (document.serial, model.fit_serial);
            let (highlights_path, panel) = (self.highlights_path, self.panel);
            let has_tables = self.has_tables;
            let kept = Self { highlights_path, panel, has_tables, ..Self::default() };
            *self = Self { document, fit_serial, ..kept };
        }
        let run = model.document.as_ref().map(|open| (open.shown, open.traced_engine()));
        if self.run != run {
            (self.run, self.view, self.range) = (run, None, None);
        }
    }

    /// Keeps the view and the range only as far as they suit a finished run that took `total`
    /// nanoseconds: an earlier run of the same engine may have taken longer.
    fn refit(&mut self, total: f64) {
        self.view = self.view.and_then(|view| view.within(total));
        self.range = self.range.filter(|(from, to)| from.min(*to) < total);
    }

    /// The layout of the run. The layout of a finished run is computed only once.
    fn layout(
        &mut self,
        document: &Document,
        compiled: &CompiledNetwork,
        trace: &MessageTrace,
        kind: RunKind,
        grouping: Grouping,
    ) -> Arc<TimelineLayout> {
        let finished = FinishedRun::of(document);
        let is_current = |cached: &&CachedLayout| {
            Some(&cached.finished) == finished.as_ref()
                && (cached.kind, cached.grouping) == (kind, grouping)
        };
        if let Some(cached) = self.cached.as_ref().filter(is_current) {
            return Arc::clone(&cached.layout);
        }
        let layout = Arc::new(TimelineLayout::new(trace, compiled, kind, grouping));
        self.cached = finished.map(|finished| {
            let layout = Arc::clone(&layout);
            CachedLayout { finished, kind, grouping, layout }
        });
        layout
    }

    /// Draws the chart, and the panel next to it or below it if the panel is open.
    fn chart_and_panel(&mut self, ui: &mut Ui, scene: &TimelineScene<'_>, commands: &mut Commands) {
        let size = vec2(ui.available_width(), ui.available_height().max(64.0));
        let (_, whole) = ui.allocate_space(size);
        let Some(view) = &mut self.panel else {
            self.chart(ui, whole, scene, commands);
            return;
        };
        let width = PANEL_WIDTHS.clamp(whole.width() - MIN_CHART_WIDTH);
        let side_by_side = whole.width() >= PANEL_WIDTHS.min + MIN_CHART_WIDTH;
        let (mut chart, mut panel) = (whole, whole);
        if side_by_side {
            chart.max.x -= width;
            panel.min.x = chart.max.x + 8.0;
        } else {
            chart.max.y -= 0.5 * whole.height();
            panel.min.y = chart.max.y + 6.0;
        }
        let mut child = ui.new_child(UiBuilder::new().max_rect(panel).id_salt("timeline panel"));
        child.set_clip_rect(panel.intersect(ui.clip_rect()));
        panel::show(&mut child, scene, view, self.range, commands);
        self.chart(ui, chart, scene, commands);
    }

    /// Draws the chart into `rect`, and handles pointer and keys over it.
    fn chart(
        &mut self,
        ui: &mut Ui,
        rect: Rect,
        scene: &TimelineScene<'_>,
        commands: &mut Commands,
    ) {
        let id = ui.id().with("timeline chart");
        let response = ui.interact(rect, id, Sense::click_and_drag());
        let view = self.view.unwrap_or_else(|| View::all(scene.total));
        let rows = &scene.layout.rows;
        let is_pinned: Vec<bool> = rows.iter().map(|row| self.pinned.contains(&row.name)).collect();
        let scrolled_by = |scroll| Geometry::new(rect, rows, Vec::clone(&is_pinned), view, scroll);
        let mut geometry = scrolled_by(self.scroll);
        if self.selected != scene.selected_message() {
            self.selected = scene.selected_message();
            if let Some(selected) = self.selected.and_then(|id| scene.layout.place(id)) {
                geometry = scrolled_by(geometry.scroll_to(selected.row));
            }
        }
        self.scroll = geometry.scroll_bar(ui);
        let pointed = response.hover_pos().and_then(|pos| slice_at(scene, &geometry, pos));
        announce(&response, scene);
        draw::draw(ui, &geometry, scene, pointed, self.range);
        self.names(ui, scene, &geometry);
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter().rect_stroke(rect, 2, stroke, egui::StrokeKind::Inside);
        }
        self.handle_pointer(ui, &response, scene, &geometry, pointed, commands);
        self.handle_keys(ui, &response, scene, rect, commands);
        if let Some(slice) = pointed {
            if let Some(message) = slice.related_message() {
                commands.push(ViewCommand::Hover(Item::Message(message)));
            }
            if !response.dragged() {
                response.on_hover_ui_at_pointer(|ui| card::show(ui, scene, slice));
            }
        }
    }

    /// Draws the names of the rows. A click on a name pins its row, or lets it scroll again.
    fn names(&mut self, ui: &mut Ui, scene: &TimelineScene<'_>, geometry: &Geometry) {
        let left = geometry.chart.left() - GUTTER;
        let across = left..=geometry.chart.left();
        let stages = Rect::from_x_y_ranges(across.clone(), geometry.stages.y_range());
        draw::row_name(ui, stages, stages, "stages", None);
        for index in geometry.visible() {
            let row = &scene.layout.rows[index];
            let area = geometry.area_of(index);
            let whole = Rect::from_x_y_ranges(across.clone(), geometry.rows[index].y_range());
            let rect = Rect::from_x_y_ranges(
                across.clone(),
                whole.top().max(area.top())..=whole.bottom().min(area.bottom()),
            );
            let id = ui.id().with(("timeline row", &row.name));
            let response = ui.interact(rect, id, Sense::click());
            let is_pinned = geometry.is_pinned[index];
            response.widget_info(|| {
                let idle = row.idle.map(|idle| format!(", idle {}", numbers::share(idle, 1.0)));
                let label = format!("Pin {}{}", row.name, idle.unwrap_or_default());
                WidgetInfo::selected(WidgetType::Checkbox, true, is_pinned, label)
            });
            let place = geometry::name_place(whole, rect);
            let mut clipped = ui.new_child(UiBuilder::new().max_rect(place));
            clipped.set_clip_rect(rect.intersect(ui.clip_rect()));
            draw::row_name(&clipped, place, place, &row.name, row.idle);
            pin_mark(&clipped, place, is_pinned, response.hovered() || response.has_focus());
            if response.clicked() && !self.pinned.remove(&row.name) {
                self.pinned.insert(row.name.clone());
            }
            response.on_hover_text(if is_pinned {
                "Pinned at the top. Click to let it scroll."
            } else {
                "Click to pin this row at the top."
            });
        }
    }
}

/// Draws a dot before the name of a pinned row; otherwise a circle if the name is hovered or has
/// the focus.
fn pin_mark(ui: &Ui, rect: Rect, is_pinned: bool, is_active: bool) {
    let at = pos2(rect.left() + 6.0, rect.center().y);
    if is_pinned {
        ui.painter().circle_filled(at, 3.5, ui.visuals().selection.stroke.color);
    } else if is_active {
        ui.painter().circle_stroke(at, 3.5, (1.0, ui.visuals().weak_text_color()));
    }
}

/// The slice at `pos`, in a row or in the row of stages.
fn slice_at(scene: &TimelineScene<'_>, geometry: &Geometry, pos: egui::Pos2) -> Option<Slice> {
    let time = geometry.time_at(pos.x);
    if geometry.stages.contains(pos) {
        let covers = |slice: &&Slice| slice.start <= time && time < slice.end;
        return scene.layout.stages.iter().find(covers).copied();
    }
    let (row, track) = geometry.track_at(pos)?;
    let track = scene.layout.rows[row].tracks.get(track)?;
    shapes::nearest(track, time, geometry.time_across(POINTER_TOLERANCE))
}

/// Describes the chart to screen readers.
fn announce(response: &Response, scene: &TimelineScene<'_>) {
    response.widget_info(|| {
        let count = scene.trace.messages.len();
        let time = numbers::duration(scene.trace.elapsed);
        let mut label =
            format!("Message timeline: {}, {time}", numbers::counted(count, "message", "messages"));
        if let Some(message) = scene.selected_message() {
            let ends = naming::message_ends(scene.compiled, message);
            label.push_str(&format!("; selected message {}, {ends}", message.index()));
        }
        WidgetInfo::labeled(WidgetType::Other, true, label)
    });
}

#[cfg(test)]
mod tests;
