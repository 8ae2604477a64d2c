//! Text inside pictures.

use std::sync::Arc;

use eframe::egui::text::{LayoutJob, TextFormat, TextWrapping};
use eframe::egui::{Align, Color32, FontId, Galley, Painter};

/// Text smaller than this is not drawn: it cannot be read.
pub const SMALLEST: f32 = 6.5;

/// The size in which text of `size` is set: whole points, so that zooming does not fill the font's
/// texture with every size in between. `None` if it would be too small to be read.
#[must_use]
pub fn legible(size: f32) -> Option<f32> {
    (size >= SMALLEST).then(|| size.round().clamp(7.0, 40.0))
}

/// `text` broken into at most `rows` rows of `width`, the rest cut off with an ellipsis.
#[must_use]
pub fn wrapped(
    painter: &Painter,
    text: &str,
    size: f32,
    colour: Color32,
    width: f32,
    rows: usize,
) -> Arc<Galley> {
    let format =
        TextFormat { font_id: FontId::proportional(size), color: colour, ..Default::default() };
    let mut job = LayoutJob::single_section(text.to_owned(), format);
    job.halign = Align::Center;
    job.wrap = TextWrapping {
        max_width: width,
        max_rows: rows,
        break_anywhere: rows == 1,
        overflow_character: Some('…'),
    };
    painter.layout_job(job)
}
