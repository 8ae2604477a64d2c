//! Pictures of graphs that can be zoomed, dragged and pointed at.
//!
//! egui_graphs does the drawing, with node and edge shapes of our own that are clipped to the pane
//! and show less detail the smaller they are. Three things are done here instead:
//!
//! * **Caching.** egui_graphs requests another frame after every frame that it draws. Therefore the
//!   canvas calls egui_graphs only when something has changed, and shows the cached shapes in all
//!   other frames. A window in which nothing happens is not redrawn at all.
//! * **The camera.** The plain mouse wheel zooms at the pointer, a fitted picture stays fitted
//!   while its pane is resized, and a picture cannot be dragged out of view.
//! * **Hit testing.** What is under the pointer is known in every frame, cached frames included,
//!   and thin or tiny shapes can be hit.

pub mod camera;
mod canvas;
pub mod chart;
pub mod edge;
mod interact;
pub mod node;
mod shape_cache;
mod text;

use eframe::egui::{Pos2, Rect, Vec2};

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
    /// The label in the middle of the path.
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

/// What the pointer did in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Pointing {
    /// Where the picture is on the screen.
    pub rect: Rect,
    /// What is under the pointer.
    pub hovered: Option<Target>,
    /// What was clicked: `Some(None)` is a click on the background.
    pub clicked: Option<Option<Target>>,
}

#[cfg(test)]
mod tests;
