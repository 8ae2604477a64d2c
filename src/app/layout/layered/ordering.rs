//! In which order the vertices of a layer stand.

use crate::app::layout::layered::Layered;

/// Sweeps down and up; more change little.
const SWEEPS: usize = 12;

/// Gives every layer an order with few crossings: sweeping down and up, each layer is sorted by the
/// mean position of the neighbours on the layer before, and the best state seen is kept.
pub(super) fn reduce_crossings(graph: &mut Layered) {
    first_order(graph);
    let mut best = (crossings(graph), graph.layers.clone());
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let count = graph.layers.len();
        for step in 1..count {
            let layer = if down { step } else { count - 1 - step };
            sort_layer(graph, layer, down);
        }
        let crossings = crossings(graph);
        // Of two that are equally good the later one has its lanes in the middle.
        if crossings <= best.0 {
            best = (crossings, graph.layers.clone());
        }
        if crossings == 0 && sweep > 2 {
            break;
        }
    }
    for (layer, order) in best.1.into_iter().enumerate() {
        graph.set_order(layer, order);
    }
}

/// Depth-first from the top, so that what hangs together stands together.
fn first_order(graph: &mut Layered) {
    let n = graph.layer_of.len();
    graph.layers = vec![Vec::new(); graph.layer_of.iter().max().map_or(0, |last| last + 1)];
    graph.position = vec![0; n];
    let mut seen = vec![false; n];
    let mut roots: Vec<usize> = (0..n).filter(|&vertex| graph.above[vertex].is_empty()).collect();
    roots.sort_by_key(|&vertex| graph.layer_of[vertex]);
    for root in roots {
        let mut open = vec![root];
        while let Some(vertex) = open.pop() {
            if std::mem::replace(&mut seen[vertex], true) {
                continue;
            }
            let layer = &mut graph.layers[graph.layer_of[vertex]];
            graph.position[vertex] = layer.len();
            layer.push(vertex);
            open.extend(graph.below[vertex].iter().rev());
        }
    }
}

/// Sorts a layer by the mean position of its neighbours above (or below); a vertex without any
/// keeps its place among the others.
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
        // A lane that goes on below stands in the middle of its siblings, so that it goes straight.
        let (given, lanes): (Vec<usize>, Vec<usize>) =
            tied.iter().map(|&(_, vertex)| vertex).partition(|&vertex| graph.is_given(vertex));
        let (left, right) = given.split_at(given.len() / 2);
        order.extend(left.iter().chain(&lanes).chain(right));
    }
    graph.set_order(layer, order);
}

/// Number of pairs of arcs that cross, in O(m log n): per layer, inversions among the lower ends.
fn crossings(graph: &Layered) -> usize {
    let mut count = 0;
    let mut ends = Vec::new();
    for (layer, order) in graph.layers.iter().enumerate() {
        let Some(lower) = graph.layers.get(layer + 1) else { break };
        // A Fenwick tree counts the lower ends seen so far.
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
        Layered::cut(&[Vec2::splat(10.0); 6], arcs, &[0, 0, 0, 1, 1, 1])
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
    fn what_can_be_drawn_without_crossings_is() {
        let mut graph = two_layers(&[(0, 5), (1, 4), (2, 3), (0, 4)]);
        reduce_crossings(&mut graph);
        assert_eq!(crossings(&graph), 0);
    }
}
