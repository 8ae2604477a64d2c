//! Results that are kept: the list of them, and those that are looked at.

use std::path::PathBuf;

use eframe::egui::{self, RichText, TextEdit, Ui};

use super::{compare, plot_id, table};
use crate::app::state::command::{Commands, ExperimentCommand, WindowCommand};
use crate::app::state::experiments::KeptResult;
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::figure;
use crate::experiment::Record;

/// Which results are looked at.
#[derive(Default)]
pub(super) struct Results {
    /// Numbers of the results that are shown, in the order in which they were chosen.
    shown: Vec<u64>,
    /// The newest result is to be shown as soon as it has another number than this.
    waits_beyond: Option<u64>,
    /// The folder that results are written to, or the file that one is opened from.
    path: String,
    /// The name that is being typed, and of which result.
    renamed: Option<(u64, String)>,
}

impl Results {
    /// Whether results are looked at rather than an experiment.
    pub fn is_showing(&self) -> bool {
        !self.shown.is_empty()
    }

    /// Looks at no result.
    pub fn show_none(&mut self) {
        self.shown.clear();
        self.waits_beyond = None;
    }

    /// Looks at the next result as soon as it is there.
    pub fn show_next(&mut self, model: &Model) {
        self.waits_beyond = Some(model.laboratory.results.last().map_or(0, |kept| kept.number));
    }

    /// Draws the list of results.
    pub fn list(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let results = &model.laboratory.results;
        self.shown.retain(|number| model.laboratory.result(*number).is_some());
        if let Some((after, newest)) = self.waits_beyond.zip(results.last())
            && newest.number > after
        {
            (self.shown, self.waits_beyond) = (vec![newest.number], None);
        }
        ui.strong("Results");
        if results.is_empty() {
            ui.weak("What experiments give is kept here.");
        }
        for kept in results {
            ui.horizontal(|ui| {
                let mut compared = self.shown.contains(&kept.number);
                let check = ui.checkbox(&mut compared, "");
                check.widget_info(|| {
                    let label = format!("Compare {}", kept.name);
                    egui::WidgetInfo::selected(egui::WidgetType::Checkbox, true, compared, label)
                });
                if check.on_hover_text("Lay it over the others that are ticked").changed() {
                    self.shown.retain(|number| *number != kept.number);
                    if compared {
                        self.shown.push(kept.number);
                    }
                }
                let alone = self.shown == [kept.number];
                if ui.selectable_label(alone, &kept.name).on_hover_text(about(kept)).clicked() {
                    self.shown = vec![kept.number];
                }
            });
        }
        ui.add_space(6.0);
        if ui.button("Open a result…").clicked() {
            commands.push(WindowCommand::ChooseFile(FilePurpose::OpenResult));
        }
    }

    /// Draws the results that are chosen.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let shown: Vec<&KeptResult> =
            self.shown.iter().filter_map(|number| model.laboratory.result(*number)).collect();
        match shown[..] {
            [] => {}
            [kept] => {
                self.tools(ui, kept, commands);
                record(ui, kept);
            }
            _ => compare(ui, &shown),
        }
    }

    /// Naming, writing and removing.
    fn tools(&mut self, ui: &mut Ui, kept: &KeptResult, commands: &mut Commands) {
        ui.horizontal_wrapped(|ui| {
            let mut name = match &self.renamed {
                Some((number, typed)) if *number == kept.number => typed.clone(),
                _ => kept.name.clone(),
            };
            let label = ui.label("Name");
            let field = ui.add(TextEdit::singleline(&mut name).desired_width(140.0));
            let field = field.labelled_by(label.id);
            if field.changed() {
                self.renamed = Some((kept.number, name.clone()));
            }
            if field.lost_focus()
                && let Some((number, name)) = self.renamed.take()
                && !name.trim().is_empty()
            {
                commands.push(ExperimentCommand::RenameResult(number, name.trim().to_owned()));
            }
            let label = ui.label("Folder");
            let field = TextEdit::singleline(&mut self.path).hint_text("results");
            ui.add(field.desired_width(160.0)).labelled_by(label.id);
            let hint = "Write it as JSON, CSV and SVG into the folder";
            if ui.button("Export").on_hover_text(hint).clicked() {
                let typed = self.path.trim();
                let folder = PathBuf::from(if typed.is_empty() { "results" } else { typed });
                commands.push(ExperimentCommand::ExportResult(kept.number, folder));
            }
            if ui.button("Export to…").on_hover_text("Choose the folder").clicked() {
                commands.push(WindowCommand::ChooseFile(FilePurpose::ExportResult(kept.number)));
            }
            if ui.button("Forget").on_hover_text("Take it off the list").clicked() {
                commands.push(ExperimentCommand::RemoveResult(kept.number));
            }
        });
        ui.separator();
    }
}

/// `Figure 7, Intel Xeon, 2026-11-21`.
fn about(kept: &KeptResult) -> String {
    let Record { title, provenance, .. } = &*kept.record;
    format!("{title}\n{}, {}", provenance.machine.title(), provenance.date)
}

/// One record: where it comes from, what there is to say, its figures and its tables.
fn record(ui: &mut Ui, kept: &KeptResult) {
    let record = &*kept.record;
    ui.heading(&record.title);
    provenance(ui, record);
    let settings: Vec<String> =
        record.settings.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    ui.weak(settings.join("   "));
    for note in &record.notes {
        ui.label(note);
    }
    for (index, figure) in record.figures.iter().enumerate() {
        ui.add_space(8.0);
        figure::show(ui, plot_id(kept.number, index), figure);
    }
    for one in &record.tables {
        ui.add_space(8.0);
        table::show(ui, kept.number, one);
    }
}

/// Where the numbers of a record come from; what is recorded is marked as such.
fn provenance(ui: &mut Ui, record: &Record) {
    let machine = &record.provenance.machine;
    let gpu = machine.gpu.as_ref().map(|gpu| format!(" and {}", gpu.name)).unwrap_or_default();
    let live = format!("live: {}{gpu}, {}", machine.cpu, record.provenance.date);
    ui.horizontal_wrapped(|ui| {
        if record.is_live() {
            ui.weak(live);
        }
        for credit in &record.recorded {
            ui.label(RichText::new(credit).color(Palette::of(ui).warning).strong());
        }
    });
}

/// Several records: their figures over one another, their tables below one another.
fn compare(ui: &mut Ui, shown: &[&KeptResult]) {
    let names: Vec<&str> = shown.iter().map(|kept| kept.name.as_str()).collect();
    ui.heading(names.join(" and "));
    for kept in shown {
        ui.horizontal_wrapped(|ui| {
            ui.strong(format!("{}:", kept.name));
            ui.label(&kept.record.title);
        });
        provenance(ui, &kept.record);
    }
    let records: Vec<(&str, &Record)> =
        shown.iter().map(|kept| (kept.name.as_str(), &*kept.record)).collect();
    let key = shown.iter().fold(0, |key, kept| 31 * key + kept.number);
    for (index, figure) in compare::overlay(&records).iter().enumerate() {
        ui.add_space(8.0);
        figure::show(ui, plot_id(u64::MAX - key, index), figure);
    }
    for kept in shown {
        for one in &kept.record.tables {
            ui.add_space(8.0);
            ui.weak(&kept.name);
            table::show(ui, kept.number, one);
        }
    }
}
