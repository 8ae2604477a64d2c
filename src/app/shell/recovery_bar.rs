//! The bar that offers to restore the work of a run that crashed.

use eframe::egui::{Panel, Ui};

use crate::app::state::command::{Commands, DocumentCommand};
use crate::app::state::recovery::Recovery;
use crate::numbers;

/// Draws the bar, if there is work to offer.
pub(crate) fn show(ui: &mut Ui, recovery: &Recovery, commands: &mut Commands) {
    let Some((title, findings)) = recovery.offer() else { return };
    Panel::top("recovery").show(ui, |ui| {
        // In a narrow window, the buttons come below the text.
        ui.horizontal_wrapped(|ui| {
            let findings = numbers::counted(findings, "finding", "findings");
            ui.label(format!(
                "An earlier run did not end normally. {title} was open with {findings}."
            ));
            if ui.button(format!("Restore the evidence of {title}")).clicked() {
                commands.push(DocumentCommand::Restore);
            }
            if ui.button("Discard it").clicked() {
                commands.push(DocumentCommand::DiscardAutosave);
            }
        });
    });
}
