//! What is under the pointer in a panel.

use eframe::egui::{Pos2, Rect, Ui, vec2};

use crate::experiment::chart::{PointRef, label_with_origin};
use crate::experiment::{Axis, Panel, Scale};
use crate::numbers;

/// Maximum distance at which the pointer hits a dot, in points of the screen.
const DOT_REACH: f32 = 9.0;

/// How far above and below a bar the pointer still hits it, in points: low bars are hard to hit.
const BAR_MARGIN: f32 = 3.0;

/// What a point of a series looks like on the screen.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScreenShape {
    Dot(Pos2),
    Bar(Rect),
}

/// The bar under the pointer, or the nearest dot within reach.
pub(super) fn hit(pointer: Pos2, shapes: &[(PointRef, ScreenShape)]) -> Option<PointRef> {
    let distance = |shape: &ScreenShape| match shape {
        ScreenShape::Dot(centre) => centre.distance(pointer),
        ScreenShape::Bar(rect) => rect.expand2(vec2(0.0, BAR_MARGIN)).distance_to_pos(pointer),
    };
    let is_hit = |shape: &ScreenShape| match shape {
        ScreenShape::Dot(_) => distance(shape) <= DOT_REACH,
        ScreenShape::Bar(_) => distance(shape) <= 0.0,
    };
    let hits = shapes.iter().filter(|(_, shape)| is_hit(shape));
    hits.min_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1))).map(|(point, _)| *point)
}

/// Describes a point in a tooltip: its series with the origin, its label, and its two values.
pub fn describe(ui: &mut Ui, panel: &Panel, point: PointRef) {
    let Some(series) = panel.series.get(point.series) else { return };
    let Some(point) = series.points.get(point.point) else { return };
    ui.strong(label_with_origin(&series.label, series.origin));
    if !point.label.is_empty() {
        ui.label(&point.label);
    }
    ui.label(axis_value(&panel.x, point.x));
    ui.label(axis_value(&panel.y, point.y));
}

/// A value with the label of its axis, such as `Time, µs: 12.3`. On an axis of categories, the name
/// of the category alone.
fn axis_value(axis: &Axis, value: f64) -> String {
    if let Scale::Categories(names) = &axis.scale {
        return names.get(value.round().max(0.0) as usize).cloned().unwrap_or_default();
    }
    let text = if value.fract() == 0.0 || value.abs() >= 1e5 {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", numbers::thousands(value.abs().round() as u64))
    } else {
        format!("{}", (value * 1e4).round() / 1e4)
    };
    if axis.label.is_empty() { text } else { format!("{}: {text}", axis.label) }
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn the_pointer_hits_the_nearest_dot_within_reach_or_the_bar_under_it() {
        let point = |series, point| PointRef { series, point };
        let bar = Rect::from_min_max(pos2(100.0, 0.0), pos2(120.0, 50.0));
        let shapes = [
            (point(0, 0), ScreenShape::Dot(pos2(10.0, 10.0))),
            (point(0, 1), ScreenShape::Dot(pos2(14.0, 10.0))),
            (point(1, 0), ScreenShape::Bar(bar)),
        ];
        assert_eq!(hit(pos2(13.0, 11.0), &shapes), Some(point(0, 1)));
        assert_eq!(hit(pos2(40.0, 10.0), &shapes), None);
        assert_eq!(hit(pos2(110.0, 51.0), &shapes), Some(point(1, 0)));
        assert_eq!(hit(pos2(125.0, 20.0), &shapes), None);
    }

    #[test]
    fn a_value_has_the_label_of_its_axis_and_keeps_its_sign() {
        assert_eq!(axis_value(&Axis::log("Entries"), 12_000.0), "Entries: 12,000");
        assert_eq!(axis_value(&Axis::linear("Share"), 0.25), "Share: 0.25");
        assert_eq!(axis_value(&Axis::linear("Change"), -0.5), "Change: -0.5");
        assert_eq!(axis_value(&Axis::linear("Change"), -123_456.7), "Change: -123,457");
        assert_eq!(axis_value(&Axis::categories("", ["asia", "pigs"]), 1.0), "pigs");
    }
}
