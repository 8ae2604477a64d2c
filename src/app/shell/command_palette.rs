//! The command palette: all commands and samples by name.

use eframe::egui::{self, Button, Key, KeyboardShortcut, Modifiers, vec2};

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
        let pressed = |key| ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let (down, up) = (pressed(Key::ArrowDown), pressed(Key::ArrowUp));
        let (enter, escape) = (pressed(Key::Enter), pressed(Key::Escape));
        let mut run = None;
        let window = egui::Window::new("Find a command").collapsible(false).resizable(false);
        window.anchor(egui::Align2::CENTER_TOP, [0.0, 80.0]).show(ctx, |ui| {
            ui.set_width(420.0);
            let search = egui::TextEdit::singleline(&mut self.search)
                .hint_text("Find a command or a sample");
            let search = ui.add(search.desired_width(f32::INFINITY));
            search.request_focus();
            if search.changed() {
                self.chosen = 0;
            }
            let mut found = self.found();
            let last = found.len().saturating_sub(1);
            if down {
                self.chosen += 1;
            }
            if up {
                self.chosen = self.chosen.saturating_sub(1);
            }
            self.chosen = self.chosen.min(last);
            let mut clicked = (enter && !found.is_empty()).then_some(self.chosen);
            egui::ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
                if found.is_empty() {
                    ui.weak("No command or sample has this name.");
                }
                // The scroll bar floats over the content.
                let width = ui.available_width() - ui.spacing().scroll.bar_width;
                for (index, entry) in found.iter().enumerate() {
                    let keys = entry.shortcut.map(|keys| ctx.format_shortcut(&keys));
                    let button = Button::selectable(index == self.chosen, &entry.title)
                        .shortcut_text(keys.unwrap_or_default())
                        .min_size(vec2(width, 0.0));
                    let response = ui.add(button);
                    if response.clicked() {
                        clicked = Some(index);
                    }
                    if (up || down) && index == self.chosen {
                        response.scroll_to_me(None);
                    }
                }
            });
            run = clicked.map(|index| found.swap_remove(index).command);
        });
        let stays = run.is_none() && !escape;
        commands.extend(run);
        stays
    }

    /// The commands and samples with titles that contain all words of the search, best match first.
    fn found(&self) -> Vec<Entry> {
        let actions = actions::all().into_iter().map(|action| Entry {
            title: action.title.to_owned(),
            shortcut: action.shortcut,
            command: action.command,
            sample: None,
        });
        let samples = SAMPLES.iter().map(|sample| {
            let open = DocumentCommand::Open(NetworkSource::Named(sample.name.to_owned()));
            Entry {
                title: format!("Open sample {}", sample.name),
                shortcut: None,
                command: open.into(),
                sample: Some(sample.name),
            }
        });
        let search = self.search.trim().to_lowercase();
        let matches = |entry: &Entry| {
            let title = entry.title.to_lowercase();
            search.split_whitespace().all(|word| title.contains(word))
        };
        let mut found: Vec<_> = actions.chain(samples).filter(matches).collect();
        found.sort_by_key(|entry| entry.rank(&search));
        found
    }
}

/// A line of the palette.
struct Entry {
    title: String,
    shortcut: Option<KeyboardShortcut>,
    command: Command,
    /// The name of the network, if the command opens a sample.
    sample: Option<&'static str>,
}

impl Entry {
    /// How well the entry matches a search in lower case; 0 is best. For the name of a network, the
    /// network comes before a lesson about it.
    fn rank(&self, search: &str) -> u8 {
        let title = self.title.to_lowercase();
        let begins = |name: &str| !search.is_empty() && name.to_lowercase().starts_with(search);
        match self.sample {
            _ if title == search => 0,
            Some(name) if name.eq_ignore_ascii_case(search) => 0,
            Some(name) if begins(name) => 1,
            _ if begins(&title) => 2,
            _ => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;

    use super::*;

    #[test]
    fn enter_runs_the_best_match_of_what_was_typed() {
        // Goes down in the list of all commands, and then types a name. Typing and Enter may reach
        // the window in one frame.
        for one_frame in [false, true] {
            let mut harness = Harness::new_ui_state(
                |ui, (palette, commands, is_open): &mut (CommandPalette, Commands, bool)| {
                    *is_open = *is_open && palette.show(ui.ctx(), commands);
                },
                (CommandPalette::default(), Commands::default(), true),
            );
            harness.run_steps(2);
            for _ in 0..2 {
                harness.key_press(Key::ArrowDown);
                harness.run_steps(2);
            }
            assert_eq!(harness.state().0.chosen, 2);
            harness.input_mut().events.push(egui::Event::Text("alarm".to_owned()));
            if !one_frame {
                harness.run_steps(2);
            }
            harness.key_press(Key::Enter);
            harness.run_steps(2);
            let (_, commands, is_open) = harness.state_mut();
            let open = DocumentCommand::Open(NetworkSource::Named("alarm".to_owned()));
            assert_eq!(commands.drain(), [open.into()]);
            assert!(!*is_open);
        }
    }

    #[test]
    fn the_name_of_a_network_finds_the_network_before_its_lesson() {
        let titles = |search: &str| -> Vec<String> {
            let palette = CommandPalette { search: search.to_owned(), chosen: 0 };
            palette.found().into_iter().map(|entry| entry.title).collect()
        };
        let asia = titles("Asia");
        assert_eq!(asia[0], "Open sample asia");
        assert!(asia.iter().any(|title| title.starts_with("Asia and")), "{asia:?}");
        assert_eq!(titles("undo")[0], "Undo");
        assert_eq!(titles("timeline")[0], "Timeline");
        assert_eq!(titles("").len(), actions::all().len() + SAMPLES.len());
    }
}
