//! Samples of lines for the legends of pictures.

use eframe::egui::{Color32, Label, Sense, Shape, Stroke, Ui, vec2};

use super::edge::{Line, PathEnd, arrowhead};

/// Height of a sample in points.
const HEIGHT: f32 = 16.0;
/// Width of a sample in points: enough for four dashes.
const WIDTH: f32 = 34.0;

/// Draws a sample of a line `width` points wide, with an arrowhead if `has_arrow`, and its `name`
/// with its `description` as a tooltip.
pub fn sample(
    ui: &mut Ui,
    (colour, line, width): (Color32, Line, f32),
    has_arrow: bool,
    name: &str,
    description: &str,
) {
    let (rect, _) = ui.allocate_exact_size(vec2(WIDTH, HEIGHT), Sense::hover());
    let stroke = Stroke::new(width, colour);
    let mut ends = [rect.left_center(), rect.right_center()];
    if has_arrow {
        let mut head = Vec::new();
        arrowhead(&mut ends, PathEnd::End, stroke, 1.0, &mut head);
        ui.painter().extend(head);
    }
    match line {
        Line::Solid => {
            ui.painter().line_segment(ends, stroke);
        }
        Line::Dashed => ui.painter().extend(Shape::dashed_line(&ends, stroke, 6.0, 4.0)),
        Line::Dotted => {
            ui.painter().extend(Shape::dotted_line(&ends, colour, 5.0, 0.8 * width));
        }
    }
    // In a row that wraps, the name stays in one piece.
    ui.add(Label::new(name).extend()).on_hover_text(description);
    ui.add_space(8.0);
}
