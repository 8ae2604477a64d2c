//! The networks and settings of an experiment, as the user chooses them.

use eframe::egui::{self, ComboBox, DragValue, Grid, Ui};

use crate::app::state::model::Model;
use crate::engine::{self, GPU_PAPER, MappingLayout, PaperOptions};
use crate::experiment::{
    BLOCK_SIZES, DEFAULT_BASELINE, DEFAULT_ENGINE, DEFAULT_REPEAT, Experiment, ExperimentRequest,
    PAPER_TRIANGULATION, Parameter,
};
use crate::format::{NetworkOrigin, NetworkSource, SAMPLES};
use crate::graph::Triangulation;

/// Maximum width of a choice from a list in points: room for the longest name. In a narrower pane,
/// the name is cut with an ellipsis.
const MAX_CHOICE_WIDTH: f32 = 160.0;

/// The user's choices for one experiment.
pub(super) struct Parameters {
    /// Whether each sample is chosen, in the order of [`SAMPLES`].
    samples: Vec<bool>,
    /// Whether the open network is chosen. If it is a sample, it is chosen through `samples`
    /// instead.
    open: bool,
    triangulation: Triangulation,
    engine: String,
    baseline: String,
    repeat: u32,
    threads: usize,
    paper: PaperOptions,
    /// Largest separator to merge away, in entries.
    threshold: u64,
}

impl Parameters {
    /// The default choices for `experiment`.
    pub fn new(experiment: &Experiment, model: &Model) -> Self {
        let is_default = |name: &&str| experiment.networks.contains(name);
        Self {
            samples: SAMPLES.iter().map(|sample| is_default(&sample.name)).collect(),
            open: false,
            triangulation: PAPER_TRIANGULATION,
            engine: DEFAULT_ENGINE.name.to_owned(),
            baseline: DEFAULT_BASELINE.name.to_owned(),
            repeat: DEFAULT_REPEAT,
            threads: model.compute.engine.threads,
            paper: PaperOptions::default(),
            // One of the `MERGE_THRESHOLDS`, which are tried anyway: no further threshold is added
            // unless the user changes this one.
            threshold: 32,
        }
    }

    /// Whether no network is chosen.
    pub fn has_no_network(&self) -> bool {
        !self.open && !self.samples.contains(&true)
    }

    /// The request to run the experiment with these choices.
    pub fn request(&self, experiment: &Experiment, model: &Model) -> ExperimentRequest {
        let chosen = SAMPLES.iter().zip(&self.samples).filter(|(_, chosen)| **chosen);
        let mut networks: Vec<NetworkSource> =
            chosen.map(|(sample, _)| NetworkSource::Named(sample.name.to_owned())).collect();
        if let Some(document) = model.document.as_ref().filter(|_| self.open) {
            networks.push(document.source.clone());
        }
        ExperimentRequest {
            experiment: experiment.name.to_owned(),
            networks,
            triangulation: self.triangulation,
            engine: self.engine.clone(),
            baseline: self.baseline.clone(),
            repeat: self.repeat,
            threads: self.threads,
            memory: model.compute.memory,
            paper: self.paper,
            threshold: self.threshold,
        }
    }

