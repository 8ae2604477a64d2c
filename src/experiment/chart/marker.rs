//! The symbols of dots. Without colour, they distinguish the series of a panel, and the origins of
//! numbers, except that exact and live numbers have the same symbols.

use crate::experiment::Origin;

/// The symbol of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The outline of the symbol.
    pub form: MarkerForm,
    /// Whether the outline is filled. Crosses, plus signs and stars consist of lines.
    pub is_filled: bool,
}

/// The outline of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerForm {
    /// A circle.
    Circle,
    /// A triangle with its tip at the top.
    Triangle,
    /// A square that stands on a corner.
    Diamond,
    /// A triangle with its tip at the bottom.
    TriangleDown,
    /// A square.
    Square,
    /// A diagonal cross.
    Cross,
    /// An upright cross.
    Plus,
    /// A diagonal and an upright cross.
    Star,
}

impl MarkerForm {
    /// The corners of the outline for a symbol around the origin that looks about as large as a
    /// circle of radius 1; y grows downward. Empty for a circle. For crosses, plus signs and stars,
    /// the ends of their lines: each pair is a line.
    #[must_use]
    pub fn corners(self) -> &'static [(f32, f32)] {
        match self {
            Self::Circle => &[],
            Self::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Self::TriangleDown => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
            Self::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
            Self::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Self::Cross => &[(-0.9, -0.9), (0.9, 0.9), (-0.9, 0.9), (0.9, -0.9)],
            Self::Plus => &[(-1.2, 0.0), (1.2, 0.0), (0.0, -1.2), (0.0, 1.2)],
            Self::Star => &[
                (-0.8, -0.8),
                (0.8, 0.8),
                (-0.8, 0.8),
                (0.8, -0.8),
                (-1.2, 0.0),
                (1.2, 0.0),
                (0.0, -1.2),
                (0.0, 1.2),
            ],
        }
    }

    /// Whether the symbol consists of lines and has no inside.
    #[must_use]
    pub fn is_lines(self) -> bool {
        matches!(self, Self::Cross | Self::Plus | Self::Star)
    }
}

impl Origin {
    /// The symbol of the dots of a series of this origin. A legend numbers its series of this
    /// origin that have dots, from zero; `series` is this number. With more series than symbols,
    /// the symbols repeat.
    #[must_use]
    pub fn marker(self, series: usize) -> Marker {
        use MarkerForm::{Circle, Cross, Diamond, Plus, Square, Star, Triangle, TriangleDown};
        let forms: &[MarkerForm] = match self {
            Self::Exact | Self::Live => &[Circle, Triangle],
            Self::Recorded => &[Diamond, TriangleDown],
            Self::Predicted => &[Cross, Plus, Star],
            Self::Paper => &[Square],
        };
        let form = forms[series % forms.len()];
        Marker { form, is_filled: form.is_lines() || (series / forms.len()).is_multiple_of(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_series_of_each_origin_have_different_symbols() {
        // Live numbers have the symbols of exact ones.
        let counts =
            [(Origin::Exact, 4), (Origin::Recorded, 4), (Origin::Predicted, 3), (Origin::Paper, 2)];
        let all: Vec<Marker> = counts
            .into_iter()
            .flat_map(|(origin, count)| (0..count).map(move |series| origin.marker(series)))
            .collect();
        for (index, marker) in all.iter().enumerate() {
            assert!(!all[..index].contains(marker), "{marker:?}");
        }
    }
}
