//! Choosing an elimination order by hand: the moral graph as a picture, what each elimination would
//! cost, and the cost so far next to min-fill and the best known order.

mod picture;
mod table;
#[cfg(test)]
mod tests;

use eframe::egui::{Align, Button, Layout, RichText, Ui, UiBuilder};

use crate::app::panes::common::empty_state;
use crate::app::state::command::{Commands, EliminationCommand, ViewCommand};
use crate::app::state::elimination::{HandElimination, MAX_VARIABLES};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::graph_view::legend::sample;
use crate::app::widgets::graph_view::{Click, GraphCanvas, Target};
use crate::network::{Network, VariableId};
use crate::numbers::thousands;

use picture::{Edge, PictureKey, PictureStyle, plain_line};

/// Width of the costs and the list in points, if they are next to the picture.
const LIST_WIDTH: f32 = 400.0;
/// Minimum width of the picture in points next to the list. In a narrower pane, the list is below.
const MIN_PICTURE_WIDTH: f32 = 240.0;

/// Minimum width to the right of the buttons, in points, at which the legend of the lines is shown.
/// With less, the legend would take height from the list.
const MIN_LEGEND_WIDTH: f32 = 540.0;

/// The picture of the elimination and its view state.
#[derive(Default)]
pub struct EliminationPane {
    canvas: GraphCanvas<PictureKey>,
    /// What the picture in the canvas shows.
    shown: Option<PictureKey>,
    /// The last value of [`Model::fit_serial`] that was seen.
    fit_serial: u64,
    /// The variable that was pointed at in the last frame: under the pointer in the picture or
    /// in the list, or with the keyboard focus in the list.
    pointed: Option<VariableId>,
}

impl EliminationPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(document) = &model.document else {
            empty_state(ui, "Open a network to choose an elimination order for it.");
            return;
        };
        let network = document.network();
        if network.variables().len() > MAX_VARIABLES {
            let text = format!(
                "This network has {} variables. An order can be chosen by hand for at most {}.",
                thousands(network.variables().len() as u64),
                MAX_VARIABLES
            );
            empty_state(ui, &text);
            return;
        }
        let Some(elimination) = model.hand_elimination() else {
            commands.push(EliminationCommand::Begin);
            return;
        };
        if self.shown.as_ref().is_none_or(|shown| shown.serial() != elimination.serial) {
            self.pointed = None;
        }
        toolbar(ui, network, elimination, commands);
        let whole = ui.available_rect_before_wrap();
        let (mut graph, mut list) = (whole, whole);
        if whole.width() >= LIST_WIDTH + MIN_PICTURE_WIDTH {
            list.min.x = whole.right() - LIST_WIDTH;
            graph.max.x = list.left() - 8.0;
        } else {
            // The list, with the costs above it, needs more of the height than the picture.
            graph.max.y -= 0.62 * whole.height();
            list.min.y = graph.bottom() + 6.0;
        }
        ui.advance_cursor_after_rect(whole);
        let down = Layout::top_down(Align::Min);
        let inside = |rect| UiBuilder::new().max_rect(rect).layout(down);
        let in_picture = ui
            .scope_builder(inside(graph), |ui| {
                self.picture(ui, model, network, elimination, commands)
            })
            .inner;
        let in_list = ui
            .scope_builder(inside(list), |ui| {
                ui.set_clip_rect(list.intersect(ui.clip_rect()));
                table::show(ui, network, elimination, self.pointed, commands)
            })
            .inner;
        let pointed = in_picture.or(in_list);
        if self.pointed != pointed {
            self.pointed = pointed;
            ui.ctx().request_repaint();
        }
        if let Some(variable) = pointed {
            commands.push(ViewCommand::Hover(Item::Variable(variable)));
        }
    }

    /// Draws the picture, and eliminates the variable that is clicked. Returns the variable under
    /// the pointer.
    fn picture(
        &mut self,
        ui: &mut Ui,
        model: &Model,
        network: &Network,
        elimination: &HandElimination,
        commands: &mut Commands,
    ) -> Option<VariableId> {
        let key = PictureKey::new(elimination, self.pointed);
        self.update(ui, model, network, elimination, &key);
        let pointing = self.canvas.interact(ui);
        let variable = |target| match target {
            Target::Node(index) => Some(VariableId::new(index)),
            Target::Edge(_) => None,
        };
        let hovered = pointing.hovered.and_then(variable);
        let clicked = pointing.click.and_then(Click::target);
        if let Some(variable) = clicked.and_then(variable) {
            commands.push(EliminationCommand::Eliminate(variable));
        }
        let edges = picture::edges(network, elimination, self.pointed);
        let style = PictureStyle::new(ui, elimination, self.pointed);
        let response = self.canvas.draw(
            ui,
            key,
            |index| style.variable(VariableId::new(index)),
            |index| style.edge(edges[index]),
        );
        if let Some(step) = hovered.and_then(|variable| elimination.done.preview(variable)) {
            response.on_hover_ui_at_pointer(|ui| {
                ui.strong(network[step.variable].name());
                ui.label(table::effect(network, &step));
            });
        }
        hovered
    }

    /// Replaces the picture if it is out of date, and fits it if requested.
    fn update(
        &mut self,
        ui: &Ui,
        model: &Model,
        network: &Network,
        elimination: &HandElimination,
        key: &PictureKey,
    ) {
        let is_new = self.shown.as_ref().is_none_or(|shown| shown.serial() != key.serial());
        if is_new {
            self.canvas.fit_at_once();
        }
        if self.fit_serial != model.fit_serial {
            self.fit_serial = model.fit_serial;
            self.canvas.fit();
        }
        if self.shown.as_ref() == Some(key) {
            return;
        }
        let size = ui.available_size();
        let aspect = size.x.max(1.0) / size.y.max(1.0);
        let places = (!is_new).then(|| self.canvas.centres(network.ids()));
        let (nodes, edges) =
            picture::picture(network, elimination, self.pointed, places.as_ref(), aspect);
        self.canvas.set_graph(nodes, edges, &[]);
        self.shown = Some(key.clone());
    }
}

