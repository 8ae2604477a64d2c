//! Text in pictures.

use std::sync::Arc;

use eframe::egui::text::{LayoutJob, TextFormat, TextWrapping};
use eframe::egui::{Align, Color32, FontId, Galley, Painter};

/// Minimum text size in points; smaller text cannot be read and is not drawn.
pub const MIN_TEXT_SIZE: f32 = 6.5;

/// The font size for text of `size` points, or `None` if it would be too small to read.
///
/// Sizes are whole points up to 40, so that zooming does not fill the font texture with every size
/// in between.
#[must_use]
pub fn legible(size: f32) -> Option<f32> {
    (size >= MIN_TEXT_SIZE).then(|| size.round().clamp(7.0, 40.0))
}

/// `text` in letters of `size` points, wrapped into at most `rows` centred rows of `width` points.
/// The rest is cut off with an ellipsis.
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
