//! The canvas: a graph, a camera, and the triangles of what was drawn last.

mod painting;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use eframe::egui::{self, Id, Pos2, Rect, Response, Sense, Ui};
use petgraph::stable_graph::{EdgeIndex, NodeIndex};

use super::camera::Camera;
use super::chunk::{CHUNK_SIZE, Chunk};
use super::edge::{EdgeShape, EdgeStyle};
use super::minimap::Minimap;
use super::node::NodeStyle;
use super::{Node, PlacedEdge, PlacedNode, ShapeGraph, edge_labels, edges_of, nodes_of};
use crate::app::layout;

/// Minimum zoom when a node is brought to the centre, so that its text can be read.
const READABLE_ZOOM: f32 = 0.9;

/// Time that nodes take to move to their new places, in seconds.
const MOVE_TIME: f64 = 0.35;

/// Width and height of the region for which items are drawn, as a multiple of the width and height
/// of the pane, unless the zoom changes. The pane is in the middle of a new region. With more,
/// drawing takes longer; with less, items are drawn again after the picture has been dragged a
/// shorter distance.
const DRAWN_REGION: f32 = 2.0;

/// The same while the zoom changes. With 1, labels of edges just outside the pane are missing at
/// its border.
const ZOOMED_REGION: f32 = 1.2;

/// A picture of a graph.
///
/// `K` holds everything that the styles depend on, except the graph and the theme. Styles are
/// computed again when this key, the graph or the theme changes.
pub struct GraphCanvas<K> {
    pub(super) graph: ShapeGraph,
    /// Nodes that are labelled even if they are small, most important first.
    labelled: Vec<usize>,
    pub(super) bounds: Rect,
    pub(super) camera: Camera,
    /// Where the camera glides to; `None` once it is there.
    pub(super) camera_goal: Option<Camera>,
    /// Whether the whole picture is shown and follows the size of the pane.
    pub(super) fitted: bool,
    /// Whether the camera jumps to its next goal, rather than gliding there.
    pub(super) jumps: bool,
    /// Where nodes come from, until they have moved to their places.
    motion: Option<Motion>,
    edge_chunks: Vec<Chunk>,
    /// Edges that are drawn above the others.
    top_edges: Chunk,
    node_chunks: Vec<Chunk>,
    map: Minimap,
    /// The zoom for which the labels of edges were placed; `None` if they must be placed again.
    labels_zoom: Option<f32>,
    /// What the triangles were made for; `None` if all must be made again.
    drawn: Option<DrawnState<K>>,
    /// The id of the widget in the last frame.
    pub(super) response_id: Option<Id>,
    /// Where the picture is on the screen, as of the last call of `interact`.
    pub(super) rect: Rect,
    made_chunk_count: u64,
}

/// Where nodes were before the graph was replaced.
struct Motion {
    from: Vec<Pos2>,
    /// When the motion began, in seconds on the clock of the window; `None` until the first frame.
    start: Option<f64>,
}

/// Everything that the triangles depend on.
struct DrawnState<K> {
    key: K,
    settings: RenderSettings,
    /// The part of the picture for which items were drawn.
    region: Rect,
}

/// Settings of a frame on which all triangles depend.
#[derive(Clone, Copy, PartialEq)]
struct RenderSettings {
    zoom: f32,
    pixels_per_point: f32,
    dark: bool,
    /// How full the font texture is, from 0 to 1. The share falls only when the toolkit starts a
    /// new texture, which makes all text invalid.
    atlas_fill: f32,
}

impl RenderSettings {
    /// Whether triangles made for `self` can be shown in a frame with the settings `now`.
    fn are_valid_for(&self, now: &Self) -> bool {
        *self == Self { atlas_fill: self.atlas_fill, ..*now } && now.atlas_fill >= self.atlas_fill
    }
}

impl<K: PartialEq> Default for GraphCanvas<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: PartialEq> GraphCanvas<K> {
    /// An empty picture.
    #[must_use]
    pub fn new() -> Self {
        Self {
            graph: ShapeGraph::new(),
            labelled: Vec::new(),
            bounds: layout::bounds(&[], &[]),
            camera: Camera::default(),
            camera_goal: None,
            fitted: true,
            jumps: true,
            motion: None,
            edge_chunks: Vec::new(),
            top_edges: Chunk::default(),
            node_chunks: Vec::new(),
            map: Minimap::default(),
            labels_zoom: None,
            drawn: None,
            response_id: None,
            rect: Rect::ZERO,
            made_chunk_count: 0,
        }
    }

