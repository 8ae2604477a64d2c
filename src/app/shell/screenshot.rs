//! The option `--screenshot`: waits for the posteriors, writes a picture of the window, and quits.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use eframe::egui::{self, ViewportCommand};

use crate::app::shell::picture;

/// Number of frames to draw once the posteriors are on screen. With too few, the picture shows an
/// unfinished layout.
const SETTLING_FRAMES: u32 = 8;

/// The outcome of a screenshot, shared with the caller that opened the window; `None` until the
/// screenshot has been written or has failed.
pub type Outcome = Arc<Mutex<Option<Result<(), String>>>>;

/// The screenshot of a run with `--screenshot`.
pub struct Screenshot {
    path: PathBuf,
    outcome: Outcome,
    /// Number of successive frames in which the workbench was settled.
    settled_frames: u32,
    /// Whether the picture was requested.
    requested: bool,
}

impl Screenshot {
    /// A screenshot to be written to `path`, and a handle to its outcome.
    #[must_use]
    pub fn new(path: PathBuf) -> (Self, Outcome) {
        let outcome = Outcome::default();
        let shot =
            Self { path, outcome: Arc::clone(&outcome), settled_frames: 0, requested: false };
        (shot, outcome)
    }

    /// Takes the picture, writes it, and closes the window. `settled` says whether the posteriors
    /// are on screen. A `failure` closes the window at once. Call this once per frame.
    pub fn advance(&mut self, ctx: &egui::Context, settled: bool, failure: Option<&str>) {
        if let Some(failure) = failure {
            self.finish(ctx, Err(failure.to_owned()));
            return;
        }
        if let Some(image) = picture::captured_image(ctx) {
            self.finish(ctx, picture::write(&self.path, &image));
            return;
        }
        self.settled_frames = if settled { self.settled_frames + 1 } else { 0 };
        if self.settled_frames >= SETTLING_FRAMES && !self.requested {
            self.requested = true;
            ctx.send_viewport_cmd(ViewportCommand::Screenshot(egui::UserData::default()));
        }
        ctx.request_repaint();
    }

    /// Stores the outcome, unless there is one already, and closes the window.
    fn finish(&self, ctx: &egui::Context, result: Result<(), String>) {
        if let Ok(mut outcome) = self.outcome.lock() {
            outcome.get_or_insert(result);
        }
        ctx.send_viewport_cmd(ViewportCommand::Close);
    }
}
