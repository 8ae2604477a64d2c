//! Layered drawings of directed acyclic graphs, as in Sugiyama, Tagawa and Toda ("Methods for
//! visual understanding of hierarchical system structures", 1981): vertices are assigned to layers,
//! the vertices of each layer are ordered so that few arcs cross, and then every vertex gets its x
//! coordinate.

mod ordering;
mod placing;
mod ranking;

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use crate::app::layout::{bounds, s_curve};

/// Gap between neighbours on a layer, in points.
const GAP: f32 = 18.0;

/// Gap between layers, in points.
const LAYER_GAP: f32 = 46.0;

/// Width of a dummy vertex in points: the room for an arc that passes through a layer.
const DUMMY_WIDTH: f32 = 7.0;

/// Maximum number of times that the graph is drawn again with another layer width, to approach the
/// requested aspect ratio. Each time takes as long as the first drawing.
const MAX_CORRECTIONS: usize = 3;

/// Minimum number of vertices for the aspect ratio to be corrected. A smaller graph is easy to read
/// in any shape.
const MIN_CORRECTED: usize = 60;

/// Maximum number of dummies that all lines together pass. In a graph with more, every line goes
/// directly to its head, because lines past that many dummies would take hundreds of megabytes.
const MAX_PASSED: usize = 1 << 20;

/// Maximum number of dummies. In a graph that needs more, arcs that pass many layers have none, and
/// go directly to their heads. A dummy takes about 150 bytes, so all of them take some 40 MB.
const MAX_DUMMIES: usize = 1 << 18;

/// A drawn directed graph.
#[derive(Clone, Debug)]
pub struct LayeredDrawing {
    /// The centre of every vertex.
    pub centres: Vec<Pos2>,
    /// The line of every arc, from the bottom of its tail to the top of its head. Where a line
    /// crosses a layer, it runs straight down between vertices. In very large graphs, some lines or
    /// all of them go directly to their heads.
    pub arc_lines: Vec<Vec<Pos2>>,
    /// The smallest rectangle around all vertices.
    pub bounds: Rect,
}

/// Draws a directed acyclic graph with vertices of `sizes` and arcs pointing down. The drawing of a
/// large graph is about `aspect` times as wide as it is high if the arcs allow this.
///
/// `arcs` are pairs of tail and head. `aspect` is limited to the range from 0.5 to 4. If there is a
/// directed cycle, the vertices on it and below it are drawn in the top layer.
///
/// # Panics
/// If an arc refers to a vertex that does not exist.
///
/// # Complexity
/// O(l n log n + k (n + m) log (n + m)) for n vertices, l layers, m arc segments between
/// neighbouring layers, and k sweeps over the layers.
#[must_use]
pub fn draw(sizes: &[Vec2], arcs: &[(usize, usize)], aspect: f32) -> LayeredDrawing {
    let aspect = aspect.clamp(0.5, 4.0);
    let mut max_width = max_layer_width(sizes, aspect);
    let mut drawing = draw_within(sizes, arcs, max_width as usize);
    // The room that the arcs need is known only after drawing.
    for _ in 0..MAX_CORRECTIONS {
        let correction = aspect * drawing.bounds.height() / drawing.bounds.width();
        // A drawing whose aspect ratio is off by less than about a third is good enough.
        if sizes.len() < MIN_CORRECTED || (0.75..1.35).contains(&correction) {
            break;
        }
        max_width = (max_width * correction.sqrt()).max(3.0);
        drawing = draw_within(sizes, arcs, max_width as usize);
    }
    drawing
}

