//! Making the triangles of a picture, and painting them.

use std::sync::Arc;

use eframe::egui::{Painter, Pos2, Rect, Shape, Ui, Vec2};
use petgraph::stable_graph::NodeIndex;

use super::GraphCanvas;
use crate::app::widgets::graph_view::chunk::{CHUNK_SIZE, ShapeTessellator, View};
use crate::app::widgets::graph_view::edge::EdgeShape;
use crate::app::widgets::graph_view::labels::{self, LabelColours};
use crate::app::widgets::graph_view::minimap::{self, MapColours};
use crate::app::widgets::graph_view::node::can_hold_text;
use crate::app::widgets::graph_view::{Node, edges_of, nodes_of};

/// Minimum width, in points, of the outline of a node that counts as highlighted, such as a
/// selected or hovered one. The root of a tree, which has a ring, always counts as highlighted.
const HIGHLIGHT_WIDTH: f32 = 2.0;

/// Maximum number of highlighted nodes that labels avoid. Labels may cover the others: if they
/// avoided many more nodes, they would find no place.
const MAX_UNCOVERED: usize = 12;

impl<K: PartialEq> GraphCanvas<K> {
    /// Where the origin of the picture is on the screen, in points, rounded to whole pixels so that
    /// moved text and lines stay sharp.
    fn origin(&self, rect: Rect, pixels_per_point: f32) -> Vec2 {
        let origin = rect.min.to_vec2() + self.camera.pan(rect.size());
        (origin * pixels_per_point).round() / pixels_per_point
    }

    /// Makes the stale chunks again, with at least the items in `region` of the picture. `progress`
    /// is the result of `advance_motion`.
    pub(super) fn make_chunks(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        rect: Rect,
        region: Rect,
        progress: Option<f32>,
    ) {
        let origin = self.origin(rect, ui.pixels_per_point());
        let zoom = self.camera.zoom();
        let corner = |point: Pos2| (point.to_vec2() * zoom + origin).to_pos2();
        let needed = Rect::from_min_max(corner(region.min), corner(region.max));
        let view = View { painter, zoom, origin, needed };
        let mut tessellator = ShapeTessellator::new(ui);
        let mut made = 0;
        let from = self.motion.as_ref().map(|motion| &motion.from).zip(progress);
        let (nodes, edges): (Vec<&Node>, Vec<&EdgeShape>) =
            (nodes_of(&self.graph).collect(), edges_of(&self.graph).collect());
        let centre = |index: usize| match from {
            Some((from, share)) => from[index].lerp(nodes[index].centre, share),
            None => nodes[index].centre,
        };
        let add_edge = |edge: &EdgeShape, shapes: &mut Vec<Shape>| {
            if from.is_none() {
                return edge.add_shapes(&view, shapes);
            }
            edge.add_straight(&view, centre(edge.ends.0), centre(edge.ends.1), shapes);
            true
        };
        let add_edges = |edges: &[&EdgeShape], on_top: bool, shapes: &mut Vec<Shape>| {
            let edges = edges.iter().filter(|edge| edge.style.on_top == on_top);
            let mut complete = true;
            for edge in edges {
                complete &= add_edge(edge, shapes);
            }
            complete
        };
        for (chunk, edges) in self.edge_chunks.iter_mut().zip(edges.chunks(CHUNK_SIZE)) {
            if chunk.is_stale {
                chunk.make(&view, &mut tessellator, |shapes| add_edges(edges, false, shapes));
                made += 1;
            }
        }
        if self.top_edges.is_stale {
            self.top_edges.make(&view, &mut tessellator, |shapes| add_edges(&edges, true, shapes));
            made += 1;
        }
        for (number, chunk) in self.node_chunks.iter_mut().enumerate() {
            if !chunk.is_stale {
                continue;
            }
            let first = number * CHUNK_SIZE;
            let last = (first + CHUNK_SIZE).min(nodes.len());
            chunk.make(&view, &mut tessellator, |shapes| {
                (first..last).fold(true, |complete, index| {
                    let node = nodes[index];
                    let drawn = match from {
                        None => node.add_shapes(&view, shapes),
                        Some(_) => node.at(centre(index)).add_shapes(&view, shapes),
                    };
                    drawn && complete
                })
            });
            made += 1;
        }
        self.made_chunk_count += made;
    }

    /// Paints the chunks, the labels of important nodes and the map.
    pub(super) fn paint(&mut self, ui: &Ui, painter: &Painter, rect: Rect) {
        let origin = self.origin(rect, ui.pixels_per_point());
        let chunks = self.edge_chunks.iter_mut().chain([&mut self.top_edges]);
        for chunk in chunks.chain(&mut self.node_chunks) {
            chunk.move_to(origin);
        }
        let edges = self.edge_chunks.iter().chain([&self.top_edges]);
        edges.clone().for_each(|chunk| chunk.paint_areas(painter));
        edges.for_each(|chunk| chunk.paint_texts(painter));
        self.node_chunks.iter().for_each(|chunk| chunk.paint_areas(painter));
        self.node_chunks.iter().for_each(|chunk| chunk.paint_texts(painter));
        let visuals = ui.visuals();
        if self.motion.is_none() {
            let colours = LabelColours {
                background: visuals.extreme_bg_color.gamma_multiply(0.9),
                ink: visuals.strong_text_color(),
                line: visuals.weak_text_color(),
            };
            let view = View { painter, zoom: self.camera.zoom(), origin, needed: rect };
            let nodes = self.labelled.iter().filter_map(|&node| {
                self.graph.node(NodeIndex::new(node)).map(egui_graphs::Node::display)
            });
            let is_highlighted = |node: &&Node| {
                node.style.outline.width >= HIGHLIGHT_WIDTH || node.style.ring.is_some()
            };
            let highlighted = nodes_of(&self.graph)
                .filter(is_highlighted)
                .map(|node| node.on_screen(&view))
                .filter(|node| rect.intersects(*node))
                .take(MAX_UNCOVERED);
            let texts: Vec<Rect> = if self.labelled.is_empty() {
                Vec::new()
            } else {
                let boxes = nodes_of(&self.graph).map(|node| node.on_screen(&view));
                let with_text = boxes.filter(|node| can_hold_text(*node) && rect.intersects(*node));
                with_text.take(labels::MAX_AVOIDED).collect()
            };
            labels::paint(painter, &view, rect, nodes, highlighted.collect(), &texts, colours);
        }
        if let Some(area) = minimap::area(rect, self.bounds, &self.camera) {
            let colours = MapColours {
                background: visuals.extreme_bg_color,
                line: visuals.weak_text_color(),
                frame: visuals.strong_text_color(),
            };
            let (places, view) = ((rect, area), (self.bounds, &self.camera));
            self.map.paint(painter, places, view, nodes_of(&self.graph), colours);
        }
    }
}

impl Node {
    /// The same node at another place.
    fn at(&self, centre: Pos2) -> Self {
        Self { centre, size: self.size, text: Arc::clone(&self.text), style: self.style.clone() }
    }
}
