//! Histograms of table sizes: of the separators, as in Figure 4 of the paper, and of the cliques.

mod bins;

use std::sync::Arc;

use eframe::egui::{
    self, Align, Id, Layout, Rect, RichText, Sense, Stroke, StrokeKind, Ui, Vec2b, WidgetInfo,
    WidgetType,
};
use egui_plot::{AxisHints, Bar, BarChart, GridMark, Plot, PlotPoint, PlotTransform};

use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::model::Model;
use crate::app::theme::{Palette, size_colour};
use crate::app::widgets::figure::axis::{grid_marks, label_at};
use crate::experiment::Scale;
use crate::experiment::chart::{AxisRange, Tick};
use crate::graph::{CliqueId, SeparatorId};
use crate::numbers;
use crate::propagation::CompiledNetwork;
use bins::{Bin, Bins};

/// Lower end of a logarithmic axis of counts, as a decimal logarithm: one half, so that the bar of a
/// single table has a height.
const LOG_FLOOR: f64 = -std::f64::consts::LOG10_2;
/// Distances between powers of ten at which their labels start to appear and are fully visible, in
/// points.
const LABEL_SPACING: std::ops::RangeInclusive<f32> = 24.0..=40.0;
/// Width from which the two histograms are side by side, in points.
const SIDE_BY_SIDE_WIDTH: f32 = 640.0;

/// The two histograms.
#[derive(Debug, Default)]
pub struct HistogramPane {
    log_counts: bool,
    histograms: Option<Histograms>,
}

/// The histograms of one compiled network.
#[derive(Debug)]
struct Histograms {
    compiled: Arc<CompiledNetwork>,
    separators: Bins,
    cliques: Bins,
}

/// Whose tables are histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Separators,
    Cliques,
}

impl Kind {
    fn title(self) -> &'static str {
        match self {
            Self::Separators => "Separator tables",
            Self::Cliques => "Clique tables",
        }
    }

    fn noun(self, count: usize) -> String {
        match self {
            Self::Separators => numbers::counted(count, "separator", "separators"),
            Self::Cliques => numbers::counted(count, "clique", "cliques"),
        }
    }

    /// The item that selects all tables of `bin`.
    fn item(self, bin: &Bin) -> Item {
        let members = bin.members.iter().copied();
        match self {
            Self::Separators => Item::Separators(members.map(SeparatorId::new).collect()),
            Self::Cliques => Item::Cliques(members.map(CliqueId::new).collect()),
        }
    }

    /// How many tables of `bin` are highlighted.
    fn highlighted(self, bin: &Bin, highlight: &Highlight) -> usize {
        let is_highlighted = |&&member: &&usize| match self {
            Self::Separators => highlight.separator(SeparatorId::new(member)),
            Self::Cliques => highlight.clique(CliqueId::new(member)),
        };
        bin.members.iter().filter(is_highlighted).count()
    }

    /// `26 separators with 1,000 to 1,778 entries`.
    fn describe(self, bin: &Bin) -> String {
        let (min, max) = (numbers::thousands(bin.min), numbers::thousands(bin.max));
        let with = match bin.min {
            1 if bin.max == 1 => "1 entry".to_owned(),
            _ if bin.min == bin.max => format!("{min} entries"),
            _ => format!("{min} to {max} entries"),
        };
        format!("{} with {with}", self.noun(bin.members.len()))
    }
}

