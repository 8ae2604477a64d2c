//! Named evidence: a list to keep and recall cases, and their posteriors side by side.

mod differences;

use std::collections::BTreeSet;

use eframe::egui::{self, Panel, RichText, ScrollArea, Ui, WidgetInfo, WidgetType};

use crate::app::panes::common::describe_finding;
use crate::app::state::cases::Case;
use crate::app::state::command::{CaseCommand, Command, Commands, WindowCommand};
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::model::{Document, Model};
use crate::app::theme::Palette;

use differences::Comparison;

/// Findings of a case that are told where the pointer is over it.
const MOST_TOLD: usize = 12;

/// The pane.
#[derive(Default)]
pub struct CasesPane {
    /// The name under which the evidence is to be kept.
    name: String,
    /// The case that is being renamed, and its name so far.
    renaming: Option<(u64, String)>,
    comparison: Comparison,
    /// Cases that are not compared.
    hidden: BTreeSet<u64>,
}

impl CasesPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(document) = &model.document else {
            ui.weak("No network is open.");
            return;
        };
        let width = (0.3 * ui.available_width()).clamp(150.0, 300.0);
        Panel::left("cases").default_size(width).min_size(140.0).show(ui, |ui| {
            self.keep(ui, commands);
            self.list(ui, document, commands);
        });
        let frame = egui::Frame::NONE.inner_margin(egui::Margin { left: 8, ..Default::default() });
        egui::CentralPanel::no_frame().frame(frame).show(ui, |ui| {
            if document.cases.is_empty() {
                ui.label("A case is evidence under a name, kept until it is forgotten.");
                ui.weak(
                    "Click states to enter evidence, then keep it here. A click on a case enters its \
                     evidence again; the posteriors of all cases stand side by side.",
                );
                return;
            }
            let compared = document.cases.iter().filter(|case| !self.hidden.contains(&case.number));
            let compared: Vec<&Case> = compared.collect();
            if !model.auto_propagate {
                ui.weak("Cases are propagated only while Auto is on.");
            }
            self.comparison.show(ui, document, &compared, commands);
        });
    }

    fn keep(&mut self, ui: &mut Ui, commands: &mut Commands) {
        ui.horizontal(|ui| {
            let keep = ui.button("Keep").on_hover_text("Keep the evidence under this name");
            keep.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, "Keep the evidence"));
            let edit = egui::TextEdit::singleline(&mut self.name).hint_text("the evidence as");
            let response = ui.add(edit.desired_width(ui.available_width() - 8.0));
            response.widget_info(|| {
                WidgetInfo::labeled(WidgetType::TextEdit, true, "Name of the case")
            });
            let entered =
                response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            if keep.clicked() || entered {
                commands.push(CaseCommand::Add(std::mem::take(&mut self.name)));
            }
        });
        ui.horizontal(|ui| {
            if ui.button("Open…").on_hover_text("Add the cases of a file").clicked() {
                commands.push(WindowCommand::ChooseFile(FilePurpose::OpenCases));
            }
            if ui.button("Save…").on_hover_text("Write all cases to a file").clicked() {
                commands.push(WindowCommand::ChooseFile(FilePurpose::SaveCases));
            }
        });
        ui.separator();
    }

    fn list(&mut self, ui: &mut Ui, document: &Document, commands: &mut Commands) {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            for case in &document.cases {
                ui.horizontal(|ui| self.row(ui, document, case, commands));
            }
        });
    }

    fn row(&mut self, ui: &mut Ui, document: &Document, case: &Case, commands: &mut Commands) {
        if let Some((_, name)) = self.renaming.as_mut().filter(|(of, _)| *of == case.number) {
            let response = ui.text_edit_singleline(name);
            if response.lost_focus() {
                if !name.trim().is_empty() {
                    commands.push(CaseCommand::Rename(case.number, name.trim().to_owned()));
                }
                self.renaming = None;
            } else {
                response.request_focus();
            }
            return;
        }
        let mut compared = !self.hidden.contains(&case.number);
        let toggle = ui.checkbox(&mut compared, "").on_hover_text("Compare it");
        toggle.widget_info(|| {
            let label = format!("Compare {}", case.name);
            WidgetInfo::selected(WidgetType::Checkbox, true, compared, label)
        });
        if toggle.changed() && !self.hidden.remove(&case.number) {
            self.hidden.insert(case.number);
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let menu = ui.menu_button("…", |ui| self.menu(ui, case, commands)).response;
            menu.widget_info(|| {
                WidgetInfo::labeled(WidgetType::Button, true, format!("More about {}", case.name))
            });
            if let Some(Err(impossible)) = &case.answer {
                let text = RichText::new("impossible").color(Palette::of(ui).error);
                ui.label(text).on_hover_text(impossible.to_string());
            }
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                let now = case.evidence == document.evidence;
                let button = egui::Button::selectable(now, &case.name).truncate();
                let recall = ui.add(button);
                recall.widget_info(|| {
                    let label = format!("Recall {}", case.name);
                    WidgetInfo::selected(WidgetType::SelectableLabel, true, now, label)
                });
                let hint = format!("{}\n{}\nClick: enter it", case.name, known(document, case));
                if recall.on_hover_text(hint).clicked() {
                    commands.push(CaseCommand::Enter(case.number));
                }
            });
        });
    }

    fn menu(&mut self, ui: &mut Ui, case: &Case, commands: &mut Commands) {
        let mut item = |ui: &mut Ui, text: &str, command: Option<Command>| {
            let clicked = ui.button(text).clicked();
            if clicked {
                commands.extend(command);
                ui.close();
            }
            clicked
        };
        if item(ui, "Rename", None) {
            self.renaming = Some((case.number, case.name.clone()));
        }
        let replace = Command::Case(CaseCommand::Replace(case.number));
        item(ui, "Put the present evidence in its place", Some(replace));
        item(ui, "Forget the case", Some(Command::Case(CaseCommand::Remove(case.number))));
    }
}

/// What is known in `case`, a finding a line.
fn known(document: &Document, case: &Case) -> String {
    let all = case.evidence.len();
    let findings = case.evidence.iter().take(MOST_TOLD);
    let mut lines: Vec<String> =
        findings.map(|(variable, finding)| describe_finding(document, variable, finding)).collect();
    if all == 0 {
        lines.push("no evidence".to_owned());
    } else if all > MOST_TOLD {
        lines.push(format!("and {} more findings", all - MOST_TOLD));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
