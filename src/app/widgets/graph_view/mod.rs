//! Pictures of graphs that can be zoomed, dragged and pointed at.
//!
//! The drawing is done by egui_graphs, with shapes of our own that are clipped to the pane and
//! say less the smaller they are. Three things are done here instead of there:
//!
//! * **Rest.** egui_graphs asks for another frame after every frame. Here it draws only in frames in
//!   which something changed; in all others the recorded shapes are shown again. So a window in
//!   which nothing happens is not drawn at all.
//! * **The camera.** A plain wheel zooms at the pointer, a fitted picture stays fitted while its pane
//!   changes its size, and a picture cannot be dragged out of sight.
//! * **Pointing.** What is under the pointer is known in every frame, also in those that are not
//!   drawn anew, and thin or tiny things can be hit.

pub mod camera;
pub mod edge;
pub mod node;
mod replay;
mod text;

use std::sync::Arc;

use eframe::egui::{self, Id, Pos2, Rect, Response, Sense, Ui, Vec2};
use egui_graphs::{
    Graph, GraphView, Layout, LayoutState, MetadataFrame, SettingsInteraction, SettingsNavigation,
};
use petgraph::Directed;
use petgraph::stable_graph::{DefaultIx, EdgeIndex, NodeIndex};

use camera::Camera;
use edge::{EdgeLook, EdgeShape};
use node::{NodeLook, NodeShape, NodeText};
use replay::Recording;

/// Zoom factor of one notch of the wheel.
const NOTCH: f32 = 1.15;

/// Points that egui scrolls for one notch.
const POINTS_PER_NOTCH: f32 = 40.0;

/// How far beside a thing the pointer may be, in points.
const TOLERANCE: f32 = 4.0;

/// How large things are, at least, when one is brought to the middle.
const READABLE: f32 = 0.9;

type Shown = Graph<(), (), Directed, DefaultIx, NodeShape, EdgeShape>;

/// A vertex to be drawn.
#[derive(Clone, Debug)]
pub struct NodePlace {
    /// Its middle.
    pub centre: Pos2,
    /// Width and height.
    pub size: Vec2,
    /// What is written in it.
    pub text: NodeText,
}

/// An edge to be drawn.
#[derive(Clone, Debug)]
pub struct EdgePlace {
    /// Index of the vertex at the start of the path.
    pub from: usize,
    /// Index of the vertex at its end.
    pub to: usize,
    /// The line.
    pub path: Vec<Pos2>,
    /// What is written in the middle.
    pub text: String,
}

/// A thing in a picture, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A vertex.
    Node(usize),
    /// An edge.
    Edge(usize),
}

/// What the pointer did in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Pointing {
    /// Where the picture is.
    pub rect: Rect,
    /// What is under the pointer.
    pub hovered: Option<Target>,
    /// What was clicked: a thing, or `Some(None)` for the ground.
    pub clicked: Option<Option<Target>>,
}

/// A picture of a graph.
///
/// `K` is everything that the looks depend on: while it stays equal, the picture is not drawn anew.
pub struct GraphCanvas<K> {
    name: &'static str,
    graph: Shown,
    bounds: Rect,
    camera: Camera,
    /// Whether the picture is to be fitted whenever the pane's size changes.
    fitted: bool,
    /// Points at the bottom of the pane that a fitted picture leaves free.
    free_below: f32,
    recording: Recording,
    drawn: Option<Drawn<K>>,
    response: Option<Id>,
    /// Where the pane was when it was last drawn.
    rect: Rect,
    corner: Pos2,
    live_frames: u64,
}

