//! The colours of the program and what they mean, as plain sRGB values.
//!
//! [`DARK`] is for the window's dark theme, [`LIGHT`] for its light theme and for SVG files. Every
//! meaning in this table has a colour of its own, the same in every pane and figure:
//!
//! | meaning | hue |
//! |---|---|
//! | posterior | bluish green |
//! | evidence | purple |
//! | collect | blue |
//! | distribute | orange |
//! | what is being computed now, the target of a lesson's step | reddish pink |
//! | kernel overhead: launches and copies | yellow |
//! | execution of kernels | indigo |
//! | engines | see [`ENGINE_SERIES`] |
//! | a message that is slower, or faster, than in the run it is compared with | salmon, steel blue |
//! | a value, such as the size of a table | [`value_ramp`]: dark blue through grey to yellow |
//!
//! Bluish green, blue, orange and yellow are hues of Okabe and Ito ("Color Universal Design",
//! 2008), some lightened for the dark theme and some darkened for text on white. Okabe and Ito
//! chose them so that colour-blind people can tell them apart, and Wong (Nature Methods 8, 2011)
//! recommends them for figures. The other hues follow Tol's schemes "muted" and "bright" (2021).
//! Tests simulate colour-blind vision.
//!
//! Where there is room, no meaning is shown by colour alone: observed states have a dot, the
//! direction of a message has an arrow or a word, beliefs so far are outlined, and legends name the
//! origin of all numbers that are not exact.

/// Red, green and blue, in sRGB.
pub type Rgb = [u8; 3];

/// Colours with a meaning in the window and in figures, in the type of the toolkit that draws them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette<C = Rgb> {
    /// Evidence: findings, and variables that have one.
    pub evidence: C,
    /// The bar of a posterior probability.
    pub posterior: C,
    /// The mark of a prior probability on the bar of the posterior; the bars of differences between
    /// posteriors.
    pub prior: C,
    /// Messages toward the root.
    pub collect: C,
    /// Messages away from the root.
    pub distribute: C,
    /// Other work, such as the stages before and after the messages.
    pub stage: C,
    /// Waiting, for a message or for other work.
    pub wait: C,
    /// Kernel overhead: launching kernels, and copying to and from the GPU.
    pub overhead: C,
    /// Execution of kernels.
    pub execution: C,
    /// Outline of the selected item.
    pub selected: C,
    /// Outline of the item under the pointer, and a thinner one around neighbouring variables.
    pub hovered: C,
    /// Moral edges.
    pub moral: C,
    /// Fill edges.
    pub fill: C,
    /// What is being computed now; the target of a lesson's step.
    pub active: C,
    /// Edges and other lines that show no value.
    pub line: C,
    /// An error; findings that contradict each other.
    pub error: C,
    /// A warning, and numbers that were recorded on another machine.
    pub warning: C,
    /// The engines in figures, at the indices in [`ENGINE_SERIES`]; then the series of figures
    /// that have none of the meanings above, in the order of the legend.
    pub series: [C; SERIES],
}

/// Number of colours for series of figures.
pub const SERIES: usize = 11;

/// Indices in [`Palette::series`] for the engines, in the order of their list: cpu, sequential,
/// gpu, gpu-paper, reference.
pub const ENGINE_SERIES: std::ops::Range<usize> = 0..5;

/// What a series of a figure shows, as far as it decides the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesColour {
    /// Kernel overhead.
    Overhead,
    /// Execution of kernels.
    Execution,
    /// An index in [`Palette::series`].
    Series(usize),
}

impl<C: Copy> Palette<C> {
    /// A message that is slower than in the run it is compared with. Figures with many series use
    /// this colour and that of [`faster`](Self::faster) too.
    #[must_use]
    pub fn slower(&self) -> C {
        self.series[8]
    }

    /// A message that is faster than in the run it is compared with.
    #[must_use]
    pub fn faster(&self) -> C {
        self.series[5]
    }

