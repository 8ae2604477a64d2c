//! A link to an item.

use eframe::egui::{Response, RichText, Ui};

use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;

/// Draws a link. A click selects `item`, and while the pointer is over the link, `item` is hovered
/// in all panes.
pub fn item_link(
    ui: &mut Ui,
    text: impl Into<RichText>,
    item: Item,
    commands: &mut Commands,
) -> Response {
    let response = ui.link(text.into());
    if response.hovered() {
        commands.push(ViewCommand::Hover(item.clone()));
    }
    if response.clicked() {
        commands.push(ViewCommand::Select(Some(item)));
    }
    response
}
