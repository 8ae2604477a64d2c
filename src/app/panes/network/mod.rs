//! The network as a picture, with the posterior of each variable when zoomed in.

mod card;
mod legend;
mod picture;
mod style;
#[cfg(test)]
mod tests;

use eframe::egui::{self, RectAlign, Response, Sense, Stroke, StrokeKind, Tooltip, Ui, Vec2};
use fixedbitset::FixedBitSet;

use crate::app::layout::from_file;
use crate::app::panes::common::{
    Identity, Search, StateRow, bars_label, empty_state, fit_button, toolbar_summary,
    variable_menu, zoom_buttons,
};
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::widgets::graph_view::chart::ChartRow;
use crate::app::widgets::graph_view::{GraphCanvas, Target};
use crate::app::widgets::{naming, targets};
use crate::network::{Network, VariableId};
use crate::numbers::{counted, thousands};
use crate::propagation::CompiledNetwork;

use picture::{Edge, file_positions, picture};
use style::{Charts, NetworkKey, NetworkStyle};

/// The picture of the network and its view state.
#[derive(Default)]
pub struct NetworkPane {
    canvas: GraphCanvas<NetworkKey>,
    /// What each line of the picture stands for.
    edges: Vec<Edge>,
    /// What the current layout was computed from; `None` before the first.
    shown: Option<LayoutKey>,
    charts: Charts,
    search: Search,
    /// The last value of [`Model::fit_serial`] that was seen; the network is fitted when it
    /// changes.
    fit_serial: u64,
    /// The selection in the last frame; a newly selected variable is brought into view.
    last_selected: Option<Item>,
    /// The variable whose menu was opened last, with the serial number of its document.
    menu_variable: Option<(u64, VariableId)>,
    /// Whether the user wants layers or a tree although the file gives positions.
    prefer_layers: bool,
    /// Ratio of width to height for which the network was last laid out while the view for
    /// projectors was off. `None` before that.
    aspect: Option<f32>,
}

/// What the current layout depends on.
#[derive(PartialEq)]
struct LayoutKey {
    /// Serial number of the document.
    serial: u64,
    /// The compiled network if its moral and fill edges are shown.
    triangulated: Option<Identity<CompiledNetwork>>,
    /// Whether the variables are at the positions that the file gives.
    from_file: bool,
    /// The size of the window if the view for projectors is on and the positions are not those of
    /// the file; otherwise `None`. The network is laid out again when this size changes, because
    /// the window fills the screen only some frames after the view is turned on.
    projected: Option<Vec2>,
}

