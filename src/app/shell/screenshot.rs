//! `--screenshot`: open, wait for the posteriors, write a picture of the window, quit.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use eframe::egui::{self, ViewportCommand};

use crate::app::shell::picture;

/// Frames that are drawn after everything is there, so that layouts and fonts have settled.
const SETTLING_FRAMES: u32 = 8;

/// What came of a screenshot, for who started the window.
pub type Outcome = Arc<Mutex<Option<Result<(), String>>>>;

/// A screenshot to be taken.
pub struct Screenshot {
    path: PathBuf,
    outcome: Outcome,
    settled_frames: u32,
    asked: bool,
}

impl Screenshot {
    /// A screenshot to be written to `path`, and where to leave word of it.
    #[must_use]
    pub fn new(path: PathBuf) -> (Self, Outcome) {
        let outcome = Outcome::default();
        let shot = Self { path, outcome: Arc::clone(&outcome), settled_frames: 0, asked: false };
        (shot, outcome)
    }

    /// Takes the next step in a frame, in which the window was `settled` or not. `failure` ends it.
    pub fn advance(&mut self, ctx: &egui::Context, settled: bool, failure: Option<&str>) {
        if let Some(failure) = failure {
            self.finish(ctx, Err(failure.to_owned()));
            return;
        }
        if let Some(image) = picture::taken(ctx) {
            self.finish(ctx, picture::write(&self.path, &image));
            return;
        }
        self.settled_frames = if settled { self.settled_frames + 1 } else { 0 };
        if self.settled_frames >= SETTLING_FRAMES && !self.asked {
            self.asked = true;
            ctx.send_viewport_cmd(ViewportCommand::Screenshot(egui::UserData::default()));
        }
        ctx.request_repaint();
    }

    fn finish(&self, ctx: &egui::Context, result: Result<(), String>) {
        if let Ok(mut outcome) = self.outcome.lock() {
            outcome.get_or_insert(result);
        }
        ctx.send_viewport_cmd(ViewportCommand::Close);
    }
}
