//! The menu bar, with the choices for propagation on the right.

use std::sync::Arc;

use eframe::egui::{self, Align, ComboBox, Layout, Ui};

use crate::app::shell::actions::{Action, action_for};
use crate::app::shell::{engine_menu, tree_menu};
use crate::app::state::command::{
    CaseCommand, Command, Commands, DocumentCommand, EngineCommand, EvidenceCommand,
    HistoryCommand, LessonCommand, StepCommand, ViewCommand, WindowCommand,
};
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::lessons::LESSONS;
use crate::app::state::model::Model;
use crate::app::state::pane::Pane;
use crate::app::state::settings::ThemeChoice;
use crate::app::widgets::targets;
use crate::format::{NetworkSource, SAMPLES};
use crate::graph::Triangulation;
use crate::propagation::MemoryLimit;

/// Approximate width of the choices on the right, in points. If less is available, the choices get
/// their own row.
const CHOICES_WIDTH: f32 = 540.0;
/// Additional width for the options of engine `gpu-paper`, in points.
const PAPER_WIDTH: f32 = 140.0;

/// Draws the menu bar.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let mut fits = true;
    egui::MenuBar::new().ui(ui, |ui| {
        let first = ui.menu_button("File", |ui| file(ui, model, commands)).response;
        ui.menu_button("Edit", |ui| {
            item(ui, HistoryCommand::Undo, commands);
            item(ui, HistoryCommand::Redo, commands);
            item(ui, EvidenceCommand::Clear, commands);
            ui.separator();
            item(ui, WindowCommand::ChooseFile(FilePurpose::LoadEvidence), commands);
            item(ui, WindowCommand::ChooseFile(FilePurpose::SaveEvidence), commands);
            ui.separator();
            item(ui, CaseCommand::Add(String::new()), commands);
            item(ui, WindowCommand::ChooseFile(FilePurpose::OpenCases), commands);
            item(ui, WindowCommand::ChooseFile(FilePurpose::SaveCases), commands);
        });
        ui.menu_button("Tree", |ui| tree_menu::show(ui, model, commands));
        ui.menu_button("View", |ui| view(ui, model, commands));
        ui.menu_button("Learn", |ui| learn(ui, model, commands));
        let last = ui.menu_button("Help", |ui| {
            item(ui, WindowCommand::TogglePalette, commands);
            item(ui, WindowCommand::ToggleHelp, commands);
        });
        targets::mark_rect(ui, first.rect.union(last.response.rect), "menu");
        let paper = if model.compute.engine.takes_paper_options() { PAPER_WIDTH } else { 0.0 };
        if ui.available_width() >= CHOICES_WIDTH + paper {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| choices(ui, model, commands));
        } else {
            fits = false;
        }
    });
    if !fits {
        ui.allocate_ui_with_layout(
            egui::vec2(ui.available_width(), ui.spacing().interact_size.y),
            Layout::right_to_left(Align::Center),
            |ui| choices(ui, model, commands),
        );
    }
}

/// Draws the line that replaces the menu bar in the view for projectors: the network, the engine,
/// and a button that leaves the view.
pub fn show_projector(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    ui.horizontal(|ui| {
        if let Some(document) = &model.document {
            ui.strong(document.title());
            ui.weak(format!("posteriors of {}", document.posterior_source()));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let leave = ui.button("Leave projector");
            if leave.on_hover_text("Back to the menu bar (Shift+F11)").clicked() {
                commands.push(ViewCommand::ToggleProjector);
            }
        });
    });
}

/// Draws a menu item for `command`, if the command has a name.
fn item(ui: &mut Ui, command: impl Into<Command>, commands: &mut Commands) {
    let Some(action) = action_for(&command.into()) else { return };
    let button = egui::Button::new(action.title).shortcut_text(shortcut_text(ui, &action));
    if ui.add(button).clicked() {
        commands.push(action.command);
        ui.close();
    }
}

fn shortcut_text(ui: &Ui, action: &Action) -> String {
    action.shortcut.map(|shortcut| ui.ctx().format_shortcut(&shortcut)).unwrap_or_default()
}

/// Draws the menu with files, samples and pictures.
fn file(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    item(ui, WindowCommand::ChooseFile(FilePurpose::OpenNetwork), commands);
    ui.menu_button("Samples", |ui| {
        for sample in SAMPLES {
            let text = format!("{} ({} variables)", sample.name, sample.variables);
            if ui.button(text).on_hover_text(sample.summary).clicked() {
                commands.push(DocumentCommand::Open(NetworkSource::Named(sample.name.to_owned())));
                ui.close();
            }
        }
    });
    ui.menu_button("Recent", |ui| {
        if model.settings.recent.is_empty() {
            ui.weak("No recent files.");
        }
        for path in &model.settings.recent {
            if ui.button(path.display().to_string()).clicked() {
                commands.push(DocumentCommand::Open(NetworkSource::File(path.clone())));
                ui.close();
            }
        }
    });
    item(ui, WindowCommand::ChooseFile(FilePurpose::OpenLesson), commands);
    ui.add_enabled_ui(model.document.is_some(), |ui| item(ui, DocumentCommand::Reload, commands));
    ui.separator();
    ui.menu_button("Save a picture", |ui| {
        let is_visible = |pane: &Pane| targets::find(ui.ctx(), pane.title()).is_some();
        let visible: Vec<_> = Pane::ALL.into_iter().filter(is_visible).collect();
        let mut choice = |title: &str, pane: Option<Pane>| {
            if ui.button(title).clicked() {
                commands.push(WindowCommand::ChooseFile(FilePurpose::SavePicture(pane)));
                ui.close();
            }
        };
        choice("The window…", None);
        for pane in visible {
            choice(&format!("{}…", pane.title()), Some(pane));
        }
    });
    ui.separator();
    item(ui, WindowCommand::Quit, commands);
}

