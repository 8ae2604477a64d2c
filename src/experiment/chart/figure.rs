//! What a figure shows: the part of a record that is drawn.

use serde::{Deserialize, Serialize};

use crate::experiment::Origin;
use crate::numbers;

/// Panels that belong together, with one title.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What the figure shows.
    pub title: String,
    /// Number of panels in a row; fewer in a narrow window.
    pub across: usize,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
}

/// Two axes and the series drawn on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// What the panel shows, such as the name of a network.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series. Bars of the same stack at the same x are stacked in this order.
    pub series: Vec<Series>,
    /// Reference lines across the panel.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What the axis measures, with the unit.
    pub label: String,
    /// How values map to positions along the axis.
    pub scale: Scale,
    /// Whether the values are differences, which are written with their sign: `+4`, `-2`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
}

/// How values of an axis map to positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Proportional; zero is always shown.
    Linear,
    /// Logarithmic; only positive values have a position.
    Log,
    /// Names at 0, 1, 2 and so on.
    Categories(Vec<String>),
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the series in the legend. Series with the same label have the same colour.
    pub label: String,
    /// Where the numbers come from.
    pub origin: Origin,
    /// How the points are drawn.
    pub shape: Shape,
    /// The points.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A dot for each point.
    Points,
    /// Dots joined by a line, unless the horizontal axis has categories: there is nothing between
    /// two categories.
    Line,
    /// A bar for each point. Bars of one stack are drawn on top of each other, and stacks are drawn
    /// side by side.
    Bars {
        /// Number of the stack, from 0.
        stack: usize,
    },
}

/// A point of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Value on the horizontal axis; for [`Scale::Categories`] the index of the name.
    pub x: f64,
    /// Value on the vertical axis; for a bar, its length, which may be negative.
    pub y: f64,
    /// Text next to the point, such as the name of a network; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
}

/// A reference line across a panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// What the line marks.
    pub label: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// Where the line is drawn.
    #[serde(rename = "at")]
    pub position: MarkPosition,
}

/// Where a reference line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkPosition {
    /// A vertical line at this x.
    X(f64),
    /// A horizontal line at this y.
    Y(f64),
    /// The line y = factor · x. Drawn only if the factor is positive and the axes are both linear
    /// or both logarithmic.
    Slope(f64),
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear, signed: false }
    }

    /// A linear axis of differences, whose values are written with their sign.
    #[must_use]
    pub fn differences(label: &str) -> Self {
        Self { signed: true, ..Self::linear(label) }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log, signed: false }
    }

    /// An axis of names.
    #[must_use]
    pub fn categories<S: Into<String>>(label: &str, names: impl IntoIterator<Item = S>) -> Self {
        let scale = Scale::Categories(names.into_iter().map(Into::into).collect());
        Self { label: label.to_owned(), scale, signed: false }
    }

    /// `value` as text next to a bar, to three digits; in percent if the label of the axis begins
    /// with `%`.
    #[must_use]
    pub fn value_text(&self, value: f64) -> String {
        let sign = match value {
            value if value < 0.0 => "-",
            value if value > 0.0 && self.signed => "+",
            _ => "",
        };
        let unit = if self.label.starts_with('%') { "%" } else { "" };
        format!("{sign}{}{unit}", numbers::short(value.abs()))
    }
}

impl Series {
    /// A series of points without text next to them.
    #[must_use]
    pub fn new(
        label: impl Into<String>,
        origin: Origin,
        shape: Shape,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let point = |(x, y)| Point { x, y, label: String::new() };
        Self { label: label.into(), origin, shape, points: points.into_iter().map(point).collect() }
    }

    /// Whether the points are joined by a line if the horizontal axis has this scale.
    #[must_use]
    pub fn is_joined(&self, x: &Scale) -> bool {
        self.shape == Shape::Line && !matches!(x, Scale::Categories(_))
    }

    /// Number of the stack of the series' bars; `None` if it has no bars.
    #[must_use]
    pub fn stack(&self) -> Option<usize> {
        match self.shape {
            Shape::Bars { stack } => Some(stack),
            Shape::Points | Shape::Line => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_differences_their_sign() {
        let plain = Axis::linear("ms");
        let texts = [5.3201, 116.4, 0.0, -2.0].map(|value| plain.value_text(value));
        assert_eq!(texts, ["5.32", "116", "0", "-2"]);
        let percent = Axis::differences("% faster");
        let texts = [12.34, -4.5, 0.0].map(|value| percent.value_text(value));
        assert_eq!(texts, ["+12.3%", "-4.5%", "0%"]);
    }

    #[test]
    fn no_line_joins_categories() {
        let line = Series::new("time", Origin::Live, Shape::Line, [(0.0, 1.0), (1.0, 2.0)]);
        assert!(line.is_joined(&Scale::Linear) && line.is_joined(&Scale::Log));
        assert!(!line.is_joined(&Scale::Categories(vec!["a".to_owned(), "b".to_owned()])));
    }
}
