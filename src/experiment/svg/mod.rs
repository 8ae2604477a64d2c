//! Figures of records as SVG documents, on a white background.

mod axes;
mod figure;
mod legend;
mod panel;
mod shapes;

use std::fmt::Write;

use self::figure::FigureLayout;
use super::Record;
use crate::numbers::wrapped;
use crate::palette::{self, SeriesColour, svg};
use crate::safe_text::visible;

/// Space around everything and between panels, in pixels.
const MARGIN: f64 = 16.0;

/// Space to the left of a panel's axes, for labels, in pixels.
const LEFT: f64 = 56.0;

/// Minimum width of a document, in pixels.
const MIN_WIDTH: f64 = 480.0;

impl Record {
    /// All figures of the record, one below the other, as an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let figures: Vec<FigureLayout> = self.figures.iter().map(FigureLayout::new).collect();
        let widths = figures.iter().map(|figure| figure.width() + 2.0 * MARGIN);
        let title_width = text_width(&self.title, 16.0) + 2.0 * MARGIN;
        let width = widths.fold(MIN_WIDTH.max(title_width), f64::max);
        let mut body = String::new();
        let mut y = MARGIN;
        let bold = "font-size='16' font-weight='bold'";
        text(&mut body, MARGIN, y + 14.0, "start", bold, &self.title);
        y += 22.0;
        let columns = (width - 2.0 * MARGIN) / text_width("x", 11.0);
        for line in wrapped(&self.credit_line(), columns as usize).lines() {
            let style = format!("font-size='11' fill='{}'", svg::WEAK);
            text(&mut body, MARGIN, y + 12.0, "start", &style, line);
            y += 15.0;
        }
        y += 8.0;
        for figure in &figures {
            figure.draw(&mut body, y);
            y += figure.height();
        }
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0}' height='{0:.0}' \
             viewBox='0 0 {width:.0} {0:.0}' font-family='Helvetica, Arial, sans-serif' \
             font-size='11' fill='{1}'>\n\
             <rect width='100%' height='100%' fill='{2}'/>\n{body}</svg>\n",
            y + MARGIN,
            svg::TEXT,
            svg::BACKGROUND
        )
    }

    /// Where the numbers come from and how the trees were made.
    fn credit_line(&self) -> String {
        let credits = self.credits().into_iter().map(|credit| credit.text);
        let trees = self.settings.iter().filter(|(name, _)| name == "triangulation");
        let trees = trees.map(|(_, value)| format!("trees by {value}"));
        credits.chain(trees).collect::<Vec<_>>().join("; ")
    }
}

/// Writes text at a point. `anchor` is the value of the SVG attribute `text-anchor`; `attributes`
/// are further attributes.
fn text(body: &mut String, x: f64, y: f64, anchor: &str, attributes: &str, text: &str) {
    // XML cannot hold most control characters.
    let text = visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        body,
        "<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}' {attributes}>{text}</text>"
    );
}

/// Approximate width of text in pixels: on average, the width of a character of Helvetica is 0.56
/// times the font size.
fn text_width(text: &str, font_size: f64) -> f64 {
    0.56 * font_size * text.chars().count() as f64
}

/// The colour of a series, as SVG writes it.
fn series_colour(colour: SeriesColour) -> String {
    let [red, green, blue] = palette::LIGHT.of_series(colour);
    format!("#{red:02x}{green:02x}{blue:02x}")
}