/// Draws with at most `max_width` vertices per layer.
fn draw_within(sizes: &[Vec2], arcs: &[(usize, usize)], max_width: usize) -> LayeredDrawing {
    let layer_of = ranking::layers(sizes.len(), arcs, max_width);
    let mut layered = Layered::new(sizes, arcs, &layer_of);
    ordering::reduce_crossings(&mut layered);
    let x = placing::x_coordinates(&layered);
    let bands = layer_bands(sizes, &layer_of);
    let middle = |vertex: usize| {
        let (top, bottom) = bands[layered.layer_of[vertex]];
        pos2(x[vertex], (top + bottom) / 2.0)
    };
    let centres: Vec<Pos2> = (0..sizes.len()).map(middle).collect();
    let passed: usize = layered.chains.iter().map(ExactSizeIterator::len).sum();
    let arc_line = |(&(tail, head), chain): (&(usize, usize), &std::ops::Range<usize>)| {
        let half = |vertex: usize| Vec2::new(0.0, sizes[vertex].y / 2.0);
        let mut line = vec![centres[tail] + half(tail)];
        for dummy in chain.clone().filter(|_| passed <= MAX_PASSED) {
            let (top, bottom) = bands[layered.layer_of[dummy]];
            curve_to(&mut line, pos2(x[dummy], top));
            line.push(pos2(x[dummy], bottom));
        }
        curve_to(&mut line, centres[head] - half(head));
        line
    };
    let arc_lines = arcs.iter().zip(&layered.chains).map(arc_line).collect();
    LayeredDrawing { bounds: bounds(&centres, sizes), centres, arc_lines }
}

/// Extends `line` to `to`, straight down or by a curve.
fn curve_to(line: &mut Vec<Pos2>, to: Pos2) {
    let from = line[line.len() - 1];
    if (from.x - to.x).abs() < 1.0 {
        line.push(to);
    } else {
        line.extend(s_curve(from, to, Vec2::DOWN).into_iter().skip(1));
    }
}

/// The number of vertices per layer at which the picture would be `aspect` times as wide as high if
/// every layer were full and arcs took no room; at least 3.
fn max_layer_width(sizes: &[Vec2], aspect: f32) -> f32 {
    let n = sizes.len().max(1) as f32;
    let mean = sizes.iter().fold(Vec2::ZERO, |sum, &size| sum + size) / n;
    let cell = mean + Vec2::new(GAP, LAYER_GAP);
    let full = (n * aspect * cell.y / cell.x).sqrt();
    full.ceil().max(3.0)
}

/// The y coordinates of the top and the bottom of every layer.
fn layer_bands(sizes: &[Vec2], layer_of: &[usize]) -> Vec<(f32, f32)> {
    let mut heights = vec![0.0_f32; layer_of.iter().max().map_or(0, |last| last + 1)];
    for (size, &layer) in sizes.iter().zip(layer_of) {
        heights[layer] = heights[layer].max(size.y);
    }
    let mut top = 0.0;
    let band = |height: f32| {
        let band = (top, top + height);
        top += height + LAYER_GAP;
        band
    };
    heights.into_iter().map(band).collect()
}

/// A graph whose arcs all connect neighbouring layers: longer arcs are split, with a dummy vertex
/// on every layer between their ends, or left out if there would be more than [`MAX_DUMMIES`].
struct Layered {
    /// The layer of every vertex: first the vertices of the graph, then the dummies.
    layer_of: Vec<usize>,
    /// The width of every vertex on its layer, including the gap to its neighbours.
    width: Vec<f32>,
    /// Number of vertices of the graph; vertices from this index on are dummies.
    real_count: usize,
    /// The vertices of every layer, from left to right. Filled by [`ordering`].
    layers: Vec<Vec<usize>>,
    /// The index of every vertex within its layer. Filled by [`ordering`].
    position: Vec<usize>,
    /// Neighbours on the layer above.
    above: Vec<Vec<usize>>,
    /// Neighbours on the layer below.
    below: Vec<Vec<usize>>,
    /// The dummies of every arc, from tail to head. Arcs with the same tail share dummies. Empty
    /// for an arc that does not point down, which only a cycle causes, or that is left out.
    chains: Vec<std::ops::Range<usize>>,
}

