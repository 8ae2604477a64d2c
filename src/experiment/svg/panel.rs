//! A panel in SVG: axes, bars, series and marks. Distances without a name are in pixels and affect
//! only the looks.

use std::fmt::Write;

use super::shapes::{BarStyle, bar, dot, line};
use super::{axes, series_colour, text, text_width};
use crate::experiment::Origin;
use crate::experiment::chart::{
    LabelBox, Legend, Panel, PanelLayout, PointLabel, clear_of_dots, place_labels, place_mark_label,
};
use crate::palette::svg::{AXIS, PAPER_MARK, WEAK};

/// Font size of the labels of points and marks, in pixels.
const LABEL_FONT: f64 = 10.0;

/// The rectangle that the axes span, in pixels.
#[derive(Clone, Copy)]
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A panel's layout, and the area in which it is drawn.
pub(super) struct Plot<'p> {
    pub area: Area,
    pub layout: PanelLayout<'p>,
}

impl Plot<'_> {
    /// The horizontal position of an axis coordinate, in pixels, clamped to the area.
    pub fn x(&self, coordinate: f64) -> f64 {
        self.area.x + self.area.width * self.layout.x.fraction(coordinate).clamp(0.0, 1.0)
    }

    /// The vertical position of an axis coordinate, in pixels, clamped to the area.
    pub fn y(&self, coordinate: f64) -> f64 {
        self.area.y + self.area.height * (1.0 - self.layout.y.fraction(coordinate).clamp(0.0, 1.0))
    }

    /// The centres of all dots, in pixels.
    fn dots(&self) -> Vec<(f64, f64)> {
        self.layout.dots.iter().map(|at| (self.x(at.x), self.y(at.y))).collect()
    }

    /// The area as the room for labels.
    fn room(&self) -> LabelBox {
        let Area { x, y, width, height } = self.area;
        LabelBox { left: x, top: y, right: x + width, bottom: y + height }
    }
}

/// Draws `panel` in the colours of `legend`.
pub(super) fn draw(body: &mut String, panel: &Panel, legend: &Legend, area: Area) {
    let plot = Plot { area, layout: PanelLayout::new(panel) };
    let middle = area.x + area.width / 2.0;
    text(body, middle, area.y - 8.0, "middle", "font-size='12'", &panel.title);
    axes::draw(body, panel, &plot);
    for rectangle in &plot.layout.bars {
        let series = &panel.series[rectangle.point.series];
        let colour = series_colour(legend.colour(&series.label));
        let corner = (plot.x(rectangle.left), plot.y(rectangle.top));
        let size = (plot.x(rectangle.right) - corner.0, plot.y(rectangle.bottom) - corner.1);
        let stack = series.stack().unwrap_or(0);
        bar(body, corner, size, BarStyle { colour: &colour, origin: series.origin, stack });
    }
    for (index, series) in panel.series.iter().enumerate() {
        let colour = series_colour(legend.colour(&series.label));
        let dots = plot.layout.dots_of(index);
        let points: Vec<_> = dots.map(|at| (plot.x(at.x), plot.y(at.y))).collect();
        if series.is_joined(&panel.x.scale) {
            line(body, &points, &colour, series.origin);
        }
        for point in points {
            dot(body, point, &colour, legend.marker(series));
        }
    }
    draw_bar_labels(body, &plot);
    let labels = draw_labels(body, panel, &plot);
    draw_marks(body, panel, &plot, labels);
}

/// Writes the values of bars at their ends. A value that is much wider than its bar is written
/// upward.
fn draw_bar_labels(body: &mut String, plot: &Plot) {
    let dots = plot.dots();
    for label in &plot.layout.bar_labels {
        let Some(bar) = plot.layout.bars.iter().find(|bar| bar.point == label.point) else {
            continue;
        };
        let (left, right) = (plot.x(bar.left), plot.x(bar.right));
        let x = f64::midpoint(left, right);
        let end = plot.y(if label.is_below { bar.bottom } else { bar.top });
        let style = format!("font-size='{LABEL_FONT}' fill='{AXIS}'");
        let width = text_width(&label.text, LABEL_FONT);
        if width <= right - left + 6.0 {
            let top = if label.is_below { end + 1.0 } else { end - LABEL_FONT - 2.0 };
            let place = LabelBox {
                left: x - width / 2.0,
                top,
                right: x + width / 2.0,
                bottom: top + LABEL_FONT,
            };
            let place = clear_of_dots(place, &dots, label.is_below);
            text(body, x, place.bottom - 1.0, "middle", &style, &label.text);
        } else {
            // Turned text runs upward; its baseline is at the right.
            let (x, y) =
                (x + 0.35 * LABEL_FONT, if label.is_below { end + 3.0 } else { end - 3.0 });
            let anchor = if label.is_below { "end" } else { "start" };
            let turned = format!("{style} transform='rotate(-90 {x:.1} {y:.1})'");
            text(body, x, y, anchor, &turned, &label.text);
        }
    }
}

