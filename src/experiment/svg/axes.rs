//! Axes in SVG: grid lines, tick labels and axis labels. Distances without a name are in pixels and
//! affect only the looks.

use std::fmt::Write;

use super::panel::Plot;
use super::{LEFT, text, text_width};
use crate::experiment::chart::{Axis, Panel, Scale};
use crate::palette::svg::{AXIS, HORIZONTAL_GRID, VERTICAL_GRID};

/// Angle by which slanted names rise from left to right, in degrees. If it changes, the factor in
/// [`label_height`] must change too.
const SLANT: f64 = 38.0;

/// Draws the axes of `panel`.
pub(super) fn draw(body: &mut String, panel: &Panel, plot: &Plot) {
    let area = plot.area;
    let (right, bottom) = (area.x + area.width, area.y + area.height);
    vertical_ticks(body, plot);
    horizontal_ticks(body, panel, plot);
    rule(body, (area.x, bottom), (right, bottom), AXIS);
    rule(body, (area.x, area.y), (area.x, bottom), AXIS);
    if plot.layout.y.base() == 0.0 {
        let zero = plot.y(0.0);
        rule(body, (area.x, zero), (right, zero), AXIS);
    }
    if !panel.x.label.is_empty() {
        let (middle, below) = (area.x + area.width / 2.0, bottom + label_height(&panel.x) + 12.0);
        text(body, middle, below, "middle", &format!("fill='{AXIS}'"), &panel.x.label);
    }
    let (left, middle) = (area.x - LEFT + 12.0, area.y + area.height / 2.0);
    let turned = format!("fill='{AXIS}' transform='rotate(-90 {left:.1} {middle:.1})'");
    text(body, left, middle, "middle", &turned, &panel.y.label);
}

/// Grid lines and labels of the vertical axis.
fn vertical_ticks(body: &mut String, plot: &Plot) {
    let area = plot.area;
    for tick in plot.layout.y.ticks().iter().filter(|tick| !tick.is_minor) {
        let y = plot.y(tick.coordinate);
        rule(body, (area.x, y), (area.x + area.width, y), HORIZONTAL_GRID);
        text(body, area.x - 6.0, y + 4.0, "end", "", &tick.label);
    }
}

/// Grid lines and labels of the horizontal axis. Categories have no grid lines. If one name is
/// long, all names are slanted. If short names do not all fit, only every n-th name is written.
fn horizontal_ticks(body: &mut String, panel: &Panel, plot: &Plot) {
    let area = plot.area;
    let bottom = area.y + area.height;
    let (is_slanted, label_every) = match &panel.x.scale {
        Scale::Categories(names) if is_slanted(names) => (true, 1),
        Scale::Categories(names) => {
            // A short name takes about 22 pixels.
            (false, (names.len() as f64 * 22.0 / area.width).ceil() as usize)
        }
        Scale::Linear | Scale::Log => (false, 1),
    };
    let ticks = plot.layout.x.ticks().into_iter().filter(|tick| !tick.is_minor);
    for (index, tick) in ticks.enumerate() {
        let x = plot.x(tick.coordinate);
        if !matches!(panel.x.scale, Scale::Categories(_)) {
            rule(body, (x, area.y), (x, bottom), VERTICAL_GRID);
        }
        if !index.is_multiple_of(label_every.max(1)) {
            continue;
        }
        if is_slanted {
            let (x, y) = (x + 3.0, bottom + 12.0);
            let turned = format!("transform='rotate(-{SLANT} {x:.1} {y:.1})'");
            text(body, x, y, "end", &turned, &tick.label);
        } else {
            text(body, x, bottom + 15.0, "middle", "", &tick.label);
        }
    }
}

/// Height of the tick labels of a horizontal axis, in pixels.
pub(super) fn label_height(axis: &Axis) -> f64 {
    match &axis.scale {
        Scale::Categories(names) if is_slanted(names) => {
            let widest = names.iter().map(|name| text_width(name, 11.0)).fold(0.0, f64::max);
            // 11 pixels is the font size of the drawing, and 0.6 about the sine of `SLANT`.
            14.0 + 0.6 * widest
        }
        _ => 18.0,
    }
}

/// Whether the names are slanted because one of them has more than four characters, which is too
/// long to be written horizontally.
fn is_slanted(names: &[String]) -> bool {
    names.iter().any(|name| name.chars().count() > 4)
}

/// A straight line of an axis or the grid.
fn rule(body: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let _ = writeln!(
        body,
        "<line x1='{:.1}' y1='{:.1}' x2='{:.1}' y2='{:.1}' stroke='{colour}'/>",
        from.0, from.1, to.0, to.1
    );
}
