//! The canvas: a graph, a camera, and the cached shapes of what was drawn last.

use std::sync::Arc;

use eframe::egui::{self, Id, Pos2, Rect, Response, Sense, Ui, Vec2};
use egui_graphs::{
    Graph, GraphView, Layout, LayoutState, MetadataFrame, SettingsInteraction, SettingsNavigation,
};
use petgraph::Directed;
use petgraph::stable_graph::{DefaultIx, EdgeIndex, NodeIndex};

use super::camera::Camera;
use super::edge::{EdgeShape, EdgeStyle};
use super::node::{NodeShape, NodeStyle};
use super::shape_cache::ShapeCache;
use super::{PlacedEdge, PlacedNode};

/// Minimum zoom when a node is brought to the centre, so that its text can be read.
const READABLE_ZOOM: f32 = 0.9;

type ShapeGraph = Graph<(), (), Directed, DefaultIx, NodeShape, EdgeShape>;

/// A picture of a graph.
///
/// `K` holds everything that the styles depend on, except the graph and the theme. The picture is
/// redrawn when this key, the graph, the camera, the pane or the theme changes.
pub struct GraphCanvas<K> {
    name: &'static str,
    pub(super) graph: ShapeGraph,
    pub(super) bounds: Rect,
    pub(super) camera: Camera,
    /// Whether the whole picture is shown and follows the size of the pane.
    pub(super) fitted: bool,
    /// Points at the bottom of the pane that a fitted picture does not use.
    pub(super) bottom_margin: f32,
    shape_cache: ShapeCache,
    /// What the cached shapes show; `None` if the next frame must be redrawn in any case.
    drawn: Option<DrawnState<K>>,
    /// The id of the widget in the last frame.
    pub(super) response_id: Option<Id>,
    /// Where the picture is on the screen, as of the last call of `interact`.
    pub(super) rect: Rect,
    /// The top left corner of the widget when the picture was last redrawn.
    last_corner: Pos2,
    redraw_count: u64,
}

/// Everything that the cached shapes depend on.
#[derive(PartialEq)]
struct DrawnState<K> {
    key: K,
    camera: Camera,
    rect: Rect,
    clip: Rect,
    layer: egui::LayerId,
    pixels_per_point: f32,
    dark: bool,
    opacity: f32,
}