impl Layered {
    /// Splits long arcs by dummies. `layer_of` gives the layer of each vertex. The vertices of a
    /// layer are not ordered yet.
    fn new(sizes: &[Vec2], arcs: &[(usize, usize)], layer_of: &[usize]) -> Self {
        let mut layered = Self {
            layer_of: layer_of.to_vec(),
            width: sizes.iter().map(|size| size.x + GAP).collect(),
            real_count: sizes.len(),
            layers: Vec::new(),
            position: Vec::new(),
            above: vec![Vec::new(); sizes.len()],
            below: vec![Vec::new(); sizes.len()],
            chains: Vec::with_capacity(arcs.len()),
        };
        // Each tail has one chain of dummies, as long as its longest arc needs. All arcs of the
        // tail use the beginning of this chain, so that the picture has one vertical line per tail.
        let layers_between =
            |tail: usize, head: usize| layer_of[head].saturating_sub(layer_of[tail] + 1);
        let chain_lengths = |longest: usize| {
            let mut lengths = vec![0; sizes.len()];
            for &(tail, head) in arcs {
                let length = layers_between(tail, head);
                if length <= longest {
                    lengths[tail] = length.max(lengths[tail]);
                }
            }
            lengths
        };
        let mut longest = usize::MAX;
        let mut lengths = chain_lengths(longest);
        if lengths.iter().sum::<usize>() > MAX_DUMMIES {
            longest = MAX_DUMMIES / sizes.len();
            lengths = chain_lengths(longest);
        }
        let add_chain = |(tail, &length): (usize, &usize)| layered.add_chain(tail, length);
        let first_dummies: Vec<usize> = lengths.iter().enumerate().map(add_chain).collect();
        for &(tail, head) in arcs {
            let (first, length) = (first_dummies[tail], layers_between(tail, head));
            let is_direct = length > longest;
            let chain = first..first + if is_direct { 0 } else { length };
            if layer_of[tail] < layer_of[head] && !is_direct {
                layered.join(if chain.is_empty() { tail } else { chain.end - 1 }, head);
            }
            layered.chains.push(chain);
        }
        layered
    }

    /// Adds `length` dummies below `tail`, one on each layer. Returns the index of the first.
    fn add_chain(&mut self, tail: usize, length: usize) -> usize {
        let first = self.layer_of.len();
        for dummy in first..first + length {
            self.layer_of.push(self.layer_of[tail] + 1 + dummy - first);
            self.width.push(DUMMY_WIDTH);
            self.above.push(Vec::new());
            self.below.push(Vec::new());
            self.join(if dummy == first { tail } else { dummy - 1 }, dummy);
        }
        first
    }

    /// Connects `upper` with `lower`, a vertex on the layer below it.
    fn join(&mut self, upper: usize, lower: usize) {
        self.below[upper].push(lower);
        self.above[lower].push(upper);
    }

    /// Sets the order of the vertices of `layer`.
    fn set_order(&mut self, layer: usize, order: Vec<usize>) {
        for (position, &vertex) in order.iter().enumerate() {
            self.position[vertex] = position;
        }
        self.layers[layer] = order;
    }

