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

/// Maximum number of cliques for which each box has room for all of its variables when the whole
/// tree is in view, in the pane of a window of 1280x800 that shows the network too. Small networks
/// are for learning what a clique is. With more cliques, the boxes would be too small for names.
const MAX_NAMED: usize = 10;

/// Size of the smallest boxes of such a tree if no name is longer than six letters, in picture
/// coordinates: room for two names, one below the other, with the number and the size below them.
/// Larger boxes would be in view only at a zoom at which names are too small.
const NAMED_SIZE: Vec2 = Vec2::new(54.0, 50.0);

/// Width of a letter in such a box, in picture coordinates, estimated. With less, names do not fit;
/// with more, boxes are wider than needed.
const NAMED_LETTER_WIDTH: f32 = 6.6;

/// Maximum width of the smallest boxes of such a tree. Longer names are left out until the user
/// zooms in.
const MAX_NAMED_WIDTH: f32 = 120.0;

/// Maximum number of cliques for which the area of each box is multiplied by 1 to 3, depending on
/// the size of its table. In larger trees, and where boxes name all variables, it is multiplied by 1
/// to 2.
const MAX_LARGE_BOXES: usize = 400;

/// Maximum number of cliques that are always labelled because of their size. More labels would hide
/// more of the picture.
const LABELLED: usize = 10;

/// The boxes and lines of the tree. Boxes are in the order of the cliques, and lines in the order
/// of the separators. If `by_area`, larger tables have larger boxes.
pub fn picture(compiled: &CompiledNetwork, by_area: bool) -> (Vec<PlacedNode>, Vec<PlacedEdge>) {
    let junction_tree = compiled.tree();
    let count = junction_tree.cliques().len();
    let texts: Vec<NodeText> = junction_tree.clique_ids().map(|id| text_of(compiled, id)).collect();
    // Only the positions on the scale are used, not its colours.
    let scale = ColourScale::of_cliques(junction_tree, true);
    let has_large_boxes = (MAX_NAMED + 1..=MAX_LARGE_BOXES).contains(&count);
    let max_area = if has_large_boxes { 3.0 } else { 2.0 };
    let base = |text: &NodeText| {
        if count <= MAX_NAMED {
            let names = text.title.split_whitespace().map(|name| name.chars().count());
            let letters = names.max().unwrap_or(0) as f32;
            let width = 10.0 + NAMED_LETTER_WIDTH * letters;
            Vec2::new(width.clamp(NAMED_SIZE.x, MAX_NAMED_WIDTH), NAMED_SIZE.y)
        } else if count <= MAX_WIDE_BOXES {
            let letters = text.title.chars().count() as f32;
            // A title of more than 12 letters widens the box, by at most 56 points.
            Vec2::new(78.0 + (letters * 3.1 - 40.0).clamp(0.0, 56.0), 40.0)
        } else {
            Vec2::new(56.0, 40.0)
        }
    };
    let mut bases: Vec<Vec2> = texts.iter().map(base).collect();
    let shows_size = by_area && scale.low() < scale.high();
    if shows_size {
        // If a long name widened its own box only, a small table could have the larger box. All
        // names of a small tree have to fit.
        let widths = bases.iter().map(|base| base.x);
        let width = if count <= MAX_NAMED {
            widths.fold(0.0, f32::max)
        } else {
            widths.sum::<f32>() / count as f32
        };
        bases.iter_mut().for_each(|base| base.x = width);
    }
    let size = |(clique, base): (&crate::graph::Clique, Vec2)| {
        let share = if shows_size {
            scale.share(clique.entries as f64)
        } else {
            // The boxes of cliques of three variables need room for three names.
            f32::from(count <= MAX_NAMED)
        };
        base * (1.0 + (max_area - 1.0) * share).sqrt()
    };
    let sizes: Vec<Vec2> = junction_tree.cliques().iter().zip(bases).map(size).collect();
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

/// The largest cliques, which are always labelled, largest first. If not all cliques of one size
/// belong to the ten largest, none of them does: labels on some of them would mean nothing.
pub fn largest(compiled: &CompiledNetwork) -> Vec<usize> {
    let tree = compiled.tree();
    let mut cliques: Vec<CliqueId> = tree.clique_ids().collect();
    cliques.sort_by_key(|&clique| (std::cmp::Reverse(tree[clique].entries), clique));
    if let Some(&next) = cliques.get(LABELLED) {
        let count = cliques.partition_point(|&clique| tree[clique].entries > tree[next].entries);
        cliques.truncate(count);
    }
    cliques.into_iter().map(CliqueId::index).collect()
}

/// The text in the box of a clique.
fn text_of(compiled: &CompiledNetwork, id: CliqueId) -> NodeText {
    let clique = &compiled.tree()[id];
    let names = clique.variables.iter().map(|&variable| compiled.network()[variable].name());
    let number = naming::clique_id(id);
    let size = short_size(clique.entries);
    let count = numbers::counted(clique.variables.len(), "var", "vars");
    let prefers_title = compiled.tree().cliques().len() <= MAX_NAMED;
    NodeText {
        title: names.collect::<Vec<_>>().join(", "),
        subtitle: if prefers_title {
            format!("{number} {size}")
        } else {
            format!("{number} · {count} · {size}")
        },
        brief: vec![format!("{number} {size}"), format!("{number}\n{size}"), number],
        may_cut: false,
        prefers_title,
    }
}