impl HistogramPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(compiled) = model.compiled() else {
            ui.centered_and_justified(|ui| {
                ui.weak("Open a network to see the table sizes of its junction tree.")
            });
            return;
        };
        let histograms = match self.histograms.take() {
            Some(histograms) if Arc::ptr_eq(&histograms.compiled, compiled) => histograms,
            _ => Histograms::new(compiled),
        };
        ui.horizontal(|ui| {
            ui.weak("Entries per table, logarithmic. Click a bar to select its tables.");
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.checkbox(&mut self.log_counts, "Logarithmic counts");
            });
        });
        let wide = ui.available_width() > SIDE_BY_SIDE_WIDTH;
        let height = ui.available_height();
        let mut both = |ui: &mut [Ui; 2], height: f32| {
            let [left, right] = ui;
            self.chart(left, Kind::Separators, &histograms.separators, model, commands, height);
            self.chart(right, Kind::Cliques, &histograms.cliques, model, commands, height);
        };
        if wide {
            ui.columns_const(|columns: &mut [Ui; 2]| both(columns, height));
        } else {
            let height = (height - ui.spacing().item_spacing.y) / 2.0;
            self.chart(ui, Kind::Separators, &histograms.separators, model, commands, height);
            self.chart(ui, Kind::Cliques, &histograms.cliques, model, commands, height);
        }
        self.histograms = Some(histograms);
    }

    fn chart(
        &self,
        ui: &mut Ui,
        kind: Kind,
        bins: &Bins,
        model: &Model,
        commands: &mut Commands,
        height: f32,
    ) {
        let top = ui.cursor().top();
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(kind.title()).strong());
            ui.weak(if bins.count == 0 {
                "none: the tree is a single clique".to_owned()
            } else {
                format!(
                    "{}, min {}, mean {}, max {}",
                    numbers::thousands(bins.count as u64),
                    numbers::thousands(bins.min),
                    mean(bins.mean),
                    numbers::thousands(bins.max)
                )
            });
        });
        let (Some(first), Some(last)) = (bins.bins.first(), bins.bins.last()) else { return };
        let palette = Palette::of(ui);
        let largest = model.compiled().map_or(1, |c| c.statistics().max_clique_entries);
        let height = (height - (ui.cursor().top() - top)).max(90.0);
        let high = self.count_coordinate(bins.highest_count());
        let log_counts = self.log_counts;
        let floor = if log_counts { LOG_FLOOR } else { 0.0 };
        let bars = bins.bins.iter().map(|bin| {
            let middle_size = 10_f64.powf((bin.from + bin.to) / 2.0) as u64;
            Bar::new(
                (bin.from + bin.to) / 2.0,
                (self.count_coordinate(bin.members.len()) - floor).max(0.0),
            )
            .base_offset(floor)
            .width((bin.to - bin.from) * 0.94)
            .fill(size_colour(middle_size, largest))
            .stroke(Stroke::NONE)
        });
        let bars: Vec<Bar> = bars.collect();
        let sizes = AxisRange::new(&Scale::Log, first.from - 0.08, last.to + 0.08);
        let ticks = sizes.ticks();
        let marks = grid_marks(&ticks);
        let plot = Plot::new(("histogram", kind.title()))
            .height(height)
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .allow_double_click_reset(false)
            .allow_axis_zoom_drag(false)
            .show_x(false)
            .show_y(false)
            .show_crosshair(false)
            .set_margin_fraction(egui::vec2(0.0, 0.0))
            .default_x_bounds(sizes.low, sizes.high)
            .default_y_bounds(floor, high + (high - floor) * 0.06)
            .auto_bounds(Vec2b::FALSE)
            .x_grid_spacer(move |_| marks.clone())
            .y_grid_spacer(move |input| count_marks(input.bounds, log_counts))
            .custom_x_axes(vec![sizes_axis(ticks)])
            .y_axis_formatter(move |mark, _| count_label(mark.value, log_counts))
            .grid_color(ui.visuals().weak_text_color().gamma_multiply(0.6))
            .sense(Sense::hover())
            .show(ui, |plot| {
                plot.set_plot_bounds_x(sizes.low..=sizes.high);
                plot.set_plot_bounds_y(floor..=high + (high - floor) * 0.06);
                plot.bar_chart(BarChart::new(kind.title(), bars).allow_hover(false));
            });
        for bin in bins.bins.iter().filter(|bin| !bin.members.is_empty()) {
            let id = plot.response.id.with(bin.min);
            let area = plot.response.rect;
            let top = self.count_coordinate(bin.members.len());
            self.interact(
                ui,
                id,
                &plot.transform,
                area,
                (floor, top),
                kind,
                bin,
                model,
                palette,
                commands,
            );
        }
    }

    /// The coordinate of `count` on the vertical axis.
    fn count_coordinate(&self, count: usize) -> f64 {
        match (self.log_counts, count) {
            (false, _) => count as f64,
            (true, 0) => LOG_FLOOR,
            (true, _) => (count as f64).log10(),
        }
    }

    /// Makes a bar react to pointer and keyboard, and describes it to screen readers. The whole column
    /// above the bar reacts, because some bars are one pixel high.
    #[expect(clippy::too_many_arguments, reason = "all that a bar is drawn from")]
    fn interact(
        &self,
        ui: &Ui,
        id: Id,
        transform: &PlotTransform,
        area: Rect,
        (floor, top): (f64, f64),
        kind: Kind,
        bin: &Bin,
        model: &Model,
        palette: Palette,
        commands: &mut Commands,
    ) {
        let bar = transform
            .rect_from_values(&PlotPoint::new(bin.from, floor), &PlotPoint::new(bin.to, top))
            .intersect(area);
        let column = Rect::from_x_y_ranges(bar.x_range(), area.y_range());
        let response = ui.interact(column, id, Sense::click());
        let selected = kind.highlighted(bin, &model.selection);
        let text = kind.describe(bin);
        response.widget_info(|| {
            WidgetInfo::selected(WidgetType::SelectableLabel, true, selected > 0, &text)
        });
        let outline = bar.shrink(0.5);
        let painter = ui.painter();
        if selected > 0 {
            painter.rect_stroke(outline, 0, (2.0, palette.selected), StrokeKind::Middle);
        }
        if response.hovered() || kind.highlighted(bin, &model.hover) > 0 {
            painter.rect_stroke(outline, 0, (2.0, palette.hovered), StrokeKind::Middle);
        }
        if response.has_focus() {
            painter.rect_stroke(column, 2, ui.visuals().selection.stroke, StrokeKind::Inside);
        }
        if response.hovered() {
            commands.push(ViewCommand::Hover(kind.item(bin)));
        }
        if response.clicked() {
            commands.push(ViewCommand::Select(Some(kind.item(bin))));
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

/// The axis of sizes. Its labels are short, so they may be closer than usual.
fn sizes_axis(ticks: Vec<Tick>) -> AxisHints<'static> {
    AxisHints::new_x()
        .label("table entries")
        .label_spacing(LABEL_SPACING)
        .formatter(move |mark, _| label_at(&ticks, mark.value, usize::MAX))
}

/// A mean size, with one decimal if it is below 100.
fn mean(mean: f64) -> String {
    if mean < 100.0 { format!("{mean:.1}") } else { numbers::thousands(mean.round() as u64) }
}

impl Histograms {
    fn new(compiled: &Arc<CompiledNetwork>) -> Self {
        let tree = compiled.tree();
        let separators: Vec<u64> = tree.separators().iter().map(|one| one.entries).collect();
        let cliques: Vec<u64> = tree.cliques().iter().map(|one| one.entries).collect();
        Self {
            compiled: Arc::clone(compiled),
            separators: Bins::of(&separators),
            cliques: Bins::of(&cliques),
        }
    }
}

/// Grid lines at multiples of 1, 2 or 5 times a power of ten; on a logarithmic axis at the powers of
/// ten.
fn count_marks((low, high): (f64, f64), log_counts: bool) -> Vec<GridMark> {
    if log_counts {
        let decades = 0..=high.floor().max(0.0) as i32;
        return decades.map(|d| GridMark { value: f64::from(d), step_size: 1.0 }).collect();
    }
    let step = numbers::round_step((high - low) / 5.0).max(1.0);
    let last = (high / step).floor() as i64;
    (0..=last).map(|i| GridMark { value: i as f64 * step, step_size: step }).collect()
}

fn count_label(value: f64, log_counts: bool) -> String {
    numbers::short(if log_counts { 10_f64.powf(value.round()) } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{drive, label_containing};
    use egui_kittest::kittest::Queryable as _;

    #[test]
    fn count_ticks_are_whole_numbers_and_few() {
        for high in [1.0, 3.0, 26.0, 480.0] {
            let marks = count_marks((0.0, high), false);
            assert!((2..=7).contains(&marks.len()), "{high}: {}", marks.len());
            assert!(marks.iter().all(|mark| mark.value.fract() == 0.0));
        }
    }

    #[test]
    fn a_click_on_a_bar_selects_its_separators() {
        let mut pane = HistogramPane::default();
        let mut harness = drive("asia", move |ui, model, commands| pane.show(ui, model, commands));
        harness.run();
        let tree = harness.state().tree();
        let smallest = tree.separators().iter().map(|separator| separator.entries).min().unwrap();
        let bins = Bins::of(&tree.separators().iter().map(|s| s.entries).collect::<Vec<_>>());
        let text = Kind::Separators.describe(&bins.bins[0]);
        label_containing(&harness, &text).click();
        harness.run();
        let Some(Item::Separators(selected)) = harness.state().model.selected() else {
            panic!("{:?}", harness.state().model.selected());
        };
        assert_eq!(selected.len(), bins.bins[0].members.len());
        let entries = selected.iter().map(|&id| harness.state().tree()[id].entries).min();
        assert_eq!(entries, Some(smallest));
        assert!(matches!(harness.state().model.hovered(), Some(Item::Separators(_))));
    }

    #[test]
    fn sizes_are_labelled_even_if_decades_are_close() {
        let mut pane = HistogramPane::default();
        let mut harness = drive("pigs", move |ui, model, commands| {
            // The width of the pane on a small screen.
            ui.set_max_width(660.0);
            pane.show(ui, model, commands);
        });
        harness.run();
        let shapes = harness.output().shapes.iter().map(|clipped| &clipped.shape);
        let texts = shapes.filter_map(|shape| match shape {
            egui::Shape::Text(text) => Some(text.galley.text().to_owned()),
            _ => None,
        });
        let labels = texts.filter(|text| text == "10 k").count();
        assert_eq!(labels, 2, "separators and cliques");
    }

    #[test]
    fn without_a_network_the_pane_says_what_to_do() {
        let mut pane = HistogramPane::default();
        let mut harness = drive("", move |ui, model, commands| pane.show(ui, model, commands));
        harness.run();
        harness.get_by_label_contains("Open a network");
    }
}
