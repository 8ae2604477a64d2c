//! The palette in egui's colours, and the style of the window.

use eframe::egui::{self, Color32, Ui};

use crate::palette::{self, Rgb};

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
        }
        style.spacing.item_spacing = egui::vec2(6.0, 4.0);
        style.animation_time = 0.05;
        style.interaction.tooltip_delay = 0.15;
    });
}

/// The colour of a size at position `share` of a scale from 0 (smallest) to 1 (largest).
#[must_use]
pub fn ramp(share: f32) -> Color32 {
    colour(palette::size_ramp(share))
}

/// The colour of text on `background`: nearly black or white, whichever has the higher contrast.
#[must_use]
pub fn ink_on(background: Color32) -> Color32 {
    /// The relative luminance of a background on which black text and white text have the same
    /// contrast ratio, as WCAG 2.2 defines both terms.
    const EQUAL_CONTRAST: f32 = 0.18;
    let [r, g, b, _] = egui::Rgba::from(background).to_array();
    let luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    colour(if luminance > EQUAL_CONTRAST {
        palette::TEXT_ON_LIGHT_COLOUR
    } else {
        palette::TEXT_ON_DARK_COLOUR
    })
}

/// The position of a table with `entries` entries on the [`ramp`], from 0 to 1, if the largest
/// table has `max` entries. Positions are proportional to the logarithm of the size.
#[must_use]
pub fn log_share(entries: u64, max: u64) -> f32 {
    if max <= 1 {
        return 0.0;
    }
    ((entries.max(1) as f64).ln() / (max as f64).ln()) as f32
}

/// The colour of a table with `entries` entries if the largest table has `max` entries.
#[must_use]
pub fn size_colour(entries: u64, max: u64) -> Color32 {
    ramp(log_share(entries, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_on_the_ramp_is_proportional_to_the_logarithm_of_the_size() {
        assert_eq!(log_share(1, 1_000_000), 0.0);
        assert!((log_share(1_000, 1_000_000) - 0.5).abs() < 1e-6);
        assert_eq!(log_share(1_000_000, 1_000_000), 1.0);
        assert_eq!(log_share(1, 1), 0.0);
    }
}
