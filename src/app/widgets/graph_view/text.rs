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

/// The maximum width of a text that does not fit is rounded down to a multiple of this many points.
/// The toolkit keeps each layout of the last frame, and because of the rounding most layouts stay
/// the same while zooming. With more, texts leave more room unused; with less, more of them are
/// laid out again.
const WIDTH_STEP: f32 = 6.0;

/// Minimum average width of a letter as a multiple of the font size. A text that would not even fit
/// with such letters is not laid out to find that out.
const MIN_LETTER_WIDTH: f32 = 0.3;

/// The centred lines of `text` in letters of `size` points; `None` if a line is wider than `width`.
#[must_use]
pub fn fitting(
    painter: &Painter,
    text: &str,
    size: f32,
    colour: Color32,
    width: f32,
) -> Option<Arc<Galley>> {
    let letters = text.lines().map(|line| line.chars().count()).max().unwrap_or(0) as f32;
    if letters * MIN_LETTER_WIDTH * size > width {
        return None;
    }
    let galley = painter.layout_job(centred(text, size, colour));
    (galley.size().x <= width).then_some(galley)
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
    let whole = (text.lines().count() <= rows).then(|| fitting(painter, text, size, colour, width));
    if let Some(galley) = whole.flatten() {
        return galley;
    }
    let mut job = centred(text, size, colour);
    job.wrap = TextWrapping {
        max_width: (width / WIDTH_STEP).floor() * WIDTH_STEP,
        max_rows: rows,
        break_anywhere: rows == 1,
        overflow_character: Some('…'),
    };
    painter.layout_job(job)
}

/// The lines of `text`, centred and not wrapped.
fn centred(text: &str, size: f32, colour: Color32) -> LayoutJob {
    let format =
        TextFormat { font_id: FontId::proportional(size), color: colour, ..Default::default() };
    let mut job = LayoutJob::single_section(text.to_owned(), format);
    job.halign = Align::Center;
    job
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;

    use super::*;

    #[test]
    fn a_text_is_not_laid_out_again_for_a_slightly_wider_box() {
        let _harness = Harness::new_ui(|ui| {
            let painter = ui.painter();
            let text = "either, lung, tub";
            let of = |width, rows| wrapped(painter, text, 10.0, Color32::WHITE, width, rows);
            for (widths, rows) in [([100.0, 150.0], 1), ([48.5, 50.0], 1), ([48.5, 50.0], 2)] {
                let [one, other] = widths.map(|width| of(width, rows));
                assert!(Arc::ptr_eq(&one, &other), "{widths:?} in {rows} rows");
                assert!(one.size().x <= widths[0], "{:?}", one.size());
                assert_eq!(one.elided, rows == 1 && widths[0] < 100.0, "{:?}", one.text());
            }
        });
    }
}
