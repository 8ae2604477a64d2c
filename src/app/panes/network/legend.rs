//! The legend of the lines of the network, shown if the user has switched on moral and fill edges
//! and the network is compiled.

use eframe::egui::Ui;

use super::picture::Edge;
use super::style::NetworkStyle;
use crate::app::widgets::graph_view::legend::sample;
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
            let (colour, line) = NetworkStyle::sample(ui, edge);
            let has_arrow = matches!(edge, Edge::Arc(..));
            sample(ui, (colour, line, 2.0), has_arrow, name, description);
        }
    });
}
