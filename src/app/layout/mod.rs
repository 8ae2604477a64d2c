//! Graph layout: the positions of vertices and lines in a picture. Pure geometry, without a window.
//!
//! Coordinates are in points at zoom 1, with `x` to the right and `y` down; the
//! [view](crate::app::widgets::graph_view) zooms them. Layout is deterministic: the same graph is
//! always drawn the same way.

pub mod arch;
pub mod directed;
pub mod from_file;
pub mod layered;
pub mod tree;

use eframe::egui::{Pos2, Rect, Vec2};

/// The smallest rectangle around boxes of `sizes` centred at `centres`; a unit square if there are
/// none.
#[must_use]
pub fn bounds(centres: &[Pos2], sizes: &[Vec2]) -> Rect {
    let boxes = centres.iter().zip(sizes).map(|(&c, &size)| Rect::from_center_size(c, size));
    boxes
        .reduce(Rect::union)
        .unwrap_or_else(|| Rect::from_center_size(Pos2::ZERO, Vec2::splat(1.0)))
}

/// The largest zoom at which a picture of `size` fits a pane that is one point high and `aspect`
/// points wide.
fn fit_scale(size: Vec2, aspect: f32) -> f32 {
    (aspect / size.x.max(1.0)).min(1.0 / size.y.max(1.0))
}

/// Where the line from the centre of `rect` to `towards` leaves `rect`; `towards` itself if it is
/// inside.
#[must_use]
pub fn border(rect: Rect, towards: Pos2) -> Pos2 {
    let direction = towards - rect.center();
    let reach = |half: f32, along: f32| half / along.abs().max(f32::MIN_POSITIVE);
    let part = reach(rect.width() / 2.0, direction.x).min(reach(rect.height() / 2.0, direction.y));
    rect.center() + direction * part.min(1.0)
}

/// A curve from `from` to `to`, as a polyline. It starts and ends parallel to `axis`, a unit
/// vector.
#[must_use]
pub fn s_curve(from: Pos2, to: Pos2, axis: Vec2) -> Vec<Pos2> {
    /// Number of straight segments of the polyline.
    const SEGMENTS: usize = 10;
    let handle = axis * ((to - from).dot(axis) * 0.5);
    let (first, second) = (from + handle, to - handle);
    let point = |index: usize| {
        let t = index as f32 / SEGMENTS as f32;
        let s = 1.0 - t;
        let sum = from.to_vec2() * (s * s * s)
            + first.to_vec2() * (3.0 * s * s * t)
            + second.to_vec2() * (3.0 * s * t * t)
            + to.to_vec2() * (t * t * t);
        sum.to_pos2()
    };
    (0..=SEGMENTS).map(point).collect()
}

/// Where a line has its label: at the middle one of its points, or halfway between the two middle
/// ones. For a line that is symmetric about its middle, such as an [`s_curve`], this is the middle.
/// `None` for a line without points.
#[must_use]
pub fn label_place(line: &[Pos2]) -> Option<Pos2> {
    let half = line.len() / 2;
    let after = *line.get(half)?;
    let is_odd = line.len() % 2 == 1;
    Some(if is_odd { after } else { line[half - 1].lerp(after, 0.5) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn a_curve_starts_and_ends_parallel_to_its_axis() {
        let curve = s_curve(pos2(0.0, 0.0), pos2(40.0, 100.0), Vec2::DOWN);
        assert_eq!((curve[0], curve[curve.len() - 1]), (pos2(0.0, 0.0), pos2(40.0, 100.0)));
        assert!(curve[1].x < 2.0 && curve[1].y > 5.0);
        assert!(curve[9].x > 38.0 && curve[9].y < 95.0);
    }

    #[test]
    fn a_label_is_at_the_middle_of_the_points_of_its_line() {
        let line = [pos2(0.0, 0.0), pos2(8.0, 0.0), pos2(8.0, 30.0), pos2(0.0, 30.0)];
        assert_eq!(label_place(&line), Some(pos2(8.0, 15.0)));
        assert_eq!(label_place(&line[1..]), Some(pos2(8.0, 30.0)));
        assert_eq!(label_place(&[]), None);
        for width in [0.0, 20.0, 1000.0] {
            let curve = s_curve(pos2(0.0, 0.0), pos2(width, 18.0), Vec2::DOWN);
            let place = label_place(&curve).expect("a curve has points");
            assert!((place - pos2(width / 2.0, 9.0)).length() < 1e-3, "{place:?}");
        }
    }
}
