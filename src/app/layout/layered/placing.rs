//! The x coordinates of vertices.

use crate::app::layout::layered::Layered;

/// Number of sweeps, alternately down and up. More sweeps change little.
const SWEEPS: usize = 10;

/// Weight of an arc segment between two dummies relative to other segments; keeps long arcs
/// straight.
const DUMMY_WEIGHT: f32 = 6.0;

/// The x coordinate of every vertex, dummies included.
///
/// In each sweep, the vertices of every layer move as close as possible to the weighted mean
/// positions of their neighbours. The last two sweeps use the neighbours on both sides, all others
/// only those on the layer visited before. Vertices keep their order and do not overlap. For one
/// layer this is a least squares problem with a chain of inequalities, which [`solve`] solves
/// exactly.
pub(super) fn x_coordinates(graph: &Layered) -> Vec<f32> {
    let mut x = vec![0.0; graph.layer_of.len()];
    for order in &graph.layers {
        let total: f32 = order.iter().map(|&vertex| graph.width[vertex]).sum();
        let mut left = -total / 2.0;
        for &vertex in order {
            x[vertex] = left + graph.width[vertex] / 2.0;
            left += graph.width[vertex];
        }
    }
    let count = graph.layers.len();
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        for step in 0..count {
            let layer = if down { step } else { count - 1 - step };
            // The last two sweeps use the neighbours above and those below, so that neither side
            // is favoured.
            place_layer(graph, layer, &mut x, sweep + 2 >= SWEEPS, down);
        }
    }
    x
}

/// Moves the vertices of `layer` toward their neighbours above (if `down`), below (if not `down`),
/// or on both sides (if `both_ways`).
fn place_layer(graph: &Layered, layer: usize, x: &mut [f32], both_ways: bool, down: bool) {
    let order = &graph.layers[layer];
    let goals: Vec<Goal> = order
        .iter()
        .map(|&vertex| {
            let (mut sum, mut weight) = (0.0, 0.0);
            let mut pull = |neighbours: &[usize]| {
                for &neighbour in neighbours {
                    let both = graph.is_dummy(vertex) && graph.is_dummy(neighbour);
                    let strength = if both { DUMMY_WEIGHT } else { 1.0 };
                    sum += strength * x[neighbour];
                    weight += strength;
                }
            };
            if down || both_ways {
                pull(&graph.above[vertex]);
            }
            if !down || both_ways {
                pull(&graph.below[vertex]);
            }
            // A vertex without neighbours stays where it is, but its weight is so low that others
            // can push it away.
            let (position, weight) =
                if weight > 0.0 { (sum / weight, weight) } else { (x[vertex], 0.05) };
            Goal { position, weight, width: graph.width[vertex] }
        })
        .collect();
    for (&vertex, position) in order.iter().zip(solve(&goals)) {
        x[vertex] = position;
    }
}

/// The position that a vertex would have if it were alone on its layer.
struct Goal {
    position: f32,
    /// Weight of the squared distance from `position`.
    weight: f32,
    /// Width of the vertex, including the gap to its neighbours.
    width: f32,
}

/// The positions closest to the goals (weighted least squares) at which vertices do not overlap.
///
/// The offset of a vertex is its smallest possible distance from the first vertex. After
/// subtracting the offsets this is isotonic regression, solved in O(n) by the pool adjacent
/// violators algorithm (Barlow et al., 1972).
fn solve(goals: &[Goal]) -> Vec<f32> {
    /// A run of vertices that touch: the weighted mean of their goals less their offsets, their
    /// total weight, and their number.
    struct Block {
        mean: f32,
        weight: f32,
        count: usize,
    }
    let mut offsets = Vec::with_capacity(goals.len());
    let mut offset = 0.0;
    let mut blocks: Vec<Block> = Vec::new();
    for (index, goal) in goals.iter().enumerate() {
        if index > 0 {
            offset += (goals[index - 1].width + goal.width) / 2.0;
        }
        offsets.push(offset);
        let mut block = Block { mean: goal.position - offset, weight: goal.weight, count: 1 };
        while let Some(before) = blocks.pop_if(|before| before.mean > block.mean) {
            let weight = before.weight + block.weight;
            block.mean = (before.mean * before.weight + block.mean * block.weight) / weight;
            block.weight = weight;
            block.count += before.count;
        }
        blocks.push(block);
    }
    let means = blocks.iter().flat_map(|block| std::iter::repeat_n(block.mean, block.count));
    means.zip(offsets).map(|(mean, offset)| mean + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(position: f32) -> Goal {
        Goal { position, weight: 1.0, width: 10.0 }
    }

    #[test]
    fn goals_that_do_not_overlap_are_met() {
        assert_eq!(solve(&[goal(0.0), goal(10.0), goal(50.0)]), [0.0, 10.0, 50.0]);
    }

    #[test]
    fn vertices_with_the_same_goal_are_centred_on_it() {
        assert_eq!(solve(&[goal(5.0), goal(5.0), goal(5.0), goal(90.0)]), [-5.0, 5.0, 15.0, 90.0]);
    }
}
