//! Overlaying the figures of several records.

use crate::experiment::{Figure, Panel, Record, Scale, Series, Shape};

/// The figures of `records`, which are pairs of name and record. The label of each series and mark
/// begins with the name of its record. Figures with the same title are merged into one, in which
/// bars of different records are side by side.
pub(super) fn overlay(records: &[(&str, &Record)]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for (name, record) in records {
        for figure in &record.figures {
            let renamed = Figure {
                title: figure.title.clone(),
                across: figure.across,
                panels: figure.panels.iter().map(|panel| with_prefix(name, panel)).collect(),
            };
            match figures.iter_mut().find(|known| known.title == figure.title) {
                Some(known) => {
                    renamed.panels.into_iter().for_each(|panel| merge_panel(known, panel))
                }
                None => figures.push(renamed),
            }
        }
    }
    figures
}

/// `panel` with `name`, the name of its record, in front of the labels of series and marks.
fn with_prefix(name: &str, panel: &Panel) -> Panel {
    let mut panel = panel.clone();
    for series in &mut panel.series {
        series.label = format!("{name}: {}", series.label);
    }
    for mark in &mut panel.marks {
        mark.label = format!("{name}: {}", mark.label);
    }
    panel
}

/// Merges `panel` into the panel of `figure` with the same title, the same axis labels and the same
/// kind of horizontal scale. If there is none, adds `panel` at the end.
fn merge_panel(figure: &mut Figure, panel: Panel) {
    let is_same = |known: &&mut Panel| {
        known.title == panel.title
            && known.x.label == panel.x.label
            && known.y.label == panel.y.label
            && std::mem::discriminant(&known.x.scale) == std::mem::discriminant(&panel.x.scale)
    };
    let Some(known) = figure.panels.iter_mut().find(is_same) else {
        figure.panels.push(panel);
        return;
    };
    let indices = merge_categories(&mut known.x.scale, &panel.x.scale);
    let last_stack = known.series.iter().filter_map(Series::stack).max();
    let next_stack = last_stack.map_or(0, |last| last + 1);
    for mut series in panel.series {
        if let Some(indices) = &indices {
            for point in &mut series.points {
                let index = indices.get(point.x.round().max(0.0) as usize);
                point.x = index.map_or(point.x, |index| *index as f64);
            }
        }
        if let Shape::Bars { stack } = &mut series.shape {
            *stack += next_stack;
        }
        known.series.push(series);
    }
    known.marks.extend(panel.marks);
}

/// Adds the categories of `other` that `scale` lacks. Returns the index in `scale` of each category
/// of `other`; `None` if one of the scales has no categories.
fn merge_categories(scale: &mut Scale, other: &Scale) -> Option<Vec<usize>> {
    let (Scale::Categories(names), Scale::Categories(others)) = (scale, other) else { return None };
    let index = |name: &String| {
        names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        })
    };
    Some(others.iter().map(index).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Axis, Machine, Origin, Provenance};

    fn record(networks: &[&str], heights: &[f64]) -> Record {
        let points = heights.iter().enumerate().map(|(x, y)| (x as f64, *y));
        let series = Series::new("time", Origin::Live, Shape::Bars { stack: 0 }, points);
        let panel = Panel {
            title: String::new(),
            x: Axis::categories("", networks.iter().copied()),
            y: Axis::linear("µs"),
            series: vec![series],
            marks: Vec::new(),
        };
        Record {
            format: 1,
            experiment: "fig7".to_owned(),
            title: "Figure 7".to_owned(),
            provenance: Provenance {
                version: "0".to_owned(),
                commit: None,
                date: "2026-01-02T03:04:05Z".to_owned(),
                machine: Machine { cpu: "fingers".to_owned(), threads: 10, gpu: None },
            },
            recorded: Vec::new(),
            propagations: None,
            settings: Vec::new(),
            notes: Vec::new(),
            tables: Vec::new(),
            figures: vec![Figure { title: "Times".to_owned(), across: 1, panels: vec![panel] }],
        }
    }

    #[test]
    fn bars_of_two_records_are_side_by_side_over_the_categories_of_both() {
        let one = record(&["pigs", "barley"], &[1.0, 2.0]);
        let other = record(&["water", "pigs"], &[5.0, 3.0]);
        let figures = overlay(&[("one", &one), ("other", &other)]);
        assert_eq!(figures.len(), 1);
        let panel = &figures[0].panels[0];
        let names = ["pigs", "barley", "water"].map(str::to_owned).to_vec();
        assert_eq!(panel.x.scale, Scale::Categories(names));
        let labels: Vec<&str> = panel.series.iter().map(|series| series.label.as_str()).collect();
        assert_eq!(labels, ["one: time", "other: time"]);
        assert_eq!(panel.series[1].shape, Shape::Bars { stack: 1 });
        let points: Vec<(f64, f64)> = panel.series[1].points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(points, [(2.0, 5.0), (0.0, 3.0)]);
    }
}
