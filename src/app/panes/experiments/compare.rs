//! Laying the figures of several records over one another.

use crate::experiment::{Figure, Panel, Record, Scale, Series, Shape};

/// The figures of `records` with those of the same title in one. The series say by whose name they
/// are called; bars of different records stand side by side.
pub(super) fn overlay(records: &[(&str, &Record)]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for (name, record) in records {
        for figure in &record.figures {
            let named = Figure {
                title: figure.title.clone(),
                across: figure.across,
                panels: figure.panels.iter().map(|panel| called(name, panel)).collect(),
            };
            match figures.iter_mut().find(|known| known.title == figure.title) {
                Some(known) => named.panels.into_iter().for_each(|panel| add(known, panel)),
                None => figures.push(named),
            }
        }
    }
    figures
}

/// `panel` with the record's name before those of its series.
fn called(name: &str, panel: &Panel) -> Panel {
    let mut panel = panel.clone();
    for series in &mut panel.series {
        series.label = format!("{name}: {}", series.label);
    }
    for mark in &mut panel.marks {
        mark.label = format!("{name}: {}", mark.label);
    }
    panel
}

/// Lays `panel` over the one of the same title and axes in `figure`, or puts it after the others.
fn add(figure: &mut Figure, panel: Panel) {
    let same = |known: &&mut Panel| {
        known.title == panel.title
            && known.x.label == panel.x.label
            && known.y.label == panel.y.label
            && std::mem::discriminant(&known.x.scale) == std::mem::discriminant(&panel.x.scale)
    };
    let Some(known) = figure.panels.iter_mut().find(same) else {
        figure.panels.push(panel);
        return;
    };
    let places = unite(&mut known.x.scale, &panel.x.scale);
    let stacks = known.series.iter().filter_map(stack).max();
    let after = stacks.map_or(0, |last| last + 1);
    for mut series in panel.series {
        if let Some(places) = &places {
            for point in &mut series.points {
                let place = places.get(point.x.round().max(0.0) as usize);
                point.x = place.map_or(point.x, |place| *place as f64);
            }
        }
        if let Shape::Bars { stack } = &mut series.shape {
            *stack += after;
        }
        known.series.push(series);
    }
    known.marks.extend(panel.marks);
}

fn stack(series: &Series) -> Option<usize> {
    match series.shape {
        Shape::Bars { stack } => Some(stack),
        _ => None,
    }
}

/// Adds the names of `other` that are not in `scale`. Where each name of `other` now stands, if
/// they are names.
fn unite(scale: &mut Scale, other: &Scale) -> Option<Vec<usize>> {
    let (Scale::Categories(names), Scale::Categories(others)) = (scale, other) else { return None };
    let place = |name: &String| {
        names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        })
    };
    Some(others.iter().map(place).collect())
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
    fn bars_of_two_records_stand_side_by_side_over_the_names_of_both() {
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
        let places: Vec<(f64, f64)> = panel.series[1].points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(places, [(2.0, 5.0), (0.0, 3.0)]);
    }
}
