//! The list of results, and the results that are shown.

use std::path::PathBuf;

use eframe::egui::{self, RichText, TextEdit, Ui};

use super::{compare, plot_id, show_equations, table};
use crate::app::state::command::{Commands, ExperimentCommand, WindowCommand};
use crate::app::state::experiments::NamedResult;
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::figure;
use crate::experiment::chart::Credit;
use crate::experiment::{self, Origin, Record};

/// Which results are shown, and what the user is typing.
#[derive(Default)]
pub(super) struct Results {
    /// Numbers of the shown results, in the order in which they were chosen.
    shown: Vec<u64>,
    /// While the pane waits for a result, from an experiment or from a file: the number of the
    /// newest result when the wait began, or 0 if there was none. The next result is shown when it
    /// arrives.
    show_after: Option<u64>,
    /// The folder to export results to.
    folder: String,
    /// Number of the result that is being renamed, and the name typed so far.
    renamed: Option<(u64, String)>,
}

impl Results {
    /// Whether results are shown instead of an experiment.
    pub fn is_showing(&self) -> bool {
        !self.shown.is_empty()
    }

    /// Shows no result.
    pub fn show_none(&mut self) {
        self.shown.clear();
        self.show_after = None;
    }

    /// Shows the next result, alone, as soon as it arrives.
    pub fn show_next(&mut self, model: &Model) {
        self.show_after = Some(model.experiments.results.last().map_or(0, |result| result.number));
    }

    /// Draws the list of results.
    pub fn list(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let results = &model.experiments.results;
        self.shown.retain(|number| model.experiments.result(*number).is_some());
        if let Some((after, newest)) = self.show_after.zip(results.last())
            && newest.number > after
        {
            (self.shown, self.show_after) = (vec![newest.number], None);
        }
        ui.strong("Results");
        if results.is_empty() {
            ui.weak("Results of experiments appear here.");
        }
        for result in results {
            ui.horizontal(|ui| {
                let mut compared = self.shown.contains(&result.number);
                let check = ui.checkbox(&mut compared, "");
                check.widget_info(|| {
                    let label = format!("Compare {}", result.name);
                    egui::WidgetInfo::selected(egui::WidgetType::Checkbox, true, compared, label)
                });
                if check.on_hover_text("Overlay on the other ticked results").changed() {
                    self.shown.retain(|number| *number != result.number);
                    if compared {
                        self.shown.push(result.number);
                    }
                }
                let alone = self.shown == [result.number];
                if ui.selectable_label(alone, &result.name).on_hover_text(about(result)).clicked() {
                    self.shown = vec![result.number];
                }
            });
        }
        ui.add_space(6.0);
        if ui.button("Open a result…").clicked() {
            self.show_next(model);
            commands.push(WindowCommand::ChooseFile(FilePurpose::OpenResult));
        }
    }

    /// The shown results.
    fn shown<'m>(&self, model: &'m Model) -> Vec<&'m NamedResult> {
        self.shown.iter().filter_map(|number| model.experiments.result(*number)).collect()
    }

    /// Draws the title of the shown results, which stays in view while the results are scrolled.
    pub fn show_heading(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        match self.shown(model)[..] {
            [] => {}
            [result] => {
                self.tools(ui, result, commands);
                ui.heading(&result.record.title);
                provenance(ui, &result.record);
            }
            ref several => {
                let names: Vec<&str> = several.iter().map(|result| &*result.name).collect();
                ui.heading(names.join(" and "));
            }
        }
        ui.separator();
    }

    /// Draws the shown results without their title.
    pub fn show(&self, ui: &mut Ui, model: &Model) {
        match self.shown(model)[..] {
            [] => {}
            [result] => record(ui, result),
            ref several => compare(ui, several),
        }
    }

    /// Draws the widgets to rename, export and delete a result.
    fn tools(&mut self, ui: &mut Ui, result: &NamedResult, commands: &mut Commands) {
        ui.horizontal_wrapped(|ui| {
            let mut name = match &self.renamed {
                Some((number, typed)) if *number == result.number => typed.clone(),
                _ => result.name.clone(),
            };
            let label = ui.label("Name");
            let field = ui.add(TextEdit::singleline(&mut name).desired_width(140.0));
            let field = field.labelled_by(label.id);
            if field.changed() {
                self.renamed = Some((result.number, name.clone()));
            }
            if field.lost_focus()
                && let Some((number, name)) = self.renamed.take()
                && !name.trim().is_empty()
            {
                commands.push(ExperimentCommand::RenameResult(number, name.trim().to_owned()));
            }
            let label = ui.label("Folder");
            let field = TextEdit::singleline(&mut self.folder).hint_text("results");
            ui.add(field.desired_width(160.0)).labelled_by(label.id);
            let hint = "Write JSON, CSV and SVG files into the folder";
            if ui.button("Export").on_hover_text(hint).clicked() {
                let typed = self.folder.trim();
                let folder = PathBuf::from(if typed.is_empty() { "results" } else { typed });
                commands.push(ExperimentCommand::ExportResult(result.number, folder));
            }
            if ui.button("Export to…").on_hover_text("Choose the folder").clicked() {
                commands.push(WindowCommand::ChooseFile(FilePurpose::ExportResult(result.number)));
            }
            let hint = "Delete the stored result. This cannot be undone.";
            if ui.button("Delete").on_hover_text(hint).clicked() {
                commands.push(ExperimentCommand::RemoveResult(result.number));
            }
        });
    }
}

/// Title, machine and date of a result.
fn about(result: &NamedResult) -> String {
    let Record { title, provenance, .. } = &*result.record;
    format!("{title}\n{}, {}", provenance.machine.title(), provenance.date)
}

/// Draws one result: its settings, notes, figures and tables.
fn record(ui: &mut Ui, result: &NamedResult) {
    let record = &*result.record;
    let settings: Vec<String> =
        record.settings.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    ui.weak(settings.join("   "));
    if let Some(experiment) = experiment::by_name(&record.experiment) {
        show_equations(ui, experiment);
    }
    for note in &record.notes {
        ui.label(note);
    }
    for (index, figure) in record.figures.iter().enumerate() {
        ui.add_space(8.0);
        figure::show(ui, plot_id(&[result.number], index), figure);
    }
    for table in &record.tables {
        ui.add_space(8.0);
        table::show(ui, result.number, table);
    }
}

/// Shows the origins of the numbers in a record, and highlights the origin of recorded numbers.
fn provenance(ui: &mut Ui, record: &Record) {
    ui.horizontal_wrapped(|ui| {
        for Credit { origin, text } in record.credits() {
            if origin == Origin::Recorded {
                ui.label(RichText::new(text).color(Palette::of(ui).warning).strong());
            } else {
                ui.weak(text);
            }
        }
    });
}

/// Draws several results: their figures overlaid, and their tables one below the other.
fn compare(ui: &mut Ui, shown: &[&NamedResult]) {
    for result in shown {
        ui.horizontal_wrapped(|ui| {
            ui.strong(format!("{}:", result.name));
            ui.label(&result.record.title);
        });
        provenance(ui, &result.record);
    }
    let records: Vec<(&str, &Record)> =
        shown.iter().map(|result| (result.name.as_str(), &*result.record)).collect();
    let numbers: Vec<u64> = shown.iter().map(|result| result.number).collect();
    for (index, figure) in compare::overlay(&records).iter().enumerate() {
        ui.add_space(8.0);
        figure::show(ui, plot_id(&numbers, index), figure);
    }
    for result in shown {
        for table in &result.record.tables {
            ui.add_space(8.0);
            ui.weak(&result.name);
            table::show(ui, result.number, table);
        }
    }
}
