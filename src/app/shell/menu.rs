//! The menu bar with the choices that stand beside it, the palette and the help.

use eframe::egui::{self, Align, ComboBox, Layout, Ui};

use crate::app::lessons::{LESSONS, LessonCommand};
use crate::app::shell::actions::{self, Action, action_for};
use crate::app::shell::engine_menu;
use crate::app::state::command::{
    CaseCommand, Command, Commands, DocumentCommand, EngineCommand, EvidenceCommand,
    HistoryCommand, StepCommand, ViewCommand, WindowCommand,
};
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::improvement;
use crate::app::state::model::{Model, Pane, ThemeChoice};
use crate::app::state::settings::Settings;
use crate::app::widgets::targets;
use crate::format::NetworkSource;
use crate::format::SAMPLES;
use crate::graph::Triangulation;

/// Room that the choices beside the menus take, and what there is to choose about `gpu-paper`.
const CHOICES_WIDTH: f32 = 540.0;
const PAPER_WIDTH: f32 = 140.0;

/// Draws the menu bar.
pub fn show(ui: &mut Ui, model: &Model, settings: &Settings, commands: &mut Commands) {
    let mut has_room = true;
    let bar = egui::MenuBar::new().ui(ui, |ui| {
        ui.menu_button("File", |ui| file(ui, model, settings, commands));
        ui.menu_button("Edit", |ui| {
            for command in [
                Command::History(HistoryCommand::Undo),
                Command::History(HistoryCommand::Redo),
                Command::Evidence(EvidenceCommand::Clear),
            ] {
                item(ui, &command, commands);
            }
            ui.separator();
            item(
                ui,
                &Command::Window(WindowCommand::ChooseFile(FilePurpose::LoadEvidence)),
                commands,
            );
            item(
                ui,
                &Command::Window(WindowCommand::ChooseFile(FilePurpose::SaveEvidence)),
                commands,
            );
            ui.separator();
            item(ui, &Command::Case(CaseCommand::Add(String::new())), commands);
            item(ui, &Command::Window(WindowCommand::ChooseFile(FilePurpose::OpenCases)), commands);
            item(ui, &Command::Window(WindowCommand::ChooseFile(FilePurpose::SaveCases)), commands);
        });
        ui.menu_button("Tree", |ui| improvement::menu(ui, model, commands));
        ui.menu_button("View", |ui| view(ui, model, settings, commands));
        ui.menu_button("Learn", |ui| learn(ui, model, settings, commands));
        ui.menu_button("Help", |ui| {
            item(ui, &Command::Window(WindowCommand::TogglePalette), commands);
            item(ui, &Command::Window(WindowCommand::ToggleHelp), commands);
        });
        let paper = if model.engine.takes_paper_options() { PAPER_WIDTH } else { 0.0 };
        if ui.available_width() >= CHOICES_WIDTH + paper {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| choices(ui, model, commands));
        } else {
            has_room = false;
        }
    });
    if !has_room {
        // A narrow window, or large letters: in a row of their own.
        ui.allocate_ui_with_layout(
            egui::vec2(ui.available_width(), ui.spacing().interact_size.y),
            Layout::right_to_left(Align::Center),
            |ui| choices(ui, model, commands),
        );
    }
    targets::mark(&bar.response, "menu");
}

/// A menu item for a command that has a name.
fn item(ui: &mut Ui, command: &Command, commands: &mut Commands) {
    let Some(action) = action_for(command) else { return };
    let button = egui::Button::new(action.title).shortcut_text(shortcut_text(ui, &action));
    if ui.add(button).clicked() {
        commands.push(action.command);
        ui.close();
    }
}

fn shortcut_text(ui: &Ui, action: &Action) -> String {
    action.shortcut.map(|shortcut| ui.ctx().format_shortcut(&shortcut)).unwrap_or_default()
}

