//! A slider that shows how the tree of the open network changes when small separators are merged
//! away.

use std::sync::Arc;

use eframe::egui::{Grid, Slider, Ui};

use crate::app::state::model::Model;
use crate::experiment::{MergeRule, merged};
use crate::numbers;
use crate::propagation::CompiledNetwork;

/// Upper end of the slider: the binary logarithm of the largest threshold, in separator entries.
const MAX_POWER: u32 = 16;

/// The slider and the tree for its last position.
#[derive(Default)]
pub(super) struct Merging {
    /// Binary logarithm of the threshold; 0 merges nothing.
    power: u32,
    /// Whether to merge as much as the size limits allow, rather than only where a gain is
    /// predicted.
    all: bool,
    merged_tree: Option<MergedTree>,
}

/// A merged tree, with its original and the request for it.
struct MergedTree {
    original: Arc<CompiledNetwork>,
    /// Threshold in separator entries, and rule.
    request: (u64, MergeRule),
    merged: Arc<CompiledNetwork>,
}

impl Merging {
    /// Draws the slider and the sizes before and after.
    pub fn show(&mut self, ui: &mut Ui, model: &Model) {
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
        ui.horizontal(|ui| {
            ui.radio_value(
                &mut self.all,
                false,
                "only where equation 6 of the paper predicts a gain",
            );
            ui.radio_value(&mut self.all, true, "as many as the size limits allow");
        });
        let rule = if self.all { MergeRule::All } else { MergeRule::Paying };
        let threshold = if self.power == 0 { 0 } else { 1 << self.power };
        let request = (threshold, rule);
        let tree = match self.merged_tree.take() {
            Some(tree) if Arc::ptr_eq(&tree.original, compiled) && tree.request == request => tree,
            _ => MergedTree {
                original: Arc::clone(compiled),
                request,
                merged: match threshold {
                    0 => Arc::clone(compiled),
                    _ => merged(compiled, threshold, rule),
                },
            },
        };
        let (before, after) = (compiled.statistics(), tree.merged.statistics());
        Grid::new("merging totals").num_columns(4).striped(true).spacing([18.0, 4.0]).show(
            ui,
            |ui| {
                for heading in ["", "before", "merged", "change"] {
                    ui.weak(heading);
                }
                ui.end_row();
                let messages = |tree: &CompiledNetwork| tree.plan().messages().len() as u64;
                for (name, from, to) in [
                    ("cliques", before.cliques as u64, after.cliques as u64),
                    ("messages", messages(compiled), messages(&tree.merged)),
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
            },
        );
        ui.weak(
            "Fewer messages need fewer launches, but larger tables have more entries. The \
             experiment above measures which effect is stronger.",
        );
        self.merged_tree = Some(tree);
    }
}

/// The change from `from` to `to`: a percentage such as `-12.3%`, or `× 4.10` for a factor of at
/// least two.
fn change(from: u64, to: u64) -> String {
    let factor = to as f64 / from.max(1) as f64;
    if factor >= 2.0 {
        format!("× {factor:.2}")
    } else {
        format!("{:+.1}%", 100.0 * (factor - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use egui_kittest::kittest::Queryable as _;

    use super::*;
    use crate::app::testing::{drive, label_containing};

    #[test]
    fn the_size_of_the_tree_merged_up_to_the_threshold_is_shown() {
        let mut merging = Merging { all: true, ..Merging::default() };
        let mut harness = drive("alarm", move |ui, model, _| {
            if merging.power == 0 && ui.button("merge").clicked() {
                merging.power = 4;
            }
            merging.show(ui, model);
        });
        harness.run();
        let cliques = harness.state().tree().cliques().len();
        assert_eq!(harness.query_all_by_label(&cliques.to_string()).count(), 2);
        harness.get_by_label("merge").click();
        harness.run();
        let merged = merged(harness.state().model.compiled().unwrap(), 16, MergeRule::All);
        assert!(merged.tree().cliques().len() < cliques);
        let after = numbers::thousands(merged.statistics().total_clique_entries);
        label_containing(&harness, &after);
    }

    #[test]
    fn changes_are_percentages_or_factors() {
        assert_eq!((change(200, 150).as_str(), change(10, 41).as_str()), ("-25.0%", "× 4.10"));
    }
}
