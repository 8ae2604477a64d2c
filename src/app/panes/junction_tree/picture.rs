//! The boxes and lines of the junction tree.

use eframe::egui::Vec2;

use crate::app::layout::tree::{self, TreeShape};
use crate::app::theme::log_share;
use crate::app::widgets::graph_view::node::NodeText;
use crate::app::widgets::graph_view::{PlacedEdge, PlacedNode};
use crate::graph::CliqueId;
use crate::numbers::{self, short_size};
use crate::propagation::CompiledNetwork;

/// Maximum number of cliques for which boxes are widened to fit their text.
const MAX_WIDE_BOXES: usize = 60;

/// The boxes and lines of the tree, laid out for a pane `aspect` times as wide as it is high. Boxes
/// are in the order of the cliques, and lines in the order of the separators.
pub fn picture(compiled: &CompiledNetwork, aspect: f32) -> (Vec<PlacedNode>, Vec<PlacedEdge>) {
    let junction_tree = compiled.tree();
    let texts: Vec<NodeText> = junction_tree.clique_ids().map(|id| text_of(compiled, id)).collect();
    let largest = compiled.statistics().max_clique_entries;
    let wide_boxes = junction_tree.cliques().len() <= MAX_WIDE_BOXES;
    let sizes: Vec<Vec2> = junction_tree
        .cliques()
        .iter()
        .zip(&texts)
        .map(|(clique, text)| {
            let share = log_share(clique.entries, largest);
            let extra_width =
                if wide_boxes { text.title.chars().count() as f32 * 3.1 - 40.0 } else { 0.0 };
            Vec2::new(76.0 + 24.0 * share + extra_width.clamp(0.0, 56.0), 40.0 + 10.0 * share)
        })
        .collect();
    let mut drawing = tree::draw(&TreeShape::of_junction_tree(junction_tree), &sizes, aspect);
    let edges = junction_tree.separators().iter().map(|separator| PlacedEdge {
        from: separator.parent.index(),
        to: separator.child.index(),
        path: std::mem::take(&mut drawing.links[separator.child.index()]),
        text: short_size(separator.entries),
    });
    let edges = edges.collect();
    let nodes = texts.into_iter().zip(&sizes).zip(&drawing.centres);
    let nodes = nodes.map(|((text, &size), &centre)| PlacedNode { centre, size, text }).collect();
    (nodes, edges)
}

fn text_of(compiled: &CompiledNetwork, id: CliqueId) -> NodeText {
    let clique = &compiled.tree()[id];
    let names = clique.variables.iter().map(|&variable| compiled.network()[variable].name());
    let brief = short_size(clique.entries);
    let count = numbers::counted(clique.variables.len(), "var", "vars");
    NodeText {
        title: names.collect::<Vec<_>>().join(", "),
        subtitle: format!("{count} · {brief}"),
        brief,
        is_number: true,
    }
}
