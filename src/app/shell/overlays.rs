//! What is drawn over the panes (help, command palette, file chooser), and the requested picture.

use eframe::egui;

use crate::app::shell::command_palette::CommandPalette;
use crate::app::shell::file_chooser::FileChooser;
use crate::app::shell::focus_ring;
use crate::app::shell::help;
use crate::app::shell::picture::PictureRequest;
use crate::app::state::command::{Commands, WindowCommand};

/// What is drawn over the panes, and the requested picture.
#[derive(Default)]
pub(crate) struct Overlays {
    /// Whether the list of keys is open.
    pub(crate) help: bool,
    palette: Option<CommandPalette>,
    /// The open file dialog or path box.
    pub(crate) files: FileChooser,
    /// The picture of the window or of a pane that is to be saved, if there is one.
    pub(crate) picture: Option<PictureRequest>,
}

impl Overlays {
    /// Applies `command`.
    ///
    /// # Errors
    /// If a file dialog cannot be opened.
    pub(crate) fn apply(
        &mut self,
        ctx: &egui::Context,
        command: WindowCommand,
    ) -> Result<(), String> {
        match command {
            WindowCommand::ChooseFile(purpose) => return self.files.open(ctx, purpose),
            WindowCommand::SavePicture(pane, path) => {
                self.picture = Some(PictureRequest::new(pane, path));
            }
            WindowCommand::ToggleHelp => self.help = !self.help,
            WindowCommand::TogglePalette => {
                self.palette = match self.palette {
                    Some(_) => None,
                    None => Some(CommandPalette::default()),
                };
            }
            WindowCommand::ToggleFullScreen => {
                let fullscreen = ctx.input(|input| input.viewport().fullscreen.unwrap_or(false));
                ctx.send_viewport_cmd(egui::ViewportCommand::Fullscreen(!fullscreen));
            }
            WindowCommand::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
        }
        Ok(())
    }

    /// Whether an overlay with a text field is open.
    pub(crate) fn has_text_field(&self) -> bool {
        self.palette.is_some() || self.files.has_path_box()
    }

    /// Draws the open overlays.
    pub(crate) fn show(&mut self, ctx: &egui::Context, commands: &mut Commands) {
        focus_ring::show(ctx);
        help::show(ctx, &mut self.help);
        if let Some(palette) = &mut self.palette
            && !palette.show(ctx, commands)
        {
            self.palette = None;
        }
        self.files.show(ctx, commands);
    }
}
