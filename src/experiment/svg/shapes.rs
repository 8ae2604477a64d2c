//! Dots, lines and bars in SVG. Their form shows where numbers come from: bars show only whether
//! numbers are predicted, lines also whether they are printed in the paper, and dots also whether
//! they are recorded.

use std::fmt::Write;

use crate::experiment::Origin;
use crate::experiment::chart::{LineStyle, Marker, hatch_lines};
use crate::palette::svg::BACKGROUND;

/// Radius of dots in pixels.
const RADIUS: f64 = 3.6;

/// A dot centred at `x`, `y`.
pub(super) fn dot(body: &mut String, (x, y): (f64, f64), colour: &str, marker: Marker) {
    let fill = if marker.is_filled { colour } else { BACKGROUND };
    let outline = if marker.is_filled { BACKGROUND } else { colour };
    let style = format!("fill='{fill}' stroke='{outline}'");
    let corners = marker.form.corners();
    let place = |&(dx, dy): &(f32, f32)| {
        format!("{:.1} {:.1}", x + RADIUS * f64::from(dx), y + RADIUS * f64::from(dy))
    };
    let _ = if corners.is_empty() {
        writeln!(body, "<circle cx='{x:.1}' cy='{y:.1}' r='{RADIUS}' {style}/>")
    } else if marker.form.is_lines() {
        let lines =
            corners.chunks(2).map(|ends| format!("M{}L{}", place(&ends[0]), place(&ends[1])));
        let lines: String = lines.collect();
        writeln!(body, "<path d='{lines}' stroke='{colour}' stroke-width='1.5'/>")
    } else {
        let corners: Vec<String> = corners.iter().map(place).collect();
        writeln!(body, "<path d='M{}z' {style}/>", corners.join("L"))
    };
}

/// A line through `points`.
pub(super) fn line(body: &mut String, points: &[(f64, f64)], colour: &str, origin: Origin) {
    let dash = match origin.line_style() {
        LineStyle::Solid => "",
        LineStyle::Dashed => " stroke-dasharray='5 3'",
        LineStyle::Dotted => " stroke-dasharray='1.5 3.5'",
    };
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        body,
        "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='1.5'{dash}/>",
        points.join(" ")
    );
}

/// How a bar is filled.
#[derive(Clone, Copy)]
pub(super) struct BarStyle<'c> {
    pub colour: &'c str,
    pub origin: Origin,
    /// Number of the stack; bars of all stacks but the first are hatched.
    pub stack: usize,
}

/// A bar with its upper left corner at `x`, `y`; only an outline for predicted numbers.
pub(super) fn bar(
    body: &mut String,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    BarStyle { colour, origin, stack }: BarStyle,
) {
    let fill = if origin == Origin::Predicted { "none" } else { colour };
    let _ = writeln!(
        body,
        "<rect x='{x:.1}' y='{y:.1}' width='{width:.1}' height='{height:.1}' fill='{fill}' \
         stroke='{colour}' stroke-width='1'/>"
    );
    if stack > 0 {
        let lines: String = hatch_lines([x, y, x + width, y + height], HATCH_DISTANCE)
            .into_iter()
            .map(|[x0, y0, x1, y1]| format!("M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}"))
            .collect();
        let _ = writeln!(body, "<path d='{lines}' stroke='{BACKGROUND}' stroke-width='1.4'/>");
    }
}

/// Distance between the lines of hatched bars, in pixels. With less, the bar looks empty; with
/// more, a narrow bar may get no line.
const HATCH_DISTANCE: f64 = 5.0;
