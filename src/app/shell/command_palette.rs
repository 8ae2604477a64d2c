//! The command palette: all commands and samples by name.

use eframe::egui::{self, Key, Modifiers};

use crate::app::shell::actions;
use crate::app::state::command::{Command, Commands, DocumentCommand};
use crate::format::{NetworkSource, SAMPLES};

/// The command palette.
#[derive(Default)]
pub(crate) struct CommandPalette {
    search: String,
    /// Index of the highlighted command among those found.
    chosen: usize,
}

impl CommandPalette {
    /// Draws the palette. Returns whether it stays open.
    pub(crate) fn show(&mut self, ctx: &egui::Context, commands: &mut Commands) -> bool {
        let found = self.found();
        self.chosen = self.chosen.min(found.len().saturating_sub(1));
        let pressed = |key| ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let (down, up) = (pressed(Key::ArrowDown), pressed(Key::ArrowUp));
        let (enter, escape) = (pressed(Key::Enter), pressed(Key::Escape));
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
                    ui.weak("No command or sample has this name.");
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

    /// The commands and samples with titles that contain all words of the search. A title that
    /// equals the search comes first, then titles that start with it.
    fn found(&self) -> Vec<(String, Command)> {
        let actions =
            actions::all().into_iter().map(|action| (action.title.to_owned(), action.command));
        let samples = SAMPLES.iter().map(|sample| {
            let open = DocumentCommand::Open(NetworkSource::Named(sample.name.to_owned()));
            (format!("Open sample {}", sample.name), open.into())
        });
        let search = self.search.to_lowercase();
        let matches = |title: &str| {
            let title = title.to_lowercase();
            search.split_whitespace().all(|word| title.contains(word))
        };
        let mut found: Vec<_> =
            actions.chain(samples).filter(|(title, _)| matches(title)).collect();
        found.sort_by_key(|(title, _)| {
            let title = title.to_lowercase();
            (title != search, !title.starts_with(&search))
        });
        found
    }
}
