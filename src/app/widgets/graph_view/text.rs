//! Text in pictures.

use std::sync::Arc;

use eframe::egui::text::{LayoutJob, TextFormat, TextWrapping};
use eframe::egui::{Align, Color32, FontId, Galley, Painter};

/// Minimum text size in points. Smaller text cannot be read from the back of a room, and is not
/// drawn.
pub const MIN_TEXT_SIZE: f32 = 10.0;

/// The font size for text of `size` points, or of [`MIN_TEXT_SIZE`] if that is larger.
///
/// Sizes are whole points up to 40, so that zooming does not fill the font texture with every size
/// in between.
#[must_use]
pub fn font_size(size: f32) -> f32 {
    size.round().clamp(MIN_TEXT_SIZE, 40.0)
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
