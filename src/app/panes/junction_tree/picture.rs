//! The boxes and lines of the junction tree.

use std::collections::HashMap;

use eframe::egui::Vec2;

use crate::app::layout::label_place;
use crate::app::layout::tree::{self, TreeShape};
use crate::app::widgets::colour_scale::ColourScale;
use crate::app::widgets::graph_view::node::NodeText;
use crate::app::widgets::graph_view::{PlacedEdge, PlacedNode};
use crate::app::widgets::naming;
use crate::graph::CliqueId;
use crate::numbers::{self, short_size};
use crate::propagation::CompiledNetwork;

/// Maximum number of cliques for which boxes are wide enough for the names of variables. In larger
/// trees, boxes are narrower, so that the whole tree fits into the pane at a larger zoom.
const MAX_WIDE_BOXES: usize = 60;

/// Maximum number of cliques for which the area of each box is multiplied by 1 to 3, depending on
/// the size of its table. In larger trees, it is multiplied by 1 to 2.
const MAX_LARGE_BOXES: usize = 400;

/// Number of cliques that are always labelled. More labels would hide more of the picture.
const LABELLED: usize = 10;

/// The boxes and lines of the tree. Boxes are in the order of the cliques, and lines in the order
/// of the separators. If `by_area`, larger tables have larger boxes.
pub fn picture(compiled: &CompiledNetwork, by_area: bool) -> (Vec<PlacedNode>, Vec<PlacedEdge>) {
    let junction_tree = compiled.tree();
    let count = junction_tree.cliques().len();
    let texts: Vec<NodeText> = junction_tree.clique_ids().map(|id| text_of(compiled, id)).collect();
    // Only the positions on the scale are used, not its colours.
    let scale = ColourScale::of_cliques(junction_tree, true);
    let max_area = if count <= MAX_LARGE_BOXES { 3.0 } else { 2.0 };
    let size = |(clique, text): (&crate::graph::Clique, &NodeText)| {
        let base = if count <= MAX_WIDE_BOXES {
            let letters = text.title.chars().count() as f32;
            // A title of more than 12 letters widens the box, by at most 56 points.
            Vec2::new(78.0 + (letters * 3.1 - 40.0).clamp(0.0, 56.0), 40.0)
        } else {
            Vec2::new(56.0, 40.0)
        };
        let is_one_size = scale.low() >= scale.high();
        let share = if by_area && !is_one_size { scale.share(clique.entries as f64) } else { 0.0 };
        base * (1.0 + (max_area - 1.0) * share).sqrt()
    };
    let sizes: Vec<Vec2> = junction_tree.cliques().iter().zip(&texts).map(size).collect();
    let mut drawing = tree::draw(&TreeShape::of_junction_tree(junction_tree), &sizes);
    let edges = junction_tree.separators().iter().map(|separator| PlacedEdge {
        from: separator.parent.index(),
        to: separator.child.index(),
        path: std::mem::take(&mut drawing.links[separator.child.index()]),
        text: short_size(separator.entries),
    });
    let mut edges: Vec<PlacedEdge> = edges.collect();
    label_common_lines_once(&mut edges);
    let nodes = texts.into_iter().zip(&sizes).zip(&drawing.centres);
    let nodes = nodes.map(|((text, &size), &centre)| PlacedNode { centre, size, text }).collect();
    (nodes, edges)
}

/// Where lines share the place of their label, keeps only the first label, and none if the labels
/// differ, because labels at the same place would hide each other.
pub(super) fn label_common_lines_once(edges: &mut [PlacedEdge]) {
    let mut first_at: HashMap<[u32; 2], usize> = HashMap::new();
    let mut clearing = Vec::new();
    for index in 0..edges.len() {
        let Some(place) = label_place(&edges[index].path) else { continue };
        let first = *first_at.entry([place.x.to_bits(), place.y.to_bits()]).or_insert(index);
        if first != index {
            clearing.push(index);
            if edges[first].text != edges[index].text {
                clearing.push(first);
            }
        }
    }
    for index in clearing {
        edges[index].text.clear();
    }
}

/// The largest cliques, which are always labelled, largest first.
pub fn largest(compiled: &CompiledNetwork) -> Vec<usize> {
    let tree = compiled.tree();
    let mut cliques: Vec<CliqueId> = tree.clique_ids().collect();
    cliques.sort_by_key(|&clique| (std::cmp::Reverse(tree[clique].entries), clique));
    cliques.truncate(LABELLED);
    cliques.into_iter().map(CliqueId::index).collect()
}

/// The text in the box of a clique.
fn text_of(compiled: &CompiledNetwork, id: CliqueId) -> NodeText {
    let clique = &compiled.tree()[id];
    let names = clique.variables.iter().map(|&variable| compiled.network()[variable].name());
    let number = naming::clique_id(id);
    let size = short_size(clique.entries);
    let count = numbers::counted(clique.variables.len(), "var", "vars");
    NodeText {
        title: names.collect::<Vec<_>>().join(", "),
        subtitle: format!("{number} · {count} · {size}"),
        brief: vec![format!("{number} {size}"), format!("{number}\n{size}"), number],
        may_cut: false,
    }
}
