//! Cases: evidence saved under a name, and the posteriors of all cases side by side.

mod differences;
mod long_file;

use std::collections::BTreeSet;

use eframe::egui::{self, Key, Panel, RichText, ScrollArea, Ui, WidgetInfo, WidgetType};

use crate::app::panes::common::{describe_finding, empty_state};
use crate::app::state::case::Case;
use crate::app::state::command::{CaseCommand, Command, Commands, WindowCommand};
use crate::app::state::document::Document;
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::scroll_to_focus::scroll_to_focus;
use crate::engine::{LoadError, PropagationError, QueryError};
use crate::numbers::counted;

use differences::CaseComparison;
use long_file::LongFileView;

/// Maximum number of findings in the tooltip of a case.
const MAX_FINDINGS: usize = 12;

/// The list of cases, the comparison, and their view state.
#[derive(Default)]
pub struct CasesPane {
    /// The name for the next case.
    name: String,
    /// The case that is being renamed, and the name typed so far.
    renaming: Option<(u64, String)>,
    comparison: CaseComparison,
    /// Cases that are left out of the comparison.
    hidden: BTreeSet<u64>,
    long_file: LongFileView,
}

impl CasesPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(document) = &model.document else {
            empty_state(ui, "Open a network to save evidence as cases.");
            return;
        };
        let width = (0.3 * ui.available_width()).clamp(150.0, 300.0);
        Panel::left("cases").default_size(width).min_size(140.0).show(ui, |ui| {
            self.save_controls(ui, commands);
            if let Some(file) = &document.long_case_file {
                let height = 0.6 * ui.available_height();
                Panel::bottom("file of cases").resizable(true).default_size(height).show(
                    ui,
                    |ui| {
                        self.long_file.show(ui, document, file, commands);
                    },
                );
            }
            self.list(ui, document, commands);
        });
        let frame = egui::Frame::NONE.inner_margin(egui::Margin { left: 8, ..Default::default() });
        egui::CentralPanel::no_frame().frame(frame).show(ui, |ui| {
            if document.cases.is_empty() {
                let kept = if model.keeps_cases {
                    "It is kept until you delete it."
                } else {
                    "Cases are lost when the window closes."
                };
                ui.label(format!("A case is evidence saved under a name. {kept}"));
                ui.weak(
                    "Click states to enter evidence, then save it here. Click a case to enter its \
                     evidence again. The posteriors of all cases are shown side by side.",
                );
                return;
            }
            let compared = document.cases.iter().filter(|case| !self.hidden.contains(&case.number));
            let compared: Vec<&Case> = compared.collect();
            if !model.settings.auto_propagate {
                ui.weak("Cases are propagated only while Auto is on.");
            }
            self.comparison.show(ui, document, &compared, commands);
        });
    }

    /// Draws the field for a new case, and the buttons for files.
    fn save_controls(&mut self, ui: &mut Ui, commands: &mut Commands) {
        ui.horizontal(|ui| {
            let add = ui.button("Add").on_hover_text("Save the evidence as a case under this name");
            add.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, "Add case"));
            let edit = egui::TextEdit::singleline(&mut self.name).hint_text("name of the new case");
            let response = ui.add(edit.desired_width(ui.available_width() - 8.0));
            response.widget_info(|| {
                WidgetInfo::labeled(WidgetType::TextEdit, true, "Name of the case")
            });
            let entered =
                response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            if add.clicked() || entered {
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

    /// Draws the list of cases.
    fn list(&mut self, ui: &mut Ui, document: &Document, commands: &mut Commands) {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            for case in &document.cases {
                ui.horizontal(|ui| self.row(ui, document, case, commands));
            }
            scroll_to_focus(ui);
        });
    }

    /// Draws one case of the list, or the field for its new name.
    fn row(&mut self, ui: &mut Ui, document: &Document, case: &Case, commands: &mut Commands) {
        if let Some((_, name)) = self.renaming.as_mut().filter(|(number, _)| *number == case.number)
        {
            let response = ui.text_edit_singleline(name);
            if response.lost_focus() {
                let is_cancelled = ui.input(|input| input.key_pressed(Key::Escape));
                if !is_cancelled && !name.trim().is_empty() {
                    commands.push(CaseCommand::Rename(case.number, name.trim().to_owned()));
                }
                self.renaming = None;
            } else {
                response.request_focus();
            }
            return;
        }
        let mut compared = !self.hidden.contains(&case.number);
        let toggle =
            ui.checkbox(&mut compared, "").on_hover_text("Show this case in the comparison");
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
            if let Some(Err(error)) = &case.answer {
                let text = RichText::new(failure(error)).color(Palette::of(ui).error);
                ui.label(text).on_hover_text(error.to_string());
            }
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                let is_current = case.evidence == document.evidence;
                let button = egui::Button::selectable(is_current, &case.name).truncate();
                let recall = ui.add(button);
                recall.widget_info(|| {
                    let label = format!("Recall {}", case.name);
                    WidgetInfo::selected(WidgetType::SelectableLabel, true, is_current, label)
                });
                let hint = format!(
                    "{}\n{}\nClick to enter this evidence",
                    case.name,
                    findings(document, case)
                );
                if recall.on_hover_text(hint).clicked() {
                    commands.push(CaseCommand::Enter(case.number));
                }
            });
        });
    }

    /// Draws the menu of a case.
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
        item(ui, "Replace with the current evidence", Some(replace));
        item(ui, "Delete the case", Some(Command::Case(CaseCommand::Remove(case.number))));
    }
}

/// The first [`MAX_FINDINGS`] findings of `case`, one per line, and the number of the others.
fn findings(document: &Document, case: &Case) -> String {
    let all = case.evidence.len();
    let listed = case.evidence.iter().take(MAX_FINDINGS);
    let mut lines: Vec<String> =
        listed.map(|(variable, finding)| describe_finding(document, variable, finding)).collect();
    if all == 0 {
        lines.push("no evidence".to_owned());
    } else if all > MAX_FINDINGS {
        let rest = counted(all - MAX_FINDINGS, "more finding", "more findings");
        lines.push(format!("and {rest}"));
    }
    lines.join("\n")
}

/// Why a case has no posteriors, in a word or two.
fn failure(error: &QueryError) -> &'static str {
    match error {
        QueryError::Load(LoadError::TooLarge(_) | LoadError::GraphTooLarge(_)) => "too large",
        QueryError::Propagation(PropagationError::Impossible(_)) => "impossible",
        QueryError::Load(_) | QueryError::Propagation(_) => "failed",
    }
}

#[cfg(test)]
mod tests;
