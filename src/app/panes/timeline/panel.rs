//! The panel next to the timeline or below it: sums over the marked range, or over the whole
//! propagation, and the histogram of durations.

use std::sync::Arc;

use eframe::egui::{
    Align, FontId, Layout, Rangef, Rect, RichText, Sense, StrokeKind, Ui, WidgetInfo, WidgetType,
    pos2, vec2,
};
use egui_extras::{Column, TableBuilder};

use super::TimelineScene;
use super::duration_bins::{DurationBin, bins, labelled_edges};
use super::sums::{Group, GroupBy, Sum, clipped, sums};
use crate::app::panes::common::item_link;
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::app::widgets::table::{self, cell, number};
use crate::numbers;
use crate::propagation::Phase;

/// Room in points for the label of an edge of the histogram: `178 ns` and a gap.
const EDGE_WIDTH: f32 = 50.0;

/// What the panel shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PanelView {
    /// The table of sums.
    Sums(GroupBy),
    /// The histogram of durations.
    Durations,
}

/// Draws the panel. `range` is the marked time in nanoseconds; `None` means the whole propagation.
pub(super) fn show(
    ui: &mut Ui,
    scene: &TimelineScene<'_>,
    view: &mut PanelView,
    range: Option<(f64, f64)>,
    commands: &mut Commands,
) {
    let (from, to) = range.unwrap_or((0.0, scene.total));
    let (from, to) = (from.min(to), from.max(to));
    ui.horizontal_wrapped(|ui| {
        let text = match range {
            None => "Whole propagation".to_owned(),
            Some(_) => format!(
                "{}, starting at {}",
                numbers::nanoseconds((to - from).round()),
                numbers::nanoseconds(from.round())
            ),
        };
        ui.label(RichText::new(text).strong());
        for (by, title) in GroupBy::all(scene.row_title()) {
            ui.selectable_value(view, PanelView::Sums(by), title);
        }
        ui.selectable_value(view, PanelView::Durations, "Durations")
            .on_hover_text("Histogram of the durations of the messages");
    });
    match *view {
        PanelView::Sums(by) => {
            let sums = sums(&scene.layout.rows, scene.compiled, by, (from, to));
            table(ui, scene, &sums, by, commands);
        }
        PanelView::Durations => histogram(ui, scene, (from, to), commands),
    }
}

/// Draws the table of `sums`.
fn table(
    ui: &mut Ui,
    scene: &TimelineScene<'_>,
    sums: &[Sum],
    by: GroupBy,
    commands: &mut Commands,
) {
    if sums.is_empty() {
        ui.weak("There is nothing to sum in this time.");
        return;
    }
    let all: f64 = sums.iter().map(|sum| sum.total).sum();
    ui.spacing_mut().item_spacing.x = 4.0;
    let table = TableBuilder::new(ui)
        .id_salt(("timeline sums", by as usize))
        .auto_shrink(false)
        .column(Column::remainder().at_least(90.0).clip(true))
        .column(Column::exact(44.0))
        .columns(Column::exact(58.0), 2)
        .column(Column::exact(42.0))
        .column(Column::exact(table::MARGIN));
    let table = table.header(table::ROW_HEIGHT, |mut row| {
        let share = "Share of the sum of all lines";
        let hints = [
            "",
            "Number of bars that are at least partly in the time named above",
            "Sum of the parts of these bars in that time",
            "Mean of the parts of these bars in that time",
            share,
        ];
        let titles = ["", "Count", "Total", "Mean", "Share"];
        for (column, (title, hint)) in titles.into_iter().zip(hints).enumerate() {
            row.col(|ui| {
                let layout = if column == 0 {
                    Layout::left_to_right(Align::Center)
                } else {
                    Layout::right_to_left(Align::Center)
                };
                ui.with_layout(layout, |ui| {
                    ui.label(RichText::new(title).strong().small()).on_hover_text(hint)
                });
            });
        }
    });
    table.body(|body| {
        body.rows(table::ROW_HEIGHT, sums.len(), |mut row| {
            let sum = sums[row.index()];
            row.col(|ui| {
                let layout = Layout::left_to_right(Align::Center);
                ui.with_layout(layout, |ui| name(ui, scene, sum, commands));
            });
            number(&mut row, numbers::thousands(sum.count as u64));
            number(&mut row, numbers::nanoseconds(sum.total.round()));
            number(&mut row, numbers::nanoseconds(sum.mean().round()));
            number(&mut row, numbers::share(sum.total, all));
            cell(&mut row, "");
        });
    });
}

/// Draws the name of what a line of the table is about: a kind of slice, a row or a clique. The
/// name of a clique is a link.
fn name(ui: &mut Ui, scene: &TimelineScene<'_>, sum: Sum, commands: &mut Commands) {
    let clique = match sum.group {
        Group::Clique(clique) => clique,
        Group::Kind(name) => {
            ui.label(name);
            return;
        }
        Group::Row(row) => {
            ui.label(&scene.layout.rows[row].name);
            return;
        }
    };
    item_link(ui, naming::clique(scene.compiled, clique), Item::Clique(clique), commands);
}

