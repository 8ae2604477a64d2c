//! Which colour is what.

use std::fmt::Write;

use super::{COLOURS, text, text_width};
use crate::experiment::{Figure, Origin, Panel, Shape};

/// Colours of the labels of a figure's series: one that is measured and predicted has one colour.
pub(super) struct Key {
    labels: Vec<String>,
}

/// A line of a legend.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub colour: String,
    pub label: String,
    pub origin: Origin,
    pub shape: Shape,
}

impl Key {
    pub fn of(figure: &Figure) -> Self {
        let mut labels: Vec<String> = Vec::new();
        for series in figure.panels.iter().flat_map(|panel| &panel.series) {
            if !labels.contains(&series.label) {
                labels.push(series.label.clone());
            }
        }
        Self { labels }
    }

    pub fn colour(&self, label: &str) -> String {
        let index = self.labels.iter().position(|known| known == label).unwrap_or(0);
        let [red, green, blue] = COLOURS[index % COLOURS.len()];
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    pub fn entries(&self, panel: &Panel) -> Vec<Entry> {
        let entry = |series: &crate::experiment::Series| Entry {
            colour: self.colour(&series.label),
            label: match series.origin {
                Origin::Exact => series.label.clone(),
                origin => format!("{} ({})", series.label, origin.name()),
            },
            origin: series.origin,
            shape: match series.shape {
                Shape::Bars { .. } => Shape::Bars { stack: 0 },
                other => other,
            },
        };
        panel.series.iter().map(entry).collect()
    }
}

/// Where each entry stands in a legend so wide, from its left upper corner; and its height.
fn places(entries: &[Entry], width: f64) -> (Vec<(f64, f64)>, f64) {
    let (mut x, mut y) = (0.0, 0.0);
    let mut places = Vec::new();
    for entry in entries {
        let needed = 24.0 + text_width(&entry.label, 11.0) + 10.0;
        if x > 0.0 && x + needed > width + 10.0 {
            x = 0.0;
            y += 16.0;
        }
        places.push((x, y));
        x += needed;
    }
    (places, if entries.is_empty() { 0.0 } else { y + 16.0 })
}

pub(super) fn height(entries: &[Entry], width: f64) -> f64 {
    places(entries, width).1
}

pub(super) fn draw(body: &mut String, entries: &[Entry], x: f64, y: f64, width: f64) {
    let (places, _) = places(entries, width);
    for (entry, (dx, dy)) in entries.iter().zip(places) {
        let (x, y) = (x + dx, y + dy + 8.0);
        match entry.shape {
            Shape::Bars { .. } => {
                bar(body, (x, y - 5.0), (16.0, 10.0), &entry.colour, entry.origin)
            }
            shape => {
                if shape == Shape::Line {
                    line(body, &[(x, y), (x + 18.0, y)], &entry.colour, entry.origin);
                }
                dot(body, (x + 9.0, y), &entry.colour, entry.origin);
            }
        }
        text(body, x + 22.0, y + 4.0, "start", "", &entry.label);
    }
}

/// A dot: round if measured, a diamond if recorded, a cross if predicted, a square if printed.
pub(super) fn dot(body: &mut String, (x, y): (f64, f64), colour: &str, origin: Origin) {
    let _ = match origin {
        Origin::Recorded => writeln!(
            body,
            "<path d='M{x:.1} {:.1}l4.5 4.5l-4.5 4.5l-4.5 -4.5z' fill='{colour}'/>",
            y - 4.5
        ),
        Origin::Predicted => writeln!(
            body,
            "<path d='M{:.1} {:.1}l6.4 6.4m-6.4 0l6.4 -6.4' stroke='{colour}' stroke-width='1.5'/>",
            x - 3.2,
            y - 3.2
        ),
        Origin::Paper => writeln!(
            body,
            "<rect x='{:.1}' y='{:.1}' width='6.4' height='6.4' fill='{colour}' stroke='#fff'/>",
            x - 3.2,
            y - 3.2
        ),
        _ => writeln!(body, "<circle cx='{x:.1}' cy='{y:.1}' r='3.5' fill='{colour}'/>"),
    };
}

/// A line through `points`: dashed if predicted, dotted if printed in the paper.
pub(super) fn line(body: &mut String, points: &[(f64, f64)], colour: &str, origin: Origin) {
    let dash = match origin {
        Origin::Predicted => " stroke-dasharray='5 3'",
        Origin::Paper => " stroke-dasharray='1.5 3.5'",
        _ => "",
    };
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        body,
        "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='1.5'{dash}/>",
        points.join(" ")
    );
}

/// A bar from its left upper corner: an outline if predicted.
pub(super) fn bar(
    body: &mut String,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    colour: &str,
    origin: Origin,
) {
    let fill = if origin == Origin::Predicted { "none" } else { colour };
    let _ = writeln!(
        body,
        "<rect x='{x:.1}' y='{y:.1}' width='{width:.1}' height='{height:.1}' fill='{fill}' \
         stroke='{colour}' stroke-width='1'/>"
    );
}