impl<K: PartialEq> GraphCanvas<K> {
    /// An empty picture. `name` is unique in the window.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            graph: ShapeGraph::new(),
            bounds: Rect::from_center_size(Pos2::ZERO, Vec2::splat(1.0)),
            camera: Camera::default(),
            fitted: true,
            bottom_margin: 0.0,
            shape_cache: ShapeCache::default(),
            drawn: None,
            response_id: None,
            rect: Rect::ZERO,
            last_corner: Pos2::ZERO,
            redraw_count: 0,
        }
    }

    /// Replaces the graph. The camera stays where it is.
    ///
    /// # Panics
    /// If an edge refers to a node that does not exist.
    pub fn set_graph(&mut self, nodes: Vec<PlacedNode>, edges: Vec<PlacedEdge>) {
        let boxes = nodes.iter().map(|node| Rect::from_center_size(node.centre, node.size));
        self.bounds = boxes
            .reduce(Rect::union)
            .unwrap_or_else(|| Rect::from_center_size(Pos2::ZERO, Vec2::splat(1.0)));
        self.graph = ShapeGraph::new();
        let indices: Vec<NodeIndex> = nodes
            .into_iter()
            .map(|placed| {
                self.graph.add_node_custom((), |node| {
                    node.set_location(placed.centre);
                    let props = node.props().clone();
                    let shape = node.display_mut();
                    *shape = NodeShape::from(props);
                    shape.size = placed.size;
                    shape.text = Arc::new(placed.text);
                })
            })
            .collect();
        for placed in edges {
            self.graph.add_edge_custom(indices[placed.from], indices[placed.to], (), |edge| {
                let shape = edge.display_mut();
                shape.set_path(placed.path.into());
                shape.text = placed.text.into();
            });
        }
        self.drawn = None;
    }

    /// Shows the whole picture, also when the pane is resized, until the camera is moved.
    pub fn fit(&mut self) {
        self.fitted = true;
    }

    /// Keeps the lowest `height` points of the pane free while the picture is fitted.
    pub fn set_bottom_margin(&mut self, height: f32) {
        self.bottom_margin = height;
    }

    /// Zooms around the centre of the pane.
    pub fn zoom_by(&mut self, factor: f32) {
        self.fitted = false;
        self.camera.zoom_at(self.rect, self.rect.center(), factor, self.bounds);
    }

    /// Brings a node to the centre, large enough to read its text.
    pub fn centre_on(&mut self, node: usize) {
        if let Some(node) = self.graph.node(NodeIndex::new(node)) {
            self.fitted = false;
            self.camera.centre_on(node.location(), READABLE_ZOOM);
        }
    }

    /// Whether the centre of a node is in view.
    #[must_use]
    pub fn is_visible(&self, node: usize) -> bool {
        self.graph
            .node(NodeIndex::new(node))
            .is_some_and(|node| self.rect.contains(self.camera.to_pane(self.rect, node.location())))
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

    /// Number of nodes that are at least partly in `area` of the screen.
    #[must_use]
    pub fn count_in(&self, area: Rect) -> usize {
        let area = Rect::from_min_max(
            self.camera.to_picture(self.rect, area.min),
            self.camera.to_picture(self.rect, area.max),
        );
        self.graph.nodes_iter().filter(|(_, node)| node.display().rect().intersects(area)).count()
    }

    /// Number of frames that were redrawn rather than shown from the cache.
    #[must_use]
    pub fn redraw_count(&self) -> u64 {
        self.redraw_count
    }

    /// Draws the picture into the rest of `ui`. `node_style` and `edge_style` are called with the
    /// index of every node and edge, but only if the picture must be redrawn.
    pub fn draw(
        &mut self,
        ui: &mut Ui,
        key: K,
        node_style: impl FnMut(usize) -> NodeStyle,
        edge_style: impl FnMut(usize) -> EdgeStyle,
    ) -> Response {
        let rect = ui.available_rect_before_wrap();
        let now = DrawnState {
            key,
            camera: self.camera,
            rect,
            clip: ui.clip_rect(),
            layer: ui.layer_id(),
            pixels_per_point: ui.pixels_per_point(),
            dark: ui.visuals().dark_mode,
            opacity: ui.opacity(),
        };
        if self.drawn.as_ref() == Some(&now) && self.shape_cache.is_valid(ui) {
            let (response, painter) = ui.allocate_painter(rect.size(), Sense::click_and_drag());
            self.shape_cache.paint(&painter);
            self.response_id = Some(response.id);
            return response;
        }
        let response = self.redraw(ui, rect, node_style, edge_style);
        self.response_id = Some(response.id);
        // In its very first frame egui_graphs fits the picture itself, whatever the settings say.
        // Such a frame is not cached, so that the next one is drawn with our camera.
        let shown = MetadataFrame::new(Some(self.name.to_owned())).load(ui);
        let pan = self.camera.pan(rect.size());
        let is_ours = shown.zoom == self.camera.zoom() && (shown.pan - pan).length() < 0.01;
        self.drawn = is_ours.then_some(now);
        response
    }

    fn redraw(
        &mut self,
        ui: &mut Ui,
        rect: Rect,
        mut node_style: impl FnMut(usize) -> NodeStyle,
        mut edge_style: impl FnMut(usize) -> EdgeStyle,
    ) -> Response {
        self.redraw_count += 1;
        for index in 0..self.graph.node_count() {
            if let Some(node) = self.graph.node_mut(NodeIndex::new(index)) {
                node.display_mut().style = node_style(index);
            }
        }
        for index in 0..self.graph.edge_count() {
            if let Some(edge) = self.graph.edge_mut(EdgeIndex::new(index)) {
                let style = edge_style(index);
                edge.set_selected(style.on_top);
                edge.display_mut().style = style;
            }
        }
        let name = Some(self.name.to_owned());
        let mut meta = MetadataFrame::new(name.clone());
        meta.zoom = self.camera.zoom();
        // When the corner of its widget moves, egui_graphs shifts the pan by the same distance. The
        // pan of the camera is relative to the corner already, so the shift is subtracted here.
        meta.pan = self.camera.pan(rect.size()) - (rect.min - self.last_corner);
        self.last_corner = rect.min;
        meta.save(ui);
        let navigation = SettingsNavigation::new()
            .with_fit_to_screen_enabled(false)
            .with_zoom_and_pan_enabled(false);
        let graph = &mut self.graph;
        self.shape_cache.record(ui, |ui| {
            GraphView::<NoState, FixedLayout>::new()
                .with_id(name.clone())
                .with_navigations(&navigation)
                .with_interactions(&SettingsInteraction::new())
                .show(ui, graph)
                .response
        })
    }
}

/// The state of [`FixedLayout`]: nothing.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct NoState;

impl LayoutState for NoState {}

/// An egui_graphs layout that leaves every node where it is.
#[derive(Default)]
struct FixedLayout;

impl Layout<NoState> for FixedLayout {
    fn from_state(_: NoState) -> impl Layout<NoState> {
        Self
    }

    fn next<N, E, Ty, Ix, Dn, De>(&mut self, _: &mut Graph<N, E, Ty, Ix, Dn, De>, _: &Ui)
    where
        N: Clone,
        E: Clone,
        Ty: petgraph::EdgeType,
        Ix: petgraph::stable_graph::IndexType,
        Dn: egui_graphs::DisplayNode<N, E, Ty, Ix>,
        De: egui_graphs::DisplayEdge<N, E, Ty, Ix, Dn>,
    {
    }

    fn state(&self) -> NoState {
        NoState
    }
}
