//! The palette in egui's colours, and the style of the window.

use eframe::egui::{self, Color32, FontId, TextStyle, Ui};

use crate::palette::{self, Rgb};

/// Size of small text in points: the smallest that can be read from the back of a room.
const SMALL_TEXT: f32 = 10.0;

/// Maximum height of the list of a combo box in points: room for the recorded runs of a network.
const MENU_HEIGHT: f32 = 480.0;

/// The palette in egui's colours.
pub type Palette = palette::Palette<Color32>;

impl Palette {
    /// The palette of the theme that `ui` is drawn in.
    #[must_use]
    pub fn of(ui: &Ui) -> Self {
        Self::of_theme(ui.visuals().dark_mode)
    }

    /// The palette of the dark or of the light theme.
    #[must_use]
    pub fn of_theme(is_dark: bool) -> Self {
        let palette = if is_dark { palette::DARK } else { palette::LIGHT };
        palette.map(colour)
    }
}

/// `rgb` as a colour of egui.
#[must_use]
pub fn colour([red, green, blue]: Rgb) -> Color32 {
    Color32::from_rgb(red, green, blue)
}

/// Sets the style of both themes. Compared with egui's style, text has more contrast, and
/// animations and the delay of tooltips are shorter.
pub fn set_style(ctx: &egui::Context) {
    ctx.all_styles_mut(|style| {
        let text = if style.visuals.dark_mode { palette::DARK_TEXT } else { palette::LIGHT_TEXT };
        style.visuals.widgets.noninteractive.fg_stroke.color = colour(text);
        style.visuals.weak_text_alpha = 0.7;
        if !style.visuals.dark_mode {
            style.visuals.hyperlink_color = colour(palette::LIGHT_LINK);
            style.visuals.widgets.inactive.bg_stroke =
                egui::Stroke::new(1.0, colour(palette::LIGHT_OUTLINE));
        }
        style.text_styles.insert(TextStyle::Small, FontId::proportional(SMALL_TEXT));
        style.spacing.item_spacing = egui::vec2(6.0, 4.0);
        style.spacing.combo_height = MENU_HEIGHT;
        style.animation_time = 0.05;
        style.interaction.tooltip_delay = 0.15;
    });
}

/// The colour of a value at position `share` of a scale from 0 (smallest) to 1 (largest), in the
/// dark or the light theme.
#[must_use]
pub fn ramp(share: f32, is_dark: bool) -> Color32 {
    colour(palette::value_ramp(share, is_dark))
}

/// The colour of the part of a bar that its value does not fill.
#[must_use]
pub fn track(is_dark: bool) -> Color32 {
    colour(if is_dark { palette::DARK_TRACK } else { palette::LIGHT_TRACK })
}

/// The colour of text on `background`: nearly black on a light background, white on a dark one.
#[must_use]
pub fn ink_on(background: Color32) -> Color32 {
    /// The relative luminance of a background on which black text and white text have about the
    /// same contrast ratio, as WCAG 2.2 defines both terms.
    const EQUAL_CONTRAST: f32 = 0.18;
    colour(if luminance(background) > EQUAL_CONTRAST {
        palette::TEXT_ON_LIGHT_COLOUR
    } else {
        palette::TEXT_ON_DARK_COLOUR
    })
}

/// The colour of text on `background` that matters less than other text: as faint as its contrast
/// ratio allows.
#[must_use]
pub fn faint_ink_on(background: Color32) -> Color32 {
    let ink = ink_on(background);
    let mixed = |percent: u8| ink.lerp_to_gamma(background, f32::from(percent) / 100.0);
    let inks = (0..=60).rev().step_by(5).map(mixed);
    // The lower line of a box is fainter than the ink.
    let faintest = |ink: Color32| ink.lerp_to_gamma(background, 1.0 - SUBTITLE_STRENGTH);
    let mut legible = inks.filter(|ink| contrast(faintest(*ink), background) >= MIN_CONTRAST);
    legible.next().unwrap_or(ink)
}

/// Minimum contrast ratio of text. WCAG 2.2 asks for 3 for large text; with less, the text cannot
/// be read on a projector.
const MIN_CONTRAST: f32 = 3.0;

/// How strong the colour of the lower line of a box is, relative to that of the upper line.
pub const SUBTITLE_STRENGTH: f32 = 0.85;

/// The relative luminance of a colour, as WCAG 2.2 defines it.
fn luminance(colour: Color32) -> f32 {
    let [r, g, b, _] = egui::Rgba::from(colour).to_array();
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// The contrast ratio of two colours, from 1 to 21, as WCAG 2.2 defines it.
fn contrast(one: Color32, other: Color32) -> f32 {
    let [a, b] = [luminance(one), luminance(other)];
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faint_text_can_be_read_on_every_colour_of_a_scale_and_is_fainter_than_other_text() {
        for is_dark in [false, true] {
            let panel = if is_dark { Color32::from_gray(27) } else { Color32::from_gray(248) };
            for share in 0..=20_u8 {
                let value = ramp(f32::from(share) / 20.0, is_dark);
                for fill in [value, value.lerp_to_gamma(panel, 0.72), panel] {
                    let ratio = contrast(faint_ink_on(fill), fill);
                    assert!(ratio >= 3.0, "{fill:?}: {ratio}");
                    assert!(ratio < contrast(ink_on(fill), fill), "{fill:?}: {ratio}");
                }
            }
        }
    }
}