    /// Replaces the graph. The camera stays where it is, unless the whole picture is shown: then it
    /// glides to show all of the new one. Nodes for which `origins` has a position move from there
    /// to their places.
    ///
    /// # Panics
    /// If an edge refers to a node that does not exist.
    pub fn set_graph(
        &mut self,
        nodes: Vec<PlacedNode>,
        edges: Vec<PlacedEdge>,
        origins: &[Option<Pos2>],
    ) {
        let node = |PlacedNode { centre, size, text }| Node {
            centre,
            size,
            text: Arc::new(text),
            style: NodeStyle::default(),
        };
        self.graph = ShapeGraph::new();
        for placed in nodes {
            self.graph.add_node_custom((), |added| {
                added.set_location(placed.centre);
                *added.display_mut() = node(placed);
            });
        }
        for placed in edges {
            let ends = (placed.from, placed.to);
            let [from, to] = [placed.from, placed.to].map(NodeIndex::new);
            self.graph.add_edge_custom(from, to, (), |added| {
                *added.display_mut() = EdgeShape::new(ends, placed.path, &placed.text);
            });
        }
        let boxes = nodes_of(&self.graph).map(Node::rect);
        self.bounds = boxes.reduce(Rect::union).unwrap_or_else(|| layout::bounds(&[], &[]));
        let origin_of = |(index, node): (usize, &Node)| {
            origins.get(index).copied().flatten().unwrap_or(node.centre)
        };
        let from: Vec<Pos2> = nodes_of(&self.graph).enumerate().map(origin_of).collect();
        let mut moves = from.iter().zip(nodes_of(&self.graph));
        let moves = moves.any(|(from, node)| *from != node.centre);
        self.motion = moves.then_some(Motion { from, start: None });
        let chunks = |count: usize| count.div_ceil(CHUNK_SIZE);
        self.node_chunks.clear();
        self.node_chunks.resize_with(chunks(self.graph.node_count()), Chunk::default);
        self.edge_chunks.clear();
        self.edge_chunks.resize_with(chunks(self.graph.edge_count()), Chunk::default);
        self.top_edges = Chunk::default();
        self.labelled.clear();
        self.labels_zoom = None;
        self.drawn = None;
    }

    /// The centre of each node, by a key that identifies it.
    #[must_use]
    pub fn centres<Q: Hash + Eq>(&self, keys: impl Iterator<Item = Q>) -> HashMap<Q, Pos2> {
        keys.zip(nodes_of(&self.graph)).map(|(key, node)| (key, node.centre)).collect()
    }

    /// Sets which nodes are labelled even if they are too small for text, most important first.
    pub fn set_labelled(&mut self, nodes: Vec<usize>) {
        self.labelled = nodes;
    }

    /// Shows the whole picture, also when the pane is resized, until the camera is moved.
    pub fn fit(&mut self) {
        self.fitted = true;
    }

    /// As [`fit`](Self::fit), but the camera jumps in the next frame rather than gliding.
    pub fn fit_at_once(&mut self) {
        self.fitted = true;
        self.jumps = true;
    }

    /// Glides to a view that is zoomed by `factor` around the centre of the pane.
    pub fn zoom_by(&mut self, factor: f32) {
        self.fitted = false;
        let mut goal = self.camera_goal.unwrap_or(self.camera);
        goal.zoom_at(self.rect, self.rect.center(), factor, self.bounds);
        self.camera_goal = Some(goal);
    }

    /// Glides to a view with a node at the centre, large enough to read its text.
    pub fn centre_on(&mut self, node: usize) {
        if let Some(node) = self.graph.node(NodeIndex::new(node)) {
            self.fitted = false;
            let mut goal = self.camera;
            goal.centre_on(node.display().centre, READABLE_ZOOM);
            self.camera_goal = Some(goal);
        }
    }

    /// Whether the centre of a node is in view.
    #[must_use]
    pub fn is_visible(&self, node: usize) -> bool {
        let in_view = |node: &Node| self.rect.contains(self.camera.to_pane(self.rect, node.centre));
        self.graph.node(NodeIndex::new(node)).is_some_and(|node| in_view(node.display()))
    }

    /// Whether the whole picture is shown and follows the size of its pane.
    #[must_use]
    pub fn is_fitted(&self) -> bool {
        self.fitted
    }

    /// Screen points per unit of the picture.
    #[must_use]
    pub fn zoom(&self) -> f32 {
        self.camera.zoom()
    }

    /// Number of chunks of triangles that have been made since the canvas was created.
    #[must_use]
    pub fn made_chunk_count(&self) -> u64 {
        self.made_chunk_count
    }

