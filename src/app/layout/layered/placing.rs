//! Where on its layer a vertex stands.

use crate::app::layout::layered::Layered;

/// Sweeps down and up.
const SWEEPS: usize = 10;

/// How much more a stand-in pulls than a vertex, which keeps long arcs straight.
const STRAIGHT: f32 = 6.0;

/// The x coordinate of every vertex and stand-in.
///
/// Sweep after sweep every layer moves as close as it can to the means of the neighbours on the
/// layer before, with the order and the widths kept: for one layer that is a least squares problem
/// with a chain of inequalities, which [`settle`] solves exactly.
pub(super) fn places(graph: &Layered) -> Vec<f32> {
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
            // The last two sweeps look both ways, so that neither end is favoured.
            place_layer(graph, layer, &mut x, sweep + 2 >= SWEEPS, down);
        }
    }
    x
}

fn place_layer(graph: &Layered, layer: usize, x: &mut [f32], both_ways: bool, down: bool) {
    let order = &graph.layers[layer];
    let wishes: Vec<Wish> = order
        .iter()
        .map(|&vertex| {
            let (mut sum, mut weight) = (0.0, 0.0);
            let mut pull = |neighbours: &[usize]| {
                for &neighbour in neighbours {
                    let both = !graph.is_given(vertex) && !graph.is_given(neighbour);
                    let strength = if both { STRAIGHT } else { 1.0 };
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
            // Without neighbours a vertex would rather stay, but gives way.
            let (place, weight) =
                if weight > 0.0 { (sum / weight, weight) } else { (x[vertex], 0.05) };
            Wish { place, weight, width: graph.width[vertex] }
        })
        .collect();
    for (&vertex, place) in order.iter().zip(settle(&wishes)) {
        x[vertex] = place;
    }
}

/// Where one vertex wants to be.
struct Wish {
    place: f32,
    weight: f32,
    width: f32,
}

/// The places closest to the wishes (weighted least squares) at which neighbours do not overlap.
///
/// Without the widths this is isotonic regression, solved in O(n) by pooling adjacent violators
/// (Barlow et al., 1972).
fn settle(wishes: &[Wish]) -> Vec<f32> {
    /// Vertices that touch: mean wish, weight, how many.
    struct Block {
        mean: f32,
        weight: f32,
        count: usize,
    }
    let mut offsets = Vec::with_capacity(wishes.len());
    let mut offset = 0.0;
    let mut blocks: Vec<Block> = Vec::new();
    for (index, wish) in wishes.iter().enumerate() {
        if index > 0 {
            offset += (wishes[index - 1].width + wish.width) / 2.0;
        }
        offsets.push(offset);
        let mut block = Block { mean: wish.place - offset, weight: wish.weight, count: 1 };
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

    fn wish(place: f32) -> Wish {
        Wish { place, weight: 1.0, width: 10.0 }
    }

    #[test]
    fn wishes_that_fit_are_granted() {
        assert_eq!(settle(&[wish(0.0), wish(10.0), wish(50.0)]), [0.0, 10.0, 50.0]);
    }

    #[test]
    fn those_that_want_one_place_share_it_around_its_middle() {
        assert_eq!(settle(&[wish(5.0), wish(5.0), wish(5.0), wish(90.0)]), [-5.0, 5.0, 15.0, 90.0]);
    }
}