    /// Draws the widgets.
    pub fn show(&mut self, ui: &mut Ui, experiment: &Experiment, model: &Model) {
        self.networks(ui, experiment, model);
        ui.add_space(4.0);
        let has = |parameter| experiment.parameters.contains(&parameter);
        Grid::new("experiment parameters").num_columns(2).spacing([12.0, 5.0]).show(ui, |ui| {
            ui.label("Triangulation")
                .on_hover_text("weighted-min-fill gives trees like the paper's");
            choice(ui, "experiment triangulation", self.triangulation.name()).show_ui(ui, |ui| {
                for method in Triangulation::ALL {
                    ui.selectable_value(&mut self.triangulation, method, method.name());
                }
            });
            ui.end_row();
            if has(Parameter::Engine) {
                engine_choice(ui, "Engine", &mut self.engine);
            }
            if has(Parameter::Baseline) {
                engine_choice(ui, "Compared with", &mut self.baseline);
            }
            if has(Parameter::Repeat) {
                ui.label("Propagations")
                    .on_hover_text("Number of propagations to time for each measurement");
                ui.add(DragValue::new(&mut self.repeat).range(1..=1000));
                ui.end_row();
            }
            if has(Parameter::Threads) {
                ui.label("Threads");
                ui.add(DragValue::new(&mut self.threads).range(1..=1024));
                ui.end_row();
            }
            if has(Parameter::Paper) {
                ui.label(GPU_PAPER.name);
                // One below the other: side by side, a narrow pane would cut them off.
                ui.vertical(|ui| {
                    for layout in MappingLayout::ALL {
                        ui.selectable_value(&mut self.paper.layout, layout, layout.name());
                    }
                });
                ui.end_row();
                // In a row of its own: next to the layouts, a narrow pane would cut it off.
                ui.label("Block size");
                let size = &mut self.paper.block_size;
                choice(ui, "experiment block size", &format!("{size} threads")).show_ui(ui, |ui| {
                    for choice in BLOCK_SIZES {
                        ui.selectable_value(size, choice, choice.to_string());
                    }
                });
                ui.end_row();
            }
            if has(Parameter::Threshold) {
                ui.label("Merge up to")
                    .on_hover_text("Largest separator to merge away, in entries");
                let unit = if self.threshold == 1 { " entry" } else { " entries" };
                ui.add(DragValue::new(&mut self.threshold).range(0..=1_000_000).suffix(unit));
                ui.end_row();
            }
        });
    }

    /// Draws the choice of networks.
    fn networks(&mut self, ui: &mut Ui, experiment: &Experiment, model: &Model) {
        let hint = "The default networks and settings of this experiment";
        ui.horizontal(|ui| {
            ui.label("Networks");
            if ui.small_button("default").on_hover_text(hint).clicked() {
                *self = Self::new(experiment, model);
            }
            if ui.small_button("none").clicked() {
                self.samples.fill(false);
                self.open = false;
            }
        });
        ui.horizontal_wrapped(|ui| {
            for (sample, chosen) in SAMPLES.iter().zip(&mut self.samples) {
                ui.toggle_value(chosen, sample.name);
            }
            if let Some(document) = &model.document
                && !matches!(document.read.origin, NetworkOrigin::Sample(_))
            {
                let mut title = document.title();
                if crate::format::sample(&title).is_some() {
                    title += " (open)";
                }
                ui.toggle_value(&mut self.open, title);
            } else {
                // A sample is chosen through its own button.
                self.open = false;
            }
        });
    }
}

/// Draws a choice of engines. Those that cannot run on this machine are marked as recorded. If one
/// of them is chosen, the experiment shows recorded times, also for engines that can run here.
fn engine_choice(ui: &mut Ui, title: &str, name: &mut String) {
    let label = |engine: &dyn engine::Engine| match engine.known_availability() {
        Some(Err(_)) => format!("{} (recorded)", engine.name()),
        Some(Ok(())) | None => engine.name().to_owned(),
    };
    ui.label(title);
    let selected = engine::by_name(name).map_or_else(|| name.clone(), label);
    choice(ui, ("experiment engine", title), &selected).show_ui(ui, |ui| {
        for engine in engine::all() {
            ui.selectable_value(name, engine.name().to_owned(), label(*engine));
        }
    });
    ui.end_row();
}

/// A list to choose from that fits into a narrow pane. It shows `selected`; `id` tells the lists
/// apart.
fn choice(ui: &Ui, id: impl egui::AsIdSalt, selected: &str) -> ComboBox {
    ComboBox::from_id_salt(id)
        .selected_text(selected)
        .width(ui.available_width().min(MAX_CHOICE_WIDTH))
        .truncate()
}
