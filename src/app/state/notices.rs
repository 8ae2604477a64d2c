//! Short messages that appear in a corner of the window and disappear after a while.

use eframe::egui;
use egui_notify::{Anchor, Toasts};

use crate::numbers;
use crate::safe_text::shortened;

/// Maximum number of characters in a line of a wrapped notice, unless a single word is longer.
const COLUMNS: usize = 64;

/// Maximum number of characters of a notice. It may contain a name from a file, which may have any
/// length; all other notices are shorter.
const MAX_CHARACTERS: usize = 1000;

/// The notices that are on screen.
pub(crate) struct Notices(Toasts);

impl Default for Notices {
    fn default() -> Self {
        // Headings, tabs and tools are at the top of panes, so notices are at the bottom, above the
        // status line.
        let toasts = Toasts::default().with_anchor(Anchor::BottomRight);
        Self(toasts.with_margin(egui::vec2(12.0, 36.0)))
    }
}

impl Notices {
    /// Says that something was done, or can be done.
    pub(crate) fn info(&mut self, message: &str) {
        self.0.info(wrapped(message));
    }

    /// Says that files were written. Lines are not wrapped, because they contain paths.
    pub(crate) fn success(&mut self, message: &str) {
        self.0.success(shortened(message, MAX_CHARACTERS));
    }

    /// Says that something was done, but not as the user may expect.
    pub(crate) fn warning(&mut self, message: &str) {
        self.0.warning(wrapped(message));
    }

    /// Says that something failed.
    pub(crate) fn error(&mut self, message: &str) {
        self.0.error(wrapped(message));
    }

    /// Draws the notices.
    pub(crate) fn show(&mut self, ctx: &egui::Context) {
        self.0.show(ctx);
    }
}

/// `message`, shortened to [`MAX_CHARACTERS`] and broken into lines.
fn wrapped(message: &str) -> String {
    numbers::wrapped(&shortened(message, MAX_CHARACTERS), COLUMNS)
}
