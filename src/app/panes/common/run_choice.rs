//! The choice of the run to show: the newest on this machine, or a recording.

use eframe::egui::{ComboBox, RichText, Ui};

use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::model::Model;
use crate::app::theme::Palette;

/// Draws the choice of run and, if a recording is shown, where it comes from. Draws nothing if no
/// recorded run fits the open network and its tree.
pub(super) fn run_choice(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some(document) = model.document.as_ref().filter(|document| !document.recorded.is_empty())
    else {
        return;
    };
    let engine = document.traced_engine();
    ui.horizontal_wrapped(|ui| {
        ui.weak("Messages of");
        let here = format!("{} {}, this machine", engine.engine.name(), engine.precision);
        let shown = document.shown.map_or_else(|| here.clone(), |recorded| recorded.engine());
        ComboBox::from_id_salt("shown run").selected_text(shown).width(180.0).show_ui(ui, |ui| {
            if ui.selectable_label(document.shown.is_none(), &here).clicked() {
                commands.push(ViewCommand::ShowRecording(None));
            }
            for recorded in &document.recorded {
                let text = format!("{}, recorded", recorded.engine());
                let button = ui.selectable_label(document.shown == Some(*recorded), text);
                if button.on_hover_text(recorded.credit()).clicked() {
                    commands.push(ViewCommand::ShowRecording(Some(*recorded)));
                }
            }
        });
        if let Some(recorded) = document.shown {
            let text = format!("{}, without evidence", recorded.credit());
            ui.label(RichText::new(text).color(Palette::of(ui).warning).strong());
        }
    });
}