/// Draws the buttons, how far the elimination is, and the legend.
fn toolbar(ui: &mut Ui, network: &Network, elimination: &HandElimination, commands: &mut Commands) {
    let (steps, all) = (elimination.done.steps().len(), elimination.graph.len());
    ui.horizontal_wrapped(|ui| {
        let has_steps = steps > 0;
        for (enabled, title, hint, command) in [
            (
                has_steps,
                "Take back",
                "Take the last elimination back",
                EliminationCommand::TakeBack,
            ),
            (has_steps, "Start again", "Take all back", EliminationCommand::StartAgain),
            (
                steps < all,
                "Finish with min-fill",
                "Eliminate the remaining variables, each time one that adds the fewest fill edges",
                EliminationCommand::Finish,
            ),
        ] {
            let button = ui.add_enabled(enabled, Button::new(title));
            if button.on_hover_text(hint).clicked() {
                commands.push(command);
            }
        }
        let text = format!("{steps} of {all} variables eliminated");
        ui.label(RichText::new(text).weak());
        if ui.available_width() >= MIN_LEGEND_WIDTH {
            ui.add_space(8.0);
            legend(ui, network);
        }
    });
    ui.add_space(2.0);
}

/// Draws a sample of each kind of line with its name.
fn legend(ui: &mut Ui, network: &Network) {
    let id = VariableId::new(0);
    let moral = "Between two variables that have a child in common or are in the same factor";
    let kinds = [
        (Edge::Arc(id, id), "arc", "Between a parent and its child"),
        (Edge::Moral(id, id), "moral edge", moral),
        (Edge::Fill(id, id), "fill edge", "Added by an elimination"),
        (
            Edge::Preview(id, id),
            "would be added",
            "Fill edge that eliminating the variable under the pointer would add",
        ),
    ];
    let palette = Palette::of(ui);
    for (edge, name, description) in kinds.into_iter().skip(usize::from(!network.is_bayesian())) {
        sample(ui, plain_line(&palette, edge), false, name, description);
    }
}
