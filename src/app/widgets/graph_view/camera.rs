//! The camera: which part of a picture is in view, and how large.

use eframe::egui::{Pos2, Rect, Vec2};

/// Margin around a fitted picture, in points.
const MARGIN: f32 = 14.0;

/// Maximum zoom for a user who zooms in, in screen points per unit of the picture. The zoom of a
/// fitted picture may be larger.
const MAX_ZOOM: f32 = 6.0;

/// A zoom in screen points per unit of the picture. A fitted picture is magnified further than this
/// only until it takes up [`MIN_FITTED_SHARE`] of the longer side of its pane.
const LARGE_ZOOM: f32 = 1.6;

/// Minimum share of the longer side of the pane that a fitted picture takes up, if the shape of the
/// picture allows.
const MIN_FITTED_SHARE: f32 = 0.6;

/// Time constant of a gliding camera, in seconds: in this time, its distance from the goal shrinks
/// by a factor of e.
const GLIDE_TIME: f32 = 0.06;

/// Maps coordinates of a picture to coordinates of a pane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// The point of the picture at the centre of the pane.
    centre: Pos2,
    /// Screen points per unit of the picture.
    zoom: f32,
}

impl Default for Camera {
    fn default() -> Self {
        Self { centre: Pos2::ZERO, zoom: 1.0 }
    }
}

impl Camera {
    /// A camera that shows all of `bounds` in a pane of `size`.
    #[must_use]
    pub fn fitting(bounds: Rect, size: Vec2) -> Self {
        let available = (size - Vec2::splat(2.0 * MARGIN)).max(Vec2::splat(1.0));
        let picture = bounds.size().max(Vec2::splat(1.0));
        // The zoom at which the picture would take up all of the longer side of the pane.
        let filling = if size.x >= size.y { size.x / picture.x } else { size.y / picture.y };
        let largest = LARGE_ZOOM.max(MIN_FITTED_SHARE * filling);
        let zoom = (available / picture).min_elem().min(largest);
        Self { centre: bounds.center(), zoom }
    }

    /// Moves part of the way to `goal`; `seconds` is the time since the last frame. Returns whether
    /// the camera has arrived: whether the pane, which has this `size`, would look the same at the
    /// goal.
    pub fn glide(&mut self, goal: &Self, seconds: f32, size: Vec2) -> bool {
        let share = 1.0 - (-seconds / GLIDE_TIME).exp();
        self.zoom *= (goal.zoom / self.zoom).powf(share);
        self.centre = self.centre.lerp(goal.centre, share);
        let far = (self.centre - goal.centre).length() * self.zoom > 0.5
            || (self.zoom / goal.zoom - 1.0).abs() * size.max_elem() > 1.0;
        if !far {
            *self = *goal;
        }
        !far
    }

    /// Screen points per unit of the picture.
    #[must_use]
    pub fn zoom(&self) -> f32 {
        self.zoom
    }

    /// The origin of the picture relative to the top left corner of a pane of `size`.
    #[must_use]
    pub fn pan(&self, size: Vec2) -> Vec2 {
        size / 2.0 - self.centre.to_vec2() * self.zoom
    }

    /// The point of the picture at `point` of the pane `rect`.
    #[must_use]
    pub fn to_picture(&self, rect: Rect, point: Pos2) -> Pos2 {
        self.centre + (point - rect.center()) / self.zoom
    }

    /// Where `point` of the picture appears in the pane `rect`.
    #[must_use]
    pub fn to_pane(&self, rect: Rect, point: Pos2) -> Pos2 {
        rect.center() + (point - self.centre) * self.zoom
    }

    /// Moves the picture with the pointer by `delta` points.
    pub fn drag(&mut self, delta: Vec2) {
        self.centre -= delta / self.zoom;
    }

