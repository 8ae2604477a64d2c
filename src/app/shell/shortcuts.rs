//! Keyboard shortcuts.

use eframe::egui::{self, FocusDirection, Key, KeyboardShortcut, Modifiers};

use crate::app::shell::actions;
use crate::app::state::command::{Command, Commands, HistoryCommand, LessonCommand, StepCommand};
use crate::app::state::stepping::Stepping;

/// Pushes the commands of all shortcuts that were pressed. `typing` says whether a text field has
/// the focus: the field then receives the shortcuts that [edit text](actions::edits_text).
pub(crate) fn read(ctx: &egui::Context, typing: bool, commands: &mut Commands) {
    let mut keyed: Vec<(KeyboardShortcut, Command)> = actions::all()
        .into_iter()
        .filter_map(|action| Some((action.shortcut?, action.command)))
        .collect();
    keyed.push((actions::ALTERNATIVE_REDO, HistoryCommand::Redo.into()));
    // Shortcuts with Shift come first, because egui lets Ctrl+Shift+Z match Ctrl+Z too.
    keyed.sort_by_key(|(shortcut, _)| !shortcut.modifiers.shift);
    for (shortcut, command) in keyed {
        let belongs_to_text = typing && actions::edits_text(shortcut);
        if !belongs_to_text
            && !closes_popup(ctx, shortcut.logical_key)
            && ctx.input_mut(|input| input.consume_shortcut(&shortcut))
        {
            commands.push(command);
        }
    }
}

/// Pushes the commands of the keys that were pressed and that change the step of a lesson. Remote
/// controls for presentations send these keys.
pub(crate) fn read_lesson(ctx: &egui::Context, commands: &mut Commands) {
    let keys = [(Key::PageDown, LessonCommand::Next), (Key::PageUp, LessonCommand::Back)];
    for (key, command) in keys {
        if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
            commands.push(command);
        }
    }
}

/// Pushes the commands of the keys that were pressed and that control `stepping`.
pub(crate) fn read_stepping(ctx: &egui::Context, stepping: &Stepping, commands: &mut Commands) {
    let keys = [
        (Key::ArrowLeft, StepCommand::Back),
        (Key::ArrowRight, StepCommand::Forward),
        (Key::Home, StepCommand::First),
        (Key::End, StepCommand::Last),
        (Key::Space, StepCommand::Play(!stepping.player.is_playing())),
        (Key::Escape, StepCommand::End),
    ];
    for (key, command) in keys {
        if !closes_popup(ctx, key) && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key))
        {
            commands.push(command);
            // An arrow key would also move the focus to the nearest widget in its direction.
            ctx.memory_mut(|memory| memory.move_focus(FocusDirection::None));
        }
    }
}

/// Whether `key` closes a menu or another popup that is open.
fn closes_popup(ctx: &egui::Context, key: Key) -> bool {
    key == Key::Escape && egui::Popup::is_any_open(ctx)
}
