//! Legends in SVG.

use super::shapes::{BarStyle, bar, dot, line};
use super::{series_colour, text, text_width};
use crate::experiment::chart::{Legend, LegendEntry, Shape};

/// Height of a line of a legend, in pixels.
const LINE_HEIGHT: f64 = 16.0;

/// Space for the symbol of an entry and the gap before its text, in pixels.
const SYMBOL_WIDTH: f64 = 22.0;

/// The height of a legend of this width, both in pixels.
pub(super) fn height(legend: &Legend, width: f64) -> f64 {
    entry_positions(legend, width).last().map_or(0.0, |(_, y)| y + LINE_HEIGHT)
}

/// Draws a legend with its upper left corner at `x`, `y`.
pub(super) fn draw(body: &mut String, legend: &Legend, (x, y): (f64, f64), width: f64) {
    for (entry, (dx, dy)) in legend.entries().iter().zip(entry_positions(legend, width)) {
        draw_entry(body, entry, x + dx, y + dy + LINE_HEIGHT / 2.0);
    }
}

/// The upper left corner of each entry, in lines of at most this width. A wider entry gets a line
/// to itself.
fn entry_positions(legend: &Legend, width: f64) -> Vec<(f64, f64)> {
    /// Gap after an entry, in pixels. After the last entry of a line, it may extend beyond the
    /// width.
    const GAP: f64 = 10.0;
    let (mut x, mut y) = (0.0, 0.0);
    let mut positions = Vec::new();
    for entry in legend.entries() {
        // Two pixels are spare. 11 pixels is the font size of the drawing.
        let needed = SYMBOL_WIDTH + 2.0 + text_width(&entry.text(), 11.0) + GAP;
        if x > 0.0 && x + needed > width + GAP {
            x = 0.0;
            y += LINE_HEIGHT;
        }
        positions.push((x, y));
        x += needed;
    }
    positions
}

/// Draws the symbol of an entry and its text. The symbol begins at `x`, and its middle is at `y`.
fn draw_entry(body: &mut String, entry: &LegendEntry, x: f64, y: f64) {
    let (colour, origin) = (series_colour(entry.colour), entry.origin);
    match entry.shape {
        Shape::Bars { stack } => {
            let style = BarStyle { colour: &colour, origin, stack };
            bar(body, (x, y - 5.0), (16.0, 10.0), style);
        }
        Shape::Line | Shape::Points => {
            if entry.shape == Shape::Line {
                line(body, &[(x, y), (x + 18.0, y)], &colour, origin);
            }
            dot(body, (x + 9.0, y), &colour, entry.marker);
        }
    }
    text(body, x + SYMBOL_WIDTH, y + 4.0, "start", "", &entry.text());
}
