//! The junction tree as a picture.
//!
//! A box is a clique; its colour shows the size of its table or another measure. A line is a
//! separator; its width shows the logarithm of the size of its table. Items that are selected or
//! hovered in any pane are highlighted here, and the messages of a running propagation are shown as
//! they are computed.

mod card;
mod legend;
mod measure;
mod picture;
mod search;
mod style;
#[cfg(test)]
mod tests;
mod zeros;

use std::sync::Arc;

use eframe::egui::{self, Pos2, Ui};

use crate::app::panes::common::{
    LIVE_INTERVAL, Search, empty_state, fit_button, toolbar_summary, zoom_buttons,
};
use crate::app::state::command::{Commands, StepCommand, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::widgets::graph_view::{GraphCanvas, Target};
use crate::app::widgets::targets;
use crate::graph::{CliqueId, SeparatorId};
use crate::numbers::{self, short_size, thousands};
use crate::propagation::CompiledNetwork;

use measure::Colouring;
use picture::picture;
use style::{TreeKey, TreeStyle};

/// Minimum height below the toolbar, in points, for a strip with the legend. With less height, such
/// as on a small projector, the names of cliques need the room.
const MIN_HEIGHT_WITH_LEGEND: f32 = 240.0;

/// Tooltip of the label "Given the evidence".
const GIVEN_EVIDENCE_TOOLTIP: &str = "The whole network is too large to be propagated. This is the \
    junction tree of the network without the edges of the observed variables, so that each of \
    these is a clique of its own.";

/// The picture of the junction tree and its view state.
pub struct JunctionTreePane {
    canvas: GraphCanvas<TreeKey>,
    /// The network whose tree was laid out.
    shown: Option<Arc<CompiledNetwork>>,
    colouring: Colouring,
    /// The largest cliques, largest first.
    largest: Vec<usize>,
    /// Whether larger tables have larger boxes.
    by_area: bool,
    /// The last value of [`Model::fit_serial`] that was seen; the tree is fitted when it changes.
    fit_serial: u64,
    search: Search,
    /// The selection in the last frame; a newly selected clique, or the receiver of a newly selected
    /// message, is brought into view.
    last_selected: Option<Item>,
}

impl Default for JunctionTreePane {
    fn default() -> Self {
        Self {
            canvas: GraphCanvas::new(),
            shown: None,
            colouring: Colouring::default(),
            largest: Vec::new(),
            by_area: true,
            fit_serial: 0,
            search: Search::default(),
            last_selected: None,
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
        self.update(model, &compiled);
        if let Some(document) = &model.document {
            self.colouring.update(ui, document, &compiled);
        }
        let height = ui.available_height();
        let has_legend = height > MIN_HEIGHT_WITH_LEGEND;
        let legend_height =
            if has_legend { legend::HEIGHT + ui.spacing().item_spacing.y } else { 0.0 };
        let size = egui::vec2(ui.available_width(), height - legend_height);
        ui.allocate_ui(size, |ui| self.tree(ui, model, &compiled, commands));
        if has_legend && legend::show(ui, &mut self.colouring, &mut self.by_area) {
            self.lay_out(&compiled);
        }
    }

    /// Draws the tree, and handles the pointer over it.
    fn tree(
        &mut self,
        ui: &mut Ui,
        model: &Model,
        compiled: &Arc<CompiledNetwork>,
        commands: &mut Commands,
    ) {
        let pointing = self.canvas.interact(ui);
        if let Some(target) = pointing.hovered {
            commands.push(ViewCommand::Hover(item_of(target)));
        }
        if let Some(click) = pointing.click {
            let item = click.target().map(item_of);
            self.last_selected.clone_from(&item);
            commands.push(ViewCommand::Select(item));
        }
        let key = TreeKey::new(model, compiled, self.search.matches(), &self.colouring);
        if key.is_running() {
            ui.ctx().request_repaint_after(LIVE_INTERVAL);
        }
        self.canvas.set_labelled(self.labelled(model, compiled));
        let style = TreeStyle::new(ui, model, compiled, &key);
        let response = self.canvas.draw(
            ui,
            key.clone(),
            |index| style.clique(CliqueId::new(index)),
            |index| style.separator(SeparatorId::new(index)),
        );
        if let Some(target) = pointing.hovered {
            response.on_hover_ui_at_pointer(|ui| card::show(ui, model, compiled, &item_of(target)));
        }
    }

    /// The cliques that are labelled even if their boxes are small: the two cliques of the current
    /// message, and the largest cliques.
    fn labelled(&self, model: &Model, compiled: &CompiledNetwork) -> Vec<usize> {
        let selected = match model.selected() {
            Some(&Item::Message(message)) => Some(message),
            _ => None,
        };
        let stepped = model.stepping.and_then(|stepping| stepping.current_message(compiled));
        let messages = compiled.plan().messages();
        let current = stepped.or(selected).and_then(|message| messages.get(message.index()));
        let ends = current.map_or([None; 2], |message| [Some(message.from), Some(message.to)]);
        let ends = ends.into_iter().flatten().map(CliqueId::index);
        let mut labelled: Vec<usize> = ends.collect();
        for &clique in &self.largest {
            if !labelled.contains(&clique) {
                labelled.push(clique);
            }
        }
        labelled
    }

    /// Draws the search field, the buttons and the summary of the tree.
    fn toolbar(&mut self, ui: &mut Ui, compiled: &CompiledNetwork, commands: &mut Commands) {
        // A row that does not fit would make the picture wider than the pane.
        ui.horizontal_wrapped(|ui| {
            let labels = ("Find in the junction tree", "Variable or clique");
            let found = self.search.show(ui, labels, |text| search::find(compiled, text));
            if let Some(clique) = found {
                self.canvas.centre_on(clique);
                let item = Item::Clique(CliqueId::new(clique));
                commands.push(ViewCommand::Select(Some(item)));
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
            if let Some(label) = toolbar_summary(ui, summary) {
                label.on_hover_text(format!(
                    "{} table entries in all cliques, {} in the largest; depth {}",
                    thousands(statistics.total_clique_entries),
                    thousands(statistics.max_clique_entries),
                    statistics.depth
                ));
            }
        });
    }

    /// Lays the tree out if needed, fits it if requested, and brings a newly selected clique into
    /// view, or the receiver of a newly selected message.
    fn update(&mut self, model: &Model, compiled: &Arc<CompiledNetwork>) {
        let is_new = !self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, compiled));
        if is_new || self.fit_serial != model.fit_serial {
            self.fit_serial = model.fit_serial;
            self.canvas.fit();
        }
        if is_new {
            self.search = Search::default();
            self.lay_out(compiled);
        }
        let selected = model.selected();
        if self.last_selected.as_ref() != selected {
            self.last_selected = selected.cloned();
            let cliques = match selected {
                Some(&Item::Clique(clique)) => vec![clique],
                Some(&Item::Message(message)) => {
                    let message = compiled.plan().messages().get(message.index());
                    message.map_or_else(Vec::new, |message| vec![message.to, message.from])
                }
                _ => Vec::new(),
            };
            if let Some(first) = cliques.first()
                && cliques.iter().any(|clique| !self.canvas.is_visible(clique.index()))
            {
                self.canvas.centre_on(first.index());
            }
        }
    }

    /// Lays the tree out. If it replaces another tree of the same network, cliques that are in both
    /// trees move to their new places.
    fn lay_out(&mut self, compiled: &Arc<CompiledNetwork>) {
        let of_same_network =
            |shown: &&Arc<CompiledNetwork>| std::ptr::eq(shown.network(), compiled.network());
        let mut origins: Vec<Option<Pos2>> = Vec::new();
        if let Some(shown) = self.shown.as_ref().filter(of_same_network) {
            let variables = shown.tree().cliques().iter().map(|clique| &clique.variables);
            let places = self.canvas.centres(variables);
            let cliques = compiled.tree().cliques().iter();
            origins = cliques.map(|clique| places.get(&clique.variables).copied()).collect();
        } else {
            self.canvas.fit_at_once();
        }
        let (nodes, edges) = picture(compiled, self.by_area);
        self.canvas.set_graph(nodes, edges, &origins);
        self.largest = picture::largest(compiled);
        self.shown = Some(Arc::clone(compiled));
    }
}

/// The item that is drawn as `target`.
fn item_of(target: Target) -> Item {
    match target {
        Target::Node(index) => Item::Clique(CliqueId::new(index)),
        Target::Edge(index) => Item::Separator(SeparatorId::new(index)),
    }
}