impl NetworkPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(document) = &model.document else {
            empty_state(ui, "Open a network to see it as a picture.");
            return;
        };
        bars_label(ui, model);
        self.toolbar(ui, document, model.fill_edges, commands);
        self.update(ui, model, document);
        let has_legend = model.fill_edges && document.compiled.is_some();
        let gap = ui.spacing().item_spacing.y;
        let legend = if has_legend { legend::HEIGHT + gap } else { 0.0 };
        let size = egui::vec2(ui.available_width(), ui.available_height() - legend);
        ui.allocate_ui(size, |ui| self.graph(ui, model, document, commands));
        if has_legend {
            legend::show(ui, document.network().is_bayesian());
        }
    }

    /// Draws the network, and handles the pointer over it.
    fn graph(&mut self, ui: &mut Ui, model: &Model, document: &Document, commands: &mut Commands) {
        let pointing = self.canvas.interact(ui);
        let item = |target| match target {
            Target::Node(index) => Some(Item::Variable(VariableId::new(index))),
            Target::Edge(_) => None,
        };
        let hovered = pointing.hovered.and_then(item);
        if let Some(item) = &hovered {
            commands.push(ViewCommand::Hover(item.clone()));
        }
        if let Some(click) = pointing.click {
            let item = click.target().and_then(item);
            self.last_selected.clone_from(&item);
            commands.push(ViewCommand::Select(item));
        }
        self.charts.update(ui, model, document);
        let key = NetworkKey::new(model, document, self.search.matches());
        let style = NetworkStyle::new(ui, model, document, &self.charts, self.search.matches());
        let edges = &self.edges;
        let response = self.canvas.draw(
            ui,
            key,
            |index| style.variable(VariableId::new(index)),
            |index| style.edge(edges[index]),
        );
        self.menu(&response, document, hovered.as_ref(), commands);
        let is_over_state = self.states(ui, model, document, commands);
        if let Some(Item::Variable(variable)) = hovered.filter(|_| !is_over_state) {
            response.on_hover_ui_at_pointer(|ui| card::show(ui, document, variable));
        }
    }

    /// Opens the menu of the variable that was clicked with the secondary button.
    fn menu(
        &mut self,
        response: &Response,
        document: &Document,
        hovered: Option<&Item>,
        commands: &mut Commands,
    ) {
        if response.secondary_clicked() {
            self.menu_variable = match hovered {
                Some(&Item::Variable(variable)) => Some((document.serial, variable)),
                _ => None,
            };
        }
        // A menu may stay open while another network is opened.
        let menu_variable = self.menu_variable.filter(|(serial, _)| *serial == document.serial);
        if let Some((_, variable)) = menu_variable {
            response.context_menu(|ui| variable_menu(ui, document, variable, commands));
        }
    }

    /// Lets the user enter evidence by clicks on the bars of the charts. Returns whether the
    /// pointer is over such a bar.
    fn states(
        &self,
        ui: &mut Ui,
        model: &Model,
        document: &Document,
        commands: &mut Commands,
    ) -> bool {
        let mut is_over_state = false;
        for ChartRow { node, index, rect, node_rect } in self.canvas.chart_rows() {
            let variable = VariableId::new(node);
            let row = StateRow { model, document, variable, state: index };
            let id = ui.id().with(("state", variable, index));
            let response = ui.interact(rect, id, Sense::click());
            row.name(&response, "Network");
            row.respond(ui, &response, targets::STATE_IN_NETWORK, commands);
            if response.hovered() || response.has_focus() {
                is_over_state |= response.hovered();
                let colour = ui.style().interact(&response).fg_stroke.color;
                let stroke = Stroke::new(1.0, colour);
                ui.painter().rect_stroke(rect, 2.0, stroke, StrokeKind::Outside);
            }
            // Next to the box, the card does not cover other states.
            let mut card = Tooltip::for_enabled(&response);
            card.popup = card.popup.anchor(node_rect).align(RectAlign::RIGHT_START);
            card.popup = card.popup.align_alternatives(&[RectAlign::LEFT_START]);
            card.show(|ui| row.hover_card(ui));
        }
        is_over_state
    }

    /// Draws the search field, the buttons and the summary of the network.
    fn toolbar(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        mut fill_edges: bool,
        commands: &mut Commands,
    ) {
        // A row that does not fit would make the picture wider than the pane.
        ui.horizontal_wrapped(|ui| {
            let labels = ("Find in the network", "Find variable");
            let network = document.network();
            if let Some(found) = self.search.show(ui, labels, |text| find(network, text)) {
                self.canvas.centre_on(found);
                let item = Item::Variable(VariableId::new(found));
                commands.push(ViewCommand::Select(Some(item)));
            }
            if fit_button(ui, "network") {
                self.canvas.fit();
            }
            if let Some(factor) = zoom_buttons(ui) {
                self.canvas.zoom_by(factor);
            }
            let edges = ui.checkbox(&mut fill_edges, "Moral and fill edges");
            targets::mark(&edges, "moral and fill edges");
            if edges.changed() {
                commands.push(ViewCommand::ShowFillEdges(fill_edges));
            }
            edges.on_hover_text(
                "Moral edges connect parents of the same child. Fill edges make the graph chordal. \
                 The maximal cliques of this graph are the cliques of the junction tree.",
            );
            if from_file::has_enough_positions(&file_positions(network)) {
                let mut use_file = !self.prefer_layers;
                ui.checkbox(&mut use_file, "Layout of the file").on_hover_text(
                    "Use the positions that the file gives. Otherwise variables are drawn in \
                     layers or as a tree.",
                );
                self.prefer_layers = !use_file;
            }
            let variables = counted(network.variables().len(), "variable", "variables");
            let (kind, count) = network.arcs_or_factors();
            let count = thousands(count as u64);
            toolbar_summary(ui, format!("{variables} · {count} {kind}"));
        });
    }

    /// Lays the network out if needed, fits it if requested, and brings a newly selected variable
    /// into view.
    fn update(&mut self, ui: &Ui, model: &Model, document: &Document) {
        let compiled = document.compiled.as_ref().filter(|_| model.fill_edges);
        let from_file = !self.prefer_layers
            && from_file::has_enough_positions(&file_positions(document.network()));
        let is_projected = model.projector.is_some();
        let window = || ui.ctx().content_rect().size().round();
        let wanted = LayoutKey {
            serial: document.serial,
            triangulated: compiled.map(Identity::of),
            from_file,
            projected: (is_projected && !from_file).then(window),
        };
        let is_new = self.shown.as_ref().is_none_or(|shown| {
            shown.serial != document.serial || shown.from_file != wanted.from_file
        });
        let is_reshaped =
            self.shown.as_ref().is_some_and(|shown| shown.projected != wanted.projected);
        if self.shown.as_ref().is_none_or(|shown| shown.serial != document.serial) {
            self.search = Search::default();
        }
        if is_new || is_reshaped || self.fit_serial != model.fit_serial {
            self.fit_serial = model.fit_serial;
            self.canvas.fit();
        }
        if self.shown.as_ref() != Some(&wanted) {
            let size = ui.available_size().max(Vec2::splat(1.0));
            // When the view for projectors is turned off, use the aspect ratio from before it was
            // turned on: the window still fills the screen for some frames.
            let before = self.aspect.filter(|_| is_reshaped && !is_projected);
            let aspect = (!from_file).then(|| before.unwrap_or(size.x / size.y));
            if !is_projected {
                self.aspect = aspect.or(self.aspect);
            }
            if is_new {
                self.canvas.fit_at_once();
            }
            let moves = self.shown.as_ref().is_some_and(|shown| shown.serial == wanted.serial);
            self.shown = Some(wanted);
            let network = document.network();
            let picture = picture(network, compiled.map(|compiled| &**compiled), aspect);
            self.edges = picture.edges;
            let variables = || document.network().ids();
            let places = self.canvas.centres(variables());
            let origin = |variable| places.get(&variable).copied().filter(|_| moves);
            let origins: Vec<_> = variables().map(origin).collect();
            self.canvas.set_graph(picture.nodes, picture.lines, &origins);
        }
        let selected = model.selected();
        if self.last_selected.as_ref() != selected {
            self.last_selected = selected.cloned();
            if let Some(Item::Variable(variable)) = selected
                && !self.canvas.is_visible(variable.index())
            {
                self.canvas.centre_on(variable.index());
            }
        }
    }
}

/// The variables whose name or title contains `text`, which is in lower case.
fn find(network: &Network, text: &str) -> FixedBitSet {
    let contains = |name: &str| name.to_lowercase().contains(text);
    let mut found = FixedBitSet::with_capacity(network.variables().len());
    for id in network.ids() {
        let title = naming::title(network, id);
        found.set(id.index(), contains(network[id].name()) || title.is_some_and(contains));
    }
    found
}
