//! Pictures of graphs that can be zoomed, dragged and pointed at.
//!
//! Nodes are boxes with text, edges are lines. They show less detail the smaller they are: no text
//! is smaller than 10 points, and text without room is left out. The graph is an
//! `egui_graphs::Graph`, and nodes and edges implement the display traits of egui_graphs. Its
//! widget is not used, because it makes all shapes again in every frame, and requests a further
//! frame after each.
//!
//! * **Drawing only what changed.** Turning shapes into triangles takes most of the time of a
//!   frame. The triangles of a few dozen neighbouring items are kept in a chunk, which is made
//!   again when the style of one of its items or the zoom changes. Dragging the picture moves the
//!   triangles. Items far out of view are left out; once the view leaves the region that was drawn,
//!   the chunks that left out items are made again. A window in which nothing happens is not
//!   redrawn at all.
//! * **The camera.** The plain mouse wheel zooms at the pointer, a fitted picture stays fitted
//!   while its pane is resized, and a picture cannot be dragged out of view. While part of the
//!   picture is out of view, a small map shows which part is in view.
//! * **Hit testing.** What is under the pointer is known in every frame, and thin or tiny shapes
//!   can be hit.
//! * **Motion.** The camera glides to where it is sent, and nodes glide to their new places when
//!   the graph is replaced.

pub mod camera;
mod canvas;
pub mod chart;
mod chunk;
pub mod edge;
mod edge_labels;
mod interact;
mod labels;
pub mod legend;
mod minimap;
pub mod node;
mod text;

use std::sync::Arc;

use eframe::egui::{Pos2, Rect, Vec2};
use petgraph::Directed;
use petgraph::stable_graph::DefaultIx;

pub use canvas::GraphCanvas;
use node::NodeText;

/// A node to draw.
#[derive(Clone, Debug)]
pub struct PlacedNode {
    /// The centre, in picture coordinates.
    pub centre: Pos2,
    /// Width and height, in picture coordinates.
    pub size: Vec2,
    /// What is written in the node.
    pub text: NodeText,
}

/// An edge to draw.
#[derive(Clone, Debug)]
pub struct PlacedEdge {
    /// Index of the node at the start of the path.
    pub from: usize,
    /// Index of the node at the end of the path.
    pub to: usize,
    /// The line from the first node to the second, in picture coordinates.
    pub path: Vec<Pos2>,
    /// The label in the middle of the path. The style decides whether it is shown.
    pub text: String,
}

/// A node or an edge, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A node.
    Node(usize),
    /// An edge.
    Edge(usize),
}

/// A click on a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Click {
    /// A click on a node or an edge.
    Target(Target),
    /// A click where there is neither.
    Background,
}

impl Click {
    /// The node or edge that was clicked, if any.
    #[must_use]
    pub fn target(self) -> Option<Target> {
        match self {
            Self::Target(target) => Some(target),
            Self::Background => None,
        }
    }
}

/// What the pointer did in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Pointing {
    /// Where the picture is on the screen.
    pub rect: Rect,
    /// What is under the pointer.
    pub hovered: Option<Target>,
    /// The click of this frame, if there was one.
    pub click: Option<Click>,
}

/// The graph of a picture. The index of a node or edge is the index of its [`PlacedNode`] or
/// [`PlacedEdge`] in the argument of [`GraphCanvas::set_graph`].
type ShapeGraph = egui_graphs::Graph<(), (), Directed, DefaultIx, Node, edge::EdgeShape>;

/// The nodes of a graph, in the order of their indices.
fn nodes_of(graph: &ShapeGraph) -> impl Iterator<Item = &Node> {
    graph.nodes_iter().map(|(_, node)| node.display())
}

/// The edges of a graph, in the order of their indices.
fn edges_of(graph: &ShapeGraph) -> impl Iterator<Item = &edge::EdgeShape> {
    graph.edges_iter().map(|(_, edge)| edge.display())
}

/// A node in a picture, with the style that it was last given.
#[derive(Clone, Debug)]
struct Node {
    centre: Pos2,
    size: Vec2,
    text: Arc<NodeText>,
    style: node::NodeStyle,
}

impl Node {
    /// The box, in picture coordinates.
    fn rect(&self) -> Rect {
        Rect::from_center_size(self.centre, self.size)
    }
}

#[cfg(test)]
mod tests;
