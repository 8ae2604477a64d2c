//! Asking the user for a path: in the system's file dialog, or in a box if the system has none.

use std::path::PathBuf;
use std::time::Duration;

use eframe::egui;

use crate::app::shell::file_dialog::{Dialog, DialogAnswer};
use crate::app::shell::path_box::{PathAnswer, PathBox};
use crate::app::state::command::{Command, Commands, FilePurpose};

/// A dialog that ends without a path after less than this time was never shown, because no user
/// closes a dialog that quickly. With too large a value, users who cancel quickly get the path box.
const MIN_DIALOG_TIME: Duration = Duration::from_millis(400);

/// The open dialog or box, if any.
#[derive(Default)]
pub(crate) struct FileChooser {
    dialog: Option<Dialog>,
    path_box: Option<PathBox>,
}

impl FileChooser {
    /// Opens a dialog for `purpose`, unless a dialog is open.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    pub(crate) fn open(&mut self, ctx: &egui::Context, purpose: FilePurpose) -> Result<(), String> {
        if self.dialog.is_none() {
            let ctx = ctx.clone();
            let dialog = Dialog::open(purpose, move || ctx.request_repaint());
            self.dialog =
                Some(dialog.map_err(|error| format!("The file dialog cannot be opened: {error}"))?);
        }
        Ok(())
    }

    /// Whether the box for a path is open.
    pub(crate) fn has_path_box(&self) -> bool {
        self.path_box.is_some()
    }

    /// The command for the path that the user chose in the dialog, once there is one. Opens the box
    /// if the dialog was never shown. Call this once a frame.
    pub(crate) fn poll(&mut self) -> Option<Command> {
        let DialogAnswer { path, duration } = self.dialog.as_ref()?.answer()?;
        let purpose = self.dialog.take()?.purpose();
        self.take_answer(purpose, path, duration)
    }

    /// Takes the answer of a dialog that was open for `duration`, and returns the command for the
    /// chosen path. Opens the box if the dialog was never shown.
    pub(crate) fn take_answer(
        &mut self,
        purpose: FilePurpose,
        path: Option<PathBuf>,
        duration: Duration,
    ) -> Option<Command> {
        if path.is_none() && duration < MIN_DIALOG_TIME {
            self.path_box = Some(PathBox::new(purpose));
        }
        path.map(|path| purpose.command(path))
    }

    /// Draws the box, if it is open, and pushes the command for the path that the user typed.
    pub(crate) fn show(&mut self, ctx: &egui::Context, commands: &mut Commands) {
        let Some(path_box) = &mut self.path_box else { return };
        let Some(answer) = path_box.show(ctx) else { return };
        let purpose = path_box.purpose();
        self.path_box = None;
        if let PathAnswer::Chosen(path) = answer {
            commands.push(purpose.command(path));
        }
    }
}
