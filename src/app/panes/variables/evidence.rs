//! The list of findings below the variables.

use eframe::egui::{self, RichText, Ui};

use crate::app::panes::common::describe_finding;
use crate::app::state::command::{Commands, EvidenceCommand, ViewCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::theme::Palette;
use crate::app::widgets::scroll_to_focus::scroll_to_focus;
use crate::network::{Finding, VariableId};

/// Maximum number of findings that are visible without scrolling.
const MAX_ROWS: f32 = 6.0;

/// Draws the findings, each with a button to retract it, and an error if they are impossible.
pub(super) fn show(ui: &mut Ui, document: &Document, commands: &mut Commands) {
    ui.separator();
    ui.horizontal(|ui| {
        ui.strong(format!("Evidence ({})", document.evidence.len()));
        if !document.evidence.is_empty() {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                super::clear_button(ui, commands);
            });
        }
    });
    if !document.evidence.is_empty() {
        let height = ui.spacing().interact_size.y + ui.spacing().item_spacing.y;
        egui::ScrollArea::vertical()
            .id_salt("findings")
            .max_height(MAX_ROWS * height)
            .auto_shrink([false, true])
            .show(ui, |ui| {
                for (variable, finding) in document.evidence.iter() {
                    row(ui, document, variable, finding, commands);
                }
                scroll_to_focus(ui);
            });
    }
    if let Some(impossible) = &document.impossible {
        let colour = Palette::of(ui).error;
        ui.label(RichText::new(impossible.to_string()).color(colour));
    }
}

/// Draws a finding with its button. The colour shows whether the finding is part of the conflict
/// that makes the evidence impossible.
fn row(
    ui: &mut Ui,
    document: &Document,
    variable: VariableId,
    finding: &Finding,
    commands: &mut Commands,
) {
    let palette = Palette::of(ui);
    let in_conflict = document
        .impossible
        .as_ref()
        .is_some_and(|impossible| impossible.conflict.contains(&variable));
    let name = document.network()[variable].name();
    ui.horizontal(|ui| {
        let retract = ui.small_button("×");
        retract.widget_info(|| {
            egui::WidgetInfo::labeled(egui::WidgetType::Button, true, format!("Retract {name}"))
        });
        if retract.on_hover_text(format!("Retract the finding of {name}")).clicked() {
            commands.push(EvidenceCommand::Retract(variable));
        }
        let colour = if in_conflict { palette.error } else { palette.evidence };
        let text = RichText::new(describe_finding(document, variable, finding)).color(colour);
        let label = egui::Label::new(text).truncate().sense(egui::Sense::click());
        let response = ui.add(label);
        if response.clicked() {
            commands.push(ViewCommand::Select(Some(Item::Variable(variable))));
        }
        if response.hovered() {
            commands.push(ViewCommand::Hover(Item::Variable(variable)));
        }
    });
}