fn file(ui: &mut Ui, model: &Model, settings: &Settings, commands: &mut Commands) {
    item(ui, &Command::Window(WindowCommand::ChooseFile(FilePurpose::OpenNetwork)), commands);
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
        if settings.recent.is_empty() {
            ui.weak("No file was opened yet.");
        }
        for path in &settings.recent {
            if ui.button(path.display().to_string()).clicked() {
                commands.push(DocumentCommand::Open(NetworkSource::File(path.clone())));
                ui.close();
            }
        }
    });
    ui.add_enabled_ui(model.document.is_some(), |ui| {
        item(ui, &Command::Document(DocumentCommand::Reload), commands)
    });
    ui.separator();
    ui.menu_button("Save a picture", |ui| {
        let is_shown = |(_, title): &(Pane, &'static str)| targets::find(ui.ctx(), title).is_some();
        let shown: Vec<_> = actions::PANES.into_iter().filter(is_shown).collect();
        let mut choice = |title: &str, pane: Option<Pane>| {
            if ui.button(title).clicked() {
                commands.push(WindowCommand::ChooseFile(FilePurpose::SavePicture(pane)));
                ui.close();
            }
        };
        choice("The window…", None);
        for (pane, title) in shown {
            choice(&format!("{title}…"), Some(pane));
        }
    });
    ui.separator();
    item(ui, &Command::Window(WindowCommand::Quit), commands);
}

/// What shows how a propagation works.
fn learn(ui: &mut Ui, model: &Model, settings: &Settings, commands: &mut Commands) {
    for (index, lesson) in LESSONS.iter().enumerate() {
        let title = match settings.lessons.get(&lesson.id) {
            Some(step) => format!("{} (step {} of {})", lesson.title, step + 1, lesson.steps.len()),
            None => lesson.title.clone(),
        };
        let hint = "A guided tour. What is open comes back when it is left.";
        if ui.button(title).on_hover_text(hint).clicked() {
            commands.push(LessonCommand::Start(index));
            ui.close();
        }
    }
    ui.separator();
    ui.add_enabled_ui(model.compiled().is_some(), |ui| {
        item(ui, &Command::Step(StepCommand::Begin), commands);
        item(ui, &Command::Step(StepCommand::SlowMotion), commands);
        item(ui, &Command::View(ViewCommand::Show(Pane::Inside)), commands);
    });
}

