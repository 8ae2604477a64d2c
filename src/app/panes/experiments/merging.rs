//! A slider that shows how the tree of the open network changes when small separators are merged
//! away.

use std::sync::Arc;

use eframe::egui::{Grid, Slider, Ui};

use crate::app::state::command::{Commands, ExperimentCommand};
use crate::app::state::merging::MergeRequest;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::experiment::MergeRule;
use crate::numbers;
use crate::propagation::CompiledNetwork;

/// Upper end of the slider: the binary logarithm of the largest threshold, in separator entries.
const MAX_POWER: u32 = 16;

/// The positions of the slider and the buttons.
#[derive(Default)]
pub(super) struct Merging {
    /// Binary logarithm of the threshold; 0 merges nothing.
    power: u32,
    /// Whether to merge as much as the size limits allow, rather than only where a gain is
    /// predicted.
    all: bool,
}

impl Merging {
    /// Draws the slider and the sizes before and after.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(compiled) = model.compiled() else {
            ui.weak("Open a network to see what merging does to its junction tree.");
            return;
        };
        ui.strong("The open network");
        ui.horizontal(|ui| {
            let slider = Slider::new(&mut self.power, 0..=MAX_POWER)
                .custom_formatter(|power, _| match power as u32 {
                    0 => "none".to_owned(),
                    power => format!("up to {} entries", numbers::thousands(1 << power)),
                })
                .text("separators merged away");
            ui.add(slider);
        });
        // One below the other: side by side, they are wider than the pane in a small window.
        ui.radio_value(&mut self.all, false, "only where equation 6 of the paper predicts a gain");
        ui.radio_value(&mut self.all, true, "as many as the size limits allow");
        if self.power == 0 {
            show_sizes(ui, compiled, compiled);
            return;
        }
        let request = MergeRequest {
            original: Arc::clone(compiled),
            threshold: 1 << self.power,
            rule: if self.all { MergeRule::All } else { MergeRule::Paying },
        };
        let last = model.experiments.merged.as_ref();
        let last = last.filter(|last| Arc::ptr_eq(&last.request.original, compiled));
        let is_current = last.is_some_and(|last| last.request == request);
        if !is_current {
            commands.push(ExperimentCommand::Merge(request));
        }
        match last.map(|last| &last.outcome) {
            // The sizes for the last position of the slider are dimmed until the new ones are
            // known.
            Some(Ok(merged)) => {
                _ = ui.add_enabled_ui(is_current, |ui| {
                    show_sizes(ui, compiled, merged);
                })
            }
            Some(Err(message)) if is_current => {
                ui.colored_label(Palette::of(ui).error, message);
            }
            _ => _ = ui.weak("merging ..."),
        }
    }
}

/// Draws the sizes of a tree before and after merging.
fn show_sizes(ui: &mut Ui, compiled: &CompiledNetwork, merged: &CompiledNetwork) {
    let (before, after) = (compiled.statistics(), merged.statistics());
    Grid::new("merging totals").num_columns(4).striped(true).spacing([18.0, 4.0]).show(ui, |ui| {
        for heading in ["", "before", "merged", "change"] {
            ui.weak(heading);
        }
        ui.end_row();
        let messages = |tree: &CompiledNetwork| tree.plan().messages().len() as u64;
        for (name, from, to) in [
            ("cliques", before.cliques as u64, after.cliques as u64),
            ("messages", messages(compiled), messages(merged)),
            ("table entries", before.total_clique_entries, after.total_clique_entries),
            ("largest clique", before.max_clique_entries, after.max_clique_entries),
            ("levels below the root", before.depth as u64, after.depth as u64),
        ] {
            ui.label(name);
            ui.label(numbers::thousands(from));
            ui.strong(numbers::thousands(to));
            ui.label(change(from, to));
            ui.end_row();
        }
    });
    ui.weak(
        "Fewer messages need fewer launches, but larger tables have more entries. The experiment \
         above measures which effect is stronger.",
    );
}

/// The change from `from` to `to`: a percentage such as `-12.3%`, `× 4.10` for a factor of at least
/// two, or `none`.
fn change(from: u64, to: u64) -> String {
    let factor = to as f64 / from.max(1) as f64;
    if from == to {
        "none".to_owned()
    } else if factor >= 2.0 {
        format!("× {factor:.2}")
    } else {
        format!("{:+.1}%", 100.0 * (factor - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use egui_kittest::kittest::Queryable as _;

    use super::*;
    use crate::app::state::command::Command;
    use crate::app::state::merging::MergedTree;
    use crate::app::testing::{drive, label_containing};
    use crate::cancel::CancelToken;
    use crate::experiment::merged;

    #[test]
    fn the_size_of_the_tree_merged_up_to_the_threshold_is_shown() {
        let mut merging = Merging { all: true, ..Merging::default() };
        let mut harness = drive("alarm", move |ui, model, commands| {
            if merging.power == 0 && ui.button("merge").clicked() {
                merging.power = 4;
            }
            merging.show(ui, model, commands);
        });
        harness.run();
        let cliques = harness.state().tree().cliques().len();
        assert_eq!(harness.query_all_by_label(&cliques.to_string()).count(), 2);
        harness.get_by_label("merge").click();
        harness.run();
        harness.get_by_label("merging ...");
        let Some(Command::Experiment(ExperimentCommand::Merge(request))) =
            harness.state().pushed.last().cloned()
        else {
            panic!("{:?}", harness.state().pushed)
        };
        assert_eq!((request.threshold, request.rule), (16, MergeRule::All));
        let cancel = CancelToken::new();
        let tree = merged(&request.original, request.threshold, request.rule, &cancel).unwrap();
        assert!(tree.tree().cliques().len() < cliques);
        let after = numbers::thousands(tree.statistics().total_clique_entries);
        let state = harness.state_mut();
        state.model.experiments.merged = Some(MergedTree { request, outcome: Ok(tree) });
        state.pushed.clear();
        harness.run();
        label_containing(&harness, &after);
        assert!(harness.state().pushed.is_empty(), "nothing else is to be merged");
    }

    #[test]
    fn changes_are_percentages_or_factors() {
        assert_eq!((change(200, 150).as_str(), change(10, 41).as_str()), ("-25.0%", "× 4.10"));
        assert_eq!(change(7, 7), "none");
    }
}
