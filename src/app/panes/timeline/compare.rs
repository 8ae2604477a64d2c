//! Two runs one above the other on a common time axis, with a table of their messages. The first is
//! the run that was kept, the second is the current one.

use std::sync::Arc;

use eframe::egui::{
    Align, FontId, Layout, Rect, Response, RichText, Sense, Ui, UiBuilder, WidgetInfo, WidgetType,
};
use egui_extras::{Column, TableBuilder};

use super::alignment::{Alignment, Change, Pair};
use super::axis::View;
use super::geometry::Geometry;
use super::layout::{TimelineLayout, compact_grouping};
use super::slices::Slice;
use super::{TimelinePane, TimelineScene, draw, slice_at};
use crate::app::panes::common::{FinishedRun, item_link};
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::kept_run::KeptRun;
use crate::app::state::model::Model;
use crate::app::state::run_kind::RunKind;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::app::widgets::short_text::one_line;
use crate::app::widgets::table::{self, cell, number};
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace};

/// Width in points of the table of messages.
const TABLE_WIDTH: f32 = 330.0;
/// Height in points of the title of a run.
const TITLE_HEIGHT: f32 = 18.0;

/// Two runs laid out for comparison, and what they were laid out from.
#[derive(Debug)]
pub(super) struct RunComparison {
    kept: Arc<KeptRun>,
    current: FinishedRun,
    pub(super) kinds: [RunKind; 2],
    pub(super) layouts: [TimelineLayout; 2],
    alignment: Alignment,
    /// By message of the current run: how its time compares with the kept run; `None` if the kept
    /// run has no such message.
    changes: Vec<Option<Change>>,
    /// By message of the kept run: the corresponding message of the current run.
    counterparts: Vec<Option<MessageId>>,
}

/// Where one of the two runs is drawn.
struct RunPlace {
    /// 0 for the kept run, 1 for the current one.
    index: usize,
    rect: Rect,
    title: String,
}

impl RunComparison {
    /// Lays out both runs. `kind`, `trace` and `compiled` are of the `current` run.
    fn new(
        kept: &Arc<KeptRun>,
        current: FinishedRun,
        kind: RunKind,
        trace: &MessageTrace,
        compiled: &CompiledNetwork,
    ) -> Self {
        let kinds = [kept.kind, kind];
        let layout = |trace, compiled, kind| {
            TimelineLayout::new(trace, compiled, kind, compact_grouping(kind))
        };
        let alignment = Alignment::new((&kept.compiled, &kept.trace), (compiled, trace));
        let mut changes = vec![None; compiled.plan().messages().len()];
        let mut counterparts = vec![None; kept.compiled.plan().messages().len()];
        for pair in &alignment.pairs {
            changes[pair.second.index()] = Some(pair.change());
            counterparts[pair.first.index()] = Some(pair.second);
        }
        let layouts =
            [layout(&kept.trace, &*kept.compiled, kept.kind), layout(trace, compiled, kind)];
        Self { kept: Arc::clone(kept), current, kinds, layouts, alignment, changes, counterparts }
    }
}

