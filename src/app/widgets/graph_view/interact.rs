//! Moving the camera with the pointer, and finding what is under it.

use eframe::egui::{self, Pos2, Rect, Response, Ui, Vec2};

use super::camera::Camera;
use super::canvas::GraphCanvas;
use super::edge::EdgeShape;
use super::{Pointing, Target};

/// Zoom factor of one notch of the mouse wheel.
pub(super) const ZOOM_PER_NOTCH: f32 = 1.15;

/// Points that egui scrolls per notch of the mouse wheel.
const POINTS_PER_NOTCH: f32 = 40.0;

/// Maximum distance at which the pointer hits a node or an edge, in points of the screen.
const TOLERANCE: f32 = 4.0;

/// As [`TOLERANCE`], for nodes, in units of the picture; the smaller distance counts. Without this
/// limit, nodes of a picture that is zoomed out would be hit far outside their boxes.
const MAX_NODE_TOLERANCE: f32 = 12.0;

impl<K: PartialEq> GraphCanvas<K> {
    /// Moves the camera as the user asks, and finds what is under the pointer. Call this once a
    /// frame, before [`draw`](Self::draw).
    pub fn interact(&mut self, ui: &Ui) -> Pointing {
        let rect = ui.available_rect_before_wrap();
        self.rect = rect;
        // `draw` adds the widget later in this frame, but egui can already tell its response, from
        // where the widget was in the last frame.
        let response = self.response_id.and_then(|id| ui.ctx().read_response(id));
        if let Some(response) = &response {
            self.move_camera(ui, rect, response);
        }
        if self.fitted {
            self.camera = Camera::fitting_above(self.bounds, rect.size(), self.bottom_margin);
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

    /// Moves the camera by drags, wheel and pinches. A double click on the background fits the
    /// picture.
    fn move_camera(&mut self, ui: &Ui, rect: Rect, response: &Response) {
        let before = self.camera;
        if response.dragged() {
            self.camera.drag(response.drag_delta());
        }
        if let Some(pointer) = response.hover_pos().filter(|_| response.contains_pointer()) {
            let (scroll, pinch) =
                ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
            // egui turns the wheel into a sideways scroll with Shift, and into a pinch with Ctrl.
            self.camera.drag(Vec2::new(scroll.x, 0.0));
            let factor = pinch * ZOOM_PER_NOTCH.powf(scroll.y / POINTS_PER_NOTCH);
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
            self.camera.keep_in_view(self.bounds, rect.size());
        }
    }

    /// The node or edge at `point` of the picture: the nearest node within the tolerance, or else
    /// the nearest edge within the tolerance.
    fn target_at(&self, point: Pos2) -> Option<Target> {
        let tolerance = TOLERANCE / self.camera.zoom();
        let node = self
            .graph
            .nodes_iter()
            .map(|(index, node)| (node.display().rect().distance_to_pos(point), index))
            .filter(|&(distance, _)| distance < tolerance.min(MAX_NODE_TOLERANCE))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, index)) = node {
            return Some(Target::Node(index.index()));
        }
        let near = |edge: &EdgeShape| {
            edge.style.width > 0.0 && edge.bounds.expand(tolerance).contains(point)
        };
        self.graph
            .edges_iter()
            .filter(|(_, edge)| near(edge.display()))
            .map(|(index, edge)| (edge.display().distance(point), index))
            .filter(|&(distance, _)| distance < tolerance)
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, index)| Target::Edge(index.index()))
    }
}
