//! Searching for a better junction tree while the window is in use.
//!
//! The search runs on a thread of the session. What it finds is kept with the settings at once, and
//! comes into use when it is worth a new picture and new posteriors.

use std::sync::Arc;
use std::time::Duration;

use eframe::egui::{RichText, Ui};

use crate::app::state::command::Commands;
use crate::app::state::model::Model;
use crate::app::workbench::Workbench;
use crate::graph::{KnownOrders, Triangulation};
use crate::numbers;
use crate::session::Improvement;

/// A command about the search for a better junction tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeCommand {
    /// Search until no better tree can be found.
    Improve,
    /// Stop searching and use the best tree found.
    StopImproving,
    /// Search whenever a network is open, or only on request.
    SetKeepImproving(bool),
}

/// While the search goes on, a tree comes into use once it has at most this share of the entries of
/// the present one. What is left is taken when the search ends.
const WORTH: f64 = 0.98;

/// How often the search is looked at.
const LOOK: Duration = Duration::from_secs(1);

impl Workbench {
    /// Begins to search for a better tree of the open network.
    pub(crate) fn improve_tree(&mut self) {
        if self.model.triangulation != Triangulation::Auto {
            // Another method has the tree it makes; only this one takes the best there is.
            self.model.triangulation = Triangulation::Auto;
            self.settings.triangulation = Triangulation::Auto.name().to_owned();
            self.request();
        }
        let Some(document) = &self.model.document else { return };
        let Some(compiled) = document.compiled.clone() else { return };
        self.searches += 1;
        self.model.improvement =
            Some(self.session.improve(document.serial, &compiled, self.searches));
    }

    /// Searches no further, and uses what was found.
    pub(crate) fn stop_improving(&mut self) {
        self.forget_improvement();
        self.use_best_tree(1.0);
    }

    /// Searches no further: the network that the search was for is no longer wanted.
    pub(crate) fn forget_improvement(&mut self) {
        self.session.stop_improving();
        self.model.improvement = None;
    }

    pub(crate) fn set_keep_improving(&mut self, keep: bool) {
        self.model.keep_improving = keep;
        self.settings.keep_improving = keep;
        if keep {
            self.go_on_improving();
        } else {
            self.stop_improving();
        }
    }

    /// Begins to search if that is to be done for every network, and is not done yet.
    pub(crate) fn go_on_improving(&mut self) {
        let auto = self.model.triangulation == Triangulation::Auto;
        if self.model.keep_improving && auto && self.model.improvement.is_none() {
            self.improve_tree();
        }
    }

    /// Keeps a tree that was found, and uses it if that pays.
    pub(crate) fn improved(&mut self, orders: &KnownOrders) {
        self.settings.orders.merge(orders);
        if self.model.improvement.is_some() {
            self.use_best_tree(WORTH);
        }
    }

    pub(crate) fn improvement_ended(&mut self) {
        self.use_best_tree(1.0);
        if let (Some(improvement), Some(document)) = (&self.model.improvement, &self.model.document)
            && let Some(compiled) = &document.compiled
        {
            let (now, best) = (compiled.statistics().total_clique_entries, improvement.best());
            self.toasts.info(if best < now {
                format!("A tree of {} entries was found", numbers::thousands(best))
            } else {
                "No better junction tree is to be found".to_owned()
            });
        }
    }

    /// Compiles with the best order that is kept, if its tree has fewer entries than `worth` times
    /// those of the present one.
    fn use_best_tree(&mut self, worth: f64) {
        let Some(compiled) = self.model.compiled() else { return };
        let now = compiled.statistics().total_clique_entries;
        let Some(best) = self.settings.orders.entries(compiled.moral_graph()) else { return };
        if self.model.triangulation == Triangulation::Auto && (best as f64) < worth * now as f64 {
            let mut known = (*self.known).clone();
            known.merge(&self.settings.orders);
            if known != *self.known {
                self.known = Arc::new(known);
                self.request();
            }
        }
    }
}

/// Draws the menu of the junction tree.
pub(crate) fn menu(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let searching = searching(model).is_some();
    ui.add_enabled_ui(model.compiled().is_some() && !searching, |ui| {
        let improve = ui.button("Improve the tree").on_hover_text(
            "Search for a junction tree with smaller tables, beside everything else",
        );
        if improve.clicked() {
            commands.push(TreeCommand::Improve);
            ui.close();
        }
    });
    ui.add_enabled_ui(searching, |ui| {
        if ui.button("Stop improving the tree").clicked() {
            commands.push(TreeCommand::StopImproving);
            ui.close();
        }
    });
    ui.separator();
    let mut keep = model.keep_improving;
    if ui.checkbox(&mut keep, "Keep improving in the background").changed() {
        commands.push(TreeCommand::SetKeepImproving(keep));
        ui.close();
    }
}

/// The search that is not over.
fn searching(model: &Model) -> Option<&Improvement> {
    model.improvement.as_deref().filter(|improvement| !improvement.has_ended())
}

/// Says in the status line how the search stands.
pub(crate) fn status(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some((improvement, compiled)) = searching(model).zip(model.compiled()) else { return };
    ui.ctx().request_repaint_after(LOOK);
    let text = describe(compiled.statistics().total_clique_entries, improvement);
    ui.weak("improving the tree");
    ui.label(RichText::new(text).strong()).on_hover_text(
        "Entries of all cliques' tables: of the tree in use, and of the best found so far. \
         The search rests while something is propagated.",
    );
    if ui.button("Stop").on_hover_text("Use the best tree and search no further").clicked() {
        commands.push(TreeCommand::StopImproving);
    }
    ui.separator();
}

/// `8,861,142 -> 8,790,003 entries, 12 s`.
fn describe(now: u64, improvement: &Improvement) -> String {
    let best = improvement.best();
    let entries = if best < now {
        format!("{} -> {} entries", numbers::thousands(now), numbers::thousands(best))
    } else {
        format!("{} entries, nothing better yet", numbers::thousands(now))
    };
    let rests = if improvement.is_paused() { ", rests" } else { "" };
    format!("{entries}, {} s{rests}", improvement.searched().as_secs())
}
