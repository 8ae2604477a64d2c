//! A figure: its panels in rows, and their legends.

use super::axes::label_height;
use super::legend;
use super::panel::{self, Area};
use super::{LEFT, MARGIN, text, text_width};
use crate::experiment::chart::{Figure, Legend, Panel};

/// Space above a panel's axes, for its title, in pixels.
const ABOVE: f64 = 24.0;

/// Height of the line with the figure's title, in pixels.
const TITLE: f64 = 20.0;

/// A figure and the sizes of its parts.
pub(super) struct FigureLayout<'a> {
    figure: &'a Figure,
    legend: Legend,
    /// Whether all panels have the same legend, which is then drawn once, below them.
    shares_legend: bool,
    across: usize,
    /// Width and height of the area that the axes of a panel span, in pixels.
    panel_size: (f64, f64),
}

impl<'a> FigureLayout<'a> {
    /// Lays out `figure`.
    pub fn new(figure: &'a Figure) -> Self {
        let legend = Legend::of(&figure.panels);
        let mut legends = figure.panels.iter().map(|panel| legend.of_panel(panel));
        let first = legends.next();
        let shares_legend = first.is_some_and(|first| legends.all(|legend| legend == first));
        let across = figure.across.max(1);
        // The widths of up to four panels in a row add up to 700 to 760 pixels.
        let panel_size = match across {
            1 => (700.0, 320.0),
            2 => (350.0, 240.0),
            3 => (250.0, 190.0),
            _ => (190.0, 150.0),
        };
        Self { figure, legend, shares_legend, across, panel_size }
    }

    /// Width of the drawing, in pixels.
    pub fn width(&self) -> f64 {
        let columns = self.across.min(self.figure.panels.len().max(1)) as f64;
        let panels = columns * (LEFT + self.panel_size.0 + MARGIN) - MARGIN;
        panels.max(text_width(&self.figure.title, 13.0))
    }

    /// Height of the drawing with its title and legend, in pixels.
    pub fn height(&self) -> f64 {
        let legend = match self.shares_legend {
            true => legend::height(&self.legend, self.legend_width()),
            false => 0.0,
        };
        let rows = self.figure.panels.chunks(self.across).map(|row| self.row_height(row));
        TITLE + rows.sum::<f64>() + legend
    }

    /// Width of a legend below all panels, in pixels.
    fn legend_width(&self) -> f64 {
        self.width() - LEFT
    }

    /// Height of a row of panels with their axes, in pixels.
    fn row_height(&self, row: &[Panel]) -> f64 {
        let (width, height) = self.panel_size;
        let panel = |panel: &Panel| {
            let legend = if self.shares_legend {
                0.0
            } else {
                legend::height(&self.legend.of_panel(panel), width)
            };
            ABOVE + height + below(panel) + legend + MARGIN
        };
        row.iter().map(panel).fold(0.0, f64::max)
    }

    /// Draws the figure with its upper edge at `top`.
    pub fn draw(&self, body: &mut String, top: f64) {
        let bold = "font-size='13' font-weight='bold'";
        text(body, MARGIN, top + 12.0, "start", bold, &self.figure.title);
        let (width, height) = self.panel_size;
        let mut y = top + TITLE;
        for row in self.figure.panels.chunks(self.across) {
            for (column, panel) in row.iter().enumerate() {
                let x = MARGIN + column as f64 * (LEFT + width + MARGIN) + LEFT;
                panel::draw(body, panel, &self.legend, Area { x, y: y + ABOVE, width, height });
                if !self.shares_legend {
                    let legend_top = y + ABOVE + height + below(panel);
                    legend::draw(body, &self.legend.of_panel(panel), (x, legend_top), width);
                }
            }
            y += self.row_height(row);
        }
        if self.shares_legend {
            legend::draw(body, &self.legend, (MARGIN + LEFT, y), self.legend_width());
        }
    }
}

/// Height of the labels below a panel's axes, in pixels.
fn below(panel: &Panel) -> f64 {
    label_height(&panel.x) + if panel.x.label.is_empty() { 6.0 } else { 20.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Axis, Origin, Series, Shape};

    #[test]
    fn a_figure_is_as_high_as_what_is_drawn_however_long_the_labels_are() {
        for length in 1..80 {
            let series = ["a", "b"].map(|label| {
                Series::new(label.repeat(length), Origin::Live, Shape::Points, [(1.0, 1.0)])
            });
            let panel = Panel {
                title: String::new(),
                x: Axis::linear("x"),
                y: Axis::linear("y"),
                series: series.to_vec(),
                marks: Vec::new(),
            };
            let figure = Figure { title: String::new(), across: 1, panels: vec![panel] };
            let layout = FigureLayout::new(&figure);
            let mut body = String::new();
            layout.draw(&mut body, 0.0);
            let texts =
                body.lines().filter_map(|line| line.strip_prefix("<text ")?.split('\'').nth(3));
            let lowest = texts.map(|y| y.parse::<f64>().unwrap()).fold(0.0, f64::max);
            let height = layout.height();
            assert!((height - 20.0..height).contains(&lowest), "{length}: {lowest} of {height}");
        }
    }
}
