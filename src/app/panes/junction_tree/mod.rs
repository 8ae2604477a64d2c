//! The junction tree as a picture.
//!
//! A box is a clique; its colour shows the size of its table. A line is a separator; its width
//! shows the size of its table. Both scales are logarithmic. Items that are selected or hovered in
//! any pane are highlighted here, and the messages of a running propagation are shown as they are
//! computed.

mod card;
mod legend;
mod picture;
mod search;
mod style;

use std::sync::Arc;

use eframe::egui::{self, Align2, Ui, Vec2};

use crate::app::panes::common::{LIVE_INTERVAL, empty_state, fit_button, zoom_buttons};
use crate::app::state::command::{Commands, StepCommand, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::widgets::graph_view::{GraphCanvas, Target};
use crate::app::widgets::targets;
use crate::graph::{CliqueId, SeparatorId};
use crate::numbers::{self, short_size, thousands};
use crate::propagation::CompiledNetwork;

use picture::picture;
use search::Search;
use style::{TreeKey, TreeStyle};

/// Factor by which the aspect ratio of the pane may change before a fitted tree is laid out again.
const ASPECT_TOLERANCE: f32 = 1.25;

const GIVEN_EVIDENCE_TOOLTIP: &str = "The whole network is too large to be propagated. This is the \
    junction tree of what the evidence leaves: each observed variable is a clique of its own.";

/// The picture of the junction tree and its view state.
pub struct JunctionTreePane {
    canvas: GraphCanvas<TreeKey>,
    /// The network whose tree was laid out.
    shown: Option<Arc<CompiledNetwork>>,
    /// Aspect ratio of the pane for which the tree was laid out.
    aspect: f32,
    /// The last value of [`Model::fit_serial`] that was seen; the tree is fitted when it changes.
    fit_serial: u64,
    search: Search,
    /// The selection in the last frame; a newly selected clique is brought into view.
    last_selected: Option<Item>,
    /// The corner of the legend.
    legend_corner: Align2,
}

impl Default for JunctionTreePane {
    fn default() -> Self {
        Self {
            canvas: GraphCanvas::new("junction tree"),
            shown: None,
            aspect: 1.0,
            fit_serial: 0,
            search: Search::default(),
            last_selected: None,
            legend_corner: Align2::LEFT_BOTTOM,
        }
    }
}

impl JunctionTreePane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(compiled) = model.compiled().map(Arc::clone) else {
            let text = match model.document {
                Some(_) => "The network has not been compiled into a junction tree yet.",
                None => "Open a network: File > Open, File > Samples, or drop a file here.",
            };
            empty_state(ui, text);
            return;
        };
        self.toolbar(ui, &compiled, commands);
        self.update(ui, model, &compiled);
        let pointing = self.canvas.interact(ui);
        if let Some(target) = pointing.hovered {
            commands.push(ViewCommand::Hover(item_of(target)));
        }
        if let Some(target) = pointing.clicked {
            let item = target.map(item_of);
            self.last_selected.clone_from(&item);
            commands.push(ViewCommand::Select(item));
        }
        let key = TreeKey::new(model, &compiled, self.search.matches());
        if key.is_running() {
            ui.ctx().request_repaint_after(LIVE_INTERVAL);
        }
        let style = TreeStyle::new(ui, model, &compiled, &key);
        let response = self.canvas.draw(
            ui,
            key.clone(),
            |index| style.clique(CliqueId::new(index)),
            |index| style.separator(SeparatorId::new(index)),
        );
        self.place_legend(ui, pointing.rect);
        legend::show(
            ui,
            pointing.rect,
            self.legend_corner,
            compiled.statistics().max_clique_entries,
        );
        if let Some(target) = pointing.hovered {
            response
                .on_hover_ui_at_pointer(|ui| card::show(ui, model, &compiled, &item_of(target)));
        }
    }

    /// Chooses the corner in which the legend hides the fewest cliques of a fitted tree. The legend
    /// stays there while the camera moves.
    fn place_legend(&mut self, ui: &Ui, pane: egui::Rect) {
        const CORNERS: [Align2; 4] =
            [Align2::LEFT_BOTTOM, Align2::RIGHT_BOTTOM, Align2::LEFT_TOP, Align2::RIGHT_TOP];
        if self.canvas.is_fitted() {
            let hidden = |corner: &Align2| {
                legend::area(pane, *corner).map_or(0, |area| self.canvas.count_in(area))
            };
            self.legend_corner =
                CORNERS.into_iter().min_by_key(hidden).unwrap_or(Align2::LEFT_BOTTOM);
            // A tree that fills all corners is fitted above the legend until it is laid out again.
            if let Some(area) =
                legend::area(pane, self.legend_corner).filter(|_| hidden(&self.legend_corner) > 0)
            {
                self.canvas.set_bottom_margin(area.height());
                ui.ctx().request_repaint();
            }
        }
    }

    fn toolbar(&mut self, ui: &mut Ui, compiled: &CompiledNetwork, commands: &mut Commands) {
        ui.horizontal(|ui| {
            if let Some(clique) = self.search.show(ui, compiled) {
                self.canvas.centre_on(clique.index());
                commands.push(ViewCommand::Select(Some(Item::Clique(clique))));
            }
            if fit_button(ui, "tree") {
                self.canvas.fit();
            }
            if let Some(factor) = zoom_buttons(ui) {
                self.canvas.zoom_by(factor);
            }
            let has_messages = !compiled.plan().messages().is_empty();
            let step = ui.add_enabled(has_messages, egui::Button::new("Step through"));
            targets::mark(&step, "step through");
            if step
                .on_hover_text("Go through the messages one by one, with their tables (F8)")
                .clicked()
            {
                commands.push(StepCommand::Begin);
            }
            let statistics = compiled.statistics();
            let mut summary = format!(
                "{} · {} entries",
                numbers::counted(statistics.cliques, "clique", "cliques"),
                short_size(statistics.total_clique_entries)
            );
            if !compiled.observed().is_empty() {
                let label = ui.strong("Given the evidence");
                label.on_hover_text(GIVEN_EVIDENCE_TOOLTIP);
                summary.insert_str(0, "· ");
            }
            let label = egui::Label::new(egui::RichText::new(summary).weak()).truncate();
            ui.add(label).on_hover_text(format!(
                "{} table entries in all cliques, {} in the largest; depth {}",
                thousands(statistics.total_clique_entries),
                thousands(statistics.max_clique_entries),
                statistics.depth
            ));
        });
    }

    /// Lays the tree out if needed, fits it if requested, and brings a newly selected clique into
    /// view.
    fn update(&mut self, ui: &Ui, model: &Model, compiled: &Arc<CompiledNetwork>) {
        let size = ui.available_size().max(Vec2::splat(1.0));
        let aspect = size.x / size.y;
        let is_new = !self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, compiled));
        if is_new || self.fit_serial != model.fit_serial {
            self.fit_serial = model.fit_serial;
            self.canvas.fit();
        }
        if is_new {
            self.search = Search::default();
        }
        let changed = (aspect / self.aspect).max(self.aspect / aspect);
        if is_new || (self.canvas.is_fitted() && changed > ASPECT_TOLERANCE) {
            self.aspect = aspect;
            self.shown = Some(Arc::clone(compiled));
            let (nodes, edges) = picture(compiled, aspect);
            self.canvas.set_graph(nodes, edges);
            self.canvas.set_bottom_margin(0.0);
        }
        let selected = model.selected();
        if self.last_selected.as_ref() != selected {
            self.last_selected = selected.cloned();
            if let Some(Item::Clique(clique)) = selected
                && !self.canvas.is_visible(clique.index())
            {
                self.canvas.centre_on(clique.index());
            }
        }
    }
}

fn item_of(target: Target) -> Item {
    match target {
        Target::Node(index) => Item::Clique(CliqueId::new(index)),
        Target::Edge(index) => Item::Separator(SeparatorId::new(index)),
    }
}
