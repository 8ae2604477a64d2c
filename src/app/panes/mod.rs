//! One file a pane. Every pane is a small struct with its own view state (scroll, zoom, sort order)
//! and `show(&mut self, ui, &Model, &mut Commands)`.

pub mod variables;

use eframe::egui::Ui;

use crate::app::command::Commands;
use crate::app::model::{Model, Pane};

/// All panes.
#[derive(Default)]
pub struct Panes {
    variables: variables::VariablesPane,
}

impl Panes {
    /// Draws `pane`.
    pub fn show(&mut self, ui: &mut Ui, pane: Pane, model: &Model, commands: &mut Commands) {
        match pane {
            Pane::Variables => self.variables.show(ui, model, commands),
            _ => {
                ui.weak("Not yet.");
            }
        }
    }
}
