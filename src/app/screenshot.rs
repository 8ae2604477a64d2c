//! `--screenshot`: open, wait for the posteriors, write a picture of the window, quit.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use eframe::egui::{self, ColorImage, ViewportCommand};

use crate::files::write_atomically;

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
        let image = ctx.input(|input| {
            input.raw.events.iter().find_map(|event| match event {
                egui::Event::Screenshot { image, .. } => Some(Arc::clone(image)),
                _ => None,
            })
        });
        if let Some(image) = image {
            let written = self.write(&image);
            self.finish(ctx, written);
            return;
        }
        self.settled_frames = if settled { self.settled_frames + 1 } else { 0 };
        if self.settled_frames >= SETTLING_FRAMES && !self.asked {
            self.asked = true;
            ctx.send_viewport_cmd(ViewportCommand::Screenshot(egui::UserData::default()));
        }
        ctx.request_repaint();
    }

    fn write(&self, image: &ColorImage) -> Result<(), String> {
        let [width, height] = image.size.map(|side| side as u32);
        let pixels = image.pixels.iter().flat_map(|pixel| pixel.to_array()).collect();
        let file = image::RgbaImage::from_raw(width, height, pixels)
            .ok_or("the picture has the wrong size")?;
        let mut bytes = std::io::Cursor::new(Vec::new());
        file.write_to(&mut bytes, image::ImageFormat::Png)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                write_atomically(&self.path, bytes.get_ref()).map_err(|error| error.to_string())
            })
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn finish(&self, ctx: &egui::Context, result: Result<(), String>) {
        if let Ok(mut outcome) = self.outcome.lock() {
            outcome.get_or_insert(result);
        }
        ctx.send_viewport_cmd(ViewportCommand::Close);
    }
}
