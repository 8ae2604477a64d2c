//! Details of the selected item, or of the whole network if nothing is selected.

mod beliefs;
mod clique;
mod cpt;
mod links;
mod message;
mod sets;
mod summary;
mod variable;

use eframe::egui::{ScrollArea, Ui};

use crate::app::panes::common::empty_state;
use crate::app::state::command::Commands;
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::widgets::scroll_to_focus::scroll_to_focus;
use crate::propagation::CompiledNetwork;
use links::Links;

/// The details and their view state.
#[derive(Debug, Default)]
pub struct DetailsPane {
    /// The item shown in the last frame. When the item changes, the pane scrolls to the top.
    last_item: Option<Item>,
}

/// What one frame of the pane is drawn from, once there is a junction tree.
struct DetailsScene<'a> {
    model: &'a Model,
    document: &'a Document,
    compiled: &'a CompiledNetwork,
}

impl DetailsPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(document) = &model.document else {
            empty_state(ui, "Open a network to see its details.");
            return;
        };
        let mut area = ScrollArea::vertical().id_salt("details").auto_shrink(false);
        if self.last_item.as_ref() != model.selected() {
            self.last_item = model.selected().cloned();
            area = area.vertical_scroll_offset(0.0);
        }
        let right = ui.max_rect().right();
        area.show(ui, |ui| {
            let mut links = Links { model, network: document.network(), commands, right };
            let Some(compiled) = document.compiled.as_deref() else {
                match model.selected() {
                    Some(&Item::Variable(variable)) => {
                        variable::show(ui, document, variable, &mut links);
                    }
                    _ => summary::show_network(ui, document),
                }
                return;
            };
            let scene = DetailsScene { model, document, compiled };
            match model.selected() {
                None => summary::show(ui, &scene, &mut links),
                Some(&Item::Variable(variable)) => {
                    variable::show(ui, document, variable, &mut links);
                }
                Some(&Item::Clique(id)) => clique::show(ui, &scene, id, &mut links),
                Some(&Item::Separator(id)) => clique::show_separator(ui, &scene, id, &mut links),
                Some(&Item::Message(id)) => message::show(ui, &scene, id, &mut links),
                Some(Item::Cliques(ids)) => sets::cliques(ui, &scene, ids, &mut links),
                Some(Item::Separators(ids)) => sets::separators(ui, &scene, ids, &mut links),
                Some(Item::Messages(ids)) => sets::messages(ui, &scene, ids, &mut links),
            }
            scroll_to_focus(ui);
        });
    }
}

#[cfg(test)]
mod tests;