fn view(ui: &mut Ui, model: &Model, settings: &Settings, commands: &mut Commands) {
    for (pane, _) in actions::PANES {
        item(ui, &Command::View(ViewCommand::Show(pane)), commands);
    }
    ui.separator();
    item(ui, &Command::View(ViewCommand::Fit), commands);
    item(ui, &Command::View(ViewCommand::ResetLayout), commands);
    ui.separator();
    ui.menu_button("Theme", |ui| {
        let themes = [
            (ThemeChoice::System, "As the system"),
            (ThemeChoice::Dark, "Dark"),
            (ThemeChoice::Light, "Light"),
        ];
        for (theme, title) in themes {
            if ui.radio(settings.theme == theme, title).clicked() {
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

fn memory(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    use crate::propagation::MemoryLimit;
    let mut choice = |ui: &mut Ui, limit: Option<MemoryLimit>, title: String| {
        if ui.radio(model.memory == limit, title).clicked() {
            commands.push(EngineCommand::SetMemoryLimit(limit));
            ui.close();
        }
    };
    choice(ui, None, "Half of what is available".to_owned());
    for gibibytes in [1, 2, 4, 8, 16, 32, 64, 128] {
        let limit = MemoryLimit::from_bytes(gibibytes << 30);
        choice(ui, Some(limit), format!("{gibibytes} GiB"));
    }
}

/// Engine, triangulation and automatic propagation, from right to left.
fn choices(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    ui.add_enabled_ui(model.document.is_some(), |ui| {
        // A menu bar draws its buttons without frames; this one is no menu.
        let button = egui::Button::new("Propagate").frame(true).frame_when_inactive(true);
        let button = button.fill(ui.visuals().widgets.inactive.bg_fill);
        let run = ui.add(button).on_hover_text("Compute all posteriors anew (F5)");
        if run.clicked() {
            commands.push(EngineCommand::Propagate);
        }
    });
    let mut auto = model.auto_propagate;
    let toggle = ui.checkbox(&mut auto, "Auto");
    if toggle.on_hover_text("Propagate whenever evidence changes").changed() {
        commands.push(EngineCommand::SetAutoPropagate(auto));
    }
    ui.separator();
    engine_menu::show(ui, model, commands);
    ui.label("Engine");
    ui.separator();
    ComboBox::from_id_salt("triangulation")
        .selected_text(model.triangulation.name())
        .show_ui(ui, |ui| {
            for method in Triangulation::ALL {
                if ui.selectable_label(model.triangulation == method, method.name()).clicked() {
                    commands.push(EngineCommand::SetTriangulation(method));
                }
            }
        })
        .response
        .on_hover_text("How the moral graph is made chordal");
    ui.label("Triangulation");
}

/// The list of keys.
pub fn help(ctx: &egui::Context, open: &mut bool) {
    egui::Window::new("Keys and help").open(open).resizable(false).collapsible(false).show(
        ctx,
        |ui| {
            egui::Grid::new("keys").num_columns(2).striped(true).show(ui, |ui| {
                let mut row = |key: &str, what: &str| {
                    ui.monospace(key);
                    ui.label(what);
                    ui.end_row();
                };
                row("click a state", "observe it; click again to retract it");
                row("Ctrl+click states", "one of several states");
                row("Alt+click a state", "exclude it");
                row("right click a variable", "likelihoods, retract");
                row("wheel, drag", "zoom and pan the pictures and the timeline");
                row("drop a file", "open it");
                for action in actions::all() {
                    if let Some(shortcut) = action.shortcut {
                        row(&ctx.format_shortcut(&shortcut), action.title);
                    }
                }
                row(&ctx.format_shortcut(&actions::REDO_TOO), "Redo, too");
                row("Ctrl++, Ctrl+-, Ctrl+0", "everything larger, smaller, as at first");
                row("←, →, Home, End", "stepping: message before, after, first, last");
                row("Space, Escape", "stepping: play or pause; end the walk");
                row("Shift+drag", "measure a stretch of the timeline");
            });
        },
    );
}

/// A list of everything by name.
#[derive(Default)]
pub struct Palette {
    search: String,
    chosen: usize,
}

impl Palette {
    /// Draws the palette. Whether it stays open.
    pub fn show(&mut self, ctx: &egui::Context, commands: &mut Commands) -> bool {
        let found = self.found();
        self.chosen = self.chosen.min(found.len().saturating_sub(1));
        let (down, up, enter, escape) = ctx.input_mut(|input| {
            let mut pressed = |key| input.consume_key(egui::Modifiers::NONE, key);
            (
                pressed(egui::Key::ArrowDown),
                pressed(egui::Key::ArrowUp),
                pressed(egui::Key::Enter),
                pressed(egui::Key::Escape),
            )
        });
        if down && self.chosen + 1 < found.len() {
            self.chosen += 1;
        }
        if up {
            self.chosen = self.chosen.saturating_sub(1);
        }
        let mut run = (enter && !found.is_empty()).then_some(self.chosen);
        let window = egui::Window::new("Find a command").collapsible(false).resizable(false);
        window.anchor(egui::Align2::CENTER_TOP, [0.0, 80.0]).show(ctx, |ui| {
            ui.set_width(420.0);
            let search = egui::TextEdit::singleline(&mut self.search)
                .hint_text("Find a command or a sample");
            ui.add(search.desired_width(f32::INFINITY)).request_focus();
            egui::ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
                if found.is_empty() {
                    ui.weak("Nothing is called so.");
                }
                for (index, (title, _)) in found.iter().enumerate() {
                    let response = ui.selectable_label(index == self.chosen, title);
                    if response.clicked() {
                        run = Some(index);
                    }
                    if (up || down) && index == self.chosen {
                        response.scroll_to_me(None);
                    }
                }
            });
        });
        if let Some((_, command)) = run.and_then(|index| found.into_iter().nth(index)) {
            commands.push(command);
            return false;
        }
        !escape
    }

    /// What contains all words that are searched for.
    fn found(&self) -> Vec<(String, Command)> {
        let actions =
            actions::all().into_iter().map(|action| (action.title.to_owned(), action.command));
        let samples = SAMPLES.iter().map(|sample| {
            let source = NetworkSource::Named(sample.name.to_owned());
            (
                format!("Open sample {}", sample.name),
                Command::Document(DocumentCommand::Open(source)),
            )
        });
        let wanted = self.search.to_lowercase();
        let matches = |title: &str| {
            let title = title.to_lowercase();
            wanted.split_whitespace().all(|word| title.contains(word))
        };
        let mut found: Vec<_> =
            actions.chain(samples).filter(|(title, _)| matches(title)).collect();
        // What is called so comes before what begins so, and that before what contains it.
        found.sort_by_key(|(title, _)| {
            let title = title.to_lowercase();
            (title != wanted, !title.starts_with(&wanted))
        });
        found
    }
}