impl TimelinePane {
    /// Draws the comparison of the current run with the kept one.
    pub(super) fn compare(
        &mut self,
        ui: &mut Ui,
        model: &Model,
        document: &Document,
        commands: &mut Commands,
    ) {
        let (Some(kept), Some(current), Some(trace), Some(compiled)) =
            (&document.kept, FinishedRun::of(document), document.trace(), &document.compiled)
        else {
            return;
        };
        let kind = RunKind::of(document);
        let is_current = |comparison: &RunComparison| {
            Arc::ptr_eq(&comparison.kept, kept)
                && comparison.current == current
                && comparison.kinds == [kept.kind, kind]
        };
        let comparison = match self.comparison.take().filter(is_current) {
            Some(comparison) => comparison,
            None => RunComparison::new(kept, current, kind, trace, compiled),
        };
        summary(ui, &comparison.alignment);
        let (_, whole) = ui.allocate_space(ui.available_size());
        let (mut charts, mut side) = (whole, whole);
        charts.max.x = (charts.max.x - TABLE_WIDTH).max(charts.min.x + 0.5 * whole.width());
        side.min.x = charts.max.x + 8.0;
        let mut child = ui.new_child(UiBuilder::new().max_rect(side).id_salt("compared messages"));
        child.set_clip_rect(side.intersect(ui.clip_rect()));
        messages_table(&mut child, &comparison, compiled, commands);
        let total = kept.trace.elapsed.max(trace.elapsed).as_nanos() as f64;
        let titles = [format!("kept: {}", kept.title), format!("now: {}", document.run_title())];
        let runs = [(&*kept.compiled, &kept.trace), (&**compiled, trace)];
        for (index, ((compiled_of_run, trace), title)) in runs.into_iter().zip(titles).enumerate() {
            let scene = TimelineScene {
                model,
                compiled: compiled_of_run,
                trace,
                layout: &comparison.layouts[index],
                kind: comparison.kinds[index],
                grouping: compact_grouping(comparison.kinds[index]),
                total,
                untraced: None,
                times: None,
                live: false,
                highlights_path: false,
                changes: (index == 1).then_some(&comparison.changes),
                is_current: std::ptr::eq(compiled_of_run, &raw const **compiled),
                counterparts: (index == 0).then_some(&comparison.counterparts),
                now: None,
            };
            let half = 0.5 * charts.height();
            let top = charts.top() + index as f32 * half;
            let rect = Rect::from_x_y_ranges(charts.x_range(), top..=top + half - 4.0);
            self.show_run(ui, &scene, RunPlace { index, rect, title }, commands);
        }
        self.comparison = Some(comparison);
    }

    /// Draws one of the two runs, and handles the pointer over it.
    fn show_run(
        &mut self,
        ui: &mut Ui,
        scene: &TimelineScene<'_>,
        place: RunPlace,
        commands: &mut Commands,
    ) {
        let RunPlace { index, mut rect, title } = place;
        let text = format!("{title}  {}", numbers::duration(scene.trace.elapsed));
        let (ink, font) = (ui.visuals().strong_text_color(), FontId::proportional(12.0));
        // A longer title would cover the table of messages.
        let galley = one_line(ui.painter(), &text, font, ink, rect.width());
        ui.painter().galley(rect.left_top(), galley, ink);
        rect.min.y += TITLE_HEIGHT;
        ui.push_id(("compared run", index), |ui| {
            // Keys do nothing here, so the Tab key skips the chart.
            let sense = Sense::CLICK | Sense::DRAG;
            let response = ui.interact(rect, ui.id().with("chart"), sense);
            response.widget_info(|| {
                WidgetInfo::labeled(WidgetType::Other, true, format!("Run to compare, {text}"))
            });
            let view = self.view.unwrap_or_else(|| View::all(scene.total));
            let rows = &scene.layout.rows;
            let scroll = self.compare_scroll[index];
            let geometry = Geometry::new(rect, rows, vec![false; rows.len()], view, scroll);
            self.compare_scroll[index] = geometry.scroll_bar(ui);
            let pointed = response.hover_pos().and_then(|pos| slice_at(scene, &geometry, pos));
            draw::draw(ui, &geometry, scene, pointed, None);
            draw::row_names(ui, &geometry, scene);
            self.move_view(ui, &response, (scene, &geometry), (index, view));
            point_at(&response, scene, pointed, commands);
            if let Some(slice) = pointed {
                response.on_hover_ui_at_pointer(|ui| super::card::show(ui, scene, slice));
            }
        });
    }

