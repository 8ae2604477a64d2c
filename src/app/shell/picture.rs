//! Pictures of the window or of one pane, as PNG.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::{self, ColorImage, Rect, ViewportCommand};

use crate::app::state::pane::Pane;
use crate::app::widgets::targets;
use crate::store::write_atomically;

/// Number of frames to draw before the picture is taken. With too few, the picture still shows the
/// menu or dialog through which the user asked for the picture.
const CLEARING_FRAMES: u32 = 4;

/// Number of frames after which to stop waiting for the picture: about 4 seconds at 60 frames per
/// second.
const MAX_FRAMES: u32 = 240;

/// A request for a picture.
pub(crate) struct PictureRequest {
    /// The pane; `None` for the whole window.
    pane: Option<Pane>,
    path: PathBuf,
    /// Frames since the request.
    frames: u32,
}

impl PictureRequest {
    /// A picture of `pane`, or of the whole window, to be written to `path`.
    pub(crate) fn new(pane: Option<Pane>, path: PathBuf) -> Self {
        Self { pane, path, frames: 0 }
    }

    /// Takes the picture and writes it. Returns `None` until that is done, and then the path of the
    /// picture, or a message for the user. Call this once per frame.
    pub(crate) fn advance(&mut self, ctx: &egui::Context) -> Option<Result<PathBuf, String>> {
        self.frames += 1;
        if self.frames == CLEARING_FRAMES {
            ctx.send_viewport_cmd(ViewportCommand::Screenshot(egui::UserData::default()));
        }
        let image = captured_image(ctx);
        if image.is_none() && self.frames < MAX_FRAMES {
            ctx.request_repaint();
            return None;
        }
        let written = match (image, self.pane) {
            (None, _) => Err("This system cannot take pictures of windows.".to_owned()),
            (Some(image), None) => write(&self.path, &image),
            (Some(image), Some(pane)) => match cropped_to_pane(ctx, &image, pane) {
                Some(cropped) => write(&self.path, &cropped),
                None => Err(format!("{} is no longer on screen", pane.title())),
            },
        };
        Some(written.map(|()| self.path.clone()))
    }
}

/// The part of `image`, a picture of the window, that shows `pane`. `None` if the pane is not on
/// screen.
fn cropped_to_pane(ctx: &egui::Context, image: &ColorImage, pane: Pane) -> Option<ColorImage> {
    let scale = ctx.pixels_per_point();
    let [width, height] = image.size.map(|side| side as f32 / scale);
    let window = Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(width, height));
    let visible = targets::find(ctx, pane.title())?.intersect(window);
    visible.is_positive().then(|| image.region(&visible, Some(scale)))
}

/// The picture of the window, if it arrived in this frame.
pub(crate) fn captured_image(ctx: &egui::Context) -> Option<Arc<ColorImage>> {
    ctx.input(|input| {
        input.raw.events.iter().find_map(|event| match event {
            egui::Event::Screenshot { image, .. } => Some(Arc::clone(image)),
            _ => None,
        })
    })
}

/// Writes `image` to `path` as PNG, completely or not at all.
///
/// # Errors
/// A message for the user if the file cannot be written.
pub(crate) fn write(path: &Path, image: &ColorImage) -> Result<(), String> {
    let [width, height] = image.size.map(|side| side as u32);
    let pixels = image.pixels.iter().flat_map(|pixel| pixel.to_array()).collect();
    let file = image::RgbaImage::from_raw(width, height, pixels)
        .ok_or("the picture has the wrong size")?;
    let mut bytes = std::io::Cursor::new(Vec::new());
    file.write_to(&mut bytes, image::ImageFormat::Png)
        .map_err(|error| error.to_string())
        .and_then(|()| write_atomically(path, bytes.get_ref()).map_err(|error| error.to_string()))
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Color32, vec2};
    use egui_kittest::Harness;

    use super::*;
    use crate::app::state::command::WindowCommand;
    use crate::app::{Settings, Workbench};

    /// Saves a picture of `pane`, or of the whole window, and reads it back. The window has 900 by
    /// 600 points with `scale` pixels per point. The red value of each pixel in the picture is its
    /// distance from the left edge of the window, and the green value its distance from the upper
    /// edge, both in tens of points.
    fn saved_picture(pane: Option<Pane>, scale: f32) -> image::RgbaImage {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.png");
        let mut harness = Harness::builder()
            .with_size(vec2(900.0, 600.0))
            .with_pixels_per_point(scale)
            .build_ui_state(
                |ui, workbench: &mut Workbench| workbench.show(ui),
                Workbench::new(Settings::default(), || {}),
            );
        harness.run_steps(3);
        let ctx = harness.ctx.clone();
        harness.state_mut().run_command(&ctx, WindowCommand::SavePicture(pane, path.clone()));
        harness.run_steps(6);
        assert!(!path.exists(), "no picture was taken yet");
        let size = [900.0, 600.0].map(|points| (points * scale) as usize);
        let tens = |pixel: usize| (pixel as f32 / scale / 10.0) as u8;
        let pixels = (0..size[0] * size[1])
            .map(|at| Color32::from_rgb(tens(at % size[0]), tens(at / size[0]), 7));
        let image = ColorImage::new(size, pixels.collect());
        harness.input_mut().events.push(egui::Event::Screenshot {
            viewport_id: egui::ViewportId::ROOT,
            user_data: egui::UserData::default(),
            image: Arc::new(image),
        });
        harness.run_steps(2);
        image::open(path).unwrap().into_rgba8()
    }

    #[test]
    fn a_picture_shows_the_window_or_one_pane() {
        let all = saved_picture(None, 1.0);
        assert_eq!((all.dimensions(), all.get_pixel(15, 25).0), ((900, 600), [1, 2, 7, 255]));
        let once = saved_picture(Some(Pane::JunctionTree), 1.0);
        let twice = saved_picture(Some(Pane::JunctionTree), 2.0);
        let (width, height) = once.dimensions();
        assert!((100..700).contains(&width) && (100..500).contains(&height), "{width}x{height}");
        assert!(once.get_pixel(0, 0).0[0] > 10, "the variables are to the left of the pane");
        assert!(twice.width().abs_diff(2 * width) < 8 && twice.height().abs_diff(2 * height) < 8);
        assert_eq!(twice.get_pixel(twice.width() / 2, 9), once.get_pixel(width / 2, 5));
    }
}
