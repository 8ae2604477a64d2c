//! Labels of marks and points, drawn over a plot.

use std::sync::Arc;

use eframe::egui::{self, FontId, Galley, Painter, Pos2, Rect, Stroke, Ui, Vec2};
use egui_plot::{PlotPoint, PlotTransform};

use super::hit::ScreenShape;
use crate::experiment::chart::{
    LabelBox, PanelLayout, PointLabel, PointRef, clear_of_dots, label_with_origin, place_labels,
    place_mark_label,
};
use crate::experiment::{Origin, Panel};

/// Font size of the labels in points.
const FONT_SIZE: f32 = 11.0;

/// How much wider than its bar the text of a value may be, in points: about the gap between two
/// bars.
const BAR_OVERHANG: f32 = 6.0;

/// Maximum number of points of a panel in which points are labelled. With more points, most labels
/// would have no room.
const MAX_LABELLED: usize = 60;

/// Writes the labels of marks. `labels` are the rectangles of the labels of points.
pub(super) fn show_mark_labels(
    ui: &Ui,
    rect: Rect,
    panel: &Panel,
    layout: &PanelLayout,
    shapes: &[(PointRef, ScreenShape)],
    transform: &PlotTransform,
    mut labels: Vec<LabelBox>,
) {
    let painter = ui.painter_at(rect);
    let ink = ui.visuals().text_color();
    let dots: Vec<(f64, f64)> = shapes.iter().filter_map(|(_, shape)| dot(shape)).collect();
    for mark in &panel.marks {
        // The labels of the paper's values say that they are the paper's.
        let text = match mark.origin {
            Origin::Paper => mark.label.clone(),
            origin => label_with_origin(&mark.label, origin),
        };
        let galley = painter.layout_no_wrap(text, FontId::proportional(FONT_SIZE), ink);
        let Some(ends) = layout.mark(mark.position) else { continue };
        let ends = ends.map(|(x, y)| {
            let pixel = transform.position_from_point(&PlotPoint::new(x, y));
            (f64::from(pixel.x), f64::from(pixel.y))
        });
        let place = place_mark_label(size(&galley), ends, &dots, &labels, room(rect));
        show_on_plate(ui, &painter, corner(place), galley);
        labels.push(place);
    }
}

/// Width and height of a text.
fn size(galley: &Galley) -> (f64, f64) {
    (f64::from(galley.size().x), f64::from(galley.size().y))
}

/// The part of the plot at `rect` in which labels may be.
fn room(rect: Rect) -> LabelBox {
    let [left, top] = [rect.left() + 2.0, rect.top() + 2.0].map(f64::from);
    let [right, bottom] = [rect.right() - 2.0, rect.bottom() - 2.0].map(f64::from);
    LabelBox { left, top, right, bottom }
}

/// The upper left corner of a label.
fn corner(label: LabelBox) -> Pos2 {
    egui::pos2(label.left as f32, label.top as f32)
}

/// Writes the values of bars, and the totals of stacked bars, at the ends of the bars. A text that
/// is too wide for its bar is turned to run upward.
pub(super) fn show_bar_labels(
    ui: &Ui,
    rect: Rect,
    layout: &PanelLayout,
    shapes: &[(PointRef, ScreenShape)],
) {
    let painter = ui.painter_at(rect);
    let ink = ui.visuals().text_color();
    let dots: Vec<(f64, f64)> = shapes.iter().filter_map(|(_, shape)| dot(shape)).collect();
    for label in &layout.bar_labels {
        let shape = shapes.iter().find(|(point, _)| *point == label.point);
        let Some((_, ScreenShape::Bar(bar))) = shape else { continue };
        let font = FontId::proportional(FONT_SIZE);
        let galley = painter.layout_no_wrap(label.text.clone(), font, ink);
        let Vec2 { x: length, y: height } = galley.size();
        let end = if label.is_below { bar.center_bottom() } else { bar.center_top() };
        if length <= bar.width() + BAR_OVERHANG {
            let top = if label.is_below { end.y + 1.0 } else { end.y - height - 1.0 };
            let left = end.x - length / 2.0;
            let [left, top, right, bottom] =
                [left, top, left + length, top + height].map(f64::from);
            let place = clear_of_dots(LabelBox { left, top, right, bottom }, &dots, label.is_below);
            painter.galley(corner(place), galley, ink);
        } else {
            // `corner` is the upper left corner of the text before it is turned. The turned text
            // runs upward from there.
            let bottom = if label.is_below { end.y + length + 3.0 } else { end.y - 3.0 };
            let corner = egui::pos2(end.x - height / 2.0, bottom);
            let text = egui::epaint::TextShape::new(corner, galley, ink);
            painter.add(text.with_angle(-std::f32::consts::FRAC_PI_2));
        }
    }
}

/// The centre of a dot; `None` for a bar.
fn dot(shape: &ScreenShape) -> Option<(f64, f64)> {
    match shape {
        ScreenShape::Dot(centre) => Some((f64::from(centre.x), f64::from(centre.y))),
        ScreenShape::Bar(_) => None,
    }
}

/// Writes labels next to their dots, unless there are more than [`MAX_LABELLED`] points. A label
/// without room is left out. Returns the rectangles of the labels.
pub(super) fn show_point_labels(
    ui: &Ui,
    rect: Rect,
    panel: &Panel,
    shapes: &[(PointRef, ScreenShape)],
) -> Vec<LabelBox> {
    let mut places = Vec::new();
    if shapes.len() > MAX_LABELLED {
        return places;
    }
    let painter = ui.painter_at(rect);
    let ink = ui.visuals().text_color();
    let (mut galleys, mut points, mut dots) = (Vec::new(), Vec::new(), Vec::new());
    for (point, shape) in shapes {
        let Some(pixel) = dot(shape) else { continue };
        dots.push(pixel);
        let text = &panel.series[point.series].points[point.point].label;
        if !text.is_empty() {
            let font = FontId::proportional(FONT_SIZE);
            let galley = painter.layout_no_wrap(text.clone(), font, ink);
            points.push(PointLabel { point: pixel, size: size(&galley) });
            galleys.push(galley);
        }
    }
    let placements = place_labels(&points, &dots, room(rect));
    for ((galley, label), placement) in galleys.into_iter().zip(&points).zip(placements) {
        let Some(placement) = placement else { continue };
        if let Some(end) = placement.leader {
            let ends = [label.point, end].map(|(x, y)| egui::pos2(x as f32, y as f32));
            painter.line_segment(ends, Stroke::new(1.0, ui.visuals().weak_text_color()));
        }
        show_on_plate(ui, &painter, corner(placement.label), galley);
        places.push(placement.label);
    }
    places
}

/// Writes a label on a plate, which keeps the text readable over lines and dense points.
fn show_on_plate(ui: &Ui, painter: &Painter, corner: Pos2, galley: Arc<Galley>) {
    let plate = Rect::from_min_size(corner, galley.size()).expand(1.0);
    painter.rect_filled(plate, 2.0, ui.visuals().extreme_bg_color.gamma_multiply(0.8));
    painter.galley(corner, galley, ui.visuals().text_color());
}