    /// Zooms and moves the common time axis, and scrolls the rows of run number `index`, in
    /// response to the pointer over this run. `view` is what the axis shows now.
    fn move_view(
        &mut self,
        ui: &Ui,
        response: &Response,
        (scene, geometry): (&TimelineScene<'_>, &Geometry),
        (index, view): (usize, View),
    ) {
        let wheeled = view.wheeled(ui, response, geometry.chart.x_range(), scene.total);
        if wheeled != view {
            self.set_view(wheeled, scene.total);
        }
        if response.dragged() {
            let later = -geometry.time_across(response.drag_delta().x);
            self.compare_scroll[index] -= response.drag_delta().y;
            self.set_view(view.moved(later, scene.total), scene.total);
        }
        if response.double_clicked() {
            self.view = None;
        }
    }
}

/// Highlights the message of the slice under the pointer, and selects this message on a click. A
/// click where there is no message clears the selection.
fn point_at(
    response: &Response,
    scene: &TimelineScene<'_>,
    pointed: Option<Slice>,
    commands: &mut Commands,
) {
    let message = pointed.and_then(|slice| slice.message());
    let message = message.and_then(|message| scene.in_current_plan(message));
    if response.clicked() {
        commands.push(ViewCommand::Select(message.map(Item::Message)));
    }
    if let Some(message) = message {
        commands.push(ViewCommand::Hover(Item::Message(message)));
    }
}

/// Draws how many messages became slower, how many became faster, and how many only one run has.
fn summary(ui: &mut Ui, alignment: &Alignment) {
    let (slower, faster) = alignment.counts();
    let count = |count: usize| numbers::thousands(count as u64);
    ui.horizontal_wrapped(|ui| {
        let aligned = numbers::counted(alignment.pairs.len(), "message", "messages");
        ui.label(RichText::new(format!("{aligned} in both")).strong());
        let palette = Palette::of(ui);
        let label = |text, colour| RichText::new(text).color(colour).strong();
        ui.label(label(format!("⏶ {} slower", count(slower)), palette.slower()));
        ui.label(label(format!("⏷ {} faster", count(faster)), palette.faster()));
        ui.weak("by more than a tenth;");
        let (first, second) = (alignment.only_first.len(), alignment.only_second.len());
        ui.weak(format!("{} only in the kept run, {} only now", count(first), count(second)));
        ui.weak("(?)").on_hover_text(
            "A message of one run corresponds to the message of the other run whose sender and \
             receiver have the same variables. In the lower run, colours show which messages \
             are slower or faster; a line on top marks a slower message too, and a line at the \
             bottom a faster one.",
        );
    });
}

/// Draws the messages that both runs computed, those with the largest difference first.
fn messages_table(
    ui: &mut Ui,
    comparison: &RunComparison,
    compiled: &CompiledNetwork,
    commands: &mut Commands,
) {
    let pairs = &comparison.alignment.pairs;
    if pairs.is_empty() {
        ui.weak("No message of one run corresponds to a message of the other.");
        return;
    }
    ui.spacing_mut().item_spacing.x = 4.0;
    let table = TableBuilder::new(ui)
        .id_salt("compared messages")
        .auto_shrink(false)
        .column(Column::remainder().at_least(80.0).clip(true))
        .columns(Column::exact(58.0), 2)
        .column(Column::exact(74.0))
        .column(Column::exact(table::MARGIN));
    let table = table.header(table::ROW_HEIGHT, |mut row| {
        for title in ["Message", "Kept", "Now", "Change"] {
            row.col(|ui| _ = ui.label(RichText::new(title).strong().small()));
        }
    });
    table.body(|body| {
        body.rows(table::ROW_HEIGHT, pairs.len(), |mut row| {
            let pair = pairs[row.index()];
            row.col(|ui| {
                let layout = Layout::left_to_right(Align::Center);
                let text = naming::message_ends(compiled, pair.second);
                let item = Item::Message(pair.second);
                ui.with_layout(layout, |ui| item_link(ui, text, item, commands));
            });
            number(&mut row, numbers::nanoseconds(pair.first_time));
            number(&mut row, numbers::nanoseconds(pair.second_time));
            number(&mut row, change_text(pair));
            cell(&mut row, "");
        });
    });
}

/// The change of a message: `⏶ 2.5×` if it took 2.5 times as long as in the kept run, `⏷ 2.5×` if
/// it was 2.5 times as fast, `=` if it took about as long.
fn change_text(pair: Pair) -> String {
    let (long, short) = match pair.change() {
        Change::Slower => (pair.second_time, pair.first_time),
        Change::Faster => (pair.first_time, pair.second_time),
        Change::Same => return "=".to_owned(),
    };
    let mark = if pair.change() == Change::Slower { "⏶" } else { "⏷" };
    format!("{mark} {}×", numbers::short(long / short.max(1.0)))
}
