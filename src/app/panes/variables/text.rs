//! Text in the list of variables.

use eframe::egui::{Color32, FontId, Rect, TextStyle, Ui, vec2};

use crate::app::widgets::short_text::one_line;

/// Writes `text` at the left of `room`, shortened in the middle if it does not fit. Returns the
/// right edge of what was written.
pub(super) fn write_elided(ui: &Ui, room: Rect, text: &str, font: FontId, colour: Color32) -> f32 {
    let galley = one_line(ui.painter(), text, font, colour, room.width());
    let at = room.left_center() - vec2(0.0, galley.size().y / 2.0);
    let end = at.x + galley.size().x;
    ui.painter().galley(at, galley, colour);
    end
}

/// The font of the names of variables.
pub(super) fn name_font(ui: &Ui) -> FontId {
    TextStyle::Body.resolve(ui.style())
}
