//! Drawings of directed acyclic graphs: in layers from top to bottom, in layers from left to right
//! or, if the graph is a tree, as a tree.
//!
//! Layers from top to bottom are the usual drawing. Another one is taken if it has larger boxes. In
//! layers, a long chain such as a hidden Markov model is a diagonal of tiny boxes; the drawing as a
//! tree folds the chain into rows. A network with many layers, such as Barley, is high and narrow
//! from top to bottom, and fills a wide pane from left to right.

use eframe::egui::{Pos2, Vec2};

use super::layered::LayeredDrawing;
use super::tree::{self, TreeShape};
use super::{bounds, fit_scale, layered};

/// A tree is drawn as a tree only if its boxes are then at least this many times as wide as in
/// layers. Otherwise layers are preferred, because all their arcs point in the same direction.
/// Chosen by eye.
const MIN_TREE_GAIN: f32 = 1.35;

/// Layers from top to bottom that can be stretched to fill the pane are replaced by layers from
/// left to right only if the boxes are then at least this many times as wide. Chosen by eye.
const MIN_RIGHTWARD_GAIN: f32 = 1.15;

/// Maximum factor by which the distances within the layers grow to fill the pane. With a larger
/// one, related variables of a narrow network are far apart.
const MAX_STRETCH: f32 = 2.0;

/// A drawn graph.
#[derive(Clone, Debug)]
pub struct DirectedDrawing {
    /// The centre of every vertex.
    pub centres: Vec<Pos2>,
    /// The line of every arc, from its tail to its head.
    pub arc_lines: Vec<Vec<Pos2>>,
}

/// Draws a directed acyclic graph with vertices of `sizes`, for a pane `aspect` times as wide as it
/// is high. `arcs` are pairs of tail and head.
///
/// # Panics
/// If an arc refers to a vertex that does not exist.
#[must_use]
pub fn draw(sizes: &[Vec2], arcs: &[(usize, usize)], aspect: f32) -> DirectedDrawing {
    let layers = in_layers(sizes, arcs, aspect);
    if let Some(tree) = tree_of(sizes.len(), arcs) {
        let mut drawing = tree::draw(&tree, sizes);
        let scale_of_layers = fit_scale(bounds(&layers.centres, sizes).size(), aspect);
        if fit_scale(drawing.bounds.size(), aspect) >= MIN_TREE_GAIN * scale_of_layers {
            let line = |&(_, head): &(usize, usize)| std::mem::take(&mut drawing.links[head]);
            let arc_lines = arcs.iter().map(line).collect();
            return DirectedDrawing { centres: drawing.centres, arc_lines };
        }
    }
    layers
}

/// Draws in layers from top to bottom or from left to right, and moves the vertices of each layer
/// apart to fill the pane.
fn in_layers(sizes: &[Vec2], arcs: &[(usize, usize)], aspect: f32) -> DirectedDrawing {
    let down = layered::draw(sizes, arcs, aspect);
    // Layers from left to right are drawn as layers from top to bottom, with both axes exchanged.
    let exchanged: Vec<Vec2> = sizes.iter().map(|size| size.yx()).collect();
    let down_scale = fit_scale(down.bounds.size(), aspect);
    let down_aspect = down.bounds.width() / down.bounds.height();
    if down_aspect < aspect {
        let right = layered::draw(&exchanged, arcs, 1.0 / aspect);
        let can_fill_pane = down_aspect * MAX_STRETCH >= aspect;
        let min_gain = if can_fill_pane { MIN_RIGHTWARD_GAIN } else { 1.0 };
        if fit_scale(right.bounds.size().yx(), aspect) >= min_gain * down_scale {
            let mut drawing = stretched(right, &exchanged, 1.0 / aspect);
            let points = drawing.arc_lines.iter_mut().flatten();
            for point in drawing.centres.iter_mut().chain(points) {
                *point = Pos2::new(point.y, point.x);
            }
            return drawing;
        }
    }
    stretched(down, sizes, aspect)
}

/// `drawing` with larger distances within the layers, if it is narrower than a pane of `aspect`.
fn stretched(drawing: LayeredDrawing, sizes: &[Vec2], aspect: f32) -> DirectedDrawing {
    let LayeredDrawing { mut centres, mut arc_lines, bounds } = drawing;
    let box_width = sizes.iter().map(|size| size.x).fold(0.0, f32::max);
    // Only distances grow, not boxes.
    let distances = (bounds.width() - box_width).max(1.0);
    let factor = (aspect * bounds.height() - box_width) / distances;
    let factor = factor.clamp(1.0, MAX_STRETCH);
    let middle = bounds.center().x;
    for point in centres.iter_mut().chain(arc_lines.iter_mut().flatten()) {
        point.x = middle + factor * (point.x - middle);
    }
    DirectedDrawing { centres, arc_lines }
}

