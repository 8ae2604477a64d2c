//! All colours of the program and what they mean, as plain sRGB values.
//!
//! [`DARK`] is for the window's dark theme, [`LIGHT`] for its light theme and for SVG files. Where
//! colours must be told apart, they follow the set of Okabe and Ito (2008), whose colours people
//! with any kind of colour vision can tell apart.

/// Red, green and blue, in sRGB.
pub type Rgb = [u8; 3];

/// Colours with a meaning in the window and in figures, in the type of the toolkit that draws them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette<C = Rgb> {
    /// Evidence: observed states and variables.
    pub evidence: C,
    /// The bar of a posterior probability.
    pub posterior: C,
    /// The mark of a prior probability on the bar of the posterior.
    pub prior: C,
    /// Messages toward the root.
    pub collect: C,
    /// Messages away from the root.
    pub distribute: C,
    /// Stages before and after the messages.
    pub stage: C,
    /// Waiting for a message.
    pub wait: C,
    /// Launching kernels, and copying to and from the GPU.
    pub copy: C,
    /// Outline of the selected item.
    pub selected: C,
    /// Outline of the item under the pointer.
    pub hovered: C,
    /// Moral edges.
    pub moral: C,
    /// Fill edges.
    pub fill: C,
    /// What is being computed now; the target of a lesson's step.
    pub active: C,
    /// Edges and other lines that show no value.
    pub line: C,
    /// An error.
    pub error: C,
    /// A warning, and numbers that were recorded on another machine.
    pub warning: C,
    /// The series of a figure, in the order of the legend.
    pub series: [C; 7],
}

impl<C> Palette<C> {
    /// The same colours in another type.
    #[must_use]
    pub fn map<D>(self, convert: impl Fn(C) -> D) -> Palette<D> {
        Palette {
            evidence: convert(self.evidence),
            posterior: convert(self.posterior),
            prior: convert(self.prior),
            collect: convert(self.collect),
            distribute: convert(self.distribute),
            stage: convert(self.stage),
            wait: convert(self.wait),
            copy: convert(self.copy),
            selected: convert(self.selected),
            hovered: convert(self.hovered),
            moral: convert(self.moral),
            fill: convert(self.fill),
            active: convert(self.active),
            line: convert(self.line),
            error: convert(self.error),
            warning: convert(self.warning),
            series: self.series.map(convert),
        }
    }
}

/// Colours that have more than one meaning, for a dark background.
mod dark {
    use super::Rgb;

    pub const BLUE: Rgb = [0x56, 0xa8, 0xe8];
    pub const ORANGE: Rgb = [0xf0, 0x96, 0x3c];
    pub const GREEN: Rgb = [0x2f, 0xb0, 0x88];
}

/// Colours that have more than one meaning, for a light background.
mod light {
    use super::Rgb;

    pub const BLUE: Rgb = [0x1f, 0x77, 0xb4];
    pub const ORANGE: Rgb = [0xd0, 0x6a, 0x0c];
    pub const GREEN: Rgb = [0x14, 0x8a, 0x68];
}

/// The colours on a dark background.
pub const DARK: Palette = Palette {
    evidence: [0xff, 0xb0, 0x3a],
    posterior: [0x4f, 0x9d, 0xe0],
    prior: [0xb8, 0xc0, 0xc8],
    collect: dark::BLUE,
    distribute: dark::ORANGE,
    stage: [0x7c, 0x86, 0x90],
    wait: [0x5c, 0x62, 0x6c],
    copy: dark::GREEN,
    selected: [0xff, 0xff, 0xff],
    hovered: [0x9c, 0xe0, 0xff],
    moral: dark::GREEN,
    fill: [0xd5, 0x84, 0xb8],
    active: [0xff, 0x4d, 0x8d],
    line: [0x6a, 0x74, 0x7e],
    error: [0xff, 0x7b, 0x72],
    warning: [0xe3, 0xb3, 0x41],
    series: [
        dark::BLUE,
        dark::ORANGE,
        dark::GREEN,
        [0xd5, 0x84, 0xb8],
        [0xf0, 0xdc, 0x50],
        [0xe8, 0x5d, 0x3a],
        [0x9a, 0xa4, 0xae],
    ],
};

