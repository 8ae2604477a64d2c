//! Text in the list of variables.

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Color32, FontId, Rect, TextStyle, Ui, vec2};

/// Writes `text` at the left of `room`, with an ellipsis if it does not fit, or nothing if `room`
/// is too narrow for a letter. Returns the right edge of what was written.
pub(super) fn write_elided(ui: &Ui, room: Rect, text: &str, font: FontId, colour: Color32) -> f32 {
    if room.width() < 8.0 {
        return room.left();
    }
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = TextWrapping::truncate_at_width(room.width());
    let galley = ui.painter().layout_job(job);
    let at = room.left_center() - vec2(0.0, galley.size().y / 2.0);
    let end = at.x + galley.size().x;
    ui.painter().galley(at, galley, colour);
    end
}

/// The font of the names of variables.
pub(super) fn name_font(ui: &Ui) -> FontId {
    TextStyle::Body.resolve(ui.style())
}

/// The font of all other text: one point smaller than the font of names.
pub(super) fn small_font(ui: &Ui) -> FontId {
    FontId { size: TextStyle::Body.resolve(ui.style()).size - 1.0, ..name_font(ui) }
}

/// A percentage with two decimals, never rounded to 0% or 100%: `<0.01%` is shown for a small
/// positive probability, `>99.99%` for one just below 1.
pub(super) fn percent(p: f64) -> String {
    let hundred = 100.0 * p;
    if p > 0.0 && hundred < 0.005 {
        "<0.01%".to_owned()
    } else if p < 1.0 && hundred > 99.995 {
        ">99.99%".to_owned()
    } else {
        format!("{hundred:.2}%")
    }
}
