//! Moving the camera with the pointer, and finding what is under the pointer.

use eframe::egui::{self, Pos2, Rect, Response, Ui, Vec2};

use super::camera::Camera;
use super::canvas::GraphCanvas;
use super::edge::EdgeShape;
use super::{Click, Node, Pointing, Target, edges_of, minimap, nodes_of};

/// Zoom factor of one notch of the mouse wheel.
pub(super) const ZOOM_PER_NOTCH: f32 = 1.15;

/// Points that egui scrolls per notch of the mouse wheel.
const POINTS_PER_NOTCH: f32 = 40.0;

/// Maximum distance at which the pointer hits an edge, in points of the screen.
const TOLERANCE: f32 = 4.0;

/// Minimum width and height of the area in which the pointer hits a node, in points of the screen.
const MIN_TARGET: f32 = 8.0;

impl<K: PartialEq> GraphCanvas<K> {
    /// Moves the camera in response to the pointer, and finds what is under the pointer. Call this
    /// once per frame, before [`draw`](Self::draw).
    pub fn interact(&mut self, ui: &Ui) -> Pointing {
        let rect = ui.available_rect_before_wrap();
        self.rect = rect;
        // `draw` adds the widget later in this frame, but egui can already tell its response, from
        // where the widget was in the last frame.
        let response = self.response_id.and_then(|id| ui.ctx().read_response(id));
        let map = minimap::area(rect, self.bounds, &self.camera);
        let pointer = response.as_ref().and_then(Response::interact_pointer_pos);
        let on_map =
            pointer.zip(map).is_some_and(|(point, map)| minimap::frame(map).contains(point));
        if let Some(response) = &response {
            // A quick click is pressed and released in one frame.
            let is_clicked = response.clicked() && on_map;
            let is_pressed = |map: &Rect| is_pressed_in(ui, response, minimap::frame(*map));
            match map.filter(|map| is_clicked || is_pressed(map)) {
                Some(map) => self.move_by_map(response, map),
                None => self.move_camera(ui, rect, response),
            }
        }
        self.glide(ui, rect);
        let hover = response.as_ref().filter(|response| response.hovered());
        let hovered = hover
            .and_then(Response::hover_pos)
            .filter(|point| map.is_none_or(|map| !minimap::frame(map).contains(*point)))
            .and_then(|point| self.target_at(self.camera.to_picture(rect, point)));
        let click = response
            .as_ref()
            .is_some_and(|response| response.clicked() && !on_map)
            .then_some(hovered.map_or(Click::Background, Click::Target));
        if hovered.is_some() {
            ui.ctx().set_cursor_icon(egui::CursorIcon::PointingHand);
        }
        Pointing { rect, hovered, click }
    }

    /// Moves the camera toward its goal.
    fn glide(&mut self, ui: &Ui, rect: Rect) {
        if self.fitted {
            let goal = Camera::fitting(self.bounds, rect.size());
            self.camera_goal = (goal != self.camera).then_some(goal);
        }
        let Some(goal) = self.camera_goal else { return };
        // The first picture does not glide in: the camera jumps in the first two frames, because
        // the pane has its final size only from the second frame on.
        let jumps = self.jumps || ui.style().animation_time == 0.0;
        let seconds = ui.input(|input| input.stable_dt);
        if jumps || self.camera.glide(&goal, seconds, rect.size()) {
            self.camera = goal;
            self.camera_goal = None;
        } else {
            ui.ctx().request_repaint();
        }
        self.jumps &= self.response_id.is_none();
    }

    /// Centres the picture on the point of the map that is pressed.
    fn move_by_map(&mut self, response: &Response, map: Rect) {
        if let Some(point) = response.interact_pointer_pos() {
            self.fitted = false;
            self.camera_goal = None;
            self.camera.centre_on(minimap::to_picture(map, self.bounds, point), 0.0);
        }
    }

    /// Moves the camera in response to drags, the wheel and pinches. A double click on the
    /// background fits the picture.
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
            self.camera_goal = None;
            self.camera.keep_in_view(self.bounds, rect.size());
        }
    }

    /// The node or edge at `point` of the picture: the nearest node whose target area contains the
    /// point, or else the nearest edge within the tolerance.
    fn target_at(&self, point: Pos2) -> Option<Target> {
        let tolerance = TOLERANCE / self.camera.zoom();
        let target = Vec2::splat(MIN_TARGET / self.camera.zoom());
        let hit = |node: &Node| {
            Rect::from_center_size(node.centre, node.size.max(target)).contains(point)
        };
        let node = nodes_of(&self.graph)
            .enumerate()
            .filter(|(_, node)| hit(node))
            .map(|(index, node)| (node.rect().distance_to_pos(point), index))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, index)) = node {
            return Some(Target::Node(index));
        }
        let near = |edge: &EdgeShape| {
            edge.style.width > 0.0 && edge.bounds.expand(tolerance).contains(point)
        };
        edges_of(&self.graph)
            .enumerate()
            .filter(|(_, edge)| near(edge))
            .map(|(index, edge)| (edge.distance(point), index))
            .filter(|&(distance, _)| distance < tolerance)
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, index)| Target::Edge(index))
    }
}

/// Whether a button of the pointer was pressed in `area` and is still down.
fn is_pressed_in(ui: &Ui, response: &Response, area: Rect) -> bool {
    response.is_pointer_button_down_on()
        && ui.input(|input| input.pointer.press_origin()).is_some_and(|point| area.contains(point))
}