/// What the recorded shapes show.
#[derive(PartialEq)]
struct Drawn<K> {
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
    /// An empty picture. `name` tells it from others in the same window.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            graph: Shown::new(),
            bounds: Rect::from_center_size(Pos2::ZERO, Vec2::splat(1.0)),
            camera: Camera::default(),
            fitted: true,
            free_below: 0.0,
            recording: Recording::default(),
            drawn: None,
            response: None,
            rect: Rect::ZERO,
            corner: Pos2::ZERO,
            live_frames: 0,
        }
    }

    /// Draws another graph from now on. Where the camera looks stays as it is.
    pub fn set_graph(&mut self, nodes: Vec<NodePlace>, edges: Vec<EdgePlace>) {
        let boxes = nodes.iter().map(|node| Rect::from_center_size(node.centre, node.size));
        self.bounds = boxes
            .reduce(Rect::union)
            .unwrap_or_else(|| Rect::from_center_size(Pos2::ZERO, Vec2::splat(1.0)));
        self.graph = Shown::new();
        let indices: Vec<NodeIndex> = nodes
            .into_iter()
            .map(|place| {
                self.graph.add_node_custom((), |node| {
                    node.set_location(place.centre);
                    let props = node.props().clone();
                    let shape = node.display_mut();
                    *shape = NodeShape::from(props);
                    shape.size = place.size;
                    shape.text = Arc::new(place.text);
                })
            })
            .collect();
        for place in edges {
            self.graph.add_edge_custom(indices[place.from], indices[place.to], (), |edge| {
                let shape = edge.display_mut();
                shape.set_path(place.path.into());
                shape.text = place.text.into();
            });
        }
        self.drawn = None;
    }

    /// Shows the whole picture, also when the size of the pane changes, until the camera is moved.
    pub fn fit(&mut self) {
        self.fitted = true;
    }

    /// Leaves so many points at the bottom of the pane free where the whole picture is shown.
    pub fn leave_free_below(&mut self, height: f32) {
        self.free_below = height;
    }

    /// Zooms around the middle of the pane.
    pub fn zoom_by(&mut self, factor: f32) {
        self.fitted = false;
        self.camera.zoom_at(self.rect, self.rect.center(), factor, self.bounds);
    }

    /// Brings a vertex to the middle, large enough to be read.
    pub fn look_at(&mut self, node: usize) {
        if let Some(node) = self.graph.node(NodeIndex::new(node)) {
            self.fitted = false;
            self.camera.look_at(node.location(), READABLE);
        }
    }

    /// Whether a vertex is in sight.
    #[must_use]
    pub fn is_in_sight(&self, node: usize) -> bool {
        self.graph
            .node(NodeIndex::new(node))
            .is_some_and(|node| self.rect.contains(self.camera.to_pane(self.rect, node.location())))
    }

    /// Whether the whole picture is shown and follows the size of its pane.
    #[must_use]
    pub fn is_fitted(&self) -> bool {
        self.fitted
    }

    /// Points of the pane for one unit of the picture.
    #[must_use]
    pub fn zoom(&self) -> f32 {
        self.camera.zoom()
    }

    /// How many vertices are seen in `area` of the pane.
    #[must_use]
    pub fn count_in(&self, area: Rect) -> usize {
        let seen = Rect::from_min_max(
            self.camera.to_picture(self.rect, area.min),
            self.camera.to_picture(self.rect, area.max),
        );
        self.graph.nodes_iter().filter(|(_, node)| node.display().rect().intersects(seen)).count()
    }

    /// How many frames were drawn anew so far.
    #[must_use]
    pub fn live_frames(&self) -> u64 {
        self.live_frames
    }

    /// Moves the camera as the user asks, and finds what is under the pointer. To be called once a
    /// frame, before [`draw`](Self::draw).
    pub fn interact(&mut self, ui: &Ui) -> Pointing {
        let rect = ui.available_rect_before_wrap();
        self.rect = rect;
        // The widget is added when the picture is drawn; what it will hear is known already.
        let response = self.response.and_then(|id| ui.ctx().read_response(id));
        if let Some(response) = &response {
            self.move_camera(ui, rect, response);
        }
        if self.fitted {
            self.camera = Camera::fitting_above(self.bounds, rect.size(), self.free_below);
        }
        let hover = response.as_ref().filter(|response| response.hovered());
        let hovered = hover
            .and_then(Response::hover_pos)
            .and_then(|point| self.target_at(self.camera.to_picture(rect, point)));
        let clicked = response.as_ref().is_some_and(Response::clicked).then_some(hovered);
        if hovered.is_some() {
            ui.ctx().set_cursor_icon(egui::CursorIcon::PointingHand);
        }
        Pointing { rect, hovered, clicked }
    }

    fn move_camera(&mut self, ui: &Ui, rect: Rect, response: &Response) {
        let before = self.camera;
        if response.dragged() {
            self.camera.drag(response.drag_delta());
        }
        if let Some(pointer) = response.hover_pos().filter(|_| response.contains_pointer()) {
            let (scroll, pinch) =
                ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
            // With Shift the wheel scrolls sideways, with Ctrl it is a pinch.
            self.camera.drag(Vec2::new(scroll.x, 0.0));
            let factor = pinch * NOTCH.powf(scroll.y / POINTS_PER_NOTCH);
            if factor != 1.0 {
                self.camera.zoom_at(rect, pointer, factor, self.bounds);
            }
            if response.double_clicked()
                && self.target_at(self.camera.to_picture(rect, pointer)).is_none()
            {
                self.fitted = true;
            }
        }
        if self.camera != before {
            self.fitted = false;
            self.camera.keep_in_sight(self.bounds, rect.size());
        }
    }

    /// What is at `point`, vertices before edges, the nearest where several are.
    fn target_at(&self, point: Pos2) -> Option<Target> {
        let tolerance = TOLERANCE / self.camera.zoom();
        let node = self
            .graph
            .nodes_iter()
            .map(|(index, node)| (node.display().rect().distance_to_pos(point), index))
            .filter(|&(distance, _)| distance < tolerance.min(12.0))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, index)) = node {
            return Some(Target::Node(index.index()));
        }
        let near = |edge: &EdgeShape| {
            edge.look.width > 0.0 && edge.bounds.expand(tolerance).contains(point)
        };
        self.graph
            .edges_iter()
            .filter(|(_, edge)| near(edge.display()))
            .map(|(index, edge)| (edge.display().distance(point), index))
            .filter(|&(distance, _)| distance < tolerance)
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, index)| Target::Edge(index.index()))
    }

    /// Draws the picture into the rest of `ui`. Only if something changed are the looks asked for.
    pub fn draw(
        &mut self,
        ui: &mut Ui,
        key: K,
        node_look: impl FnMut(usize) -> NodeLook,
        edge_look: impl FnMut(usize) -> EdgeLook,
    ) -> Response {
        let rect = ui.available_rect_before_wrap();
        let now = Drawn {
            key,
            camera: self.camera,
            rect,
            clip: ui.clip_rect(),
            layer: ui.layer_id(),
            pixels_per_point: ui.pixels_per_point(),
            dark: ui.visuals().dark_mode,
            opacity: ui.opacity(),
        };
        if self.drawn.as_ref() == Some(&now) && self.recording.is_valid(ui) {
            let (response, painter) = ui.allocate_painter(rect.size(), Sense::click_and_drag());
            self.recording.play(&painter);
            self.response = Some(response.id);
            return response;
        }
        let response = self.draw_live(ui, rect, node_look, edge_look);
        self.response = Some(response.id);
        // The view fits its picture by itself in the first frame that it ever draws; then once more.
        let shown = MetadataFrame::new(Some(self.name.to_owned())).load(ui);
        let wanted = self.camera.pan(rect.size());
        let is_right = shown.zoom == self.camera.zoom() && (shown.pan - wanted).length() < 0.01;
        self.drawn = is_right.then_some(now);
        response
    }

    fn draw_live(
        &mut self,
        ui: &mut Ui,
        rect: Rect,
        mut node_look: impl FnMut(usize) -> NodeLook,
        mut edge_look: impl FnMut(usize) -> EdgeLook,
    ) -> Response {
        self.live_frames += 1;
        for index in 0..self.graph.node_count() {
            if let Some(node) = self.graph.node_mut(NodeIndex::new(index)) {
                node.display_mut().look = node_look(index);
            }
        }
        for index in 0..self.graph.edge_count() {
            if let Some(edge) = self.graph.edge_mut(EdgeIndex::new(index)) {
                let look = edge_look(index);
                edge.set_selected(look.on_top);
                edge.display_mut().look = look;
            }
        }
        let name = Some(self.name.to_owned());
        let mut meta = MetadataFrame::new(name.clone());
        meta.zoom = self.camera.zoom();
        // The view moves its picture along when its corner moves, which the camera has done already.
        meta.pan = self.camera.pan(rect.size()) - (rect.min - self.corner);
        self.corner = rect.min;
        meta.save(ui);
        let navigation = SettingsNavigation::new()
            .with_fit_to_screen_enabled(false)
            .with_zoom_and_pan_enabled(false);
        let graph = &mut self.graph;
        self.recording.record(ui, |ui| {
            GraphView::<Kept, KeepPlaces>::new()
                .with_id(name.clone())
                .with_navigations(&navigation)
                .with_interactions(&SettingsInteraction::new())
                .show(ui, graph)
                .response
        })
    }
}

/// The state of a layout that has none.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Kept;

impl LayoutState for Kept {}

/// A layout that leaves every vertex where it was put.
#[derive(Default)]
struct KeepPlaces;

impl Layout<Kept> for KeepPlaces {
    fn from_state(_: Kept) -> impl Layout<Kept> {
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

    fn state(&self) -> Kept {
        Kept
    }
}

#[cfg(test)]
mod tests;
