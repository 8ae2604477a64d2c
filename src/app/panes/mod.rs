//! The panes, each in its own folder. A pane is a struct with its view state (scroll position,
//! zoom, sort order) and a method `show(&mut self, ui, &Model, &mut Commands)`.

pub mod cases;
pub mod cliques;
mod common;
pub mod details;
pub mod elimination;
pub mod experiments;
pub mod histogram;
pub mod inside;
pub mod junction_tree;
pub mod messages;
pub mod network;
pub mod overhead;
pub mod timeline;
pub mod variables;

use eframe::egui::Ui;

use crate::app::state::command::Commands;
use crate::app::state::model::Model;
use crate::app::state::pane::Pane;

/// All panes.
#[derive(Default)]
pub struct Panes {
    cases: cases::CasesPane,
    cliques: cliques::CliquesPane,
    details: details::DetailsPane,
    elimination: elimination::EliminationPane,
    experiments: experiments::ExperimentsPane,
    histogram: histogram::HistogramPane,
    inside: inside::InsidePane,
    junction_tree: junction_tree::JunctionTreePane,
    messages: messages::MessagesPane,
    network: network::NetworkPane,
    overhead: overhead::OverheadPane,
    timeline: timeline::TimelinePane,
    variables: variables::VariablesPane,
}

impl Panes {
    /// Draws `pane`.
    pub fn show(&mut self, ui: &mut Ui, pane: Pane, model: &Model, commands: &mut Commands) {
        match pane {
            Pane::JunctionTree => self.junction_tree.show(ui, model, commands),
            Pane::Network => self.network.show(ui, model, commands),
            Pane::Elimination => self.elimination.show(ui, model, commands),
            Pane::Experiments => self.experiments.show(ui, model, commands),
            Pane::Overhead => self.overhead.show(ui, model, commands),
            Pane::Variables => self.variables.show(ui, model, commands),
            Pane::Cases => self.cases.show(ui, model, commands),
            Pane::Cliques => self.cliques.show(ui, model, commands),
            Pane::Details => self.details.show(ui, model, commands),
            Pane::Histogram => self.histogram.show(ui, model, commands),
            Pane::Inside => self.inside.show(ui, model, commands),
            Pane::Messages => self.messages.show(ui, model, commands),
            Pane::Timeline => self.timeline.show(ui, model, commands),
        }
    }
}
