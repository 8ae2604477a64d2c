//! Kernel overhead and execution time: a bar for each network, as in Figure 7 of the paper, and a
//! point for each message of the open network.

mod crossover;
mod messages;
mod networks;

use std::sync::Arc;

use eframe::egui::containers::menu::{MenuButton, MenuConfig};
use eframe::egui::{ComboBox, Id, PopupCloseBehavior, Ui};

use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::theme::Palette;
use crate::app::widgets::figure::{HighlightedPoint, PanelView, describe, show_legend};
use crate::engine::MappingLayout;
use crate::experiment::chart::{Legend, PointRef};
use crate::graph::Triangulation;
use messages::MessagePlot;

/// Minimum width of the pane, in points, for the two plots to be side by side.
const SIDE_BY_SIDE_WIDTH: f32 = 760.0;

/// Height in points of the buttons that choose between the two plots, with the space below them.
const CHOICE_HEIGHT: f32 = 24.0;

/// Height in points that stays free below a plot.
const ROOM_BELOW: f32 = 26.0;

/// Minimum height of the plot of the networks, in points. If the pane has less height, the plot is
/// cut.
const MIN_NETWORKS_HEIGHT: f32 = 140.0;

/// Minimum height of the plot of the messages, in points. If the pane has less height, the plot is
/// cut.
const MIN_MESSAGES_HEIGHT: f32 = 160.0;

/// Maximum width of the tooltip of a point, in points.
const TOOLTIP_WIDTH: f32 = 360.0;

/// Width of the combo box of engines when it shows the longest name, in points. With less room, the
/// name is truncated.
const RUN_NAME_WIDTH: f32 = 330.0;

/// The pane and the user's choices in it.
#[derive(Default)]
pub struct OverheadPane {
    /// The engine that the user chose for the bars.
    engine: Option<String>,
    /// The triangulation that the user chose for the bars.
    triangulation: Option<Triangulation>,
    /// Whether bars show shares of the time instead of times.
    as_share: bool,
    /// Whether the pane shows the messages if there is room for one plot only.
    shows_messages: bool,
    /// Names of the runs that the user has shown (true) or hidden (false).
    chosen: Vec<(String, bool)>,
    /// The plot of the messages, kept until something that it depends on changes.
    plot: Option<Arc<MessagePlot>>,
}

