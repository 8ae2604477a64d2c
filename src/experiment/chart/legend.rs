//! Colours of series, and how the origin of numbers is shown without colour.

use super::{Marker, Panel, Series, Shape};
use crate::engine::EngineInfo;
use crate::experiment::Origin;
use crate::palette::{ENGINE_SERIES, SERIES, SeriesColour};

/// The label of kernel overhead in figures.
pub const OVERHEAD: &str = "kernel overhead";
/// The label of the execution of kernels in figures.
pub const EXECUTION: &str = "execution";

/// The legend of one or more panels. All series with the same label have the same colour, whatever
/// their origin. Kernel overhead, execution and each engine have a colour that is the same in every
/// figure. If the labels of several series begin with the name of one engine, only the first of
/// these labels has the colour of the engine. Dots of different series of one origin have different
/// symbols, as long as there are enough symbols.
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
    /// How the series is drawn.
    pub shape: Shape,
    /// The colour of the series in the palette.
    pub colour: SeriesColour,
    /// The symbol of the series' dots.
    pub marker: Marker,
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
        let mut colours: Vec<(&str, SeriesColour)> = Vec::new();
        let mut entries: Vec<LegendEntry> = Vec::new();
        for series in panels.iter().flat_map(|panel| &panel.series) {
            let known = colours.iter().find(|(label, _)| *label == series.label);
            let colour = known.map_or_else(|| new_colour(&series.label, &colours), |known| known.1);
            if known.is_none() {
                colours.push((&series.label, colour));
            }
            let is_same =
                |entry: &LegendEntry| entry.label == series.label && entry.origin == series.origin;
            if !entries.iter().any(is_same) {
                let (label, origin, shape) = (series.label.clone(), series.origin, series.shape);
                let has_dots = |entry: &&LegendEntry| {
                    entry.origin == origin && !matches!(entry.shape, Shape::Bars { .. })
                };
                let marker = origin.marker(entries.iter().filter(has_dots).count());
                entries.push(LegendEntry { label, origin, shape, colour, marker });
            }
        }
        Self { entries }
    }

    /// The lines of this legend that `panel` needs.
    #[must_use]
    pub fn of_panel(&self, panel: &Panel) -> Self {
        let is_shown = |entry: &&LegendEntry| {
            panel.series.iter().any(|s| s.label == entry.label && s.origin == entry.origin)
        };
        Self { entries: self.entries.iter().filter(is_shown).cloned().collect() }
    }

    /// The symbol of the dots of `series`.
    #[must_use]
    pub fn marker(&self, series: &Series) -> Marker {
        let is_same =
            |entry: &&LegendEntry| entry.label == series.label && entry.origin == series.origin;
        let entry = self.entries.iter().find(is_same);
        entry.map_or(series.origin.marker(0), |entry| entry.marker)
    }

    /// The lines of the legend.
    #[must_use]
    pub fn entries(&self) -> &[LegendEntry] {
        &self.entries
    }

    /// The colour of the series with this label. If there is none, the first colour that belongs to
    /// no engine.
    #[must_use]
    pub fn colour(&self, label: &str) -> SeriesColour {
        let entry = self.entries.iter().find(|entry| entry.label == label);
        entry.map_or(SeriesColour::Series(ENGINE_SERIES.end), |entry| entry.colour)
    }
}

/// The colour of a series whose label is not in `taken` yet: the colour of its meaning if that
/// colour is free, otherwise the first free colour without a meaning.
fn new_colour(label: &str, taken: &[(&str, SeriesColour)]) -> SeriesColour {
    let is_free = |colour: &SeriesColour| taken.iter().all(|(_, other)| other != colour);
    let others = SERIES - ENGINE_SERIES.end;
    let mut rest = (0..).map(|index| SeriesColour::Series(ENGINE_SERIES.end + index));
    meaning(label).filter(is_free).or_else(|| rest.by_ref().take(others).find(is_free)).unwrap_or(
        // More series than colours: the colours repeat.
        SeriesColour::Series(ENGINE_SERIES.end + taken.len() % others),
    )
}

/// The colour of what `label` means in every figure, if it has such a meaning. Where results are
/// compared, the name of the result and a colon precede the label.
fn meaning(label: &str) -> Option<SeriesColour> {
    let label = label.rsplit_once(": ").map_or(label, |(_, label)| label);
    match label {
        OVERHEAD => Some(SeriesColour::Overhead),
        EXECUTION => Some(SeriesColour::Execution),
        _ => {
            let first_word = label.split([' ', ',']).next()?;
            let mut engines = EngineInfo::ALL.iter();
            let engine = engines.position(|engine| engine.name == first_word)?;
            Some(SeriesColour::Series(ENGINE_SERIES.start + engine))
        }
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
    use crate::experiment::Axis;

    fn panel(series: &[(&str, Origin)]) -> Panel {
        Panel {
            title: String::new(),
            x: Axis::linear(""),
            y: Axis::linear(""),
            series: series
                .iter()
                .map(|(label, origin)| Series::new(*label, *origin, Shape::Points, []))
                .collect(),
            marks: Vec::new(),
        }
    }

    #[test]
    fn a_meaning_has_its_colour_once_and_other_labels_get_the_rest() {
        let labels = ["naive", OVERHEAD, "gpu f32, naive", "gpu f32, interleaved", EXECUTION];
        let legend = Legend::of(&[panel(&labels.map(|label| (label, Origin::Exact)))]);
        let first = ENGINE_SERIES.end;
        let expected = [
            SeriesColour::Series(first),
            SeriesColour::Overhead,
            SeriesColour::Series(2),
            SeriesColour::Series(first + 1),
            SeriesColour::Execution,
        ];
        assert_eq!(labels.map(|label| legend.colour(label)), expected);
        let names: Vec<String> = (0..20).map(|index| index.to_string()).collect();
        let labels: Vec<_> = names.iter().map(|label| (label.as_str(), Origin::Exact)).collect();
        for entry in Legend::of(&[panel(&labels)]).entries() {
            let SeriesColour::Series(index) = entry.colour else { panic!("{entry:?}") };
            assert!((first..SERIES).contains(&index), "never the colour of an engine");
        }
    }

    #[test]
    fn a_label_has_one_colour_for_all_origins_and_panels() {
        let panels = [
            panel(&[("cpu", Origin::Live), ("gpu", Origin::Recorded)]),
            panel(&[("gpu", Origin::Paper), ("gpu", Origin::Paper)]),
        ];
        let legend = Legend::of(&panels);
        let lines: Vec<_> = legend.entries().iter().map(|e| (e.text(), e.colour)).collect();
        let expected = [("cpu (live)", 0), ("gpu (recorded)", 2), ("gpu (paper)", 2)];
        let expected =
            expected.map(|(text, engine)| (text.to_owned(), SeriesColour::Series(engine)));
        assert_eq!(lines, expected, "the positions in the list of engines");
        let markers: Vec<Marker> = legend.entries().iter().map(|entry| entry.marker).collect();
        assert_eq!(markers[0], Origin::Live.marker(0));
        assert_eq!(legend.marker(&panels[0].series[1]), Origin::Recorded.marker(0));
        let second = legend.of_panel(&panels[1]);
        assert_eq!(second.entries(), &legend.entries()[2..]);
    }
}