    /// Draws the picture into the rest of `ui`. `node_style` and `edge_style` are called with the
    /// index of every node and edge, but only if styles may have changed.
    pub fn draw(
        &mut self,
        ui: &mut Ui,
        key: K,
        node_style: impl FnMut(usize) -> NodeStyle,
        edge_style: impl FnMut(usize) -> EdgeStyle,
    ) -> Response {
        let rect = ui.available_rect_before_wrap();
        // The keyboard can do nothing here, so the Tab key skips the picture: `Sense::FOCUSABLE` is
        // missing.
        let (response, painter) = ui.allocate_painter(rect.size(), Sense::CLICK | Sense::DRAG);
        self.response_id = Some(response.id);
        let settings = RenderSettings {
            zoom: self.camera.zoom(),
            pixels_per_point: ui.pixels_per_point(),
            dark: ui.visuals().dark_mode,
            atlas_fill: ui.fonts(|fonts| fonts.font_atlas_fill_ratio()),
        };
        let progress = self.advance_motion(ui);
        let are_valid =
            self.drawn.as_ref().is_some_and(|drawn| drawn.settings.are_valid_for(&settings));
        if !are_valid || progress.is_some() {
            self.make_stale(|_| true);
        }
        let same_theme =
            self.drawn.as_ref().is_some_and(|drawn| drawn.settings.dark == settings.dark);
        if !same_theme || self.drawn.as_ref().is_none_or(|drawn| drawn.key != key) {
            self.restyle(node_style, edge_style);
        }
        // The part of the picture in the pane, enlarged by `scale`.
        let part = |scale: f32| {
            let half = rect.size() * scale / 2.0;
            let corner = |sign: f32| self.camera.to_picture(rect, rect.center() + half * sign);
            Rect::from_min_max(corner(-1.0), corner(1.0))
        };
        // The next step of the zoom makes all of this again, so little out of view is drawn.
        let is_zooming =
            self.drawn.as_ref().is_some_and(|drawn| drawn.settings.zoom != settings.zoom);
        let mut region = part(if is_zooming { ZOOMED_REGION } else { DRAWN_REGION });
        match &self.drawn {
            Some(drawn) if !is_zooming && drawn.region.contains_rect(part(1.0)) => {
                region = drawn.region
            }
            _ => self.make_stale(|chunk| !chunk.is_complete),
        }
        self.drawn = Some(DrawnState { key, settings, region });
        self.place_labels(settings.zoom);
        self.make_chunks(ui, &painter, rect, region, progress);
        self.paint(ui, &painter, rect);
        response
    }

    /// Places the labels of the edges for `zoom`, unless they are placed already or none is shown.
    /// Chunks are made again anyway when the zoom changes.
    fn place_labels(&mut self, zoom: f32) {
        let is_shown = |edge: &EdgeShape| zoom >= edge.style.label_zoom && edge.has_label();
        if self.labels_zoom == Some(zoom) || !edges_of(&self.graph).any(is_shown) {
            return;
        }
        self.labels_zoom = Some(zoom);
        let nodes: Vec<Rect> = nodes_of(&self.graph).map(Node::rect).collect();
        let edges: Vec<&EdgeShape> = edges_of(&self.graph).collect();
        let places = edge_labels::places(&nodes, &edges, zoom);
        for (index, place) in places.into_iter().enumerate() {
            if let Some(edge) = self.graph.edge_mut(EdgeIndex::new(index)) {
                edge.display_mut().label_place = place;
            }
        }
    }

    /// Marks as stale the chunks to which `which` applies.
    fn make_stale(&mut self, which: impl Fn(&Chunk) -> bool) {
        let chunks = self.edge_chunks.iter_mut().chain(&mut self.node_chunks);
        for chunk in chunks.chain([&mut self.top_edges]) {
            chunk.is_stale |= which(chunk);
        }
    }

    /// How far nodes have moved to their places, from 0 to 1; `None` if they are there. Requests
    /// the next frame while they move.
    fn advance_motion(&mut self, ui: &Ui) -> Option<f32> {
        let motion = self.motion.as_mut()?;
        let now = ui.input(|input| input.time);
        let share = ((now - *motion.start.get_or_insert(now)) / MOVE_TIME) as f32;
        if share >= 1.0 || ui.style().animation_time == 0.0 {
            self.motion = None;
            // This frame draws the final positions.
            return Some(1.0);
        }
        ui.ctx().request_repaint();
        Some(egui::emath::easing::cubic_out(share))
    }

    /// Computes all styles, and marks chunks with changed items as stale.
    fn restyle(
        &mut self,
        mut node_style: impl FnMut(usize) -> NodeStyle,
        mut edge_style: impl FnMut(usize) -> EdgeStyle,
    ) {
        for index in 0..self.graph.node_count() {
            let style = node_style(index);
            let Some(node) = self.graph.node_mut(NodeIndex::new(index)) else { continue };
            let node = node.display_mut();
            if style != node.style {
                if (style.fill, style.small_fill) != (node.style.fill, node.style.small_fill) {
                    self.map.forget();
                }
                node.style = style;
                self.node_chunks[index / CHUNK_SIZE].is_stale = true;
            }
        }
        for index in 0..self.graph.edge_count() {
            let style = edge_style(index);
            let Some(edge) = self.graph.edge_mut(EdgeIndex::new(index)) else { continue };
            let edge = edge.display_mut();
            if style != edge.style {
                self.top_edges.is_stale |= style.on_top || edge.style.on_top;
                edge.style = style;
                self.edge_chunks[index / CHUNK_SIZE].is_stale = true;
            }
        }
    }
}