impl OverheadPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let engines = networks::engines(model);
        let wide = ui.available_width() >= SIDE_BY_SIDE_WIDTH;
        let height = ui.available_height();
        if wide {
            ui.columns_const(|[left, right]: &mut [Ui; 2]| {
                self.networks(left, model, &engines, height);
                self.messages(right, model, commands, height);
            });
            return;
        }
        ui.horizontal(|ui| {
            ui.selectable_value(&mut self.shows_messages, false, "Networks");
            ui.selectable_value(&mut self.shows_messages, true, "Messages");
        });
        let height = height - CHOICE_HEIGHT;
        if self.shows_messages {
            self.messages(ui, model, commands, height);
        } else {
            self.networks(ui, model, &engines, height);
        }
    }

    /// The engine whose bars are shown: the chosen one, or else the last one measured on this
    /// machine, or else the paper's engine with interleaved mapping tables as in Figure 7, or else
    /// the first of `engines`.
    fn shown(&self, model: &Model, engines: &[String]) -> Option<String> {
        let chosen = self.engine.as_ref().filter(|engine| engines.contains(engine));
        let here = || model.overheads.last().map(|measured| &measured.engine);
        let paper = || {
            let is_in_figure_7 = |recorded: &RecordedRunRef| {
                let layout = recorded.run.paper.map(|paper| paper.layout);
                layout == Some(MappingLayout::Interleaved) && recorded.run.overhead_us.is_some()
            };
            let title = on_gpus(model).find(is_in_figure_7)?.engine();
            engines.iter().find(|engine| **engine == title)
        };
        chosen.or_else(here).or_else(paper).or(engines.first()).cloned()
    }

    /// Draws a bar for each network.
    fn networks(&mut self, ui: &mut Ui, model: &Model, engines: &[String], height: f32) {
        let top = ui.cursor().top();
        ui.horizontal_wrapped(|ui| {
            ui.strong("Networks");
            if let Some(shown) = self.shown(model, engines) {
                // In a narrow pane, the name of the engine must not widen the row beyond the pane.
                let room = ui.available_size_before_wrap().x;
                let mut choice = ComboBox::from_id_salt("overhead engine").selected_text(&shown);
                if room < RUN_NAME_WIDTH {
                    choice = choice.width(room).truncate();
                }
                choice.show_ui(ui, |ui| {
                    for engine in engines {
                        if ui.selectable_label(*engine == shown, engine).clicked() {
                            self.engine = Some(engine.clone());
                        }
                    }
                });
            }
            ui.selectable_value(&mut self.as_share, false, "Time");
            ui.selectable_value(&mut self.as_share, true, "Overhead as share of time");
        });
        let Some(engine) = self.shown(model, engines) else {
            ui.weak(
                "Nothing has been propagated on a GPU yet, and there is no recording. Choose an \
                 engine that runs on a GPU.",
            );
            return;
        };
        let Some(method) = self.show_triangulations(ui, model, &engine) else { return };
        let panel = networks::panel(model, &engine, method, self.as_share);
        if let Some(credit) = networks::credit(model, &engine, method) {
            ui.colored_label(Palette::of(ui).warning, credit);
        }
        let legend = Legend::of(std::slice::from_ref(&panel));
        show_legend(ui, &legend);
        let height = (height - (ui.cursor().top() - top) - ROOM_BELOW).max(MIN_NETWORKS_HEIGHT);
        let id = Id::new("overhead networks");
        let view = PanelView { id, panel: &panel, legend: &legend, height, highlighted: &[] };
        let (hit, response) = view.show(ui);
        if let Some(hit) = hit {
            response.on_hover_ui_at_pointer(|ui| {
                describe(ui, &panel, hit);
                if !self.as_share {
                    networks::show_share(ui, &panel, hit);
                }
            });
        }
    }

    /// Draws the choice of triangulations. Returns the one to show; `None` if `engine` has no bars.
    fn show_triangulations(
        &mut self,
        ui: &mut Ui,
        model: &Model,
        engine: &str,
    ) -> Option<Triangulation> {
        let choices = networks::triangulations(model, engine);
        let chosen = self.triangulation.filter(|chosen| choices.contains(chosen));
        let shown = chosen.or_else(|| choices.first().copied())?;
        ComboBox::from_id_salt("overhead trees")
            .selected_text(networks::triangulation_name(shown))
            .show_ui(ui, |ui| {
                for method in choices {
                    let name = networks::triangulation_name(method);
                    if ui.selectable_label(method == shown, name).clicked() {
                        self.triangulation = Some(method);
                    }
                }
            });
        Some(shown)
    }

    /// Whether a run is shown: as the user chose or, without a choice, by default.
    fn is_shown(&self, run: &messages::Run) -> bool {
        let name = run.name();
        let chosen = self.chosen.iter().find(|(chosen, _)| *chosen == name);
        chosen.map_or_else(|| run.is_shown_by_default(), |(_, shown)| *shown)
    }

    /// Draws the menu in which runs are shown or hidden.
    fn run_menu(&mut self, ui: &mut Ui, runs: &[messages::Run]) {
        // The menu stays open so that several runs can be ticked.
        let stay_open = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        MenuButton::new("Runs ⏷").config(stay_open).ui(ui, |ui| {
            for run in runs {
                let name = run.name();
                let mut shown = self.is_shown(run);
                if ui.checkbox(&mut shown, &name).on_hover_text(run.credit()).changed() {
                    self.chosen.retain(|(chosen, _)| *chosen != name);
                    self.chosen.push((name, shown));
                }
            }
        });
    }

    /// Draws the time of each message of the open network.
    fn messages(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands, height: f32) {
        let top = ui.cursor().top();
        let Some((document, compiled)) = model.document.as_ref().zip(model.compiled()) else {
            ui.weak("Open a network to see the time of each message.");
            return;
        };
        let runs = messages::runs(document);
        ui.horizontal_wrapped(|ui| {
            ui.strong(format!("Messages of {}", document.title()));
            ui.weak(format!("on a tree by {}", model.compute.triangulation.name()));
            self.run_menu(ui, &runs);
        });
        let shown: Vec<_> = runs.into_iter().filter(|run| self.is_shown(run)).collect();
        if shown.iter().all(|run| run.trace().messages.is_empty()) {
            ui.weak(
                "There is no propagation with messages to show. Tick a run above, or press F5 to \
                 propagate.",
            );
            return;
        }
        let plot = match self.plot.take() {
            Some(plot) if plot.is_for(compiled, &shown, document.launch_time) => plot,
            _ => Arc::new(MessagePlot::new(compiled, &shown, document.launch_time)),
        };
        ui.label(&plot.summary);
        let legend = Legend::of(std::slice::from_ref(&plot.panel));
        show_legend(ui, &legend);
        let height = (height - (ui.cursor().top() - top) - ROOM_BELOW).max(MIN_MESSAGES_HEIGHT);
        let highlighted = highlighted(ui, model, &plot);
        let id = Id::new("overhead messages");
        let view = PanelView {
            id,
            panel: &plot.panel,
            legend: &legend,
            height,
            highlighted: &highlighted,
        };
        let (hit, response) = view.show(ui);
        let message = hit.and_then(|hit| plot.message(hit));
        if response.clicked() {
            commands.push(ViewCommand::Select(message.map(Item::Message)));
        }
        if let Some((message, hit)) = message.zip(hit) {
            commands.push(ViewCommand::Hover(Item::Message(message)));
            response.on_hover_ui_at_pointer(|ui| {
                ui.set_max_width(TOOLTIP_WIDTH);
                messages::show_tooltip(ui, compiled, &plot, hit, message);
            });
        }
        self.plot = Some(plot);
    }
}

/// The points to outline: those of the selected message and of the message under the pointer.
fn highlighted(ui: &Ui, model: &Model, plot: &MessagePlot) -> Vec<HighlightedPoint> {
    let palette = Palette::of(ui);
    let mut highlighted = Vec::new();
    for (item, colour) in [(model.selected(), palette.selected), (model.hovered(), palette.hovered)]
    {
        if let Some(Item::Message(message)) = item {
            let points: Vec<PointRef> = plot.points_of(*message);
            highlighted.extend(points.into_iter().map(|point| HighlightedPoint { point, colour }));
        }
    }
    highlighted
}

/// All recorded runs on a GPU.
fn on_gpus(model: &Model) -> impl Iterator<Item = RecordedRunRef> + '_ {
    model.recordings.iter().flat_map(|recording| {
        recording.networks.iter().flat_map(move |network| {
            let runs =
                network.runs.iter().map(move |run| RecordedRunRef { recording, network, run });
            runs.filter(RecordedRunRef::on_gpu)
        })
    })
}

#[cfg(test)]
mod tests;
