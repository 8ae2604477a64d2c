//! Records as pictures in SVG, on a light ground.

mod legend;
mod panel;
mod scale;

use std::fmt::Write;

use self::legend::{Entry, Key};
use super::{Figure, Origin, Panel, Record};
use crate::numbers::wrapped;

/// Space around everything, and between panels.
const MARGIN: f64 = 16.0;

/// Red, green and blue of the series of a figure on a light ground, in order: told apart by people of
/// every kind of sight, after the set of Okabe and Ito (2008).
pub const COLOURS: [[u8; 3]; 7] = [
    [0x1f, 0x77, 0xb4],
    [0xd0, 0x6a, 0x0c],
    [0x14, 0x8a, 0x68],
    [0xa0, 0x4a, 0x86],
    [0x94, 0x7a, 0x00],
    [0xb8, 0x2e, 0x10],
    [0x5c, 0x66, 0x70],
];

impl Record {
    /// All figures of the record below one another, as an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let keys: Vec<Key> = self.figures.iter().map(Key::of).collect();
        let figures = || self.figures.iter().zip(&keys);
        let mut body = String::new();
        let mut y = MARGIN;
        let mut width: f64 = 480.0;
        let sizes: Vec<(f64, f64)> =
            figures().map(|(figure, key)| figure_size(figure, key)).collect();
        for (w, _) in &sizes {
            width = width.max(w + 2.0 * MARGIN);
        }
        text(
            &mut body,
            MARGIN,
            y + 14.0,
            "start",
            "font-size='16' font-weight='bold'",
            &self.title,
        );
        y += 22.0;
        for line in wrapped(&self.credits(), (width / 6.2) as usize).lines() {
            text(&mut body, MARGIN, y + 12.0, "start", "font-size='11' fill='#555'", line);
            y += 15.0;
        }
        y += 8.0;
        for ((figure, key), (_, height)) in figures().zip(sizes) {
            draw_figure(&mut body, figure, key, y);
            y += height;
        }
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0}' height='{0:.0}' \
             viewBox='0 0 {width:.0} {0:.0}' font-family='Helvetica, Arial, sans-serif' \
             font-size='11' fill='#222'>\n<rect width='100%' height='100%' fill='#fff'/>\n{body}</svg>\n",
            y + MARGIN
        )
    }

    /// Where the numbers come from, in a line.
    fn credits(&self) -> String {
        let origins = || {
            let panels = self.figures.iter().flat_map(|figure| &figure.panels);
            panels.flat_map(|panel| panel.series.iter().map(|series| series.origin))
        };
        let mut parts = Vec::new();
        if origins().any(|origin| origin == Origin::Live) {
            let machine = &self.provenance.machine;
            let gpu =
                machine.gpu.as_ref().map_or_else(String::new, |gpu| format!(", {}", gpu.name));
            let day = self.provenance.day();
            parts.push(format!("live on {}{gpu} on {day}", machine.cpu));
        }
        parts.extend(self.recorded.iter().cloned());
        if origins().any(|origin| origin == Origin::Predicted) {
            parts.push("predicted: crosses, dashed".to_owned());
        }
        if origins().any(|origin| origin == Origin::Paper) {
            parts.push("in the paper: squares, dotted".to_owned());
        }
        let networks = self.settings.iter().filter(|(name, _)| name == "triangulation");
        parts.extend(networks.map(|(_, value)| format!("trees by {value}")));
        parts.join("; ")
    }
}

/// Width and height of a panel's axes, by how many stand side by side.
fn panel_size(across: usize) -> (f64, f64) {
    match across {
        0 | 1 => (700.0, 320.0),
        2 => (350.0, 240.0),
        3 => (250.0, 190.0),
        _ => (190.0, 150.0),
    }
}

/// Space for what is written left of, above and below a panel's axes.
const LEFT: f64 = 56.0;
const ABOVE: f64 = 24.0;

fn below(panel: &Panel) -> f64 {
    scale::label_height(&panel.x) + if panel.x.label.is_empty() { 6.0 } else { 20.0 }
}

/// A legend for the whole figure, if all panels would have the same; else one below each.
fn shared(figure: &Figure, key: &Key) -> Option<Vec<Entry>> {
    let first = key.entries(figure.panels.first()?);
    let same = |panel: &Panel| key.entries(panel) == first;
    figure.panels.iter().all(same).then_some(first)
}

/// The height of each row of panels, and of the legend below them all.
fn heights(figure: &Figure, key: &Key) -> (Vec<f64>, f64) {
    let across = figure.across.max(1);
    let (width, height) = panel_size(across);
    let shared = shared(figure, key);
    let panel = |panel: &Panel| {
        let own = match shared {
            Some(_) => 0.0,
            None => legend::height(&key.entries(panel), width),
        };
        ABOVE + height + below(panel) + own + MARGIN
    };
    let rows = figure.panels.chunks(across);
    let rows = rows.map(|row| row.iter().map(panel).fold(0.0, f64::max)).collect();
    let all = figure_width(figure);
    (rows, shared.map_or(0.0, |entries| legend::height(&entries, all)))
}

fn figure_width(figure: &Figure) -> f64 {
    let across = figure.across.max(1);
    let columns = across.min(figure.panels.len().max(1)) as f64;
    columns * (LEFT + panel_size(across).0 + MARGIN) - MARGIN
}

fn figure_size(figure: &Figure, key: &Key) -> (f64, f64) {
    let (rows, legend) = heights(figure, key);
    (figure_width(figure), 20.0 + rows.iter().sum::<f64>() + legend)
}

fn draw_figure(body: &mut String, figure: &Figure, key: &Key, top: f64) {
    let across = figure.across.max(1);
    let (width, height) = panel_size(across);
    text(body, MARGIN, top + 12.0, "start", "font-size='13' font-weight='bold'", &figure.title);
    let (rows, _) = heights(figure, key);
    let shared = shared(figure, key);
    let mut y = top + 20.0;
    for (row, row_height) in figure.panels.chunks(across).zip(rows) {
        for (column, panel) in row.iter().enumerate() {
            let x = MARGIN + column as f64 * (LEFT + width + MARGIN) + LEFT;
            let area = panel::Area { x, y: y + ABOVE, width, height };
            panel::draw(body, panel, key, area);
            if shared.is_none() {
                let at = y + ABOVE + height + below(panel);
                legend::draw(body, &key.entries(panel), x, at, width);
            }
        }
        y += row_height;
    }
    if let Some(entries) = shared {
        legend::draw(body, &entries, MARGIN + LEFT, y, figure_width(figure) - LEFT);
    }
}

/// Writes words at a point.
fn text(body: &mut String, x: f64, y: f64, anchor: &str, attributes: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        body,
        "<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}' {attributes}>{words}</text>"
    );
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// About how wide words are.
fn text_width(words: &str, size: f64) -> f64 {
    0.56 * size * words.chars().count() as f64
}
