//! Colours of series, and how the origin of numbers is shown without colour.

use super::{Panel, Shape};
use crate::experiment::Origin;

/// The legend of one or more panels. All series with the same label have the same colour, whatever
/// their origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Legend {
    entries: Vec<LegendEntry>,
}

/// A line of a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct LegendEntry {
    /// Label of the series.
    pub label: String,
    /// Where the numbers of the series come from.
    pub origin: Origin,
    /// How the series is drawn; the stack of bars is always 0.
    pub shape: Shape,
    /// Index of the colour of the series in the palette, modulo the number of colours there.
    pub colour: usize,
}

/// The symbol of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A filled circle.
    Circle,
    /// A filled diamond.
    Diamond,
    /// A diagonal cross.
    Cross,
    /// A filled square.
    Square,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStyle {
    /// Without gaps.
    Solid,
    /// Dashes.
    Dashed,
    /// Dots.
    Dotted,
}

impl Legend {
    /// The legend of `panels`: each label once for each origin.
    #[must_use]
    pub fn of(panels: &[Panel]) -> Self {
        let mut labels: Vec<&str> = Vec::new();
        let mut entries: Vec<LegendEntry> = Vec::new();
        for series in panels.iter().flat_map(|panel| &panel.series) {
            let known = labels.iter().position(|label| *label == series.label);
            let colour = known.unwrap_or_else(|| {
                labels.push(&series.label);
                labels.len() - 1
            });
            let is_same =
                |entry: &LegendEntry| entry.label == series.label && entry.origin == series.origin;
            if !entries.iter().any(is_same) {
                let shape = match series.shape {
                    Shape::Bars { .. } => Shape::Bars { stack: 0 },
                    other => other,
                };
                let (label, origin) = (series.label.clone(), series.origin);
                entries.push(LegendEntry { label, origin, shape, colour });
            }
        }
        Self { entries }
    }

    /// The legend of `panel` alone, in the colours of this legend.
    #[must_use]
    pub fn of_panel(&self, panel: &Panel) -> Self {
        let mut legend = Self::of(std::slice::from_ref(panel));
        for entry in &mut legend.entries {
            entry.colour = self.colour(&entry.label);
        }
        legend
    }

    /// The lines of the legend.
    #[must_use]
    pub fn entries(&self) -> &[LegendEntry] {
        &self.entries
    }

    /// Index of the colour of the series with this label; 0 if there is none.
    #[must_use]
    pub fn colour(&self, label: &str) -> usize {
        let entry = self.entries.iter().find(|entry| entry.label == label);
        entry.map_or(0, |entry| entry.colour)
    }
}

impl LegendEntry {
    /// The text of the line.
    #[must_use]
    pub fn text(&self) -> String {
        label_with_origin(&self.label, self.origin)
    }
}

impl Origin {
    /// The symbol of dots of this origin.
    #[must_use]
    pub fn marker(self) -> Marker {
        match self {
            Self::Exact | Self::Live => Marker::Circle,
            Self::Recorded => Marker::Diamond,
            Self::Predicted => Marker::Cross,
            Self::Paper => Marker::Square,
        }
    }

    /// The style of lines of this origin.
    #[must_use]
    pub fn line_style(self) -> LineStyle {
        match self {
            Self::Exact | Self::Live | Self::Recorded => LineStyle::Solid,
            Self::Predicted => LineStyle::Dashed,
            Self::Paper => LineStyle::Dotted,
        }
    }
}

/// A label followed by its origin, such as `gpu (recorded)`, unless the numbers are exact.
#[must_use]
pub fn label_with_origin(label: &str, origin: Origin) -> String {
    match origin {
        Origin::Exact => label.to_owned(),
        origin => format!("{label} ({})", origin.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Axis, Series};

    #[test]
    fn a_label_has_one_colour_for_all_origins_and_panels() {
        let panel = |series: &[(&str, Origin)]| Panel {
            title: String::new(),
            x: Axis::linear(""),
            y: Axis::linear(""),
            series: series
                .iter()
                .map(|(label, origin)| Series::new(*label, *origin, Shape::Points, []))
                .collect(),
            marks: Vec::new(),
        };
        let panels = [
            panel(&[("cpu", Origin::Live), ("gpu", Origin::Recorded)]),
            panel(&[("gpu", Origin::Paper), ("gpu", Origin::Paper)]),
        ];
        let legend = Legend::of(&panels);
        let lines: Vec<_> = legend.entries().iter().map(|e| (e.text(), e.colour)).collect();
        let expected = [("cpu (live)", 0), ("gpu (recorded)", 1), ("gpu (paper)", 1)];
        assert_eq!(lines, expected.map(|(text, colour)| (text.to_owned(), colour)));
        let second = legend.of_panel(&panels[1]);
        assert_eq!(second.entries(), &legend.entries()[2..]);
    }
}
