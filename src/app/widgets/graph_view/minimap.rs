//! A small map of the whole picture, shown while part of the picture is out of view.

use std::sync::Arc;

use eframe::egui::epaint::Mesh;
use eframe::egui::{
    Align2, Color32, CornerRadius, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, vec2,
};

use super::Node;
use super::camera::Camera;

/// Maximum width and height of the map, as a share of the width and height of the pane.
const MAX_SHARE: f32 = 0.24;

/// Distance of the map from the edges of the pane, in points.
const MARGIN: f32 = 8.0;

/// Minimum width and height of a node on the map, in points.
const MIN_NODE: f32 = 1.5;

/// Width between the map and the line around it, in points.
const FRAME: f32 = 4.0;

/// Minimum width and height of a pane with a map, in points. In a smaller pane, a map would hide
/// too much of the picture.
const MIN_PANE: Vec2 = vec2(160.0, 120.0);

/// Where the map is on the screen; `None` while the whole picture is in view, or if the pane is too
/// small for a map.
pub(super) fn area(pane: Rect, bounds: Rect, camera: &Camera) -> Option<Rect> {
    let visible = visible_part(pane, camera);
    let is_small = pane.width() < MIN_PANE.x || pane.height() < MIN_PANE.y;
    if visible.expand(1.0).contains_rect(bounds) || is_small {
        return None;
    }
    let scale = (pane.size() * MAX_SHARE / bounds.size()).min_elem();
    let size = (bounds.size() * scale).max(Vec2::splat(12.0));
    Some(Align2::RIGHT_BOTTOM.align_size_within_rect(size, pane.shrink(MARGIN)))
}

/// The rectangle of the line around the map in `area`.
pub(super) fn frame(area: Rect) -> Rect {
    area.expand(FRAME)
}

/// The part of the picture that is in view.
fn visible_part(pane: Rect, camera: &Camera) -> Rect {
    Rect::from_min_max(camera.to_picture(pane, pane.min), camera.to_picture(pane, pane.max))
}

/// The point of the picture at `point` of the map.
pub(super) fn to_picture(area: Rect, bounds: Rect, point: Pos2) -> Pos2 {
    let share = (area.clamp(point) - area.min) / area.size();
    bounds.min + share * bounds.size()
}

/// Colours of the map.
#[derive(Clone, Copy, Debug)]
pub struct MapColours {
    /// Background.
    pub background: Color32,
    /// The line around the map.
    pub line: Color32,
    /// The line around the part that is in view.
    pub frame: Color32,
}

/// The size of the map, and the triangles of its nodes, relative to the corner of the map; `None`
/// if they must be made again.
#[derive(Default)]
pub(super) struct Minimap(Option<(Vec2, Arc<Mesh>)>);

impl Minimap {
    /// Drops the triangles, so that the next frame makes them again.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }

    /// Paints the map into `area` of `pane`, for a picture with these `bounds` and this `camera`.
    pub(super) fn paint<'n>(
        &mut self,
        painter: &Painter,
        (pane, area): (Rect, Rect),
        (bounds, camera): (Rect, &Camera),
        nodes: impl Iterator<Item = &'n Node>,
        colours: MapColours,
    ) {
        let frame = frame(area);
        painter.rect_filled(frame, CornerRadius::same(3), colours.background);
        let stroke = Stroke::new(1.0, colours.line);
        painter.rect_stroke(frame, CornerRadius::same(3), stroke, StrokeKind::Middle);
        let on_map = |point: Pos2| area.min + (point - bounds.min) / bounds.size() * area.size();
        // The map changes its size with the pane.
        self.0.take_if(|(size, _)| *size != area.size());
        let (_, mesh) = self.0.get_or_insert_with(|| {
            let mut mesh = Mesh::default();
            for node in nodes {
                let size = node.size / bounds.size() * area.size();
                let size = size.max(Vec2::splat(MIN_NODE));
                // Relative to the corner of the map, which may move.
                let centre = on_map(node.centre) - area.min.to_vec2();
                let fill = node.style.small_fill.unwrap_or(node.style.fill);
                mesh.add_colored_rect(Rect::from_center_size(centre, size), fill);
            }
            (area.size(), Arc::new(mesh))
        });
        let mut mesh = Mesh::clone(mesh);
        mesh.translate(area.min.to_vec2());
        painter.add(Shape::mesh(mesh));
        let visible = visible_part(pane, camera);
        let visible = Rect::from_min_max(on_map(visible.min), on_map(visible.max));
        let visible = visible.intersect(frame.shrink(1.0));
        let visible = Rect::from_center_size(visible.center(), visible.size().max(vec2(3.0, 3.0)));
        let stroke = Stroke::new(2.0, colours.frame);
        painter.rect_stroke(visible, CornerRadius::same(1), stroke, StrokeKind::Middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::widgets::graph_view::node::NodeStyle;
    use eframe::egui::pos2;
    use egui_kittest::Harness;

    #[test]
    fn nodes_keep_their_places_on_a_map_that_changes_its_size() {
        let bounds = Rect::from_min_size(Pos2::ZERO, Vec2::splat(200.0));
        let camera = Camera::fitting(bounds, Vec2::splat(50.0));
        let (centre, size) = (pos2(150.0, 50.0), vec2(20.0, 10.0));
        let (text, style) = (Arc::default(), NodeStyle::default());
        let node = Node { centre, size, text, style };
        let colours =
            MapColours { background: Color32::BLACK, line: Color32::GRAY, frame: Color32::WHITE };
        let mut map = Minimap::default();
        let mut harness = Harness::new_ui(move |ui| {
            for side in [100.0, 40.0] {
                let area = Rect::from_min_size(pos2(300.0, 300.0), Vec2::splat(side));
                let places = (Rect::from_min_size(Pos2::ZERO, Vec2::splat(400.0)), area);
                let nodes = std::iter::once(&node);
                map.paint(ui.painter(), places, (bounds, &camera), nodes, colours);
                let (_, mesh) = map.0.as_ref().expect("it was painted");
                let place = mesh.calc_bounds().center() - pos2(0.75 * side, 0.25 * side);
                assert!(place.length() < 1e-3, "{place:?} on a map of {side} points");
            }
        });
        harness.run();
    }
}