/// Draws the histogram of the durations of the messages that are at least partly in `range`. A
/// click on a bar selects its messages.
fn histogram(ui: &mut Ui, scene: &TimelineScene<'_>, range: (f64, f64), commands: &mut Commands) {
    let seen = clipped(&scene.layout.rows, range);
    let bins = bins(seen.filter_map(|(_, slice, _)| Some((slice.message()?, slice.length()))));
    let highest = bins.iter().map(|bin| bin.messages.len()).max().unwrap_or(0);
    if highest == 0 {
        ui.weak("No message was computed in this time.");
        return;
    }
    ui.weak("Messages by duration, logarithmic. Click a bar to select its messages.");
    let size = vec2(ui.available_width(), ui.available_height().clamp(60.0, 220.0));
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let plot = Rect::from_min_max(area.min + vec2(0.0, 14.0), area.max - vec2(8.0, 18.0));
    let width = plot.width() / bins.len() as f32;
    for (index, bin) in bins.iter().enumerate() {
        let left = plot.left() + index as f32 * width;
        let column = Rangef::new(left, left + width);
        show_bin(ui, scene, bin, (plot, column, highest), commands);
    }
    let ink = ui.visuals().weak_text_color();
    for edge in labelled_edges(&bins, width, EDGE_WIDTH) {
        let x = plot.left() + edge as f32 * width;
        let time = bins.get(edge).map_or(bins[bins.len() - 1].to, |bin| bin.from);
        let text = numbers::nanoseconds(time.round());
        let text = ui.painter().layout_no_wrap(text, FontId::proportional(11.0), ink);
        ui.painter().vline(x, plot.bottom()..=plot.bottom() + 4.0, (1.0, ink));
        // The labels at both ends stay within the panel.
        let right = (area.right() - text.size().x).max(area.left());
        let left = (x - text.size().x / 2.0).clamp(area.left(), right);
        ui.painter().galley(pos2(left, plot.bottom() + 4.0), text, ink);
    }
}

/// Draws the bar of `bin` in `column`, its part of the width of `plot`. The highest bar of the plot
/// has `highest` messages.
fn show_bin(
    ui: &Ui,
    scene: &TimelineScene<'_>,
    bin: &DurationBin,
    (plot, column, highest): (Rect, Rangef, usize),
    commands: &mut Commands,
) {
    if bin.messages.is_empty() {
        return;
    }
    let height = plot.height() * bin.messages.len() as f32 / highest as f32;
    let bar =
        Rect::from_x_y_ranges(column.shrink(0.5), plot.bottom() - height.max(1.0)..=plot.bottom());
    let whole = Rect::from_x_y_ranges(column, plot.y_range());
    let response =
        ui.interact(whole, ui.id().with(("duration", bin.from.to_bits())), Sense::click());
    let is_selected = |id: &&_| scene.model.selection.message(**id);
    let selected = bin.messages.iter().filter(is_selected).count();
    let is_collect = |id: &&_| scene.compiled.plan()[**id].phase == Phase::Collect;
    let collects = bin.messages.iter().filter(is_collect).count();
    let text = format!(
        "{} that took {} to {}, {collects} of them in collect",
        numbers::counted(bin.messages.len(), "message", "messages"),
        numbers::nanoseconds(bin.from.round()),
        numbers::nanoseconds(bin.to.round())
    );
    response.widget_info(|| {
        WidgetInfo::selected(WidgetType::SelectableLabel, true, selected > 0, &text)
    });
    let (palette, painter) = (Palette::of(ui), ui.painter());
    let share = collects as f32 / bin.messages.len() as f32;
    let (collect, distribute) = bar.split_top_bottom_at_fraction(share);
    painter.rect_filled(collect, 0, palette.collect);
    painter.rect_filled(distribute, 0, palette.distribute);
    if selected > 0 {
        painter.rect_stroke(bar, 0, (2.0, palette.selected), StrokeKind::Middle);
    }
    if response.hovered() {
        painter.rect_stroke(bar, 0, (2.0, palette.hovered), StrokeKind::Middle);
    }
    if response.has_focus() {
        painter.rect_stroke(whole, 2, ui.visuals().selection.stroke, StrokeKind::Inside);
    }
    let ink = ui.visuals().weak_text_color();
    let count = numbers::short(bin.messages.len() as f64);
    let count = painter.layout_no_wrap(count, FontId::proportional(10.0), ink);
    if count.size().x <= column.span() {
        let at = pos2(column.center() - count.size().x / 2.0, bar.top() - 1.0 - count.size().y);
        painter.galley(at, count, ink);
    }
    let item = || Item::Messages(Arc::from(bin.messages.as_slice()));
    if response.hovered() {
        commands.push(ViewCommand::Hover(item()));
    }
    if response.clicked() {
        commands.push(ViewCommand::Select(Some(item())));
    }
    response.on_hover_text_at_pointer(text);
}
