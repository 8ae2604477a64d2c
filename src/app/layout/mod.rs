//! Where the vertices of a picture stand: pure geometry, with no window in sight.
//!
//! Coordinates are those of the picture, in which a vertex has its natural size; the
//! [view](crate::app::widgets::graph_view) zooms them. `x` grows to the right, `y` downward. Everything here
//! is deterministic: the same graph is drawn the same way every time.

pub mod given;
pub mod layered;
mod packed;
pub mod tidy;

use eframe::egui::{Pos2, Rect, Vec2};

/// The smallest rectangle around boxes of `sizes` centred at `centres`; a unit square for none.
#[must_use]
pub fn bounds(centres: &[Pos2], sizes: &[Vec2]) -> Rect {
    let boxes = centres.iter().zip(sizes).map(|(&c, &size)| Rect::from_center_size(c, size));
    boxes
        .reduce(Rect::union)
        .unwrap_or_else(|| Rect::from_center_size(Pos2::ZERO, Vec2::splat(1.0)))
}

/// How large a picture of `size` can be shown in a pane one unit high and `aspect` wide.
fn fit_scale(size: Vec2, aspect: f32) -> f32 {
    (aspect / size.x.max(1.0)).min(1.0 / size.y.max(1.0))
}

/// A curve from `from` to `to` that leaves and arrives along `axis` (a unit vector), in pieces.
#[must_use]
pub fn s_curve(from: Pos2, to: Pos2, axis: Vec2) -> Vec<Pos2> {
    const PIECES: usize = 10;
    let reach = axis * ((to - from).dot(axis) * 0.5);
    let (first, second) = (from + reach, to - reach);
    let point = |index: usize| {
        let t = index as f32 / PIECES as f32;
        let s = 1.0 - t;
        let sum = from.to_vec2() * (s * s * s)
            + first.to_vec2() * (3.0 * s * s * t)
            + second.to_vec2() * (3.0 * s * t * t)
            + to.to_vec2() * (t * t * t);
        sum.to_pos2()
    };
    (0..=PIECES).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::pos2;

    #[test]
    fn a_curve_leaves_and_arrives_along_its_axis() {
        let curve = s_curve(pos2(0.0, 0.0), pos2(40.0, 100.0), Vec2::DOWN);
        assert_eq!((curve[0], curve[curve.len() - 1]), (pos2(0.0, 0.0), pos2(40.0, 100.0)));
        assert!(curve[1].x < 2.0 && curve[1].y > 5.0);
    }
}
