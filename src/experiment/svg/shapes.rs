//! Dots, lines and bars in SVG. Their form shows the origin of the numbers.

use std::fmt::Write;

use crate::experiment::Origin;
use crate::experiment::chart::{LineStyle, Marker};
use crate::palette::svg::BACKGROUND;

/// A dot centred at `x`, `y`.
pub(super) fn dot(body: &mut String, (x, y): (f64, f64), colour: &str, origin: Origin) {
    let _ = match origin.marker() {
        Marker::Diamond => writeln!(
            body,
            "<path d='M{x:.1} {:.1}l4.5 4.5l-4.5 4.5l-4.5 -4.5z' fill='{colour}'/>",
            y - 4.5
        ),
        Marker::Cross => writeln!(
            body,
            "<path d='M{:.1} {:.1}l6.4 6.4m-6.4 0l6.4 -6.4' stroke='{colour}' stroke-width='1.5'/>",
            x - 3.2,
            y - 3.2
        ),
        Marker::Square => writeln!(
            body,
            "<rect x='{:.1}' y='{:.1}' width='6.4' height='6.4' fill='{colour}' \
             stroke='{BACKGROUND}'/>",
            x - 3.2,
            y - 3.2
        ),
        Marker::Circle => {
            writeln!(body, "<circle cx='{x:.1}' cy='{y:.1}' r='3.5' fill='{colour}'/>")
        }
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

/// A bar with its upper left corner at `x`, `y`; only an outline for predicted numbers.
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