/// The colours on a light background.
pub const LIGHT: Palette = Palette {
    evidence: [0xc0, 0x62, 0x00],
    posterior: [0x2b, 0x7b, 0xc4],
    prior: [0x50, 0x58, 0x60],
    collect: light::BLUE,
    distribute: light::ORANGE,
    stage: [0x8a, 0x94, 0x9e],
    wait: [0xb4, 0xbc, 0xc6],
    copy: light::GREEN,
    selected: [0x10, 0x14, 0x18],
    hovered: [0x00, 0x6d, 0xb0],
    moral: light::GREEN,
    fill: [0xa0, 0x4a, 0x86],
    active: [0xd1, 0x12, 0x5c],
    line: [0x9a, 0xa4, 0xae],
    error: [0xb4, 0x23, 0x18],
    warning: [0x8a, 0x5a, 0x00],
    series: [
        light::BLUE,
        light::ORANGE,
        light::GREEN,
        [0xa0, 0x4a, 0x86],
        [0x94, 0x7a, 0x00],
        [0xb8, 0x2e, 0x10],
        [0x5c, 0x66, 0x70],
    ],
};

/// Links on a light background.
pub const LIGHT_LINK: Rgb = [0x00, 0x5a, 0x9e];

/// Text on a dark background. Projectors lose contrast, so it is brighter than egui's default.
pub const DARK_TEXT: Rgb = [210; 3];

/// Text on a light background; darker than egui's default for the same reason.
pub const LIGHT_TEXT: Rgb = [30; 3];

/// Text on a coloured background that is light.
pub const TEXT_ON_LIGHT_COLOUR: Rgb = [16, 20, 24];

/// Text on a coloured background that is dark.
pub const TEXT_ON_DARK_COLOUR: Rgb = [255; 3];

/// Entries of a separator table in the step-by-step view: entry `j` has colour `j` modulo 7, so
/// that neighbours differ. Okabe and Ito's colours without black, darkened where text on them would
/// be hard to read.
pub const SEPARATOR_ENTRIES: [Rgb; 7] = [
    [0x00, 0x72, 0xb2],
    [0xe6, 0x9f, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    [0xd5, 0x5e, 0x00],
    [0xb8, 0xac, 0x30],
];

/// Values from dark blue through grey to yellow. Lightness grows all the way, so that the order can
/// be seen without hue, as in the cividis map (Nuñez, Anderton and Renslow 2018).
const VALUE_RAMP: [Rgb; 6] =
    [[24, 44, 98], [62, 76, 108], [104, 108, 116], [148, 142, 116], [200, 180, 92], [252, 226, 70]];

/// Colours of SVG documents, as SVG writes them.
pub mod svg {
    /// The background, and the outline of the dots that show the paper's numbers.
    pub const BACKGROUND: &str = "#fff";
    /// Text.
    pub const TEXT: &str = "#222";
    /// Axes, their labels, and the labels of points.
    pub const AXIS: &str = "#444";
    /// Less important text, and reference lines at values that the paper does not print.
    pub const WEAK: &str = "#555";
    /// Horizontal grid lines.
    pub const HORIZONTAL_GRID: &str = "#e6e6e6";
    /// Vertical grid lines.
    pub const VERTICAL_GRID: &str = "#f0f0f0";
    /// Reference lines at values that the paper prints.
    pub const PAPER_MARK: &str = "#b00020";
}

/// The colour of a value on a scale from 0 (small) to 1 (large). Large values stand out from the
/// background: they are light in the dark theme, and dark in the light theme.
#[must_use]
pub fn value_ramp(share: f32, is_dark: bool) -> Rgb {
    let share = share.clamp(0.0, 1.0);
    let lightness = if is_dark { share } else { 1.0 - share };
    let position = lightness * (VALUE_RAMP.len() - 1) as f32;
    let below = (position as usize).min(VALUE_RAMP.len() - 2);
    let part = position - below as f32;
    std::array::from_fn(|channel| {
        let from = f32::from(VALUE_RAMP[below][channel]);
        let to = f32::from(VALUE_RAMP[below + 1][channel]);
        (from + (to - from) * part).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_values_are_lighter_in_the_dark_theme_and_darker_in_the_light_theme() {
        let lightness = |[r, g, b]: Rgb| 2 * u32::from(r) + 5 * u32::from(g) + u32::from(b);
        let steps = |is_dark| -> Vec<u32> {
            (0..=50).map(|i| lightness(value_ramp(i as f32 / 50.0, is_dark))).collect()
        };
        assert!(steps(true).windows(2).all(|pair| pair[0] < pair[1]));
        assert!(steps(false).windows(2).all(|pair| pair[0] > pair[1]));
    }
}
