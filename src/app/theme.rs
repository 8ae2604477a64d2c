//! Colours and how sizes become colours.

use eframe::egui::{self, Color32, Ui};

/// Colours of meaning, for the dark and the light theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Evidence: observed states and variables.
    pub evidence: Color32,
    /// A posterior's bar.
    pub posterior: Color32,
    /// The prior's ghost mark.
    pub prior: Color32,
    /// Messages toward the root.
    pub collect: Color32,
    /// Messages away from the root.
    pub distribute: Color32,
    /// Set-up and read-out around the messages.
    pub stage: Color32,
    /// Waiting for what another computes.
    pub wait: Color32,
    /// Launching kernels and copying to and from the GPU.
    pub copy: Color32,
    /// What is selected.
    pub selected: Color32,
    /// What the pointer is over.
    pub hovered: Color32,
    /// What is being computed now.
    pub active: Color32,
    /// Edges and other lines that carry no value.
    pub line: Color32,
    /// Something went wrong.
    pub error: Color32,
    /// Something should be known.
    pub warning: Color32,
}

impl Palette {
    /// The palette of the theme that `ui` is drawn in.
    #[must_use]
    pub fn of(ui: &Ui) -> Self {
        if ui.visuals().dark_mode { Self::DARK } else { Self::LIGHT }
    }

    /// On a dark ground. Blue and orange tell collect from distribute for every kind of sight.
    pub const DARK: Self = Self {
        evidence: Color32::from_rgb(0xff, 0xb0, 0x3a),
        posterior: Color32::from_rgb(0x4f, 0x9d, 0xe0),
        prior: Color32::from_rgb(0xb8, 0xc0, 0xc8),
        collect: Color32::from_rgb(0x56, 0xa8, 0xe8),
        distribute: Color32::from_rgb(0xf0, 0x96, 0x3c),
        stage: Color32::from_rgb(0x7c, 0x86, 0x90),
        wait: Color32::from_rgb(0x5c, 0x62, 0x6c),
        copy: Color32::from_rgb(0x2f, 0xb0, 0x88),
        selected: Color32::from_rgb(0xff, 0xff, 0xff),
        hovered: Color32::from_rgb(0x9c, 0xe0, 0xff),
        active: Color32::from_rgb(0xff, 0x4d, 0x8d),
        line: Color32::from_rgb(0x6a, 0x74, 0x7e),
        error: Color32::from_rgb(0xff, 0x7b, 0x72),
        warning: Color32::from_rgb(0xe3, 0xb3, 0x41),
    };

    /// On a light ground.
    pub const LIGHT: Self = Self {
        evidence: Color32::from_rgb(0xc0, 0x62, 0x00),
        posterior: Color32::from_rgb(0x2b, 0x7b, 0xc4),
        prior: Color32::from_rgb(0x50, 0x58, 0x60),
        collect: Color32::from_rgb(0x1f, 0x77, 0xb4),
        distribute: Color32::from_rgb(0xd0, 0x6a, 0x0c),
        stage: Color32::from_rgb(0x8a, 0x94, 0x9e),
        wait: Color32::from_rgb(0xb4, 0xbc, 0xc6),
        copy: Color32::from_rgb(0x14, 0x8a, 0x68),
        selected: Color32::from_rgb(0x10, 0x14, 0x18),
        hovered: Color32::from_rgb(0x00, 0x6d, 0xb0),
        active: Color32::from_rgb(0xd1, 0x12, 0x5c),
        line: Color32::from_rgb(0x9a, 0xa4, 0xae),
        error: Color32::from_rgb(0xb4, 0x23, 0x18),
        warning: Color32::from_rgb(0x8a, 0x5a, 0x00),
    };
}

/// Links on a light ground.
const LIGHT_LINK: Color32 = Color32::from_rgb(0x00, 0x5a, 0x9e);

/// Sets what both themes share: a little more room, no animation that outlasts its use.
pub fn set_style(ctx: &egui::Context) {
    ctx.all_styles_mut(|style| {
        // A projector eats contrast: text is nearer to black and white than egui has it.
        let ink =
            if style.visuals.dark_mode { Color32::from_gray(210) } else { Color32::from_gray(30) };
        style.visuals.widgets.noninteractive.fg_stroke.color = ink;
        style.visuals.weak_text_alpha = 0.7;
        if !style.visuals.dark_mode {
            style.visuals.hyperlink_color = LIGHT_LINK;
        }
        style.spacing.item_spacing = egui::vec2(6.0, 4.0);
        style.animation_time = 0.05;
        style.interaction.tooltip_delay = 0.15;
    });
}

/// A ramp from `0` (small) to `1` (large) that is ordered by lightness, so that it can be read
/// without seeing hues: dark blue over grey to yellow, after the idea of the cividis map
/// (Nunez, Anderton and Renslow, 2018).
#[must_use]
pub fn ramp(t: f32) -> Color32 {
    const STOPS: [[f32; 3]; 6] = [
        [24.0, 44.0, 98.0],
        [62.0, 76.0, 108.0],
        [104.0, 108.0, 116.0],
        [148.0, 142.0, 116.0],
        [200.0, 180.0, 92.0],
        [252.0, 226.0, 70.0],
    ];
    let position = t.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
    let below = (position as usize).min(STOPS.len() - 2);
    let share = position - below as f32;
    let channel = |index: usize| {
        let (from, to) = (STOPS[below][index], STOPS[below + 1][index]);
        (from + (to - from) * share).round() as u8
    };
    Color32::from_rgb(channel(0), channel(1), channel(2))
}

/// Black or white, whichever can be read on `ground`.
#[must_use]
pub fn ink_on(ground: Color32) -> Color32 {
    // The luminance of which black and white stand out alike (WCAG 2.2, contrast ratio).
    const MIDDLE: f32 = 0.18;
    let [r, g, b, _] = egui::Rgba::from(ground).to_array();
    let luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    if luminance > MIDDLE { Color32::from_rgb(16, 20, 24) } else { Color32::WHITE }
}

/// Where a table of `entries` stands on the ramp if the largest has `max`: by logarithm.
#[must_use]
pub fn log_share(entries: u64, max: u64) -> f32 {
    if max <= 1 {
        return 0.0;
    }
    ((entries.max(1) as f64).ln() / (max as f64).ln()) as f32
}

/// The colour of a table of `entries` if the largest has `max`.
#[must_use]
pub fn size_colour(entries: u64, max: u64) -> Color32 {
    ramp(log_share(entries, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_grows_lighter_all_the_way() {
        let lightness = |colour: Color32| {
            let [r, g, b, _] = colour.to_array();
            2 * u32::from(r) + 5 * u32::from(g) + u32::from(b)
        };
        let steps: Vec<u32> = (0..=50).map(|i| lightness(ramp(i as f32 / 50.0))).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn sizes_stand_on_the_ramp_by_logarithm() {
        assert_eq!(log_share(1, 1_000_000), 0.0);
        assert!((log_share(1_000, 1_000_000) - 0.5).abs() < 1e-6);
        assert_eq!(log_share(1_000_000, 1_000_000), 1.0);
        assert_eq!(log_share(1, 1), 0.0);
    }
}
