//! Histograms of table sizes: of the separators, as in Figure 4 of the paper, and of the cliques.

mod bins;
mod chart;
mod kind;

use std::sync::Arc;

use eframe::egui::{Align, Layout, Ui, Vec2, vec2};

use crate::app::state::command::Commands;
use crate::app::state::model::Model;
use crate::propagation::CompiledNetwork;
use bins::Bins;
use chart::Chart;
use kind::TableKind;

/// Width of the pane, in points, above which the two histograms are side by side.
const SIDE_BY_SIDE_WIDTH: f32 = 640.0;

/// In a pane that is wider and lower than this, in points, the two histograms are side by side too,
/// because one below the other would not fit.
const LOW_PANE: Vec2 = vec2(360.0, 280.0);

/// The two histograms and their view state.
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
        let log_counts = self.log_counts;
        let chart = |kind, bins| Chart { kind, bins, model, log_counts };
        let separators = chart(TableKind::Separators, &histograms.separators);
        let cliques = chart(TableKind::Cliques, &histograms.cliques);
        let (width, height) = (ui.available_width(), ui.available_height());
        let is_low = height < LOW_PANE.y && width > LOW_PANE.x;
        if width > SIDE_BY_SIDE_WIDTH || is_low {
            ui.columns_const(|[left, right]: &mut [Ui; 2]| {
                separators.show(left, commands, height);
                cliques.show(right, commands, height);
            });
        } else {
            let height = (height - ui.spacing().item_spacing.y) / 2.0;
            separators.show(ui, commands, height);
            cliques.show(ui, commands, height);
        }
        self.histograms = Some(histograms);
    }
}

impl Histograms {
    fn new(compiled: &Arc<CompiledNetwork>) -> Self {
        let tree = compiled.tree();
        let separators: Vec<u64> = tree.separators().iter().map(|s| s.entries).collect();
        let cliques: Vec<u64> = tree.cliques().iter().map(|c| c.entries).collect();
        Self {
            compiled: Arc::clone(compiled),
            separators: Bins::of(&separators),
            cliques: Bins::of(&cliques),
        }
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui;

    use super::*;
    use crate::app::state::highlight::Item;
    use crate::app::testing::{drive, label_containing};
    use egui_kittest::kittest::Queryable as _;

    #[test]
    fn a_click_on_a_bar_selects_its_separators() {
        let mut pane = HistogramPane::default();
        let mut harness = drive("asia", move |ui, model, commands| pane.show(ui, model, commands));
        harness.run();
        let tree = harness.state().tree();
        let smallest = tree.separators().iter().map(|separator| separator.entries).min().unwrap();
        let bins = Bins::of(&tree.separators().iter().map(|s| s.entries).collect::<Vec<_>>());
        let text = TableKind::Separators.describe(&bins.bins[0]);
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

    /// The texts of a pane of this size that shows the histograms of pigs.
    fn texts_of_pigs(size: egui::Vec2, log_counts: bool) -> Vec<String> {
        let mut pane = HistogramPane { log_counts, ..HistogramPane::default() };
        let mut harness = drive("pigs", move |ui, model, commands| {
            ui.set_max_size(size);
            pane.show(ui, model, commands);
        });
        harness.run();
        let shapes = harness.output().shapes.iter().map(|clipped| &clipped.shape);
        let texts = shapes.filter_map(|shape| match shape {
            egui::Shape::Text(text) => Some(text.galley.text().to_owned()),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn sizes_are_labelled_even_if_decades_are_close() {
        // The width of the pane on a small screen.
        let texts = texts_of_pigs(egui::vec2(660.0, 500.0), false);
        let labels = texts.iter().filter(|text| *text == "10 k").count();
        assert_eq!(labels, 2, "separators and cliques");
    }

    #[test]
    fn counts_are_labelled_even_if_the_pane_is_low() {
        // The size of the pane in a window of 1280x800 during a lesson.
        for (log_counts, label) in [(false, "0"), (false, "200"), (true, "1")] {
            let texts = texts_of_pigs(egui::vec2(660.0, 120.0), log_counts);
            let labels = texts.iter().filter(|text| *text == label).count();
            assert_eq!(labels, 2, "separators and cliques: {label} in {texts:?}");
        }
    }

    #[test]
    fn without_a_network_the_pane_says_what_to_do() {
        let mut pane = HistogramPane::default();
        let mut harness = drive("", move |ui, model, commands| pane.show(ui, model, commands));
        harness.run();
        harness.get_by_label_contains("Open a network");
    }
}
