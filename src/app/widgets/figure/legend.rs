//! Legends in the window: colours of series, and how egui draws markers and line styles.

use eframe::egui::{self, Color32, Sense, Stroke, Ui};
use egui_plot::{LineStyle as PlotLineStyle, MarkerShape};

use crate::app::theme::Palette;
use crate::experiment::Origin;
use crate::experiment::chart::{Legend, LegendEntry, LineStyle, Marker, Shape};
use crate::palette::SeriesColour;

/// Size of the sample of a series in a legend, in points.
const SAMPLE: egui::Vec2 = egui::vec2(16.0, 11.0);

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
    let stroke = Stroke::new(1.5, colour);
    let painter = ui.painter();
    if let Shape::Bars { .. } = entry.shape {
        painter.rect_filled(rect, 2, bar_fill(colour, entry.origin));
        painter.rect_stroke(rect, 2, (1.0, colour), egui::StrokeKind::Inside);
        return;
    }
    if entry.shape == Shape::Line {
        let ends = [rect.left_center(), rect.right_center()];
        painter.extend(match entry.origin.line_style() {
            LineStyle::Solid => vec![egui::Shape::line_segment(ends, stroke)],
            LineStyle::Dashed => egui::Shape::dashed_line(&ends, stroke, 4.0, 3.0),
            LineStyle::Dotted => egui::Shape::dotted_line(&ends, colour, 4.0, 1.2),
        });
    }
    let (centre, radius) = (rect.center(), 3.5);
    let at = |(x, y): (f32, f32)| centre + radius * egui::vec2(x, y);
    match entry.origin.marker() {
        Marker::Diamond => {
            let corners = [(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)].map(at).to_vec();
            painter.add(egui::Shape::convex_polygon(corners, colour, Stroke::NONE));
        }
        Marker::Cross => {
            painter.line_segment([(-1.0, -1.0), (1.0, 1.0)].map(at), stroke);
            painter.line_segment([(-1.0, 1.0), (1.0, -1.0)].map(at), stroke);
        }
        Marker::Square => {
            painter.rect_filled(egui::Rect::from_center_size(centre, [6.0; 2].into()), 0, colour);
        }
        Marker::Circle => {
            painter.circle_filled(centre, radius, colour);
        }
    }
}

/// The marker of dots of this origin.
pub(super) fn marker_shape(origin: Origin) -> MarkerShape {
    match origin.marker() {
        Marker::Circle => MarkerShape::Circle,
        Marker::Diamond => MarkerShape::Diamond,
        Marker::Cross => MarkerShape::Cross,
        Marker::Square => MarkerShape::Square,
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
