//! The commands that have a name, some with a key. The menu, the shortcuts, the command palette and
//! the help all use this list.

use std::sync::Arc;

use eframe::egui::{Key, KeyboardShortcut, Modifiers};

use crate::app::state::command::{
    CaseCommand, Command, DocumentCommand, EngineCommand, EvidenceCommand, FilePurpose,
    HistoryCommand, LessonCommand, StepCommand, TreeCommand, ViewCommand, WindowCommand,
};
use crate::app::state::lessons::LESSONS;
use crate::app::state::pane::Pane;
use crate::app::state::settings::ThemeChoice;

/// A command with a name.
#[derive(Clone, Debug)]
pub struct Action {
    /// The name on screen.
    pub title: &'static str,
    /// The key that runs the command, if there is one.
    pub shortcut: Option<KeyboardShortcut>,
    /// The command.
    pub command: Command,
}

const fn key(key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(Modifiers::NONE, key))
}

const fn ctrl(key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(Modifiers::COMMAND, key))
}

const fn shift(key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(Modifiers::SHIFT, key))
}

const fn ctrl_shift(key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key))
}

/// A second shortcut for Redo, which many other programs use.
pub const ALTERNATIVE_REDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Y);

/// Whether a text field that has the focus receives `shortcut` instead of the window, because the
/// shortcut means something in a text field.
#[must_use]
pub fn edits_text(shortcut: KeyboardShortcut) -> bool {
    let KeyboardShortcut { modifiers, logical_key } = shortcut;
    let is_function_key = logical_key.name().len() > 1 && logical_key.name().starts_with('F');
    (modifiers.is_none() && !is_function_key)
        || matches!(logical_key, Key::Z | Key::Y | Key::Delete)
}

/// The action for `command`; `None` if `command` has no name.
#[must_use]
pub fn action_for(command: &Command) -> Option<Action> {
    all().into_iter().find(|action| action.command == *command)
}

fn action(
    title: &'static str,
    shortcut: Option<KeyboardShortcut>,
    command: impl Into<Command>,
) -> Action {
    Action { title, shortcut, command: command.into() }
}

/// All actions.
#[must_use]
pub fn all() -> Vec<Action> {
    let mut actions = files();
    actions.extend(editing());
    actions.extend(computing());
    actions.extend(viewing());
    actions.extend(LESSONS.iter().map(|lesson| {
        action(lesson.title.as_str(), None, LessonCommand::Start(Arc::clone(lesson)))
    }));
    actions.extend(Pane::ALL.map(|pane| action(pane.title(), None, ViewCommand::Show(pane))));
    actions
}

/// Actions about files and cases, and the action that quits.
fn files() -> Vec<Action> {
    let choose = WindowCommand::ChooseFile;
    vec![
        action("Open…", ctrl(Key::O), choose(FilePurpose::OpenNetwork)),
        action("Open lesson…", None, choose(FilePurpose::OpenLesson)),
        action("Reload", ctrl(Key::R), DocumentCommand::Reload),
        action("Load evidence…", ctrl_shift(Key::O), choose(FilePurpose::LoadEvidence)),
        action("Save evidence…", ctrl(Key::S), choose(FilePurpose::SaveEvidence)),
        action("Keep the evidence as a case", ctrl(Key::K), CaseCommand::Add(String::new())),
        action("Open cases…", None, choose(FilePurpose::OpenCases)),
        action("Save all cases…", None, choose(FilePurpose::SaveCases)),
        action("Save a picture of the window…", None, choose(FilePurpose::SavePicture(None))),
        action("Quit", ctrl(Key::Q), WindowCommand::Quit),
    ]
}

/// Actions that undo or redo a change, or clear the evidence.
fn editing() -> Vec<Action> {
    vec![
        action("Undo", ctrl(Key::Z), HistoryCommand::Undo),
        action("Redo", ctrl_shift(Key::Z), HistoryCommand::Redo),
        action("Clear all evidence", ctrl(Key::Delete), EvidenceCommand::Clear),
    ]
}

/// Actions about propagations, the junction tree and messages.
fn computing() -> Vec<Action> {
    vec![
        action("Propagate now", key(Key::F5), EngineCommand::Propagate),
        action("Propagate several times and measure", key(Key::F6), EngineCommand::Measure),
        action("Cancel", ctrl(Key::Period), EngineCommand::Cancel),
        action("Improve the tree", None, TreeCommand::Improve),
        action("Stop improving the tree", None, TreeCommand::StopImproving),
        action("Keep improving the tree", None, TreeCommand::SetKeepImproving(true)),
        action("Improve the tree only on request", None, TreeCommand::SetKeepImproving(false)),
        action("Step through the messages", key(Key::F8), StepCommand::Begin),
        action("Play the propagation in slow motion", key(Key::F9), StepCommand::SlowMotion),
    ]
}

/// Actions that change what the window shows.
fn viewing() -> Vec<Action> {
    vec![
        action("Select nothing", key(Key::Escape), ViewCommand::Select(None)),
        action("Fit the graphs", key(Key::F), ViewCommand::Fit),
        action("Reset the panes", None, ViewCommand::ResetLayout),
        action("Show all panes again", None, ViewCommand::Restore),
        action("Full screen", key(Key::F11), WindowCommand::ToggleFullScreen),
        action("Projector", shift(Key::F11), ViewCommand::ToggleProjector),
        action("Go to the states", key(Key::E), ViewCommand::FocusStates),
        action("Theme: system", None, ViewCommand::SetTheme(ThemeChoice::System)),
        action("Theme: dark", None, ViewCommand::SetTheme(ThemeChoice::Dark)),
        action("Theme: light", None, ViewCommand::SetTheme(ThemeChoice::Light)),
        action("Find a command…", ctrl(Key::P), WindowCommand::TogglePalette),
        action("Keys and help", key(Key::F1), WindowCommand::ToggleHelp),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_field_receives_only_shortcuts_that_mean_something_in_it() {
        let edits = |command: Command| edits_text(action_for(&command).unwrap().shortcut.unwrap());
        assert!(edits(HistoryCommand::Undo.into()) && edits(HistoryCommand::Redo.into()));
        assert!(edits_text(ALTERNATIVE_REDO));
        assert!(edits(EvidenceCommand::Clear.into()) && edits(ViewCommand::Fit.into()));
        assert!(
            !edits(EngineCommand::Propagate.into()) && !edits(WindowCommand::ToggleHelp.into())
        );
        assert!(!edits(WindowCommand::ChooseFile(FilePurpose::OpenNetwork).into()));
        assert!(!edits(WindowCommand::TogglePalette.into()));
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