/// Draws the menu with lessons and stepping.
fn learn(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    for lesson in LESSONS.iter().chain(&model.opened_lessons) {
        let title = match model.settings.lessons.get(&lesson.id) {
            Some(step) => format!("{} (step {} of {})", lesson.title, step + 1, lesson.steps.len()),
            None => lesson.title.clone(),
        };
        let hint = "A guided tour. When it ends, you return to your network.";
        if ui.button(title).on_hover_text(hint).clicked() {
            commands.push(LessonCommand::Start(Arc::clone(lesson)));
            ui.close();
        }
    }
    item(ui, WindowCommand::ChooseFile(FilePurpose::OpenLesson), commands);
    ui.separator();
    ui.add_enabled_ui(model.compiled().is_some(), |ui| {
        item(ui, StepCommand::Begin, commands);
        item(ui, StepCommand::SlowMotion, commands);
        item(ui, ViewCommand::Show(Pane::Inside), commands);
    });
}

/// Draws the menu with panes, theme, size and memory limit.
fn view(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    for pane in Pane::ALL {
        item(ui, ViewCommand::Show(pane), commands);
    }
    ui.separator();
    item(ui, ViewCommand::Fit, commands);
    item(ui, ViewCommand::ResetLayout, commands);
    ui.add_enabled_ui(model.maximised.is_some(), |ui| item(ui, ViewCommand::Restore, commands));
    item(ui, ViewCommand::FocusStates, commands);
    ui.separator();
    item(ui, WindowCommand::ToggleFullScreen, commands);
    item(ui, ViewCommand::ToggleProjector, commands);
    ui.separator();
    ui.menu_button("Theme", |ui| {
        let themes = [
            (ThemeChoice::System, "System"),
            (ThemeChoice::Dark, "Dark"),
            (ThemeChoice::Light, "Light"),
        ];
        for (theme, title) in themes {
            if ui.radio(model.settings.theme == theme, title).clicked() {
                commands.push(ViewCommand::SetTheme(theme));
                ui.close();
            }
        }
    });
    ui.menu_button("Size", |ui| {
        for percent in [80, 100, 125, 150, 200] {
            if ui.button(format!("{percent}%")).clicked() {
                commands.push(ViewCommand::SetZoom(percent as f32 / 100.0));
                ui.close();
            }
        }
    });
    ui.menu_button("Memory limit", |ui| memory(ui, model, commands));
}

/// Draws the menu with the memory limits.
fn memory(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let mut choice = |ui: &mut Ui, limit: Option<MemoryLimit>, title: String| {
        if ui.radio(model.compute.memory == limit, title).clicked() {
            commands.push(EngineCommand::SetMemoryLimit(limit));
            ui.close();
        }
    };
    choice(ui, None, "Half of the available memory".to_owned());
    for gibibytes in [1, 2, 4, 8, 16, 32, 64, 128] {
        let limit = MemoryLimit::from_bytes(gibibytes << 30);
        choice(ui, Some(limit), format!("{gibibytes} GiB"));
    }
}

/// Draws, from right to left: the button for propagation, automatic propagation, engine, and
/// triangulation.
fn choices(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    ui.add_enabled_ui(model.document.is_some(), |ui| {
        // A menu bar draws its buttons like menus, without frames. Draw a frame all the same.
        let button = egui::Button::new("Propagate").frame(true).frame_when_inactive(true);
        let button = button.fill(ui.visuals().widgets.inactive.bg_fill);
        let run = ui.add(button).on_hover_text("Compute all posteriors again (F5)");
        if run.clicked() {
            commands.push(EngineCommand::Propagate);
        }
    });
    let mut auto = model.settings.auto_propagate;
    let toggle = ui.checkbox(&mut auto, "Auto");
    if toggle.on_hover_text("Propagate whenever evidence changes").changed() {
        commands.push(EngineCommand::SetAutoPropagate(auto));
    }
    ui.separator();
    engine_menu::show(ui, model, commands);
    ui.label("Engine");
    ui.separator();
    ComboBox::from_id_salt("triangulation")
        .selected_text(model.compute.triangulation.name())
        .show_ui(ui, |ui| {
            for method in Triangulation::ALL {
                if ui
                    .selectable_label(model.compute.triangulation == method, method.name())
                    .clicked()
                {
                    commands.push(EngineCommand::SetTriangulation(method));
                }
            }
        })
        .response
        .on_hover_text("How the moral graph is triangulated");
    ui.label("Triangulation");
}
