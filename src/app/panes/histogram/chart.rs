//! A histogram as a plot whose bars can be clicked.

use std::ops::RangeInclusive;

use eframe::egui::{
    Color32, Rect, RichText, Sense, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType,
};
use egui_plot::{AxisHints, Bar, BarChart, GridMark, PlotPoint, PlotResponse};

use super::bins::{Bin, Bins};
use super::kind::TableKind;
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::colour_scale::ColourScale;
use crate::app::widgets::figure::axis::{grid_marks, label_at};
use crate::app::widgets::figure::fixed_plot;
use crate::experiment::Axis;
use crate::experiment::chart::{AxisRange, Tick};
use crate::numbers;

/// Lower end of a logarithmic axis of counts, as a decimal logarithm: one half, so that the bar of
/// a single table has a height.
const LOG_FLOOR: f64 = -std::f64::consts::LOG10_2;

/// Distances between powers of ten, in points: at the start of the range, their labels begin to
/// appear; at its end, they are fully visible. The labels are short, so they may be closer together
/// than in other figures.
const LABEL_SPACING: RangeInclusive<f32> = 24.0..=40.0;

/// Distances between marks of the axis of counts, in points: at the start of the range, their
/// labels begin to appear; at its end, they are fully visible.
const COUNT_SPACING: RangeInclusive<f32> = 12.0..=18.0;

/// Maximum number of intervals between the marks of the axis of counts.
const MAX_STEPS: f64 = 5.0;

/// Height of the axis of sizes with its labels and its title, in points.
const AXIS_HEIGHT: f32 = 40.0;

/// Space at both ends of the axis of sizes, in powers of ten.
const SIZE_MARGIN: f64 = 0.08;

/// Space above the highest bar, as a share of the height of that bar.
const TOP_MARGIN: f64 = 0.06;

/// Share of a bin that its bar fills; the rest is the gap to the next bar.
const BAR_WIDTH: f64 = 0.94;

/// Space to the right of a plot, in points: room for half of a label at the end of the axis.
const RIGHT_MARGIN: f32 = 14.0;

/// Minimum height of a plot, in points.
const MIN_HEIGHT: f32 = 90.0;

/// A histogram, with everything needed to draw it.
pub(super) struct Chart<'a> {
    /// Whether the tables are those of cliques or of separators.
    pub kind: TableKind,
    /// The bins of the histogram.
    pub bins: &'a Bins,
    /// The tree, and what is selected and hovered.
    pub model: &'a Model,
    /// Whether the axis of counts is logarithmic.
    pub log_counts: bool,
}