    /// The colour of a series.
    #[must_use]
    pub fn of_series(&self, colour: SeriesColour) -> C {
        match colour {
            SeriesColour::Overhead => self.overhead,
            SeriesColour::Execution => self.execution,
            SeriesColour::Series(index) => self.series[index % SERIES],
        }
    }
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
            overhead: convert(self.overhead),
            execution: convert(self.execution),
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

/// The colours on a dark background.
pub const DARK: Palette = Palette {
    evidence: [0xd7, 0x9b, 0xe0],
    posterior: [0x2f, 0xb5, 0x8c],
    prior: [0xf0, 0xf2, 0xf4],
    collect: [0x56, 0xb4, 0xe9],
    distribute: [0xe6, 0x9f, 0x00],
    stage: [0x8f, 0x99, 0xa3],
    wait: [0x5c, 0x62, 0x6c],
    overhead: [0xf0, 0xe4, 0x42],
    execution: [0x8a, 0x84, 0xe8],
    selected: [0xff, 0xff, 0xff],
    hovered: [0x9c, 0xe0, 0xff],
    moral: [0x5c, 0xc8, 0xc8],
    fill: [0xd5, 0x84, 0xb8],
    active: [0xff, 0x4d, 0x8d],
    line: [0x6a, 0x74, 0x7e],
    error: [0xff, 0x7b, 0x72],
    warning: [0xe3, 0xb3, 0x41],
    series: [
        [0xf2, 0xf4, 0xf6],
        [0x9a, 0xa4, 0xae],
        [0xa6, 0xd8, 0x54],
        [0xd8, 0x4a, 0x6a],
        [0xc8, 0xa8, 0x78],
        [0x7f, 0x9f, 0xd8],
        [0xa0, 0x5c, 0x8c],
        [0xdd, 0xcc, 0x77],
        [0xf2, 0xa3, 0x8c],
        [0xa8, 0x70, 0x5c],
        [0x8f, 0x98, 0x3c],
    ],
};

/// The colours on a light background.
pub const LIGHT: Palette = Palette {
    evidence: [0x8a, 0x46, 0xb4],
    posterior: [0x00, 0x7f, 0x5c],
    prior: [0x20, 0x28, 0x30],
    collect: [0x00, 0x72, 0xb2],
    distribute: [0xb8, 0x74, 0x00],
    stage: [0x8a, 0x94, 0x9e],
    wait: [0xb4, 0xbc, 0xc6],
    overhead: [0xc8, 0xb4, 0x00],
    execution: [0x40, 0x34, 0x9f],
    selected: [0x10, 0x14, 0x18],
    hovered: [0x00, 0x6d, 0xb0],
    moral: [0x1f, 0x7a, 0x7a],
    fill: [0xa0, 0x4a, 0x86],
    active: [0xd1, 0x12, 0x5c],
    line: [0x9a, 0xa4, 0xae],
    error: [0xb4, 0x23, 0x18],
    warning: [0x8a, 0x5a, 0x00],
    series: [
        [0x10, 0x14, 0x18],
        [0x78, 0x82, 0x8c],
        [0x6a, 0xa2, 0x10],
        [0x9c, 0x18, 0x40],
        [0x9a, 0x6e, 0x38],
        [0x4a, 0x64, 0x88],
        [0x9a, 0x4a, 0x6a],
        [0xa0, 0x8a, 0x30],
        [0xc8, 0x5c, 0x44],
        [0x3c, 0x5a, 0x3c],
        [0x70, 0x30, 0x18],
    ],
};

/// Links on a light background.
pub const LIGHT_LINK: Rgb = [0x00, 0x5a, 0x9e];

/// Text on a dark background. Projectors lose contrast, so it is brighter than egui's default.
pub const DARK_TEXT: Rgb = [210; 3];

/// Text on a light background; darker than egui's default for the same reason.
pub const LIGHT_TEXT: Rgb = [30; 3];

/// The part of a bar that its value does not fill, in the dark theme.
pub const DARK_TRACK: Rgb = [10; 3];

/// The part of a bar that its value does not fill, in the light theme. Many projectors show lighter
/// greys as white.
pub const LIGHT_TRACK: Rgb = [215; 3];

/// Outline of buttons and text fields in the light theme, where their fill alone is too weak.
pub const LIGHT_OUTLINE: Rgb = [185; 3];

/// Text on a coloured background that is light.
pub const TEXT_ON_LIGHT_COLOUR: Rgb = [16, 20, 24];

/// Text on a coloured background that is dark.
pub const TEXT_ON_DARK_COLOUR: Rgb = [255; 3];

/// Entries of a separator table in the step-by-step view: entry `j` has colour `j` modulo 7, so
/// that neighbours differ. Okabe and Ito's colours without black, with a darker yellow.
pub const SEPARATOR_ENTRIES: [Rgb; 7] = [
    [0x00, 0x72, 0xb2],
    [0xe6, 0x9f, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    [0xd5, 0x5e, 0x00],
    [0xb8, 0xac, 0x30],
];

/// The colours of values, from dark blue through grey to yellow. Lightness grows all the way, so
/// that the order can be seen without hue, as in the cividis map (Nuñez, Anderton and Renslow
/// 2018).
const VALUE_RAMP: [Rgb; 6] =
    [[24, 44, 98], [62, 76, 108], [104, 108, 116], [148, 142, 116], [200, 180, 92], [252, 226, 70]];

/// Colours of SVG documents, as SVG writes them.
pub mod svg {
    /// The background; also the outline of filled dots, the inside of hollow dots and the hatching
    /// of bars.
    pub const BACKGROUND: &str = "#fff";
    /// Text.
    pub const TEXT: &str = "#222";
    /// Axes and their labels, and the labels of points and bars.
    pub const AXIS: &str = "#444";
    /// Less important text, lines from labels to their points, and reference lines at values that
    /// the paper does not print.
    pub const WEAK: &str = "#555";
    /// Horizontal grid lines.
    pub const HORIZONTAL_GRID: &str = "#e6e6e6";
    /// Vertical grid lines.
    pub const VERTICAL_GRID: &str = "#f0f0f0";
    /// Reference lines at values that the paper prints.
    pub const PAPER_MARK: &str = "#b00020";
}

/// The part of [`VALUE_RAMP`] that is left out at its dark end in the dark theme. These colours are
/// too close to the background to be seen.
const LEFT_OUT_IN_DARK: f32 = 0.2;
/// The part that is left out at the light end in the light theme, for the same reason.
const LEFT_OUT_IN_LIGHT: f32 = 0.1;

/// The colour of a value on a scale from 0 (small) to 1 (large). Large values stand out from the
/// background: they are light in the dark theme, and dark in the light theme.
#[must_use]
pub fn value_ramp(share: f32, is_dark: bool) -> Rgb {
    let left_out = if is_dark { LEFT_OUT_IN_DARK } else { LEFT_OUT_IN_LIGHT };
    let visible = left_out + (1.0 - left_out) * share.clamp(0.0, 1.0);
    let lightness = if is_dark { visible } else { 1.0 - visible };
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

    /// `rgb` as seen with normal vision, without red cones, and without green cones, in CIELAB.
    /// Matrices for linear RGB from Viénot, Brettel and Mollon (1999).
    fn seen(rgb: Rgb) -> [[f64; 3]; 3] {
        const NORMAL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        const NO_RED: [[f64; 3]; 3] =
            [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]];
        const NO_GREEN: [[f64; 3]; 3] =
            [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]];
        const TO_XYZ: [[f64; 3]; 3] =
            [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        let times = |matrix: [[f64; 3]; 3], v: [f64; 3]| {
            matrix.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>().max(0.0))
        };
        let linear = rgb.map(|channel| (f64::from(channel) / 255.0).powf(2.2));
        [NORMAL, NO_RED, NO_GREEN].map(|vision| {
            let [x, y, z] = times(TO_XYZ, times(vision, linear));
            let [x, y, z] = [x / 0.9505, y, z / 1.089].map(f64::cbrt);
            [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
        })
    }

    /// The smallest distance of two colours in CIELAB over the kinds of vision in [`seen`]. A
    /// distance of about 2.3 is just noticeable (Mahy, Van Eycken and Oosterlinck 1994). The limits
    /// in the tests were chosen well above it.
    fn distance(one: Rgb, other: Rgb) -> f64 {
        let distances = seen(one)
            .into_iter()
            .zip(seen(other))
            .map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt());
        distances.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn meanings_that_are_shown_together_differ_without_red_or_green_cones() {
        for palette in [DARK, LIGHT] {
            let groups: [Vec<Rgb>; 4] = [
                vec![palette.posterior, palette.evidence, palette.prior],
                vec![palette.collect, palette.distribute, palette.active, palette.stage],
                vec![palette.overhead, palette.execution],
                palette.series[ENGINE_SERIES].to_vec(),
            ];
            for group in groups {
                for (index, &one) in group.iter().enumerate() {
                    for &other in &group[index + 1..] {
                        let distance = distance(one, other);
                        assert!(distance >= 15.0, "{one:x?} and {other:x?}: {distance:.1}");
                    }
                }
            }
        }
    }

    #[test]
    fn meanings_and_series_differ_with_normal_vision() {
        for palette in [DARK, LIGHT] {
            let mut all = vec![
                palette.posterior,
                palette.evidence,
                palette.collect,
                palette.distribute,
                palette.overhead,
                palette.execution,
                palette.active,
            ];
            all.extend(palette.series);
            for (index, &one) in all.iter().enumerate() {
                for &other in &all[index + 1..] {
                    let [normal, ..] = seen(one);
                    let [other_normal, ..] = seen(other);
                    let squares = normal.iter().zip(other_normal).map(|(a, b)| (a - b) * (a - b));
                    let distance = squares.sum::<f64>().sqrt();
                    assert!(distance >= 10.0, "{one:x?} and {other:x?}: {distance:.1}");
                }
            }
        }
    }

    #[test]
    fn the_smallest_value_can_be_told_from_the_background() {
        // The backgrounds of panes in the themes of egui.
        for (is_dark, background) in [(true, [27; 3]), (false, [248; 3])] {
            let [smallest, ..] = seen(value_ramp(0.0, is_dark));
            let [background, ..] = seen(background);
            let squares = smallest.iter().zip(background).map(|(a, b)| (a - b) * (a - b));
            let distance = squares.sum::<f64>().sqrt();
            assert!(distance >= 25.0, "{distance:.1}");
        }
    }

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
