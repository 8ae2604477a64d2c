//! Drawings of directed acyclic graphs: in layers, or as a tree if the graph is a tree and its
//! boxes are larger in that drawing.
//!
//! In layers, a long chain such as a hidden Markov model is a diagonal of tiny boxes. The drawing
//! as a tree folds the chain into rows.

use eframe::egui::{Pos2, Vec2};

use super::tree::{self, TreeShape};
use super::{fit_scale, layered};

/// A tree is drawn as a tree only if its boxes are then at least this many times as wide as in
/// layers. Otherwise layers are preferred, because all their arcs point down. Chosen by eye.
const MIN_GAIN: f32 = 1.35;

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
    let layers = layered::draw(sizes, arcs, aspect);
    if let Some(tree) = tree_of(sizes.len(), arcs) {
        let mut drawing = tree::draw(&tree, sizes);
        let scale_of_layers = fit_scale(layers.bounds.size(), aspect);
        if fit_scale(drawing.bounds.size(), aspect) >= MIN_GAIN * scale_of_layers {
            let line = |&(_, head): &(usize, usize)| std::mem::take(&mut drawing.links[head]);
            let arc_lines = arcs.iter().map(line).collect();
            return DirectedDrawing { centres: drawing.centres, arc_lines };
        }
    }
    DirectedDrawing { centres: layers.centres, arc_lines: layers.arc_lines }
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
    use crate::app::layout::bounds;

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

    #[test]
    fn graphs_that_are_no_trees_and_small_trees_are_drawn_in_layers() {
        let small = vec![vec2(60.0, 30.0); 4];
        for arcs in [&[(0, 1), (0, 2), (1, 3), (2, 3)][..], &[(0, 1), (0, 2), (1, 3)]] {
            let drawing = draw(&small, arcs, 1.5);
            assert_eq!(drawing.centres, layered::draw(&small, arcs, 1.5).centres);
        }
        // As many arcs as a tree has, but a cycle and a vertex without arcs.
        let cycle = [(0, 1), (1, 2), (2, 0)];
        assert!(tree_of(4, &cycle).is_none());
    }
}
