//! The experiments: choosing one, running it, and showing the results.

mod compare;
mod merging;
mod parameters;
mod results;
mod table;

use eframe::egui::{self, Id, Panel, RichText, ScrollArea, Ui};

use crate::app::state::command::{Commands, ExperimentCommand};
use crate::app::state::experiments::RunningExperiment;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::equation;
use crate::app::widgets::scroll_to_focus::scroll_to_focus;
use crate::experiment::{self, Experiment, Parameter, Status};
use crate::numbers;
use parameters::Parameters;
use results::Results;

/// Room to the right of figures, in points: half of the last number of a horizontal axis is outside
/// of its panel.
const FIGURE_MARGIN: f32 = 18.0;

/// Time between two repaints while an experiment runs.
const REPAINT_INTERVAL: std::time::Duration = std::time::Duration::from_millis(500);

/// The pane and the user's choices in it.
#[derive(Default)]
pub struct ExperimentsPane {
    /// Index of the chosen experiment.
    chosen: usize,
    parameters: Option<Parameters>,
    results: Results,
    merging: merging::Merging,
}

impl ExperimentsPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let all = experiment::all();
        // Wide enough for the titles; most of the pane is left to the chosen experiment.
        let width = (0.28 * ui.available_width()).clamp(150.0, 260.0);
        Panel::left("experiments").default_size(width).min_size(120.0).show(ui, |ui| {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                ui.strong("Experiments");
                for (index, experiment) in all.iter().enumerate() {
                    let button = egui::Button::selectable(
                        self.chosen == index && !self.results.is_showing(),
                        experiment.title,
                    );
                    if ui.add(button.wrap()).on_hover_text(experiment.question).clicked() {
                        self.chosen = index;
                        self.parameters = None;
                        self.results.show_none();
                    }
                }
                ui.add_space(8.0);
                self.results.list(ui, model, commands);
                scroll_to_focus(ui);
            });
        });
        let frame = egui::Frame::NONE.inner_margin(egui::Margin { left: 8, ..Default::default() });
        egui::CentralPanel::no_frame().frame(frame).show(ui, |ui| {
            if let Some(running) = &model.experiments.running {
                show_progress(ui, running, commands);
            }
            if let Some(failure) = &model.experiments.failure {
                let text = numbers::wrapped(failure, 100);
                ui.label(RichText::new(text).color(Palette::of(ui).error));
            }
            if self.results.is_showing() {
                self.results.show_heading(ui, model, commands);
            }
            ScrollArea::vertical().auto_shrink(false).id_salt("experiment").show(ui, |ui| {
                ui.set_width(ui.available_width() - FIGURE_MARGIN);
                if self.results.is_showing() {
                    self.results.show(ui, model);
                } else if let Some(chosen) = all.get(self.chosen) {
                    self.show_experiment(ui, chosen, model, commands);
                }
                scroll_to_focus(ui);
            });
        });
    }

    /// Draws the chosen experiment with its settings.
    fn show_experiment(
        &mut self,
        ui: &mut Ui,
        chosen: &'static Experiment,
        model: &Model,
        commands: &mut Commands,
    ) {
        ui.heading(chosen.title);
        ui.label(chosen.question);
        show_equations(ui, chosen);
        ui.add_space(6.0);
        let parameters = self.parameters.get_or_insert_with(|| Parameters::new(chosen, model));
        parameters.show(ui, chosen, model);
        ui.add_space(6.0);
        let ready = !parameters.has_no_network() && model.experiments.running.is_none();
        ui.horizontal(|ui| {
            ui.add_enabled_ui(ready, |ui| {
                let run = egui::Button::new(RichText::new("Run the experiment").strong());
                if ui.add(run).clicked() {
                    commands
                        .push(ExperimentCommand::Run(Box::new(parameters.request(chosen, model))));
                    self.results.show_next(model);
                }
            });
            if parameters.has_no_network() {
                ui.weak("Choose a network first.");
            }
        });
        if chosen.parameters.contains(&Parameter::Threshold) {
            ui.separator();
            self.merging.show(ui, model, commands);
        }
    }
}

/// Draws the equations that `experiment` tests, each with its number to the right, as in print.
fn show_equations(ui: &mut Ui, experiment: &Experiment) {
    for (number, text) in experiment.equations {
        ui.horizontal(|ui| {
            match equation::parse(text) {
                Ok(math) => _ = equation::show(ui, &math),
                Err(_) => _ = ui.label(*text),
            }
            ui.add_space(12.0);
            ui.weak(*number);
        });
    }
}

/// Draws the progress of the running experiment, with a button to cancel the experiment.
fn show_progress(ui: &mut Ui, running: &RunningExperiment, commands: &mut Commands) {
    ui.ctx().request_repaint_after(REPAINT_INTERVAL);
    let status = running.progress.status();
    ui.horizontal(|ui| {
        let bar = egui::ProgressBar::new(status.share as f32).desired_width(180.0);
        ui.add(bar.text(format!("{:.0}%", 100.0 * status.share)));
        if ui.button("Cancel the experiment").clicked() {
            commands.push(ExperimentCommand::Cancel);
        }
        ui.add(egui::Label::new(status_line(&running.title, &status)).truncate());
    });
    ui.separator();
}

/// The progress in one line, such as `Figure 7: barley, naive; 12 s, about 30 s left`.
fn status_line(title: &str, status: &Status) -> String {
    let left = status.remaining.filter(|left| left.as_secs() > 0);
    let left = left.map_or_else(String::new, |left| format!(", about {} s left", left.as_secs()));
    let step = if status.step.is_empty() { "starting" } else { &status.step };
    format!("{title}: {step}; {} s{left}", status.elapsed.as_secs())
}

/// The id of the plots that show figure number `figure` of one result, or of several overlaid
/// results. `results` are the numbers of the results.
fn plot_id(results: &[u64], figure: usize) -> Id {
    Id::new(("experiment figure", results, figure))
}

#[cfg(test)]
mod tests;