impl Chart<'_> {
    /// Draws the histogram with its title in `height` points, or more if the plot would be lower
    /// than [`MIN_HEIGHT`].
    pub fn show(&self, ui: &mut Ui, commands: &mut Commands, height: f32) {
        let top = ui.cursor().top();
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(self.kind.title()).strong());
            ui.weak(self.summary());
        });
        let bins = &self.bins.bins;
        let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return };
        let low = first.from - SIZE_MARGIN;
        let axis = Axis::log("");
        let sizes = AxisRange::new(&axis, low, last.to + SIZE_MARGIN);
        let height = (height - (ui.cursor().top() - top)).max(MIN_HEIGHT);
        let plot = self.show_plot(ui, sizes, height);
        for bin in bins.iter().filter(|bin| !bin.members.is_empty()) {
            self.show_bin(ui, &plot, bin, commands);
        }
    }

    /// Number and sizes of the tables, such as `371, min 3, mean 339, max 59,049`.
    fn summary(&self) -> String {
        let Bins { count, min, mean, max, .. } = *self.bins;
        if count == 0 {
            return "none: the tree is a single clique".to_owned();
        }
        let mean = if mean < 100.0 {
            format!("{mean:.1}")
        } else {
            numbers::thousands(mean.round() as u64)
        };
        format!(
            "{}, min {}, mean {mean}, max {}",
            numbers::thousands(count as u64),
            numbers::thousands(min),
            numbers::thousands(max)
        )
    }

    /// Draws axes and bars.
    fn show_plot(&self, ui: &mut Ui, sizes: AxisRange, height: f32) -> PlotResponse<()> {
        let (floor, log_counts) = (self.floor(), self.log_counts);
        let high = self.count_coordinate(self.bins.highest_count());
        let top = high + (high - floor) * TOP_MARGIN;
        let ticks = sizes.ticks();
        let marks = grid_marks(&ticks);
        let tree = self.model.compiled().map(|compiled| compiled.tree());
        let is_dark = ui.visuals().dark_mode;
        let colours = tree.map(|tree| ColourScale::of_cliques(tree, is_dark));
        let bars = self.bins.bins.iter().map(|bin| self.bar(bin, colours.as_ref()));
        let bars: Vec<Bar> = bars.collect();
        let steps = f64::from((height - AXIS_HEIGHT) / COUNT_SPACING.end()).clamp(1.0, MAX_STEPS);
        fixed_plot(("histogram", self.kind.title()), height)
            .width(ui.available_width() - RIGHT_MARGIN)
            .default_x_bounds(sizes.low, sizes.high)
            .default_y_bounds(floor, top)
            .x_grid_spacer(move |_| marks.clone())
            .y_grid_spacer(move |input| count_marks(input.bounds, log_counts, steps))
            .custom_x_axes(vec![size_axis(ticks)])
            .custom_y_axes(vec![count_axis(log_counts)])
            .grid_color(ui.visuals().weak_text_color().gamma_multiply(0.6))
            .sense(Sense::hover())
            .show(ui, |plot| {
                plot.set_plot_bounds_x(sizes.low..=sizes.high);
                plot.set_plot_bounds_y(floor..=top);
                plot.bar_chart(BarChart::new(self.kind.title(), bars).allow_hover(false));
            })
    }

    /// The bar of a bin, in the colour of its sizes.
    fn bar(&self, bin: &Bin, colours: Option<&ColourScale>) -> Bar {
        let middle = f64::midpoint(bin.from, bin.to);
        let height = (self.count_coordinate(bin.members.len()) - self.floor()).max(0.0);
        Bar::new(middle, height)
            .base_offset(self.floor())
            .width((bin.to - bin.from) * BAR_WIDTH)
            .fill(colours.map_or(Color32::GRAY, |colours| colours.colour(10_f64.powf(middle))))
            .stroke(Stroke::NONE)
    }

    /// The lower end of the axis of counts.
    fn floor(&self) -> f64 {
        if self.log_counts { LOG_FLOOR } else { 0.0 }
    }

    /// The coordinate of `count` on the axis of counts.
    fn count_coordinate(&self, count: usize) -> f64 {
        match (self.log_counts, count) {
            (false, _) => count as f64,
            (true, 0) => LOG_FLOOR,
            (true, _) => (count as f64).log10(),
        }
    }

    /// Makes a bar react to pointer and keyboard, and describes it to screen readers. The area
    /// above the bar reacts as well, because some bars are one pixel high.
    fn show_bin(&self, ui: &Ui, plot: &PlotResponse<()>, bin: &Bin, commands: &mut Commands) {
        let area = plot.response.rect;
        let top = self.count_coordinate(bin.members.len());
        let corner = PlotPoint::new(bin.from, self.floor());
        let bar = plot.transform.rect_from_values(&corner, &PlotPoint::new(bin.to, top));
        let bar = bar.intersect(area);
        let column = Rect::from_x_y_ranges(bar.x_range(), area.y_range());
        let response = ui.interact(column, plot.response.id.with(bin.min), Sense::click());
        let selected = self.kind.highlighted_count(bin, &self.model.selection);
        let text = self.kind.describe(bin);
        response.widget_info(|| {
            WidgetInfo::selected(WidgetType::SelectableLabel, true, selected > 0, &text)
        });
        let (palette, painter) = (Palette::of(ui), ui.painter());
        let outline = bar.shrink(0.5);
        if selected > 0 {
            painter.rect_stroke(outline, 0, (2.0, palette.selected), StrokeKind::Middle);
        }
        if response.hovered() || self.kind.highlighted_count(bin, &self.model.hover) > 0 {
            painter.rect_stroke(outline, 0, (2.0, palette.hovered), StrokeKind::Middle);
        }
        if response.has_focus() {
            painter.rect_stroke(column, 2, ui.visuals().selection.stroke, StrokeKind::Inside);
        }
        if response.hovered() {
            commands.push(ViewCommand::Hover(self.kind.item(bin)));
        }
        if response.clicked() {
            commands.push(ViewCommand::Select(Some(self.kind.item(bin))));
        }
        response.on_hover_ui_at_pointer(|ui| {
            ui.set_max_width(320.0);
            ui.label(text);
            if selected > 0 && selected < bin.members.len() {
                ui.weak(format!("{} of them selected", numbers::thousands(selected as u64)));
            }
        });
    }
}

/// The axis of sizes.
fn size_axis(ticks: Vec<Tick>) -> AxisHints<'static> {
    AxisHints::new_x()
        .label("table entries")
        .label_spacing(LABEL_SPACING)
        .formatter(move |mark, _| label_at(&ticks, mark.value))
}

/// The axis of counts.
fn count_axis(log_counts: bool) -> AxisHints<'static> {
    AxisHints::new_y()
        .label_spacing(COUNT_SPACING)
        .formatter(move |mark, _| count_label(mark.value, log_counts))
}

/// Grid lines of the axis of counts: at multiples of 1, 2 or 5 times a power of ten, with at most
/// `steps` intervals between them, or at the powers of ten on a logarithmic axis.
fn count_marks((low, high): (f64, f64), log_counts: bool, steps: f64) -> Vec<GridMark> {
    if log_counts {
        let decades = 0..=high.floor().max(0.0) as i32;
        return decades.map(|d| GridMark { value: f64::from(d), step_size: 1.0 }).collect();
    }
    let step = numbers::round_step((high - low) / steps).max(1.0);
    let last = (high / step).floor() as i64;
    (0..=last).map(|i| GridMark { value: i as f64 * step, step_size: step }).collect()
}

/// The label at a coordinate of the axis of counts.
fn count_label(coordinate: f64, log_counts: bool) -> String {
    numbers::short(if log_counts { 10_f64.powf(coordinate.round()) } else { coordinate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_ticks_are_whole_numbers_and_few() {
        for high in [1.0, 3.0, 26.0, 480.0] {
            let marks = count_marks((0.0, high), false, MAX_STEPS);
            assert!((2..=7).contains(&marks.len()), "{high}: {}", marks.len());
            assert!(marks.iter().all(|mark| mark.value.fract() == 0.0));
        }
    }
}