/// A white line around the letters of a label, which keeps the label readable over lines.
const HALO: &str = "stroke='#fff' stroke-width='3' paint-order='stroke'";

/// Draws the reference lines, each with its label. `labels` are the rectangles of the labels of
/// points, which are drawn already.
fn draw_marks(body: &mut String, panel: &Panel, plot: &Plot, mut labels: Vec<LabelBox>) {
    let dots = plot.dots();
    for mark in &panel.marks {
        let Some(ends) = plot.layout.mark(mark.position) else { continue };
        let [from, to] = ends.map(|(x, y)| (plot.x(x), plot.y(y)));
        let colour = if mark.origin == Origin::Paper { PAPER_MARK } else { WEAK };
        let _ = writeln!(
            body,
            "<line x1='{:.1}' y1='{:.1}' x2='{:.1}' y2='{:.1}' stroke='{colour}' \
             stroke-dasharray='2 3'/>",
            from.0, from.1, to.0, to.1
        );
        let size = (text_width(&mark.label, LABEL_FONT), LABEL_FONT);
        let place = place_mark_label(size, [from, to], &dots, &labels, plot.room());
        let style = format!("fill='{colour}' font-size='{LABEL_FONT}' {HALO}");
        text(body, place.left, place.bottom - 2.0, "start", &style, &mark.label);
        labels.push(place);
    }
}

/// Writes the labels of points: next to the point or, with a line to it, farther away. A label
/// without room is left out. Returns the rectangles of the labels.
fn draw_labels(body: &mut String, panel: &Panel, plot: &Plot) -> Vec<LabelBox> {
    let dots = plot.dots();
    let (mut labels, mut points) = (Vec::new(), Vec::new());
    for (at, &pixel) in plot.layout.dots.iter().zip(&dots) {
        let label = &panel.series[at.point.series].points[at.point.point].label;
        if !label.is_empty() {
            let size = (text_width(label, LABEL_FONT), LABEL_FONT);
            points.push(PointLabel { point: pixel, size });
            labels.push(label);
        }
    }
    let mut places = Vec::new();
    let placements = place_labels(&points, &dots, plot.room());
    for ((label, point), placement) in labels.into_iter().zip(&points).zip(placements) {
        let Some(placement) = placement else { continue };
        if let Some((x, y)) = placement.leader {
            let _ = writeln!(
                body,
                "<line x1='{:.1}' y1='{:.1}' x2='{x:.1}' y2='{y:.1}' stroke='{WEAK}'/>",
                point.point.0, point.point.1
            );
        }
        let place = placement.label;
        let style = format!("font-size='{LABEL_FONT}' fill='{AXIS}' {HALO}");
        text(body, place.left, place.bottom - 2.0, "start", &style, label);
        places.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Axis, Mark, MarkPosition, Series, Shape};

    #[test]
    fn the_label_of_a_vertical_line_is_on_the_side_with_room() {
        let mark = |x: f64| Mark {
            label: "a label of the line".to_owned(),
            origin: Origin::Exact,
            position: MarkPosition::X(x),
        };
        let panel = Panel {
            title: String::new(),
            x: Axis::linear("x"),
            y: Axis::linear("y"),
            series: vec![Series::new("s", Origin::Exact, Shape::Points, [(0.0, 0.0), (10.0, 1.0)])],
            marks: vec![mark(1.0), mark(10.0)],
        };
        let area = Area { x: 50.0, y: 20.0, width: 300.0, height: 200.0 };
        let mut body = String::new();
        draw(&mut body, &panel, &Legend::of(std::slice::from_ref(&panel)), area);
        let labels: Vec<&str> =
            body.lines().filter(|line| line.contains("a label of the line")).collect();
        assert_eq!(labels.len(), 2);
        let left = |label: &str| {
            let (_, rest) = label.split_once("x='").unwrap();
            rest.split_once('\'').unwrap().0.parse::<f64>().unwrap()
        };
        let width = text_width("a label of the line", LABEL_FONT);
        assert!(left(labels[0]) > area.x, "{}", labels[0]);
        assert!(left(labels[1]) + width < area.x + area.width, "{}", labels[1]);
    }
}
