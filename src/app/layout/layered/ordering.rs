//! The order of the vertices within each layer.

use crate::app::layout::layered::Layered;

/// Maximum number of sweeps, alternately down and up. More sweeps change little.
const MAX_SWEEPS: usize = 12;

/// Minimum number of sweeps. Even if no arcs cross, sweeps move dummies to the middle of their
/// siblings.
const MIN_SWEEPS: usize = 4;

/// Orders every layer so that few arcs cross, by the barycentre method: sweeps down and up sort the
/// vertices of each layer by the mean position of their neighbours on the layer visited before. Of
/// the orders before and after each sweep, one with the fewest crossings is used.
pub(super) fn reduce_crossings(graph: &mut Layered) {
    initial_order(graph);
    let mut best = (crossings(graph), graph.layers.clone());
    for sweep in 0..MAX_SWEEPS {
        let down = sweep % 2 == 0;
        let count = graph.layers.len();
        for step in 1..count {
            let layer = if down { step } else { count - 1 - step };
            sort_layer(graph, layer, down);
        }
        let crossings = crossings(graph);
        // Among equally good orders, later ones have dummies closer to the middle.
        if crossings <= best.0 {
            best = (crossings, graph.layers.clone());
        }
        if crossings == 0 && sweep + 1 >= MIN_SWEEPS {
            break;
        }
    }
    for (layer, order) in best.1.into_iter().enumerate() {
        graph.set_order(layer, order);
    }
}

/// Sets an initial order by depth-first search from the top, so that connected vertices are close.
fn initial_order(graph: &mut Layered) {
    let n = graph.layer_of.len();
    graph.layers = vec![Vec::new(); graph.layer_of.iter().max().map_or(0, |last| last + 1)];
    graph.position = vec![0; n];
    let mut visited = vec![false; n];
    let mut roots: Vec<usize> = (0..n).filter(|&vertex| graph.above[vertex].is_empty()).collect();
    roots.sort_by_key(|&vertex| graph.layer_of[vertex]);
    for root in roots {
        let mut stack = vec![root];
        while let Some(vertex) = stack.pop() {
            if std::mem::replace(&mut visited[vertex], true) {
                continue;
            }
            let layer = &mut graph.layers[graph.layer_of[vertex]];
            graph.position[vertex] = layer.len();
            layer.push(vertex);
            stack.extend(graph.below[vertex].iter().rev());
        }
    }
}

/// Sorts the vertices of `layer` by the mean position of their neighbours on the layer above, or on
/// the layer below if not `by_above`. Vertices without neighbours keep their relative position.
fn sort_layer(graph: &mut Layered, layer: usize, by_above: bool) {
    let neighbours = if by_above { &graph.above } else { &graph.below };
    let order = &graph.layers[layer];
    let towards = if by_above { layer - 1 } else { layer + 1 };
    let scale = graph.layers[towards].len() as f32 / order.len().max(1) as f32;
    let mut keyed: Vec<(f32, usize)> = order
        .iter()
        .enumerate()
        .map(|(position, &vertex)| {
            let neighbours = &neighbours[vertex];
            let sum: usize = neighbours.iter().map(|&neighbour| graph.position[neighbour]).sum();
            let mean = match neighbours.len() {
                0 => position as f32 * scale,
                count => sum as f32 / count as f32,
            };
            (mean, vertex)
        })
        .collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut order = Vec::with_capacity(keyed.len());
    for tied in keyed.chunk_by(|a, b| a.0 == b.0) {
        // Dummies go to the middle of their siblings, so that long arcs run straight.
        let (dummies, real): (Vec<usize>, Vec<usize>) =
            tied.iter().map(|&(_, vertex)| vertex).partition(|&vertex| graph.is_dummy(vertex));
        let (left, right) = real.split_at(real.len() / 2);
        order.extend(left.iter().chain(&dummies).chain(right));
    }
    graph.set_order(layer, order);
}

/// Number of pairs of arcs that cross. Between two layers these are the inversions in the sequence
/// of lower ends, ordered by upper end.
///
/// # Complexity
/// O(n + m log n) for m arcs and n vertices.
fn crossings(graph: &Layered) -> usize {
    let mut count = 0;
    let mut ends = Vec::new();
    for (layer, order) in graph.layers.iter().enumerate() {
        let Some(lower) = graph.layers.get(layer + 1) else { break };
        // A Fenwick tree counts the lower ends seen so far at each position.
        let mut tree = vec![0_usize; lower.len() + 1];
        let mut seen = 0;
        for &vertex in order {
            ends.clear();
            ends.extend(graph.below[vertex].iter().map(|&head| graph.position[head]));
            ends.sort_unstable();
            for &end in &ends {
                let mut index = end + 1;
                let mut at_most = 0;
                while index > 0 {
                    at_most += tree[index];
                    index &= index - 1;
                }
                count += seen - at_most;
            }
            for &end in &ends {
                let mut index = end + 1;
                while index < tree.len() {
                    tree[index] += 1;
                    index += index & index.wrapping_neg();
                }
            }
            seen += ends.len();
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::Vec2;

    fn two_layers(arcs: &[(usize, usize)]) -> Layered {
        Layered::new(&[Vec2::splat(10.0); 6], arcs, &[0, 0, 0, 1, 1, 1])
    }

    #[test]
    fn crossings_are_counted() {
        let mut graph = two_layers(&[(0, 5), (1, 4), (2, 3), (0, 3)]);
        graph.layers = vec![Vec::new(); 2];
        graph.position = vec![0; 6];
        graph.set_order(0, vec![0, 1, 2]);
        graph.set_order(1, vec![3, 4, 5]);
        assert_eq!(crossings(&graph), 3);
    }

    #[test]
    fn a_graph_that_needs_no_crossings_is_ordered_without_crossings() {
        let mut graph = two_layers(&[(0, 5), (1, 4), (2, 3), (0, 4)]);
        reduce_crossings(&mut graph);
        assert_eq!(crossings(&graph), 0);
    }
}
