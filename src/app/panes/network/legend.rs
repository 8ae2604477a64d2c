//! The legend of the lines of the network, shown if the user has switched on moral and fill edges
//! and the network is compiled.

use eframe::egui::{Sense, Shape, Stroke, Ui, vec2};

use super::picture::Edge;
use super::style::NetworkStyle;
use crate::app::widgets::graph_view::edge::Line;
use crate::network::VariableId;

/// Height of the legend in points.
pub const HEIGHT: f32 = 20.0;

/// Draws a sample of each kind of line with its name. `has_arcs` is false for Markov networks,
/// whose edges come from factors.
pub fn show(ui: &mut Ui, has_arcs: bool) {
    let id = VariableId::new(0);
    let moral = if has_arcs {
        "Between two parents of the same child"
    } else {
        "Between two variables of the same factor"
    };
    let kinds = [
        (Edge::Arc(id, id), "arc", "From a parent to a child"),
        (Edge::Moral(id, id), "moral edge", moral),
        (Edge::Fill(id, id), "fill edge", "Added by the elimination to make the graph chordal"),
    ];
    ui.horizontal(|ui| {
        for (edge, name, description) in kinds.into_iter().skip(usize::from(!has_arcs)) {
            let (rect, _) = ui.allocate_exact_size(vec2(34.0, HEIGHT - 4.0), Sense::hover());
            let (colour, line) = NetworkStyle::sample(ui, edge);
            let stroke = Stroke::new(2.0, colour);
            let ends = [rect.left_center(), rect.right_center()];
            match line {
                Line::Solid => {
                    ui.painter().line_segment(ends, stroke);
                }
                Line::Dashed => ui.painter().extend(Shape::dashed_line(&ends, stroke, 6.0, 4.0)),
                Line::Dotted => ui.painter().extend(Shape::dotted_line(&ends, colour, 5.0, 1.6)),
            }
            ui.label(name).on_hover_text(description);
            ui.add_space(8.0);
        }
    });
}
