//! The layer of each vertex.

/// The layer of every vertex of a graph with `n` vertices: above the layers of its successors, with
/// at most `max_width` vertices per layer.
///
/// List scheduling, similar to Coffman and Graham (1972): among the vertices whose predecessors are
/// all placed, each layer takes the ones with the longest paths below them. After that, a vertex
/// moves down toward its successors if this shortens its arcs in total and a layer has room.
/// Vertices on or below a cycle stay on layer 0 and do not count toward its width.
pub(super) fn layers(n: usize, arcs: &[(usize, usize)], max_width: usize) -> Vec<usize> {
    let mut above = vec![Vec::new(); n];
    let mut below = vec![Vec::new(); n];
    for &(tail, head) in arcs {
        below[tail].push(head);
        above[head].push(tail);
    }
    let order = topological(&above, &below);
    let mut height = vec![0_usize; n];
    for &vertex in order.iter().rev() {
        height[vertex] = below[vertex].iter().map(|&head| height[head] + 1).max().unwrap_or(0);
    }
    let mut layer_of = vec![0; n];
    let mut used: Vec<usize> = Vec::new();
    let mut unplaced_parents: Vec<usize> = above.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..n).filter(|&vertex| unplaced_parents[vertex] == 0).collect();
    while !ready.is_empty() {
        ready.sort_by_key(|&vertex| (std::cmp::Reverse(height[vertex]), vertex));
        let rest = ready.split_off(ready.len().min(max_width));
        for &vertex in &ready {
            layer_of[vertex] = used.len();
            for &head in &below[vertex] {
                unplaced_parents[head] -= 1;
            }
        }
        let successors = ready.iter().flat_map(|&vertex| &below[vertex]).copied();
        let mut next: Vec<usize> = successors.filter(|&head| unplaced_parents[head] == 0).collect();
        next.sort_unstable();
        next.dedup();
        next.extend(rest);
        used.push(ready.len());
        ready = next;
    }
    for &vertex in order.iter().rev() {
        let Some(nearest) = below[vertex].iter().map(|&head| layer_of[head]).min() else {
            continue;
        };
        // Moving down lengthens the arcs from above and shortens the arcs to below.
        if above[vertex].len() >= below[vertex].len() || nearest == 0 {
            continue;
        }
        let from = layer_of[vertex];
        if let Some(to) = (from + 1..nearest).rev().find(|&layer| used[layer] < max_width) {
            used[from] -= 1;
            used[to] += 1;
            layer_of[vertex] = to;
        }
    }
    without_gaps(layer_of, &used)
}

/// Renumbers the layers, leaving out those on which `used` counts no vertices. If `used` is empty,
/// all vertices are on layer 0.
fn without_gaps(layer_of: Vec<usize>, used: &[usize]) -> Vec<usize> {
    let mut number = 0;
    let numbers: Vec<usize> = used
        .iter()
        .map(|&vertices| {
            number += usize::from(vertices > 0);
            number.saturating_sub(1)
        })
        .collect();
    layer_of.into_iter().map(|layer| numbers.get(layer).copied().unwrap_or(0)).collect()
}

/// The vertices in topological order. Vertices on a cycle or below one are left out.
fn topological(above: &[Vec<usize>], below: &[Vec<usize>]) -> Vec<usize> {
    let mut unvisited_parents: Vec<usize> = above.iter().map(Vec::len).collect();
    let mut order: Vec<usize> =
        (0..above.len()).filter(|&vertex| unvisited_parents[vertex] == 0).collect();
    let mut next = 0;
    while let Some(&vertex) = order.get(next) {
        for &head in &below[vertex] {
            unvisited_parents[head] -= 1;
            if unvisited_parents[head] == 0 {
                order.push(head);
            }
        }
        next += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_placed_just_above_its_successor() {
        // 0 -> 1 -> 2 -> 3 and 4 -> 3.
        assert_eq!(layers(5, &[(0, 1), (1, 2), (2, 3), (4, 3)], 10), [0, 1, 2, 3, 2]);
    }

    #[test]
    fn vertices_on_or_below_a_cycle_are_on_the_first_layer() {
        assert_eq!(layers(3, &[(0, 1), (1, 2), (2, 0)], 10), [0; 3]);
        // 0 -> 1 -> 2, and the cycle 3 -> 4 -> 3 with the arc 4 -> 5.
        let arcs = [(0, 1), (1, 2), (3, 4), (4, 3), (4, 5)];
        assert_eq!(layers(6, &arcs, 10), [0, 1, 2, 0, 0, 0]);
    }

    #[test]
    fn no_layer_exceeds_the_maximum_width() {
        let arcs: Vec<(usize, usize)> = (1..50).map(|head| (0, head)).collect();
        let layers = layers(50, &arcs, 7);
        let last = *layers.iter().max().unwrap();
        for layer in 0..=last {
            assert!(layers.iter().filter(|&&l| l == layer).count() <= 7);
        }
        assert_eq!(last, 7);
    }
}
