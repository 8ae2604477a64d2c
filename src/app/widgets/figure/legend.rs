//! Legends in the window: colours of series, and how egui draws markers and line styles.

use eframe::egui::{self, Color32, Painter, Pos2, Rect, Sense, Stroke, Ui};
use egui_plot::LineStyle as PlotLineStyle;

use crate::app::theme::Palette;
use crate::experiment::Origin;
use crate::experiment::chart::{Legend, LegendEntry, LineStyle, Marker, Shape, hatch_lines};
use crate::palette::SeriesColour;

/// Size of the sample of a series in a legend, in points.
const SAMPLE: egui::Vec2 = egui::vec2(16.0, 11.0);

/// Radius of dots in points.
pub(super) const DOT_RADIUS: f32 = 4.0;

/// Distance between the lines of hatched bars, in points. The lines have the colour of the
/// background: with less distance, a bar looks empty. With more, a narrow bar may get no line.
const HATCH_DISTANCE: f64 = 5.0;

/// The colour of a series in the theme of `ui`.
pub(super) fn series_colour(ui: &Ui, colour: SeriesColour) -> Color32 {
    Palette::of(ui).of_series(colour)
}

/// Draws a legend in one line, or in several if there is too little room.
pub fn show_legend(ui: &mut Ui, legend: &Legend) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        for entry in legend.entries() {
            let text = entry.text();
            let galley = egui::WidgetText::from(&text).into_galley(
                ui,
                None,
                f32::INFINITY,
                egui::TextStyle::Body,
            );
            let width = SAMPLE.x + galley.size().x + 2.0 * ui.spacing().item_spacing.x;
            // The sample and its text stay on one line.
            if width > ui.available_size_before_wrap().x {
                ui.end_row();
            }
            show_sample(ui, entry);
            ui.label(text);
            ui.add_space(8.0);
        }
    });
}

/// Draws a sample of what a series looks like.
fn show_sample(ui: &mut Ui, entry: &LegendEntry) {
    let (rect, _) = ui.allocate_exact_size(SAMPLE, Sense::hover());
    let colour = series_colour(ui, entry.colour);
    let painter = ui.painter();
    if let Shape::Bars { stack } = entry.shape {
        painter.rect_filled(rect, 0, bar_fill(colour, entry.origin));
        painter.rect_stroke(rect, 0, (1.0, colour), egui::StrokeKind::Inside);
        if stack > 0 {
            hatch(ui, painter, rect);
        }
        return;
    }
    if entry.shape == Shape::Line {
        let ends = [rect.left_center(), rect.right_center()];
        let stroke = Stroke::new(1.5, colour);
        painter.extend(match entry.origin.line_style() {
            LineStyle::Solid => vec![egui::Shape::line_segment(ends, stroke)],
            LineStyle::Dashed => egui::Shape::dashed_line(&ends, stroke, 4.0, 3.0),
            LineStyle::Dotted => egui::Shape::dotted_line(&ends, colour, 4.0, 1.2),
        });
    }
    draw_marker(ui, painter, rect.center(), DOT_RADIUS, entry.marker, colour);
}

/// Draws the symbol of a dot. A filled symbol of at least [`DOT_RADIUS`] that does not consist of
/// lines has an outline in the background colour, so that it can be told from bars and other dots
/// below it.
pub(super) fn draw_marker(
    ui: &Ui,
    painter: &Painter,
    centre: Pos2,
    radius: f32,
    marker: Marker,
    colour: Color32,
) {
    let background = ui.visuals().extreme_bg_color;
    let line = Stroke::new(0.4 * radius, colour);
    let (fill, outline) = if !marker.is_filled {
        (background, line)
    } else if radius < DOT_RADIUS {
        (colour, Stroke::NONE)
    } else {
        (colour, Stroke::new(1.0, background))
    };
    let corners = marker.form.corners();
    let place = |&(x, y): &(f32, f32)| centre + radius * egui::vec2(x, y);
    if corners.is_empty() {
        painter.circle(centre, radius, fill, outline);
    } else if marker.form.is_lines() {
        for ends in corners.chunks(2) {
            painter.line_segment([place(&ends[0]), place(&ends[1])], line);
        }
    } else {
        let corners = corners.iter().map(place).collect();
        painter.add(egui::Shape::convex_polygon(corners, fill, outline));
    }
}

/// Draws the lines of a hatched bar into `bar`.
pub(super) fn hatch(ui: &Ui, painter: &Painter, bar: Rect) {
    let stroke = Stroke::new(1.4, ui.visuals().extreme_bg_color);
    let edges = [bar.left(), bar.top(), bar.right(), bar.bottom()].map(f64::from);
    for line in hatch_lines(edges, HATCH_DISTANCE) {
        let [x0, y0, x1, y1] = line.map(|coordinate| coordinate as f32);
        painter.line_segment([Pos2::new(x0, y0), Pos2::new(x1, y1)], stroke);
    }
}

/// The style of lines of this origin.
pub(super) fn line_style(origin: Origin) -> PlotLineStyle {
    match origin.line_style() {
        LineStyle::Solid => PlotLineStyle::Solid,
        LineStyle::Dashed => PlotLineStyle::Dashed { length: 7.0 },
        LineStyle::Dotted => PlotLineStyle::Dotted { spacing: 5.0 },
    }
}

/// The fill of bars: paler for numbers that a model predicts or that the paper prints.
pub(super) fn bar_fill(colour: Color32, origin: Origin) -> Color32 {
    match origin {
        Origin::Predicted => colour.gamma_multiply(0.3),
        Origin::Paper => colour.gamma_multiply(0.6),
        Origin::Exact | Origin::Live | Origin::Recorded => colour,
    }
}
