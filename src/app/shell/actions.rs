//! Everything that has a name and perhaps a key: one list behind the menu, the shortcuts, the
//! command palette and the help.

use eframe::egui::{Key, KeyboardShortcut, Modifiers};

use crate::app::lessons::{LESSONS, LessonCommand};
use crate::app::state::command::Command;
use crate::app::state::model::{Pane, ThemeChoice};
use crate::app::state::stepping::Walk;

/// A command that the user can find by name.
#[derive(Clone, Debug)]
pub struct Action {
    /// The name, as in the menu.
    pub title: &'static str,
    /// The key for it.
    pub shortcut: Option<KeyboardShortcut>,
    /// What it does.
    pub command: Command,
}

const fn key(key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(Modifiers::NONE, key))
}

const fn command(key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(Modifiers::COMMAND, key))
}

const fn command_shift(key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key))
}

/// The other key that redoes, where people come from programs that have it so.
pub const REDO_TOO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Y);

/// Whether `shortcut` means something in a text field, which has it while it is typed into.
#[must_use]
pub fn edits_text(shortcut: KeyboardShortcut) -> bool {
    let KeyboardShortcut { modifiers, logical_key } = shortcut;
    let is_function = logical_key.name().len() > 1 && logical_key.name().starts_with('F');
    (modifiers.is_none() && !is_function) || matches!(logical_key, Key::Z | Key::Y | Key::Delete)
}

/// All panes with their titles, in the order of the View menu.
pub const PANES: [(Pane, &str); 12] = [
    (Pane::Variables, "Variables"),
    (Pane::Cases, "Cases"),
    (Pane::JunctionTree, "Junction tree"),
    (Pane::Network, "Network"),
    (Pane::Details, "Details"),
    (Pane::Cliques, "Cliques"),
    (Pane::Timeline, "Timeline"),
    (Pane::Messages, "Messages"),
    (Pane::Inside, "Inside a message"),
    (Pane::Histogram, "Histogram"),
    (Pane::Overhead, "Overhead"),
    (Pane::Experiments, "Experiments"),
];

/// The title of `pane`.
#[must_use]
pub fn pane_title(pane: Pane) -> &'static str {
    PANES.iter().find(|(known, _)| *known == pane).map_or("", |(_, title)| title)
}

/// The action for `command`, if it has a name.
#[must_use]
pub fn action_for(command: &Command) -> Option<Action> {
    all().into_iter().find(|action| action.command == *command)
}

/// All actions.
#[must_use]
pub fn all() -> Vec<Action> {
    let action = |title, shortcut, command| Action { title, shortcut, command };
    let mut actions = vec![
        action("Open…", command(Key::O), Command::OpenDialog),
        action("Reload", command(Key::R), Command::Reload),
        action("Load evidence…", command_shift(Key::O), Command::LoadEvidenceDialog),
        action("Save evidence…", command(Key::S), Command::SaveEvidenceDialog),
        action("Keep the evidence as a case", command(Key::K), Command::KeepCase(String::new())),
        action("Open cases…", None, Command::OpenCasesDialog),
        action("Save all cases…", None, Command::SaveCasesDialog),
        action("Save a picture of the window…", None, Command::SavePictureDialog(None)),
        action("Quit", command(Key::Q), Command::Quit),
        action("Undo", command(Key::Z), Command::Undo),
        action("Redo", command_shift(Key::Z), Command::Redo),
        action("Clear all evidence", command(Key::Delete), Command::ClearEvidence),
        action("Propagate now", key(Key::F5), Command::Propagate),
        action("Cancel", command(Key::Period), Command::Cancel),
        action("Improve the tree", None, Command::ImproveTree),
        action("Stop improving the tree", None, Command::StopImproving),
        action("Keep improving the tree", None, Command::SetKeepImproving(true)),
        action("Improve the tree only when asked", None, Command::SetKeepImproving(false)),
        action("Step through the messages", key(Key::F8), Command::Walk(Walk::Begin)),
        action(
            "Play the propagation in slow motion",
            key(Key::F9),
            Command::Walk(Walk::SlowMotion),
        ),
        action("Select nothing", key(Key::Escape), Command::Select(None)),
        action("Fit the picture", key(Key::F), Command::Fit),
        action("Reset the panes", None, Command::ResetLayout),
        action("Theme: as the system", None, Command::SetTheme(ThemeChoice::System)),
        action("Theme: dark", None, Command::SetTheme(ThemeChoice::Dark)),
        action("Theme: light", None, Command::SetTheme(ThemeChoice::Light)),
        action("Find a command…", command(Key::P), Command::TogglePalette),
        action("Keys and help", key(Key::F1), Command::ToggleHelp),
    ];
    for (index, lesson) in LESSONS.iter().enumerate() {
        let start = Command::Lesson(LessonCommand::Start(index));
        actions.push(action(lesson.title.as_str(), None, start));
    }
    actions.extend(PANES.map(|(pane, title)| action(title, None, Command::Show(pane))));
    actions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_edit_text_are_told_from_those_that_do_not() {
        let of = |command| all().into_iter().find(|action| action.command == command);
        let edits = |command| edits_text(of(command).and_then(|action| action.shortcut).unwrap());
        assert!(edits(Command::Undo) && edits(Command::Redo) && edits_text(REDO_TOO));
        assert!(edits(Command::ClearEvidence) && edits(Command::Fit));
        assert!(!edits(Command::Propagate) && !edits(Command::ToggleHelp));
        assert!(!edits(Command::OpenDialog) && !edits(Command::TogglePalette));
    }

    #[test]
    fn no_two_actions_share_a_key_or_a_title() {
        let actions = all();
        for (index, one) in actions.iter().enumerate() {
            for other in &actions[index + 1..] {
                assert_ne!(one.title, other.title);
                assert!(one.shortcut.is_none() || one.shortcut != other.shortcut, "{}", one.title);
            }
        }
    }
}
