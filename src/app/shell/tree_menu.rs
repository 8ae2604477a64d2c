//! The menu for the junction tree, and the part of the status line about the search for a better
//! tree.

use std::time::Duration;

use eframe::egui::{RichText, Ui};

use crate::app::state::command::{Commands, TreeCommand};
use crate::app::state::model::Model;
use crate::graph::Triangulation;
use crate::numbers;
use crate::session::ImprovementProgress;

/// Time between redraws of the status line during a search. The line shows whole seconds.
const REDRAW_INTERVAL: Duration = Duration::from_secs(1);

/// Draws the menu.
pub(crate) fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let is_running = running_search(model).is_some();
    ui.add_enabled_ui(model.compiled_whole().is_some() && !is_running, |ui| {
        let is_auto = model.compute.triangulation == Triangulation::Auto;
        let title =
            if is_auto { "Improve the tree" } else { "Improve the tree with triangulation auto" };
        let improve = ui
            .button(title)
            .on_hover_text("Search in the background for a junction tree with smaller tables");
        if improve.clicked() {
            commands.push(TreeCommand::Improve);
            ui.close();
        }
    });
    ui.add_enabled_ui(is_running, |ui| {
        if ui.button("Stop improving the tree").clicked() {
            commands.push(TreeCommand::StopImproving);
            ui.close();
        }
    });
    ui.separator();
    let mut keep = model.settings.keep_improving;
    if ui.checkbox(&mut keep, "Keep improving in the background").changed() {
        commands.push(TreeCommand::SetKeepImproving(keep));
        ui.close();
    }
}

/// The search for a better tree, while it runs.
fn running_search(model: &Model) -> Option<&ImprovementProgress> {
    model.improvement.as_deref().filter(|improvement| !improvement.has_ended())
}

/// Draws the progress of the running search in the status line, if there is one.
pub(crate) fn status(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some((improvement, compiled)) = running_search(model).zip(model.compiled()) else { return };
    ui.ctx().request_repaint_after(REDRAW_INTERVAL);
    let text = describe(compiled.statistics().total_clique_entries, improvement);
    ui.weak("improving the tree");
    ui.label(RichText::new(text).strong()).on_hover_text(
        "Total entries of all clique tables, in the current tree and in the best tree so far. \
         The search pauses during propagations and experiments.",
    );
    if ui.button("Stop").on_hover_text("Stop searching and use the best tree found").clicked() {
        commands.push(TreeCommand::StopImproving);
    }
    ui.separator();
}

/// The number of entries `now` and in the best tree found, and the time spent searching, such as
/// `8,861,142 -> 8,790,003 entries, 12 s`.
fn describe(now: u64, improvement: &ImprovementProgress) -> String {
    let best = improvement.best();
    let entries = if best < now {
        format!("{} -> {} entries", numbers::thousands(now), numbers::thousands(best))
    } else {
        format!("{} entries, none better yet", numbers::thousands(now))
    };
    let paused = if improvement.is_paused() { ", paused" } else { "" };
    format!("{entries}, {} s{paused}", improvement.searched().as_secs())
}