    /// Zooms by `factor` around `anchor`, a point of the pane `rect`. The zoom stays in a
    /// range: from half the zoom of the fitted picture with these `bounds` (but at most
    /// `MAX_ZOOM`), to `MAX_ZOOM` or the zoom of the fitted picture, whichever is larger.
    pub fn zoom_at(&mut self, rect: Rect, anchor: Pos2, factor: f32, bounds: Rect) {
        let fitted = Self::fitting(bounds, rect.size()).zoom;
        let fixed = self.to_picture(rect, anchor);
        self.zoom = (self.zoom * factor).clamp((fitted * 0.5).min(MAX_ZOOM), MAX_ZOOM.max(fitted));
        self.centre = fixed - (anchor - rect.center()) / self.zoom;
    }

    /// Brings `target` to the centre, and zooms in to `zoom` or `MAX_ZOOM`, whichever is smaller,
    /// unless the zoom is already larger.
    pub fn centre_on(&mut self, target: Pos2, zoom: f32) {
        self.centre = target;
        self.zoom = self.zoom.max(zoom.min(MAX_ZOOM));
    }

    /// Moves the picture only far enough for part of `bounds` to stay in view of a pane of `size`.
    pub fn keep_in_view(&mut self, bounds: Rect, size: Vec2) {
        let margin = size * 0.4 / self.zoom;
        self.centre = self.centre.clamp(bounds.min - margin, bounds.max + margin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{pos2, vec2};

    const PANE: Rect = Rect { min: pos2(100.0, 50.0), max: pos2(500.0, 350.0) };
    const PICTURE: Rect = Rect { min: pos2(-1000.0, 0.0), max: pos2(1000.0, 500.0) };

    #[test]
    fn a_fitted_picture_is_completely_visible_and_centred() {
        let camera = Camera::fitting(PICTURE, PANE.size());
        assert!(PANE.contains(camera.to_pane(PANE, PICTURE.min)));
        assert!(PANE.contains(camera.to_pane(PANE, PICTURE.max)));
        assert!(camera.to_pane(PANE, PICTURE.center()).distance(PANE.center()) < 1e-3);
        let origin = PANE.min + camera.pan(PANE.size());
        assert!(camera.to_pane(PANE, Pos2::ZERO).distance(origin) < 1e-3);
    }

    #[test]
    fn a_small_picture_is_magnified_to_half_of_the_width_or_most_of_the_height_of_the_pane() {
        for size in [vec2(10.0, 6.0), vec2(300.0, 20.0), vec2(30.0, 40.0)] {
            let camera =
                Camera::fitting(Rect::from_min_size(Pos2::ZERO, size), vec2(1200.0, 620.0));
            let shown = size * camera.zoom();
            assert!(shown.x >= 600.0 || shown.y >= 590.0, "{shown:?}");
        }
    }

    #[test]
    fn a_gliding_camera_arrives() {
        let goal = Camera::fitting(PICTURE, PANE.size());
        let mut camera = Camera::default();
        let arrived = (0..60).position(|_| camera.glide(&goal, 1.0 / 60.0, PANE.size()));
        assert!(arrived.is_some_and(|frames| frames > 3), "{arrived:?}");
        assert_eq!(camera, goal);
    }

    #[test]
    fn zooming_keeps_the_point_under_the_pointer() {
        let mut camera = Camera::fitting(PICTURE, PANE.size());
        let pointer = pos2(180.0, 300.0);
        let before = camera.to_picture(PANE, pointer);
        let zoom = camera.zoom();
        camera.zoom_at(PANE, pointer, 2.0, PICTURE);
        assert!((camera.zoom() - 2.0 * zoom).abs() < 1e-6);
        assert!(camera.to_picture(PANE, pointer).distance(before) < 1e-2);
        camera.zoom_at(PANE, pointer, 1e9, PICTURE);
        assert!((camera.zoom() - MAX_ZOOM).abs() < 1e-6);
    }

    #[test]
    fn a_picture_cannot_be_dragged_out_of_view() {
        let mut camera = Camera::fitting(PICTURE, PANE.size());
        camera.drag(vec2(1e6, -1e6));
        camera.keep_in_view(PICTURE, PANE.size());
        let corner = camera.to_pane(PANE, pos2(PICTURE.min.x, PICTURE.max.y));
        assert!(PANE.contains(corner), "{corner:?}");
    }
}