/// The graph as a rooted tree; `None` if it is not one.
fn tree_of(vertices: usize, arcs: &[(usize, usize)]) -> Option<TreeShape> {
    if arcs.len() + 1 != vertices {
        return None;
    }
    let mut children = vec![Vec::new(); vertices];
    let mut is_head = vec![false; vertices];
    for &(tail, head) in arcs {
        if std::mem::replace(&mut is_head[head], true) {
            return None;
        }
        children[tail].push(head);
    }
    let root = is_head.iter().position(|is_head| !is_head)?;
    let tree = TreeShape::new(children, root);
    (tree.reached() == vertices).then_some(tree)
}

#[cfg(test)]
mod tests {
    use eframe::egui::vec2;

    use super::*;

    /// A hidden Markov model: state `2 i` has the next state and observation `2 i + 1` as children.
    fn hidden_markov_model(steps: usize) -> (Vec<Vec2>, Vec<(usize, usize)>) {
        let mut arcs: Vec<_> = (0..steps).map(|step| (2 * step, 2 * step + 1)).collect();
        arcs.extend((1..steps).map(|step| (2 * step - 2, 2 * step)));
        (vec![vec2(110.0, 50.0); 2 * steps], arcs)
    }

    #[test]
    fn a_hidden_markov_model_fills_the_pane() {
        let (sizes, arcs) = hidden_markov_model(50);
        let drawing = draw(&sizes, &arcs, 1.5);
        let size = bounds(&drawing.centres, &sizes).size();
        assert!((0.75..3.0).contains(&(size.x / size.y)), "{size:?}");
        let layers = layered::draw(&sizes, &arcs, 1.5).bounds.size();
        assert!(fit_scale(size, 1.5) > 2.0 * fit_scale(layers, 1.5), "{size:?} {layers:?}");
        for (line, &(tail, head)) in drawing.arc_lines.iter().zip(&arcs) {
            // Half the size of a box, and one point more.
            let near = |point: Pos2, vertex: usize| {
                let offset = (point - drawing.centres[vertex]).abs();
                offset.x <= 56.0 && offset.y <= 26.0
            };
            assert!(near(line[line.len() - 1], head), "{tail} to {head}: {line:?}");
        }
    }

    /// A graph of `layers` layers with two vertices each, in which each vertex has arcs to both
    /// vertices of the next layer.
    fn ladder(layers: usize) -> Vec<(usize, usize)> {
        let arcs_below = |layer: usize| {
            let (a, b) = (2 * layer, 2 * layer + 1);
            [(a, a + 2), (a, a + 3), (b, a + 2), (b, a + 3)]
        };
        (0..layers - 1).flat_map(arcs_below).collect()
    }

    #[test]
    fn a_deep_graph_is_drawn_from_left_to_right_in_a_wide_pane() {
        let (sizes, arcs) = (vec![vec2(60.0, 50.0); 16], ladder(8));
        let drawing = draw(&sizes, &arcs, 1.5);
        for (line, &(tail, head)) in drawing.arc_lines.iter().zip(&arcs) {
            let (from, to) = (drawing.centres[tail], drawing.centres[head]);
            assert!(from.x + 60.0 <= to.x, "{from:?} {to:?}");
            assert_eq!((line[0], line[line.len() - 1].y), (from + vec2(30.0, 0.0), to.y));
        }
        // In a high pane, the graph is drawn from top to bottom.
        let high = draw(&sizes, &arcs, 0.5);
        assert!(arcs.iter().all(|&(tail, head)| high.centres[tail].y < high.centres[head].y));
    }

    #[test]
    fn vertices_of_a_layer_move_apart_in_a_pane_with_room() {
        let (sizes, arcs) = (vec![vec2(60.0, 50.0); 8], ladder(4));
        let narrow = draw(&sizes, &arcs, 0.5);
        let distance =
            |drawing: &DirectedDrawing| (drawing.centres[0] - drawing.centres[1]).length();
        let layered = layered::draw(&sizes, &arcs, 0.5);
        assert!(distance(&narrow) > (layered.centres[0] - layered.centres[1]).length());
        let width = bounds(&narrow.centres, &sizes).width();
        assert!(width <= 0.51 * layered.bounds.height(), "not wider than the pane: {width}");
        for (line, &(tail, _)) in narrow.arc_lines.iter().zip(&arcs) {
            assert_eq!(line[0], narrow.centres[tail] + vec2(0.0, 25.0));
        }
    }

    #[test]
    fn graphs_that_are_no_trees_and_small_trees_are_drawn_in_layers() {
        let small = vec![vec2(60.0, 30.0); 4];
        for arcs in [&[(0, 1), (0, 2), (1, 3), (2, 3)][..], &[(0, 1), (0, 2), (1, 3)]] {
            let drawing = draw(&small, arcs, 1.5);
            let y = |index: usize| drawing.centres[index].y;
            assert!(arcs.iter().all(|&(tail, head)| y(tail) < y(head)), "{drawing:?}");
            assert_eq!(y(1), y(2));
        }
        // As many arcs as a tree has, but a cycle and a vertex without arcs.
        let cycle = [(0, 1), (1, 2), (2, 0)];
        assert!(tree_of(4, &cycle).is_none());
    }
}
