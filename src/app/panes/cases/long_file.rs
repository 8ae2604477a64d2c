//! The cases of a file that has too many for the list. Only the rows on screen are read.

use std::ops::Range;

use eframe::egui::{self, RichText, ScrollArea, TextStyle, Ui, WidgetInfo, WidgetType};

use crate::app::panes::common::describe_finding;
use crate::app::state::case_files::CaseFileCommand;
use crate::app::state::command::Commands;
use crate::app::state::document::Document;
use crate::app::state::long_case_file::LongCaseFile;
use crate::app::theme::Palette;
use crate::format::cases::ReadCase;
use crate::numbers::counted;

/// The view state of the file.
#[derive(Default)]
pub(super) struct LongFileView {
    /// The number in the field that scrolls to a case, counted from one; 0 before the field is
    /// first drawn.
    number: usize,
}

impl LongFileView {
    /// Draws the name of the file and its cases.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        document: &Document,
        file: &LongCaseFile,
        commands: &mut Commands,
    ) {
        ui.horizontal(|ui| {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let close = ui.small_button("✕").on_hover_text("Close the file");
                close.widget_info(|| {
                    WidgetInfo::labeled(WidgetType::Button, true, "Close the file of cases")
                });
                if close.clicked() {
                    commands.push(CaseFileCommand::CloseFile);
                }
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    let name = egui::Label::new(RichText::new(file.name()).strong()).truncate();
                    ui.add(name).on_hover_text(file.path.display().to_string());
                });
            });
        });
        let count = counted(file.found(), "case", "cases");
        if file.index.is_none() {
            ui.weak(format!("Looking for cases: {count} so far"));
            return;
        }
        let mut scroll_to = None;
        ui.horizontal(|ui| {
            ui.label(count);
            let number = egui::DragValue::new(&mut self.number).range(1..=file.found());
            let response = ui.add(number.prefix("case ")).on_hover_text("Go to this case");
            if response.changed() {
                scroll_to = Some(self.number - 1);
            }
        });
        let height = ui.text_style_height(&TextStyle::Button) + 2.0 * ui.spacing().button_padding.y;
        let mut area = ScrollArea::vertical().id_salt("cases of the file").auto_shrink(false);
        if let Some(index) = scroll_to {
            area =
                area.vertical_scroll_offset(index as f32 * (height + ui.spacing().item_spacing.y));
        }
        area.show_rows(ui, height, file.found(), |ui, rows: Range<usize>| {
            if !file.has(&rows) {
                commands.push(CaseFileCommand::ReadCases(rows.clone()));
            }
            for index in rows {
                ui.horizontal(|ui| row(ui, document, index, file.case(index), commands));
            }
        });
    }
}

/// Draws the case at `index`, or only its number if it has not been read yet.
fn row(
    ui: &mut Ui,
    document: &Document,
    index: usize,
    case: Option<&ReadCase>,
    commands: &mut Commands,
) {
    let number = index + 1;
    let Some(case) = case else {
        ui.weak(format!("{number}  …"));
        return;
    };
    let evidence = match &case.evidence {
        Ok(evidence) => evidence,
        Err(error) => {
            let text = RichText::new(format!("{number}  {}", error.message));
            let label = egui::Label::new(text.color(Palette::of(ui).error)).truncate();
            ui.add(label).on_hover_text(error.to_string());
            return;
        }
    };
    let add = ui.small_button("+").on_hover_text("Add this case to the list");
    add.widget_info(|| {
        WidgetInfo::labeled(WidgetType::Button, true, format!("Add case {number} of the file"))
    });
    if add.clicked() {
        commands.push(CaseFileCommand::AddCase(index));
    }
    let findings: Vec<String> = evidence
        .iter()
        .map(|(variable, finding)| describe_finding(document, variable, finding))
        .collect();
    let findings = if findings.is_empty() { "no evidence".to_owned() } else { findings.join(", ") };
    let name = case.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
    let is_current = *evidence == document.evidence;
    let text = format!("{number}  {name}{findings}");
    let enter = ui.add(egui::Button::selectable(is_current, &text).truncate());
    enter.widget_info(|| {
        let label = format!("Enter case {number} of the file");
        WidgetInfo::selected(WidgetType::SelectableLabel, true, is_current, label)
    });
    if enter.on_hover_text(format!("{text}\nClick to enter this evidence")).clicked() {
        commands.push(CaseFileCommand::EnterCase(index));
    }
}
