//! Everything that has a name and perhaps a key: one list behind the menu, the shortcuts, the
//! command palette and the help.

use eframe::egui::{Key, KeyboardShortcut, Modifiers};

use crate::app::lessons::{LESSONS, LessonCommand};
use crate::app::state::command::{
    CaseCommand, Command, DocumentCommand, EngineCommand, EvidenceCommand, HistoryCommand,
    StepCommand, TreeCommand, ViewCommand, WindowCommand,
};
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::model::{Pane, ThemeChoice};

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
        action(
            "Open…",
            command(Key::O),
            Command::Window(WindowCommand::ChooseFile(FilePurpose::OpenNetwork)),
        ),
        action("Reload", command(Key::R), Command::Document(DocumentCommand::Reload)),
        action(
            "Load evidence…",
            command_shift(Key::O),
            Command::Window(WindowCommand::ChooseFile(FilePurpose::LoadEvidence)),
        ),
        action(
            "Save evidence…",
            command(Key::S),
            Command::Window(WindowCommand::ChooseFile(FilePurpose::SaveEvidence)),
        ),
        action(
            "Keep the evidence as a case",
            command(Key::K),
            Command::Case(CaseCommand::Add(String::new())),
        ),
        action(
            "Open cases…",
            None,
            Command::Window(WindowCommand::ChooseFile(FilePurpose::OpenCases)),
        ),
        action(
            "Save all cases…",
            None,
            Command::Window(WindowCommand::ChooseFile(FilePurpose::SaveCases)),
        ),
        action(
            "Save a picture of the window…",
            None,
            Command::Window(WindowCommand::ChooseFile(FilePurpose::SavePicture(None))),
        ),
        action("Quit", command(Key::Q), Command::Window(WindowCommand::Quit)),
        action("Undo", command(Key::Z), Command::History(HistoryCommand::Undo)),
        action("Redo", command_shift(Key::Z), Command::History(HistoryCommand::Redo)),
        action(
            "Clear all evidence",
            command(Key::Delete),
            Command::Evidence(EvidenceCommand::Clear),
        ),
        action("Propagate now", key(Key::F5), Command::Engine(EngineCommand::Propagate)),
        action("Cancel", command(Key::Period), Command::Engine(EngineCommand::Cancel)),
        action("Improve the tree", None, Command::Tree(TreeCommand::Improve)),
        action("Stop improving the tree", None, Command::Tree(TreeCommand::StopImproving)),
        action("Keep improving the tree", None, Command::Tree(TreeCommand::SetKeepImproving(true))),
        action(
            "Improve the tree only when asked",
            None,
            Command::Tree(TreeCommand::SetKeepImproving(false)),
        ),
        action("Step through the messages", key(Key::F8), Command::Step(StepCommand::Begin)),
        action(
            "Play the propagation in slow motion",
            key(Key::F9),
            Command::Step(StepCommand::SlowMotion),
        ),
        action("Select nothing", key(Key::Escape), Command::View(ViewCommand::Select(None))),
        action("Fit the picture", key(Key::F), Command::View(ViewCommand::Fit)),
        action("Reset the panes", None, Command::View(ViewCommand::ResetLayout)),
        action(
            "Theme: as the system",
            None,
            Command::View(ViewCommand::SetTheme(ThemeChoice::System)),
        ),
        action("Theme: dark", None, Command::View(ViewCommand::SetTheme(ThemeChoice::Dark))),
        action("Theme: light", None, Command::View(ViewCommand::SetTheme(ThemeChoice::Light))),
        action("Find a command…", command(Key::P), Command::Window(WindowCommand::TogglePalette)),
        action("Keys and help", key(Key::F1), Command::Window(WindowCommand::ToggleHelp)),
    ];
    for (index, lesson) in LESSONS.iter().enumerate() {
        let start = Command::Lesson(LessonCommand::Start(index));
        actions.push(action(lesson.title.as_str(), None, start));
    }
    actions.extend(
        PANES.map(|(pane, title)| action(title, None, Command::View(ViewCommand::Show(pane)))),
    );
    actions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_edit_text_are_told_from_those_that_do_not() {
        let of = |command| all().into_iter().find(|action| action.command == command);
        let edits = |command| edits_text(of(command).and_then(|action| action.shortcut).unwrap());
        assert!(
            edits(Command::History(HistoryCommand::Undo))
                && edits(Command::History(HistoryCommand::Redo))
                && edits_text(REDO_TOO)
        );
        assert!(
            edits(Command::Evidence(EvidenceCommand::Clear))
                && edits(Command::View(ViewCommand::Fit))
        );
        assert!(
            !edits(Command::Engine(EngineCommand::Propagate))
                && !edits(Command::Window(WindowCommand::ToggleHelp))
        );
        assert!(
            !edits(Command::Window(WindowCommand::ChooseFile(FilePurpose::OpenNetwork)))
                && !edits(Command::Window(WindowCommand::TogglePalette))
        );
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