    fn is_dummy(&self, vertex: usize) -> bool {
        vertex >= self.real_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pseudo-random graph with `n` vertices and about `1.5 n` arcs from smaller to larger
    /// indices.
    fn graph(n: usize, seed: usize) -> Vec<(usize, usize)> {
        let mut state = seed as u64 * 2 + 1;
        let mut next = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut arcs: Vec<(usize, usize)> = (1..n)
            .flat_map(|head| {
                let parents = next(4).min(head);
                (0..parents).map(|_| (head - 1 - next(head.min(40)), head)).collect::<Vec<_>>()
            })
            .collect();
        arcs.sort_unstable();
        arcs.dedup();
        arcs
    }

    fn sizes(n: usize) -> Vec<Vec2> {
        (0..n).map(|v| Vec2::new(50.0 + (v % 7) as f32 * 11.0, 30.0)).collect()
    }

    #[test]
    fn arcs_point_down_between_vertices_that_do_not_overlap() {
        for n in [0, 1, 2, 8, 40, 300] {
            let (sizes, arcs) = (sizes(n), graph(n, 5));
            let drawing = draw(&sizes, &arcs, 1.6);
            for (line, &(tail, head)) in drawing.arc_lines.iter().zip(&arcs) {
                let y: Vec<f32> = line.iter().map(|point| point.y).collect();
                assert!(y.windows(2).all(|pair| pair[0] < pair[1]), "{y:?}");
                assert!((line[0].x - drawing.centres[tail].x).abs() < 0.01);
                assert!((line[line.len() - 1].x - drawing.centres[head].x).abs() < 0.01);
            }
            let boxes: Vec<Rect> = (0..n)
                .map(|v| Rect::from_center_size(drawing.centres[v], sizes[v]).shrink(0.01))
                .collect();
            for (index, a) in boxes.iter().enumerate() {
                assert!(a.min.is_finite() && a.max.is_finite());
                assert!(boxes[..index].iter().all(|b| !a.intersects(*b)));
                let mut points = drawing.arc_lines.iter().flatten();
                let inside = a.shrink(0.1);
                assert!(
                    points.all(|point| !inside.contains(*point)),
                    "an arc passes through a vertex"
                );
            }
        }
    }

    #[test]
    fn long_arcs_that_would_need_too_many_dummies_have_none() {
        // A chain in which each vertex also points to the vertex half the chain further on.
        for (n, has_dummies) in [(800, true), (1200, false)] {
            let chain = (1..n).map(|head| (head - 1, head));
            let arcs: Vec<_> = chain.chain((n / 2..n).map(|head| (head - n / 2, head))).collect();
            let layers: Vec<usize> = (0..n).collect();
            let layered = Layered::new(&sizes(n), &arcs, &layers);
            assert_eq!(layered.layer_of.len() > n, has_dummies);
            assert!(layered.layer_of.len() <= n + MAX_DUMMIES);
        }
        let arcs: Vec<_> = (0..600).map(|tail| (tail, tail + 600)).collect();
        let chain: Vec<_> = (1..1200).map(|head| (head - 1, head)).chain(arcs).collect();
        let drawing = draw(&sizes(1200), &chain, 1.6);
        assert!(drawing.arc_lines.iter().all(|line| line.len() >= 2));
    }

    #[test]
    fn a_graph_whose_vertices_are_all_on_a_cycle_is_drawn_in_one_layer() {
        let drawing = draw(&sizes(3), &[(0, 1), (1, 2), (2, 0), (0, 0)], 1.6);
        assert_eq!((drawing.arc_lines.len(), drawing.bounds.height()), (4, 30.0));
        let mut x: Vec<f32> = drawing.centres.iter().map(|centre| centre.x).collect();
        x.sort_by(f32::total_cmp);
        assert!(x[1] - x[0] > 50.0 && x[2] - x[1] > 50.0, "{x:?}");
    }

    #[test]
    fn arcs_of_a_tree_between_the_same_two_layers_do_not_cross() {
        // A binary heap with shuffled vertex numbers: in numerical order, arcs would cross.
        let shuffled = |v: usize| v * 7 % 31;
        let arcs: Vec<(usize, usize)> =
            (1..31).map(|v| (shuffled((v - 1) / 2), shuffled(v))).collect();
        let drawing = draw(&sizes(31), &arcs, 4.0);
        for a in &arcs {
            for b in &arcs {
                let (from, to) = (drawing.centres[a.0], drawing.centres[a.1]);
                let (other_from, other_to) = (drawing.centres[b.0], drawing.centres[b.1]);
                if from.y == other_from.y && to.y == other_to.y {
                    assert!((from.x - other_from.x) * (to.x - other_to.x) >= 0.0, "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn chains_and_stars_of_100_000_vertices_are_drawn_on_a_small_stack() {
        const VERTICES: usize = 100_000;
        let sizes = vec![Vec2::new(40.0, 20.0); VERTICES];
        let tails: [fn(usize) -> usize; 2] = [|v| v - 1, |_| 0];
        let arcs = tails.map(|tail| (1..VERTICES).map(|v| (tail(v), v)).collect::<Vec<_>>());
        std::thread::scope(|scope| {
            let test = || {
                for arcs in &arcs {
                    let drawing = draw(&sizes, arcs, 1.6);
                    // The boxes alone cover 40 * 20 * 100,000 square points.
                    assert!(drawing.bounds.is_finite() && drawing.bounds.area() > 8e7);
                    let points: usize = drawing.arc_lines.iter().map(Vec::len).sum();
                    assert!(points < 30 * VERTICES, "{points}");
                }
            };
            let builder = std::thread::Builder::new().stack_size(256 << 10);
            builder.spawn_scoped(scope, test).unwrap().join().unwrap();
        });
    }

    #[test]
    fn a_wide_graph_is_folded_to_about_the_aspect_ratio() {
        // One cause of 999 effects: in two layers it would be about 950 times as wide as high.
        let arcs: Vec<(usize, usize)> = (1..1000).map(|effect| (0, effect)).collect();
        let drawing = draw(&sizes(1000), &arcs, 1.6);
        let aspect = drawing.bounds.width() / drawing.bounds.height();
        assert!((0.8..3.2).contains(&aspect), "{aspect}");
    }
}
